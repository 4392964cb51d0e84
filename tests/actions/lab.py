"""Files of a plugin, made on the spot."""

import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from pollux.core.ids import ActionId, RunId, ThreadId, UserId
from pollux.core.tools import ToolContext
from pollux.tools.actions.handlers import Handler, action, query
from pollux.tools.actions.metadata import ActionFile, read_action
from pollux.tools.actions.registry import Caller

ADA: Final = Caller(UserId("ada"), "https://shop.example", "key-1")
CONTEXT: Final = ToolContext(UserId("ada"), "", RunId("run_1"), ActionId("act_1_1.0"), ThreadId("thr_1"))
REPOSITORY: Final = Path(__file__).parents[2]
SAMPLES: Final = REPOSITORY.parent / "shared/samples/jay"
EXAMPLE: Final = REPOSITORY / "examples/actions"
HEAD: Final = "name: look\ndescription: Look.\n"


def write(folder: Path, **files: str) -> None:
    """Files by name, with `__` for a dot and `___` for a slash."""
    for name, text in files.items():
        path = folder / name.replace("___", "/").replace("__", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))


def put(folder: Path, text: str, name: str = "look.jay-action") -> Path:
    """One file with this text."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(textwrap.dedent(text))
    return path


def look(folder: Path, rest: str) -> ActionFile:
    """An action called look, with what follows its description."""
    return read_action(put(folder, HEAD + textwrap.dedent(rest)))


def samples() -> Path:
    """The folder with Jay's own files. Skips where there is none."""
    if not SAMPLES.is_dir():
        pytest.skip("../shared/samples/jay is not here")
    return SAMPLES


def echo(**given: Any) -> Any:
    """What it is given."""
    return given


def acting(name: str, does: Callable[..., Any], **options: Any) -> Handler[..., Any]:
    """An action."""
    return action(name, **options)(does)


def looking(name: str, does: Callable[..., Any]) -> Handler[..., Any]:
    """A query."""
    return query(name)(does)
