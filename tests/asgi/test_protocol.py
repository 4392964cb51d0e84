"""Connections that say too little: they are not waited for."""

import asyncio
import json
from pathlib import Path

import pytest
from tests.http.scenes import Held, soon
from tests.http.site import Site, site
from tests.http.test_slow_readers import live
from tests.waiting import HANG_SECONDS, until

from pollux.asgi import bodies, protocol
from pollux.testing import chunks, scripted

BEGUN = b"POST /api/agent/run HTTP/1.1\r\nHost: 127.0.0.1\r\n"


async def said_by(url: str, *pieces: bytes) -> bytes:
    """What comes back until the other side hangs up."""
    reader, writer = await asyncio.open_connection("127.0.0.1", int(url.rpartition(":")[2]))
    try:
        for piece in pieces:
            writer.write(piece)
        return await asyncio.wait_for(reader.read(), HANG_SECONDS)
    finally:
        writer.close()


@pytest.mark.parametrize("begun", [b"", b"GE", BEGUN, BEGUN + b"X-Slow: a"])
async def test_a_head_that_does_not_come_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, begun: bytes
):
    monkeypatch.setattr(protocol, "HEAD_SECONDS", 0.2)
    async with site(tmp_path, scripted()) as here:
        answer = await said_by(here.url, begun)
    assert answer.startswith(b"HTTP/1.1 408 ") and b'"code":"timeout"' in answer


