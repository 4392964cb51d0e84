"""A clock that stands still until told otherwise, so that a test waits for nothing and still sees time pass."""

import asyncio
from itertools import count

from pollux.core.ids import Instant


class FakeClock:
    """Time for tests. Sleepers wake in the order of their moments, those of one moment in the order they came.

    clock = FakeClock()
    clock.advance(30)
    """

    def __init__(self, now: Instant = 1_000_000.0) -> None:
        self._now = now
        self._arrivals = count()
        self._sleepers: dict[tuple[Instant, int], asyncio.Future[None]] = {}

    def now(self) -> Instant:
        return self._now

    async def sleep_until(self, moment: Instant) -> None:
        """Return once the clock shows that moment. Gives way to other tasks even when it has passed."""
        if moment <= self._now:
            await asyncio.sleep(0)
            return
        place = (moment, next(self._arrivals))
        self._sleepers[place] = asyncio.get_running_loop().create_future()
        try:
            await self._sleepers[place]
        finally:
            self._sleepers.pop(place, None)

    def advance(self, seconds: float) -> None:
        """Let so much time pass at once."""
        if seconds < 0:
            raise ValueError(f"expected time to go forward, found {seconds} seconds")
        self._now += seconds
        for place in sorted(self._sleepers):
            sleeper = self._sleepers[place]
            if place[0] <= self._now and not sleeper.done():
                sleeper.set_result(None)

    @property
    def waiting(self) -> tuple[Instant, ...]:
        """The moments that somebody sleeps for, earliest first."""
        return tuple(moment for moment, _ in sorted(self._sleepers))
