"""The fault in SQLite's log that matters where two processes share a store. Here, so that whoever warns of it agrees.

The WAL-reset bug (sqlite.org/wal.html#walresetbug): from 3.7.0 on, two connections that empty the log at the same
moment can lose commits or damage the file. 3.51.3 has the correction, and of the older lines 3.50.7 and 3.44.6.
"""

from typing import Final

CORRECTED: Final = "3.51.3 or newer (3.50.7 and 3.44.6 have the correction too)"


def can_lose_commits(version: tuple[int, ...]) -> bool:
    """Whether SQLite has the fault in this version."""
    return not (version >= (3, 51, 3) or (3, 50, 7) <= version < (3, 51) or (3, 44, 6) <= version < (3, 45))
