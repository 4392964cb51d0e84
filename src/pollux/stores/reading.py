"""Questions to the SQLite store, and the connections that ask them. Nothing here writes."""

import sqlite3
import sys
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from math import isfinite
from pathlib import Path
from typing import Any, TypeVar, cast

from pollux.core.errors import ValidationError
from pollux.core.events import Event
from pollux.core.frozen import frozen
from pollux.core.ids import Instant, RunId, UserId
from pollux.core.messages import Message
from pollux.core.policy import Grant
from pollux.core.thread import ThreadEvent
from pollux.engine.browser_session import BrowserSession
from pollux.engine.glance import DayUsage, Spending
from pollux.engine.ports import AuditEntry, AuditFilter, Recorded, RunRow
from pollux.stores import rows
from pollux.stores.audit import Kept, entry_of
from pollux.stores.glances import BEGINNING, beginning_of, spending
from pollux.stores.troubles import explained
from pollux.stores.uptime import Machine, time_since
from pollux.stores.usage import asked, day_of
from pollux.wire.codec import Erased, decode, decode_message, references

Db = sqlite3.Connection
T = TypeVar("T")


# The last one that came with the run: what was said before it may have come along.
_PROMPT = """
    SELECT substr(body, 1, ?) FROM messages JOIN content USING (thread_id, digest)
    WHERE thread_id = ? AND run_id = ? AND role = 'user' ORDER BY seq DESC LIMIT 1
"""
USAGE = asked("usage", "?", "user")


# The length of a body stands before it: one that is too much is not read.
_WEIGHED = "length(body), CASE WHEN length(body) <= ? THEN body END"
ANY = sys.maxsize
"""As many bytes as there are."""


class Heavy(Exception):
    """What was asked for holds more bytes than the one who asked would take."""


class Readers:
    """Connections for reading, lent to one question at a time, from any thread."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._idle: deque[Db] = deque()
        self._is_closed = False

    def ask(self, question: Callable[[Db], T]) -> T:
        """The answer. Raises StoreError."""
        try:
            db = self._take()
            try:
                answer = question(db)
            except sqlite3.Error:
                # The next question opens the file anew: it may have been put right meanwhile.
                db.close()
                raise
            except BaseException:
                self._give_back(db)
                raise
        except UnicodeEncodeError:
            raise ValidationError("expected Unicode text, found a lone surrogate") from None
        except sqlite3.Error as problem:
            raise explained(problem, self._path) from problem
        self._give_back(db)
        return answer

    def close(self) -> None:
        """Close them all; those still lent are closed when they come back."""
        self._is_closed = True
        while self._idle:
            self._idle.pop().close()

    def _give_back(self, db: Db) -> None:
        if self._is_closed:
            db.close()
        else:
            self._idle.append(db)

    def _take(self) -> Db:
        try:
            return self._idle.pop()
        except IndexError:
            db = sqlite3.connect(self._path, isolation_level=None, check_same_thread=False)
            db.execute("PRAGMA query_only = ON")
            return db


@frozen
class Page:
    """A list, newest first, in the order that its rows were written in.

    The first column is its key. Rows from before they were numbered are in the order of their moment, `by`.
    """

    table: str
    columns: tuple[str, ...]
    by: str
    conditions: tuple[str, ...] = ()
    values: tuple[Any, ...] = ()

    def where(self, condition: str, *values: Any) -> "Page":
        return replace(self, conditions=(*self.conditions, condition), values=(*self.values, *values))

    def read(self, db: Db, limit: int, before: str | None) -> list[tuple[Any, ...]]:
        """Up to `limit` rows after the one with the key `before`. A key that is not there leads nowhere."""
        key, page = self.columns[0], self
        order = ("listed", self.by, key)
        if before is not None:
            # The first condition is the owner: somebody else's key leads nowhere either.
            place = f"SELECT {', '.join(order)} FROM {self.table} WHERE {key} = ? AND {self.conditions[0]}"
            found = db.execute(place, (before, self.values[0])).fetchone()
            if found is None:
                return []
            page = self.where(f"({', '.join(order)}) < (?, ?, ?)", *found)
        statement = (
            f"SELECT {', '.join(page.columns)} FROM {page.table} WHERE {' AND '.join(page.conditions)}"
            f" ORDER BY {', '.join(f'{column} DESC' for column in order)} LIMIT ?"
        )
        return db.execute(statement, (*page.values, limit)).fetchall()


@frozen
class AuditPage:
    """Entries of the audit, of one user or of all, between two numbers."""

    user: str | None
    after: int
    before: int | None
    newest_first: bool
    only: AuditFilter

    def read(self, db: Db, limit: int) -> list[AuditEntry]:
        """Up to `limit` of them, from the end that was asked for."""
        bounds = (("user = ?", self.user), ("seq > ?", self.after), ("seq < ?", self.before))
        given = [(condition, value) for condition, value in (*bounds, *wanted(self.only)) if value is not None]
        statement = (
            f"SELECT {', '.join(rows.AUDIT)} FROM audit WHERE {' AND '.join(condition for condition, _ in given)}"
            f" ORDER BY seq {'DESC' if self.newest_first else 'ASC'} LIMIT ?"
        )
        values = (*(value for _, value in given), limit)
        return leniently(db, lambda: [entry_of(row) for row in db.execute(statement, values)])


def leniently(db: Db, question: Callable[[], T]) -> T:
    """The answer, also where the file holds text that is none: whoever put it there must not hide the rest by it."""
    try:
        return question()
    except sqlite3.OperationalError as problem:
        if "Could not decode" not in str(problem):
            raise
    db.text_factory = _replaced
    try:
        return question()
    finally:
        db.text_factory = str


def _replaced(text: bytes) -> str:
    return text.decode("utf-8", "replace")


def wanted(only: AuditFilter) -> Iterable[tuple[str, Any]]:
    """The conditions of a filter, each with its value; None for those that it does not have."""
    for name in ("kind", "tool_name", "execution_status", "run_id"):
        yield f"{name} = ?", getattr(only, name)
    yield "at >= ?", only.since
    yield "at < ?", only.until


def run_head(db: Db, run_id: str, user: str | None = None) -> tuple[str, int] | None:
    """The run's thread, and how many events it has; of this user's run alone, where one is named."""
    statement = "SELECT thread_id, version FROM runs WHERE run_id = ? AND user = coalesce(?, user)"
    return db.execute(statement, (run_id, user)).fetchone()


def journal(db: Db, run_id: str, thread_id: str, after: int, most: int = ANY) -> list[Recorded]:
    """A run's events with a higher number. Raises Heavy where what was said in them is more than `most` bytes."""
    events = _events(db, rows.run_stream(run_id), thread_id, after, most)
    return [Recorded(seq, cast("Event", event)) for seq, event in events]


