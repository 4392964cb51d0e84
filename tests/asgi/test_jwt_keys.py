"""The issuer's keys: which are used, and when they are asked for again."""

import asyncio
import json
import logging
from collections.abc import AsyncGenerator, Callable
from typing import Any

import pytest
from aiohttp import web
from cryptography.hazmat.primitives.asymmetric import ec, ed448, x25519
from tests.asgi import issuer as lab
from tests.asgi.issuer import ABSENT, DISCOVERY, NOW, Issuer, Json, Sign, passes, refused

from pollux.asgi.errors import rendered
from pollux.asgi.jwks import AGAIN_SECONDS, FRESH_SECONDS, SOON_SECONDS, AuthUnavailable, Jwks, keys_in
from pollux.asgi.jwt import JwtVerifier


@pytest.fixture
async def issuer() -> AsyncGenerator[Issuer]:
    async with lab.serving() as server:
        yield server


async def unavailable(verifier: JwtVerifier, token: str) -> AuthUnavailable:
    with pytest.raises(AuthUnavailable) as caught:
        await verifier.verify(token)
    return caught.value


def fetches(issuer: Issuer) -> int:
    return issuer.requests.count("/keys")


Make = Callable[[], Json]


def rsa(**changes: Any) -> Make:
    return lambda: lab.public_rsa(lab.rsa_key("odd")) | {"kid": "odd"} | changes


def curve(kind: type[ec.EllipticCurve] = ec.SECP256R1, crv: str = "P-256", **changes: Any) -> Make:
    return lambda: lab.public_ec(lab.ec_key("odd", kind), crv) | {"kid": "odd"} | changes


def private() -> Json:
    return rsa()() | {"d": lab.number(lab.rsa_key("odd").private_numbers().d)}


RSA_SIGN, EC_SIGN = lab.rs256("odd"), lab.es256("odd")
ODD_KEYS: dict[str, tuple[Make, str, Sign]] = {
    "for encryption": (rsa(use="enc"), "RS256", RSA_SIGN),
    "use unknown": (rsa(use="signature"), "RS256", RSA_SIGN),
    "use null": (rsa(use=None), "RS256", RSA_SIGN),
    "operations without verify": (rsa(key_ops=["encrypt", "wrapKey"]), "RS256", RSA_SIGN),
    "operations empty": (rsa(key_ops=[]), "RS256", RSA_SIGN),
    "operations as text": (rsa(key_ops="verify"), "RS256", RSA_SIGN),
    "algorithm RS384": (rsa(alg="RS384"), "RS256", RSA_SIGN),
    "algorithm none": (rsa(alg="none"), "RS256", RSA_SIGN),
    "algorithm HS256": (rsa(alg="HS256"), "RS256", RSA_SIGN),
    "algorithm ES256": (rsa(alg="ES256"), "RS256", RSA_SIGN),
    "algorithm list": (rsa(alg=["RS256"]), "RS256", RSA_SIGN),
    "algorithm PS256, signed RS256": (rsa(alg="PS256"), "RS256", RSA_SIGN),
    "no algorithm, signed PS256": (rsa(), "PS256", lab.ps256("odd")),
    "private part": (private, "RS256", RSA_SIGN),
    "kid number": (rsa(kid=5), "RS256", RSA_SIGN),
    "type missing": (rsa(kty=None), "RS256", RSA_SIGN),
    "type wrong": (rsa(kty="EC"), "RS256", RSA_SIGN),
    "type case": (rsa(kty="rsa"), "RS256", RSA_SIGN),
    "modulus missing": (lambda: {"kty": "RSA", "e": "AQAB", "kid": "odd"}, "RS256", RSA_SIGN),
    "modulus number": (rsa(n=5), "RS256", RSA_SIGN),
    "modulus junk": (rsa(n="!"), "RS256", RSA_SIGN),
    "exponent one": (rsa(e="AQ"), "RS256", lambda message: message[:256]),
    "RSA of 1024 bits": (
        lambda: lab.public_rsa(lab.rsa_key("small", 1024)) | {"kid": "odd"},
        "RS256",
        lab.rs256("small", 1024),
    ),
    "secret": (lambda: {"kty": "oct", "k": "c2VjcmV0", "alg": "HS256", "kid": "odd"}, "RS256", RSA_SIGN),
    "secret called RS256": (lambda: {"kty": "oct", "k": "c2VjcmV0", "alg": "RS256", "kid": "odd"}, "RS256", RSA_SIGN),
    "another curve": (
        curve(ec.SECP384R1, "P-384"),
        "ES256",
        lab.es256("odd", ec.SECP384R1),
    ),
    "Bitcoin's curve": (
        curve(ec.SECP256K1, "secp256k1"),
        "ES256",
        lab.es256("odd", ec.SECP256K1),
    ),
    "point off the curve": (
        curve(y=lab.b64(bytes(32))),
        "ES256",
        EC_SIGN,
    ),
    "coordinates short": (curve(x="AA"), "ES256", EC_SIGN),
    "curve key for EdDSA": (curve(alg="EdDSA"), "ES256", EC_SIGN),
    "key agreement": (
        lambda: lab.public_okp(x25519.X25519PrivateKey.generate(), "X25519") | {"kid": "odd"},
        "EdDSA",
        lab.eddsa("odd"),
    ),
    "Ed448": (
        lambda: lab.public_okp(ed448.Ed448PrivateKey.generate(), "Ed448") | {"kid": "odd"},
        "EdDSA",
        lab.eddsa("odd"),
    ),
    "Ed25519 short": (lambda: {"kty": "OKP", "crv": "Ed25519", "x": "AAAA", "kid": "odd"}, "EdDSA", lab.eddsa("odd")),
}


