"""The one thread of a process that writes to its SQLite store.

Whoever waits when the thread is free goes into the next transaction together: one file lock, one fsync. Nobody waits
for company; a lone caller's change is written at once. A change that does not fit fails alone. When the transaction
itself fails, everybody in it is told and nothing is acknowledged.
"""

import asyncio
import sqlite3
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, Generic, Literal, TypeVar

from pollux.core.errors import PolluxError, StoreError
from pollux.engine.logs import log_of
from pollux.stores.filelock import FileLock
from pollux.stores.troubles import breaks_the_connection, explained, is_the_worlds

logger = log_of(__name__)

LARGEST_GROUP = 256
LOG_BYTES = 4 * 1024 * 1024
"""The write-ahead log is brought into the database when about so much has been written to it."""
LARGEST_LOG = 64 * 1024 * 1024
"""A log that grew beyond this is cut off when it is brought in."""
OVERHEAD = 40_000
"""What a change costs in the log beside its bodies: the pages it touches."""

Item = TypeVar("Item")
T = TypeVar("T")


@dataclass(slots=True, eq=False)
class _Job(Generic[Item]):
    loop: asyncio.AbstractEventLoop
    done: asyncio.Future[Any]
    item: Item | None = None
    size: int = 0
    call: Callable[[sqlite3.Connection], Any] | None = None
    outcome: Any = None
    error: Exception | None = None


class Writer(Generic[Item]):
    """Gives items to `write` inside transactions, on a connection of its own.

    `write` refuses an item by raising a PolluxError before it has changed anything. `committed` is called after each
    successful transaction and `closed` at the end, both under the file lock; they must not raise.
    """

    def __init__(
        self,
        path: Path,
        *,
        connect: Callable[[], sqlite3.Connection],
        write: Callable[[sqlite3.Connection, Item], None],
        committed: Callable[[sqlite3.Connection], None],
        closed: Callable[[], None],
        lock: FileLock,
    ) -> None:
        self._path = path
        self._connect = connect
        self._write = write
        self._committed = committed
        self._closed = closed
        self._lock = lock
        self._queue: SimpleQueue[_Job[Item] | None] = SimpleQueue()
        self._db: sqlite3.Connection | None = None
        self._file: tuple[int, int] | None = None
        """Which file the connection is to, whatever is called so by now."""
        self._log = 0
        self._room = LOG_BYTES
        self._ended: Callable[[], object] = _nobody_waits
        self._thread = threading.Thread(target=self._work, name="pollux-writer", daemon=True)
        self._thread.start()

    async def write(self, item: Item, size: int = 0) -> None:
        """Write one item, with so many bytes in it. It may still be written when the caller is cancelled meanwhile."""
        loop = asyncio.get_running_loop()
        done: asyncio.Future[None] = loop.create_future()
        self._queue.put(_Job(loop, done, item, OVERHEAD + size))
        await done

    async def call(self, function: Callable[[sqlite3.Connection], T]) -> T:
        """Run a function in the writer's thread, by itself and under the file lock."""
        loop = asyncio.get_running_loop()
        done: asyncio.Future[T] = loop.create_future()
        self._queue.put(_Job(loop, done, call=function))
        return await done

    async def close(self) -> None:
        """Write what is waiting, then end the thread."""
        loop = asyncio.get_running_loop()
        ended: asyncio.Future[None] = loop.create_future()
        self._ended = lambda: _tell_end(loop, ended)
        self._queue.put(None)
        # Not by a thread that joins it: at the end of the process none can be started any more.
        await ended
        self._thread.join()

    # In the thread.

    def _work(self) -> None:
        while (job := self._queue.get()) is not None:
            group = [job]
            is_last = False
            while job.call is None and len(group) < LARGEST_GROUP:
                try:
                    job = self._queue.get_nowait()
                except Empty:
                    break
                if job is None:
                    is_last = True
                    break
                group.append(job)
            self._serve(group)
            if is_last:
                break
        self._hang_up()
        self._refuse_the_rest()
        self._ended()

    def _serve(self, group: list[_Job[Item]]) -> None:
        """Items of the group first, then the call that ended it, if one did."""
        call = group.pop() if group[-1].call else None
        if group:
            self._guarded(group, self._commit)
            _tell(group)
            self._checkpoint_if_due(sum(job.size for job in group))
        if call:
            self._guarded([call], self._run)
            _tell([call])

    def _guarded(self, jobs: list[_Job[Item]], work: Callable[[sqlite3.Connection, list[_Job[Item]]], None]) -> None:
        """Do the work under the file lock; whatever goes wrong is told to all of the jobs."""
        try:
            with self._lock:
                work(self._connected(), jobs)
        except sqlite3.Error as problem:
            told = explained(problem, self._path)
            logger.warning("the store could not write: %s", told)
            self._recover(problem)
            for job in jobs:
                job.error = told
        except PolluxError as problem:
            for job in jobs:
                job.error = problem
        except Exception as problem:  # The top of the thread: it must outlive any one job.
            logger.exception("the store's writer failed")
            self._drop()
            for job in jobs:
                job.error = StoreError(f"expected to write to the store, found {type(problem).__name__}")

    def _commit(self, db: sqlite3.Connection, jobs: list[_Job[Item]]) -> None:
        try:
            self._transact(db, jobs)
        except sqlite3.Error as problem:
            if len(jobs) == 1 or is_the_worlds(problem):
                raise
            # One of them holds something that SQLite refuses. Alone, each gets its own answer.
            self._recover(problem)
            for job in jobs:
                self._guarded_alone(job)

    def _guarded_alone(self, job: _Job[Item]) -> None:
        try:
            self._transact(self._connected(), [job])
        except sqlite3.Error as problem:
            self._recover(problem)
            job.error = explained(problem, self._path)

    def _transact(self, db: sqlite3.Connection, jobs: Sequence[_Job[Item]]) -> None:
        db.execute("BEGIN IMMEDIATE")
        for job in jobs:
            job.error = None
            assert job.item is not None
            try:
                self._write(db, job.item)
            except PolluxError as refusal:
                job.error = refusal
        db.execute("COMMIT")
        self._committed(db)

    def _run(self, db: sqlite3.Connection, jobs: list[_Job[Item]]) -> None:
        for job in jobs:
            assert job.call is not None
            job.outcome = job.call(db)

    def _connected(self) -> sqlite3.Connection:
        if self._db is None:
            self._db = self._connect()
            self._file = _file_at(self._path)
        elif _file_at(self._path) != self._file:
            # SQLite would go on writing to a file that nobody finds again: all of it would be acknowledged and lost.
            raise StoreError(
                f"expected the store {self._path} where it was opened, but it was moved, removed or replaced."
                " Put it back, or start Pollux anew"
            )
        return self._db

    def _recover(self, problem: sqlite3.Error) -> None:
        """Leave no transaction behind, so that the next one can begin."""
        try:
            if self._db and self._db.in_transaction:
                self._db.execute("ROLLBACK")
        except sqlite3.Error:
            self._drop()
        if breaks_the_connection(problem):
            self._drop()

    def _drop(self) -> None:
        if self._db:
            self._db.close()
            self._db = None

    def _checkpoint_if_due(self, written: int) -> None:
        self._log += written
        if self._log < self._room:
            return
        try:
            # A log that begins anew writes over blocks it has: cheaper than one that is cut off and grows again.
            with self._lock:
                is_busy = checkpoint(self._connected(), "TRUNCATE" if self._log > LARGEST_LOG else "RESTART")
        except (sqlite3.Error, StoreError) as problem:
            # Everything acknowledged is safe in the log.
            logger.warning("the store's log could not be brought into the database: %s", problem)
            is_busy = True
        if is_busy:
            # With a reader in the way the log only grows; the next try waits until it has grown by as much again.
            self._room = self._log + LOG_BYTES
        else:
            self._log, self._room = 0, LOG_BYTES

    def _refuse_the_rest(self) -> None:
        """Those who came after the end."""
        while not self._queue.empty():
            job = self._queue.get()
            if job:
                job.error = StoreError(f"expected the store {self._path} to be open, but it is not. Open it first")
                _tell([job])

    def _hang_up(self) -> None:
        try:
            with self._lock:
                # Whoever closes the last connection to a file brings in its log: all of ours go under the lock.
                self._closed()
                if self._db:
                    checkpoint(self._db)
                self._drop()
        except (sqlite3.Error, StoreError) as problem:
            logger.warning("the store was closed without bringing its log into the database: %s", problem)
            self._drop()
        self._lock.close()


