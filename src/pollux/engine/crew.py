"""Who works on runs in this process: claims them, drives them, looks at the clock, and tells parents of their children.

The work goes on in tasks that belong to the crew, so a caller who leaves stops nothing.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence

from pollux.core.errors import Misfit, PolluxError
from pollux.core.events import Event, RunClaimed, TimeReached
from pollux.core.ids import RunId
from pollux.core.machine import pending, step, wake_at
from pollux.core.run import Run
from pollux.engine.driver import Driver, Followed, World
from pollux.engine.feed import Feed
from pollux.engine.ledger import Facts
from pollux.engine.ports import Dispatcher

logger = logging.getLogger(__name__)

OnEnd = Callable[[Run], Awaitable[None]]


class Crew:
    """The tasks of one engine. `on_end` is told of every child run that ended here."""

    def __init__(self, world: World, dispatcher: Dispatcher, on_end: OnEnd) -> None:
        self._world = world
        self._ledger = world.ledger
        self._store = world.ledger.store
        self._driver = Driver(world)
        self._dispatcher = dispatcher
        self._on_end = on_end
        self._tasks: set[asyncio.Task[None]] = set()
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
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def tell(self, run_id: RunId, facts: Facts) -> Run:
        """Record facts from outside: people, pages, clocks. Whatever they leave owed is taken care of."""
        feed = await self._ledger.acquire(run_id)
        try:
            run = await self._ledger.append(feed, self._claiming(facts), Followed(self._world))
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
            if row.driver and (row.driver == self._world.name or await self._store.is_alive(row.driver)):
                continue
            taken += await self._try(self.wake(row.run_id))
        return taken + await self.tick_due()

    async def tick_due(self) -> int:
        """Tell every run whose time has come, and note when the next one's will."""
        taken = 0
        for run_id in await self._store.due(self._world.clock.now()):
            taken += await self._try(self.tick(run_id))
        moment = await self._store.next_wake()
        if moment is not None:
            self._dispatcher.wake_at(RunId(""), moment)
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
        task.add_done_callback(self._tasks.discard)

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

    def _claiming(self, facts: Facts) -> Facts:
        """The facts, behind a claim when they leave work that nobody alive would do."""

        async def claimed(run: Run) -> Iterable[Event]:
            events = list(await facts(run))
            after = run
            for event in events:
                after = step(after, event)
            if not pending(after) or not self._dispatcher.drives_here or await self._is_held(run):
                return events
            return [RunClaimed(epoch=run.epoch + 1, driver=self._world.name, at=self._world.clock.now()), *events]

        return claimed

    async def _is_held(self, run: Run) -> bool:
        if run.driver == self._world.name:
            return True
        # A driver leaves when nothing is owed: only one with work in flight still holds the run.
        return bool(pending(run)) and run.epoch > 0 and await self._store.is_alive(run.driver)

    def _spawn(self, feed: Feed) -> None:
        feed.driving = True
        feed.users += 1
        self.go(self._drive(feed))

    async def _drive(self, feed: Feed) -> None:
        try:
            await self._driver.drive(feed)
        except Exception:
            # The run stays as the journal has it; a recovery takes it on.
            logger.exception("driving a run failed")
        finally:
            feed.driving = False
            feed.nudge()
            if not self._leaving:
                self.attend(feed)
            self._ledger.release(feed)


async def _wait_idle(feed: Feed) -> None:
    while feed.driving:
        await feed.wait_moved(feed.run.version)


async def _nothing_new(_: Run) -> Sequence[Event]:
    return []
