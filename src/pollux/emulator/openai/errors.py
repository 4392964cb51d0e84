"""OpenAI's error answers: `{"error": {"message", "type", "param", "code"}}`."""

from dataclasses import dataclass, field
from typing import Any


@dataclass(eq=False)
class Refusal(Exception):
    """A request the service would not serve."""

    status: int
    message: str
    type: str = "invalid_request_error"
    param: str | None = None
    code: str | None = None
    headers: dict[str, str] = field(default_factory=dict[str, str])

    def body(self) -> dict[str, Any]:
        """The error as it goes over the wire."""
        return {"error": {"message": self.message, "type": self.type, "param": self.param, "code": self.code}}


def missing_key() -> Refusal:
    """No bearer token."""
    return Refusal(
        401,
        "You didn't provide an API key. You need to provide your API key in an Authorization header using Bearer auth"
        " (i.e. Authorization: Bearer YOUR_KEY).",
    )


def invalid_key() -> Refusal:
    """A token the service does not know."""
    return Refusal(401, "Incorrect API key provided. Check the key and try again.", code="invalid_api_key")


def unknown_model(model: str) -> Refusal:
    """A model that does not exist."""
    message = f"The model `{model}` does not exist or you do not have access to it."
    return Refusal(404, message, code="model_not_found")


def bad_request(message: str, *, param: str | None = None) -> Refusal:
    """A body that does not fit."""
    return Refusal(400, message, param=param)


def scripted(status: int, *, retry: str | None = None, per_day: bool = False) -> Refusal:
    """The everyday text of a status, for faults."""
    match status:
        case 401:
            return invalid_key()
        case 429:
            headers = {"retry-after": retry} if retry is not None else {}
            if per_day:
                message = "You exceeded your current quota, please check your plan and billing details."
                return Refusal(429, message, "insufficient_quota", code="insufficient_quota", headers=headers)
            message = "Rate limit reached for requests. Please try again later."
            return Refusal(429, message, "requests", code="rate_limit_exceeded", headers=headers)
        case 500 | 502 | 503 | 504:
            return Refusal(
                status, "The server had an error while processing your request. Sorry about that!", "server_error"
            )
        case _:
            return Refusal(status, f"The emulator was asked for status {status}.")
