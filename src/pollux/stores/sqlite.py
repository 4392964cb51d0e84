"""The embedded store: one SQLite file, many processes, nothing acknowledged that is not on disk.

Writes go through the process's one writer thread (writer.py) under a file lock. Reads have connections of their own:
short ones run where they are asked, long ones in a thread, so that the event loop never stands still for a list.
"""

import asyncio
import logging
import os
import sqlite3
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from pollux.core.errors import StoreError
from pollux.core.ids import Instant, RunId, ThreadId, UserId
from pollux.core.machine import fold
from pollux.core.messages import Message
from pollux.core.policy import Grant
from pollux.core.run import ApprovalStatus, Run, RunStatus
from pollux.core.thread import Thread, ThreadEvent
from pollux.engine.browser_session import BrowserSession
from pollux.engine.glance import DayUsage, Spending
from pollux.engine.ports import (
    ANYTHING,
    EVERYTHING,
    ApprovalRow,
    AuditEntry,
    AuditFact,
    AuditFilter,
    AuditPart,
    AuditReport,
    Change,
    News,
    Recorded,
    RunRow,
)
from pollux.engine.sqlite_fault import CORRECTED, can_lose_commits
from pollux.stores import lineage, reading, rows
from pollux.stores.audit import Tip, digest_of
from pollux.stores.drivers import Drivers
from pollux.stores.erasure import drop_content
from pollux.stores.filelock import FileLock
from pollux.stores.glances import UNSURE
from pollux.stores.head_lines import NO_HEADS, Read, signed_line
from pollux.stores.heads import Heads
from pollux.stores.marks import check_place, mark, marks_of, places
from pollux.stores.reading import AuditPage, Page, Readers
from pollux.stores.schema import SETTINGS, know_key, lost_triggers, migrate
from pollux.stores.uptime import Machine, note_of, uptime
from pollux.stores.verify import Evidence, part_of, verify
from pollux.stores.writer import Writer, checkpoint
from pollux.wire.codec import Codec

logger = logging.getLogger(__name__)

POLL_SECONDS = 0.05
ERASURE_TRIES = 200
LATEST_SECONDS = 1.0
"""How much later than the last moment that is noted a commit must be to note its own."""
SHORT = 64
"""So many rows are read and decoded at once in the calling thread: well under a millisecond."""
LIGHT = 1 << 18
"""And so many bytes of what was said."""

_LAST = "SELECT seq, hash, at, (SELECT value FROM meta WHERE name = 'adoptions') FROM audit ORDER BY seq DESC LIMIT 1"
_STILL_THERE = "SELECT (SELECT hash FROM audit WHERE seq = ?), (SELECT value FROM meta WHERE name = 'restored')"

SHARED = (
    "SQLite %s can lose commits when two programs empty a store's log at once, and another process uses %s. Those of"
    " Pollux take turns: let no other program write that file, or use a Python with SQLite %s"
)

T = TypeVar("T")
Db = sqlite3.Connection


