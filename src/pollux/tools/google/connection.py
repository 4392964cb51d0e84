"""A user's Google account: who it is, what was granted, and the tokens. Kept sealed; never shown.

Stores have no "write if unchanged" for secrets. Writers of one process take turns for each user; between processes the
last one wins, and what can be lost by it mends itself: Google refuses a token that is no longer good, and the next use
renews it or asks the person to connect again.
"""

import asyncio
import logging
from weakref import WeakValueDictionary

import msgspec

from pollux.core.frozen import frozen
from pollux.core.ids import Instant, UserId
from pollux.core.redact import MASK, Secret
from pollux.engine.ports import AuditFact
from pollux.tools.google.ports import Secrets
from pollux.tools.google.seal import Sealer, SealError

logger = logging.getLogger(__name__)

NAME = "google"


@frozen
class Connection:
    """What Google gave us for one user."""

    email: str | None
    scopes: frozenset[str]
    refresh_token: Secret
    access_token: Secret
    expires_at: Instant

    def to_bytes(self) -> bytes:
        """As it is kept, before it is sealed."""
        kept = _Kept(
            email=self.email,
            scopes=sorted(self.scopes),
            refresh_token=self.refresh_token.reveal(),
            access_token=self.access_token.reveal(),
            expires_at=self.expires_at,
        )
        return msgspec.json.encode(kept)

    @classmethod
    def from_bytes(cls, raw: bytes) -> "Connection":
        """What `to_bytes` made. Raises SealError for anything else."""
        try:
            kept = msgspec.json.decode(raw, type=_Kept)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            kept = None
        if kept is None:
            # Outside the handler: the parser's words about the content must not travel with the error.
            raise SealError("the kept Google connection cannot be read by this version. Connect the account again")
        return cls(
            kept.email,
            frozenset(kept.scopes),
            Secret(kept.refresh_token),
            Secret(kept.access_token),
            kept.expires_at,
        )

    def __repr__(self) -> str:
        return f"Connection({MASK})"


class _Kept(msgspec.Struct, kw_only=True):
    email: str | None
    scopes: list[str]
    refresh_token: str
    access_token: str
    expires_at: float


class Connections:
    """Everybody's connection, sealed. For one event loop."""

    def __init__(self, secrets: Secrets, sealer: Sealer) -> None:
        self._secrets = secrets
        self._sealer = sealer
        self._turns: WeakValueDictionary[UserId, asyncio.Lock] = WeakValueDictionary()

    async def get(self, user: UserId) -> Connection | None:
        """The user's connection, if there is one. Raises SealError when it cannot be opened any more."""
        blob = await self._secrets.secret(user, NAME)
        if blob is None:
            return None
        connection = self._opened(user, blob)
        if not self._sealer.is_current(blob):
            await self._reseal(user)
        return connection

    async def put(self, user: UserId, connection: Connection, *, fact: AuditFact | None = None) -> None:
        """Keep it, in place of whatever there was, with what the audit says of it."""
        async with self._turn(user):
            await self._keep(user, connection, fact)

    async def drop(self, user: UserId, *, fact: AuditFact | None = None) -> None:
        """Forget it. Nothing to forget is fine."""
        async with self._turn(user):
            await self._secrets.drop_secret(user, NAME, fact=fact)

    async def follow(self, user: UserId, used: Connection, by: Connection | None) -> Connection | None:
        """Put `by` where `used` was, or drop it; unless somebody has connected anew or gone meanwhile.

        Returns what is kept then. Who renews a token has waited for Google: what they started from may be no more.
        """
        async with self._turn(user):
            blob = await self._secrets.secret(user, NAME)
            kept = self._opened(user, blob) if blob is not None else None
            if kept is None or kept.refresh_token != used.refresh_token:
                return kept
            if by is None:
                await self._secrets.drop_secret(user, NAME)
            else:
                await self._keep(user, by)
            return by

    async def reseal_all(self) -> int:
        """Seal with the first key whatever another one sealed, and say how many there were.

        What no key opens is left as it is, in case the key turns up.
        """
        resealed = unopened = 0
        for user, blob in await self._secrets.secrets(NAME):
            if not self._sealer.is_current(blob):
                try:
                    resealed += await self._reseal(user)
                except SealError:
                    unopened += 1
        if unopened:
            logger.warning("%d Google connections were sealed with a key that is not here", unopened)
        return resealed

    async def _reseal(self, user: UserId) -> bool:
        async with self._turn(user):
            # Read again: it may be another one since.
            blob = await self._secrets.secret(user, NAME)
            if blob is None or self._sealer.is_current(blob):
                return False
            await self._keep(user, self._opened(user, blob))
            return True

    async def _keep(self, user: UserId, connection: Connection, fact: AuditFact | None = None) -> None:
        sealed = self._sealer.sealed(connection.to_bytes(), user=user, name=NAME)
        await self._secrets.keep_secret(user, NAME, sealed, fact=fact)

    def _opened(self, user: UserId, blob: bytes) -> Connection:
        return Connection.from_bytes(self._sealer.opened(blob, user=user, name=NAME))

    def _turn(self, user: UserId) -> asyncio.Lock:
        return self._turns.setdefault(user, asyncio.Lock())
