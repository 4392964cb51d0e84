"""Where the keys come from: what may be named, and what a hostile answer cannot do."""

import asyncio
import json
import os
import socket
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from tests.asgi import issuer as lab
from tests.asgi.issuer import DISCOVERY, Issuer, passes
from tests.waiting import HANG_SECONDS

from pollux.asgi import jwks, jwks_source
from pollux.asgi.jwks import FRESH_SECONDS, AuthUnavailable
from pollux.asgi.jwks_source import objection_to
from pollux.asgi.jwt import JwtVerifier
from pollux.config import ConfigError


@pytest.fixture
async def issuer() -> AsyncGenerator[Issuer]:
    async with lab.serving() as server:
        yield server


async def test_an_address_of_keys_is_asked_without_discovery(issuer: Issuer):
    await passes(issuer.verifier(jwks=f"{issuer.url}/certs"), issuer.token())
    assert issuer.requests == ["/certs"]


async def test_discovery_is_asked_for_under_the_path_of_the_issuer(issuer: Issuer):
    tenant = f"{issuer.url}/tenant/"
    issuer.document = {"issuer": tenant}
    await passes(issuer.verifier(issuer=tenant), issuer.token(claims={"iss": tenant}))
    assert issuer.requests == [f"/tenant{DISCOVERY}", "/keys"]


DOCUMENTS: dict[str, dict[str, Any]] = {
    "another issuer": {"issuer": "https://evil.example"},
    "a slash more": {"issuer": "{url}/"},
    "no issuer": {"issuer": None},
    "keys in a file": {"jwks_uri": "file:///etc/passwd"},
    "keys in the clear": {"jwks_uri": "http://keys.example/jwks"},
    "keys by another scheme": {"jwks_uri": "ftp://127.0.0.1/keys"},
    "keys with a user": {"jwks_uri": "http://127.0.0.1@evil.example/keys"},
    "keys almost here": {"jwks_uri": "http://127.0.0.1.evil.example/keys"},
    "keys nowhere": {"jwks_uri": "/keys"},
    "keys by number": {"jwks_uri": 5},
    "keys absent": {"jwks_uri": None},
}


@pytest.mark.parametrize("document", DOCUMENTS.values(), ids=DOCUMENTS)
async def test_a_discovery_document_that_leads_astray_is_not_followed(
    issuer: Issuer, document: dict[str, Any], caplog: pytest.LogCaptureFixture
):
    honest = dict(issuer.document)
    issuer.document = {
        name: value.format(url=issuer.url) if isinstance(value, str) else value for name, value in document.items()
    }
    with pytest.raises(AuthUnavailable):
        await issuer.verifier().verify(issuer.token())
    assert issuer.requests == [DISCOVERY]
    # Refused, and not tried in vain.
    assert "discovery document" in caplog.text or "jwks_uri of the issuer cannot be used" in caplog.text
    issuer.document = honest
    await passes(issuer.verifier(), issuer.token())


@pytest.mark.parametrize("body", [b"", b"[]", b"<html>", b'{"issuer":1,"issuer":2}', b"x" * 300_000])
async def test_a_discovery_document_that_is_none_brings_no_keys(issuer: Issuer, body: bytes):
    issuer.answer = lambda path: web.Response(body=body) if path == DISCOVERY else None
    with pytest.raises(AuthUnavailable):
        await issuer.verifier().verify(issuer.token())
    assert issuer.requests == [DISCOVERY]


async def test_a_far_issuer_cannot_point_into_this_machine(monkeypatch: pytest.MonkeyPatch):
    asked: list[str] = []

    async def fetched(url: str) -> bytes:
        asked.append(url)
        return json.dumps({"issuer": "https://far.example", "jwks_uri": "http://127.0.0.1:8642/keys"}).encode()

    monkeypatch.setattr(jwks_source, "_fetched", fetched)
    far = Issuer("https://far.example")
    with pytest.raises(AuthUnavailable):
        await far.verifier().verify(far.token())
    assert asked == [f"https://far.example{DISCOVERY}"]


async def test_a_redirect_to_another_host_is_not_followed(issuer: Issuer):
    async with lab.serving() as other:
        away = {"Location": f"{other.url}/keys"}
        issuer.answer = lambda path: web.Response(status=307, headers=away) if path == "/keys" else None
        with pytest.raises(AuthUnavailable):
            await issuer.verifier().verify(issuer.token())
        assert other.requests == []


