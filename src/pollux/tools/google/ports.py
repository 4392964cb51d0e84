"""What Google's tools need of the world: a way to ask over HTTP, access tokens, and a place for sealed bytes."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from pollux.core.ids import UserId
from pollux.core.redact import Secret
from pollux.engine.ports import AuditFact


class Response(Protocol):
    """An answer whose head has arrived."""

    @property
    def status(self) -> int: ...

    @property
    def headers(self) -> Mapping[str, str]:
        """By any case of the name."""
        ...

    async def read_all(self, limit: int = ...) -> bytes:
        """The whole body. Raises ModelError, also when it is larger than `limit`."""
        ...


class Http(Protocol):
    """Sends one request, and raises ModelError of kind `connection`, `timeout` or `protocol` where none answers."""

    def post(
        self, url: str, headers: Mapping[str, str], body: bytes, *, idle: float, total: float
    ) -> AbstractAsyncContextManager[Response]: ...

    def get(
        self, url: str, headers: Mapping[str, str], *, idle: float, total: float
    ) -> AbstractAsyncContextManager[Response]: ...


class Tokens(Protocol):
    """Access to one user's Google account."""

    async def token(self, user: UserId, scopes: frozenset[str], *, account: str | None = None) -> Secret:
        """An access token that has these scopes, of this account if one is named.

        Raises AuthError, with where to connect, if there is none.
        """
        ...

    async def renewed(
        self, user: UserId, scopes: frozenset[str], stale: Secret, *, account: str | None = None
    ) -> Secret:
        """A newer one than this, which Google has refused. Raises AuthError if there is none to be had."""
        ...

    def refusal(self, scopes: frozenset[str]) -> Exception:
        """The AuthError for a token that Google says lacks these scopes."""
        ...


class Secrets(Protocol):
    """Sealed bytes by owner and name. Whoever keeps them cannot read them."""

    async def secret(self, user: UserId, name: str) -> bytes | None: ...

    async def keep_secret(self, user: UserId, name: str, sealed: bytes, *, fact: AuditFact | None = None) -> None:
        """Keep it, in one step with the line of the audit that tells of it."""
        ...

    async def drop_secret(self, user: UserId, name: str, *, fact: AuditFact | None = None) -> None: ...

    async def secrets(self, name: str) -> Sequence[tuple[UserId, bytes]]:
        """Everybody's of this name: what a change of keys has to seal anew."""
        ...
