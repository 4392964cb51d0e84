"""Refusals of OpenAI-compatible services as ModelErrors. Servers word them differently; each gets a kind."""

from typing import Any, cast

from pollux.core.errors import ModelError, ModelErrorKind
from pollux.core.messages import JSON
from pollux.core.redact import Secret
from pollux.engine.model import ModelRequest
from pollux.providers.refusals import NEVER, kind_of, refusal
from pollux.providers.wording import shown

_KINDS: dict[str, ModelErrorKind] = {
    "invalid_api_key": "auth",
    "authentication_error": "auth",
    "model_not_found": "not_found",
    "rate_limit_exceeded": "rate_limit",
    "insufficient_quota": "rate_limit",
    "overloaded_error": "overloaded",
    "invalid_request_error": "bad_request",
    "server_error": "server",
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

    return refusal("the model service", status, body, retry_after, error_in=_error_in, reported=read)


def reported(
    error: JSON, *, secrets: tuple[Secret, ...], request: ModelRequest | None = None, status: int = 0
) -> ModelError:
    """The error for an error object. Inside a stream there is no status; its code and type are all there is."""
    fields = cast("dict[str, Any]", error) if isinstance(error, dict) else {"message": str(error)}
    words = shown(str(fields.get("message") or ""), secrets, request)
    said = [str(fields.get(key)) for key in ("code", "type") if fields.get(key)]
    label = shown(said[0], secrets, request) if said else str(status or "with an error")
    text = f"the model service answered {label}" + (f": {words}" if words else "")
    if "insufficient_quota" in said:
        return ModelError(f"{text} (waiting does not help)", kind="rate_limit", retry_after=NEVER)
    return ModelError(text, kind=_kind(status, said))


def _error_in(answer: JSON) -> JSON:
    fields = cast("dict[str, JSON]", answer) if isinstance(answer, dict) else {}
    return fields.get("error") or fields.get("detail") or fields.get("message")


def _kind(status: int, said: list[str]) -> ModelErrorKind:
    if status:
        return kind_of(status)
    for word in said:
        if word in _KINDS:
            return _KINDS[word]
        if word.isdecimal():
            return kind_of(int(word))
    return "server"
