"""Signed heads of the audit chain, in a file outside the database.

One line for each commit that added entries: how far the chain had grown, signed with the audit key. Without them nobody
could tell a chain that was cut short, or a whole database put back to last week, from one that never grew.
"""

import hmac
import json
import logging
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from pollux.core.frozen import frozen
from pollux.core.ids import Instant
from pollux.stores.audit import Tip

logger = logging.getLogger(__name__)


@frozen
class Read:
    """What the file holds: heads whose signature is right, and how many lines bear a wrong one."""

    heads: Sequence[Tip] = ()
    forged: int = 0


NO_HEADS = Read()


class Heads:
    """Appends to and reads one file of heads. Callers hold the store's file lock while they append."""

    def __init__(self, path: Path, key: bytes) -> None:
        self._path = path
        self._key = key

    def append(self, tip: Tip, at: Instant) -> None:
        """Add a line and see it on disk. Where that fails the commit stands, and the next head covers it too."""
        line = json.dumps({"seq": tip.seq, "hash": tip.hash, "at": at, "sig": _signature(tip, self._key)}) + "\n"
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
        if not self._path.exists():
            return NO_HEADS
        heads: list[Tip] = []
        forged = 0
        for line in self._path.read_text("utf-8", errors="replace").splitlines():
            try:
                found = _parsed(line)
            except (ValueError, KeyError, TypeError):
                if line.strip():
                    logger.warning("passed over a line of the audit heads that is not whole")
                continue
            tip, signature = found
            if hmac.compare_digest(signature, _signature(tip, self._key)):
                heads.append(tip)
            else:
                forged += 1
        return Read(heads, forged)


def _is_torn(file: int) -> bool:
    size = os.fstat(file).st_size
    return size > 0 and os.pread(file, 1, size - 1) != b"\n"


def _parsed(line: str) -> tuple[Tip, str]:
    members = cast("dict[str, Any]", json.loads(line))
    return Tip(int(members["seq"]), str(members["hash"])), str(members["sig"])


def _signature(tip: Tip, key: bytes) -> str:
    return hmac.digest(key, f"{tip.seq}:{tip.hash}".encode(), "sha256").hex()
