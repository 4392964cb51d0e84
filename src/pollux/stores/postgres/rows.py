"""A change as statements for PostgreSQL. What SQLite's rows hold, these hold too, in tables of the same names.

Many rows of one table go in one statement, as columns: the server plans it once, whatever their number.
"""

from collections.abc import Iterable, Sequence
from dataclasses import fields
from operator import attrgetter
from typing import Any

from pollux.core.policy import Grant
from pollux.core.run import Run
from pollux.core.thread import Thread
from pollux.engine.ports import AuditFact, Change, RunRow
from pollux.stores import memory as rules
from pollux.stores.audit import Kept, Tip
from pollux.stores.postgres.erasure import DROP
from pollux.stores.postgres.scopes import Statement
from pollux.stores.postgres.troubles import check_text
from pollux.stores.rows import APPROVAL, AUDIT, GLANCE, GRANT, LISTED, RUN, SESSION, THREAD, Prepared, beside
from pollux.wire.codec import to_json

_ARRAYS = {
    "at": "float8", "requested_at": "float8", "expires_at": "float8", "granted_at": "float8", "started_at": "float8",
    "ended_at": "float8", "created_at": "float8", "seq": "int8", "v": "int8", "body": "bytea",
}  # fmt: skip
"""The types of columns that hold no text."""


def columns(names: Iterable[str]) -> str:
    """The names as SQL: one of ours is a reserved word."""
    return ", ".join(f'"{name}"' for name in names)


def _insert(table: str, names: Sequence[str], otherwise: str = "") -> bytes:
    arrays = ", ".join(f"%s::{_ARRAYS.get(name, 'text')}[]" for name in names)
    return f"INSERT INTO pollux.{table} ({columns(names)}) SELECT * FROM unnest({arrays}) {otherwise}".encode()


def _upsert(table: str, names: Sequence[str]) -> bytes:
    news = ", ".join(f'"{name}" = excluded."{name}"' for name in names[1:])
    return _insert(table, names, f"ON CONFLICT ({names[0]}) DO UPDATE SET {news}")


def _marks(names: Sequence[str]) -> str:
    return ", ".join(["%s"] * len(names))


_PUT_EVENTS = _insert("events", ("stream", "seq", "kind", "v", "at", "facts"))
_PUT_CONTENT = _insert("content", ("thread_id", "digest", "body"), "ON CONFLICT DO NOTHING")
_PUT_MESSAGES = _insert("messages", ("thread_id", "seq", "run_id", "role", "digest"))
_PUT_AUDIT = _insert("audit", (*AUDIT, "seal"))
_PUT_APPROVALS = _upsert("approvals", APPROVAL)
_PUT_GRANTS = _upsert("grants", GRANT)
_MOVE_HEAD = b"UPDATE pollux.audit_head SET seq = %s, hash = %s"
_REVOKE = b"DELETE FROM pollux.grants WHERE grant_id = ANY(%s)"
_KEEP_SECRET = (
    b'INSERT INTO pollux.secrets ("user", name, sealed) VALUES (%s, %s, %s)'
    b' ON CONFLICT ("user", name) DO UPDATE SET sealed = excluded.sealed'
)
_DROP_SECRET = b'DELETE FROM pollux.secrets WHERE "user" = %s AND name = %s'
_PUT_SESSIONS = _upsert("sessions", SESSION)
_SWEEP_SESSIONS = b"DELETE FROM pollux.sessions WHERE expires_at <= %s"
_NEW_RUN = f"INSERT INTO pollux.runs ({columns(LISTED)}) VALUES ({_marks(LISTED)})".encode()
_MOVED = ("status", "updated_at", "epoch", "driver", "tokens", "owed", "wake_at", *GLANCE, "version", "told")
_MOVE_RUN = f"UPDATE pollux.runs SET ({columns(_MOVED)}) = ROW ({_marks(_MOVED)}) WHERE run_id = %s".encode()
_NEW_THREAD = f"INSERT INTO pollux.threads ({columns(THREAD)}) VALUES ({_marks(THREAD)})".encode()
_PUT_THREAD = (
    f"UPDATE pollux.threads SET ({columns(THREAD[1:])}) = ROW ({_marks(THREAD[1:])}) WHERE thread_id = %s".encode()
)
_MOVE_THREAD = (
    b"UPDATE pollux.threads SET head = %s, open_run = %s, context_tokens = %s, updated_at = %s, sources = %s"
    b" WHERE thread_id = %s"
)

