"""The real clock. It never goes back: an approval that has expired stays expired when somebody sets the host's clock.

Within a process the steady clock carries it on; from one process to the next, the latest moment that the store knows.
"""

import asyncio
import time
from collections.abc import Callable
from itertools import accumulate, repeat
from operator import add

from pollux.core.ids import Instant
from pollux.engine.ports import Clock


class SystemClock:
    """Wall time, since it must mean the same after a restart, held against being set back."""

    is_live = True
    """It shows the time of the world, and not that of a test."""

    def __init__(self, wall: Callable[[], Instant] = time.time, steady: Callable[[], float] = time.monotonic) -> None:
        self._wall = wall
        self._steady = steady
        self.now: Callable[[], Instant] = wall
        self.not_before(wall())

    def not_before(self, moment: Instant) -> None:
        """From now on it is at least so late: somebody has written down that moment."""
        begun = max(moment, self.now()) - self._steady()
        carried = map(add, iter(self._steady, None), repeat(begun))
        # The later of the wall's time and what the steady clock makes of that moment, and never less than before. As
        # iterators, since every step of a run asks for it.
        self.now = accumulate(map(max, iter(self._wall, None), carried), max).__next__

    async def sleep_until(self, moment: Instant) -> None:
        await asyncio.sleep(max(0.0, moment - self.now()))


class HeldClock:
    """Another clock, kept from going back."""

    is_live = False

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._at = clock.now()

    def now(self) -> Instant:
        self._at = max(self._at, self._clock.now())
        return self._at

    def not_before(self, moment: Instant) -> None:
        """It is at least so late."""
        self._at = max(self._at, moment)

    async def sleep_until(self, moment: Instant) -> None:
        # What has passed for us has passed, whatever the other one shows by now.
        await self._clock.sleep_until(min(moment, self._clock.now()) if moment <= self.now() else moment)


def steadied(clock: Clock | None) -> SystemClock | HeldClock:
    """This clock, or the real one, such that it never goes back."""
    if clock is None or isinstance(clock, SystemClock):
        return clock or SystemClock()
    return HeldClock(clock)
