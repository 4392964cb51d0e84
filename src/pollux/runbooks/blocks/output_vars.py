"""Variables that a program sets: it finds a file's path in ATUIN_OUTPUT_VARS, and writes into it.

name=value          one line each
name<<WORD          several lines, up to one that is WORD
"""

import fcntl
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Final

from pollux.runbooks.blocks.block_type import VARIABLE

MAX_BYTES: Final = 256 * 1024
PREFIX: Final = "pollux-vars-"
SETTLED_SECONDS: Final = 60.0
"""A folder this old has been locked by its owner, if that one lives."""


@contextmanager
def output_file() -> Generator[Path]:
    """An empty file that is ours alone, as long as the program runs."""
    _sweep_once(tempfile.gettempdir())
    folder = tempfile.mkdtemp(prefix=PREFIX)
    # A lock goes with its process, however that ends: so whoever finds the folder knows whether somebody lives in it.
    lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with suppress(OSError):
            # Where there are no locks, nobody finds out, and nothing is removed.
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        path = Path(folder) / "vars"
        path.touch(mode=0o600)
        yield path
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def sweep(place: str) -> None:
    """Remove what processes of ours have left there that were killed."""
    with suppress(OSError), os.scandir(place) as entries:
        for entry in entries:
            if entry.name.startswith(PREFIX) and _is_left(entry.path):
                shutil.rmtree(entry.path, ignore_errors=True)


@cache
def _sweep_once(place: str) -> None:
    sweep(place)


def _is_left(folder: str) -> bool:
    """Whether it is ours, and nobody lives in it."""
    try:
        found = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        state = os.fstat(found)
        if state.st_uid != os.geteuid() or time.time() - state.st_mtime < SETTLED_SECONDS:
            return False
        fcntl.flock(found, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(found)
    return True


def read_variables(path: Path) -> tuple[dict[str, str], str]:
    """The variables, and what to say where they could not be read."""
    try:
        # The program may have put anything in its place: a pipe, at which we would wait for ever, or a link.
        file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
        with os.fdopen(file, "rb") as opened:
            if not stat.S_ISREG(os.fstat(opened.fileno()).st_mode):
                return {}, "the file of ATUIN_OUTPUT_VARS is no file any more: no variables were set"
            written = opened.read(MAX_BYTES + 1)
    except OSError as problem:
        return {}, f"the file of ATUIN_OUTPUT_VARS cannot be read ({problem.strerror}): no variables were set"
    if len(written) > MAX_BYTES:
        return {}, f"more than {MAX_BYTES // 1024} KiB were written to ATUIN_OUTPUT_VARS: no variables were set"
    return parse(written.decode("utf-8", "replace")), ""


def parse(text: str) -> dict[str, str]:
    """The variables by name; the last one of a name counts. Lines that are none are passed over."""
    found: dict[str, str] = {}
    lines = iter(text.splitlines())
    for line in lines:
        before, _, value = line.partition("=")
        name, angles, word = before.partition("<<")
        if angles and name.strip() and (word := line.partition("<<")[2].strip()):
            inside: list[str] = []
            for inner in lines:
                if inner.strip() == word:
                    break
                inside.append(inner)
            name, value = name.strip(), "\n".join(inside)
        elif "=" not in line:
            continue
        else:
            name = before
        if VARIABLE.fullmatch(name):
            found[name] = value
    return found
