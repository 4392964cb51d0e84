"""What a token says: claims that do not hold, and JSON that two readers could read differently."""

import json
from collections.abc import AsyncGenerator
from typing import Any

import pytest
from tests.asgi import issuer as lab
from tests.asgi.issuer import ABSENT, AUDIENCE, NOW, Issuer, check, joined, signer


@pytest.fixture
async def issuer() -> AsyncGenerator[Issuer]:
    async with lab.serving() as server:
        yield server


CLAIMS: dict[str, dict[str, Any]] = {
    "iss absent": {"iss": ABSENT},
    "iss other": {"iss": "https://evil.example"},
    "iss null": {"iss": None},
    "iss empty": {"iss": ""},
    "aud absent": {"aud": ABSENT},
    "aud other": {"aud": "another"},
    "aud null": {"aud": None},
    "aud empty list": {"aud": []},
    "aud others": {"aud": ["another", "third"]},
    "aud holds a number": {"aud": [AUDIENCE, 5]},
    "aud nested": {"aud": [[AUDIENCE]]},
    "aud object": {"aud": {AUDIENCE: True}},
    "aud longer": {"aud": f"{AUDIENCE}-2"},
    "aud shorter": {"aud": AUDIENCE[:-1]},
    "aud case": {"aud": AUDIENCE.upper()},
    "aud several in one": {"aud": f"{AUDIENCE} another"},
    "exp absent": {"exp": ABSENT},
    "exp null": {"exp": None},
    "exp text": {"exp": str(int(NOW) + 300)},
    "exp true": {"exp": True},
    "exp list": {"exp": [NOW + 300]},
    "exp passed": {"exp": NOW - 31},
    "exp at the end of the leeway": {"exp": NOW - 30},
    "exp zero": {"exp": 0},
    "exp negative": {"exp": -1},
    "exp milliseconds": {"exp": int(NOW + 300) * 1000},
    "exp huge": {"exp": 10**30},
    "exp huge float": {"exp": 1e300},
    "exp NaN": {"exp": float("nan")},
    "exp infinite": {"exp": float("inf")},
    "nbf ahead": {"nbf": NOW + 31},
    "nbf text": {"nbf": "0"},
    "nbf null": {"nbf": None},
    "nbf NaN": {"nbf": float("nan")},
    "iat ahead": {"iat": NOW + 31},
    "iat text": {"iat": "now"},
    "iat false": {"iat": False},
    "iat huge": {"iat": 10**20},
    "sub absent": {"sub": ABSENT},
    "sub null": {"sub": None},
    "sub empty": {"sub": ""},
    "sub number": {"sub": 5},
    "sub list": {"sub": ["ada"]},
    "sub object": {"sub": {"id": "ada"}},
    "sub too long": {"sub": "a" * 256},
    "sub far too long": {"sub": "a" * 5000},
    "sub local": {"sub": "local"},
    "sub NUL": {"sub": "ada\0"},
    "sub newline": {"sub": "ada\nadmin"},
    "sub escape": {"sub": "\x1b[31mada"},
    "sub delete": {"sub": "ada\x7f"},
    "sub C1": {"sub": "ada\x9b"},
    "sub bidi": {"sub": "ada\u202e"},
    "sub zero width": {"sub": "a\u200bda"},
    "sub line separator": {"sub": "ada\u2028"},
    "sub padded": {"sub": " ada"},
    "sub trailing": {"sub": "ada "},
    "sub blank": {"sub": " "},
    "sub half a character": {"sub": "ada\ud800"},
    "sub decomposed": {"sub": "ade\u0301"},
}


REASONS = {"iss": "issuer", "aud": "audience", "exp": "exp", "nbf": "nbf", "iat": "iat", "sub": "subject"}


@pytest.mark.parametrize("claims", CLAIMS.values(), ids=CLAIMS)
async def test_a_claim_that_does_not_hold_is_refused_though_rightly_signed(issuer: Issuer, claims: dict[str, Any]):
    why = f"{REASONS[next(iter(claims))]}|its claims are not clean"
    await check(issuer, issuer.token(claims=claims), why=why)


@pytest.mark.parametrize("form", ["{}/", "{} ", "{}#", "{}.evil.example", "HTTP{}", "[{}]"])
async def test_the_issuer_is_compared_letter_by_letter(issuer: Issuer, form: str):
    named = form.format(issuer.url.removeprefix("http") if form.startswith("HTTP") else issuer.url)
    await check(issuer, issuer.token(claims={"iss": named}), why="issuer")


RAW: dict[str, tuple[str, str]] = {
    "alg twice": ('{"alg":"none",', ""),
    "kid twice": ('{"kid":"ec",', ""),
    "alg twice by escape": ('{"\\u0061lg":"RS256",', ""),
    "sub twice": ("", '{"sub":"eve",'),
    "sub twice by escape": ("", '{"s\\u0075b":"eve",'),
    "exp twice": ("", '{"exp":1,'),
    "twice inside": ("", '{"x":{"y":1,"y":2},'),
    "header BOM": ('\ufeff{"x":1,', ""),
    "payload BOM": ("", '\ufeff{"x":1,'),
    "header deep": ('{"x":' + "[" * 900 + "]" * 900 + ",", ""),
    "payload deep": ("", '{"x":' + "[" * 900 + "]" * 900 + ","),
    "payload very deep": ("", '{"x":' + "[" * 2500 + "]" * 2500 + ","),
    "payload NaN": ("", '{"x":NaN,'),
    "payload overflow": ("", '{"x":1e999,'),
    "payload long number": ("", '{"x":' + "9" * 4400 + ","),
    "payload comment": ("", '{/* */"x":1,'),
    "payload single quotes": ("", "{'x':1,"),
}


@pytest.mark.parametrize(("head", "body"), RAW.values(), ids=RAW)
async def test_json_that_two_parsers_could_read_differently_is_refused(issuer: Issuer, head: str, body: str):
    header, claims = json.dumps(issuer.header()), json.dumps(issuer.claims())
    changed = [(part + whole[1:] if part else whole).encode() for part, whole in ((head, header), (body, claims))]
    await check(issuer, joined(changed[0], changed[1], signer("rsa")), why="not clean JSON")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-32", "utf-8-sig"])
@pytest.mark.parametrize("part", ["header", "payload"])
async def test_other_encodings_than_utf_8_are_refused(issuer: Issuer, encoding: str, part: str):
    header, claims = json.dumps(issuer.header()), json.dumps(issuer.claims())
    head = header.encode(encoding if part == "header" else "utf-8")
    await check(
        issuer, joined(head, claims.encode(encoding if part == "payload" else "utf-8"), signer("rsa")), why="not clean"
    )


@pytest.mark.parametrize(
    "body", [b"", b"null", b"[]", b'"ada"', b"5", b"{", b"{}", b"{}{}", b"{} x", b"\xff\xfe", b"\0"]
)
@pytest.mark.parametrize("part", ["header", "payload"])
async def test_what_is_no_json_object_is_refused(issuer: Issuer, body: bytes, part: str):
    header, claims = json.dumps(issuer.header()).encode(), json.dumps(issuer.claims()).encode()
    await check(issuer, joined(*((body, claims) if part == "header" else (header, body)), signer("rsa")))
