"""What a user may spend in a day, counted over all doors."""

from dataclasses import replace

from pollux.asgi.errors import HttpError
from pollux.core.ids import UserId
from pollux.core.profile import Limits
from pollux.engine.engine import Engine

DAY = 24 * 3600.0


async def limits_for(engine: Engine, user: UserId, profile: str, *, tokens_per_day: int | None) -> Limits | None:
    """The profile's limits, none above what is left of the user's day. Raises HttpError where nothing is left."""
    known = engine.profiles.get(profile)
    if tokens_per_day is None or known is None:
        return None
    spent = await engine.queries.spent(user, engine.clock.now() - DAY)
    left = tokens_per_day - spent
    if left <= 0:
        message = f"the tokens of a day are spent: {spent} of {tokens_per_day}"
        raise HttpError(429, "budget", message, headers={"retry-after": "3600"})
    bound = left if known.limits.tokens is None else min(known.limits.tokens, left)
    return replace(known.limits, tokens=bound)