class SqliteStore:
    """Remembers in one SQLite file.

    `key` makes digests and seals that nobody can make without it; `heads` is where the audit's heads are appended, and
    `elsewhere` where others keep them. One that `warns` says so where it is shared and SQLite is too old for that.
    """

    is_instant = False
    airwaves = None
    kind = "sqlite"

    def __init__(
        self,
        path: Path | str,
        *,
        key: bytes,
        heads: Path | None = None,
        elsewhere: Path | None = None,
        machine: Machine = uptime,
        warns: bool = False,
    ) -> None:
        self._path = Path(path)
        self._machine = machine
        self._warns = warns
        self._key = key
        self._codec = Codec(key)
        self._heads = Heads(heads, key, elsewhere) if heads else None
        self._drivers = Drivers(Path(f"{path}.drivers"))
        self._readers = Readers(self._path)
        self._writer: Writer[rows.Prepared] | None = None
        self._process = 0
        self._owes_head = False
        self._doubt = ""
        self._place = ""
        self._noted = 0.0
        self._reached = Tip()
        """The last entry that this process has written."""
        self._seen_version: int | None = None
        self._foreign_changes = 0

    async def open(self) -> None:
        if self._writer and self._process == os.getpid():
            return
        self._process = os.getpid()
        self._readers = Readers(self._path)
        self._writer = Writer(
            self._path,
            connect=self._connect_writer,
            write=self._write,
            committed=self._sign,
            closed=self._readers.close,
            lock=FileLock(Path(f"{self._path}.lock")),
        )
        try:
            await self._writer.call(self._look)
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        writer, self._writer = self._writer, None
        if writer is None:
            return
        await writer.close()
        self._drivers.close()

    async def commit(self, change: Change) -> None:
        if self._doubt and not change.adopts and (why := await self.restored()):
            raise lineage.refusal(why)
        prepared = rows.prepare(change, self._codec)
        await self._opened().write(prepared, sum(len(body) for _, _, body in prepared.contents))

    async def run(self, run_id: RunId, user: UserId | None = None) -> Run | None:
        journal = await self._journal(run_id, 0, user)
        return fold(record.event for record in journal) if journal else None

    async def journal(self, run_id: RunId, after: int = 0) -> Sequence[Recorded]:
        return await self._journal(run_id, after)

    async def _journal(self, run_id: RunId, after: int, user: UserId | None = None) -> Sequence[Recorded]:
        found = self._read(lambda db: reading.run_head(db, run_id, user))
        if found is None:
            return ()
        thread_id, version = found
        return await self._weighing(
            lambda db, most: reading.journal(db, run_id, thread_id, after, most), is_short=version - after <= SHORT
        )

    async def thread(self, thread_id: ThreadId, user: UserId | None = None) -> Thread | None:
        return self._read(lambda db: rows.thread_by_id(db, thread_id, user))

    async def thread_journal(self, thread_id: ThreadId) -> Sequence[ThreadEvent]:
        # One event may hold a whole imported conversation.
        return await self._reading(lambda db: reading.thread_journal(db, thread_id), is_short=False)

    async def messages(self, thread_id: ThreadId, after: int = 0, limit: int | None = None) -> Sequence[Message]:
        thread = await self.thread(thread_id)
        if thread is None or thread.erased:
            return ()
        return await self._weighing(
            lambda db, most: reading.messages(db, thread_id, after, limit, most),
            is_short=min(thread.head - after, thread.head if limit is None else limit) <= SHORT,
        )

    async def threads(self, user: UserId, *, limit: int = 25, before: str | None = None) -> Sequence[Thread]:
        page = Page("threads", rows.THREAD, by="updated_at").where("user = ?", user).where("erased = 0")
        return [rows.thread_of_row(row) for row in await self._listing(page, limit, before)]

    async def runs(
        self,
        user: UserId,
        *,
        thread_id: ThreadId | None = None,
        states: Collection[RunStatus] = (),
        unsure: bool = False,
        limit: int = 25,
        before: str | None = None,
    ) -> Sequence[RunRow]:
        page = Page("runs", rows.LISTED, by="created_at").where("user = ?", user)
        if thread_id is not None:
            page = page.where("thread_id = ?", thread_id)
        if states:
            page = page.where(f"status IN ({', '.join('?' * len(states))})", *states)
        if unsure:
            page = page.where(UNSURE)
        # Those of a state may be few among many.
        is_short = limit <= SHORT and not (states or unsure)
        found = await self._reading(lambda db: page.read(db, limit, before), is_short=is_short)
        return [rows.run_of_row(row) for row in found]

    async def prompts(self, rows: Sequence[RunRow]) -> dict[RunId, str]:
        return await self._reading(lambda db: reading.prompts(db, rows), is_short=False)

    async def children(self, run_id: RunId) -> Sequence[RunRow]:
        return self._read(lambda db: reading.run_rows(db, "parent = ?", run_id))

    async def spent(self, user: UserId, since: Instant, *, is_prefix: bool = False) -> Spending:
        # A user may have begun very many since then.
        return await self._reading(lambda db: reading.spent(db, user, since, is_prefix=is_prefix), is_short=False)

    async def usage(self, user: UserId, since: Instant) -> Sequence[DayUsage]:
        return await self._reading(lambda db: reading.usage(db, user, since), is_short=False)

    async def approvals(
        self,
        user: UserId,
        *,
        status: ApprovalStatus | None = "pending",
        limit: int = 25,
        before: str | None = None,
    ) -> Sequence[ApprovalRow]:
        page = Page("approvals", rows.APPROVAL, by="requested_at").where("user = ?", user)
        if status is not None:
            page = page.where("status = ?", status)
        return [ApprovalRow(*row) for row in await self._listing(page, limit, before)]

    async def grants(self, user: UserId | None) -> Sequence[Grant]:
        return self._read(lambda db: reading.grants(db, user))

    async def secret(self, user: UserId, name: str) -> bytes | None:
        return self._read(lambda db: reading.secret(db, user, name))

    async def keep_secret(self, user: UserId, name: str, sealed: bytes, *, fact: AuditFact | None = None) -> None:
        await self.commit(Change(secrets=((user, name, sealed),), audit=(fact,) if fact else ()))

    async def drop_secret(self, user: UserId, name: str, *, fact: AuditFact | None = None) -> None:
        await self.commit(Change(secrets=((user, name, None),), audit=(fact,) if fact else ()))

    async def secrets(self, name: str) -> Sequence[tuple[UserId, bytes]]:
        return await self._reading(lambda db: reading.secrets(db, name), is_short=False)

    async def session(self, digest: str) -> BrowserSession | None:
        return self._read(lambda db: reading.session(db, digest))

    async def sessions(self, user: UserId) -> Sequence[BrowserSession]:
        return self._read(lambda db: reading.sessions(db, user))

    async def owed(self) -> Sequence[RunRow]:
        return self._read(lambda db: reading.run_rows(db, "owed = 1"))

    async def due(self, now: Instant) -> Sequence[RunId]:
        return self._read(lambda db: reading.due(db, now))

    async def next_wake(self) -> Instant | None:
        return self._read(reading.next_wake)

    async def erase(self, thread_id: ThreadId) -> None:
        if self._doubt and (why := await self.restored()):
            raise lineage.refusal(why)
        await self._opened().call(lambda db: drop_content(db, thread_id))
        # The words are still in the log. While a reader needs it, others may write between our tries.
        for _ in range(ERASURE_TRIES):
            if not await self._opened().call(checkpoint):
                return
            await asyncio.sleep(POLL_SECONDS)
        raise StoreError(
            "the thread was deleted, but the store's log still holds its text while another process reads."
            " Delete it again"
        )

    async def audit(
        self,
        *,
        user: UserId | None = None,
        after: int = 0,
        before: int | None = None,
        limit: int = 100,
        newest_first: bool = False,
        only: AuditFilter = EVERYTHING,
    ) -> Sequence[AuditEntry]:
        page = AuditPage(user, after, before, newest_first, only)
        is_short = limit <= SHORT and only == EVERYTHING
        return await self._reading(lambda db: page.read(db, limit), is_short=is_short)

    async def verify_audit(self) -> AuditReport:
        return await self._reading(self._verify, is_short=False)

    async def sign_head(self) -> str:
        tip, at = self._read(self._end)
        return "" if self._doubt or not tip.seq else signed_line(tip, at, self._key)

    async def verify_part(self, seq: int, own: str, limit: int) -> AuditPart:
        return await self._reading(lambda db: self._verify_part(db, Tip(seq, own), limit), is_short=False)

    async def latest(self, *, is_live: bool) -> Instant:
        return self._read(lambda db: reading.latest(db, self._machine if is_live else None))

    def digest(self, text: str) -> str:
        return digest_of(text, self._key)

    async def restored(self) -> str:
        if self._doubt:
            # Another process may have adopted it since.
            await self._opened().call(self._judge)
        return self._doubt

    async def begin_lineage(self) -> None:
        await self._opened().call(self._begin_lineage)

    async def trust(self) -> None:
        await self._opened().call(self._trust)

    async def open_runs(self) -> Sequence[RunRow]:
        ended = "status NOT IN ('completed', 'failed', 'cancelled')"
        return await self._reading(lambda db: reading.run_rows(db, ended), is_short=False)

    async def workers(self) -> int | None:
        return None

    def enlist(self) -> str:
        self._opened()
        if self._warns and self._drivers.has_any() and can_lose_commits(sqlite3.sqlite_version_info):
            logger.warning(SHARED, sqlite3.sqlite_version, self._path, CORRECTED)
        return self._drivers.enlist()

    async def is_alive(self, driver: str) -> bool:
        return self._drivers.is_alive(driver)

    async def changed_elsewhere(self) -> News:
        seen = self._foreign_changes
        while True:
            await self._opened().call(self._look)
            if self._foreign_changes != seen:
                return ANYTHING
            await asyncio.sleep(POLL_SECONDS)

    async def versions(self, run_ids: Sequence[RunId]) -> dict[RunId, int]:
        return self._read(lambda db: reading.versions(db, run_ids))

    # In the writer's thread.

    def _connect_writer(self) -> Db:
        try:
            # Made here, so that nobody else can read it even for a moment.
            file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                self._place = lineage.place_of(file)
            finally:
                # Before the connection is there: whoever closes a file gives up every lock that they have on it.
                os.close(file)
        except OSError as problem:
            raise StoreError(
                f"expected to open the store {self._path}, found: {problem.strerror}. Check its directory and rights"
            ) from problem
        db = sqlite3.connect(self._path, isolation_level=None, check_same_thread=False, cached_statements=256)
        try:
            for setting in SETTINGS:
                db.execute(setting)
            migrate(db, self._path)
            know_key(db, self._path, self._key)
            self._judge(db)
        except BaseException:
            db.close()
            raise
        return db

    def _write(self, db: Db, prepared: rows.Prepared) -> None:
        if not prepared.change.adopts:
            self._check_still_there(db)
        rows.write(db, prepared, self._key)
        at = rows.moment_of(prepared.change)
        if at >= self._noted + LATEST_SECONDS:
            # No commit is spared a page for a mark that is a second old.
            db.execute(rows.NOTE_LATEST, (note_of(at, self._machine),))
            self._noted = at
        if prepared.change.audit:
            self._owes_head = True

    def _check_still_there(self, db: Db) -> None:
        """See that nobody has put the file back while we had it open, or found out that it was."""
        own, why = db.execute(_STILL_THERE, (self._reached.seq,)).fetchone()
        if why or (self._reached.seq and own != self._reached.hash):
            self._doubt = why or lineage.PUT_BACK
            raise lineage.refusal(self._doubt)

    def _judge(self, db: Db) -> None:
        """See whether this is the store that was here last, and note where it lies if nobody has."""
        self._doubt = check_place(db, self._place, heads=self._heads, key=self._key)

    def _begin_lineage(self, db: Db) -> None:
        before, tip = marks_of(db).get("adoptions"), rows.tip_of(db)
        mark(db, restored=self._doubt, adoptions=lineage.adopted(before, tip, self._key, self._heads))

    def _trust(self, db: Db) -> None:
        mark(db, restored=None, place=places(self._place, self._heads, make=True))
        self._judge(db)

    def _sign(self, db: Db) -> None:
        """Append a head for what was just committed."""
        if self._owes_head:
            self._reached, at = self._end(db)
            if self._heads and self._reached.seq:
                self._heads.append(self._reached, at)
        self._owes_head = False

    def _end(self, db: Db) -> tuple[Tip, Instant]:
        """The chain's end, under the name by which it goes on, and when it was written."""
        last = db.execute(_LAST).fetchone()
        if last is None:
            return Tip(), 0.0
        seq, own, at, adoptions = last
        return Tip(seq, own, lineage.lineage_of(adoptions, self._key).name if adoptions else ""), at

    def _look(self, db: Db) -> None:
        """Count a change that another connection made. On the writer's own connection, our commits do not count."""
        version = db.execute("PRAGMA data_version").fetchone()[0]
        if self._seen_version is not None and version != self._seen_version:
            self._foreign_changes += 1
        self._seen_version = version

    # Reading.

    def _opened(self) -> Writer[rows.Prepared]:
        if self._writer is None:
            raise StoreError(f"expected the store {self._path} to be open, but it is not. Open it first")
        if self._process != os.getpid():
            raise StoreError(f"expected the store {self._path} to be opened in this process. Open it after the fork")
        return self._writer

    def _read(self, ask: Callable[[Db], T]) -> T:
        self._opened()
        return self._readers.ask(ask)

    async def _reading(self, ask: Callable[[Db], T], *, is_short: bool) -> T:
        return self._read(ask) if is_short else await asyncio.to_thread(self._read, ask)

    async def _weighing(self, ask: Callable[[Db, int], T], *, is_short: bool) -> T:
        """As above, for what may have files with it: a few rows can hold megabytes."""
        if is_short:
            with suppress(reading.Heavy):
                return self._read(lambda db: ask(db, LIGHT))
        return await asyncio.to_thread(self._read, lambda db: ask(db, reading.ANY))

    async def _listing(self, page: Page, limit: int, before: str | None) -> list[tuple[Any, ...]]:
        return await self._reading(lambda db: page.read(db, limit, before), is_short=limit <= SHORT)

    def _verify(self, db: Db) -> AuditReport:
        # Heads first: one that is signed while we read would speak of entries we do not see.
        heads = self._heads.read() if self._heads else NO_HEADS
        db.execute("BEGIN")
        try:
            evidence = self._evidence(db, heads)
            return reading.leniently(db, lambda: verify(lambda: reading.chain(db), self._key, evidence))
        finally:
            db.execute("ROLLBACK")

    def _verify_part(self, db: Db, begin: Tip, limit: int) -> AuditPart:
        heads = self._heads.newest() if self._heads else NO_HEADS
        db.execute("BEGIN")
        try:
            found = reading.leniently(db, lambda: reading.part(db, begin.seq, limit))
            return part_of(found, begin, limit, self._key, lambda: self._evidence(db, heads))
        finally:
            db.execute("ROLLBACK")

    def _evidence(self, db: Db, heads: Read) -> Evidence:
        ancestry = lineage.lineage_of(marks_of(db).get("adoptions"), self._key)
        return Evidence(heads, reading.highest_entry(db), lost_triggers(db), ancestry, self._doubt)
