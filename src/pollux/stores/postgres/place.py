"""Which database this is, and whether it is the one that was here last: see pollux/stores/lineage.py.

A server whose whole data was put back or copied is the same database in every trace. But it had to be started, and
tells when. So the store notes a start that is vouched for: by a process whose heads reach the end of the audit, or by a
person. A process without heads trusts that note, and drives nothing while it is missing.
"""

import hmac
import json

import psycopg

from pollux.core.errors import UNREMEMBERED
from pollux.stores.audit import Tip
from pollux.stores.heads import Heads
from pollux.stores.lineage import MARKS, Lineage, adopted, doubt, lineage_of
from pollux.stores.postgres.scopes import ENGINE, Db

MISSED_SECONDS = 300.0
"""A host may lack heads of so much at the end of the audit: others wrote it, or it crashed with the server.

Servers and workers sign what the others wrote each minute.
"""

_MARKS = b"SELECT name, value FROM pollux.meta WHERE name = ANY(%s)"
_DATABASE = b"""
    SELECT pg_database.oid || '.' || 'pollux.meta'::regclass::oid::text,
        extract(epoch FROM pg_postmaster_start_time())::text
    FROM pg_database WHERE datname = current_database()
"""
_SYSTEM = b"SELECT system_identifier::text FROM pg_control_system()"
_HOLDS = b"SELECT FROM pollux.audit WHERE seq = %s AND hash = %s"
_MISSED = b"""
    SELECT (SELECT at FROM pollux.audit ORDER BY seq DESC LIMIT 1)
        - (SELECT at FROM pollux.audit WHERE seq > %s ORDER BY seq LIMIT 1)
"""
_HAS_ENTRIES = b"SELECT FROM pollux.audit LIMIT 1"
_NOTE = b"INSERT INTO pollux.meta VALUES (%s, %s) ON CONFLICT (name) DO UPDATE SET value = excluded.value"
_FORGET = b"DELETE FROM pollux.meta WHERE name = %s"
_TIP = b"SELECT seq, hash FROM pollux.audit_head FOR UPDATE"


def check_place(db: Db, *, heads: Heads | None, key: bytes) -> str:
    """Why this is not the store that was here last; nothing where it is. What was not noted yet is noted now."""
    # Heads first: one that is signed meanwhile speaks of an entry that is there by then.
    marks, place, vouched = marks_of(db), *_place_of(db, key)
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
    if why or marks.get("vouched") == vouched:
        return why
    if has_entries and not (heads and _is_remembered(db, heads, lineage_of(marks.get("adoptions"), key))):
        # A process that keeps no heads by choice trusts. Nothing is noted: others may remember.
        return UNREMEMBERED if heads else ""
    db.execute(_NOTE, ("vouched", vouched))
    return ""


def begin_lineage(db: Db, why: str, *, heads: Heads | None, key: bytes) -> None:
    """Let the chain go on from its last entry under a new name."""
    with db.transaction():
        seq, own = db.execute(_TIP).fetchone() or (0, "")
        adoptions = adopted(marks_of(db).get("adoptions"), Tip(seq, own), key, heads)
        db.execute(_NOTE, ("adoptions", adoptions))
        db.execute(_NOTE, ("restored", why))


def trust(db: Db, key: bytes) -> None:
    """This is the database to go on with."""
    with db.transaction():
        place, vouched = _place_of(db, key)
        db.execute(_NOTE, ("place", json.dumps(place)))
        db.execute(_NOTE, ("vouched", vouched))
        db.execute(_FORGET, ("restored",))


def marks_of(db: Db) -> dict[str, str]:
    """What the store notes about itself, by name."""
    return {str(name): str(value) for name, value in db.execute(_MARKS, ([*MARKS, "vouched"],))}


def _place_of(db: Db, key: bytes) -> tuple[dict[str, str], str]:
    """Which database this is, and what vouches for it since its server was started."""
    [(database, started)] = db.execute(_DATABASE).fetchall()
    vouched = hmac.digest(key, f"pollux.vouched:{database}:{started}".encode(), "sha256").hex()
    try:
        with db.transaction():
            [(system,)] = db.execute(_SYSTEM).fetchall()
    except psycopg.errors.InsufficientPrivilege:
        # Some hosts keep it to themselves.
        return {"database": database}, vouched
    return {"database": database, "system": system}, vouched


def _is_remembered(db: Db, heads: Heads, lineage: Lineage) -> bool:
    """Whether our heads reach the end of the audit, or the last minutes before it."""
    reached = max((tip.seq for tip in heads.newest().heads if lineage.holds(tip)), default=0)
    with db.transaction():
        db.execute(ENGINE)
        [(missed,)] = db.execute(_MISSED, (reached,)).fetchall()
    return reached > 0 and (missed is None or missed <= MISSED_SECONDS)


def _finds(db: Db, statement: bytes, *values: int | str) -> bool:
    with db.transaction():
        db.execute(ENGINE)
        return db.execute(statement, values).fetchone() is not None
