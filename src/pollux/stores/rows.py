"""A change as rows of the SQLite store, and rows as what they stand for.

Encoding happens in the caller's task, before the writer's lock is taken; what depends on the stored state (the thread's
merge, the audit's links) happens inside the transaction.
"""

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from operator import attrgetter
from typing import Any, NamedTuple

from pollux.core.errors import StoreError, ValidationError
from pollux.core.policy import SCOPES, Grant
from pollux.core.run import Compressed, Run
from pollux.core.thread import Thread
from pollux.engine.browser_session import BrowserSession
from pollux.engine.glance import Glance, glance_of
from pollux.engine.ports import NOTHING, ApprovalRow, AuditEntry, Change, RunRow
from pollux.stores import memory as rules
from pollux.stores.audit import Kept, Tip, chained
from pollux.stores.erasure import drop
from pollux.wire.codec import Codec, from_json, to_json


def _names(cls: type[Any]) -> tuple[str, ...]:
    return tuple(field.name for field in fields(cls))


def _upsert(table: str, names: tuple[str, ...]) -> str:
    key, *others = names
    marks = ", ".join("?" * len(names))
    news = ", ".join(f"{name} = excluded.{name}" for name in others)
    return f"INSERT INTO {table} ({', '.join(names)}) VALUES ({marks}) ON CONFLICT ({key}) DO UPDATE SET {news}"


# The columns are named like the fields they hold, apart from the keys of threads and grants.
RUN = _names(RunRow)[:-1]
GLANCE = _names(Glance)
LISTED = (*RUN, *GLANCE, "version", "told")
"""What a line in a list is made of. `told` is the version that the glance was taken at."""
APPROVAL = _names(ApprovalRow)
AUDIT = _names(AuditEntry)
SESSION = _names(BrowserSession)
GRANT = ("grant_id", *_names(Grant)[1:])
THREAD = ("thread_id", *_names(Thread)[1:])

_NEW_RUN = f"INSERT INTO runs ({', '.join(LISTED)}) VALUES ({', '.join('?' * len(LISTED))})"
_MOVED = ("status", "updated_at", "epoch", "driver", "tokens", *GLANCE, "version", "told")
_MOVE_RUN = f"UPDATE runs SET {', '.join(f'{name} = ?' for name in _MOVED)} WHERE run_id = ?"
_WAKE_RUN = "UPDATE runs SET owed = ?, wake_at = ? WHERE run_id = ?"
_PUT_THREAD = _upsert("threads", THREAD)
_PUT_APPROVAL = _upsert("approvals", APPROVAL)
_PUT_GRANT = _upsert("grants", GRANT)
_PUT_EVENT = "INSERT INTO events (stream, seq, kind, v, at, facts) VALUES (?, ?, ?, ?, ?, ?)"
_PUT_CONTENT = "INSERT INTO content (thread_id, digest, body) VALUES (?, ?, ?) ON CONFLICT DO NOTHING"
_PUT_MESSAGE = "INSERT INTO messages (thread_id, seq, run_id, role, digest) VALUES (?, ?, ?, ?, ?)"
_PUT_AUDIT = f"INSERT INTO audit ({', '.join(AUDIT)}, seal) VALUES ({', '.join('?' * (len(AUDIT) + 1))})"
_MOVE_THREAD = (
    "UPDATE threads SET head = ?, open_run = ?, context_tokens = ?, updated_at = ?, sources = ? WHERE thread_id = ?"
)
_KEEP_SECRET = "INSERT OR REPLACE INTO secrets (user, name, sealed) VALUES (?, ?, ?)"
_DROP_SECRET = "DELETE FROM secrets WHERE user = ? AND name = ?"
_PUT_SESSION = _upsert("sessions", SESSION)
_SWEEP_SESSIONS = "DELETE FROM sessions WHERE expires_at <= ?"
# Another value each time: the same one would not be written.
_TOUCH = "INSERT INTO meta VALUES ('touched', '0') ON CONFLICT (name) DO UPDATE SET value = 1 - value"
NOTE_LATEST = (
    "INSERT INTO meta VALUES ('latest', ?1) ON CONFLICT (name) DO UPDATE SET value = ?1"
    " WHERE CAST(?1 AS REAL) > CAST(value AS REAL)"
)
_GET_THREAD = f"SELECT {', '.join(THREAD)} FROM threads WHERE thread_id = ? AND user = coalesce(?, user)"
_GET_STANDING = "SELECT thread_id, version, head, open_run, erased FROM threads WHERE thread_id = ?"
_HAS_GRANT = "SELECT 1 FROM grants WHERE grant_id = ?"
_GET_RUN = "SELECT version, owed, wake_at FROM runs WHERE run_id = ?"
_GET_TIP = "SELECT seq, hash FROM audit ORDER BY seq DESC LIMIT 1"

