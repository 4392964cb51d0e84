"""Which commands are at work in which folders, and what was there before the first of them.

A command that begins while another one is at work also finds what that one has just made. So each command writes a
record of what was there, and commands that begin later compare with the records of those still at work, in the same
folder, above or below it, in this process and in others.

A record is a file in a private folder that no sandbox shows, and locked while its command is at work. A record that
nothing locks is from a process that was killed. What is not in it, and not newer than its command's end, was made by
that command, and the next command in that folder sets it aside.
"""

import errno
import fcntl
import json
import os
import secrets
import time
from collections.abc import Callable, Collection, Generator, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock
from typing import Any, Final

from pollux.core.frozen import frozen
from pollux.tools.shell.control_files import NAMES, PACKAGES, Found, is_within, looks_alike
from pollux.tools.shell.process import GIVE_UP_SECONDS

PATIENCE_SECONDS: Final = 20.0
"""For other processes that look through their folders at the moment."""
START_SECONDS: Final = 60.0
"""Longer than a command takes to start."""
_POLL_SECONDS: Final = 0.02


class Unrecorded(Exception):
    """A command cannot be noted. The text is for people."""


@frozen
class Record:
    """What was in a folder before a command that is at work, or was when its process was killed."""

    root: str
    found: Found
    rules: list[str]
    until: float | None
    """When the command has ended at the latest."""
    path: Path
    is_left: bool

    def was_there(self, place: str, known: str | None, now: str) -> bool:
        """Whether this record says so, given what it and the folder know of a place."""
        if known == now:
            return True
        return self.is_left and self.until is not None and not _is_older(place, self.until)


class Work:
    """One command's record. `end` follows in any case, also while `begin` still runs in another thread."""

    def __init__(self, folder: Path, root: str, *, endings: tuple[str, ...], timeout: float | None) -> None:
        self._folder = folder
        self._root = root
        self._rules = [*sorted(NAMES | PACKAGES), *endings]
        self._timeout = timeout
        self._path = folder / f"{secrets.token_hex(8)}.json"
        self._lock = Lock()
        self._is_over = False
        self._before = Found()
        self._file: int | None = None
        self._settled: list[Path] = []

    def begin(self, look: Callable[[], Found], *, taken: Collection[str]) -> Found:
        """Note what was there before all that is at work, and return what is there now. Raises Unrecorded.

        What is only there to take a name counts as not there before.
        """
        try:
            with self._lock:
                _make(self._folder)
                # No command that is at work now is forgotten before this one has looked and written.
                with _locked(self._folder, fcntl.LOCK_SH):
                    began, found = time.time(), look()
                    if found.is_whole and not self._is_over:
                        self._note(began, found, taken)
                return found
        except OSError as problem:
            raise Unrecorded(
                f"commands at work cannot be noted in {self._folder} ({problem.strerror}). Check POLLUX_HOME"
            ) from problem

    def _note(self, began: float, found: Found, taken: Collection[str]) -> None:
        others = [each for each in self._records() if each.rules == self._rules]
        self._before = _before(self._root, found, others, taken)
        until = None if self._timeout is None else began + self._timeout + START_SECONDS + GIVE_UP_SECONDS
        self._file = self._write(self._path, self._root, self._before, until, is_locked=True)
        self._settled = [
            each.path
            for each in others
            if each.is_left and each.until is not None and each.until < began and is_within(each.root, self._root)
        ]

    def end(self, finish: Callable[[Found], None]) -> None:
        """Forget this command, once what was made since has been set aside; and those that were killed before it.

        If other processes keep the folder locked, its record stays, and counts like that of a process that was killed.
        """
        with self._lock:
            self._is_over = True
            if self._file is None:
                return
            try:
                finish(self._before)
                with suppress(OSError), _locked(self._folder, fcntl.LOCK_EX):
                    for path in (self._path, *self._settled):
                        path.unlink(missing_ok=True)
            finally:
                os.close(self._file)

    def _records(self) -> Iterator[Record]:
        for path in self._folder.glob("*.json"):
            with suppress(FileNotFoundError):
                file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
                with os.fdopen(file, "rb") as opened:
                    is_left = _lock(file, fcntl.LOCK_SH)
                    content = opened.read()
                if (record := _record(path, content, is_left=is_left)) is None:
                    continue
                if record.is_left and (record.until is None or record.until > time.time() + GIVE_UP_SECONDS):
                    # Killed, and seen for the first time: from now on people make things here by themselves.
                    until = time.time() + GIVE_UP_SECONDS
                    os.close(self._write(path, record.root, record.found, until, rules=record.rules))
                    yield Record(record.root, record.found, record.rules, until, path, is_left=True)
                else:
                    yield record

    def _write(
        self,
        path: Path,
        root: str,
        found: Found,
        until: float | None,
        *,
        rules: list[str] | None = None,
        is_locked: bool = False,
    ) -> int:
        """The file, open. It is there as a whole, and locked, or not at all."""
        new = self._folder / f"{secrets.token_hex(8)}.new"
        told: dict[str, Any] = {
            "root": root,
            "rules": rules or self._rules,
            "until": until,
            "hidden": dict(found.hidden),
            "kept": dict(found.kept),
            "repositories": list(found.repositories),
        }
        file = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            if is_locked:
                fcntl.flock(file, fcntl.LOCK_EX)
            with os.fdopen(os.dup(file), "w", encoding="ascii") as opened:
                json.dump(told, opened)
            new.rename(path)
        except BaseException:
            os.close(file)
            new.unlink(missing_ok=True)
            raise
        return file


