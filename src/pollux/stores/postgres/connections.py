"""Connections lent to one piece of work at a time: opened when one is needed, kept while they are sound.

Work is done in threads. A commit is a dozen statements sent together, and psycopg's asyncio connections wait for the
socket after each: four times the processor time, and the event loop is kept from everything else meanwhile.

After the server was restarted every kept connection is dead, and none knows it yet. The first to find out drops them
all, and the work is done again on a new one, if nothing of it can have been written.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

import psycopg
from psycopg.pq import TransactionStatus

from pollux.core.errors import StoreError
from pollux.stores.postgres.address import Address
from pollux.stores.postgres.scopes import Db
from pollux.stores.postgres.troubles import explained

T = TypeVar("T")

WAIT_SECONDS = 10.0
WORK_SECONDS = 60.0
"""No piece of work takes so long, unless the server has stopped answering."""


class Connections:
    """Up to `most` of them, each in a thread, for any number of tasks of one loop."""

    def __init__(
        self, address: Address, *, most: int, prepare: bool, on_new: Callable[[Db], None] | None = None
    ) -> None:
        self._address = address
        self._most = most
        self._on_new = on_new
        # A pooler between us and the server may give each transaction another session, without our statements.
        self._prepare_threshold = 5 if prepare else None
        self._free = asyncio.Semaphore(most)
        self._threads = ThreadPoolExecutor(most, "pollux-postgres")
        self._working: set[Future[Any]] = set()
        self._idle: deque[Db] = deque()
        self._is_closed = False

    async def work(self, job: Callable[[Db], T]) -> T:
        """The job's answer. It is done again where a kept connection turns out to be dead. Raises StoreError.

        A job that may have written when its connection broke raises something else than psycopg's errors. A caller who
        leaves does not tear a transaction apart: it may still be written.
        """
        await self._wait_turn()
        try:
            if self._is_closed:
                raise StoreError(f"expected the store at {self._address} to be open, but it was closed. Open it first")
            future = self._threads.submit(self._do, job)
            self._working.add(future)
            future.add_done_callback(self._working.discard)
            async with asyncio.timeout(WORK_SECONDS):
                return await asyncio.wrap_future(future)
        except TimeoutError:
            raise StoreError(
                f"expected the database at {self._address} to answer within {WORK_SECONDS:g} s. See whether it runs"
            ) from None
        finally:
            self._free.release()

    async def close(self) -> None:
        """Wait for what has begun, then close them all."""
        self._is_closed = True
        if self._working:
            await asyncio.wait([asyncio.wrap_future(future) for future in self._working], timeout=WAIT_SECONDS)
        self._threads.shutdown(wait=False)
        self._drop_idle()

    async def _wait_turn(self) -> None:
        try:
            async with asyncio.timeout(WAIT_SECONDS):
                await self._free.acquire()
        except TimeoutError:
            raise StoreError(
                f"expected one of {self._most} connections to {self._address} to be free within {WAIT_SECONDS:g} s."
                " Try again, or allow more"
            ) from None

    # In the threads.

    def _do(self, job: Callable[[Db], T]) -> T:
        while True:
            db, was_kept = self._take()
            try:
                return job(db)
            except psycopg.OperationalError as problem:
                if not (was_kept and db.closed):
                    raise explained(problem, self._address) from problem
                self._drop_idle()
            except psycopg.Error as problem:
                raise explained(problem, self._address) from problem
            except IndexError as problem:
                # psycopg's own, where a pipeline's end brings an error that no statement waits for.
                raise explained(psycopg.OperationalError(), self._address) from problem
            finally:
                self._give_back(db)

    def _take(self) -> tuple[Db, bool]:
        try:
            return self._idle.pop(), True
        except IndexError:
            db = connect(self._address, prepare_threshold=self._prepare_threshold)
        try:
            if self._on_new:
                self._on_new(db)
        except psycopg.Error as problem:
            db.close()
            raise explained(problem, self._address) from problem
        return db, False

    def _give_back(self, db: Db) -> None:
        # Whatever stopped in the middle is not worth saving.
        if self._is_closed or db.closed or db.info.transaction_status != TransactionStatus.IDLE:
            db.close()
        else:
            self._idle.append(db)

    def _drop_idle(self) -> None:
        while self._idle:
            try:
                self._idle.pop().close()
            except IndexError:
                return


def connect(address: Address, *, prepare_threshold: int | None = 5) -> Db:
    """A new connection in autocommit. Raises StoreError."""
    try:
        db = psycopg.connect(**address.parameters, autocommit=True, prepare_threshold=prepare_threshold)
    except psycopg.Error as problem:
        raise explained(problem, address) from problem
    db.isolation_level = psycopg.IsolationLevel.READ_COMMITTED
    return db
