"""Who a JSON Web Token speaks for. A token is refused unless every part of it is what an honest issuer would send.

Its form is judged before any key is looked for, its signature before any claim is believed. The algorithm is the key's
own; headers that bring keys, name places or change the rules are refused rather than ignored.
"""

import hashlib
import re
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as Base64Error
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, cast
from unicodedata import is_normalized

from pollux.asgi.bodies import parsed
from pollux.asgi.jwks import AGAIN_SECONDS, FRESH_SECONDS, Jwks
from pollux.asgi.jwks_source import source_of
from pollux.asgi.visits import STRANGER
from pollux.config import ConfigError
from pollux.core.errors import AuthError, ValidationError
from pollux.core.frozen import frozen
from pollux.core.ids import Instant, UserId

ALGORITHMS = frozenset({"RS256", "PS256", "ES256", "EdDSA"})
"""All of them asymmetric: what verifies a token can never make one."""

LARGEST_TOKEN = 8 * 1024
LONGEST_SUBJECT = 255
LEEWAY_SECONDS = 30.0
LATEST: Instant = 253_402_300_799
"""The end of the year 9999. A later time is a mistake, most often milliseconds."""

RESERVED = frozenset({"local"})
"""Who works at this machine itself. No issuer can make somebody that."""

_FORM = re.compile(r"([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)")
_TYPES = frozenset({"jwt", "at+jwt", "application/jwt", "application/at+jwt"})
_REFUSED_HEADERS = frozenset({"crit", "b64", "zip", "enc", "cty", "jku", "jwk", "x5u", "x5c"})


@frozen
class Claims:
    """What a verified token says that we act on."""

    user: UserId
    expires_at: Instant


class JwtVerifier:
    """Verifies the tokens of one issuer, made for one audience, with the keys that the issuer publishes.

    The user is the token's subject as it stands: the operator chose the issuer and trusts it to name people, and a
    person may hold a named token and a JWT at once and be the same user. Only `local`, the user of this machine's own
    command line, is never anybody else's name.
    """

    def __init__(
        self,
        *,
        issuer: str,
        audience: str,
        jwks: str | None,
        now: Callable[[], Instant] = time.time,
        keys_seconds: float = FRESH_SECONDS,
        unknown_key_seconds: float = AGAIN_SECONDS,
    ) -> None:
        """`jwks` is a path or an address. Keys are kept for `keys_seconds`, and read again for one that is unknown at
        most every `unknown_key_seconds`. Raises ConfigError for what cannot be used, or without PyJWT."""
        if not issuer or not audience:
            raise ConfigError("an issuer and an audience are needed. Set POLLUX_OIDC_ISSUER and POLLUX_OIDC_AUDIENCE")
        # PyJWT can do without cryptography, and then knows only algorithms that we refuse.
        if find_spec("jwt") is None or find_spec("cryptography") is None:
            raise ConfigError("verifying JWTs needs PyJWT and cryptography. Install pollux[oidc]")
        from jwt import PyJWS

        self.mark = hashlib.sha256(f"jwt\n{issuer}\n{audience}".encode()).hexdigest()[:16]
        """Which issuer and audience these are: a session that one opened is nothing to another."""
        self._issuer = issuer
        self._audience = audience
        self._now = now
        self._jws = PyJWS(algorithms=sorted(ALGORITHMS))
        source = source_of(issuer=issuer, jwks=jwks)
        self._jwks = Jwks(source, now=now, fresh=keys_seconds, again=unknown_key_seconds)

    async def verify(self, token: str) -> Claims:
        """Who the token speaks for, and until when.

        Raises AuthError when it is not to be believed, AuthUnavailable when there are no keys to tell by.
        """
        algorithm, kid = _header(token)
        for key in await self._jwks.candidates(kid, algorithm):
            payload = self._signed_payload(token, key)
            if payload is not None:
                return self._claims(_object(payload, "its claims are"))
        raise _refusal("no key of the issuer verifies it")

    async def close(self) -> None:
        """Stop what is under way."""
        await self._jwks.close()

    def _signed_payload(self, token: str, key: Any) -> bytes | None:
        from jwt import PyJWTError

        try:
            return self._jws.decode_complete(token, key, algorithms=[key.algorithm_name])["payload"]
        except PyJWTError:
            return None

    def _claims(self, claims: dict[str, Any]) -> Claims:
        if claims.get("iss") != self._issuer:
            raise _refusal("it is not from the issuer that is trusted here")
        if self._audience not in _audiences(claims):
            raise _refusal("it was made for another audience")
        now = self._now()
        expires_at = _instant(claims, "exp")
        if expires_at is None:
            raise _refusal("it never expires; exp is needed")
        if now >= expires_at + LEEWAY_SECONDS:
            raise _refusal("it has expired")
        for name in ("nbf", "iat"):
            since = _instant(claims, name)
            if since is not None and since > now + LEEWAY_SECONDS:
                raise _refusal(f"it is not valid yet; {name} is in the future")
        return Claims(_user(claims.get("sub")), expires_at)