_run_values = attrgetter(*RUN)
_glance_values = attrgetter(*GLANCE)
_approval_values = attrgetter(*APPROVAL)
_grant_values = attrgetter(*_names(Grant))
_audit_values = attrgetter(*AUDIT)
_session_values = attrgetter(*SESSION)


class _Standing(NamedTuple):
    id: str
    version: int
    head: int
    open_run: str | None
    erased: bool


@dataclass(slots=True)
class Prepared:
    """A change with everything encoded that can be encoded beforehand."""

    change: Change
    events: list[tuple[Any, ...]]
    contents: list[tuple[str, str, bytes]]
    messages: list[tuple[Any, ...]]


def prepare(change: Change, codec: Codec) -> Prepared:
    """Encode a change. Raises ValidationError where it holds something that is not JSON."""
    _check_text(change)
    thread_id = rules.thread_of(change) or ""
    run_id = change.run.id if change.run else None
    events: list[tuple[Any, ...]] = []
    contents: dict[str, bytes] = {}
    for stream, first, journal in _journals(change):
        for seq, event in enumerate(journal, first):
            stored = codec.encode(thread_id, event)
            events.append((stream, seq, stored.kind, stored.version, event.at, stored.facts))
            contents.update(stored.contents)
    messages: list[tuple[Any, ...]] = []
    for seq, message in enumerate(change.messages, change.first_message):
        digest, body = codec.encode_message(thread_id, message)
        contents[digest] = body
        messages.append((thread_id, seq, run_id, message.role, digest))
    return Prepared(change, events, [(thread_id, digest, body) for digest, body in contents.items()], messages)


def _check_text(change: Change) -> None:
    """SQLite would refuse it in the middle of a transaction that others share."""
    said = [fact.by + fact.user for fact in change.audit]
    if change.row:
        said.append(change.row.user + change.row.profile + change.row.run_id + change.row.driver)
    if change.run:
        said.append(change.run.model + (change.run.ending.code if change.run.ending else ""))
    if change.thread:
        said.append(change.thread.user + change.thread.title + change.thread.id + change.thread.project)
    said += [grant.tool + grant.subject for grant in change.grants]
    said += [user + name for user, name, _ in change.secrets]
    said += [session.user for session in change.sessions]
    try:
        "".join(said).encode()
    except UnicodeEncodeError:
        raise ValidationError("expected Unicode text, found a lone surrogate") from None


def write(db: sqlite3.Connection, prepared: Prepared, key: bytes) -> None:
    """Write a change inside the open transaction. Raises Conflict or ThreadBusy before anything is written."""
    change = prepared.change
    if change == NOTHING:
        # A transaction that writes nothing would find no full disk.
        db.execute(_TOUCH)
        return
    thread_id = rules.thread_of(change)
    stored = _standing(db, thread_id) if thread_id else None
    known = db.execute(_GET_RUN, (change.run.id,)).fetchone() if change.run else None
    granted = [grant for grant in rules.counted_on(change) if db.execute(_HAS_GRANT, (grant,)).fetchone()]
    rules.check(change, events=known[0] if known else 0, thread=stored, granted=granted)
    # All that can be refused has been: entries are made before the first row is written.
    entries = list(chained(change.audit, tip_of(db), key)) if change.audit else []
    if change.thread:
        _put_thread(db, change, change.thread, stored)
    if change.row and change.run:
        _put_run(db, change.row, change.run, known)
    _put_all(db, _PUT_EVENT, prepared.events)
    _put_all(db, _PUT_CONTENT, prepared.contents)
    _put_all(db, _PUT_MESSAGE, prepared.messages)
    _put_all(db, _PUT_APPROVAL, [_approval_values(row) for row in change.approvals])
    _put_all(db, _PUT_GRANT, [_grant_values(grant) for grant in change.grants])
    _put_all(db, "DELETE FROM grants WHERE grant_id = ?", [(grant_id,) for grant_id in change.revoked])
    for user, name, sealed in change.secrets:
        statement, values = (_DROP_SECRET, (user, name)) if sealed is None else (_KEEP_SECRET, (user, name, sealed))
        db.execute(statement, values)
    if change.sweep_sessions is not None:
        db.execute(_SWEEP_SESSIONS, (change.sweep_sessions,))
    _put_all(db, _PUT_SESSION, [_session_values(session) for session in change.sessions])
    if change.thread and change.thread.erased and change.thread_events:
        # Here, and not only afterwards: a thread that is marked as erased cannot be found to be erased again.
        drop(db, change.thread.id)
    _put_all(db, _PUT_AUDIT, [(*_audit_values(kept.entry), kept.seal) for kept in entries])


def moment_of(change: Change) -> float:
    """When the change was made; 0 where it does not say."""
    if change.row:
        return change.row.updated_at
    facts = (*change.thread_events[-1:], *change.audit[-1:])
    return max([change.sweep_sessions or 0.0, *(fact.at for fact in facts)])