@pytest.mark.parametrize(("key", "alg", "sign"), ODD_KEYS.values(), ids=ODD_KEYS)
async def test_a_key_that_is_not_for_this_is_passed_over_and_the_others_are_used(
    issuer: Issuer, key: Make, alg: str, sign: Sign
):
    issuer.keys = [key(), *issuer.keys]
    verifier = issuer.verifier()
    await passes(verifier, issuer.token())
    await refused(verifier, issuer.token(header={"alg": alg, "kid": "odd"}, sign=sign), why="no key")


@pytest.mark.parametrize(
    ("key", "alg", "sign"),
    [
        (rsa(), "RS256", RSA_SIGN),
        (rsa(alg="PS256"), "PS256", lab.ps256("odd")),
        (curve(), "ES256", EC_SIGN),
        (lambda: lab.public_okp(lab.ed_key("odd")) | {"kid": "odd"}, "EdDSA", lab.eddsa("odd")),
    ],
    ids=["RS256", "PS256", "ES256", "EdDSA"],
)
async def test_the_same_keys_with_nothing_wrong_are_used(issuer: Issuer, key: Make, alg: str, sign: Sign):
    issuer.keys = [key()]
    await passes(issuer.verifier(), issuer.token(header={"alg": alg, "kid": "odd"}, sign=sign))


@pytest.mark.parametrize("junk", [None, 5, "key", [], {}, {"kty": None}, {"kty": ["RSA"]}])
async def test_junk_beside_the_keys_harms_nobody(issuer: Issuer, junk: Any):
    issuer.keys = [junk, *issuer.keys]
    await passes(issuer.verifier(), issuer.token())


async def test_a_published_private_key_is_told_to_the_operator_without_showing_it(
    issuer: Issuer, caplog: pytest.LogCaptureFixture
):
    issuer.keys = [private(), *issuer.keys]
    await passes(issuer.verifier(), issuer.token())
    assert "private part" in caplog.text and private()["d"][:20] not in caplog.text


async def test_a_token_need_not_name_the_only_key(issuer: Issuer):
    issuer.keys = issuer.keys[:1]
    verifier = issuer.verifier()
    await passes(verifier, issuer.token(header={"kid": ABSENT}))
    stranger = lab.rs256("stranger")
    await refused(verifier, issuer.token(header={"kid": ABSENT}, sign=stranger), why="no key")
    await refused(verifier, issuer.token("ed", header={"kid": ABSENT}), why="no key")


@pytest.mark.parametrize("kid", [None, 5, [], {}])
async def test_a_name_that_is_no_text_is_not_the_same_as_none(issuer: Issuer, kid: Any):
    issuer.keys = issuer.keys[:1]
    verifier = issuer.verifier()
    await refused(verifier, issuer.token(header={"kid": kid}), why="name of its key is not text")
    await passes(verifier, issuer.token(header={"kid": ABSENT}))


async def test_an_only_key_whose_name_is_no_text_is_no_key(issuer: Issuer):
    issuer.keys = [issuer.keys[0] | {"kid": 5}]
    await unavailable(issuer.verifier(), issuer.token(header={"kid": ABSENT}))


