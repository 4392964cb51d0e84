"""Signed heads of the audit chain, in a file outside the database.

One line for each commit that added entries: how far the chain had grown, signed with the audit key. Without them nobody
could tell a chain that was cut short, or a whole database put back to last week, from one that never grew.

A file that was emptied can be told from one without heads: whenever a process dies, there is none without a line. It
comes into being with its first one in it. Of a store without entries that one says that here the heads begin.

Each process knows a line that it has read or written. Where that one is gone, the next line follows it all the same: a
verification at any time later finds the gap.
"""

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

from pollux.core.errors import StoreError
from pollux.core.frozen import frozen
from pollux.core.ids import Instant
from pollux.engine.logs import log_of
from pollux.engine.untrusted import open_file
from pollux.stores.audit import Tip
from pollux.stores.head_lines import LONGEST, NO_HEADS, NO_LINE, Line, Read, first_line, head_line, read_lines

logger = log_of(__name__)

TAIL = 4096
"""So many bytes at the end of the file hold the last heads."""
MOST_TORN = 100
WAIT_SECONDS = 5.0


@frozen
class _Known:
    """A line that this process has seen in the file, and where it ends."""

    line: Line
    end: int


class Heads:
    """Appends to and reads one file of heads. Threads take turns to append; processes wait for each other."""

    def __init__(self, path: Path, key: bytes, elsewhere: Path | None = None) -> None:
        self._path = path
        self._key = key
        self._elsewhere = elsewhere
        self._known: _Known | None = None
        self._torn: set[str] = set()
        """Lines that are not whole, each named once."""

    @property
    def path(self) -> Path:
        """Where they are."""
        return self._path

    def open(self, *, make: bool) -> int | None:
        """The file, to be told from others. None where there is none, or it cannot be made.

        If it is to be made, it says that heads begin here, before there is an entry that one could be signed for.
        Raises StoreError where it cannot be read.
        """
        found = self.require_readable(self._tail(self._path))
        if make and (found.is_missing or found.is_empty):
            self._put(0, lambda after: first_line(self._key))
        try:
            return open_file(self._path)
        except FileNotFoundError:
            return None
        except OSError as problem:
            raise self._unreadable(str(problem.strerror)) from None

    def move_from(self, path: Path) -> None:
        """Take a file of another name for ours: the store it speaks of was moved here."""
        path.rename(self._path)

    def append(self, tip: Tip, at: Instant) -> None:
        """Add a line and see it on disk. Where that fails the commit stands, and the next head covers it too."""
        if self._known and self._known.line.tip.lineage != tip.lineage:
            # The store was adopted, perhaps with an older file of heads.
            self._known = None
        self._put(tip.seq, lambda after: head_line(tip, at, self._key, after))

    def read(self) -> Read:
        """Every head in the file."""
        try:
            with open(open_file(self._path), "rb") as file:
                return read_lines(_lines(file), self._key, after=NO_LINE, on_torn=self._name_torn)
        except FileNotFoundError:
            return Read(is_missing=True)
        except OSError as problem:
            return Read(unreadable=str(problem.strerror))

    def newest(self) -> Read:
        """The last heads of the file, however long it is, and those that are kept elsewhere."""
        here = self._tail(self._path)
        there = self._tail(self._elsewhere) if self._elsewhere else NO_HEADS
        if there.unreadable:
            logger.warning("the audit heads elsewhere could not be read: %s", there.unreadable)
        return replace(here, heads=(*here.heads, *there.heads), forged=here.forged + there.forged)

    def require_readable(self, found: Read) -> Read:
        """What was found. Raises StoreError where that is nothing because it cannot be read."""
        if found.unreadable:
            raise self._unreadable(found.unreadable)
        return found

    def _unreadable(self, why: str) -> StoreError:
        return StoreError(
            f"expected to read the signed heads of the audit in {self._path}, found: {why}. Check who can write there,"
            " and put the file back"
        )

    def _tail(self, path: Path) -> Read:
        try:
            file = open_file(path)
        except FileNotFoundError:
            return Read(is_missing=True)
        except OSError as problem:
            return Read(unreadable=str(problem.strerror))
        try:
            return self._end_of(file, path)
        except OSError as problem:
            return Read(unreadable=str(problem.strerror))
        finally:
            os.close(file)

    def _end_of(self, file: int, path: Path) -> Read:
        size = os.fstat(file).st_size
        start = max(0, size - TAIL)
        text = os.pread(file, TAIL, start)
        lines = text.splitlines(keepends=True)[1 if start else 0 :]
        found = read_lines(lines, self._key, after=None if start else NO_LINE, on_torn=self._name_torn)
        last = found.last
        if path == self._path and self._known is None and last and last.raw.endswith(b"\n"):
            self._known = _Known(last, start + text.rindex(last.raw) + len(last.raw))
        return found

    def _put(self, seq: int, made: Callable[[str], Line]) -> None:
        try:
            if not self._begin(made):
                self._add(made)
        except OSError:
            logger.warning("could not append the audit head of entry %d", seq, exc_info=True)

    def _begin(self, made: Callable[[str], Line]) -> bool:
        """Make the file with its first line in it. False where there is one.

        A process that dies here leaves a draft that nobody reads, and that the next one to begin writes over.
        """
        if self._path.exists():
            return False
        path = Path(os.path.realpath(self._path))
        draft = path.with_name(f"{path.name}.new")
        file = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK, 0o600)
        try:
            # Others on this host may begin it as well. Only one who holds the draft may give it its name.
            _lock(file)
            if path.exists():
                draft.unlink(missing_ok=True)
                return False
            line = made(self._lost() if self._known else NO_LINE)
            os.ftruncate(file, 0)
            _write(file, line.raw)
            os.fsync(file)
            draft.rename(path)
            self._known = _Known(line, len(line.raw))
        finally:
            os.close(file)
        return True

    def _add(self, made: Callable[[str], Line]) -> None:
        file = open_file(self._path, os.O_RDWR | os.O_APPEND)
        try:
            _lock(file)
            size = os.fstat(file).st_size
            line = made(self._before(file, size))
            # After a torn write, of ours or of a process now gone, the rest of that line would swallow this one.
            text = b"\n" + line.raw if size and os.pread(file, 1, size - 1) != b"\n" else line.raw
            _write(file, text)
            self._known = _Known(line, size + len(text))
            os.fsync(file)
        finally:
            os.close(file)

    def _before(self, file: int, size: int) -> str:
        """The signature of the line that the next one follows: the last one, or one of ours that is gone."""
        known = self._known
        if known:
            raw = known.line.raw
            if os.pread(file, len(raw), known.end - len(raw)) != raw:
                return self._lost()
            if known.end == size:
                return known.line.sig
        last = self._end_of(file, self._path).last
        return last.sig if last else known.line.sig if known else NO_LINE

    def _name_torn(self, line: bytes) -> None:
        text = line.decode("utf-8", errors="replace").rstrip("\n")
        if text.strip() and text not in self._torn and len(self._torn) < MOST_TORN:
            self._torn.add(text)
            logger.warning("passed over a line of the audit heads that is not whole")

    def _lost(self) -> str:
        assert self._known, "only what was there can be lost"
        logger.warning("the file of signed heads was cut or replaced while in use. `pollux audit verify` names it")
        return self._known.line.sig


def _lines(file: BinaryIO) -> Iterator[bytes]:
    while line := file.readline(LONGEST):
        yield line


def _lock(file: int) -> None:
    """Alone with the file, among all processes of this host. Raises TimeoutError."""
    end = time.monotonic() + WAIT_SECONDS
    while True:
        try:
            return fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > end:
                raise TimeoutError("another process holds the file of signed heads") from None
        time.sleep(0.0005)


def _write(file: int, text: bytes) -> None:
    if os.write(file, text) != len(text):
        raise OSError("the line was not written as a whole")
