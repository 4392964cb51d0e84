"""Who is asking. Identity comes from the credential and from nothing else in the request.

A credential is a bearer token, ours or an issuer's JWT, or the cookie that a browser got for one. A cookie travels by
itself, so what changes anything needs a second proof that no other page can have: the CSRF token in a header.

A visitor's token is a credential too, with few rights. None is ever exchanged for one with more: what opens a session
is an account's own token or JWT (`of_account`), never a visit and never another session.
"""

import hashlib
import hmac
from collections.abc import Iterable
from typing import Literal, Protocol

from starlette.datastructures import Headers

from pollux.asgi.cookies import CSRF_HEADER
from pollux.asgi.errors import Unproven
from pollux.asgi.sessions import OpenSession, Sessions
from pollux.asgi.visits import PREFIX, Visit, VisitExpired, Visits
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

    @property
    def mark(self) -> str:
        """Which issuer and audience it trusts, by a digest: sessions that one opened are nothing to another."""
        ...

    async def verify(self, token: str) -> Claims:
        """Raises AuthError."""
        ...


@frozen
class Identity:
    """Who is asking, and how we know."""

    user: UserId
    by: Literal["token", "jwt", "cookie", "visit"]
    mark: str = ""
    """Which credential it was, by a digest that leads nowhere: a session ends when its token is taken away."""
    expires_at: Instant | None = None
    visit: Visit | None = None
    """Of a page's visitor, who may do little."""
    session: OpenSession | None = None
    """Of a browser that sent its cookie."""


class Authority:
    """Knows the credentials that count here. `own` is this machine's token, which only its owner can read."""

    def __init__(
        self,
        tokens: Iterable[tuple[UserId, Secret]],
        *,
        sessions: Sessions,
        jwt: Verifier | None = None,
        visits: Visits | None = None,
        own: Secret | None = None,
    ) -> None:
        # By digest: how long a look-up takes says nothing about the token.
        self._users = {_digest(token.reveal()): user for user, token in tokens}
        self._marks = {_mark(digest): user for digest, user in self._users.items()}
        self._own = _mark(_digest(own.reveal())) if own else None
        self._jwt = jwt
        self.sessions = sessions
        self.visits = visits

    async def identify(self, headers: Headers, method: str) -> Identity:
        """Who sent this. Raises AuthError, or StoreError where no session can be looked up."""
        given = headers.getlist("authorization")
        if len(given) > 1:
            raise AuthError("give one Authorization header, not several")
        if given:
            scheme, _, token = given[0].partition(" ")
            if scheme.lower() != "bearer" or not token.strip():
                raise AuthError("expected `Authorization: Bearer TOKEN`")
            return await self._of_bearer(token.strip())
        session = await self.session_of(headers)
        if session is None:
            raise AuthError("no credential. Send `Authorization: Bearer TOKEN`, or sign in with a browser")
        if method not in SAFE_METHODS and not _is_same(headers.get(CSRF_HEADER, ""), session.csrf):
            message = f"a request by cookie needs the header {CSRF_HEADER}; GET /api/session returns its value"
            raise Unproven(message)
        record = session.record
        return Identity(record.user, "cookie", record.mark, record.expires_at, session=session)

    async def of_account(self, token: str) -> Identity:
        """Which account a token of ours, or a JWT, belongs to. Raises AuthError for everything else."""
        if len(token) > LONGEST_CREDENTIAL:
            raise AuthError("the credential is too long")
        digest = _digest(token)
        user = self._users.get(digest)
        if user is not None:
            return Identity(user, "token", _mark(digest))
        if token.startswith(PREFIX):
            raise AuthError("a visitor's token is good for the page's own routes alone. It signs in to nothing else")
        if self._jwt is None or token.count(".") != 2:
            raise AuthError("the credential is not valid here")
        claims = await self._jwt.verify(token)
        return Identity(claims.user, "jwt", self._jwt.mark, claims.expires_at)

    async def session_of(self, headers: Headers) -> OpenSession | None:
        """The browser's session, if the credential that opened it still counts. Raises StoreError."""
        session = await self.sessions.read(headers)
        if session is None:
            return None
        record = session.record
        is_trusted = self._jwt is not None and record.mark == self._jwt.mark
        return session if is_trusted or self._marks.get(record.mark) == record.user else None

    async def visit_of(self, token: str) -> Visit:
        """What a visitor's token says. Raises AuthError."""
        if self.visits is None:
            raise AuthError("the credential is not valid here")
        try:
            return self.visits.read(token)
        except VisitExpired as late:
            await self.sessions.note_expiry(late.at)
            raise

    def is_own(self, identity: Identity) -> bool:
        """Whether this is whoever holds this machine's own token."""
        return self._own is not None and identity.by == "token" and identity.mark == self._own

    async def _of_bearer(self, token: str) -> Identity:
        if self.visits is None or not token.startswith(PREFIX) or len(token) > LONGEST_CREDENTIAL:
            return await self.of_account(token)
        visit = await self.visit_of(token)
        return Identity(visit.user, "visit", expires_at=visit.expires_at, visit=visit)


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()


def _mark(digest: str) -> str:
    return hashlib.sha256(b"mark" + digest.encode()).hexdigest()[:16]


def _is_same(given: str, expected: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "replace"), expected.encode())
