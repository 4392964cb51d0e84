"""What users may spend in a day, counted over all interfaces; and what all visitors whom nobody knows may together."""

import asyncio
from dataclasses import dataclass, replace
from typing import Final

from pollux.asgi.errors import HttpError
from pollux.asgi.visits import STRANGER
from pollux.core.errors import NotFound
from pollux.core.ids import Instant, RunId, UserId
from pollux.core.profile import Limits
from pollux.core.run import Run
from pollux.engine.engine import Engine

DAY = 24 * 3600.0
LOOK_SECONDS = 5.0
"""How long a sum over many users counts before it is made again."""
START_SECONDS = 60.0
"""A run that is not there this long after it was promised something does not start any more."""
SHARE: Final = 4
"""A visitor's run gets this part of what nobody was promised yet: the first must not get all of it."""
LEAST_SHARE: Final = 2_000


class Budget:
    """Of one server. None: no bound of that kind."""

    def __init__(self, engine: Engine, *, tokens_per_day: int | None = None, for_strangers: int | None = None) -> None:
        self._engine = engine
        self._each = tokens_per_day
        self._strangers = for_strangers
        self._looked: Instant | None = None
        self._looking = asyncio.Lock()
        self._spent = 0
        self._promised: dict[RunId, _Promise] = {}
        """To visitors' runs under way. Else all that begin at once would be given the same tokens."""

    async def limits_for(self, user: UserId, profile: str, *, run_id: RunId | None = None) -> Limits | None:
        """The profile's limits, none above what is left of the day. Raises HttpError where nothing is left."""
        known = self._engine.profiles.get(profile)
        bounds = [known.limits.tokens] if known else []
        bounds.append(await self._left_of(user))
        if self._strangers is not None and user.startswith(STRANGER):
            await self._look()
            # Nothing is waited for from here on, so that no other visitor gets the same tokens.
            bounds.append(self._share(self._strangers))
        found = [bound for bound in bounds if bound is not None]
        if known is None or not found:
            return None
        if run_id is not None:
            self._promised[run_id] = _Promise(user, min(found), self._engine.clock.now())
        return replace(known.limits, tokens=min(found))

    def settle(self, run: Run) -> None:
        """Take back what a run did not use."""
        if not run.is_open and self._promised.pop(run.id, None) is not None:
            self._spent += run.usage.total

    async def _left_of(self, user: UserId) -> int | None:
        if self._each is None:
            return None
        spent = await self._engine.queries.spent(user, self._engine.clock.now() - DAY)
        if spent >= self._each:
            raise _nothing_left(f"the tokens of a day are spent: {spent} of {self._each}", 3600)
        return self._each - spent

    def _share(self, of: int) -> int:
        """Whoever is somebody new with every page they open is bounded by this alone."""
        if self._spent >= of:
            raise _nothing_left(f"the tokens of a day are spent: {self._spent} of {of}", 3600)
        left = of - self._spent - sum(each.left for each in self._promised.values())
        if left <= 0:
            raise _nothing_left("conversations under way may use all tokens that are left of the day", LOOK_SECONDS)
        return min(left, max(left // SHARE, LEAST_SHARE))

    async def _look(self) -> None:
        """Bring up to date what visitors have spent, and which of their runs may still spend something."""
        async with self._looking:
            now = self._engine.clock.now()
            if self._looked is None or now - self._looked > LOOK_SECONDS:
                await self._look_again(now)
                self._looked = now

    async def _look_again(self, now: Instant) -> None:
        for run_id, promise in list(self._promised.items()):
            try:
                run = await self._engine.queries.run(run_id, promise.user)
                is_over, promise.used = not run.is_open, run.usage.total
            except NotFound:
                # It may be about to start.
                is_over = now - promise.at > START_SECONDS
            if is_over:
                self._promised.pop(run_id, None)
        self._spent = await self._engine.queries.spent(UserId(STRANGER), now - DAY, is_prefix=True)


@dataclass
class _Promise:
    """The tokens that one run may use, and what it had used when that was last looked at."""

    user: UserId
    bound: int
    at: Instant
    used: int = 0

    @property
    def left(self) -> int:
        return max(0, self.bound - self.used)


def _nothing_left(message: str, seconds: float) -> HttpError:
    return HttpError(429, "budget", message, headers={"retry-after": str(round(seconds))})
