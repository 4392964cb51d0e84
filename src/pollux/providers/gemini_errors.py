"""Gemini's refusals as ModelErrors. The same error object comes with a status, or in the middle of a stream."""

from collections.abc import Iterator, Mapping
from typing import Any, cast

from pollux.core.errors import ModelError, ModelErrorKind
from pollux.core.messages import JSON
from pollux.core.redact import Secret
from pollux.engine.model import ModelRequest
from pollux.providers.refusals import NEVER, kind_of, refusal, seconds
from pollux.providers.wording import shown

_STATUS_CODES = {
    "INVALID_ARGUMENT": 400,
    "FAILED_PRECONDITION": 400,
    "OUT_OF_RANGE": 400,
    "UNAUTHENTICATED": 401,
    "PERMISSION_DENIED": 403,
    "NOT_FOUND": 404,
    "RESOURCE_EXHAUSTED": 429,
    "CANCELLED": 500,
    "UNKNOWN": 500,
    "INTERNAL": 500,
    "UNAVAILABLE": 503,
    "DEADLINE_EXCEEDED": 504,
}


def refused(
    status: int,
    body: bytes,
    *,
    secrets: tuple[Secret, ...],
    request: ModelRequest | None = None,
    retry_after: str | None = None,
) -> ModelError:
    """The error for an answer that is not 200, whatever its body."""

    def read(error: JSON) -> ModelError:
        return reported(error, secrets=secrets, request=request, status=status)

    return refusal("Gemini", status, body, retry_after, error_in=_error_in, reported=read)


def reported(
    error: JSON, *, secrets: tuple[Secret, ...], request: ModelRequest | None = None, status: int = 0
) -> ModelError:
    """The error for an error object. Inside a stream there is no status but the one it names."""
    fields = cast("dict[str, Any]", error) if isinstance(error, dict) else {"message": str(error)}
    code = status or _code(fields)
    details = list(_details(fields))
    kind = _kind(code, details)
    words = shown(str(fields.get("message") or ""), secrets, request)
    text = f"Gemini answered {fields.get('status') or code or 'with an error'}"
    text = f"{text}: {words}" if words else text
    if kind != "rate_limit":
        return ModelError(text, kind=kind)
    if quota := _daily_quota(details):
        text = f"{text} (the quota {quota} is used up for today; waiting does not help)"
        return ModelError(text, kind=kind, retry_after=NEVER)
    return ModelError(text, kind=kind, retry_after=_retry_delay(details))


def _error_in(answer: JSON) -> JSON:
    if isinstance(answer, list) and answer:
        # A stream that was not asked for as events is an array, also when it failed.
        answer = cast("list[JSON]", answer)[0]
    return cast("dict[str, JSON]", answer).get("error") if isinstance(answer, dict) else None


def _code(fields: Mapping[str, Any]) -> int:
    code = fields.get("code")
    if isinstance(code, int) and code:
        return code
    return _STATUS_CODES.get(str(fields.get("status")), 500)


def _kind(code: int, details: list[dict[str, Any]]) -> ModelErrorKind:
    if code == 400 and any(detail.get("reason") == "API_KEY_INVALID" for detail in details):
        return "auth"
    return kind_of(code)


def _details(fields: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    details = fields.get("details")
    for detail in cast("list[Any]", details) if isinstance(details, list) else []:
        if isinstance(detail, dict):
            yield cast("dict[str, Any]", detail)


def _retry_delay(details: list[dict[str, Any]]) -> float | None:
    for detail in details:
        delay = detail.get("retryDelay", detail.get("retry_delay"))
        if isinstance(delay, str) and (waited := seconds(delay)) is not None:
            return waited
    return None


def _daily_quota(details: list[dict[str, Any]]) -> str | None:
    for detail in details:
        violations = detail.get("violations")
        for violation in cast("list[Any]", violations) if isinstance(violations, list) else []:
            quota = cast("dict[str, Any]", violation).get("quotaId") if isinstance(violation, dict) else None
            if isinstance(quota, str) and "PerDay" in quota:
                return quota
    return None
