"""Anthropic's refusals as ModelErrors. The same error object comes with a status, or as an event of a stream."""

from typing import Any, Final, cast

from pollux.core.errors import ModelError
from pollux.core.messages import JSON
from pollux.core.redact import Secret
from pollux.engine.model import ModelRequest
from pollux.providers.refusals import NEVER, kind_of, refusal
from pollux.providers.wording import shown

_STATUSES: Final = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}
_SPENT: Final = "enforced_spend_limit_reached"


def refused(
    status: int,
    body: bytes,
    *,
    secrets: tuple[Secret, ...],
    request: ModelRequest | None = None,
    retry_after: str | None = None,
    request_id: str | None = None,
) -> ModelError:
    """The error for an answer that is not 200, whatever its body. `request_id` is what their support asks for."""

    def read(error: JSON) -> ModelError:
        return reported(error, secrets=secrets, request=request, status=status, request_id=request_id)

    return refusal("Anthropic", status, body, retry_after, error_in=_error_in, reported=read)


def reported(
    error: JSON,
    *,
    secrets: tuple[Secret, ...],
    request: ModelRequest | None = None,
    status: int = 0,
    request_id: str | None = None,
) -> ModelError:
    """The error for an error object. Inside a stream there is no status but the one its type stands for."""
    fields = cast("dict[str, Any]", error) if isinstance(error, dict) else {"message": str(error)}
    said = str(fields.get("type") or "")
    kind = kind_of(status or _STATUSES.get(said, 500))
    words = shown(str(fields.get("message") or ""), secrets, request)
    text = f"Anthropic answered {shown(said, secrets, request) or status or 'with an error'}"
    text += f": {words}" if words else ""
    text += f" (request {shown(request_id, secrets, request)})" if request_id else ""
    if _code(fields) == _SPENT:
        return ModelError(f"{text} (waiting does not help)", kind=kind, retry_after=NEVER)
    return ModelError(text, kind=kind)


def _error_in(answer: JSON) -> JSON:
    return cast("dict[str, JSON]", answer).get("error") if isinstance(answer, dict) else None


def _code(fields: dict[str, Any]) -> str:
    details = fields.get("details")
    return str(cast("dict[str, Any]", details).get("error_code")) if isinstance(details, dict) else ""