def checkpoint(db: sqlite3.Connection, mode: Literal["RESTART", "TRUNCATE"] = "TRUNCATE") -> bool:
    """Bring the log into the database. True if a reader was in the way. The caller holds the file lock.

    What was erased is gone from the file only after TRUNCATE.
    """
    # A long reading must not make everybody wait who wants to write.
    patience = db.execute("PRAGMA busy_timeout").fetchone()[0]
    db.execute("PRAGMA busy_timeout = 20")
    try:
        return bool(db.execute(f"PRAGMA wal_checkpoint({mode})").fetchone()[0])
    finally:
        db.execute(f"PRAGMA busy_timeout = {patience}")


def _file_at(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _tell(jobs: Sequence[_Job[Any]]) -> None:
    """Wake those who wait, once for each loop."""
    by_loop: dict[asyncio.AbstractEventLoop, list[_Job[Any]]] = {}
    for job in jobs:
        by_loop.setdefault(job.loop, []).append(job)
    for loop, waiting in by_loop.items():
        try:
            loop.call_soon_threadsafe(_settle, waiting)
        except RuntimeError:
            logger.debug("a loop was closed before its commit was told")


def _settle(jobs: Sequence[_Job[Any]]) -> None:
    for job in jobs:
        if job.done.done():
            continue
        if job.error:
            job.done.set_exception(job.error)
        else:
            job.done.set_result(job.outcome)


def _nobody_waits() -> None:
    pass


def _tell_end(loop: asyncio.AbstractEventLoop, ended: asyncio.Future[None]) -> None:
    with suppress(RuntimeError):  # The loop was closed meanwhile.
        loop.call_soon_threadsafe(lambda: ended.done() or ended.set_result(None))
