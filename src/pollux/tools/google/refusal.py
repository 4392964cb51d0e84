"""What Google said, read from its answer: which kind of no it is, and its words without our secrets."""

import json
import re
from collections.abc import Iterable, Mapping
from email.utils import parsedate_to_datetime
from typing import Any, Final, cast

from pollux.core.errors import ToolExecutionError
from pollux.core.frozen import frozen
from pollux.core.redact import Secret, redact

MAX_WORDS: Final = 300
_SCOPE: Final = frozenset({"ACCESS_TOKEN_SCOPE_INSUFFICIENT", "insufficientPermissions", "insufficient_scope"})
_RATE: Final = frozenset({"rateLimitExceeded", "userRateLimitExceeded", "RATE_LIMIT_EXCEEDED"})


class Lost(Exception):
    """No answer that can be relied on: what was asked may have had its effect.

    `ended` says that by now it has, or never will: Google answered with a failure of its own, or the connection broke.
    After a time-out, or where only a gateway spoke, Google may still be at work on it.
    """

    def __init__(self, message: str, *, ended: bool = False) -> None:
        super().__init__(message)
        self.ended = ended


class Refused(Exception):
    """Google understood and said no: what was asked had no effect."""

    def __init__(self, status: int, reason: str, message: str) -> None:
        super().__init__(f"{message} ({status} {reason})" if reason else f"{message} ({status})")
        self.status = status
        self.reason = reason
        self.message = message


class Busy(ToolExecutionError):
    """Google asked us to slow down for longer than a call may wait: what was asked had no effect."""


@frozen
class Words:
    """What an answer of refusal said."""

    message: str
    reasons: tuple[str, ...] = ()

    @property
    def is_about_scopes(self) -> bool:
        return not _SCOPE.isdisjoint(self.reasons)

    @property
    def is_about_rate(self) -> bool:
        return not _RATE.isdisjoint(self.reasons)


def words_of(body: bytes, headers: Mapping[str, str], *, secrets: Iterable[Secret] = ()) -> Words:
    """What a refusal said. Never raises: whatever came is at worst no words at all."""
    try:
        answer: Any = json.loads(body)
    except (ValueError, RecursionError):
        answer = None
    error = _object(_object(answer).get("error"))
    reasons = [str(_object(each).get("reason", "")) for each in (*_list(error, "errors"), *_list(error, "details"))]
    challenge = headers.get("WWW-Authenticate", "")
    if re.search(r'error="?insufficient_scope', challenge):
        reasons.append("insufficient_scope")
    message = " ".join(redact(str(error.get("message", "")), secrets).split())
    shown = "".join(char for char in message if char.isprintable())
    return Words(shown[:MAX_WORDS] or "no reason was given", tuple(reason for reason in reasons if reason))


def wait_asked(headers: Mapping[str, str], now: float) -> float | None:
    """How many seconds Google wants us to wait, if it says so. `now` is the time of day."""
    said = headers.get("Retry-After", "").strip()
    if re.fullmatch(r"[0-9]{1,9}", said):
        return float(said)
    try:
        return max(0.0, parsedate_to_datetime(said).timestamp() - now)
    except (ValueError, OverflowError):
        return None


def _object(value: object) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _list(parent: dict[str, Any], name: str) -> list[Any]:
    found: object = parent.get(name)
    return cast("list[Any]", found) if isinstance(found, list) else []
