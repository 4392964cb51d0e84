"""The cookie by which a visitor of our own pages stays the same: in the chat, and in what the page itself asks for."""

from typing import Final

from starlette.datastructures import Headers

from pollux.asgi.cookies import cookie_in

COOKIE: Final = "pollux_visitor"
SECURE_COOKIE: Final = f"__Host-{COOKIE}"
"""Its name where browsers know us by https. No neighbour below the same domain can set a cookie of this name."""


def token_in(headers: Headers, *, secure: bool) -> str:
    """The visitor's token; empty where there is none."""
    return cookie_in(headers, SECURE_COOKIE if secure else COOKIE)


def cookie_of(token: str, *, secure: bool) -> str:
    """The cookie to set. No script reads it, and no other site sends it along."""
    parts = [f"{SECURE_COOKIE if secure else COOKIE}={token}", "Path=/", "HttpOnly", "SameSite=Lax"]
    return "; ".join([*parts, "Secure"] if secure else parts)
