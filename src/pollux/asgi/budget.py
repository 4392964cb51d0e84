"""What users may spend in a day, counted over all interfaces; and what all visitors whom nobody knows may together.

Each run is promised a part of what is left, and its limit is half of that: it may pass its limit by one call of the
model, whose input may be all that was said before. The store adds up what open runs may still spend, so a promise
survives a restart, holds for every server of the store, and ends with its run.
"""

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field, replace
from typing import Final
from weakref import WeakValueDictionary

from pollux.asgi.errors import HttpError
from pollux.asgi.visits import STRANGER
from pollux.core.ids import UserId
from pollux.core.profile import Limits
from pollux.engine.engine import Engine
from pollux.engine.glance import Spending

DAY = 24 * 3600.0
SHARE: Final = 4
"""A user's run is promised this part of what is left: the first must not get all of it."""
VISITORS_SHARE: Final = 16
"""Of 1,000,000 tokens the first is promised 62,500 and the twentieth 18,000; some sixty can wait at the same time."""
LEAST: Final = 4_000
"""With less a run cannot do much."""
LARGEST: Final = 200_000
"""No visitor's run is promised more, however much is left."""
CALLS: Final = 4
"""A run that begins with much text is promised so many calls of its size, up to a quarter of what is left."""
BYTES_OF_A_TOKEN: Final = 3


class Budget:
    """Of one server. None: no bound of that kind."""

    def __init__(self, engine: Engine, *, tokens_per_day: int | None = None, for_strangers: int | None = None) -> None:
        self._engine = engine
        self._each = tokens_per_day
        self._strangers = for_strangers
        self._days: WeakValueDictionary[UserId, _Day] = WeakValueDictionary()
        """Those of which something is being promised."""

    @contextlib.asynccontextmanager
    async def promise(self, user: UserId, profile: str, *, size: int = 0) -> AsyncGenerator[Limits | None]:
        """The limits of a run, which has to be begun inside, and whose first call takes so many tokens at least.

        Raises HttpError where too little is left of the day.
        """
        known, days = self._engine.profiles.get(profile), self._days_of(user)
        if known is None or not days:
            yield None
            return
        async with contextlib.AsyncExitStack() as turns:
            bounds = [] if known.limits.tokens is None else [known.limits.tokens]
            for day in days:
                # One run at a time: when the next one asks, the store knows what this one was promised.
                await turns.enter_async_context(day.turn)
                bounds.append(day.limit(await self._spending(day), size))
            yield replace(known.limits, tokens=min(bounds))

    async def check(self, user: UserId) -> None:
        """Raises HttpError where nothing is left of the day."""
        for day in self._days_of(user):
            day.limit(await self._spending(day), 0)

    def _days_of(self, user: UserId) -> "list[_Day]":
        days: list[_Day] = []
        if self._each is not None:
            days.append(self._days.setdefault(user, _Day(user, self._each)))
        if self._strangers is not None and user.startswith(STRANGER):
            # Whoever is somebody new with every page they open is bounded by this alone.
            everybody = _Day(UserId(STRANGER), self._strangers, is_prefix=True)
            days.append(self._days.setdefault(everybody.whose, everybody))
        return days

    async def _spending(self, day: "_Day") -> Spending:
        return await self._engine.queries.spent(day.whose, self._engine.clock.now() - DAY, is_prefix=day.is_prefix)


@dataclass(eq=False)
class _Day:
    """The tokens of one user, or of all visitors, in the last 24 hours."""

    whose: UserId
    of: int
    is_prefix: bool = False
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    def limit(self, spending: Spending, size: int) -> int:
        """What the next run may use. Raises HttpError where that is too little for a call of this size."""
        least, left = min(LEAST, self.of // 100), self.of - spending.used
        if left <= least:
            raise _too_little(f"the tokens of a day are spent: {spending.used} of {self.of}", 3600)
        free = left - spending.promised
        share, largest = (VISITORS_SHARE, LARGEST) if self.is_prefix else (SHARE, self.of)
        part = max(free // share, LEAST, 2 * size, min(2 * CALLS * size, free // 4))
        limit = min(free, part, largest) // 2
        if 2 * size > min(left, largest):
            most = min(left, largest) // 2
            message = f"this is some {size} tokens long, and a run may begin with {most} now"
            raise _too_little(f"{message}. Say less, or begin a new conversation", 3600)
        if free <= least or limit < size:
            message = "other conversations may use the tokens that are left of the day. Try again when one has ended"
            raise _too_little(message, 60)
        return max(limit, 1)


def size_of(*texts: str | bytes) -> int:
    """About how many tokens a model reads in these."""
    encoded = (text if isinstance(text, bytes) else text.encode("utf-8", "replace") for text in texts)
    return sum(map(len, encoded)) // BYTES_OF_A_TOKEN


def _too_little(message: str, seconds: int) -> HttpError:
    return HttpError(429, "budget", message, headers={"retry-after": str(seconds)})
