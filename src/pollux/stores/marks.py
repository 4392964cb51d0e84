"""What a SQLite store notes about itself: where it lies, whether it was restored, and what became of it then."""

import json
import os
import sqlite3
from contextlib import suppress

from pollux.engine.untrusted import open_file
from pollux.stores.audit import Tip
from pollux.stores.heads import Heads
from pollux.stores.lineage import MARKS, doubt, place_of


def marks_of(db: sqlite3.Connection) -> dict[str, str]:
    """What is noted, by name."""
    wanted = ", ".join("?" * len(MARKS))
    return dict(db.execute(f"SELECT name, value FROM meta WHERE name IN ({wanted})", MARKS).fetchall())


def mark(db: sqlite3.Connection, **notes: str | None) -> None:
    """Note these, and forget those that are None, in one transaction."""
    db.execute("BEGIN IMMEDIATE")
    try:
        for name, value in notes.items():
            if value is None:
                db.execute("DELETE FROM meta WHERE name = ?", (name,))
            else:
                db.execute("INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)", (name, value))
        db.execute("COMMIT")
    finally:
        if db.in_transaction:
            db.execute("ROLLBACK")


def places(store: str, heads: Heads | None, *, make: bool) -> str:
    """Where the store and its heads lie, to be noted."""
    return json.dumps(_places(store, heads, make=make))


def check_place(db: sqlite3.Connection, store: str, *, heads: Heads | None, key: bytes) -> str:
    """Why this is not the store that was here last; nothing where it is. What was not noted yet is noted now."""
    known = marks_of(db)
    found = _places(store, heads, make=False)
    noted: dict[str, str] = json.loads(known["place"]) if "place" in known else {}
    if heads and "heads" in noted and "heads" not in found and noted["store"] == store:
        _follow(heads, noted["heads"])
        found = _places(store, heads, make=False)
    has_entries = db.execute("SELECT 1 FROM audit LIMIT 1").fetchone() is not None
    if noted and not has_entries and noted.get("store") == store:
        # Nothing has happened that a lost file could tell of.
        noted.pop("heads", None)
        known["place"] = json.dumps(noted)
    why = doubt(known, found, heads=heads, key=key, holds=lambda tip: _holds(db, tip), has_entries=has_entries)
    if why and "restored" not in known:
        # For every other process that opens it, also one that knows nothing of these heads.
        mark(db, restored=why)
    elif not why and (not noted or (heads and "heads" not in noted)):
        # The file is made with the store. Made later, it would hide that one was lost.
        mark(db, place=places(store, heads, make=not has_entries))
    return why


def _places(store: str, heads: Heads | None, *, make: bool) -> dict[str, str]:
    found = {"store": store}
    file = heads.open(make=make) if heads else None
    if file is not None:
        found["heads"] = place_of(file)
        os.close(file)
    return found


def _follow(heads: Heads, place: str) -> None:
    """The heads of a store that was moved have its old name."""
    for path in heads.path.parent.glob("*heads*"):
        with suppress(OSError), open(open_file(path), "rb") as file:
            if place_of(file.fileno()) == place:
                heads.move_from(path)
                return


def _holds(db: sqlite3.Connection, tip: Tip) -> bool:
    # Compared where it lies: the file may hold text that is none.
    return bool(db.execute("SELECT 1 FROM audit WHERE seq = ? AND hash = ?", (tip.seq, tip.hash)).fetchone())
