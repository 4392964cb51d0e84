"""Bad input never gives a 5xx: whatever the bytes are, the answer is a refusal in our shape, soon, and all is well."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec
import pytest
from tests.http.endless import Endless, Reply, exchange, note, short_work
from tests.http.junk import BODIES, QUERIES, VALUES, bodies_for, head, raw_requests
from tests.http.site import TOKENS, Site, site
from tests.waiting import HANG_SECONDS

from pollux.asgi.endpoint import Endpoint
from pollux.asgi.protocol import LARGEST_HEAD
from pollux.http.table import ENDPOINTS
from pollux.stores.sqlite import SqliteStore

AUTH = f"Authorization: Bearer {TOKENS['ada']}"
CLOSE = "Connection: close"
CHUNKED = head("POST", "/api/agent/run", AUTH, "Transfer-Encoding: chunked")
ENDLESS = {
    "a path": b"GET /",
    "a value": b"GET / HTTP/1.1\r\nX: ",
    "a name": b"GET / HTTP/1.1\r\nX",
    "a trailer": CHUNKED + b"0\r\nX: ",
    "an extension": CHUNKED + b"1;",
}
WRITING = [row for row in ENDPOINTS if row.takes_body]
SEARCHING = [row for row in ENDPOINTS if row.query]
NEVER = BODIES.keys() - {"a mebibyte"}
"""Bodies that no route may take."""
SMUGGLED = (
    "two lengths", "two lengths that differ", "a list of lengths", "a length too long", "a length and chunks",
    "chunks and a length", "coding 'chunked, chunked'", "coding 'xchunked'", "coding 'chunked, gzip'", "two codings",
    "a chunk too long", "a chunk with bare line feeds", "bare line feeds", "header 'X : a'", "header ' X: a'",
)  # fmt: skip
"""What one server reads as one request and another as two."""


@asynccontextmanager
async def sound_site(path: Path, caplog: pytest.LogCaptureFixture) -> AsyncGenerator[Site]:
    """A server that must be well afterwards, and must have met nothing that it did not foresee."""
    caplog.set_level(logging.INFO)
    store = SqliteStore(path / "pollux.db", key=b"k" * 32)
    async with site(path, Endless(), tools=[note()], store=store, burst=10**6, requests_per_minute=10**9) as here:
        yield here
        assert (await here.nobody.get("/healthz")).status == 200
        assert (await here.ada.run("are you well?"))["summary"] == "Done."
    assert [record for record in caplog.records if record.levelno >= logging.ERROR or record.exc_info] == []


async def sent(here: Site, *pieces: bytes) -> list[Reply]:
    """The answers to these bytes. None is a 5xx, none takes long, and each error has our shape."""
    with short_work():
        replies = await exchange(urlsplit(here.url).port or 0, *pieces)
    for reply in replies:
        assert reply.status < 500, (pieces, reply)
        if reply.status >= 400 and reply.body:
            assert reply.error["code"] not in ("internal", "error"), (pieces, reply)
    return replies


async def all_sent(here: Site, requests: Mapping[str, tuple[bytes, ...]]) -> dict[str, list[Reply]]:
    """The same for many, one by one: what the server works on is then this one."""
    return {name: await sent(here, *pieces) for name, pieces in requests.items()}


class Ids:
    """Ids of the kind that a route asks for, still good for something."""

    def __init__(self, here: Site) -> None:
        self._here = here
        self._run: dict[str, Any] = {}

    async def for_path(self, path: str) -> str:
        """One for this route."""
        if not self._run:
            self._run = await self._here.ada.run("ask first")
        match path.removeprefix("/api/agent/").split("/")[0]:
            case "threads":
                return self._run["threadId"]
            case "runs":
                return self._run["runId"]
            case "actions":
                return self._run["actions"][-1]["id"]
            case _:
                return self._run["approvals"][0]["id"]

    def see(self, reply: Reply) -> None:
        """What was answered may have used an id up."""
        if reply.status in (200, 201, 409):
            self._run = {}


def test_there_are_more_than_a_hundred_bodies():
    assert len(BODIES) + len(VALUES) > 100


@pytest.mark.slow
@pytest.mark.parametrize("row", WRITING, ids=lambda row: f"{row.method} {row.path}")
async def test_no_body_breaks_a_route(row: Endpoint, tmp_path: Path, caplog: pytest.LogCaptureFixture):
    async with sound_site(tmp_path, caplog) as here:
        ids = Ids(here)
        for name, body in bodies_for(row.path):
            known = await ids.for_path(row.path)
            body = body.replace(b"ID", known.encode())
            begun = head(row.method, row.path.replace("{id}", known), AUTH, CLOSE, f"Content-Length: {len(body)}")
            [reply] = await sent(here, begun, body)
            ids.see(reply)
            if name in NEVER and row.body is not None:
                assert reply.status in (400, 413), (name, reply)


@pytest.mark.slow
async def test_no_request_breaks_the_server(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    async with sound_site(tmp_path, caplog) as here:
        answers = await all_sent(here, dict(raw_requests(AUTH)))
        runs = (await here.ada.get("/api/agent/runs?limit=100")).body["items"]
    told = {name: [reply.status for reply in replies] for name, replies in answers.items()}
    assert len(told) > 1000 and runs
    for name in SMUGGLED:
        assert told[name] in ([400], []), name
    assert told["one after the other"] == [200, 200, 200]
    assert told["a hundred at once"] == [200] * 101
    assert told["one after a refusal"] == [404, 200, 200]
    assert told["a request inside a body"] == [400]
    assert told["Expect"] == [100, 200]
    assert told["Expect too much"] == [413]
    assert told["too much in chunks"] == [413]
    assert told["chunks"] == told["byte by byte"] == told["HTTP/1.0 with a host"] == [200]
    assert all(
        reply.status != 200 for name, replies in answers.items() if name.startswith("Host: ") for reply in replies
    )


@pytest.mark.parametrize("row", SEARCHING, ids=lambda row: f"{row.method} {row.path}")
async def test_no_query_breaks_a_route(row: Endpoint, tmp_path: Path, caplog: pytest.LogCaptureFixture):
    assert row.query is not None
    names = [field.encode_name for field in msgspec.structs.fields(row.query)]
    async with sound_site(tmp_path, caplog) as here:
        ended = await here.ada.run("say something")
        known = {"threads": ended["threadId"], "runs": ended["runId"]}.get(row.path.split("/")[-2], "none")
        body = b'{"approvalId": "none", "decision": "reject"}'
        lines = (AUTH, CLOSE, f"Content-Length: {len(body)}")
        path = row.path.replace("{id}", known)
        targets = [f"{path}?{name}={value.replace('X', name)}" for name in names for value in QUERIES]
        await all_sent(here, {target: (head(row.method, target, *lines) + body,) for target in targets})


@pytest.mark.parametrize("begun", ENDLESS.values(), ids=list(ENDLESS))
async def test_a_head_without_end_is_cut_off(begun: bytes, tmp_path: Path, caplog: pytest.LogCaptureFixture):
    piece = b"a" * 65_536
    async with sound_site(tmp_path, caplog) as here:
        pieces = 100 * LARGEST_HEAD // len(piece)
        assert await taken(here, begun, piece, pieces) < pieces


async def taken(here: Site, begun: bytes, piece: bytes, most: int) -> int:
    """How often a piece can be sent before the server hangs up."""
    _, writer = await asyncio.open_connection("127.0.0.1", urlsplit(here.url).port)
    writer.write(begun)
    count = 0
    try:
        while count < most:
            writer.write(piece)
            await asyncio.wait_for(writer.drain(), HANG_SECONDS)
            count += 1
    except ConnectionError:
        pass
    finally:
        writer.transport.abort()
    return count
