"""The embedded dispatcher: this process drives what it leaves owed, and one timer serves every waiting run.

Only the earliest moment is kept. A waiting run is a row in the store; here it costs nothing.
"""

import asyncio
from collections.abc import Mapping

from pollux.core.errors import PolluxError
from pollux.core.ids import Instant, RunId
from pollux.core.profile import Profile
from pollux.engine.logs import log_of
from pollux.engine.ports import Clock, Drivers

logger = log_of(__name__)

PATIENCE = 5.0


class LocalDispatcher:
    """One process, one timer."""

    drives_here = True

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._next: Instant | None = None
        self._earlier = asyncio.Event()
        self._woken: list[RunId] = []

    async def open(self, profiles: Mapping[str, Profile]) -> None:
        """Nothing: whose runs these are is known to whoever drives them."""

    def wake(self, run_id: RunId) -> None:
        self._woken.append(run_id)
        self._earlier.set()

    def wake_at(self, run_id: RunId, moment: Instant) -> None:
        if self._next is None or moment < self._next:
            self._next = moment
            self._earlier.set()

    def stop(self) -> None:
        """Nothing: a process that stops takes on nothing by itself."""

    async def serve(self, drivers: Drivers) -> None:
        """Sleep until the earliest moment, then let every run that is due hear of it. Runs until cancelled."""
        while True:
            self._earlier.clear()
            await self._sleep()
            try:
                await self._bring(drivers)
            except PolluxError:
                # The store is in trouble. The moments are in it, so nothing is lost by looking again later.
                logger.exception("due runs could not be read")
                self._next = self._clock.now() + PATIENCE

    async def _bring(self, drivers: Drivers) -> None:
        while self._woken:
            await drivers.wake(self._woken.pop())
        if self._next is not None and self._clock.now() >= self._next:
            self._next = None
            await drivers.tick_due()

    async def _sleep(self) -> None:
        if self._woken:
            # Named while nobody was listening.
            return
        if self._next is None:
            await self._earlier.wait()
            return
        timer = asyncio.ensure_future(self._clock.sleep_until(self._next))
        earlier = asyncio.ensure_future(self._earlier.wait())
        try:
            await asyncio.wait({timer, earlier}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            timer.cancel()
            earlier.cancel()
