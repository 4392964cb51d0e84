"""Questions to the PostgreSQL store, as statements, and their answers as what they stand for."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pollux.core.events import Event
from pollux.core.frozen import frozen
from pollux.core.messages import Message
from pollux.core.thread import ThreadEvent
from pollux.engine.ports import AuditFilter
from pollux.stores.glances import spending
from pollux.stores.postgres.rows import columns
from pollux.stores.postgres.scopes import Row, Statement
from pollux.stores.reading import wanted
from pollux.stores.rows import AUDIT, GRANT, LISTED, SESSION, THREAD, run_stream, thread_stream
from pollux.stores.usage import asked
from pollux.wire.codec import Erased, decode, decode_message, references


@frozen
class Page:
    """A list of one user's, newest first, in the order that its rows were written in.

    The first column is its key. Rows from before they were numbered are in the order of their moment, `by`.
    """

    table: str
    columns: tuple[str, ...]
    by: str
    user: str
    conditions: tuple[str, ...] = ()
    values: tuple[Any, ...] = ()

    def where(self, condition: str, *values: Any) -> "Page":
        return replace(self, conditions=(*self.conditions, condition), values=(*self.values, *values))

    def asked(self, limit: int, before: str | None) -> Statement:
        """Up to `limit` rows after the one with the key `before`. A key that is not there leads nowhere."""
        key, page = self.columns[0], self
        order = ("listed", self.by, key)
        if before is not None:
            # Where the inner question finds nothing, the comparison is never true. Somebody else's key is not found.
            place = f'SELECT {", ".join(order)} FROM pollux.{self.table} WHERE {key} = %s AND "user" = %s'
            page = self.where(f"({', '.join(order)}) < ({place})", before, self.user)
        conditions = " AND ".join(('"user" = %s', *page.conditions))
        return (
            f"SELECT {columns(self.columns)} FROM pollux.{self.table} WHERE {conditions}"
            f" ORDER BY {', '.join(f'{column} DESC' for column in order)} LIMIT %s"
        ).encode(), (self.user, *page.values, limit)


END = (
    b"SELECT seq, hash, (SELECT at FROM pollux.audit ORDER BY seq DESC LIMIT 1),"
    b" (SELECT value FROM pollux.meta WHERE name = 'adoptions') FROM pollux.audit_head"
)
LATEST = (
    b"SELECT extract(epoch FROM clock_timestamp())::float8, (SELECT at FROM pollux.audit ORDER BY seq DESC LIMIT 1)"
)


def journal(run_id: str, after: int, user: str | None = None) -> Statement:
    """A run's events with a higher number, each with the run's thread; of this user's run alone, where one is named."""
    return (
        b"SELECT thread_id, seq, kind, v, facts FROM pollux.runs JOIN pollux.events ON stream = %s"
        b' WHERE run_id = %s AND "user" = coalesce(%s, "user") AND seq > %s ORDER BY seq',
        (run_stream(run_id), run_id, user, after),
    )


def thread_journal(thread_id: str) -> Statement:
    """A thread's own events."""
    return (
        b"SELECT %s, seq, kind, v, facts FROM pollux.events WHERE stream = %s ORDER BY seq",
        (thread_id, thread_stream(thread_id)),
    )


def contents(journal: Sequence[Row]) -> Statement | None:
    """What these rows of a journal refer to, if they do."""
    digests = {digest for row in journal for digest in references(row[4])}
    if not digests:
        return None
    return (
        b"SELECT digest, body FROM pollux.content WHERE thread_id = %s AND digest = ANY(%s)",
        (journal[0][0], list(digests)),
    )


def events(journal: Sequence[Row], bodies: Mapping[str, bytes]) -> list[tuple[int, Event | ThreadEvent]]:
    """The events of a journal's rows, each with its number."""
    return [(seq, decode(kind, version, facts, bodies)) for _, seq, kind, version, facts in journal]


def messages(thread_id: str, after: int, limit: int | None) -> Statement:
    """The bodies of a thread's messages with a higher number, unless it is erased."""
    return (
        b"SELECT body FROM pollux.threads JOIN pollux.messages USING (thread_id) LEFT JOIN pollux.content"
        b" USING (thread_id, digest) WHERE thread_id = %s AND NOT erased AND seq > %s ORDER BY seq LIMIT %s",
        (thread_id, after, limit),
    )


