"""What went wrong with SQLite, in words a person can act on."""

import sqlite3
from pathlib import Path

from pollux.core.errors import StoreError

_SAID = {
    sqlite3.SQLITE_FULL: "expected room for the store {path}, but the disk is full. Free some space and try again",
    sqlite3.SQLITE_IOERR: "expected the disk to keep the store {path}, but it reported an error. Check the disk",
    sqlite3.SQLITE_CORRUPT: "expected a sound store at {path}, but it is damaged. Restore it from a copy",
    sqlite3.SQLITE_NOTADB: "expected a store at {path}, but the file is something else. Name another one",
    sqlite3.SQLITE_READONLY: "expected to write the store {path}, but it is read-only. Check its rights",
    sqlite3.SQLITE_CANTOPEN: "expected to open the store {path}, but it cannot be. Check that its directory exists",
    sqlite3.SQLITE_PERM: "expected to open the store {path}, but that is not permitted. Check its rights",
    sqlite3.SQLITE_AUTH: "expected to open the store {path}, but that is not permitted. Check its rights",
    sqlite3.SQLITE_BUSY: "expected the store {path} to be free, but another process holds it. Try again",
    sqlite3.SQLITE_LOCKED: "expected the store {path} to be free, but another process holds it. Try again",
}


def code_of(problem: sqlite3.Error) -> int:
    """SQLite's own number for the kind of trouble; 0 where there is none."""
    return getattr(problem, "sqlite_errorcode", 0) & 0xFF


def explained(problem: sqlite3.Error, path: Path) -> StoreError:
    """The trouble as an error of ours."""
    said = _SAID.get(code_of(problem))
    if said is None:
        name = getattr(problem, "sqlite_errorname", type(problem).__name__)
        return StoreError(f"expected SQLite to serve the store {path}, found: {problem} ({name})")
    return StoreError(said.format(path=path))


def is_the_worlds(problem: sqlite3.Error) -> bool:
    """Whether disk or machine are to blame, so that trying a part of the same work again would not help."""
    return code_of(problem) in _SAID


def breaks_the_connection(problem: sqlite3.Error) -> bool:
    """Whether it is better to open the file anew: it may have been put back, moved or given other rights."""
    return code_of(problem) in (
        sqlite3.SQLITE_CORRUPT,
        sqlite3.SQLITE_NOTADB,
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_PERM,
        sqlite3.SQLITE_AUTH,
    )
