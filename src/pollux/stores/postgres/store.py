"""The store for many hosts: one PostgreSQL database, any number of processes, nothing acknowledged that is not on disk.

Commits are two round trips (writing.py), reads one or two, on connections lent for a moment (connections.py). One more
connection is this process's own line (listening.py). A connection that dies is replaced; a commit whose answer was lost
may still turn up, as StoreError says.

Erased content leaves the tables at once. PostgreSQL frees its place later, and what it wrote to its log or to backups
stays there until they are rotated.
"""

import asyncio
import logging
import os
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import cast

from pollux.core.errors import StoreError, StoreRestored
from pollux.core.events import Event
from pollux.core.ids import Instant, RunId, ThreadId, UserId
from pollux.core.machine import fold
from pollux.core.messages import Message
from pollux.core.policy import Grant
from pollux.core.redact import Secret
from pollux.core.run import ApprovalStatus, Run, RunStatus
from pollux.core.thread import Thread, ThreadEvent
from pollux.engine.airwaves import Airwaves
from pollux.engine.browser_session import BrowserSession
from pollux.engine.glance import DayUsage, Spending
from pollux.engine.ports import (
    EVERYTHING,
    NOTHING,
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
from pollux.stores.audit import Tip, digest_of, entry_of
from pollux.stores.glances import BEGINNING, UNSURE, beginning_of
from pollux.stores.head_lines import NO_HEADS, signed_line
from pollux.stores.heads import Heads
from pollux.stores.lineage import PUT_BACK, lineage_of, refusal
from pollux.stores.postgres import erasure, listening, place, reading, verifying
from pollux.stores.postgres.address import Address
from pollux.stores.postgres.connections import Connections
from pollux.stores.postgres.listening import Line
from pollux.stores.postgres.poolers import check_hears, is_direct
from pollux.stores.postgres.reading import Page
from pollux.stores.postgres.rows import check_texts
from pollux.stores.postgres.schema import know_key, migrate
from pollux.stores.postgres.scopes import Db, Row, Statement, ask
from pollux.stores.postgres.signing import Signing
from pollux.stores.postgres.troubles import check_text, unsettled
from pollux.stores.postgres.writing import Beside, Unsettled, write
from pollux.stores.rows import APPROVAL, LISTED, THREAD, Prepared, grant_of_row, prepare, run_of_row, thread_of_row
from pollux.stores.usage import day_of
from pollux.wire.codec import Codec

logger = logging.getLogger(__name__)

SHORT = 64
"""So many rows are decoded at once in the event loop: well under a millisecond."""

_SERVER = b"SELECT getdatabaseencoding(), rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user"


class PostgresStore:
    """Remembers in a PostgreSQL database.

    `key` makes digests and seals that nobody can make without it; `heads` is where the audit's heads are appended, and
    `elsewhere` where others keep them. Without heads, a server whose data were put back is not noticed.
    `listen_url` is a direct address, where `url` goes through a pooler. `beside` adds to the transaction of each
    change.
    """

    is_instant = False
    kind = "postgres"

    def __init__(
        self,
        url: Secret | str,
        *,
        key: bytes,
        heads: Path | None = None,
        elsewhere: Path | None = None,
        listen_url: Secret | str | None = None,
        connections: int = 10,
        beside: Beside | None = None,
    ) -> None:
        self._address = Address(url)
        self._direct = Address(listen_url) if listen_url else self._address
        self._is_pooled = listen_url is not None
        self._key = key
        self._codec = Codec(key)
        self._heads = Heads(heads, key, elsewhere) if heads else None
        self._most = connections
        self._beside = beside
        self._process = 0
        self._connections: Connections | None = None
        self._line: Line | None = None
        self._signing: Signing | None = None
        self._doubt = ""
        self._is_prepared = False
        self._reached = 0
        """The last entry of the audit that this process has written."""

    @property
    def airwaves(self) -> Airwaves:
        return self._opened()[1].airwaves

    async def open(self) -> None:
        if self._connections and self._process == os.getpid():
            return
        self._process = os.getpid()
        self._is_prepared = False
        self._connections = Connections(
            self._address, most=self._most, prepare=not self._is_pooled, on_new=self._recognise
        )
        self._signing = Signing(self._heads) if self._heads else None
        try:
            if not await self._connections.work(self._look) or self._is_pooled:
                await check_hears(self._direct)
            await self._connections.work(self._prepare)
            self._line = Line(self._direct, self._key)
            await self._line.open()
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        connections, self._connections = self._connections, None
        line, self._line = self._line, None
        if connections is None or self._process != os.getpid():
            return
        await connections.close()
        if line:
            await line.close()

    async def commit(self, change: Change) -> None:
        await self._check_trusted(change)
        check_texts(change)
        prepared = prepare(change, self._codec)
        connections, line = self._opened()
        told = line.told(change.run) if change.run else None
        try:
            await connections.work(lambda db: self._write(db, prepared, told))
        except Unsettled as problem:
            raise unsettled(self._address) from problem

    async def run(self, run_id: RunId, user: UserId | None = None) -> Run | None:
        journal = await self._journal(run_id, 0, user)
        return fold(record.event for record in journal) if journal else None

    async def journal(self, run_id: RunId, after: int = 0) -> Sequence[Recorded]:
        return await self._journal(run_id, after)

    async def _journal(self, run_id: RunId, after: int, user: UserId | None = None) -> Sequence[Recorded]:
        events = await self._events(reading.journal(run_id, after, user))
        return [Recorded(seq, cast("Event", event)) for seq, event in events]

    async def thread(self, thread_id: ThreadId, user: UserId | None = None) -> Thread | None:
        found = await self._ask(reading.thread(thread_id, user))
        return thread_of_row(found[0]) if found else None

    async def thread_journal(self, thread_id: ThreadId) -> Sequence[ThreadEvent]:
        events = await self._events(reading.thread_journal(thread_id))
        return [cast("ThreadEvent", event) for _, event in events]

    async def messages(self, thread_id: ThreadId, after: int = 0, limit: int | None = None) -> Sequence[Message]:
        found = await self._ask(reading.messages(thread_id, after, limit))
        if len(found) <= SHORT:
            return [reading.message(body) for (body,) in found]
        return await asyncio.to_thread(lambda: [reading.message(body) for (body,) in found])

    async def threads(self, user: UserId, *, limit: int = 25, before: str | None = None) -> Sequence[Thread]:
        page = Page("threads", THREAD, "updated_at", user).where("NOT erased")
        return [thread_of_row(row) for row in await self._ask(page.asked(limit, before), user=user)]

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
        page = Page("runs", LISTED, "created_at", user)
        if thread_id is not None:
            page = page.where("thread_id = %s", thread_id)
        if states:
            page = page.where("status = ANY(%s)", list(states))
        if unsure:
            page = page.where(UNSURE)
        return [run_of_row(row) for row in await self._ask(page.asked(limit, before), user=user)]

    async def prompts(self, rows: Sequence[RunRow]) -> dict[RunId, str]:
        threads, runs = [row.thread_id for row in rows], [row.run_id for row in rows]
        found = await self._ask((reading.PROMPTS, (BEGINNING, threads, runs)))
        return {RunId(run_id): beginning_of(body) for run_id, body in found}

    async def children(self, run_id: RunId) -> Sequence[RunRow]:
        return [run_of_row(row) for row in await self._ask(reading.run_rows("parent = %s", run_id))]

    async def spent(self, user: UserId, since: Instant, *, is_prefix: bool = False) -> Spending:
        statement = reading.SPENT_BY_ALL if is_prefix else reading.SPENT
        [row] = await self._ask((statement, (since, user, user, since)), user=None if is_prefix else user)
        return Spending(*row)

    async def usage(self, user: UserId, since: Instant) -> Sequence[DayUsage]:
        return [DayUsage(*row) for row in await self._ask((reading.USAGE, (user, day_of(since))), user=user)]

    async def approvals(
        self,
        user: UserId,
        *,
        status: ApprovalStatus | None = "pending",
        limit: int = 25,
        before: str | None = None,
    ) -> Sequence[ApprovalRow]:
        page = Page("approvals", APPROVAL, "requested_at", user)
        if status == "pending":
            # Said outright, so that the index of those who wait serves also when the statement is prepared.
            page = page.where("status = 'pending'")
        elif status is not None:
            page = page.where("status = %s", status)
        return [ApprovalRow(*row) for row in await self._ask(page.asked(limit, before), user=user)]

    async def grants(self, user: UserId | None) -> Sequence[Grant]:
        return [grant_of_row(row) for row in await self._ask(reading.grants(user), user=user)]

    async def secret(self, user: UserId, name: str) -> bytes | None:
        found = await self._ask((reading.SECRET, (user, name)), user=user)
        return found[0][0] if found else None

    async def keep_secret(self, user: UserId, name: str, sealed: bytes, *, fact: AuditFact | None = None) -> None:
        await self.commit(Change(secrets=((user, name, sealed),), audit=(fact,) if fact else ()))

    async def drop_secret(self, user: UserId, name: str, *, fact: AuditFact | None = None) -> None:
        await self.commit(Change(secrets=((user, name, None),), audit=(fact,) if fact else ()))

    async def secrets(self, name: str) -> Sequence[tuple[UserId, bytes]]:
        return [(UserId(user), sealed) for user, sealed in await self._ask((reading.SECRETS, (name,)))]

    async def session(self, digest: str) -> BrowserSession | None:
        found = await self._ask((reading.SESSION_BY_DIGEST, (digest,)))
        return BrowserSession(*found[0]) if found else None

    async def sessions(self, user: UserId) -> Sequence[BrowserSession]:
        return [BrowserSession(*row) for row in await self._ask((reading.SESSIONS, (user,)), user=user)]

    async def owed(self) -> Sequence[RunRow]:
        return [run_of_row(row) for row in await self._ask(reading.run_rows("owed"))]

    async def due(self, now: Instant) -> Sequence[RunId]:
        return [RunId(run_id) for (run_id,) in await self._ask((reading.DUE, (now,)))]

    async def next_wake(self) -> Instant | None:
        [(moment,)] = await self._ask((reading.NEXT_WAKE, ()))
        return moment

    async def erase(self, thread_id: ThreadId) -> None:
        await self._check_trusted()
        check_text(thread_id)
        await self._opened()[0].work(lambda db: erasure.drop_content(db, thread_id))

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
        asked = reading.audit(user, after, before, limit, newest_first=newest_first, only=only)
        return [entry_of(row) for row in await self._ask(asked, user=user)]

    async def verify_audit(self) -> AuditReport:
        self._opened()
        return await asyncio.to_thread(verifying.report, self._address, self._key, self._heads, self._doubt)

    async def sign_head(self) -> str:
        [(seq, own, at, adoptions)] = await self._ask((reading.END, ()))
        if self._doubt or not seq:
            return ""
        tip = Tip(seq, own, lineage_of(adoptions, self._key).name)
        if self._signing:
            # This host knows then what the others have written: it notices when that is lost.
            await asyncio.to_thread(self._signing.sign, tip, at)
        return signed_line(tip, at, self._key)

    async def verify_part(self, seq: int, own: str, limit: int) -> AuditPart:
        heads, restored = self._heads.newest() if self._heads else NO_HEADS, self._doubt
        return await self._opened()[0].work(
            lambda db: verifying.part(db, Tip(seq, own), limit, self._key, heads, restored)
        )

    async def latest(self, *, is_live: bool) -> Instant:
        [(here, noted)] = await self._ask((reading.LATEST, ()))
        return max(here if is_live else 0.0, noted or 0.0)

    def digest(self, text: str) -> str:
        return digest_of(text, self._key)

    async def restored(self) -> str:
        if self._doubt:
            # Another process may have adopted it since.
            await self._opened()[0].work(self._judge)
        return self._doubt

    async def begin_lineage(self) -> None:
        await self._opened()[0].work(lambda db: place.begin_lineage(db, self._doubt, heads=self._heads, key=self._key))

    async def trust(self) -> None:
        connections, _ = self._opened()
        await connections.work(lambda db: place.trust(db, self._key))
        await connections.work(self._judge)

    async def open_runs(self) -> Sequence[RunRow]:
        open_ones = reading.run_rows("status NOT IN ('completed', 'failed', 'cancelled')")
        return [run_of_row(row) for row in await self._ask(open_ones)]

    async def workers(self) -> int | None:
        if not await self._ask((reading.HAS_WORKERS, ())):
            return 0
        [(alive,)] = await self._ask((reading.WORKERS, ()))
        return alive

    def enlist(self) -> str:
        return self._opened()[1].enlist()

    async def is_alive(self, driver: str) -> bool:
        _, line = self._opened()
        if line.is_own(driver):
            return True
        question = listening.is_alive(driver)
        found = await self._ask(question) if question else []
        return bool(found and found[0][0])

    async def changed_elsewhere(self) -> News:
        _, line = self._opened()
        news = await line.changed()
        self._opened()
        return news

    async def versions(self, run_ids: Sequence[RunId]) -> dict[RunId, int]:
        check_text(*run_ids)
        found = await self._ask((reading.VERSIONS, (list(run_ids),)))
        return {RunId(run_id): version for run_id, version in found}

    # Inside.

    def _look(self, db: Db) -> bool:
        """See that this is a database for us, and whether we speak with it directly."""
        row = db.execute(_SERVER).fetchone()
        encoding, is_above_walls = row or ("UTF8", False)
        if encoding != "UTF8":
            raise StoreError(
                f"expected the database at {self._address} in UTF8, found {encoding}. Create one with ENCODING 'UTF8'"
            )
        if is_above_walls:
            logger.warning("the database role may see everybody's rows; use one that is no superuser")
        return is_direct(db)

    def _prepare(self, db: Db) -> None:
        """Bring the database up to date."""
        migrate(db, self._address)
        know_key(db, self._address, self._key)
        self._is_prepared = True
        self._judge(db)

    def _judge(self, db: Db) -> None:
        """See whether this is the database that was here last."""
        self._doubt = place.check_place(db, heads=self._heads, key=self._key)

    def _recognise(self, db: Db) -> None:
        """A new connection, after a restart for one, may lead to a database that was put back meanwhile."""
        if self._is_prepared:
            self._judge(db)

    async def _check_trusted(self, change: Change = NOTHING) -> None:
        if self._doubt and not change.adopts and (why := await self.restored()):
            raise refusal(why)

    def _write(self, db: Db, prepared: Prepared, told: str | None) -> None:
        reached = self._reached
        if self._doubt and not prepared.change.adopts:
            # It came with the connection, after the server was started.
            raise refusal(self._doubt)
        try:
            written = write(db, prepared, key=self._key, told=told, beside=self._beside, reached=reached)
        except StoreRestored:
            self._doubt = self._doubt or PUT_BACK
            raise
        if written.tip:
            self._reached = max(self._reached, written.tip.seq)
            if self._signing:
                self._signing.sign(written.tip, written.at)

    async def _events(self, question: Statement) -> list[tuple[int, Event | ThreadEvent]]:
        journal = await self._ask(question)
        needed = reading.contents(journal)
        bodies = dict(await self._ask(needed)) if needed else {}
        if len(journal) <= SHORT:
            return reading.events(journal, bodies)
        return await asyncio.to_thread(reading.events, journal, bodies)

    async def _ask(self, question: Statement, *, user: UserId | None = None) -> list[Row]:
        """One question, under the scope of this user or of the engine."""
        connections, _ = self._opened()
        check_text(user, *question[1])
        return await connections.work(lambda db: ask(db, question, user=user))

    def _opened(self) -> tuple[Connections, Line]:
        if self._connections is None or self._line is None:
            raise StoreError(f"expected the store at {self._address} to be open, but it is not. Open it first")
        if self._process != os.getpid():
            raise StoreError(
                f"expected the store at {self._address} to be opened in this process. Open it after a fork"
            )
        return self._connections, self._line
