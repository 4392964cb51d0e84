"""Cookies as they travel: which one is ours, and how it is set."""

from typing import Final

from starlette.datastructures import Headers

SESSION_COOKIE: Final = "pollux_session"
SECURE_COOKIE: Final = f"__Host-{SESSION_COOKIE}"
"""Its name where browsers know us by https. No neighbour below the same domain can set a cookie of this name."""
CSRF_HEADER: Final = "x-pollux-csrf"


def cookie_in(headers: Headers, name: str) -> str:
    """The value of a cookie; empty where there is none. Cookies know no ports: those of every other server on this
    machine come along, in whatever form, and must not hide ours. Of several, the last counts."""
    found = ""
    for part in headers.get("cookie", "").split(";"):
        given, _, value = part.strip().partition("=")
        if given == name:
            found = value
    return found


def session_cookie(value: str, *, seconds: float, secure: bool) -> str:
    """The Set-Cookie header that carries a session; without a value, the one that removes it."""
    name = SECURE_COOKIE if secure else SESSION_COOKIE
    parts = [f"{name}={value}", "Path=/", "HttpOnly", "SameSite=Strict"]
    parts.append(f"Max-Age={max(0, int(seconds)) if value else 0}")
    return "; ".join([*parts, "Secure"] if secure else parts)
