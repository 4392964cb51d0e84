"""Search text files for a regular expression, bounded in files, bytes, matches and time.

Files are opened here, beneath the root; the expression runs in a process of its own, which is killed when it takes too
long. Binary files, `.git`, what is protected and what links lead to are passed over.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Timer
from time import monotonic
from typing import Any, Final

from pollux.core.errors import PolicyError, ToolError, ValidationError
from pollux.core.frozen import frozen
from pollux.tools.files import matcher
from pollux.tools.files.names import Names
from pollux.tools.files.root import MAX_BYTES, MAX_WALKED, Root

MAX_PATTERN: Final = 1_000
MAX_MATCHES: Final = matcher.MAX_MATCHES
MAX_READ: Final = 200_000_000
SECONDS: Final = 5.0

Ask = Callable[[bytes], list[tuple[int, str]]]
"""Gives the matches in one file's bytes: line numbers and lines."""

_SNIFFED: Final = 8_192
# A Python that is linked dynamically may need these to start at all. Nothing else of our environment is its business.
_ENVIRONMENT: Final = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")


@frozen
class Match:
    """One line that matches."""

    path: str
    line: int
    text: str


@frozen
class Matches:
    """The lines found, and what to know about them: that something was left out, for example."""

    found: tuple[Match, ...]
    note: str = ""


class _TooLong(Exception):
    """The matcher was killed, or died."""


def search(root: Root, pattern: str, path: str = ".", *, seconds: float = SECONDS) -> Matches:
    """The lines beneath a path that match.

    Raises:
        ValidationError: the pattern is no regular expression.
        ToolError: there is nothing at the path, or it took too long before anything was found.
    """
    if root.stat(path) is None:
        raise ToolError("there is nothing to search at this path. list_directory of '.' shows where to begin")
    texts = _Texts(root, path, until=monotonic() + seconds)
    found: list[Match] = []
    try:
        with _matching(pattern, seconds) as ask:
            for name, content in texts:
                found += [Match(name, line, text) for line, text in ask(content)]
                if len(found) > MAX_MATCHES:
                    texts.notes.append(f"these are the first {MAX_MATCHES} matches; narrow the pattern or the path")
                    break
    except _TooLong:
        if not found:
            raise ToolError(
                f"the search took longer than {seconds:g} seconds. Use a simpler pattern, without repeats inside "
                "repeats such as (a+)+, or a narrower path"
            ) from None
        texts.notes.append(f"stopped after {seconds:g} seconds; use a simpler pattern or a narrower path")
    return Matches(tuple(found[:MAX_MATCHES]), ". ".join(texts.notes))


class _Texts:
    """The text files beneath a path, as bytes, until time or bounds are used up."""

    def __init__(self, root: Root, path: str, *, until: float) -> None:
        self.notes: list[str] = []
        self._root = root
        self._path = path
        self._until = until

    def __iter__(self) -> Iterator[tuple[str, bytes]]:
        walked = large = read = 0
        for entry in self._root.walk(self._path, limit=MAX_WALKED, enter=_is_searched):
            walked += 1
            if monotonic() > self._until or read > MAX_READ:
                self.notes.append("stopped before every file was searched; give a narrower path")
                break
            if entry.type != "file":
                continue
            try:
                content = self._root.read(entry.path)
            except ToolError:
                large += 1
                continue
            except PolicyError:
                continue
            if content and b"\0" not in content[:_SNIFFED]:
                read += len(content)
                yield entry.path, content
        if walked >= MAX_WALKED:
            self.notes.append(f"stopped after looking at {MAX_WALKED:,} files and folders; give a narrower path")
        if large:
            self.notes.append(f"{large} files were not searched: larger than {MAX_BYTES / 1e6:g} MB, or not readable")


def _is_searched(names: Names) -> bool:
    return names[-1] != ".git"


@contextmanager
def _matching(pattern: str, seconds: float) -> Generator[Ask]:
    """A function that gives a text's matches, as long as the block and the time last."""
    process = _started(seconds)
    # A little later than the files stop coming: only an expression that does not return is killed.
    killer = Timer(seconds + 0.5, process.kill)
    killer.daemon = True
    killer.start()
    try:
        told = _exchange(process, json.dumps({"pattern": pattern}).encode() + b"\n")
        if problem := told.get("problem"):
            raise ValidationError(f"pattern: expected a Python regular expression, found one that fails: {problem}")
        yield lambda content: _exchange(process, len(content).to_bytes(8, "big") + content)
    finally:
        killer.cancel()
        process.kill()
        # What was never read by the other side cannot be flushed.
        with suppress(OSError):
            process.communicate()


def _started(seconds: float) -> subprocess.Popen[bytes]:
    # Isolated and without site packages: it starts in a few milliseconds and imports nothing that lies around.
    command = [sys.executable, "-I", "-S", str(Path(matcher.__file__)), str(int(seconds) + 2)]
    try:
        return subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={name: os.environ[name] for name in _ENVIRONMENT if name in os.environ},
            cwd="/",
        )
    except (OSError, ValueError):
        raise ToolError("no process to search in could be started. Look for the text with a command instead") from None


def _exchange(process: subprocess.Popen[bytes], message: bytes) -> Any:
    assert process.stdin is not None and process.stdout is not None
    try:
        process.stdin.write(message)
        process.stdin.flush()
        answer = process.stdout.readline()
    except (OSError, ValueError):
        raise _TooLong from None
    if not answer.endswith(b"\n"):
        raise _TooLong
    return json.loads(answer)
