"""What an HTTP status means for a model call, and the error for an answer that is none, whoever answered."""

import math
from collections.abc import Callable

import msgspec

from pollux.core.errors import ModelError, ModelErrorKind
from pollux.core.messages import JSON
from pollux.providers.unreadable import UNREADABLE

NEVER = math.inf
"""A `retry_after` that says: not by waiting."""

_KINDS: dict[int, ModelErrorKind] = {
    401: "auth",
    402: "auth",
    403: "auth",
    404: "not_found",
    408: "timeout",
    429: "rate_limit",
    503: "overloaded",
    529: "overloaded",
}


def kind_of(status: int) -> ModelErrorKind:
    """The kind of error that a status stands for."""
    if status in _KINDS:
        return _KINDS[status]
    if status >= 500:
        return "server"
    # A redirect, or a success that should have been an answer, comes from something that is no model service.
    return "bad_request" if status >= 400 else "protocol"


def refusal(
    who: str,
    status: int,
    body: bytes,
    retry_after: str | None,
    *,
    error_in: Callable[[JSON], JSON],
    reported: Callable[[JSON], ModelError],
) -> ModelError:
    """The error for an answer that is not 200. `error_in` finds the service's own in its body, `reported` reads it."""
    try:
        answer: JSON = msgspec.json.decode(body)
    except UNREADABLE:
        answer = None
    error = error_in(answer)
    if error is None:
        text = f"{who} answered with HTTP {status} and no readable reason"
        return ModelError(text, kind=kind_of(status), retry_after=seconds(retry_after))
    failure = reported(error)
    if failure.retry_after is None:
        failure.retry_after = seconds(retry_after)
    return failure


def seconds(text: str | None) -> float | None:
    """A delay like "2s", "1.5" or "250ms"; None where it is not one."""
    if not text:
        return None
    text = text.strip()
    scale = 1.0
    if text.endswith("ms"):
        text, scale = text[:-2], 0.001
    try:
        value = float(text.removesuffix("s")) * scale
    except ValueError:
        return None
    return value if 0 <= value < math.inf else None
