"""Signed heads of the audit chain, in a file outside the database.

One line for each commit that added entries: how far the chain had grown, signed with the audit key. Without them nobody
could tell a chain that was cut short, or a whole database put back to last week, from one that never grew.
"""

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
        """The file, to be told from others. None where there is none, or it cannot be had."""
        try:
            return os.open(self._path, os.O_RDONLY | os.O_CLOEXEC | (os.O_CREAT if make else 0), 0o600)
        except OSError as problem:
            if make:
                logger.warning("the file of the audit heads could not be made: %s", problem.strerror)
            return None

    def move_from(self, path: Path) -> None:
        """Take a file of another name for ours: the store it speaks of was moved here."""
        path.rename(self._path)

    def append(self, tip: Tip, at: Instant) -> None:
        """Add a line and see it on disk. Where that fails the commit stands, and the next head covers it too."""
        line = signed_line(tip, at, self._key) + "\n"
        try:
            file = os.open(self._path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                # After a torn write, of ours or of a process now gone, the rest of that line would swallow this one.
                os.write(file, ("\n" + line if _is_torn(file) else line).encode())
                os.fsync(file)
            finally:
                os.close(file)
        except OSError:
            logger.warning("could not append the audit head of entry %d", tip.seq, exc_info=True)

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
        return Read([*here.heads, *there.heads], here.forged + there.forged, here.is_missing)

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
        forged = 0
        for line in text.decode("utf-8", errors="replace").splitlines():
            try:
                found = _parsed(line)
            except (ValueError, KeyError, TypeError):
                if line.strip() and line not in self._torn and len(self._torn) < MOST_TORN:
                    self._torn.add(line)
                    logger.warning("passed over a line of the audit heads that is not whole")
                continue
            tip, signature = found
            if hmac.compare_digest(signature, _signature(tip, self._key)):
                heads.append(tip)
            else:
                forged += 1
        return Read(heads, forged)


def signed_line(tip: Tip, at: Instant, key: bytes) -> str:
    """A head as it is kept."""
    named = {"lineage": tip.lineage} if tip.lineage else {}
    return json.dumps({"seq": tip.seq, "hash": tip.hash, "at": at, **named, "sig": _signature(tip, key)})


def _is_torn(file: int) -> bool:
    size = os.fstat(file).st_size
    return size > 0 and os.pread(file, 1, size - 1) != b"\n"


def _parsed(line: str) -> tuple[Tip, str]:
    members = cast("dict[str, Any]", json.loads(line))
    return Tip(int(members["seq"]), str(members["hash"]), str(members.get("lineage", ""))), str(members["sig"])


def _signature(tip: Tip, key: bytes) -> str:
    named = f"{tip.lineage}:" if tip.lineage else ""
    return hmac.digest(key, f"{named}{tip.seq}:{tip.hash}".encode(), "sha256").hex()
