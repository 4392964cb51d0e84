"""This process's own line to the database: it hears what others commit and tell, speaks, and shows that it is alive.

A driver is alive while its line holds an advisory lock, which the server drops at once when the process dies, and
while it was heard within six seconds, which a process that was stopped, or a host that vanished, is not. Who comes
back late finds that another has claimed its runs: epochs see to that. Right after a start of the server nobody has had
time to take up the line again, so nobody is given up for six seconds.

Notices are read whenever the socket has something, and in the course of every statement: a handler gets them all. One
that was sent may still never come, if its sender's connection broke just then; so now and then everything counts as
changed.
"""

import asyncio
import logging
from contextlib import suppress
from itertools import count
from secrets import token_hex
from typing import Any

import psycopg
from psycopg import AsyncConnection, Notify

from pollux.core.errors import StoreError
from pollux.core.run import Run
from pollux.engine.ports import News
from pollux.stores.postgres.address import APPLICATION, GONE_SECONDS, Address
from pollux.stores.postgres.airwaves import PostgresAirwaves
from pollux.stores.postgres.news import CHANNEL, Gathered, notice
from pollux.stores.postgres.scopes import Statement
from pollux.stores.postgres.troubles import explained

logger = logging.getLogger(__name__)

Db = AsyncConnection[tuple[Any, ...]]

BEAT_SECONDS = 2.0
BEATS_TO_A_LOOK = 15
"""After so many, whoever follows runs is told to look at all of them."""
PAUSES = (0.05, 0.2, 0.5, 1.0)
"""How long to wait before the line is taken up again."""

# So that the server notices a vanished host too, and drops its lock. Losing a beat in a crash harms nobody.
_SETTINGS = (
    f"SELECT set_config('tcp_keepalives_idle', '2', false), set_config('tcp_keepalives_interval', '1', false),"
    f" set_config('tcp_keepalives_count', '3', false), set_config('tcp_user_timeout', '{GONE_SECONDS}s', false),"
    f" set_config('synchronous_commit', 'off', false)"
).encode()
_NOTIFY = b"SELECT pg_notify(channel, told) FROM unnest(%s::text[], %s::text[]) AS notices (channel, told)"
_LOCK = b"SELECT pg_try_advisory_lock(%s)"
_BEAT = (
    b"INSERT INTO pollux.drivers VALUES (%s, clock_timestamp())"
    b" ON CONFLICT (driver) DO UPDATE SET heard_at = excluded.heard_at"
)
_LEAVE = b"DELETE FROM pollux.drivers WHERE driver = %s"
_SWEEP = b"DELETE FROM pollux.drivers WHERE heard_at < clock_timestamp() - interval '1 hour'"
# A process that was stopped in the middle of a transaction would stop all others with what it has locked.
_HANG_UP = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database()"
    f" AND usename = current_user AND application_name = '{APPLICATION}' AND xact_start IS NOT NULL"
    " AND wait_event = 'ClientRead' AND state_change < clock_timestamp() - interval '4 seconds'"
).encode()
_ALIVE = (
    f"SELECT heard_at > clock_timestamp() - interval '{GONE_SECONDS} seconds' AND EXISTS ("
    " SELECT FROM pg_locks WHERE locktype = 'advisory' AND granted AND objsubid = 1"
    " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
    " AND classid::bigint = %s AND objid::bigint = %s)"
    f" OR pg_postmaster_start_time() > clock_timestamp() - interval '{GONE_SECONDS} seconds'"
    " FROM pollux.drivers WHERE driver = %s"
).encode()