def _header(token: str) -> tuple[str, str | None]:
    """The algorithm and the key that the token names, once its form is sound. Neither is believed yet."""
    if len(token) > LARGEST_TOKEN:
        raise _refusal(f"it is longer than {LARGEST_TOKEN} characters")
    form = _FORM.fullmatch(token)
    if form is None:
        raise _refusal("it should be three parts in base64url, joined by dots, and signed")
    header, _, _ = [_decoded(part) for part in form.groups()]
    fields = _object(header, "its header is")
    if _REFUSED_HEADERS & fields.keys():
        raise _refusal("its header asks for what is not supported here, or brings a key of its own")
    kind, algorithm, kid = fields.get("typ", "JWT"), fields.get("alg"), fields.get("kid")
    # A signature over something else, such as a notice of logging out, is no proof of identity.
    if not isinstance(kind, str) or kind.lower() not in _TYPES:
        raise _refusal("its type is not JWT")
    if not isinstance(algorithm, str) or algorithm not in ALGORITHMS:
        raise _refusal(f"its algorithm should be one of {', '.join(sorted(ALGORITHMS))}")
    if "kid" in fields and not isinstance(kid, str):
        raise _refusal("the name of its key is not text")
    return algorithm, kid


def _decoded(part: str) -> bytes:
    """The bytes of one part. Of several ways to write them, only the one that an encoder writes is taken."""
    try:
        content = urlsafe_b64decode(part + "=" * (-len(part) % 4))
    except Base64Error:
        raise _refusal("a part of it is not base64url") from None
    if urlsafe_b64encode(content).rstrip(b"=") != part.encode():
        raise _refusal("a part of it is not base64url as encoders write it")
    return content


def _object(content: bytes, what: str) -> dict[str, Any]:
    try:
        value = parsed(content)
    except ValidationError:
        raise _refusal(f"{what} not clean JSON") from None
    if not isinstance(value, dict):
        raise _refusal(f"{what} not a JSON object")
    return cast("dict[str, Any]", value)


def _audiences(claims: dict[str, Any]) -> list[object]:
    named = claims.get("aud")
    several: list[object] = cast("list[object]", named) if isinstance(named, list) else [named]
    if not all(isinstance(one, str) for one in several):
        raise _refusal("its audience should be a text, or a list of them")
    return several


def _instant(claims: dict[str, Any], name: str) -> Instant | None:
    if name not in claims:
        return None
    value = claims[name]
    # True is a number in Python, and not in JSON. NaN fits between no bounds.
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= LATEST:
        raise _refusal(f"{name} is no time in seconds")
    return float(value)


def _user(subject: object) -> UserId:
    if not isinstance(subject, str) or not 1 <= len(subject) <= LONGEST_SUBJECT:
        raise _refusal(f"its subject should be a text of 1 to {LONGEST_SUBJECT} characters")
    # Two subjects that nobody can tell apart would be two users in one name.
    if not subject.isprintable() or subject != subject.strip() or not is_normalized("NFC", subject):
        raise _refusal("its subject holds characters that cannot be seen, or more than one way to write them")
    if subject in RESERVED or subject.startswith(STRANGER):
        raise _refusal("its subject is a name that is kept for this machine's own user, or for visitors of pages")
    return UserId(subject)


def _refusal(why: str) -> AuthError:
    """What is refused, in words that hold nothing of the token."""
    return AuthError(f"the token is not accepted: {why}")
