"""The real service's error answers: `{"error": {"code", "message", "status", "details"}}`, word for word if known."""

from dataclasses import dataclass
from typing import Any

_TYPE = "type.googleapis.com/google.rpc."
_SERVICE = "generativelanguage.googleapis.com"

STATUS_NAMES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    405: "UNIMPLEMENTED",
    429: "RESOURCE_EXHAUSTED",
    499: "CANCELLED",
    500: "INTERNAL",
    502: "UNAVAILABLE",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}


@dataclass(eq=False)
class Refusal(Exception):
    """A request the service would not serve. `details` are google.rpc messages."""

    code: int
    message: str
    details: tuple[dict[str, Any], ...] = ()

    def body(self) -> dict[str, Any]:
        """The error as it goes over the wire."""
        error: dict[str, Any] = {
            "code": self.code,
            "message": self.message,
            "status": STATUS_NAMES.get(self.code, "UNKNOWN"),
        }
        if self.details:
            error["details"] = list(self.details)
        return {"error": error}


def missing_key() -> Refusal:
    """No key at all."""
    return Refusal(
        403,
        "Method doesn't allow unregistered callers (callers without established identity). Please use API Key or other"
        " form of API consumer identity to call this API.",
    )


def invalid_key() -> Refusal:
    """A key the service does not know."""
    message = "API key not valid. Please pass a valid API key."
    info = {
        "@type": _TYPE + "ErrorInfo",
        "reason": "API_KEY_INVALID",
        "domain": "googleapis.com",
        "metadata": {"service": _SERVICE},
    }
    return Refusal(400, message, (info, {"@type": _TYPE + "LocalizedMessage", "locale": "en-US", "message": message}))


def unknown_model(model: str, *, version: str, method: str) -> Refusal:
    """A model that does not exist, or not for this method."""
    return Refusal(
        404,
        f"models/{model} is not found for API version {version}, or is not supported for {method}. Call"
        " ModelService.ListModels to see the list of available models and their supported methods.",
    )


def unknown_vertex_model(resource: str) -> Refusal:
    """The same, as Vertex says it."""
    return Refusal(
        404,
        f"Publisher Model `{resource}` was not found or your project does not have access to it. Please ensure you are"
        " using a valid model version. For more information, see:"
        " https://cloud.google.com/vertex-ai/generative-ai/docs/learn/model-versions",
    )


def bad_fields(violations: list[tuple[str, str]]) -> Refusal:
    """Names or values the request's schema does not have: (path, sentence) each."""
    details = {
        "@type": _TYPE + "BadRequest",
        "fieldViolations": [
            {"field": path, "description": text} if path else {"description": text} for path, text in violations
        ],
    }
    return Refusal(400, "\n".join(text for _, text in violations), (details,))


def bad_request(rules: list[str]) -> Refusal:
    """Rules of the request that were broken, each `path: sentence`, listed as the service lists them."""
    return Refusal(400, "".join(f"* GenerateContentRequest.{rule}\n" for rule in rules))


def quota(model: str, *, retry: str | None, per_day: bool) -> Refusal:
    """429, with what was exceeded and when to come back."""
    period = "PerDay" if per_day else "PerMinute"
    help_link = "https://ai.google.dev/gemini-api/docs/rate-limits"
    violation = {
        "quotaMetric": f"{_SERVICE}/generate_content_free_tier_requests",
        "quotaId": f"GenerateRequests{period}PerProjectPerModel-FreeTier",
        "quotaDimensions": {"location": "global", "model": model},
        "quotaValue": "250" if per_day else "10",
    }
    details: list[dict[str, Any]] = [
        {"@type": _TYPE + "QuotaFailure", "violations": [violation]},
        {
            "@type": _TYPE + "Help",
            "links": [{"description": "Learn more about Gemini API quotas", "url": help_link}],
        },
    ]
    if retry is not None:
        details.append({"@type": _TYPE + "RetryInfo", "retryDelay": f"{retry}s"})
    return Refusal(
        429,
        "You exceeded your current quota, please check your plan and billing details. For more information on this"
        f" error, head to: {help_link}.",
        tuple(details),
    )


def scripted(code: int) -> Refusal:
    """The everyday text of a status, for faults."""
    return Refusal(code, _EVERYDAY.get(code, f"The emulator was asked for status {code}."))


_EVERYDAY = {
    400: "Request contains an invalid argument.",
    401: "Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other valid"
    " authentication credential. See https://developers.google.com/identity/sign-in/web/devconsole-project.",
    403: "The caller does not have permission",
    404: "Requested entity was not found.",
    500: "An internal error has occurred. Please retry or report in https://developers.generativeai.google/guide/troubleshooting",
    503: "The model is overloaded. Please try again later.",
    504: "Deadline expired before operation could complete.",
}