def thread_journal(db: Db, thread_id: str) -> list[ThreadEvent]:
    """A thread's own events."""
    return [cast("ThreadEvent", event) for _, event in _events(db, rows.thread_stream(thread_id), thread_id, 0, ANY)]


def messages(db: Db, thread_id: str, after: int, limit: int | None, most: int = ANY) -> list[Message]:
    """A thread's messages with a higher number, the first so many or all. Raises Heavy above `most` bytes."""
    found = db.execute(
        f"SELECT {_WEIGHED} FROM messages LEFT JOIN content USING (thread_id, digest)"
        " WHERE thread_id = ? AND seq > ? ORDER BY seq LIMIT ?",
        (most, thread_id, after, -1 if limit is None else limit),
    )
    return [_message(body) for body in _light(found, most)]


def run_rows(db: Db, where: str, *values: str) -> list[RunRow]:
    """The lines of runs that fulfil a condition, oldest first."""
    statement = f"SELECT {', '.join(rows.LISTED)} FROM runs WHERE {where} ORDER BY created_at, run_id"
    return [rows.run_of_row(row) for row in db.execute(statement, values)]


def spent(db: Db, user: str, since: Instant, *, is_prefix: bool) -> Spending:
    """The tokens of a user's runs, or of all whose names begin so, from that moment on."""
    # Of many users, by their end: the plus keeps SQLite from reading all that they ever began.
    whose, names = (
        ("+user >= ? AND +user <= ?", (user, user + chr(sys.maxunicode))) if is_prefix else ("user = ?", (user,))
    )
    return Spending(*db.execute(spending("runs", whose, "?"), (since, *names, *names, since)).fetchone())


def prompts(db: Db, runs: Sequence[RunRow]) -> dict[RunId, str]:
    """The beginnings of what these runs were asked."""
    found = ((row.run_id, db.execute(_PROMPT, (BEGINNING, row.thread_id, row.run_id)).fetchone()) for row in runs)
    return {run_id: beginning_of(body[0]) for run_id, body in found if body}


def usage(db: Db, user: str, since: Instant) -> list[DayUsage]:
    """What a user's runs used from the day of that moment on, by day and model."""
    return [DayUsage(*row) for row in db.execute(USAGE, (user, day_of(since)))]


def secret(db: sqlite3.Connection, user: str, name: str) -> bytes | None:
    """What the user has entrusted under this name, sealed."""
    row = db.execute("SELECT sealed FROM secrets WHERE user = ? AND name = ?", (user, name)).fetchone()
    return row[0] if row else None


def secrets(db: sqlite3.Connection, name: str) -> list[tuple[UserId, bytes]]:
    """Everybody's of this name."""
    found = db.execute("SELECT user, sealed FROM secrets WHERE name = ? ORDER BY user", (name,))
    return [(UserId(user), sealed) for user, sealed in found]


