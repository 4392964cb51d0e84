"""Which database this is, and whether it is the one that was here last: see pollux/stores/lineage.py."""

import json

import psycopg

from pollux.stores.audit import Tip
from pollux.stores.heads import Heads
from pollux.stores.lineage import MARKS, adopted, doubt
from pollux.stores.postgres.scopes import ENGINE, Db

_MARKS = b"SELECT name, value FROM pollux.meta WHERE name = ANY(%s)"
_DATABASE = b"""
    SELECT pg_database.oid || '.' || 'pollux.meta'::regclass::oid::text
    FROM pg_database WHERE datname = current_database()
"""
_SYSTEM = b"SELECT system_identifier::text FROM pg_control_system()"
_HOLDS = b"SELECT FROM pollux.audit WHERE seq = %s AND hash = %s"
_HAS_ENTRIES = b"SELECT FROM pollux.audit LIMIT 1"
_NOTE = b"INSERT INTO pollux.meta VALUES (%s, %s) ON CONFLICT (name) DO UPDATE SET value = excluded.value"
_FORGET = b"DELETE FROM pollux.meta WHERE name = %s"
_TIP = b"SELECT seq, hash FROM pollux.audit_head FOR UPDATE"


def check_place(db: Db, *, heads: Heads | None, key: bytes) -> str:
    """Why this is not the store that was here last; nothing where it is. What was not noted yet is noted now."""
    # Heads first: one that is signed meanwhile speaks of an entry that is there by then.
    marks, place = marks_of(db), _place_of(db)
    has_entries = _finds(db, _HAS_ENTRIES)
    why = doubt(
        marks,
        place,
        heads=heads,
        key=key,
        holds=lambda tip: _finds(db, _HOLDS, tip.seq, tip.hash),
        has_entries=has_entries,
    )
    if why and "restored" not in marks:
        # For the other hosts too: their heads may not reach as far.
        db.execute(_NOTE, ("restored", why))
    elif not why and "place" not in marks:
        db.execute(_NOTE, ("place", json.dumps(place)))
    return why


def begin_lineage(db: Db, why: str, *, heads: Heads | None, key: bytes) -> None:
    """Let the chain go on from its last entry under a new name."""
    with db.transaction():
        seq, own = db.execute(_TIP).fetchone() or (0, "")
        adoptions = adopted(marks_of(db).get("adoptions"), Tip(seq, own), key, heads)
        db.execute(_NOTE, ("adoptions", adoptions))
        db.execute(_NOTE, ("restored", why))


def trust(db: Db) -> None:
    """This is the database to go on with."""
    with db.transaction():
        db.execute(_NOTE, ("place", json.dumps(_place_of(db))))
        db.execute(_FORGET, ("restored",))


def marks_of(db: Db) -> dict[str, str]:
    """What the store notes about itself, by name."""
    return {str(name): str(value) for name, value in db.execute(_MARKS, (list(MARKS),))}


def _place_of(db: Db) -> dict[str, str]:
    [(database,)] = db.execute(_DATABASE).fetchall()
    try:
        with db.transaction():
            [(system,)] = db.execute(_SYSTEM).fetchall()
    except psycopg.errors.InsufficientPrivilege:
        # Some hosts keep it to themselves.
        return {"database": database}
    return {"database": database, "system": system}


def _finds(db: Db, statement: bytes, *values: int | str) -> bool:
    with db.transaction():
        db.execute(ENGINE)
        return db.execute(statement, values).fetchone() is not None
