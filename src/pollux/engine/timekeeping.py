"""Note the time while nothing happens, so that the next process knows of it whatever its own clock shows.

Only while a question is open, and at the end: what has no deadline needs no time.
"""

import asyncio
from contextlib import suppress

from pollux.core.errors import StoreError
from pollux.engine.ports import Change, Clock, Store
from pollux.engine.system import SystemClock

NOTE_SECONDS = 30.0
"""How much of an idle time may be forgotten when the machine itself is started again."""
CLOSE_SECONDS = 5.0


class Timekeeper:
    """Notes the time in a store that has no server with a clock of its own."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        # PostgreSQL tells the time itself, what is in memory ends with the process, and tests have their own time.
        self._is_needed = isinstance(clock, SystemClock) and store.kind == "sqlite"

    async def run(self) -> None:
        """Note it again and again. Runs until cancelled."""
        while self._is_needed:
            await asyncio.sleep(NOTE_SECONDS)
            await self._note()

    async def close(self) -> None:
        """Note it for the last time."""
        with suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_SECONDS):
                await self._note()

    async def _note(self) -> None:
        # What cannot be noted now is noted with the next commit.
        with suppress(StoreError):
            if self._is_needed and await self._store.next_wake() is not None:
                await self._store.commit(Change(sweep_sessions=self._clock.now()))
