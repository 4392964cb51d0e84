"""Anthropic's error answers: `{"type": "error", "error": {"type", "message"}, "request_id"}`."""

from dataclasses import dataclass, field
from typing import Any

_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
    503: "overloaded_error",
    504: "timeout_error",
}


@dataclass(eq=False)
class Refusal(Exception):
    """A request the service would not serve."""

    status: int
    message: str
    details: dict[str, Any] | None = None
    headers: dict[str, str] = field(default_factory=dict[str, str])

    def body(self, request_id: str) -> dict[str, Any]:
        """The error as it goes over the wire."""
        error: dict[str, Any] = {"type": _TYPES.get(self.status, "api_error"), "message": self.message}
        if self.details is not None:
            error["details"] = self.details
        return {"type": "error", "error": error, "request_id": request_id}


def bad_request(message: str) -> Refusal:
    """A body that does not fit."""
    return Refusal(400, message)


def missing_key() -> Refusal:
    """Neither of the headers that may carry a key."""
    return Refusal(401, "x-api-key header is required")


def invalid_key() -> Refusal:
    """A key the service does not know."""
    return Refusal(401, "invalid x-api-key")


def unknown_model(model: str) -> Refusal:
    """A model that does not exist."""
    return Refusal(404, f"model: {model}")


def scripted(status: int, *, retry: str | None = None, per_day: bool = False) -> Refusal:
    """The everyday text of a status, for faults."""
    match status:
        case 401:
            return invalid_key()
        case 429 if per_day:
            message = "You have reached your monthly spend limit."
            return Refusal(429, message, {"error_code": "enforced_spend_limit_reached"})
        case 429:
            headers = {"retry-after": retry} if retry is not None else {}
            return Refusal(429, "This request would exceed your organization's rate limit.", headers=headers)
        case 503:
            return Refusal(503, "Overloaded")
        case 500 | 502 | 504:
            return Refusal(status, "Internal server error")
        case _:
            return Refusal(status, f"The emulator was asked for status {status}.")