def message(body: bytes | None) -> Message:
    """The message of a stored body."""
    if body is None:
        raise Erased("expected the content of a message, but it was erased")
    return decode_message(body)


def thread(thread_id: str, user: str | None = None) -> Statement:
    """The thread with this id; of this user's alone, where one is named."""
    statement = f'SELECT {columns(THREAD)} FROM pollux.threads WHERE thread_id = %s AND "user" = coalesce(%s, "user")'
    return statement.encode(), (thread_id, user)


def run_rows(condition: str, *values: str) -> Statement:
    """The lines of runs that fulfil a condition, oldest first."""
    statement = f"SELECT {columns(LISTED)} FROM pollux.runs WHERE {condition} ORDER BY created_at, run_id"
    return statement.encode(), values


def grants(user: str | None) -> Statement:
    """What a user has granted, or everybody has, oldest first."""
    condition, values = ("TRUE", ()) if user is None else ('"user" = %s', (user,))
    statement = f"SELECT {columns(GRANT)} FROM pollux.grants WHERE {condition} ORDER BY granted_at, grant_id"
    return statement.encode(), values


def audit(
    user: str | None, after: int, before: int | None, limit: int, *, newest_first: bool, only: AuditFilter
) -> Statement:
    """Entries of one user or of all, between two numbers."""
    bounds: Iterable[tuple[str, Any]] = (('"user" = %s', user), ("seq > %s", after), ("seq < %s", before))
    filters = ((condition.replace("?", "%s"), value) for condition, value in wanted(only))
    given = [(condition, value) for condition, value in (*bounds, *filters) if value is not None]
    return (
        f"SELECT {columns(AUDIT)} FROM pollux.audit WHERE {' AND '.join(condition for condition, _ in given)}"
        f" ORDER BY seq {'DESC' if newest_first else 'ASC'} LIMIT %s"
    ).encode(), (*(value for _, value in given), limit)


# The last one that came with the run: what was said before it may have come along.
PROMPTS = b"""
    SELECT wanted.run_id, substring(body FROM 1 FOR %s)
    FROM unnest(%s::text[], %s::text[]) AS wanted (thread_id, run_id) CROSS JOIN LATERAL (
        SELECT digest FROM pollux.messages AS said
        WHERE said.thread_id = wanted.thread_id AND said.run_id = wanted.run_id AND role = 'user'
        ORDER BY seq DESC LIMIT 1
    ) AS prompt JOIN pollux.content ON content.thread_id = wanted.thread_id AND content.digest = prompt.digest
"""
USAGE = asked("pollux.usage", "%s", '"user"').encode()
HAS_WORKERS = b"SELECT FROM pg_tables WHERE schemaname = 'pollux' AND tablename = 'procrastinate_workers'"
WORKERS = b"""
    SELECT count(*) FROM pollux.procrastinate_workers
    WHERE NOT stands_in AND last_heartbeat > clock_timestamp() - interval '6 seconds'
"""
SPENT = spending("pollux.runs", '"user" = %s', "%s").encode()
SPENT_BY_ALL = spending("pollux.runs", 'starts_with("user", %s)', "%s").encode()
DUE = b"SELECT run_id FROM pollux.runs WHERE wake_at <= %s ORDER BY wake_at, run_id"
NEXT_WAKE = b"SELECT min(wake_at) FROM pollux.runs WHERE wake_at IS NOT NULL"
VERSIONS = b"SELECT run_id, version FROM pollux.runs WHERE run_id = ANY(%s)"
SECRET = b'SELECT sealed FROM pollux.secrets WHERE "user" = %s AND name = %s'
SECRETS = b'SELECT "user", sealed FROM pollux.secrets WHERE name = %s ORDER BY "user"'
SESSION_BY_DIGEST = f"SELECT {columns(SESSION)} FROM pollux.sessions WHERE digest = %s".encode()
SESSIONS = (
    f'SELECT {columns(SESSION)} FROM pollux.sessions WHERE "user" = %s ORDER BY created_at DESC, id DESC'
).encode()
