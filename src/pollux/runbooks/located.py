"""Which file a word of a command means: found as the system finds it, known by its path, or also by its content.

A person accepts a document by its words. What the words mean depends on the PATH, on links, and on files beside the
document: so it is worked out when they accept it, shown, remembered, and compared each time something is started.
"""

import hashlib
import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Final

from pollux.tools.shell.environment import child_environment, is_writable_by_others

Programs = tuple[tuple[str, str], ...]
"""Each word of a command that means a file, and that file: its path, and its content where that can change."""

NOT_FOUND: Final = "not found"
UNACCEPTED: Final = "unaccepted:"
"""How a subject begins that says which program is not the one that a person accepted with the document."""
LARGEST: Final = 64 << 20
"""Of a file that is read. A larger one is known by its size and time."""
WORD: Final = re.compile(r"[^\s\"'`;&|()<>{}$=,\\]+")
"""What may be a program's name in a text that a shell reads."""
LONGEST_LINE: Final = 256
"""Of a script's first line, which names its interpreter."""


def located(word: str, *, env: Mapping[str, str], directory: str) -> str | None:
    """The file that starts when this word is a command there. None where there is none."""
    if "/" in word:
        path = os.path.join(directory, word)
        return path if os.path.isfile(path) else None
    paths = (os.path.join(directory, place, word) for place in places_of(env))
    return next((path for path in paths if os.path.isfile(path) and os.access(path, os.X_OK)), None)


def places_of(env: Mapping[str, str]) -> list[str]:
    """The PATH that a child finds for which this is set."""
    return child_environment(os.environ, env).get("PATH", os.defpath).split(os.pathsep)


def differences(found: Iterable[tuple[str, str]], accepted: Iterable[tuple[str, str]]) -> list[str]:
    """What is not as it was accepted, in words for people."""
    known: dict[str, list[str]] = {}
    for word, file in accepted:
        known.setdefault(word, []).append(file)
    return [
        f"{word} is {file}; accepted was {' or '.join(known.get(word, ['nothing of that name']))}"
        for word, file in found
        if file not in known.get(word, ())
    ]


def described(path: str, folder: str) -> str:
    """The file behind this path. `folder` is the document's."""
    real = os.path.realpath(path)
    # What lies beside the document may be changed by whoever can change the document: its content counts too.
    is_open = is_writable_by_others(real) or is_writable_by_others(os.path.dirname(real))
    if not is_open and not real.startswith(folder.rstrip(os.sep) + os.sep):
        return real
    return f"{real} ({_content(real)})"


def interpreters(path: str) -> Iterator[str]:
    """What the first line of a script names: a program, or `env` and the one that it looks for."""
    line = b""
    with suppress(OSError), open(path, "rb") as file:
        line = file.read(LONGEST_LINE)
    if not line.startswith(b"#!"):
        return
    words = line[2:].splitlines()[0].decode("utf-8", "replace").split() if line[2:].splitlines() else []
    if words:
        yield words[0]
    if words and os.path.basename(words[0]) == "env":
        yield from (word for word in words[1:] if not word.startswith("-") and "=" not in word)


def _content(path: str) -> str:
    try:
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as file:
            state = os.fstat(file.fileno())
            if not stat.S_ISREG(state.st_mode) or state.st_size > LARGEST:
                return f"{state.st_size} bytes of {state.st_mtime_ns}"
            return f"sha256 {hashlib.file_digest(file, 'sha256').hexdigest()}"
    except OSError:
        return "unreadable"
