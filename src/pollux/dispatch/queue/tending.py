"""What keeps the queue whole, done by every worker: show that it lives, give back dead workers' jobs, wake in time."""

import asyncio
import logging
from collections.abc import Callable
from itertools import count
from typing import Any

from pollux.core.errors import PolluxError, StoreError
from pollux.core.ids import Instant, RunId
from pollux.dispatch.queue import statements
from pollux.dispatch.queue.link import Link
from pollux.engine.ports import Clock, Drivers

logger = logging.getLogger(__name__)

OnRelief = Callable[[], None]

BEAT_SECONDS = 2.0
TEND_SECONDS = 1.0
SWEEP_EVERY = 3
SWEEP_ALL_EVERY = 60
"""So often a sweep looks at all owed runs: who wrote one may have a wrong clock, or we were away for a while."""
FORGET_EVERY = 1000


class Tending:
    """One worker's care for the queue, once a second and at every moment it was told of."""

    def __init__(self, parameters: dict[str, Any], clock: Clock, *, stands_in: bool, on_relief: OnRelief) -> None:
        self._link = Link(parameters)
        # Of its own: whatever else takes long, the worker is heard.
        self._pulse = Link(parameters)
        self._clock = clock
        self._stands_in = stands_in
        self._on_relief = on_relief
        self.needed = asyncio.Event()
        """Set while this process is to take jobs: always, or while nobody is there who does nothing else."""
        if not stands_in:
            self.needed.set()
        self._number: int | None = None
        self._moment: Instant | None = None
        self._earlier = asyncio.Event()
        self.swept = 0
        """How many runs were found that were owed and had no job."""

    def note(self, moment: Instant) -> None:
        """Something is due then."""
        if self._moment is None or moment < self._moment:
            self._moment = moment
            self._earlier.set()

    async def number(self) -> int:
        """This worker's number in the queue. Raises StoreError."""
        number = self._number
        if number is None:
            [(number,)] = await self._pulse.ask(statements.register(stands_in=self._stands_in))
            self._number = number
        return number

    async def beat(self) -> None:
        """Show that this worker lives. Runs until cancelled."""
        while True:
            await asyncio.sleep(BEAT_SECONDS)
            try:
                if self._number and not await self._pulse.ask(statements.beat(self._number)):
                    # Silent for so long that it was forgotten. Its jobs are others' now.
                    self._number = None
            except StoreError as problem:
                logger.warning("this worker could not be heard: %s", problem)

    async def go_on(self, drivers: Drivers, profiles: str) -> None:
        """Runs until cancelled."""
        for turn in count():
            try:
                if self._stands_in:
                    await self._look_around()
                if self.needed.is_set():
                    await self._tend(drivers, turn, profiles)
            except StoreError as problem:
                logger.warning("the queue could not be tended: %s", problem)
            await self._sleep()

    async def close(self) -> None:
        """Give back what this worker has begun."""
        number, self._number = self._number, None
        try:
            if number is not None:
                await self._link.ask(statements.give_back(number))
                await self._link.ask(statements.leave(number))
        finally:
            await self._link.close()
            await self._pulse.close()

    async def _look_around(self) -> None:
        [(is_worked,)] = await self._link.ask(statements.WORKED)
        if is_worked and self.needed.is_set():
            logger.info("a worker is there: this process takes no more jobs")
            self.needed.clear()
            self._on_relief()
        elif not is_worked and not self.needed.is_set():
            logger.info("no worker is there: this process takes jobs itself")
            self.needed.set()

    async def _tend(self, drivers: Drivers, turn: int, profiles: str) -> None:
        now = self._clock.now()
        if self._moment is not None and self._moment <= now:
            self._moment = None
        await self._link.ask(statements.REAP)
        await self._link.ask(statements.due(now, profiles))
        if turn % SWEEP_EVERY == 0:
            await self._sweep(now, profiles, since=statements.SWEEP_SECONDS[1] if turn % SWEEP_ALL_EVERY else None)
        if turn % FORGET_EVERY == 0:
            await self._link.ask(statements.FORGET)
        if self._number:
            for (run_id,) in await self._link.ask(statements.due_here(now, self._number)):
                await self._tick(drivers, RunId(run_id))

    async def _tick(self, drivers: Drivers, run_id: RunId) -> None:
        # Its job would wait for the one that drives it, and that one for a slow tool.
        try:
            await drivers.tick(run_id)
        except PolluxError as problem:
            logger.warning("a run could not be told the time: %s", problem)

    async def _sweep(self, now: Instant, profiles: str, *, since: float | None) -> None:
        for found, _ in await self._link.ask(statements.left_alone(now, profiles, since=since)):
            # Ordinary where somebody answered on the command line, which knows no queue.
            logger.info("%d owed runs had no job and have one now", found)
            self.swept += found

    async def _sleep(self) -> None:
        """A second, or until the next moment that is known."""
        self._earlier.clear()
        waits = [asyncio.ensure_future(asyncio.sleep(TEND_SECONDS)), asyncio.ensure_future(self._earlier.wait())]
        if self._moment is not None:
            waits.append(asyncio.ensure_future(self._clock.sleep_until(self._moment)))
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()
