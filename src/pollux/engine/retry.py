"""When a failed model call is tried again. Lives once, above the providers; only before the first word of an answer."""

import random

from pollux.core.errors import ModelError
from pollux.core.ids import Instant
from pollux.core.profile import Limits

FIRST_DELAY = 0.5
MOST_DOUBLINGS = 30

_PASSING = frozenset({"rate_limit", "overloaded", "server", "connection", "timeout"})


def retry_at(error: ModelError, *, attempt: int, since: Instant, now: Instant, limits: Limits) -> Instant | None:
    """The moment of the next try, or None when there is to be none."""
    if error.started or error.kind not in _PASSING or attempt >= limits.tries:
        return None
    # The server knows best when it wants to hear from us again; without its word, double the wait each time, up to half
    # of it left to chance: those who failed together do not all come back together.
    delay = error.retry_after
    if delay is None:
        delay = FIRST_DELAY * 2 ** min(attempt - 1, MOST_DOUBLINGS) * random.uniform(0.5, 1)
    moment = now + delay
    return moment if moment - since <= limits.retry_seconds else None
