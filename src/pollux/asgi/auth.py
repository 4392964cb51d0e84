"""Who is asking. Identity comes from the credential and from nothing else in the request.

A credential is a bearer token, ours or an issuer's JWT, or the cookie that a browser got for one. A cookie travels by
itself, so what changes anything needs a second proof that no other page can have: the CSRF token in a header.
"""

import hashlib
import hmac
from collections.abc import Iterable
from typing import Literal, Protocol

from starlette.datastructures import Headers

from pollux.asgi.cookies import CSRF_HEADER, SESSION_COOKIE, Cookies, CookieSession, cookie_in
from pollux.asgi.visits import PREFIX, Visit, Visits
from pollux.core.errors import AuthError
from pollux.core.frozen import frozen
from pollux.core.ids import Instant, UserId
from pollux.core.redact import Secret

LONGEST_CREDENTIAL = 8192
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


class Claims(Protocol):
    """What a verified JWT says."""

    @property
    def user(self) -> UserId: ...

    @property
    def expires_at(self) -> Instant: ...


class Verifier(Protocol):
    """Checks an issuer's tokens."""

    async def verify(self, token: str) -> Claims:
        """Raises AuthError."""
        ...


@frozen
class Identity:
    """Who is asking, and how we know."""

    user: UserId
    by: Literal["token", "jwt", "cookie", "visit"]
    mark: str = ""
    """Which token it was, by a digest that leads nowhere: a session ends when its token is taken away."""
    expires_at: Instant | None = None
    visit: Visit | None = None
    """Of a page's visitor, who may do little."""


class Authority:
    """Knows the credentials that count here."""

    def __init__(
        self,
        tokens: Iterable[tuple[UserId, Secret]],
        *,
        cookies: Cookies,
        jwt: Verifier | None = None,
        visits: Visits | None = None,
    ) -> None:
        # By digest: how long a look-up takes says nothing about the token.
        self._users = {_digest(token.reveal()): user for user, token in tokens}
        self._marks = {_mark(digest): user for digest, user in self._users.items()}
        self._jwt = jwt
        self.cookies = cookies
        self.visits = visits

    async def identify(self, headers: Headers, method: str) -> Identity:
        """Who sent this. Raises AuthError."""
        given = headers.getlist("authorization")
        if len(given) > 1:
            raise AuthError("give one Authorization header, not several")
        if given:
            scheme, _, token = given[0].partition(" ")
            if scheme.lower() != "bearer" or not token.strip():
                raise AuthError("expected `Authorization: Bearer TOKEN`")
            return await self.of_token(token.strip())
        session = self._session(headers)
        if session is None:
            raise AuthError("no credential. Send `Authorization: Bearer TOKEN`, or sign in with a browser")
        if method not in SAFE_METHODS and not _is_same(headers.get(CSRF_HEADER, ""), session.csrf):
            raise AuthError(f"a request by cookie needs the header {CSRF_HEADER}; GET /api/session tells its value")
        return Identity(session.user, "cookie", session.mark, session.expires_at)

    async def of_token(self, token: str) -> Identity:
        """Whose token this is. Raises AuthError."""
        if len(token) > LONGEST_CREDENTIAL:
            raise AuthError("the credential is too long")
        digest = _digest(token)
        user = self._users.get(digest)
        if user is not None:
            return Identity(user, "token", _mark(digest))
        if self.visits is not None and token.startswith(PREFIX):
            visit = self.visits.read(token)
            return Identity(visit.user, "visit", expires_at=visit.expires_at, visit=visit)
        if self._jwt is None or token.count(".") != 2:
            raise AuthError("the credential is not valid here")
        claims = await self._jwt.verify(token)
        return Identity(claims.user, "jwt", "", claims.expires_at)

    def session_of(self, headers: Headers) -> CookieSession:
        """The browser session of this request. Raises AuthError."""
        session = self._session(headers)
        if session is None:
            raise AuthError("there is no session. Sign in first")
        return session

    def _session(self, headers: Headers) -> CookieSession | None:
        session = self.cookies.read(cookie_in(headers, SESSION_COOKIE))
        if session is None:
            return None
        counts = self._marks.get(session.mark) == session.user if session.mark else self._jwt is not None
        return session if counts else None


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()


def _mark(digest: str) -> str:
    return hashlib.sha256(b"mark" + digest.encode()).hexdigest()[:16]


def _is_same(given: str, expected: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "replace"), expected.encode())
