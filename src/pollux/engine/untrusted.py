"""Read files and documents that anybody may have written: regular files only, never waited for, and within limits.

A folder may hold anything under the name of a file that is read: a pipe, a device, a file without end, or 500 bytes
that a parser works on for hours. Whoever reads such a file reads it through here.
"""

import errno
import os
import re
import stat
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any, Final, cast

DEEPEST: Final = 20
"""Levels of a YAML document."""
MOST_NODES: Final = 20_000
"""Values of a YAML document."""
MOST_PARTS: Final = 64
"""Parts of one TOML key. The time that the parser takes grows with their square."""

MOST_FOLDERS: Final = 20_000
FURTHEST: Final = 50
"""How many folders are looked into, and how many levels down."""

_TOKEN: Final = re.compile(
    r"""
    (?P<text>\#[^\n]*+
        | \"{3} (?: [^"\\] | \\. | "{1,2}(?!") )*+ (?: "{3,5} )?
        | '{3} (?: [^'] | '{1,2}(?!') )*+ (?: '{3,5} )?
    )
    | (?P<part>[A-Za-z0-9_-]++ | "(?:[^"\\\n]|\\[^\n])*+"? | '[^'\n]*+'?)
    | (?P<dot>\.)
    | (?P<blank>[\ \t]++)
    | [^\#"'.\ \tA-Za-z0-9_-]++
    """,
    re.VERBOSE | re.DOTALL,
)
"""TOML as its own grammar cuts it. Each character is read once, and what is never closed is read to its end."""


def read_file(path: Path, *, most: int) -> bytes | None:
    """The first `most` bytes of a regular file and one more, if it has more. None where there is no regular file.

    Raises OSError.
    """
    if not path.is_file():
        return None
    with open(open_file(path), "rb") as file:
        return file.read(most + 1)


def read_small(path: Path, *, most: int) -> bytes:
    """All of a regular file. Raises OSError, also where it is larger or something else."""
    with open(open_file(path), "rb") as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise OSError(errno.EFBIG, f"it is larger than {most:,} bytes")
    return content


def open_file(path: Path, flags: int = os.O_RDONLY) -> int:
    """A regular file, never waited for. Raises OSError, also for a pipe, a device or a folder."""
    # Looked at before it is opened: opening a device may already do something.
    _require_regular(os.stat(path))
    file = os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        _require_regular(os.fstat(file))
    except OSError:
        os.close(file)
        raise
    return file


def _require_regular(found: os.stat_result) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise OSError(errno.EINVAL, "it is not a regular file")


def walk(top: Path, *, without: Collection[str] = ()) -> Iterator[tuple[Path, list[str]]]:
    """Every folder beneath this one with the names of its files, in order. Hidden folders and those `without` are not
    entered, nor is what links lead to; a tree without end is left where it goes too far.
    """
    level = len(top.parts)
    for number, (place, folders, names) in enumerate(os.walk(top), start=1):
        yield Path(place), sorted(names)
        if number >= MOST_FOLDERS:
            return
        is_far = len(Path(place).parts) - level >= FURTHEST
        folders[:] = sorted(name for name in folders if not is_far and name[0] != "." and name not in without)


def load_toml(text: str) -> dict[str, Any]:
    """The document as a table. Raises ValueError that says why not."""
    import tomllib

    _require_short_keys(text)
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _require_short_keys(text: str) -> None:
    if text.count(".") < MOST_PARTS:
        return
    parts, is_joined = 0, False
    for token in _TOKEN.finditer(text):
        match token.lastgroup:
            case "part":
                parts, is_joined = (parts + 1 if is_joined else 1), False
            case "dot":
                is_joined = parts > 0
            case "blank":
                pass
            case _:
                parts, is_joined = 0, False
        if parts > MOST_PARTS:
            line = text.count("\n", 0, token.start()) + 1
            raise ValueError(f"a key has more than {MOST_PARTS} parts (at line {line})")


def load_yaml(text: str, *, loader: Any) -> object:
    """The document as this loader reads it. Raises yaml.YAMLError, and ValueError for what goes beyond the limits.

    Its parts are counted before anything is built. Anchors and aliases are not read: a few lines of them can stand for
    more values than there is memory.
    """
    import yaml

    parse = cast("Callable[..., Iterator[yaml.Event]]", yaml.parse)  # pyright: ignore[reportUnknownMemberType]
    depth = count = 0
    try:
        for event in parse(text, Loader=loader):
            if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
                raise ValueError("it has anchors and aliases (& and *), which are not read")
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            count += isinstance(event, yaml.NodeEvent)
            if depth > DEEPEST:
                raise ValueError(f"it is nested more than {DEEPEST} levels deep")
            if count > MOST_NODES:
                raise ValueError(f"it holds more than {MOST_NODES:,} values")
        return cast("object", yaml.load(text, Loader=loader))
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
