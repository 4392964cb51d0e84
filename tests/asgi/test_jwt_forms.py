"""How a token is written: one form only, and no byte of it can be another."""

import asyncio
import json
from base64 import b64encode
from collections.abc import AsyncGenerator, Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.asgi import issuer as lab
from tests.asgi.issuer import NOW, Issuer, b64, check, passes, refused

from pollux.asgi.jwt import LARGEST_TOKEN, Claims, JwtVerifier
from pollux.core.errors import AuthError


@pytest.fixture
async def issuer() -> AsyncGenerator[Issuer]:
    async with lab.serving() as server:
        yield server


def _trailing_bits(token: str) -> str:
    """The same bytes in another spelling: the last character's unused bits are not zero."""
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    return token[:-1] + alphabet[alphabet.index(token[-1]) + 1]


def _standard_alphabet(token: str) -> str:
    return token.replace("-", "+").replace("_", "/") + ("" if "-" in token or "_" in token else "+")


FORMS: dict[str, Callable[[str], str]] = {
    "empty": lambda token: "",
    "dots": lambda token: "..",
    "many dots": lambda token: "." * 4000,
    "one part": lambda token: token.split(".")[0],
    "two parts": lambda token: token.rpartition(".")[0],
    "unsigned": lambda token: token.rpartition(".")[0] + ".",
    "no header": lambda token: token[token.index(".") :],
    "no payload": lambda token: "{0}..{2}".format(*token.split(".")),
    "four parts": lambda token: token + ".e30",
    "encrypted": lambda token: token + ".e30.e30",
    "leading dot": lambda token: "." + token,
    "trailing dot": lambda token: token + ".",
    "leading space": lambda token: " " + token,
    "trailing space": lambda token: token + " ",
    "trailing newline": lambda token: token + "\n",
    "newline inside": lambda token: token[:40] + "\n" + token[40:],
    "tab inside": lambda token: token[:40] + "\t" + token[40:],
    "padded": lambda token: token + "=",
    "padded twice": lambda token: token + "==",
    "padded header": lambda token: token.replace(".", "=.", 1),
    "padded everywhere": lambda token: ".".join(part + "=" * (-len(part) % 4 or 4) for part in token.split(".")),
    "trailing bits": _trailing_bits,
    "standard alphabet": _standard_alphabet,
    "standard base64": lambda token: b64encode(token.encode()).decode(),
    "percent": lambda token: token.replace(".", "%2E"),
    "full-width dot": lambda token: token.replace(".", "\uff0e"),
    "Cyrillic letter": lambda token: "\u0435" + token[1:],
    "zero width": lambda token: token + "\u200b",
    "NUL": lambda token: token + "\0",
    "half a character": lambda token: token + "\ud800",
    "scheme": lambda token: "Bearer " + token,
    "quoted": lambda token: f'"{token}"',
    "twice": lambda token: token + token,
    "list": lambda token: f"{token},{token}",
    "signature cut": lambda token: token[:-4],
    "signature longer": lambda token: token + "AAAA",
    "signature of zeros": lambda token: token.rpartition(".")[0] + "." + b64(bytes(256)),
    "JSON form": lambda token: json.dumps(
        dict(zip(("protected", "payload", "signature"), token.split("."), strict=True))
    ),
    "very long": lambda token: token + "A" * 1_000_000,
    "upper case": str.upper,
    "reversed": lambda token: token[::-1],
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
async def test_a_token_has_one_form_only(issuer: Issuer, form: Callable[[str], str]):
    await check(issuer, form(issuer.token()))


@pytest.mark.parametrize("by", ["rsa", "ed"])
async def test_the_same_bytes_in_another_spelling_are_refused_before_any_key_is_asked_for(issuer: Issuer, by: str):
    await refused(issuer.verifier(), _trailing_bits(issuer.token(by)), why="as encoders write it")
    assert issuer.requests == []
    await passes(issuer.verifier(), issuer.token(by))


async def test_a_token_may_be_as_long_as_allowed_and_no_longer(issuer: Issuer):
    # Base64 leaves out one length in four: one character or two may be missing to the bound.
    tokens = [issuer.token("ed", claims={"x": "y" * length}) for length in range(5500, 6100)]
    longest = max((token for token in tokens if len(token) <= LARGEST_TOKEN), key=len)
    too_long = min((token for token in tokens if len(token) > LARGEST_TOKEN), key=len)
    assert len(longest) > LARGEST_TOKEN - 2 and len(too_long) < LARGEST_TOKEN + 3
    await passes(issuer.verifier(), longest)
    await refused(issuer.verifier(), too_long, why="longer than 8192")


@pytest.mark.parametrize("by", lab.ALGORITHMS)
async def test_no_bit_of_a_token_can_be_changed(issuer: Issuer, by: str):
    verifier, token = issuer.verifier(), issuer.token(by)
    await passes(verifier, token)
    content = token.encode()
    for place in range(len(content)):
        for bit in range(8):
            flipped = bytearray(content)
            flipped[place] ^= 1 << bit
            with pytest.raises(AuthError):
                # Headers come as Latin-1.
                await verifier.verify(flipped.decode("latin-1"))
    await passes(verifier, token)


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> tuple[Issuer, JwtVerifier]:
    """An issuer known by a file: properties are tried without a server."""
    path = tmp_path_factory.mktemp("keys") / "jwks.json"
    path.write_text(json.dumps({"keys": lab.published()}))
    issuer = Issuer("https://issuer.example")
    return issuer, issuer.verifier(jwks=str(path))


def outcome(verifier: JwtVerifier, token: str) -> Claims | AuthError:
    async def verified() -> Claims | AuthError:
        try:
            return await verifier.verify(token)
        except AuthError as refusal:
            return refusal

    return asyncio.run(verified())


@given(st.data())
@settings(max_examples=200, deadline=None)
def test_no_byte_of_a_token_can_be_replaced(honest: tuple[Issuer, JwtVerifier], data: st.DataObject):
    issuer, verifier = honest
    token = issuer.token(data.draw(st.sampled_from(list(lab.ALGORITHMS))))
    content = bytearray(token.encode())
    content[data.draw(st.integers(0, len(content) - 1))] ^= data.draw(st.integers(1, 255))
    assert isinstance(outcome(verifier, content.decode("latin-1")), AuthError)
    assert isinstance(outcome(verifier, token), Claims)


JSONS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


@given(
    header=st.dictionaries(st.sampled_from("alg kid typ crit b64 jku x".split()), JSONS, max_size=2),
    claims=st.dictionaries(st.sampled_from("iss aud sub exp nbf iat x".split()), JSONS, max_size=3),
)
@settings(max_examples=300, deadline=None)
def test_whatever_an_issuer_signs_is_understood_or_refused(
    honest: tuple[Issuer, JwtVerifier], header: dict[str, Any], claims: dict[str, Any]
):
    issuer, verifier = honest
    told = outcome(verifier, issuer.token(header=header, claims=claims))
    if isinstance(told, Claims):
        assert told.user == claims.get("sub", "ada") and told.user.isprintable() and 0 < len(told.user) <= 255
        assert told.expires_at == claims.get("exp", NOW + 300) > NOW - 30


@given(st.text() | st.from_regex(r"[A-Za-z0-9_-]{0,40}\.[A-Za-z0-9_-]{0,40}\.[A-Za-z0-9_-]{0,40}", fullmatch=True))
@settings(max_examples=300, deadline=None)
def test_whatever_a_stranger_sends_is_refused(honest: tuple[Issuer, JwtVerifier], text: str):
    assert isinstance(outcome(honest[1], text), AuthError)
