"""What the handlers of this door are made of."""

from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from pollux.asgi.auth import Authority
from pollux.asgi.errors import HttpError
from pollux.core.errors import Draining, StoreError
from pollux.core.frozen import frozen
from pollux.core.ids import UserId
from pollux.core.profile import Limits
from pollux.engine.engine import Engine

if TYPE_CHECKING:
    from pollux.tools.google.account import Google

DAY = 24 * 3600.0
E = TypeVar("E", bound=Exception)


@frozen
class Runtime:
    """One server's engine, and what it holds callers to."""

    engine: Engine
    authority: Authority
    secure_cookies: bool = False
    tokens_per_day: int | None = None
    """What one user's runs may spend in a day, all together. None: no bound of that kind."""
    public_url: str | None = None
    """Where browsers know us, if that is not where they reach us."""
    google: "Google | None" = None

    async def limits_for(self, user: UserId, profile: str) -> Limits | None:
        """The profile's limits, none above what is left of the user's day. Raises HttpError where nothing is left."""
        known = self.engine.profiles.get(profile)
        if self.tokens_per_day is None or known is None:
            return None
        spent = await self.engine.queries.spent(user, self.engine.clock.now() - DAY)
        left = self.tokens_per_day - spent
        if left <= 0:
            message = f"the tokens of a day are spent: {spent} of {self.tokens_per_day}"
            raise HttpError(429, "budget", message, headers={"retry-after": "3600"})
        bound = left if known.limits.tokens is None else min(known.limits.tokens, left)
        return replace(known.limits, tokens=bound)


def as_it_is(engine: Engine, problem: E) -> E | Draining:
    """The problem as callers shall hear of it: that a store is closed because we stop is no trouble with the store."""
    if isinstance(problem, StoreError) and engine.is_draining:
        return Draining("this process is stopping; ask another, or try again soon")
    return problem
