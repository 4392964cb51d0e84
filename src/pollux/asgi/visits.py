"""A visitor's token: who talks, from which page and to which agent. Any process with the key can read it.

It is given to whoever opens a page, so it opens little: the page's own routes, and what its own runs ask.
"""

import hashlib
import hmac
import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from pollux.core.errors import AuthError
from pollux.core.frozen import frozen
from pollux.core.ids import Instant, UserId
from pollux.core.page import PAGE
from pollux.core.run import Run

PREFIX: Final = "pv1."
VISIT_SECONDS: Final = 12 * 3600.0
STRANGER: Final = "visitor:"
"""How the names of those begin whom nobody knows. No token or issuer names a user so."""


@frozen
class Visit:
    """What a token says."""

    user: UserId
    origin: str
    profile: str
    expires_at: Instant

    def reaches(self, run: Run) -> bool:
        """Whether this page may have a say in a run: one that it began itself, with the same agent."""
        return (run.user, run.door, run.origin, run.profile) == (self.user, PAGE, self.origin, self.profile)


class VisitExpired(AuthError):
    """A token of ours that counted until `at`."""

    def __init__(self, at: Instant) -> None:
        super().__init__("the visitor's token has expired. POST /api/page/session gives a new one")
        self.at = at


class _Facts(msgspec.Struct, array_like=True):
    user: str
    origin: str
    profile: str
    expires_at: float


class Visits:
    """Gives and reads visitors' tokens. The first of the keys seals; all of them open."""

    def __init__(self, keys: Sequence[bytes], *, now: Callable[[], Instant]) -> None:
        self._keys = [hashlib.blake2b(key, digest_size=32, person=b"pollux.visit").digest() for key in keys]
        self._now = now

    def given(
        self, *, origin: str, profile: str, user: UserId | None = None, until: Instant | None = None
    ) -> tuple[str, Visit]:
        """A token, for a user of the site's or for somebody new. It ends with what named the user, at the latest."""
        user = user or UserId(STRANGER + secrets.token_hex(16))
        longest = self._now() + VISIT_SECONDS
        visit = Visit(user, origin, profile, longest if until is None else min(longest, until))
        facts = _Facts(visit.user, visit.origin, visit.profile, visit.expires_at)
        body = urlsafe_b64encode(msgspec.json.encode(facts)).decode().rstrip("=")
        return f"{PREFIX}{body}.{_seal(self._keys[0], body)}", visit

    def read(self, token: str) -> Visit:
        """What a token of ours says. Raises AuthError."""
        body, dot, seal = token.removeprefix(PREFIX).partition(".")
        if not dot or not token.isascii() or not any(hmac.compare_digest(seal, _seal(key, body)) for key in self._keys):
            raise AuthError("the visitor's token is not valid here. POST /api/page/session gives one")
        facts = msgspec.json.decode(urlsafe_b64decode(body + "=" * (-len(body) % 4)), type=_Facts)
        if facts.expires_at <= self._now():
            raise VisitExpired(facts.expires_at)
        return Visit(UserId(facts.user), facts.origin, facts.profile, facts.expires_at)


def _seal(key: bytes, body: str) -> str:
    return hmac.new(key, body.encode(), hashlib.sha256).hexdigest()