@pytest.mark.parametrize("algorithm", ["RS256", "PS256", "ES256", "EdDSA", "HS256", "none"])
async def test_a_key_is_a_candidate_for_its_own_algorithm_alone(algorithm: str):
    async def source() -> bytes:
        return json.dumps({"keys": lab.published()}).encode()

    keys = Jwks(source, now=lambda: NOW)
    found = [key.key_id for kid in lab.ALGORITHMS for key in await keys.candidates(kid, algorithm)]
    assert found == [kid for kid, own in lab.ALGORITHMS.items() if own == algorithm]


@pytest.mark.parametrize(("bits", "used"), [(2047, 0), (2048, 1), (8192, 1), (8193, 0)])
def test_an_rsa_key_is_neither_weak_nor_a_burden(bits: int, used: int):
    key = {"kty": "RSA", "n": lab.number((1 << (bits - 1)) | 1), "e": "AQAB"}
    assert len(keys_in(json.dumps({"keys": [key]}).encode())) == used


async def test_keys_of_one_name_are_all_tried(issuer: Issuer):
    issuer.keys = [lab.public_rsa(lab.rsa_key("other")) | {"kid": "rsa"}, *issuer.keys]
    await passes(issuer.verifier(), issuer.token())


async def test_keys_are_kept_for_ten_minutes(issuer: Issuer):
    verifier = issuer.verifier()
    for later, expected in ((0.0, 1), (1.0, 1), (FRESH_SECONDS - 1, 1), (FRESH_SECONDS, 2), (FRESH_SECONDS + 1, 2)):
        issuer.clock.at = NOW + later
        await verifier.verify(issuer.token())
        assert fetches(issuer) == expected, later


async def test_a_new_key_is_found_when_a_token_names_it_but_nobody_can_make_us_ask_twice_a_minute(issuer: Issuer):
    verifier = issuer.verifier()
    await passes(verifier, issuer.token())
    issuer.keys.append(rsa()())
    fresh = issuer.token(header={"kid": "odd"}, sign=RSA_SIGN)
    for later in (0, AGAIN_SECONDS - 1):
        issuer.clock.at = NOW + later
        await refused(verifier, fresh, why="no key")
    assert fetches(issuer) == 1
    issuer.clock.at = NOW + AGAIN_SECONDS
    await passes(verifier, fresh)
    for attempt in range(20):
        await refused(verifier, issuer.token(header={"kid": f"no-{attempt}"}))
    assert fetches(issuer) == 2


async def test_what_is_refused_by_its_form_makes_us_fetch_nothing(issuer: Issuer):
    verifier = issuer.verifier()
    for attack in ("", "a.b.c", issuer.token(header={"alg": "none"}), issuer.token(header={"crit": ["exp"]})):
        await refused(verifier, attack)
    assert issuer.requests == []


async def test_a_key_that_is_taken_back_stops_counting(issuer: Issuer):
    verifier = issuer.verifier()
    await passes(verifier, issuer.token("ec"))
    issuer.keys = [key for key in issuer.keys if key["kid"] != "ec"]
    issuer.clock.at = NOW + FRESH_SECONDS
    await refused(verifier, issuer.token("ec"), why="no key")
    issuer.keys = []
    issuer.clock.at = NOW + 2 * FRESH_SECONDS
    await unavailable(verifier, issuer.token())


async def test_how_long_a_removed_key_counts_and_a_new_one_is_refused_can_be_set(issuer: Issuer):
    verifier = issuer.verifier(keys_seconds=30.0, unknown_key_seconds=5.0)
    old, third = issuer.token("ec"), issuer.token()
    await passes(verifier, old)
    issuer.keys = [*(key for key in issuer.keys if key["kid"] != "ec"), rsa()()]
    fresh = issuer.token(header={"kid": "odd"}, sign=RSA_SIGN)
    issuer.clock.at = NOW + 4.9
    await refused(verifier, fresh, why="no key")
    await passes(verifier, old)
    issuer.clock.at = NOW + 5.0
    await passes(verifier, fresh)
    # Read again for the new one, the old one is gone too; without a new one it is once the keys are too old.
    await refused(verifier, old, why="no key")
    issuer.keys = [rsa()()]
    issuer.clock.at = NOW + 34.9
    await passes(verifier, third)
    issuer.clock.at = NOW + 35.0
    await refused(verifier, third, why="no key")


async def test_keys_that_are_too_old_are_read_again_however_seldom_a_name_may_make_us(issuer: Issuer):
    verifier = issuer.verifier(keys_seconds=10.0, unknown_key_seconds=3600.0)
    await passes(verifier, issuer.token("ec"))
    issuer.keys = [key for key in issuer.keys if key["kid"] != "ec"]
    issuer.clock.at = NOW + 10.0
    await refused(verifier, issuer.token("ec"), why="no key")