_run_values = attrgetter(*RUN)
_approval_values = attrgetter(*APPROVAL)
_grant_values = attrgetter(*(field.name for field in fields(Grant)))
_audit_values = attrgetter(*AUDIT)
_session_values = attrgetter(*SESSION)
_fact_values = attrgetter(*(field.name for field in fields(AuditFact)))


def check_texts(change: Change) -> None:
    """See that all text of the change can be kept. Raises ValidationError."""
    said: list[Any] = []
    if change.row:
        said += _run_values(change.row)
    if change.run:
        said += [change.run.model, change.run.ending.code if change.run.ending else ""]
    if change.thread:
        thread = change.thread
        said += [thread.id, thread.user, thread.title, thread.open_run, thread.forked_from, thread.project]
        said += thread.sources
    for values, things in (
        (_approval_values, change.approvals),
        (_grant_values, change.grants),
        (_fact_values, change.audit),
        (_session_values, change.sessions),
    ):
        for thing in things:
            said += values(thing)
    for user, name, _ in change.secrets:
        said += [user, name]
    check_text(*said, *change.revoked)


def written(
    prepared: Prepared, *, stored: rules.Standing | None, is_known: bool, entries: Sequence[Kept]
) -> Iterable[Statement]:
    """What writes the change, the thread first: two who begin one and the same meet there."""
    change = prepared.change
    if change.thread:
        yield from _thread(change, change.thread, stored)
    if change.row and change.run:
        yield _run(change.row, change.run, is_known)
    yield from _many(_PUT_EVENTS, prepared.events)
    yield from _many(_PUT_CONTENT, prepared.contents)
    yield from _many(_PUT_MESSAGES, prepared.messages)
    # By their keys, the last one counts: PostgreSQL refuses to write one row twice in a statement.
    yield from _many(
        _PUT_APPROVALS, list({row.approval_id: _approval_values(row) for row in change.approvals}.values())
    )
    yield from _many(_PUT_GRANTS, list({grant.id: _grant_values(grant) for grant in change.grants}.values()))
    if change.revoked:
        yield _REVOKE, (list(change.revoked),)
    for user, name, sealed in change.secrets:
        yield (_DROP_SECRET, (user, name)) if sealed is None else (_KEEP_SECRET, (user, name, sealed))
    if change.sweep_sessions is not None:
        yield _SWEEP_SESSIONS, (change.sweep_sessions,)
    yield from _many(_PUT_SESSIONS, list({each.id: _session_values(each) for each in change.sessions}.values()))
    if change.thread and change.thread.erased and change.thread_events:
        # Here, and not only afterwards: a thread that is marked as erased cannot be found to be erased again.
        for statement in DROP:
            yield statement, (change.thread.id,)
    if entries:
        yield from _many(_PUT_AUDIT, [(*_audit_values(kept.entry), kept.seal) for kept in entries])
        tip = tip_after(entries)
        yield _MOVE_HEAD, (tip.seq, tip.hash)


def tip_after(entries: Sequence[Kept], lineage: str = "") -> Tip:
    """Where the chain ends with these."""
    return Tip(entries[-1].entry.seq, entries[-1].entry.hash, lineage)


def _many(statement: bytes, rows: Sequence[tuple[Any, ...]]) -> Iterable[Statement]:
    if rows:
        yield statement, [list(column) for column in zip(*rows, strict=True)]


def _run(row: RunRow, run: Run, is_known: bool) -> Statement:
    if not is_known:
        return _NEW_RUN, (*_run_values(row), *beside(run))
    moved = (row.status, row.updated_at, row.epoch, row.driver, row.tokens, row.owed, row.wake_at)
    return _MOVE_RUN, (*moved, *beside(run), row.run_id)


def _thread(change: Change, thread: Thread, stored: rules.Standing | None) -> Iterable[Statement]:
    sources = "\n".join(thread.sources)
    if stored and not change.thread_events:
        # As `rules.merged` has it, without reading what stays as it is.
        if rules.holds(change, stored):
            moved = (thread.head, thread.open_run, thread.context_tokens, thread.updated_at, sources, thread.id)
            yield _MOVE_THREAD, moved
        return
    compressed = to_json(thread.compressed) if thread.compressed else None
    begun = (thread.user, thread.created_at, thread.updated_at, thread.title, thread.version, thread.head)
    more = (thread.open_run, compressed, thread.context_tokens, thread.forked_from, thread.erased, thread.project)
    values = (*begun, *more, sources)
    yield (_PUT_THREAD, (*values, thread.id)) if stored else (_NEW_THREAD, (thread.id, *values))