def _record(path: Path, content: bytes, *, is_left: bool) -> Record | None:
    try:
        told = json.loads(content)
        found = Found(told["hidden"], told["kept"], dict.fromkeys(told["repositories"], ()))
        return Record(told["root"], found, told["rules"], told["until"], path, is_left)
    except (ValueError, KeyError, TypeError):
        return None


def _before(root: str, found: Found, others: Collection[Record], taken: Collection[str]) -> Found:
    """What was there before all of them: where another one is at work, its record says so, else the folder does."""
    others = [each for each in others if looks_alike(root, found, each.root, each.found)]

    def part(of: Callable[[Found], Mapping[str, str]]) -> dict[str, str]:
        known = {
            place: target
            for each in (*(other.found for other in others), found)
            for place, target in of(each).items()
            if is_within(place, root) and place not in taken
        }
        return {
            place: target
            for place, target in known.items()
            if all(
                each.was_there(place, of(each.found).get(place), target)
                for each in others
                if is_within(place, each.root)
            )
        }

    repositories = part(lambda each: dict.fromkeys(each.repositories, ""))
    return Found(part(lambda each: each.hidden), part(lambda each: each.kept), dict.fromkeys(repositories, ()))


def _is_older(place: str, moment: float) -> bool:
    """Whether anything of it was there at that moment. No program sets the time that is compared."""
    try:
        return os.lstat(place).st_ctime <= moment or any(
            os.lstat(os.path.join(folder, name)).st_ctime <= moment
            for folder, folders, names in os.walk(place)
            for name in (*folders, *names)
        )
    except OSError:
        return True


def _make(folder: Path) -> None:
    if not folder.is_dir():
        _make(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)


@contextmanager
def _locked(folder: Path, how: int) -> Generator[None]:
    """Raises OSError where other processes do not let go of it."""
    file = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not _lock(file, how):
            if time.monotonic() > deadline:
                raise OSError(errno.ETIMEDOUT, os.strerror(errno.ETIMEDOUT))
            time.sleep(_POLL_SECONDS)
        yield
    finally:
        os.close(file)


def _lock(file: int, how: int) -> bool:
    try:
        fcntl.flock(file, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
