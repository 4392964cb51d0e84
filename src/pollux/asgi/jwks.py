"""The issuer's public keys: kept for a while, asked for again when a token names one that we do not know.

A key says by itself which one algorithm it is good for; no token has a say in that. Keys that are secret, weak or meant
for something else are passed over. While the issuer cannot be reached, the keys that it last published stay good.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

from pollux.asgi.bodies import parsed
from pollux.asgi.errors import Unavailable
from pollux.asgi.jwks_source import Source, Unreadable
from pollux.core.errors import ValidationError
from pollux.core.ids import Instant
from pollux.engine.logs import log_of

if TYPE_CHECKING:
    from jwt import PyJWK

logger = log_of(__name__)

FRESH_SECONDS = 600.0
"""How long keys are kept, where nothing else is set: so long a key counts that the issuer has removed."""
AGAIN_SECONDS = 60.0
"""The same: how soon keys are read again because a token names one that is not there, or the last reading failed."""

SOON_SECONDS = 5.0
"""The same while we have no key at all: nobody can be let in until the issuer answers."""

LOAD_SECONDS = 5.0
SMALLEST_RSA, LARGEST_RSA = 2048, 8192
"""Below, the key can be broken; above, each token costs more than the door should spend on a stranger."""

_SECRET = frozenset({"d", "p", "q", "dp", "dq", "qi", "oth", "k", "priv"})


class AuthUnavailable(Unavailable):
    """No key to verify with can be had now. The caller may well be who they say: they should come again."""

    code = "auth_unavailable"


class Jwks:
    """The keys of one issuer, read by one flight at a time."""

    def __init__(
        self,
        source: Source,
        *,
        now: Callable[[], Instant],
        fresh: float = FRESH_SECONDS,
        again: float = AGAIN_SECONDS,
    ) -> None:
        self._source = source
        self._now = now
        self._fresh = fresh
        # Keys that are too old are read again, however seldom a name may make us.
        self._again = min(again, fresh)
        self._keys: tuple[PyJWK, ...] = ()
        self._read_at: Instant | None = None
        self._tried_at: Instant | None = None
        self._flight: asyncio.Task[None] | None = None

    async def candidates(self, kid: str | None, algorithm: str) -> "Sequence[PyJWK]":
        """The keys that a token with this header may be signed by, all of them bound to that algorithm.

        Raises AuthUnavailable when there is no key at all to hold a token against.
        """
        is_fresh = bool(self._keys) and self._is_within(self._fresh, self._read_at)
        if not is_fresh or (kid is not None and not self._named(kid)):
            await self._refresh()
        if not self._keys:
            raise AuthUnavailable("the keys that tokens are verified with cannot be had just now. Try again soon")
        # Without a name, a key is meant only where there is no other.
        named = self._keys if kid is None and len(self._keys) == 1 else self._named(kid)
        return [key for key in named if key.algorithm_name == algorithm]

    async def close(self) -> None:
        """Stop a reading that is under way."""
        if self._flight is not None:
            self._flight.cancel()
            await asyncio.wait([self._flight])

    def _named(self, kid: str | None) -> "Sequence[PyJWK]":
        return [key for key in self._keys if kid is not None and key.key_id == kid]

    def _is_within(self, seconds: float, since: Instant | None) -> bool:
        # A clock that was set back says nothing: what seems to come from the future is taken as long ago.
        return since is not None and 0 <= self._now() - since < seconds

    async def _refresh(self) -> None:
        """Read the keys again, or wait for whoever is at it; do nothing when that was tried a moment ago."""
        if self._flight is None or self._flight.done():
            if self._is_within(self._again if self._keys else min(self._again, SOON_SECONDS), self._tried_at):
                return
            self._flight = asyncio.create_task(self._load())
        # Waited for without being owned: a caller who goes away must not end it for the others.
        await asyncio.wait([self._flight])

    async def _load(self) -> None:
        try:
            async with asyncio.timeout(LOAD_SECONDS):
                body = await self._source()
            self._keys = keys_in(body)
            self._read_at = self._now()
            if not self._keys:
                logger.warning("the issuer's key set holds no key that can be used")
        except TimeoutError:
            logger.warning("the issuer's keys were not there within %g s", LOAD_SECONDS)
        except Unreadable as problem:
            logger.warning("the issuer's keys cannot be read: %s", problem)
        except Exception:
            logger.exception("reading the issuer's keys failed")
        finally:
            self._flight = None
            self._tried_at = self._now()


def keys_in(body: bytes) -> "tuple[PyJWK, ...]":
    """The keys of a set that we verify with. Raises Unreadable when it is no key set."""
    try:
        document = parsed(body)
    except ValidationError:
        raise Unreadable("the key set is not clean JSON") from None
    members = cast("dict[str, Any]", document).get("keys") if isinstance(document, dict) else None
    if not isinstance(members, list):
        raise Unreadable("the key set is no JSON object with a list of keys")
    found = [_key(member) for member in cast("list[object]", members)]
    return tuple(key for key in found if key is not None)


def _key(member: object) -> "PyJWK | None":
    """The key, bound to the one algorithm that it is good for; None where it is good for none of ours."""
    match member:
        case {"kty": "RSA", "n": str(), "e": str()}:
            algorithms = ("RS256", "PS256")
        case {"kty": "EC", "crv": "P-256", "x": str(), "y": str()}:
            algorithms = ("ES256",)
        case {"kty": "OKP", "crv": "Ed25519", "x": str()}:
            algorithms = ("EdDSA",)
        case _:
            return None
    key = cast("dict[str, Any]", member)
    # An RSA key that says nothing of itself is for RS256, as every issuer that leaves it out means it.
    algorithm = key.get("alg", algorithms[0])
    if algorithm not in algorithms or not _is_for_signatures(key):
        return None
    if _SECRET & key.keys():
        logger.warning("a key of the issuer is passed over: its private part is in the key set, so anybody may sign")
        return None
    return _made(key, algorithm)


def _is_for_signatures(key: dict[str, Any]) -> bool:
    operations = key.get("key_ops", ["verify"])
    is_for_verifying = isinstance(operations, list) and "verify" in operations
    return key.get("use", "sig") == "sig" and is_for_verifying and isinstance(key.get("kid", ""), str)


def _made(key: dict[str, Any], algorithm: str) -> "PyJWK | None":
    from cryptography.exceptions import UnsupportedAlgorithm
    from jwt import PyJWK, PyJWTError

    try:
        made = PyJWK(key, algorithm)
    except (PyJWTError, UnsupportedAlgorithm, ValueError):
        return None
    if key["kty"] == "RSA" and not SMALLEST_RSA <= made.key.key_size <= LARGEST_RSA:
        return None
    return made
