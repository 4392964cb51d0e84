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
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

from pollux.core.messages import CallFacts
from pollux.engine.untrusted import open_file
from pollux.tools.shell.environment import child_environment, is_writable_by_others

Programs = tuple[tuple[str, str], ...]
"""Each word of a command that means a file, and that file: its path, and its content where that can change."""

NOT_FOUND: Final = "not found"
UNACCEPTED: Final = "unaccepted: "
"""How a fact of a call begins that says which program is not the one that a person accepted with the document."""
PROGRAM: Final = "program:"
"""How a subject begins that says which file a word means. What is allowed for one is not allowed for another."""
LARGEST: Final = 64 << 20
"""Of a file that is read. A larger one is known by its size and time."""
MOST_WALKED: Final = 20_000
"""Of the files of a folder, of which there is no more to say than that."""
MOST_READ: Final = 2_000
"""Of the files of a folder. The others are known by their size and time."""
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


def described(path: str, places: Iterable[str]) -> str:
    """The file behind this path. Of what lies in one of these places, or may be changed by others, also its content."""
    real = os.path.realpath(path)
    return f"{real} ({_content(real)})" if is_open(path, places) else real


def folder_described(path: str, names: list[str]) -> str:
    """All files beneath this folder with such names, or any, as one."""
    digest, count = hashlib.sha256(), 0
    for place, folders, files in os.walk(path):
        folders.sort()
        for name in sorted(files):
            if not names or any(fnmatchcase(name, each) for each in names):
                count += 1
                if count > MOST_WALKED:
                    return f"{os.path.realpath(path)} (more than {MOST_WALKED:,} files)"
                inner = os.path.join(place, name)
                told = _content(inner) if count <= MOST_READ else f"{os.stat(inner, follow_symlinks=False)}"
                digest.update(f"{os.path.relpath(inner, path)}\0{told}\0".encode("utf-8", "surrogateescape"))
    return f"{os.path.realpath(path)} (sha256 {digest.hexdigest()} of {count} files)"


def is_open(path: str, places: Iterable[str]) -> bool:
    """Whether a file is named within one of these places or lies there, or every account may change it."""
    real = os.path.realpath(path)
    folders = (os.path.dirname(os.path.abspath(path)), os.path.dirname(real))
    return is_within(path, places) or any(map(is_writable_by_others, (real, *folders)))


def is_within(path: str, places: Iterable[str]) -> bool:
    """Whether this is beneath one of these places, as it is written or once links are resolved."""
    ends = (os.path.abspath(path), os.path.realpath(path))
    for place in places:
        for start in {os.path.abspath(place), os.path.realpath(place)}:
            if any(end.startswith(start.rstrip(os.sep) + os.sep) for end in ends):
                return True
    return False


def accepted_of(facts: CallFacts) -> Programs | None:
    """What a person accepted with the document. None: nobody trusts it.

    Of a call that an older version wrote down this is not known: then nothing counts as accepted.
    """
    return facts.accepted if facts.places else ()


def program_subjects(programs: Iterable[tuple[str, str]]) -> frozenset[str]:
    return frozenset(f"{PROGRAM}{word} is {file}" for word, file in programs)


def interpreters(path: str) -> Iterator[str]:
    """What the first line of a script names: a program, or `env` and the one that it looks for."""
    line = b""
    with suppress(OSError), open(open_file(Path(path)), "rb") as file:
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
