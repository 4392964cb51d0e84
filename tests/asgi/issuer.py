"""An issuer for the tests: real keys, a real server on loopback, and tokens signed without the library under test."""

import base64
import json
import traceback
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import pytest
from aiohttp import web
from cryptography.hazmat.primitives.asymmetric import ec, ed448, ed25519, padding, rsa, x25519
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from pollux.asgi.jwt import Claims, JwtVerifier
from pollux.core.errors import AuthError

NOW = 1_800_000_000.0
AUDIENCE = "pollux-tests"
DISCOVERY = "/.well-known/openid-configuration"
ALGORITHMS = {"rsa": "RS256", "pss": "PS256", "ec": "ES256", "ed": "EdDSA"}


class _Absent:
    def __repr__(self) -> str:
        return "absent"


ABSENT: Any = _Absent()
"""In place of a member that shall not be there."""

Json = dict[str, Any]
Sign = Callable[[bytes], bytes]


def b64(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def number(value: int) -> str:
    return b64(value.to_bytes((value.bit_length() + 7) // 8, "big"))


@cache
def _rsa(name: str, bits: int) -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(65537, bits)


@cache
def _ec(name: str, curve: type[ec.EllipticCurve]) -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(curve())


def rsa_key(name: str, bits: int = 2048) -> rsa.RSAPrivateKey:
    # Apart from the cache, which would make a second key where the default is spelled out.
    return _rsa(name, bits)


def ec_key(name: str, curve: type[ec.EllipticCurve] = ec.SECP256R1) -> ec.EllipticCurvePrivateKey:
    return _ec(name, curve)


@cache
def ed_key(name: str) -> ed25519.Ed25519PrivateKey:
    return ed25519.Ed25519PrivateKey.generate()


# Signers make their keys when they first sign: collecting the tests must not wait for large primes.


def rs256(name: str, bits: int = 2048) -> Sign:
    return lambda message: rsa_key(name, bits).sign(message, padding.PKCS1v15(), SHA256())


def ps256(name: str) -> Sign:
    return lambda message: rsa_key(name).sign(message, padding.PSS(padding.MGF1(SHA256()), 32), SHA256())


def es256(name: str, curve: type[ec.EllipticCurve] = ec.SECP256R1) -> Sign:
    def sign(message: bytes) -> bytes:
        key = ec_key(name, curve)
        size = (key.curve.key_size + 7) // 8
        r, s = decode_dss_signature(key.sign(message, ec.ECDSA(SHA256())))
        return r.to_bytes(size, "big") + s.to_bytes(size, "big")

    return sign


def eddsa(name: str) -> Sign:
    return lambda message: ed_key(name).sign(message)


def signer(by: str) -> Sign:
    return {"rsa": rs256, "pss": ps256, "ec": es256, "ed": eddsa}[by](by)


def public_rsa(key: rsa.RSAPrivateKey) -> Json:
    numbers = key.public_key().public_numbers()
    return {"kty": "RSA", "n": number(numbers.n), "e": number(numbers.e)}


def public_ec(key: ec.EllipticCurvePrivateKey, crv: str = "P-256") -> Json:
    numbers, size = key.public_key().public_numbers(), (key.curve.key_size + 7) // 8
    x, y = numbers.x.to_bytes(size, "big"), numbers.y.to_bytes(size, "big")
    return {"kty": "EC", "crv": crv, "x": b64(x), "y": b64(y)}


def public_okp(
    key: ed25519.Ed25519PrivateKey | ed448.Ed448PrivateKey | x25519.X25519PrivateKey, crv: str = "Ed25519"
) -> Json:
    return {"kty": "OKP", "crv": crv, "x": b64(key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw))}


def published() -> list[Json]:
    """One key for each algorithm, named as `token` names them."""
    return [
        public_rsa(rsa_key("rsa")) | {"kid": "rsa", "alg": "RS256", "use": "sig"},
        public_rsa(rsa_key("pss")) | {"kid": "pss", "alg": "PS256", "key_ops": ["verify"]},
        public_ec(ec_key("ec")) | {"kid": "ec"},
        public_okp(ed_key("ed")) | {"kid": "ed"},
    ]


def joined(header: bytes, payload: bytes, sign: Sign) -> str:
    message = f"{b64(header)}.{b64(payload)}"
    return f"{message}.{b64(sign(message.encode()))}"


def changed(members: Mapping[str, Any], changes: Mapping[str, Any]) -> bytes:
    merged = {name: value for name, value in {**members, **changes}.items() if value is not ABSENT}
    return json.dumps(merged).encode()


@dataclass
class Clock:
    at: float = NOW

    def __call__(self) -> float:
        return self.at


@dataclass
class Issuer:
    """A server with a discovery document and a key set, both of which a test may spoil."""

    url: str = ""
    keys: list[Any] = field(default_factory=published)
    document: Json = field(default_factory=dict[str, Any])
    answer: Callable[[str], web.StreamResponse | None] = lambda path: None
    """What to answer at a path instead of the truth."""
    requests: list[str] = field(default_factory=list[str])
    clock: Clock = field(default_factory=Clock)

    def __post_init__(self) -> None:
        self.verifiers: list[JwtVerifier] = []

    def verifier(self, *, jwks: str | None = None, issuer: str | None = None, **seconds: float) -> JwtVerifier:
        made = JwtVerifier(issuer=issuer or self.url, audience=AUDIENCE, jwks=jwks, now=self.clock, **seconds)
        self.verifiers.append(made)
        return made

    def header(self, by: str = "rsa") -> Json:
        return {"alg": ALGORITHMS[by], "kid": by, "typ": "JWT"}

    def claims(self) -> Json:
        at = int(self.clock.at)
        return {"iss": self.url, "aud": AUDIENCE, "sub": "ada", "iat": at, "nbf": at, "exp": at + 300}

    def token(
        self,
        by: str = "rsa",
        *,
        header: Mapping[str, Any] | None = None,
        claims: Mapping[str, Any] | None = None,
        sign: Sign | None = None,
    ) -> str:
        """A token that passes, but for the changes."""
        head, body = changed(self.header(by), header or {}), changed(self.claims(), claims or {})
        return joined(head, body, sign or signer(by))

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.requests.append(request.path)
        spoiled = self.answer(request.path)
        if spoiled is not None:
            return spoiled
        if request.path.endswith(DISCOVERY):
            return web.json_response({"issuer": self.url, "jwks_uri": f"{self.url}/keys"} | self.document)
        return web.json_response({"keys": self.keys})


@asynccontextmanager
async def serving() -> AsyncGenerator[Issuer]:
    issuer = Issuer()
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", issuer.handle)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    issuer.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield issuer
    finally:
        for verifier in issuer.verifiers:
            await verifier.close()
        await runner.cleanup()


async def refused(verifier: JwtVerifier, token: str, *, why: str = "is not accepted") -> AuthError:
    """The refusal of this token, which tells nothing of it."""
    with pytest.raises(AuthError, match=why) as caught:
        await verifier.verify(token)
    told = f"{caught.value} {caught.value!r} {traceback.format_exception_only(caught.value)}"
    assert caught.value.code == "auth_error"
    assert not [part for part in token.split(".") if len(part) > 12 and part[:12] in told]
    return caught.value


async def passes(verifier: JwtVerifier, token: str) -> Claims:
    claims = await verifier.verify(token)
    assert claims == Claims(claims.user, NOW + 300) and claims.user == "ada"
    return claims


async def check(issuer: Issuer, attack: str, by: str = "rsa", *, why: str = "is not accepted") -> None:
    """The honest token passes before and after; the attack does not, and makes us fetch nothing but the keys."""
    verifier = issuer.verifier()
    await passes(verifier, issuer.token(by))
    await refused(verifier, attack, why=why)
    await passes(verifier, issuer.token(by))
    assert issuer.requests == [DISCOVERY, "/keys"]