class Line:
    """One open line. `open` returns once the first one stands; after that it is taken up again by itself."""

    def __init__(self, address: Address, key: bytes) -> None:
        self._address = address
        self._name = token_hex(8)
        self._numbers = count(1)
        self._due = asyncio.Event()
        """Set when the socket has something, or there is something to say."""
        self._news = Gathered(self._name)
        self.airwaves = PostgresAirwaves(self._name, key, self._due)
        self._is_locked = False
        self._db: Db | None = None
        self._task: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Raises StoreError."""
        self._db = await _connect(self._address)
        try:
            await self._begin(self._db)
            await self._db.execute(_SWEEP)
        except psycopg.Error as problem:
            await self._db.close()
            raise explained(problem, self._address) from problem
        self._task = asyncio.create_task(self._stay(), name="pollux-line")

    async def close(self) -> None:
        """Every name given here is dead from now on."""
        if self._task:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
        if self._db:
            with suppress(psycopg.Error):
                await self._db.execute(_LEAVE, (self._name,))
        await self._hang_up()
        # Whoever waits is told, and finds the store closed.
        self._news.miss()

    def enlist(self) -> str:
        """A driver's name, alive for as long as the line is."""
        return f"drv_{self._name}_{next(self._numbers)}"

    def is_own(self, driver: str) -> bool:
        """Whether the name was given here."""
        return driver.startswith(f"drv_{self._name}_")

    def told(self, run: Run) -> str:
        """What a commit tells those who listen, so that we know our own."""
        return notice(self._name, run)

    async def changed(self) -> News:
        """What other processes have committed since the last time, waiting for the first."""
        return await self._news.take()

    async def _stay(self) -> None:
        while self._db:
            try:
                await self._listen(self._db)
            except psycopg.Error as problem:
                logger.warning("the line to the database was lost: %s", explained(problem, self._address))
            await self._hang_up()
            await self._take_up()

    async def _hang_up(self) -> None:
        self.airwaves.lose()
        if self._db:
            await self._db.close()

    async def _take_up(self) -> None:
        """A new line in place of the lost one."""
        for tries in count():
            await asyncio.sleep(PAUSES[min(tries, len(PAUSES) - 1)])
            try:
                self._db = await _connect(self._address)
                await self._begin(self._db)
                break
            except StoreError as problem:
                logger.warning("the line to the database is still lost: %s", problem)
            except psycopg.Error:
                await self._hang_up()
        logger.info("the line to the database is back")
        # Nobody knows what was said meanwhile.
        self._news.miss()
        self.airwaves.miss()

    async def _begin(self, db: Db) -> None:
        self._is_locked = False
        db.add_notify_handler(self._hear)
        await db.execute(_SETTINGS)
        await _say(db, [f"LISTEN {channel}" for channel in (CHANNEL, *self.airwaves.begin())])
        await self._beat(db)

    async def _listen(self, db: Db) -> None:
        loop = asyncio.get_running_loop()
        for beats in count(1):
            end = loop.time() + BEAT_SECONDS
            while loop.time() < end:
                await self._wait_due(db, end)
                _read(db)
                await self._speak(db)
            await self._beat(db)
            if beats % BEATS_TO_A_LOOK == 0:
                self._news.miss()

    async def _wait_due(self, db: Db, end: float) -> None:
        """Until the server has said something, somebody here wants to, or that moment has come."""
        loop, socket = asyncio.get_running_loop(), db.fileno()
        # Only while we wait: psycopg puts its own reader in this one's place.
        loop.add_reader(socket, self._due.set)
        try:
            async with asyncio.timeout_at(end):
                await self._due.wait()
        except TimeoutError:
            pass
        finally:
            loop.remove_reader(socket)
        self._due.clear()

    async def _speak(self, db: Db) -> None:
        # First the ear, then the mouth: an answer may come at once.
        if switches := self.airwaves.take_switches():
            await _say(db, switches)
        if not (notices := self.airwaves.take_notices()):
            return
        try:
            await db.execute(_NOTIFY, ([channel for channel, _ in notices], [told for _, told in notices]))
        except psycopg.Error as problem:
            if db.closed:
                raise
            # The server's queue is full, say. Who misses something asks for it.
            logger.warning("%d notices could not be sent: %s", len(notices), type(problem).__name__)

    def _hear(self, notice: Notify) -> None:
        if notice.channel == CHANNEL:
            self._news.hear(notice.payload)
        else:
            self.airwaves.take_in(notice.channel, notice.payload)

    async def _beat(self, db: Db) -> None:
        if not self._is_locked:
            # After a loss, the server may still think that the old line stands: then the lock is its.
            number = int.from_bytes(bytes.fromhex(self._name), signed=True)
            found = await (await db.execute(_LOCK, (number,))).fetchone()
            self._is_locked = bool(found and found[0])
        await db.execute(_BEAT, (self._name,))
        await db.execute(_HANG_UP)


async def _connect(address: Address) -> Db:
    try:
        return await AsyncConnection.connect(**address.parameters, autocommit=True)
    except psycopg.Error as problem:
        raise explained(problem, address) from problem


async def _say(db: Db, statements: list[str]) -> None:
    # Several statements in one cannot be prepared, however often they are said.
    await db.execute(";".join(statements).encode(), prepare=False)


def _read(db: Db) -> None:
    """Give what has arrived to the handler, without waiting."""
    db.pgconn.consume_input()
    while found := db.pgconn.notifies():
        if db.pgconn.notify_handler:
            db.pgconn.notify_handler(found)


def is_alive(driver: str) -> Statement | None:
    """The question whether the process behind a name lives. None for what is no name of this store."""
    kind, _, rest = driver.partition("_")
    name = rest.partition("_")[0]
    try:
        number = int.from_bytes(bytes.fromhex(name))
    except ValueError:
        return None
    if kind != "drv" or len(name) != 16:
        return None
    return _ALIVE, (number >> 32, number & 0xFFFFFFFF, name)
