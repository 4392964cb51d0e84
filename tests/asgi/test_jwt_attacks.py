"""Tokens by the wrong hand: no algorithm, the wrong one, keys that a token brings along, signatures of strangers."""

import hashlib
import hmac
import json
from collections.abc import AsyncGenerator, Callable
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from tests.asgi import issuer as lab
from tests.asgi.issuer import ABSENT, Issuer, Sign, check, passes, refused, signer


@pytest.fixture
async def issuer() -> AsyncGenerator[Issuer]:
    async with lab.serving() as server:
        yield server


def nothing(message: bytes) -> bytes:
    return b""


def jwk_of_stranger() -> dict[str, Any]:
    return lab.public_rsa(lab.rsa_key("stranger"))


NONE = ["none", "None", "NONE", "nOnE", "none ", " none", "n\u043ene", ""]
OTHERS = "HS256 HS384 HS512 RS384 RS512 PS384 ES384 ES256K ES512 Ed25519 RSA-OAEP dir".split()
SPELLINGS: list[Any] = ["rs256", "RS256 ", "RS256\u0000", None, 256, True, ["RS256"], {"RS256": 1}, ABSENT]


@pytest.mark.parametrize("alg", NONE)
@pytest.mark.parametrize("sign", [nothing, signer("rsa")], ids=["unsigned", "signed"])
async def test_no_spelling_of_no_algorithm_is_accepted(issuer: Issuer, alg: str, sign: Sign):
    await check(issuer, issuer.token(header={"alg": alg}, sign=sign), why="its algorithm|and signed")


@pytest.mark.parametrize("alg", [*OTHERS, *SPELLINGS], ids=repr)
async def test_only_four_algorithms_exist_and_each_in_one_spelling(issuer: Issuer, alg: Any):
    await check(issuer, issuer.token(header={"alg": alg}), why="its algorithm|its header is not clean")


def _public(encoding: Encoding, form: PublicFormat = PublicFormat.SubjectPublicKeyInfo) -> bytes:
    return lab.rsa_key("rsa").public_key().public_bytes(encoding, form)


# Everything that an attacker may take for the secret that the verifier would use.
SECRETS: dict[str, Callable[[], bytes]] = {
    "pem": lambda: _public(Encoding.PEM),
    "pem-stripped": lambda: _public(Encoding.PEM).strip(),
    "pem-pkcs1": lambda: _public(Encoding.PEM, PublicFormat.PKCS1),
    "der": lambda: _public(Encoding.DER),
    "jwk": lambda: json.dumps(lab.published()[0]).encode(),
    "modulus": lambda: lab.published()[0]["n"].encode(),
    "kid": lambda: b"rsa",
    "empty": lambda: b"",
}


@pytest.mark.parametrize("known", SECRETS.values(), ids=SECRETS)
@pytest.mark.parametrize("alg", ["HS256", "RS256"])
async def test_the_public_key_is_no_secret_to_sign_with(issuer: Issuer, known: Callable[[], bytes], alg: str):
    secret = known()
    attack = issuer.token(header={"alg": alg}, sign=lambda message: hmac.digest(secret, message, hashlib.sha256))
    await check(issuer, attack)


@pytest.mark.parametrize(
    ("by", "alg", "kid"),
    [
        ("pss", "RS256", "pss"),
        ("rsa", "PS256", "rsa"),
        ("ec", "EdDSA", "ec"),
        ("ed", "ES256", "ed"),
        ("rsa", "RS256", "pss"),
        ("rsa", "RS256", "ec"),
        ("ec", "ES256", "rsa"),
        ("ed", "EdDSA", "ec"),
    ],
)
async def test_the_key_and_not_the_token_says_how_it_verifies(issuer: Issuer, by: str, alg: str, kid: str):
    await check(issuer, issuer.token(by, header={"alg": alg, "kid": kid}), by, why="no key")


@pytest.mark.parametrize(
    ("key", "claimed", "sign"),
    [
        ("rsa", "PS256", lab.ps256("rsa")),
        ("pss", "RS256", lab.rs256("pss")),
    ],
)
async def test_one_key_does_not_verify_by_two_paddings(issuer: Issuer, key: str, claimed: str, sign: Sign):
    # The signature is right, made with the right key; only the key is meant for the other algorithm.
    await check(issuer, issuer.token(key, header={"alg": claimed}, sign=sign), key, why="no key")