def thread_by_id(db: sqlite3.Connection, thread_id: str, user: str | None = None) -> Thread | None:
    """The thread with this id; of this user's alone, where one is named."""
    row = db.execute(_GET_THREAD, (thread_id, user)).fetchone()
    return thread_of_row(row) if row else None


def thread_of_row(row: tuple[Any, ...]) -> Thread:
    """The thread that these columns hold."""
    thread_id, user, created, updated, title, version, head, open_run, compressed, tokens, forked, erased = row[:12]
    project, sources = row[12:]
    return Thread(
        thread_id,
        user,
        created,
        updated,
        title,
        version,
        head,
        open_run,
        from_json(Compressed, compressed) if compressed else None,
        tokens,
        forked,
        bool(erased),
        project,
        tuple(sources.split("\n")) if sources else (),
    )


def grant_of_row(row: tuple[Any, ...]) -> Grant:
    """The grant that these columns hold. Raises StoreError for what is none: nobody is to count on it."""
    grant = Grant(*row)
    texts = (*row[:4], *row[8:], *(value for value in row[6:8] if value is not None))
    is_whole = all(isinstance(value, str) for value in texts) and isinstance(grant.granted_at, float)
    if not is_whole or grant.scope not in SCOPES:
        raise StoreError("expected a stored grant, found something else. Restore the table grants from a copy")
    return grant


def run_of_row(row: tuple[Any, ...]) -> RunRow:
    """The run's line that these columns hold."""
    found, (version, told) = RunRow(*row[: len(RUN)]), row[-2:]
    glance = Glance(*row[len(RUN) : -2]) if told == version else None
    return replace(found, owed=bool(found.owed), glance=glance)


def beside(run: Run) -> tuple[Any, ...]:
    """What a row holds of the run besides what it is found by: the glance, and both versions."""
    return (*_glance_values(glance_of(run)), run.version, run.version)


def kept_of_row(row: tuple[Any, ...]) -> Kept:
    """The audit's entry and seal that these columns hold."""
    return Kept(AuditEntry(*row[:-1]), row[-1])


def tip_of(db: sqlite3.Connection) -> Tip:
    """Where the audit chain ends."""
    row = db.execute(_GET_TIP).fetchone()
    return Tip(*row) if row else Tip()


def _journals(change: Change) -> Iterable[tuple[str, int, tuple[Any, ...]]]:
    if change.thread and change.thread_events:
        first = change.thread.version - len(change.thread_events) + 1
        yield thread_stream(change.thread.id), first, change.thread_events
    if change.run and change.events:
        first = change.run.version - len(change.events) + 1
        yield run_stream(change.run.id), first, change.events


def run_stream(run_id: str) -> str:
    return f"r:{run_id}"


def thread_stream(thread_id: str) -> str:
    return f"t:{thread_id}"


def _put_run(db: sqlite3.Connection, row: RunRow, run: Run, known: tuple[int, int, float | None] | None) -> None:
    if known is None:
        db.execute(_NEW_RUN, (*_run_values(row), *beside(run)))
        return
    moved = (row.status, row.updated_at, row.epoch, row.driver, row.tokens)
    db.execute(_MOVE_RUN, (*moved, *beside(run), row.run_id))
    # Apart, because naming an indexed column writes its index again, even with the same value.
    if (row.owed, row.wake_at) != known[1:]:
        db.execute(_WAKE_RUN, (row.owed, row.wake_at, row.run_id))


def _standing(db: sqlite3.Connection, thread_id: str) -> _Standing | None:
    row = db.execute(_GET_STANDING, (thread_id,)).fetchone()
    return _Standing(*row) if row else None


def _put_thread(db: sqlite3.Connection, change: Change, thread: Thread, stored: _Standing | None) -> None:
    if stored and not change.thread_events:
        # As `rules.merged` has it, without reading what stays as it is.
        if rules.holds(change, stored):
            sources = "\n".join(thread.sources)
            moved = (thread.head, thread.open_run, thread.context_tokens, thread.updated_at, sources, thread.id)
            db.execute(_MOVE_THREAD, moved)
        return
    compressed = to_json(thread.compressed) if thread.compressed else None
    db.execute(
        _PUT_THREAD,
        (
            thread.id,
            thread.user,
            thread.created_at,
            thread.updated_at,
            thread.title,
            thread.version,
            thread.head,
            thread.open_run,
            compressed,
            thread.context_tokens,
            thread.forked_from,
            thread.erased,
            thread.project,
            "\n".join(thread.sources),
        ),
    )


def _put_all(db: sqlite3.Connection, statement: str, rows: list[tuple[Any, ...]]) -> None:
    if len(rows) == 1:
        db.execute(statement, rows[0])
    elif rows:
        db.executemany(statement, rows)
