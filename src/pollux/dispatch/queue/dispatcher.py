"""The dispatcher for many hosts: a wake is a job, and whoever holds a thread's job is the only one who drives there.

A wake is written in the transaction of the event that makes it necessary (`beside`); notice of it is given after. A
worker takes the job, drives the run until it needs nobody, and drops the job. A run that waits for a person or for a
moment has none: it is a row. Moments are kept in the store and become wakes when they have come.

What makes up for a lost notice is a look at the queue twice a second; for a lost worker, others that give its jobs
back; for whatever else, a sweep of runs that are owed and have no job.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING, TypeVar

from pollux.core.errors import Draining, NotFound, StoreError, TooNew
from pollux.core.ids import Instant, RunId
from pollux.core.profile import Profile
from pollux.core.redact import Secret
from pollux.dispatch.queue import statements
from pollux.dispatch.queue.link import Link, Statement, parameters_of
from pollux.dispatch.queue.schema import install
from pollux.dispatch.queue.tending import Tending
from pollux.engine.logs import log_of
from pollux.engine.ports import Change, Clock, Drivers
from pollux.wire.versions import VERSION

if TYPE_CHECKING:
    from procrastinate.worker import Worker

    from pollux.dispatch.queue.jobs import Taken

logger = log_of(__name__)

T = TypeVar("T")

AGAIN_SECONDS = 1.0
"""Until something is tried again that failed."""
FRESH_SECONDS = 5.0
"""For so long a wake that `beside` wrote counts as written."""


class ProcrastinateDispatcher:
    """Hands runs to workers; with a `concurrency`, this process is one, for runs of the profiles that it knows.

    One that `stands_in` takes jobs only while no other worker is alive. `url` is a direct address, not a pooler's. Give
    `beside` to the store.
    """

    drives_here = False
    """Not even in a worker: what it leaves owed is a job like any other."""

    def __init__(
        self,
        url: Secret | str,
        *,
        clock: Clock,
        concurrency: int = 0,
        stands_in: bool = False,
    ) -> None:
        self._parameters = parameters_of(url)
        self._clock = clock
        self._concurrency = concurrency
        self._queues: list[str] = []
        self._profiles = statements.known({})
        self._link = Link(self._parameters)
        self._tending = (
            Tending(self._parameters, clock, stands_in=stands_in, on_relief=self._rest) if concurrency else None
        )
        self._written: dict[str, float] = {}
        """The wakes that `beside` has written lately, each with the moment: they need no more than notice."""
        self._woken: set[str] = set()
        self._called = asyncio.Event()
        self._driving: set[str] = set()
        self._jobs: set[asyncio.Task[None]] = set()
        self._worker: Worker | None = None
        self._is_stopped = False

    async def open(self, profiles: Mapping[str, Profile]) -> None:
        """Make the queue's tables, where they are missing. Raises StoreError."""
        self._queues = statements.queues_of(profiles, VERSION)
        self._profiles = statements.known({name: profile.priority for name, profile in profiles.items()})
        await install(self._parameters)

    def beside(self, change: Change) -> Iterable[Statement]:
        """What is to be written in the transaction of a change: the wakes it makes necessary."""
        row = change.row
        if row is None:
            return
        wanted: list[str] = []
        # While it is driven here, its job is there too, and goes to another worker should this one die.
        if row.owed and row.run_id not in self._driving:
            wanted.append(row.run_id)
            self._written[row.run_id] = monotonic()
        if row.parent and change.run and change.run.ending:
            wanted.append(row.parent)
        if wanted:
            yield statements.enqueue(wanted, self._profiles)

    def wake(self, run_id: RunId) -> None:
        self._woken.add(run_id)
        self._called.set()

    def wake_at(self, run_id: RunId, moment: Instant) -> None:
        if self._tending:
            self._tending.note(moment)

    def stop(self) -> None:
        """Take no more jobs. What was taken goes on."""
        self._is_stopped = True
        self._rest()

    def _rest(self) -> None:
        if self._worker:
            self._worker.stop()

    async def serve(self, drivers: Drivers) -> None:
        """Give notice of wakes; in a worker, also take jobs and tend the queue. Runs until cancelled."""
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._give_notice())
                if self._tending:
                    tasks.create_task(self._tending.beat())
                    tasks.create_task(self._tending.go_on(drivers, self._profiles))
                    tasks.create_task(self._take_jobs(drivers, self._tending))
        finally:
            await self._close()

    async def _give_notice(self) -> None:
        while True:
            await self._called.wait()
            self._called.clear()
            woken, self._woken = self._woken, set()
            try:
                await self._link.ask(self._notice_of(woken))
            except StoreError as problem:
                logger.warning("wakes could not be told yet: %s", problem)
                self._woken |= woken
                self._called.set()
                await asyncio.sleep(AGAIN_SECONDS)

    def _notice_of(self, woken: set[str]) -> Statement:
        now = monotonic()
        if len(self._written) > statements.MOST:
            self._written = {run_id: at for run_id, at in list(self._written.items()) if at > now - FRESH_SECONDS}
        missing = [run_id for run_id in woken if self._written.pop(run_id, 0.0) < now - FRESH_SECONDS]
        return statements.wake(missing, self._profiles) if missing else statements.notice()

    # In a worker.

    async def _take_jobs(self, drivers: Drivers, tending: "Tending") -> None:
        """A worker of Procrastinate, and another one when it has ended."""
        from pollux.dispatch.queue.jobs import worker_of

        while not self._is_stopped:
            await tending.needed.wait()
            try:
                number = await tending.number()
                async with worker_of(
                    self._parameters,
                    number,
                    lambda job, number=number: self._take(drivers, job, number),
                    concurrency=self._concurrency,
                    queues=self._queues,
                ) as worker:
                    self._worker = worker
                    await worker.run()
            except Exception as problem:  # noqa: BLE001
                # Whatever it is, there is no queue without a worker.
                logger.warning("the queue's worker ended: %s", type(problem).__name__)
            finally:
                self._worker = None
            if not self._is_stopped:
                await asyncio.sleep(AGAIN_SECONDS)

    async def _take(self, drivers: Drivers, job: "Taken", number: int) -> None:
        """Drive in a task of its own: it goes on when the worker that took the job has ended."""
        task = asyncio.create_task(self._drive(drivers, job, number))
        self._jobs.add(task)
        task.add_done_callback(self._jobs.discard)
        await asyncio.shield(task)

    async def _drive(self, drivers: Drivers, job: "Taken", number: int) -> None:
        self._driving.add(job.run_id)
        begun = monotonic()
        try:
            await drivers.drive(RunId(job.run_id))
        except NotFound:
            # Erased, or never committed.
            pass
        except TooNew as problem:
            logger.warning("run %s is left to a newer worker: %s", job.run_id, problem)
            hand_up = statements.hand_up(number, job.id, problem.version)
            await _patiently(lambda: self._link.ask(hand_up))
            return
        except Draining:
            # Given back when this process leaves, together with all others.
            return
        except StoreError as problem:
            logger.warning("a run could not be driven: %s", problem)
            await self._give_back(job, number)
            return
        except Exception:
            logger.exception("a run could not be driven")
            await self._give_back(job, number)
            return
        finally:
            self._driving.discard(job.run_id)
        logger.info("%s was driven for %.0f ms", job.run_id, (monotonic() - begun) * 1000)
        for (lock,) in await _patiently(lambda: self._link.ask(statements.finish(job.id, number, job.attempts))):
            await _patiently(lambda lock=lock: self._link.ask(statements.call_next(lock)))

    async def _give_back(self, job: "Taken", number: int) -> None:
        await asyncio.sleep(AGAIN_SECONDS)
        await _patiently(lambda: self._link.ask(statements.give_back(number, job.id)))

    async def _close(self) -> None:
        for task in self._jobs:
            task.cancel()
        await asyncio.gather(*self._jobs, return_exceptions=True)
        if self._tending:
            with suppress(StoreError):
                await self._tending.close()
        await self._link.close()


async def _patiently(work: Callable[[], Awaitable[T]]) -> T:
    while True:
        try:
            return await work()
        except StoreError as problem:
            logger.warning("a job could not be ended yet: %s", problem)
            await asyncio.sleep(AGAIN_SECONDS)