HEADERS: dict[str, dict[str, Any]] = {
    "crit empty": {"crit": []},
    "crit null": {"crit": None},
    "crit text": {"crit": "exp"},
    "crit exp": {"crit": ["exp"], "exp": 1},
    "crit b64": {"crit": ["b64"], "b64": True},
    "crit unknown": {"crit": ["x"], "x": 1},
    "b64 false": {"b64": False},
    "b64 true": {"b64": True},
    "jku": {"jku": "http://127.0.0.1:1/keys"},
    "x5u": {"x5u": "http://127.0.0.1:1/certificate"},
    "x5c": {"x5c": ["MIIB"]},
    "jwk": {"jwk": {"kty": "RSA"}},
    "zip": {"zip": "DEF"},
    "enc": {"enc": "A256GCM"},
    "nested": {"cty": "JWT"},
    "logout token": {"typ": "logout+jwt"},
    "proof of possession": {"typ": "dpop+jwt"},
    "typ number": {"typ": 5},
    "typ null": {"typ": None},
    "typ empty": {"typ": ""},
    "kid number": {"kid": 0},
    "kid null": {"kid": None},
    "kid list": {"kid": ["rsa"]},
    "kid absent": {"kid": ABSENT},
    "kid empty": {"kid": ""},
    "kid case": {"kid": "RSA"},
    "kid space": {"kid": "rsa "},
    "kid NUL": {"kid": "rsa\0"},
    "kid path": {"kid": "../../../../dev/null"},
    "kid file": {"kid": "file:///dev/null"},
    "kid SQL": {"kid": "x' UNION SELECT 'secret' --"},
    "kid shell": {"kid": "rsa; true |"},
    "kid address": {"kid": "http://127.0.0.1:1/keys"},
    "kid long": {"kid": "r" * 4000},
    "kid half a character": {"kid": "\ud800"},
}


@pytest.mark.parametrize("header", HEADERS.values(), ids=HEADERS)
async def test_a_header_that_asks_for_more_is_refused_though_rightly_signed(issuer: Issuer, header: dict[str, Any]):
    await check(issuer, issuer.token(header=header))


async def test_a_token_cannot_bring_the_key_it_is_signed_with(issuer: Issuer):
    sign = lab.rs256("stranger")
    for header in (
        {"jwk": jwk_of_stranger()},
        {"jwk": jwk_of_stranger(), "kid": ABSENT},
        {"jku": f"{issuer.url}/elsewhere"},
        {"x5u": f"{issuer.url}/elsewhere"},
        {"kid": f"{issuer.url}/elsewhere"},
    ):
        await refused(issuer.verifier(), issuer.token(header=header, sign=sign))
    assert "/elsewhere" not in issuer.requests
    await check_control(issuer)


async def check_control(issuer: Issuer) -> None:
    await passes(issuer.verifier(), issuer.token())


SIGNATURES: dict[str, tuple[str, Sign]] = {
    "stranger's RSA key": ("rsa", lab.rs256("stranger")),
    "stranger's PSS key": ("pss", lab.ps256("stranger")),
    "stranger's curve key": ("ec", lab.es256("stranger")),
    "stranger's Edwards key": ("ed", lab.eddsa("stranger")),
    "padding of the other kind": ("rsa", lab.ps256("rsa")),
    "other padding, other key": ("pss", lab.rs256("pss")),
    "curve signature in DER": ("ec", lambda message: lab.ec_key("ec").sign(message, ec.ECDSA(SHA256()))),
    "curve signature of zeros": ("ec", lambda message: bytes(64)),
    "curve signature of ones": ("ec", lambda message: (bytes(31) + b"\1") * 2),
    "curve signature of the order": (
        "ec",
        lambda message: 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551.to_bytes(32, "big") * 2,
    ),
    "a larger curve": ("ec", lab.es256("large", ec.SECP384R1)),
    "Edwards signature of zeros": ("ed", lambda message: bytes(64)),
    "Edwards signature cut": ("ed", lambda message: lab.ed_key("ed").sign(message)[:63]),
    "RSA signature of one": ("rsa", lambda message: bytes(255) + b"\1"),
    "RSA signature of zeros": ("rsa", lambda message: bytes(256)),
    "over something else": ("rsa", lambda message: signer("rsa")(message + b" ")),
    "over the payload alone": ("rsa", lambda message: signer("rsa")(message.partition(b".")[2])),
    "digest for signature": ("rsa", lambda message: hashlib.sha256(message).digest()),
}


@pytest.mark.parametrize(("by", "sign"), SIGNATURES.values(), ids=SIGNATURES)
async def test_a_signature_that_is_not_the_issuers_is_refused(issuer: Issuer, by: str, sign: Sign):
    await check(issuer, issuer.token(by, sign=sign), by)


async def test_parts_of_two_honest_tokens_make_no_third(issuer: Issuer):
    ours, eves = issuer.token(), issuer.token(claims={"sub": "eve"})
    head, _, signature = ours.split(".")
    await check(issuer, f"{head}.{eves.split('.')[1]}.{signature}")
    ed = issuer.token("ed")
    await refused(issuer.verifier(), f"{ed.split('.')[0]}.{ours.partition('.')[2]}")
