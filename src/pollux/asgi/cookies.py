"""A browser's session: a sealed cookie that scripts cannot read and other sites cannot send.

Nothing is kept about it here: the seal says who and until when, so that any process with the key can tell.
"""

import hashlib
import hmac
import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable
from typing import Any

import msgspec
from starlette.datastructures import Headers

from pollux.core.frozen import frozen
from pollux.core.ids import Instant, UserId

SESSION_COOKIE = "pollux_session"
CSRF_HEADER = "x-pollux-csrf"
SESSION_SECONDS = 12 * 3600.0


def cookie_in(headers: Headers, name: str) -> str:
    """The value of a cookie; empty where there is none. Cookies know no ports: those of every other server on this
    machine come along, in whatever form, and must not hide ours. Of several, the last counts."""
    found = ""
    for part in headers.get("cookie", "").split(";"):
        given, _, value = part.strip().partition("=")
        if given == name:
            found = value
    return found


@frozen
class CookieSession:
    """What a sealed cookie says."""

    user: UserId
    mark: str
    expires_at: Instant
    csrf: str


class Cookies:
    """Seals and reads session cookies."""

    def __init__(self, key: bytes, *, now: Callable[[], Instant]) -> None:
        self._key = hashlib.blake2b(key, digest_size=32, person=b"pollux.cookie").digest()
        self._now = now

    def sealed(self, user: UserId, mark: str, *, until: Instant | None = None) -> tuple[str, CookieSession]:
        """A cookie's value, and the session that it stands for."""
        expires_at = self._now() + SESSION_SECONDS
        if until is not None:
            expires_at = min(expires_at, until)
        facts = {"u": user, "m": mark, "e": expires_at, "n": secrets.token_hex(8)}
        body = urlsafe_b64encode(msgspec.json.encode(facts)).decode().rstrip("=")
        value = f"{body}.{self._seal('session', body)}"
        return value, CookieSession(user, mark, expires_at, self._seal("csrf", body))

    def read(self, value: str) -> CookieSession | None:
        """The session of a cookie that is ours and has not expired."""
        body, dot, seal = value.partition(".")
        if not dot or not value.isascii() or not hmac.compare_digest(seal, self._seal("session", body)):
            return None
        facts: Any = msgspec.json.decode(urlsafe_b64decode(body + "=" * (-len(body) % 4)))
        if facts["e"] <= self._now():
            return None
        return CookieSession(UserId(facts["u"]), facts["m"], facts["e"], self._seal("csrf", body))

    def header(self, value: str, *, seconds: float, secure: bool) -> str:
        """The Set-Cookie header that carries it; without a value, the one that takes it away."""
        parts = [f"{SESSION_COOKIE}={value}", "Path=/", "HttpOnly", "SameSite=Strict"]
        parts.append(f"Max-Age={max(0, int(seconds)) if value else 0}")
        return "; ".join([*parts, "Secure"] if secure else parts)

    def _seal(self, purpose: str, body: str) -> str:
        return hmac.new(self._key, f"{purpose}.{body}".encode(), hashlib.sha256).hexdigest()
