"""The oracle: one line for each effect, on the disk before the effect is answered.

Law: what is not written did not happen. A line that cannot be written stops its effect.
"""

import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pollux.core.frozen import frozen

_KEPT = 10_000


@frozen(kw_only=True)
class Entry:
    """One effect: what was done, to whom, and a hash of what the caller handed in."""

    time: float
    service: str
    method: str
    id: str
    to: tuple[str, ...] = ()
    cc: tuple[str, ...] = ()
    bcc: tuple[str, ...] = ()
    subject: str = ""
    sha256: str = ""


class Ledger:
    """The entries of this life of the emulator, and the file that outlives it."""

    def __init__(self, path: Path | None = None) -> None:
        self.entries: list[Entry] = []
        self._path = path
        if path is not None:
            # Now rather than at the first effect: a path that cannot be written is a mistake of whoever started this.
            path.touch()

    def write(self, entry: Entry) -> None:
        """Make it so. Raises OSError."""
        if self._path is not None:
            _append(self._path, json.dumps(asdict(entry), ensure_ascii=False, separators=(",", ":")) + "\n")
        self.entries.append(entry)
        if len(self.entries) > _KEPT:
            del self.entries[: _KEPT // 2]


def shown(entries: Sequence[Entry]) -> list[dict[str, Any]]:
    """As `GET /_emulator/ledger` lists them."""
    return [asdict(entry) for entry in entries]


def digest(content: bytes) -> str:
    """What `sha256` holds."""
    return hashlib.sha256(content).hexdigest()


def _append(path: Path, line: str) -> None:
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(file, line.encode("utf-8", "surrogatepass"))
        os.fsync(file)
    finally:
        os.close(file)