async def test_an_issuer_that_says_nothing_is_given_up(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(jwks, "LOAD_SECONDS", 0.2)
    came, gone = asyncio.Event(), asyncio.Event()

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        came.set()
        await reader.read()
        writer.close()
        gone.set()

    server = await asyncio.start_server(silent, "127.0.0.1", 0)
    async with server:
        quiet = Issuer(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
        async with asyncio.timeout(HANG_SECONDS):
            with pytest.raises(AuthUnavailable):
                await quiet.verifier().verify(quiet.token())
            # On a busy machine its time may be over before it comes.
            if came.is_set():
                await gone.wait()


async def test_closing_ends_a_reading_and_whoever_waits_for_it_is_told_so():
    heard, gone = asyncio.Event(), asyncio.Event()

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        heard.set()
        await reader.read()
        writer.close()
        gone.set()

    server = await asyncio.start_server(silent, "127.0.0.1", 0)
    async with server, asyncio.timeout(HANG_SECONDS):
        quiet = Issuer(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
        verifier = quiet.verifier()
        waiting = asyncio.create_task(verifier.verify(quiet.token()))
        await heard.wait()
        await verifier.close()
        with pytest.raises(AuthUnavailable):
            await waiting
        await gone.wait()


async def test_closing_before_a_reading_began_leaves_nothing_that_others_wait_for(issuer: Issuer):
    verifier = issuer.verifier()
    waiting = asyncio.create_task(verifier.verify(issuer.token()))
    await asyncio.sleep(0)
    await verifier.close()
    with pytest.raises(AuthUnavailable):
        await waiting
    await passes(verifier, issuer.token())


async def test_closing_what_was_never_used_does_nothing():
    await Issuer("https://issuer.example").verifier().close()


async def test_an_issuer_that_is_not_there_is_unavailable():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        absent = Issuer(f"http://127.0.0.1:{free.getsockname()[1]}")
        with pytest.raises(AuthUnavailable):
            await absent.verifier().verify(absent.token())


async def test_keys_in_a_file_are_read_again_when_they_are_old(tmp_path: Path):
    path = tmp_path / "jwks.json"
    path.write_text(json.dumps({"keys": lab.published()[:1]}))
    issuer = Issuer("https://issuer.example")
    verifier = issuer.verifier(jwks=str(path))
    await passes(verifier, issuer.token())
    path.write_text(json.dumps({"keys": lab.published()[1:]}))
    await passes(verifier, issuer.token())
    issuer.clock.at += FRESH_SECONDS
    assert (await verifier.verify(issuer.token("ec"))).user == "ada"


@pytest.mark.parametrize("kind", ["missing", "folder", "pipe", "large", "junk", "name"])
async def test_a_file_that_cannot_be_read_is_given_up(tmp_path: Path, kind: str):
    path = tmp_path / ("keys\0" if kind == "name" else "keys")
    match kind:
        case "folder":
            path.mkdir()
        case "pipe":
            os.mkfifo(path)
        case "large":
            path.write_text(json.dumps({"keys": lab.published()}) + " " * 256 * 1024)
        case "junk":
            path.write_bytes(b"\xff\0")
        case _:
            pass
    issuer = Issuer("https://issuer.example")
    async with asyncio.timeout(HANG_SECONDS):
        with pytest.raises(AuthUnavailable):
            await issuer.verifier(jwks=str(path)).verify(issuer.token())


async def test_what_nobody_foresaw_is_logged_and_the_answer_is_the_same(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    async def broken(url: str) -> bytes:
        raise LookupError("a defect")

    monkeypatch.setattr(jwks_source, "_fetched", broken)
    issuer = Issuer("https://issuer.example")
    with pytest.raises(AuthUnavailable):
        await issuer.verifier().verify(issuer.token())
    assert "reading the issuer's keys failed" in caplog.text


GOOD = [
    "https://issuer.example",
    "https://issuer.example:8443/a/b?c=d",
    "http://127.0.0.1:8080/keys",
    "http://127.1.2.3/",
    "http://localhost:1",
    "http://[::1]:80/keys",
    "HTTPS://ISSUER.EXAMPLE/",
]
BAD = [
    "http://issuer.example",
    "http://127.0.0.1.evil.example",
    "http://127.evil.example",
    "http://localhost.evil.example",
    "http://0.0.0.0/",
    "http://10.0.0.1/",
    "http://127.0.0.1@evil.example/",
    "http://127.0.0.1\\@evil.example/",
    "http://evil.example#@127.0.0.1/",
    "https://me:secret@issuer.example/",
    "https://issuer.example/#keys",
    "https://issuer.example/a b",
    "https://issuer.example\n",
    "https://issuer.example:99999/",
    "https://issuer.example:0/",
    "https://[::1/",
    "http://evil.example[::1]/",
    "http://[::1]evil.example/",
    "https:///keys",
    "https://",
    "file:///etc/passwd",
    "ftp://issuer.example/",
    "//issuer.example/",
    "https://iss\u00fcer.example/",
    "http\u017f://issuer.example/",
    "https://i\u017f\u017fuer.example/",
]


@pytest.mark.parametrize("url", GOOD)
def test_keys_may_come_from_a_plain_address_that_is_private_on_its_way(url: str):
    assert objection_to(url) == ""
    JwtVerifier(issuer="https://issuer.example", audience="ours", jwks=url)


@pytest.mark.parametrize("url", BAD)
def test_an_address_in_the_clear_or_in_disguise_is_refused_at_the_start(url: str):
    assert objection_to(url)
    with pytest.raises(ConfigError, match="POLLUX_OIDC_ISSUER") as caught:
        JwtVerifier(issuer=url, audience="ours", jwks=None)
    assert "secret" not in str(caught.value)
    if "://" in url:
        with pytest.raises(ConfigError, match="POLLUX_OIDC_JWKS"):
            JwtVerifier(issuer="https://issuer.example", audience="ours", jwks=url)


def test_an_issuer_with_a_query_has_no_place_for_discovery():
    with pytest.raises(ConfigError, match="without a query"):
        JwtVerifier(issuer="https://issuer.example/?tenant=1", audience="ours", jwks=None)


def test_with_keys_of_its_own_place_the_issuer_need_not_be_an_address():
    JwtVerifier(issuer="accounts.example", audience="ours", jwks="https://keys.example/jwks")
