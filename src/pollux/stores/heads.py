"""Signed heads of the audit chain, in a file outside the database.

One line for each commit that added entries: how far the chain had grown, signed with the audit key. Without them nobody
could tell a chain that was cut short, or a whole database put back to last week, from one that never grew.

A file that was emptied can be told from one without heads: whenever a process dies, there is none without a line. It
comes into being with its first one in it. Of a store without entries that one says that here the heads begin.
"""

import fcntl
import hmac
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from pollux.core.frozen import frozen
from pollux.core.ids import Instant
from pollux.engine.logs import log_of
from pollux.stores.audit import Tip

logger = log_of(__name__)


@frozen
class Read:
    """What the file holds: heads whose signature is right, and how many lines bear a wrong one."""

    heads: Sequence[Tip] = ()
    forged: int = 0
    is_missing: bool = False
    """There is no such file."""
    is_empty: bool = False
    """There is a file, but somebody has taken the heads out of it, or put others in their place."""


NO_HEADS = Read()
MOST_TORN = 100
TAIL = 4096
"""So many bytes at the end of the file hold the last heads."""


class Heads:
    """Appends to and reads one file of heads. Callers hold the store's file lock while they append."""

    def __init__(self, path: Path, key: bytes, elsewhere: Path | None = None) -> None:
        self._path = path
        self._key = key
        self._elsewhere = elsewhere
        self._torn: set[str] = set()
        """Lines that are not whole, each named once."""

    @property
    def path(self) -> Path:
        """Where they are."""
        return self._path

    def open(self, *, make: bool) -> int | None:
        """The file, to be told from others. None where there is none, or it cannot be had.

        If it is to be made, it says that heads begin here, before there is an entry that one could be signed for.
        """
        found = self._tail(self._path)
        if make and (found.is_missing or found.is_empty):
            self._put(0, _beginning(self._key))
        try:
            return os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return None

    def move_from(self, path: Path) -> None:
        """Take a file of another name for ours: the store it speaks of was moved here."""
        path.rename(self._path)

    def append(self, tip: Tip, at: Instant) -> None:
        """Add a line and see it on disk. Where that fails the commit stands, and the next head covers it too."""
        self._put(tip.seq, signed_line(tip, at, self._key))

    def _put(self, seq: int, text: str) -> None:
        line = text + "\n"
        try:
            if not self._begin(line):
                self._add(line)
        except OSError:
            logger.warning("could not append the audit head of entry %d", seq, exc_info=True)

    def _begin(self, line: str) -> bool:
        """Make the file with this line in it. False where there is one.

        A process that dies here leaves a draft that nobody reads, and that the next one to begin writes over.
        """
        if self._path.exists():
            return False
        path = Path(os.path.realpath(self._path))
        draft = path.with_name(f"{path.name}.new")
        file = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            # Others on this host may begin it as well. Only one who holds the draft may give it its name.
            fcntl.flock(file, fcntl.LOCK_EX)
            if path.exists():
                draft.unlink(missing_ok=True)
                return False
            os.ftruncate(file, 0)
            os.write(file, line.encode())
            os.fsync(file)
            draft.rename(path)
        finally:
            os.close(file)
        return True

    def _add(self, line: str) -> None:
        file = os.open(self._path, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC)
        try:
            # After a torn write, of ours or of a process now gone, the rest of that line would swallow this one.
            os.write(file, ("\n" + line if _is_torn(file) else line).encode())
            os.fsync(file)
        finally:
            os.close(file)

    def read(self) -> Read:
        """Every head in the file.

        A line that is not whole is passed over: it is what a crash in the middle of a write leaves behind, and whoever
        could garble a line could as well have removed it.
        """
        try:
            text = self._path.read_bytes()
        except FileNotFoundError:
            return Read(is_missing=True)
        return self._read(text)

    def newest(self) -> Read:
        """The last heads of the file, however long it is, and those that are kept elsewhere."""
        here = self._tail(self._path)
        there = self._tail(self._elsewhere) if self._elsewhere else NO_HEADS
        return Read([*here.heads, *there.heads], here.forged + there.forged, here.is_missing, here.is_empty)

    def _tail(self, path: Path) -> Read:
        try:
            with path.open("rb") as file:
                size = file.seek(0, os.SEEK_END)
                file.seek(max(0, size - TAIL))
                text = file.read()
        except FileNotFoundError:
            return Read(is_missing=True)
        except OSError as problem:
            logger.warning("the audit heads could not be read: %s", problem.strerror)
            return NO_HEADS
        return self._read(text.partition(b"\n")[2] if size > TAIL else text)

    def _read(self, text: bytes) -> Read:
        heads: list[Tip] = []
        forged, is_begun = 0, False
        for line in text.decode("utf-8", errors="replace").splitlines():
            try:
                found = _parsed(line)
            except (ValueError, KeyError, TypeError):
                if line.strip() and line not in self._torn and len(self._torn) < MOST_TORN:
                    self._torn.add(line)
                    logger.warning("passed over a line of the audit heads that is not whole")
                continue
            tip, signature = found
            if not hmac.compare_digest(signature, _signature(tip, self._key)):
                forged += 1
            elif tip.seq:
                heads.append(tip)
            else:
                is_begun = True
        return Read(heads, forged, is_empty=not heads and (forged > 0 or not is_begun))


def signed_line(tip: Tip, at: Instant, key: bytes) -> str:
    """A head as it is kept."""
    named = {"lineage": tip.lineage} if tip.lineage else {}
    return json.dumps({"seq": tip.seq, "hash": tip.hash, "at": at, **named, "sig": _signature(tip, key)})


def _beginning(key: bytes) -> str:
    """A line for the empty chain. By its name for the signature, older versions do not take it for a head."""
    return json.dumps({"seq": 0, "hash": Tip().hash, "at": 0.0, "begun": _signature(Tip(), key)})


def _is_torn(file: int) -> bool:
    size = os.fstat(file).st_size
    return size > 0 and os.pread(file, 1, size - 1) != b"\n"


def _parsed(line: str) -> tuple[Tip, str]:
    members = cast("dict[str, Any]", json.loads(line))
    tip = Tip(int(members["seq"]), str(members["hash"]), str(members.get("lineage", "")))
    return tip, str(members["sig" if tip.seq else "begun"])


def _signature(tip: Tip, key: bytes) -> str:
    named = f"{tip.lineage}:" if tip.lineage else ""
    return hmac.digest(key, f"{named}{tip.seq}:{tip.hash}".encode(), "sha256").hex()
