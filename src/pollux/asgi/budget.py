"""What users may spend in a day, counted over all doors; and what all those may together whom nobody knows."""

from dataclasses import replace

from pollux.asgi.errors import HttpError
from pollux.asgi.visits import STRANGER
from pollux.core.ids import UserId
from pollux.core.profile import Limits
from pollux.engine.engine import Engine

DAY = 24 * 3600.0
LOOK_SECONDS = 5.0
"""How long a sum over many users counts before it is made anew."""


class Budget:
    """Of one server. None: no bound of that kind."""

    def __init__(self, engine: Engine, *, tokens_per_day: int | None = None, for_strangers: int | None = None) -> None:
        self._engine = engine
        self._each = tokens_per_day
        self._strangers = for_strangers
        self._looked: tuple[float, int] | None = None

    async def limits_for(self, user: UserId, profile: str) -> Limits | None:
        """The profile's limits, none above what is left of the day. Raises HttpError where nothing is left."""
        known = self._engine.profiles.get(profile)
        left = [
            found for found in (await self._left_of(user), await self._left_of_strangers(user)) if found is not None
        ]
        if known is None or not left:
            return None
        bound = min(left) if known.limits.tokens is None else min(known.limits.tokens, *left)
        return replace(known.limits, tokens=bound)

    async def _left_of(self, user: UserId) -> int | None:
        if self._each is None:
            return None
        return _left(await self._engine.queries.spent(user, self._engine.clock.now() - DAY), self._each)

    async def _left_of_strangers(self, user: UserId) -> int | None:
        """Whoever is somebody new with every page they open is bounded by this alone."""
        if self._strangers is None or not user.startswith(STRANGER):
            return None
        now = self._engine.clock.now()
        if self._looked is None or now - self._looked[0] > LOOK_SECONDS:
            spent = await self._engine.queries.spent(UserId(STRANGER), now - DAY, is_prefix=True)
            self._looked = (now, spent)
        return _left(self._looked[1], self._strangers)


def _left(spent: int, of: int) -> int:
    if spent >= of:
        message = f"the tokens of a day are spent: {spent} of {of}"
        raise HttpError(429, "budget", message, headers={"retry-after": "3600"})
    return of - spent