def session(db: Db, digest: str) -> BrowserSession | None:
    """The session whose cookie has this digest."""
    statement = f"SELECT {', '.join(rows.SESSION)} FROM sessions WHERE digest = ?"
    row = db.execute(statement, (digest,)).fetchone()
    return BrowserSession(*row) if row else None


def sessions(db: Db, user: str) -> list[BrowserSession]:
    """A user's sessions, newest first."""
    statement = f"SELECT {', '.join(rows.SESSION)} FROM sessions WHERE user = ? ORDER BY created_at DESC, id DESC"
    return [BrowserSession(*row) for row in db.execute(statement, (user,))]


def grants(db: Db, user: str | None) -> list[Grant]:
    """What a user has granted, or everybody has, oldest first."""
    condition, values = ("TRUE", ()) if user is None else ("user = ?", (user,))
    statement = f"SELECT {', '.join(rows.GRANT)} FROM grants WHERE {condition} ORDER BY granted_at, grant_id"
    return [rows.grant_of_row(row) for row in db.execute(statement, values)]


def due(db: Db, now: Instant) -> list[RunId]:
    """Runs whose moment has come, the longest overdue first."""
    found = db.execute("SELECT run_id FROM runs WHERE wake_at <= ? ORDER BY wake_at, run_id", (now,))
    return [RunId(run_id) for (run_id,) in found]


def next_wake(db: Db) -> Instant | None:
    """The earliest moment that any run waits for."""
    return db.execute("SELECT min(wake_at) FROM runs WHERE wake_at IS NOT NULL").fetchone()[0]


def latest(db: Db, machine: Machine | None) -> Instant:
    """The latest moment that was noted, and how long the machine has been up since then where that is asked for."""
    noted = db.execute("SELECT CAST(value AS REAL), CAST(value AS TEXT) FROM meta WHERE name = 'latest'").fetchone()
    last = db.execute("SELECT at FROM audit ORDER BY seq DESC LIMIT 1").fetchone()
    # Somebody may have put there what is no time; the audit names it.
    found = [row[0] if row and isinstance(row[0], float) and isfinite(row[0]) else 0.0 for row in (noted, last)]
    since = time_since(noted[1], machine) if noted and machine else 0.0
    return max(found[0] + since, found[1])


def versions(db: Db, run_ids: Sequence[RunId]) -> dict[RunId, int]:
    """How many events each of these runs has."""
    statement = "SELECT version FROM runs WHERE run_id = ?"
    found = ((run_id, db.execute(statement, (run_id,)).fetchone()) for run_id in run_ids)
    return {run_id: row[0] for run_id, row in found if row}


def chain(db: Db) -> Iterable[Kept]:
    """The whole audit with its seals."""
    return map(rows.kept_of_row, db.execute(f"SELECT {', '.join(rows.AUDIT)}, seal FROM audit ORDER BY seq"))


def part(db: Db, seq: int, limit: int) -> list[Kept]:
    """The entry of this number, and so many after it."""
    statement = f"SELECT {', '.join(rows.AUDIT)}, seal FROM audit WHERE seq >= ? ORDER BY seq LIMIT ?"
    return [rows.kept_of_row(row) for row in db.execute(statement, (seq, limit + bool(seq)))]


def highest_entry(db: Db) -> int | None:
    """The highest number that the audit ever gave, as SQLite remembers it."""
    found = db.execute("SELECT seq FROM sqlite_sequence WHERE name = 'audit'").fetchone()
    return found[0] if found else None


def _events(db: Db, stream: str, thread_id: str, after: int, most: int) -> list[tuple[int, Event | ThreadEvent]]:
    found = db.execute(
        "SELECT seq, kind, v, facts FROM events WHERE stream = ? AND seq > ? ORDER BY seq", (stream, after)
    ).fetchall()
    contents = _contents(db, thread_id, [*{digest for row in found for digest in references(row[3])}], most)
    return [(seq, decode(kind, version, facts, contents)) for seq, kind, version, facts in found]


def _contents(db: Db, thread_id: str, digests: Sequence[str], most: int) -> dict[str, bytes]:
    statement = f"SELECT {_WEIGHED} FROM content WHERE thread_id = ? AND digest = ?"
    found = (db.execute(statement, (most, thread_id, digest)).fetchone() or (0, None) for digest in digests)
    bodies = zip(digests, _light(found, most), strict=True)
    return {digest: body for digest, body in bodies if body is not None}


def _light(found: Iterable[tuple[int | None, bytes | None]], most: int) -> Iterable[bytes | None]:
    """The bodies, as long as all together are not too much."""
    weight = 0
    for length, body in found:
        weight += length or 0
        if weight > most:
            raise Heavy
        yield body


def _message(body: bytes | None) -> Message:
    if body is None:
        raise Erased("expected the content of a message, but it was erased")
    return decode_message(body)