async def test_a_second_request_on_a_connection_is_not_waited_for_either(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    async with site(tmp_path, scripted()) as here:
        reader, writer = await asyncio.open_connection("127.0.0.1", int(here.url.rpartition(":")[2]))
        writer.write(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        async with asyncio.timeout(HANG_SECONDS):
            first = await reader.readuntil(b"}")
            # From here on: the first head had all the time that it needed.
            monkeypatch.setattr(protocol, "HEAD_SECONDS", 0.2)
            writer.write(BEGUN)
            second = await reader.read()
        writer.close()
    assert first.startswith(b"HTTP/1.1 200 ") and second.startswith(b"HTTP/1.1 408 ")


async def test_a_body_that_trickles_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(bodies, "BODY_SECONDS", 0.2)
    async with site(tmp_path, scripted()) as here:
        token = here.ada.headers["Authorization"].encode()
        head = BEGUN + b"Authorization: " + token + b"\r\nContent-Length: 100\r\n\r\n"
        answer = await said_by(here.url, head, b'{"prompt":')
    assert answer.startswith(b"HTTP/1.1 408 ") and b"the body was not whole" in answer


async def test_an_answer_that_takes_long_is_not_cut_short_by_that(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    step = Held(chunks(["Hello."]))
    async with site(tmp_path, scripted(step)) as here:
        # The connection is there already: the head that comes on it is whole with its first byte.
        await here.ada.get("/healthz")
        monkeypatch.setattr(protocol, "HEAD_SECONDS", 0.1)
        asking = asyncio.create_task(here.ada.run("hello"))
        await soon(step.asked)
        # One that came later is not waited for any more.
        assert (await said_by(here.url, b"GE")).startswith(b"HTTP/1.1 408 ")
        step.let_go.set()
        assert (await asking)["summary"] == "Hello."


async def test_a_body_that_trickles_behind_a_refusal_is_not_waited_for_either(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(bodies, "BODY_SECONDS", 0.2)
    async with site(tmp_path, scripted()) as here:
        answer = await said_by(here.url, BEGUN + b"Content-Length: 100\r\n\r\n", b'{"prompt":')
    assert answer.startswith(b"HTTP/1.1 401 ")


@pytest.mark.parametrize("version", [b"1.0", b"1.1"])
async def test_a_caller_is_asked_for_a_sign_where_nothing_else_is_being_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: bytes
):
    monkeypatch.setattr(protocol, "PROBE_SECONDS", 0.01)
    steps = [Held(chunks(["Hello"])), Held(chunks(["Again"]))]
    async with site(tmp_path, scripted(*steps)) as here:
        token, body = here.ada.headers["Authorization"].encode(), b'{"prompt": "hi"}'
        head = b"POST /api/agent/run HTTP/%b\r\nHost: 127.0.0.1\r\nAuthorization: %b\r\nContent-Length: %d\r\n\r\n"
        request = head % (version, token, len(body)) + body
        reader, writer = await asyncio.open_connection("127.0.0.1", int(here.url.rpartition(":")[2]))
        # The second one waits for its turn.
        writer.write(request if version == b"1.0" else request * 2)
        writer.write_eof()
        await soon(steps[0].asked)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(reader.readexactly(1), 0.2)
        for step in steps[: 1 if version == b"1.0" else 2]:
            await soon(step.asked)
            step.let_go.set()
        answer = await asyncio.wait_for(reader.read(), HANG_SECONDS)
        writer.close()
    assert answer.startswith(b"HTTP/1.1 200 ") and b"Hello" in answer and b"Hello" in answer.partition(b"100 Cont")[0]


async def test_a_caller_who_says_no_more_still_gets_the_answer(tmp_path: Path):
    step = Held(chunks(["Hello", " there."]))
    async with site(tmp_path, scripted(step)) as here:
        reader, writer = await asyncio.open_connection("127.0.0.1", int(here.url.rpartition(":")[2]))
        token, body = here.ada.headers["Authorization"].encode(), b'{"prompt": "hi"}'
        head = b"POST /api/agent/run HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: %b\r\nContent-Length: %d\r\n\r\n"
        writer.write(head % (token, len(body)) + body)
        writer.write_eof()
        await soon(step.asked)
        step.let_go.set()
        answer = await asyncio.wait_for(reader.read(), HANG_SECONDS)
        writer.close()
    assert b"HTTP/1.1 200 " in answer and b" there." in answer


async def test_a_caller_who_says_no_more_gets_the_rest_of_a_stream_that_has_begun(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(protocol, "PROBE_SECONDS", 0.01)
    step = Held(chunks(["Hello", " there."]))
    async with site(tmp_path, scripted(step)) as here:
        reader, writer = await asking_for_a_stream(here)
        begun = await asyncio.wait_for(reader.readuntil(b"}\n\r\n"), HANG_SECONDS)
        writer.write_eof()
        # Every look at a reader who has said no more, and more, before anything else is told.
        looked = Looked(monkeypatch)
        await until(lambda: looked.often(100))
        step.let_go.set()
        rest = await asyncio.wait_for(reader.read(), HANG_SECONDS)
        writer.close()
    lines = [json.loads(line) for line in unchunked(begun + rest)]
    assert [line["type"] for line in lines] == ["status", "delta", "delta", "result"]
    assert lines[-1]["result"]["summary"] == "Hello there."


async def test_one_who_says_no_more_and_then_leaves_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(protocol, "PROBE_SECONDS", 0.01)
    step = Held(chunks(["Hello."]))
    async with site(tmp_path, scripted(step)) as here:
        reader, writer = await asking_for_a_stream(here)
        await asyncio.wait_for(reader.readuntil(b"}\n\r\n"), HANG_SECONDS)
        writer.write_eof()
        looked = Looked(monkeypatch)
        await until(lambda: looked.often(4))
        assert live() == 1
        writer.close()
        await until(lambda: live() == 0)
        step.let_go.set()


async def test_a_stream_that_is_cut_is_no_end_for_one_who_says_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Some clients take a zero without a line's end, and then the end of the connection, for the last chunk."""
    monkeypatch.setattr(protocol, "PROBE_SECONDS", 0.01)
    step, connections = Held(chunks(["Hello."])), list[asyncio.Transport]()
    made = protocol.Bounded.connection_made

    def make(bounded: protocol.Bounded, transport: asyncio.Transport) -> None:
        connections.append(transport)
        made(bounded, transport)

    monkeypatch.setattr(protocol.Bounded, "connection_made", make)
    async with site(tmp_path, scripted(step)) as here:
        reader, writer = await asking_for_a_stream(here)
        await asyncio.wait_for(reader.readuntil(b"}\n\r\n"), HANG_SECONDS)
        writer.write_eof()
        assert await asyncio.wait_for(reader.readexactly(1), HANG_SECONDS) == b"0"
        # As uvicorn does where an answer fails in the middle.
        connections[-1].close()
        with pytest.raises(ConnectionResetError):
            await asyncio.wait_for(reader.read(), HANG_SECONDS)
        writer.close()
        step.let_go.set()


class Looked:
    """Counts how often the server looks whether a caller still listens."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._times = 0
        looking = protocol.Bounded._probe  # pyright: ignore[reportPrivateUsage]

        def look(bounded: protocol.Bounded) -> None:
            self._times += 1
            looking(bounded)

        monkeypatch.setattr(protocol.Bounded, "_probe", look)

    def often(self, times: int) -> bool:
        return self._times >= times


async def asking_for_a_stream(here: Site) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    reader, writer = await asyncio.open_connection("127.0.0.1", int(here.url.rpartition(":")[2]))
    token, body = here.ada.headers["Authorization"].encode(), b'{"prompt": "hi"}'
    head = b"POST /api/agent/run/stream HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: %b\r\nContent-Length: %d\r\n\r\n"
    writer.write(head % (token, len(body)) + body)
    return reader, writer


def unchunked(answer: bytes) -> list[bytes]:
    """The lines of an answer in chunks, as a client that keeps to the standard reads them."""
    rest, body = answer.partition(b"\r\n\r\n")[2], b""
    while True:
        size, _, rest = rest.partition(b"\r\n")
        # Some clients take no more than sixteen digits.
        assert len(size) <= 16
        if not int(size, 16):
            assert rest == b"\r\n"
            return body.splitlines()
        body, rest = body + rest[: int(size, 16)], rest[int(size, 16) + 2 :]
