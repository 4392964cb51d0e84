"""What the documentation shows must run: Python blocks are executed, commands must exist.

A page's Python blocks run in order in one namespace, in an empty folder. A block is exempt when the line before it is
`<!-- not run: reason -->`. A `text` block is what the Python block before it prints. The model behind the key in the
environment is the emulator.
"""

import io
import json
import logging
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest
from opentelemetry import trace
from opentelemetry.util._once import Once
from tests.waiting import HANG_SECONDS

from pollux import Agent
from pollux.sdk import logs

REPOSITORY: Final = Path(__file__).parent.parent.parent
PAGES: Final = [
    REPOSITORY / "README.md",
    *sorted((REPOSITORY / "docs/guides").glob("*.md")),
    *sorted((REPOSITORY / "docs/concepts").glob("*.md")),
]
BLOCK: Final = re.compile(
    r"(?P<exempt><!-- not run: \S.*? -->\n+)?^(?P<indent>[ ]*)```(?P<language>\w+)\n(?P<body>.*?)^(?P=indent)```\s*$",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Block:
    language: str
    body: str
    line: int
    is_exempt: bool


def blocks_of(text: str) -> Iterator[Block]:
    for match in BLOCK.finditer(text):
        indent = len(match["indent"])
        body = "".join(line[indent:] if line.strip() else line for line in match["body"].splitlines(keepends=True))
        first_line = text.count("\n", 0, match.start("body")) + 1
        yield Block(match["language"], body, first_line, is_exempt=match["exempt"] is not None)


def commands_of(block: Block) -> Iterator[list[str]]:
    for line in block.body.replace("\\\n", " ").splitlines():
        words = shlex.split(line.removeprefix("$ "), comments=True)
        while words and re.fullmatch(r"[A-Z_][A-Z0-9_]*=.*", words[0]):
            words.pop(0)
        if words and words[0] in ("pollux", "make"):
            yield words


def by_name(path: Path) -> str:
    return str(path.relative_to(REPOSITORY))


def shown_commands() -> dict[tuple[str, str], list[str]]:
    """Every command that a page shows, by program and name, and the pages that show it."""
    found: dict[tuple[str, str], list[str]] = {}
    for page in PAGES:
        for block in blocks_of(page.read_text()):
            if block.language in ("bash", "sh", "console") and not block.is_exempt:
                for words in commands_of(block):
                    found.setdefault((words[0], words[1] if len(words) > 1 else ""), []).append(by_name(page))
    return found


COMMANDS: Final = shown_commands()


@pytest.fixture(scope="module")
def model_url() -> Iterator[str]:
    """Where the emulator listens: in a process of its own, since the pages bring their own event loops."""
    command = [sys.executable, "-m", "pollux.emulator", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as emulator:
        assert emulator.stdout is not None
        yield json.loads(emulator.stdout.readline())["url"]
        emulator.terminate()
        emulator.wait(HANG_SECONDS)


@pytest.fixture
def untouched() -> Iterator[None]:
    """What a page sets in this process, variables and loggers, is set for itself alone."""
    environ = dict(os.environ)
    loggers = [logging.getLogger(), logging.getLogger("pollux")]
    before = [(each, each.handlers[:], each.filters[:], each.level, each.propagate) for each in loggers]
    yield
    os.environ.clear()
    os.environ.update(environ)
    # Of agents that the page left open: they would be taken for listeners whose handler is there.
    for tap in [*logs._POST._taps]:  # pyright: ignore[reportPrivateUsage]
        tap.close()
    for each, handlers, filters, level, propagate in before:
        each.handlers[:], each.filters[:], each.propagate = handlers, filters, propagate
        each.setLevel(level)


@pytest.mark.usefixtures("untouched")
@pytest.mark.parametrize("page", PAGES, ids=by_name)
def test_the_python_on_the_page_runs(page: Path, model_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    for name in ("HOME", "POLLUX_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    for name in ("POLLUX_CONFIG", "POLLUX_STORE", "POLLUX_MODEL", "GOOGLE_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GEMINI_API_KEY", "demo")
    monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", model_url)
    # A page that sets up tracing does so for itself alone, not for the tests that follow.
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", None)
    monkeypatch.setattr(trace, "_TRACER_PROVIDER_SET_ONCE", Once())
    namespace: dict[str, Any] = {"__name__": "__main__"}
    printed = io.StringIO()
    for block in blocks_of(page.read_text()):
        if block.language == "python" and not block.is_exempt:
            printed = io.StringIO()
            with redirect_stdout(printed):
                # Blank lines in front make a traceback name the page's own line.
                exec(compile("\n" * (block.line - 1) + block.body, str(page), "exec"), namespace)
        if block.language == "text":
            assert printed.getvalue() == block.body
    for agent in [value for value in namespace.values() if isinstance(value, Agent)]:
        agent.close()


@pytest.mark.parametrize(("command", "name"), sorted(COMMANDS))
def test_the_commands_on_the_pages_exist(command: str, name: str):
    pages = ", ".join(sorted(set(COMMANDS[command, name])))
    if command == "make":
        targets = re.findall(r"^([a-z-]+):", (REPOSITORY / "Makefile").read_text(), re.MULTILINE)
        assert name in targets, f"{pages} shows `make {name}`, which the Makefile does not have"
        return
    code = "import sys; from pollux.cli import main; sys.exit(main())"
    shown = subprocess.run(
        [sys.executable, "-c", code, name, "--help"], capture_output=True, text=True, timeout=2 * HANG_SECONDS
    )
    assert shown.returncode == 0, f"{pages} shows `pollux {name}`: {shown.stderr}"


def test_blocks_are_found_with_their_language_line_and_exemption():
    run, exempt = "```python\nx = 1\n```\n", "<!-- not run: needs a key -->\n```python\ny\n```\n"
    indented = "- item\n\n  ```bash\n  make test\n  ```\n"
    assert list(blocks_of(f"a\n{run}{exempt}{indented}")) == [
        Block("python", "x = 1\n", 3, is_exempt=False),
        Block("python", "y\n", 7, is_exempt=True),
        Block("bash", "make test\n", 12, is_exempt=False),
    ]


def test_commands_are_found_behind_prompts_and_variables():
    block = Block("bash", "$ A=1 B='x y' pollux run \\\n  hello\nls\nmake test # now\n", 1, is_exempt=False)
    assert list(commands_of(block)) == [["pollux", "run", "hello"], ["make", "test"]]
