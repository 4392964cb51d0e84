"""Honest tokens: who they speak for, and until when."""

import json
import sys
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
from tests.asgi import issuer as lab
from tests.asgi.issuer import ABSENT, AUDIENCE, NOW, Issuer, passes, refused

from pollux.asgi.jwt import Claims, JwtVerifier
from pollux.config import ConfigError
from pollux.core.ids import UserId


@pytest.fixture
async def issuer() -> AsyncGenerator[Issuer]:
    async with lab.serving() as server:
        yield server


@pytest.mark.parametrize("by", lab.ALGORITHMS)
async def test_each_of_the_four_algorithms_is_verified(issuer: Issuer, by: str):
    assert await issuer.verifier().verify(issuer.token(by)) == Claims(UserId("ada"), NOW + 300)


@pytest.mark.parametrize("kind", ["JWT", "jwt", "at+jwt", "application/at+jwt", ABSENT])
async def test_the_type_may_be_left_out_or_say_that_it_is_for_access(issuer: Issuer, kind: Any):
    await passes(issuer.verifier(), issuer.token(header={"typ": kind}))


async def test_a_thumbprint_in_the_header_harms_nobody(issuer: Issuer):
    await passes(issuer.verifier(), issuer.token(header={"x5t": "abc", "x5t#S256": "abc"}))


@pytest.mark.parametrize("aud", [AUDIENCE, [AUDIENCE], ["another", AUDIENCE]])
async def test_the_audience_may_be_one_of_several(issuer: Issuer, aud: Any):
    await passes(issuer.verifier(), issuer.token(claims={"aud": aud}))


async def test_what_is_not_needed_may_be_absent_and_what_is_unknown_may_be_there(issuer: Issuer):
    claims = {"iat": ABSENT, "nbf": ABSENT, "roles": ["admin"], "name": "Ada\u202e"}
    await passes(issuer.verifier(), issuer.token(claims=claims))


@pytest.mark.parametrize("claims", [{"nbf": NOW + 30}, {"iat": NOW + 30}, {"iat": NOW + 29.5}])
async def test_clocks_may_differ_by_half_a_minute(issuer: Issuer, claims: dict[str, Any]):
    await passes(issuer.verifier(), issuer.token(claims=claims))


async def test_a_token_ends_with_its_time_and_the_leeway(issuer: Issuer):
    verifier, token = issuer.verifier(), issuer.token()
    issuer.clock.at = NOW + 329.9
    await passes(verifier, token)
    issuer.clock.at = NOW + 330
    await refused(verifier, token, why="expired")


@pytest.mark.parametrize(
    "sub", ["ada", "ada@example.org", "auth0|5f7c", "Zoë", "李", "a" * 255, "Local", "a b", "' OR 1=1"]
)
async def test_the_subject_is_the_user_as_it_stands(issuer: Issuer, sub: str):
    assert (await issuer.verifier().verify(issuer.token(claims={"sub": sub}))).user == sub


def test_without_an_issuer_or_an_audience_there_is_no_verifier(tmp_path: Path):
    keys = tmp_path / "jwks.json"
    keys.write_text(json.dumps({"keys": []}))
    for issuer, audience in (("", "ours"), ("https://issuer.example", "")):
        with pytest.raises(ConfigError, match="an issuer and an audience are needed"):
            JwtVerifier(issuer=issuer, audience=audience, jwks=str(keys))


@pytest.mark.parametrize("missing", ["jwt", "cryptography"])
def test_without_its_libraries_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch, missing: str):
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(ConfigError, match=r"Install pollux\[oidc\]"):
        JwtVerifier(issuer="https://issuer.example", audience="ours", jwks="jwks.json")
