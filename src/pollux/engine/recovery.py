"""Runs that nobody in particular is at work on: those of dead drivers, and those whose time has come."""

import asyncio
from collections.abc import Awaitable, Sequence

from pollux.core.errors import Misfit, NotFound, StoreError, TooNew
from pollux.core.events import Event, TimeReached
from pollux.core.ids import RunId
from pollux.core.machine import wake_at
from pollux.core.run import Run
from pollux.engine.driver import Crew, Means, OnEnd
from pollux.engine.ledger import patiently
from pollux.engine.logs import log_of
from pollux.engine.ports import Dispatcher, RunRow
from pollux.engine.timekeeping import Timekeeper

logger = log_of(__name__)

AGAIN_SECONDS = 5.0
"""Until a run is taken up again whose driver failed, or that could not be told that its time has come."""


class Recovery:
    """Brings runs back to the crew. This is what a dispatcher talks to."""

    def __init__(self, means: Means, dispatcher: Dispatcher, on_end: OnEnd, on_expiry: OnEnd) -> None:
        self.crew = Crew(means, dispatcher, on_end, self.again)
        self._ledger = means.ledger
        self._store = means.ledger.store
        self._gate = means.gate
        self._dispatcher = dispatcher
        self._on_end = on_end
        self._on_expiry = on_expiry
        self.crew.go(self._serve())
        self._timekeeper = Timekeeper(self._store, self._gate.clock)
        self.crew.go(self._timekeeper.run())

    async def close(self, grace: float) -> None:
        """Let what is under way go on for a while, then leave the rest to another recovery."""
        await self.crew.close(grace)
        await self._timekeeper.close()

    async def recover(self) -> int:
        """Take on the runs that nobody alive is driving, and those whose time has come. Returns how many."""
        if await self._store.restored():
            return 0
        taken = 0
        for row in await self._store.owed():
            if not self._gate.knows(row.profile):
                continue
            await self._try(self._hear_children(row.run_id))
            if not await self._is_seen_to(row):
                taken += await self._try(self.wake(row.run_id))
        return taken + await self.tick_due()

    async def _serve(self) -> None:
        """Let the dispatcher bring wakes. A restored store has none that may be heeded before it is adopted."""
        while await patiently(self._store.restored):  # noqa: ASYNC110
            # It is another process that adopts it.
            await asyncio.sleep(AGAIN_SECONDS)
        await self._dispatcher.serve(self)

    async def take(self, run_id: RunId) -> int:
        """Take on this run alone, if it has work and no live driver."""
        if await self._store.restored():
            return 0
        await self._try(self._hear_children(run_id))
        before = self._ledger.is_driven(run_id)
        # What has run out meanwhile has run out, whether or not anybody's timer was there to say so.
        await self._try(self.tick(run_id))
        await self.wake(run_id)
        return int(self._ledger.is_driven(run_id) and not before)

    async def take_time(self, run_id: RunId) -> None:
        """Tell the run what time it is, where that can be written."""
        await self._try(self.tick(run_id))

    async def tick_due(self) -> int:
        """Tell every run whose time has come, and note when the next one's will."""
        taken, asked = 0, self._gate.clock.now()
        for run_id in await self._store.due(asked):
            taken += await self._try(self.tick(run_id))
        if (moment := await self._store.next_wake()) is not None:
            # Due already when we asked: it could not be told. To ask again at once would only keep the processor busy.
            again = self._gate.clock.now() + AGAIN_SECONDS
            self._dispatcher.wake_at(RunId(""), moment if moment > asked else again)
        return taken

    async def wake(self, run_id: RunId) -> None:
        """Drive the run here, if it has work and no live driver."""
        await self.crew.tell(run_id, _nothing_new)

    async def drive(self, run_id: RunId) -> None:
        """Drive the run here, which nobody else is at, until it needs no driver any more."""
        await self._drop_if_due(await self.crew.drive(run_id, self._what_time_it_is, self._hear_all_children))

    async def tick(self, run_id: RunId) -> None:
        """Tell the run what time it is, if it cares."""
        await self._drop_if_due(await self.crew.tell(run_id, self._what_time_it_is))

    async def _what_time_it_is(self, run: Run) -> Sequence[Event]:
        return [TimeReached(at=self._gate.clock.now())] if run.is_open and self._is_due(run) else []

    async def _drop_if_due(self, run: Run) -> None:
        if run.ending and self._is_due(run):
            await self._on_expiry(run)

    def _is_due(self, run: Run) -> bool:
        due = wake_at(run)
        return due is not None and self._gate.clock.now() >= due

    async def again(self, run_id: RunId) -> None:
        """Take the run up once more, after a while."""
        await asyncio.sleep(AGAIN_SECONDS)
        # Until the store answers: nobody else may look for it.
        await self._try(patiently(lambda: self.wake(run_id)))

    async def _hear_all_children(self, run_id: RunId) -> None:
        try:
            await self._hear_children(run_id)
        except TooNew:
            # Its wake may have been about this child: it is for whoever can hear it.
            raise
        except Exception:
            logger.exception("a run's children could not be heard")

    async def _hear_children(self, run_id: RunId) -> None:
        """A child's end may have been written when nobody was left to tell its parent."""
        for row in await self._store.children(run_id):
            try:
                child = await self._store.run(row.run_id)
            except NotFound:
                # Its content was erased after it had ended.
                continue
            if child and child.ending:
                await self._on_end(child)

    async def _is_seen_to(self, row: RunRow) -> bool:
        if row.driver == self._gate.name:
            return self._ledger.is_driven(row.run_id)
        return bool(row.driver) and await self._store.is_alive(row.driver)

    async def _try(self, work: Awaitable[None]) -> bool:
        """One run that cannot be taken on must not keep the others waiting."""
        try:
            await work
        except Misfit as misfit:
            logger.info("somebody else was faster: %s", misfit)
            return False
        except NotFound:
            logger.info("a run is not taken on: its content was erased")
            return False
        except TooNew as problem:
            logger.warning("a run is left to a newer process: %s", problem)
            return False
        except StoreError as problem:
            logger.warning("a run could not be taken on: %s", problem)
            return False
        except Exception:
            logger.exception("a run could not be taken on")
            return False
        return True


async def _nothing_new(_: Run) -> Sequence[Event]:
    return []
