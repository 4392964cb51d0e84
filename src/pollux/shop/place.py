"""Where the shop's books lie. Handlers are found by name and made without arguments, so this is asked when they run."""

import os
from functools import cache
from pathlib import Path

from pollux.config import read_settings
from pollux.shop.ledger import Ledger

_told: list[Path] = []


def keep_at(path: Path) -> None:
    """Keep the books of this process in this file."""
    _told[:] = [path]


def books() -> Ledger:
    """The shop's books: where they were told to be, else beside Pollux's own files."""
    return _opened(_told[0] if _told else read_settings(os.environ, cwd=Path.cwd()).home / "shop.db")


@cache
def _opened(path: Path) -> Ledger:
    return Ledger(path)
