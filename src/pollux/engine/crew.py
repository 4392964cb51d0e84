"""Who works on runs in this process: claims them, drives them, looks at the clock, and tells parents of their children.

The work goes on in tasks that belong to the crew, so a caller who leaves stops nothing.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from typing import Any, TypeVar

from pollux.core.errors import Draining, Misfit, PolluxError
from pollux.core.events import Event, RunClaimed, TimeReached
from pollux.core.ids import RunId
from pollux.core.machine import pending, step, wake_at
from pollux.core.run import Run
from pollux.engine.driver import Driver
from pollux.engine.feed import Feed, do_nothing
from pollux.engine.ledger import Facts
from pollux.engine.ports import Dispatcher, RunRow
from pollux.engine.world import Followed, World

logger = logging.getLogger(__name__)

AGAIN_SECONDS = 5.0

OnEnd = Callable[[Run], Awaitable[None]]

STOP_SECONDS = 0.5
"""How long a closing engine waits for those it has told to stop."""

PATIENCE = 5.0
"""Seconds until a run is looked at again whose time has come but that could not be told so."""

T = TypeVar("T")


class Crew:
    """The tasks of one engine. `on_end` is told of every child run that ended here."""

    def __init__(self, world: World, dispatcher: Dispatcher, on_end: OnEnd) -> None:
        self._world = world
        self._ledger = world.ledger
        self._store = world.ledger.store
        self._drivers: set[Driver] = set()
        self._effects: set[asyncio.Task[None]] = set()
        self._dispatcher = dispatcher
        self._on_end = on_end
        self._tasks: set[asyncio.Future[Any]] = set()
        self._leaving = False
        self.go(self._ledger.follow_others())
        self.go(dispatcher.serve(self))

    async def close(self, grace: float) -> None:
        """Let what is under way go on for a while, then leave the rest to a recovery."""
        self._leaving = True
        driving = [feed for feed in self._ledger.feeds if feed.driving]
        if driving and grace:
            idle = asyncio.gather(*(_wait_idle(feed) for feed in driving))
            await asyncio.wait({idle}, timeout=grace)
            idle.cancel()
        # As a crash would, without a word: the journal knows what was begun. What does not listen is left behind.
        tasks = [*self._tasks, *self._effects]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=STOP_SECONDS)
        self._ledger.is_closed = True

    async def finish(self, work: Coroutine[None, None, T]) -> T:
        """The work's answer. It goes on to its end, also when the caller leaves before: a commit is never half told."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            if task.cancelled() and self._leaving:
                raise Draining("this process stopped before the answer was known; ask again") from None
            raise

    async def tell(self, run_id: RunId, facts: Facts) -> Run:
        """Record facts from outside: people, pages, clocks. Whatever they leave owed is taken care of."""
        feed = await self._ledger.acquire(run_id)
        try:
            run = await self._ledger.append(feed, self._claiming(feed, facts), Followed(self._world))
            self.attend(feed)
            return run
        finally:
            self._ledger.release(feed)

    def attend(self, feed: Feed) -> None:
        """Whatever the run needs now: a driver here, a driver elsewhere, a look at the clock, or its parent told."""
        run = feed.run
        if pending(run) and not feed.driving:
            if run.driver == self._world.name:
                self._spawn(feed)
            elif not self._dispatcher.drives_here:
                self._dispatcher.wake(run.id)
        moment = wake_at(run)
        if moment is not None:
            self._dispatcher.wake_at(run.id, moment)
        if run.ending and run.parent and not feed.driving:
            self.go(self._on_end(run))

    async def recover(self) -> int:
        """Take on the runs that nobody alive is driving, and those whose time has come. Returns how many."""
        taken = 0
        for row in await self._store.owed():
            await self._hear_children(row.run_id)
            if not await self._is_seen_to(row):
                taken += await self._try(self.wake(row.run_id))
        return taken + await self.tick_due()

    async def tick_due(self) -> int:
        """Tell every run whose time has come, and note when the next one's will."""
        taken = 0
        for run_id in await self._store.due(self._world.clock.now()):
            taken += await self._try(self.tick(run_id))
        moment, now = await self._store.next_wake(), self._world.clock.now()
        if moment is not None:
            # Still due: it could not be told. Asking again at once would only keep the processor busy.
            self._dispatcher.wake_at(RunId(""), moment if moment > now else now + PATIENCE)
        return taken

    async def wake(self, run_id: RunId) -> None:
        """Drive the run here, if it has work and no live driver."""
        await self.tell(run_id, _nothing_new)

    async def tick(self, run_id: RunId) -> None:
        """Tell the run what time it is, if it cares."""

        async def facts(run: Run) -> Sequence[Event]:
            due, now = wake_at(run), self._world.clock.now()
            return [TimeReached(at=now)] if due is not None and now >= due else []

        await self.tell(run_id, facts)

    def go(self, work: Coroutine[None, None, None] | Awaitable[None]) -> None:
        """Let it run on after the caller has left."""
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._over)

    def _over(self, task: asyncio.Future[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (problem := task.exception()):
            logger.error("a task of the engine failed", exc_info=problem)

    async def _hear_children(self, run_id: RunId) -> None:
        """A child's end may have been written when nobody was left to tell its parent."""
        for row in await self._store.children(run_id):
            child = await self._store.run(row.run_id)
            if child and child.ending:
                await self._on_end(child)

    async def _is_seen_to(self, row: RunRow) -> bool:
        if row.driver == self._world.name:
            return self._ledger.is_driven(row.run_id)
        return bool(row.driver) and await self._store.is_alive(row.driver)

    async def _try(self, work: Awaitable[None]) -> bool:
        """One run that cannot be taken on must not keep the others waiting."""
        try:
            await work
        except Misfit as misfit:
            logger.info("somebody else was faster: %s", misfit)
            return False
        except PolluxError:
            logger.exception("a run could not be taken on")
            return False
        return True

    def _claiming(self, feed: Feed, facts: Facts) -> Facts:
        """The facts, behind a claim when they leave work that nobody alive would do."""

        async def claimed(run: Run) -> Iterable[Event]:
            events = list(await facts(run))
            after = run
            for event in events:
                after = step(after, event)
            if not _needs_driver(after) or not self._dispatcher.drives_here or await self._is_held(feed, run):
                return events
            return [RunClaimed(epoch=run.epoch + 1, driver=self._world.name, at=self._world.clock.now()), *events]

        return claimed

    async def _is_held(self, feed: Feed, run: Run) -> bool:
        if not _needs_driver(run):
            # A driver leaves when nothing is owed. Its name is still good for what comes, if it is ours.
            return run.driver == self._world.name
        if run.driver == self._world.name:
            return feed.driving
        return run.epoch > 0 and await self._store.is_alive(run.driver)

    def _spawn(self, feed: Feed) -> None:
        driver = Driver(self._world, feed, self._effects, self._left)
        self._drivers.add(driver)
        self._ledger.keep(feed)
        feed.driving = True
        feed.on_move = driver.keep_up
        driver.keep_up()

    def _left(self, driver: Driver, failed: bool) -> None:
        """A driver has nothing left to do, or cannot do it."""
        if driver not in self._drivers:
            return
        self._drivers.discard(driver)
        feed = driver.feed
        feed.on_move = do_nothing
        feed.driving = False
        feed.nudge()
        if failed:
            self.go(self._again_later(feed.run.id))
        elif not self._leaving:
            self.attend(feed)
        self._ledger.release(feed)

    async def _again_later(self, run_id: RunId) -> None:
        await asyncio.sleep(AGAIN_SECONDS)
        await self._try(self.wake(run_id))


def _needs_driver(run: Run) -> bool:
    """Whether it takes a driver to bring the run on: also when all that is left is to end what was in flight."""
    return bool(pending(run)) or (run.is_open and any(action.is_in_flight for action in run.open))


async def _wait_idle(feed: Feed) -> None:
    while feed.driving:
        await feed.wait_moved(feed.run.version)


async def _nothing_new(_: Run) -> Sequence[Event]:
    return []
