"""What Google says when it says no: the JSON of its APIs, and of its OAuth endpoints.

Law: a caller that understands these understands Google's, so each has every field that the real one has.
"""

from typing import Any

from pollux.core.frozen import frozen

STATUSES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    409: "ALREADY_EXISTS",
    413: "INVALID_ARGUMENT",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    502: "UNAVAILABLE",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}
_LOGIN = "See https://developers.google.com/identity/sign-in/web/devconsole-project."
_CREDENTIAL = f"Expected OAuth 2 access token, login cookie or other valid authentication credential. {_LOGIN}"
_REALM = 'Bearer realm="https://accounts.google.com/"'


@frozen
class Said:
    """One refusal: the status, the words, and the fields that programs look at."""

    status: int
    message: str
    reason: str
    short: str = ""
    domain: str = "global"
    place: tuple[str, str] | None = None
    """Location type and location."""
    detail: str = ""
    """The reason of an ErrorInfo, where Google sends one."""
    headers: tuple[tuple[str, str], ...] = ()


class Refusal(Exception):
    """An API call that ends here."""

    def __init__(self, said: Said) -> None:
        super().__init__(said.message)
        self.said = said


class OAuthRefusal(Exception):
    """A token request that ends here."""

    def __init__(self, status: int, error: str, description: str) -> None:
        super().__init__(description)
        self.status, self.error = status, error

    @property
    def body(self) -> dict[str, Any]:
        """As RFC 6749 has it."""
        return {"error": self.error, "error_description": str(self)}


def body(said: Said, *, method: str) -> dict[str, Any]:
    """The JSON of a refusal. Gmail names a status; Calendar, which is older, only does so for what its gate refuses."""
    one: dict[str, Any] = {"message": said.short or said.message, "domain": said.domain, "reason": said.reason}
    if said.place:
        one |= {"locationType": said.place[0], "location": said.place[1]}
    error: dict[str, Any] = {"code": said.status, "message": said.message, "errors": [one]}
    if said.detail or method.startswith("gmail."):
        error["status"] = STATUSES.get(said.status, "UNKNOWN")
    if said.detail:
        service = "gmail.googleapis.com" if method.startswith("gmail.") else "calendar-json.googleapis.com"
        facts = {"service": service, "method": method}
        kind = "type.googleapis.com/google.rpc.ErrorInfo"
        error["details"] = [{"@type": kind, "reason": said.detail, "domain": "googleapis.com", "metadata": facts}]
    return {"error": error}


def invalid(message: str, *, reason: str = "invalidArgument") -> Refusal:
    """400."""
    return Refusal(Said(400, message, reason))


def not_found(message: str = "Requested entity was not found.") -> Refusal:
    """404."""
    return Refusal(Said(404, message, "notFound"))


def bad_token(*, missing: bool = False) -> Said:
    """401: no token, or one that is unknown, expired or revoked."""
    header = (("WWW-Authenticate", _REALM if missing else f'{_REALM}, error="invalid_token"'),)
    place = ("header", "Authorization")
    if missing:
        message = f"Request is missing required authentication credential. {_CREDENTIAL}"
        return Said(401, message, "required", "Login Required.", "global", place, "CREDENTIALS_MISSING", header)
    message = f"Request had invalid authentication credentials. {_CREDENTIAL}"
    return Said(401, message, "authError", "Invalid Credentials", "global", place, "", header)


def missing_scope(scopes: tuple[str, ...]) -> Said:
    """403: the token was not given what this call needs."""
    header = (("WWW-Authenticate", f'{_REALM}, error="insufficient_scope", scope="{" ".join(scopes)}"'),)
    message = "Request had insufficient authentication scopes."
    detail = "ACCESS_TOKEN_SCOPE_INSUFFICIENT"
    return Said(403, message, "insufficientPermissions", "Insufficient Permission", "global", None, detail, header)


def of_fault(kind: str, *, scopes: tuple[str, ...], retry: int) -> Said:
    """What a fault that is a status says."""
    headers = (("Retry-After", str(retry)),) if retry else ()
    match kind:
        case "400":
            return Said(400, "Precondition check failed.", "failedPrecondition")
        case "401":
            return bad_token()
        case "403":
            return missing_scope(scopes)
        case "403-rate":
            message = "User Rate Limit Exceeded"
            return Said(403, message, "userRateLimitExceeded", domain="usageLimits", headers=headers)
        case "429":
            message = "Too many concurrent requests for user."
            return Said(429, message, "rateLimitExceeded", domain="usageLimits", headers=headers)
        case "500":
            return Said(500, "Internal error encountered.", "backendError", "Backend Error", headers=headers)
        case "404":
            return Said(404, "Requested entity was not found.", "notFound")
        case _:
            return Said(int(kind), "The service is currently unavailable.", "backendError", headers=headers)