async def test_callers_at_once_share_one_reading(issuer: Issuer):
    verifier, token = issuer.verifier(), issuer.token()
    await asyncio.gather(*(passes(verifier, token) for _ in range(50)))
    assert issuer.requests == [DISCOVERY, "/keys"]
    issuer.clock.at = NOW + AGAIN_SECONDS
    unknown = [issuer.token(header={"kid": f"no-{number}"}) for number in range(50)]
    await asyncio.gather(*(refused(verifier, token) for token in unknown))
    assert fetches(issuer) == 2


async def test_a_caller_who_goes_away_does_not_end_the_reading_for_others(issuer: Issuer):
    verifier, token = issuer.verifier(), issuer.token()
    first, second = asyncio.create_task(verifier.verify(token)), asyncio.create_task(verifier.verify(token))
    await asyncio.sleep(0)
    first.cancel()
    assert (await second).user == "ada"
    assert first.cancelled() and issuer.requests == [DISCOVERY, "/keys"]


async def test_a_clock_that_is_set_back_does_not_keep_keys_for_ever(issuer: Issuer):
    verifier = issuer.verifier()
    await passes(verifier, issuer.token())
    issuer.clock.at = NOW - 86_400
    await verifier.verify(issuer.token())
    assert fetches(issuer) == 2


SPOILED: dict[str, Callable[[], web.Response]] = {
    "server error": lambda: web.Response(status=500),
    "not found": lambda: web.Response(status=404),
    "server error with keys": lambda: web.json_response({"keys": lab.published()}, status=500),
    "refusal with keys": lambda: web.json_response({"keys": lab.published()}, status=403),
    "no content": lambda: web.Response(status=204),
    "empty": lambda: web.Response(body=b""),
    "no JSON": lambda: web.Response(text="<html>sign in</html>"),
    "no object": lambda: web.json_response([]),
    "no keys": lambda: web.json_response({}),
    "keys no list": lambda: web.json_response({"keys": {"kid": "rsa"}}),
    "keys twice": lambda: web.Response(text=f'{{"keys":[],"keys":{json.dumps(lab.published())}}}'),
    "not UTF-8": lambda: web.Response(body=json.dumps({"keys": lab.published()}).encode("utf-16")),
    "too large": lambda: web.json_response({"keys": lab.published(), "x": "y" * 256 * 1024}),
    "redirect": lambda: web.Response(status=302, headers={"Location": "/elsewhere"}),
    "permanent redirect": lambda: web.Response(status=308, headers={"Location": "/elsewhere"}),
}


def compressed() -> web.Response:
    response = web.json_response({"keys": lab.published()})
    response.enable_compression(web.ContentCoding.gzip)
    return response


@pytest.mark.parametrize("spoiled", SPOILED.values(), ids=SPOILED)
async def test_without_a_key_the_answer_is_to_come_again_and_then_it_works(
    issuer: Issuer, spoiled: Callable[[], web.Response], caplog: pytest.LogCaptureFixture
):
    verifier, token = issuer.verifier(), issuer.token()
    issuer.answer = lambda path: spoiled() if path == "/keys" else None
    problem = await unavailable(verifier, token)
    assert (problem.code, rendered(problem, "req_1")[0]) == ("auth_unavailable", 503)
    assert "127.0.0.1" not in str(problem) and "issuer's key" in caplog.text
    issuer.answer = lambda path: None
    await unavailable(verifier, token)
    assert fetches(issuer) == 1 and "/elsewhere" not in issuer.requests
    issuer.clock.at = NOW + SOON_SECONDS
    await passes(verifier, token)


@pytest.mark.parametrize("spoiled", [*SPOILED.values(), compressed], ids=[*SPOILED, "compressed though not asked for"])
async def test_when_the_keys_cannot_be_read_again_the_old_ones_stay_good(
    issuer: Issuer, spoiled: Callable[[], web.Response], caplog: pytest.LogCaptureFixture
):
    verifier = issuer.verifier()
    await passes(verifier, issuer.token())
    issuer.answer = lambda path: spoiled() if path == "/keys" else None
    issuer.clock.at = NOW + FRESH_SECONDS
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            await verifier.verify(issuer.token())
    assert fetches(issuer) == 2 and len(caplog.records) == 1
    issuer.clock.at += AGAIN_SECONDS
    await verifier.verify(issuer.token())
    assert fetches(issuer) == 3
