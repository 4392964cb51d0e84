"""Verify the audit of a PostgreSQL store: in one snapshot, entry by entry, however long the chain is.

In a thread and on a connection of its own, because the judge reads a plain iterator.
"""

from collections.abc import Iterator

import psycopg

from pollux.engine.ports import AuditPart, AuditReport
from pollux.stores.audit import Kept, Tip
from pollux.stores.head_lines import NO_HEADS, Read
from pollux.stores.heads import Heads
from pollux.stores.lineage import lineage_of
from pollux.stores.postgres.address import Address
from pollux.stores.postgres.place import marks_of
from pollux.stores.postgres.rows import columns
from pollux.stores.postgres.schema import LOST_TRIGGERS, LOST_TRIGGERS_VALUES
from pollux.stores.postgres.scopes import ENGINE, Db
from pollux.stores.postgres.troubles import explained
from pollux.stores.rows import AUDIT, kept_of_row
from pollux.stores.verify import Evidence, part_of, verify

_CHAIN = f"SELECT {columns((*AUDIT, 'seal'))} FROM pollux.audit ORDER BY seq".encode()
_PART = f"SELECT {columns((*AUDIT, 'seal'))} FROM pollux.audit WHERE seq >= %s ORDER BY seq LIMIT %s".encode()
_AT_ONCE = 1000


def report(address: Address, key: bytes, heads: Heads | None, restored: str) -> AuditReport:
    """What a verification finds. Raises StoreError."""
    # Heads first: one that is signed while we read would speak of entries we do not see.
    signed = heads.read() if heads else NO_HEADS
    try:
        with psycopg.connect(**address.parameters, prepare_threshold=None) as db:
            db.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
            db.execute(ENGINE)
            evidence = _evidence(db, key, signed, restored)
            return verify(lambda: _chain(db), key, evidence)
    except psycopg.Error as problem:
        raise explained(problem, address) from problem


def part(db: Db, begin: Tip, limit: int, key: bytes, heads: Read, restored: str) -> AuditPart:
    """What so many entries after that one say."""
    with db.transaction():
        db.execute(b"SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        db.execute(ENGINE)
        found = [kept_of_row(row) for row in db.execute(_PART, (begin.seq, limit + bool(begin.seq)))]
        return part_of(found, begin, limit, key, lambda: _evidence(db, key, heads, restored))


def _evidence(db: Db, key: bytes, heads: Read, restored: str) -> Evidence:
    # How a definition reads depends on the path: without one, every name in it is whole.
    db.execute("SELECT set_config('search_path', '', true)")
    head = db.execute("SELECT seq FROM pollux.audit_head").fetchone()
    lost = [name for (name,) in db.execute(LOST_TRIGGERS, LOST_TRIGGERS_VALUES).fetchall()]
    lineage = lineage_of(marks_of(db).get("adoptions"), key)
    # A missing row was there once: nothing that is left tells how far the chain went.
    return Evidence(heads, head[0] if head else None, lost, lineage, restored)


def _chain(db: Db) -> Iterator[Kept]:
    with db.cursor("chain") as cursor:
        cursor.itersize = _AT_ONCE
        for row in cursor.execute(_CHAIN):
            yield kept_of_row(row)
