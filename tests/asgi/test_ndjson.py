"""The one writer of streams: lines leave one by one, and a reader who stalls or leaves harms nobody."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from starlette.types import Message, Receive, Scope, Send
from tests.http.site import settings_in
from tests.waiting import HANG_SECONDS

from pollux.asgi.listening import listening
from pollux.asgi.ndjson import NDJSON, SSE, Lines


class Client:
    """One side of ASGI: takes what is sent, and may leave or stop reading."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.left = asyncio.Event()
        self.reads = asyncio.Event()
        self.reads.set()

    async def receive(self) -> Message:
        await self.left.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        await self.reads.wait()
        self.messages.append(message)

    @property
    def text(self) -> bytes:
        return b"".join(message.get("body", b"") for message in self.messages)

    def read(self, lines: Lines) -> "asyncio.Task[None]":
        return asyncio.create_task(lines({"type": "http"}, self.receive, self.send))


class Source:
    """Lines from a generator that knows whether it was closed."""

    def __init__(self, *, wait_after: int | None = None, most: int = 5) -> None:
        self.most = most
        self.wait_after = wait_after
        self.made = 0
        self.closed = asyncio.Event()
        self.waiting = asyncio.Event()

    async def lines(self) -> AsyncGenerator[bytes]:
        try:
            while self.made < self.most:
                if self.made == self.wait_after:
                    self.waiting.set()
                    await asyncio.Event().wait()
                self.made += 1
                yield b"%d\n" % self.made
        finally:
            self.closed.set()


async def test_lines_leave_one_by_one_with_the_headers_of_a_stream():
    client, source = Client(), Source(most=3)
    await client.read(Lines(source.lines()))
    start, *bodies = client.messages
    headers = dict(start["headers"])
    assert (headers[b"content-type"], headers[b"cache-control"]) == (NDJSON.encode(), b"no-store, no-transform")
    assert [(body["body"], body["more_body"]) for body in bodies] == [
        (b"1\n", True), (b"2\n", True), (b"3\n", True), (b"", False)
    ]  # fmt: skip
    assert source.closed.is_set()


async def test_another_kind_of_stream_says_so():
    client = Client()
    await client.read(Lines(Source().lines(), media_type=SSE, headers={"x-more": "1"}))
    headers = dict(client.messages[0]["headers"])
    assert (headers[b"content-type"], headers[b"x-more"]) == (SSE.encode(), b"1")


async def test_a_reader_who_leaves_closes_the_source_that_waits():
    client, source = Client(), Source(wait_after=2)
    answering = client.read(Lines(source.lines()))
    await source.waiting.wait()
    client.left.set()
    await asyncio.wait_for(answering, HANG_SECONDS)
    assert source.closed.is_set() and client.text == b"1\n2\n"


async def test_a_reader_who_leaves_while_a_line_waits_closes_the_source():
    client, source = Client(), Source()
    client.reads.clear()
    answering = client.read(Lines(source.lines()))
    await asyncio.sleep(0)
    client.left.set()
    await asyncio.wait_for(answering, HANG_SECONDS)
    assert client.messages == []


async def test_a_reader_who_does_not_read_is_left_after_a_while(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("pollux.asgi.ndjson.WRITE_SECONDS", 0.05)
    client, source = Client(), Source(most=1000)
    answering = client.read(Lines(source.lines()))
    # A busy machine may keep the first lines as long as that.
    while source.made < 10 and not source.closed.is_set():
        await asyncio.sleep(0)
    client.reads.clear()
    await asyncio.wait_for(source.closed.wait(), HANG_SECONDS)
    client.left.set()
    await asyncio.wait_for(answering, HANG_SECONDS)
    assert source.made < 1000


async def test_a_source_that_never_waits_lets_others_have_their_turn():
    client, source = Client(), Source(most=100_000)
    answering = client.read(Lines(source.lines()))
    for _ in range(100):
        await asyncio.sleep(0)
    # Whoever else is here came to their turn a hundred times while the source was still far from its end.
    assert 0 < source.made < 1000
    client.left.set()
    await asyncio.wait_for(answering, HANG_SECONDS)
    assert source.closed.is_set()


async def test_a_source_that_fails_fails_the_answer():
    async def broken() -> AsyncGenerator[bytes]:
        yield b"1\n"
        raise KeyError("broken")

    client = Client()
    with pytest.raises(KeyError):
        await client.read(Lines(broken()))
    assert client.text == b"1\n"


async def test_a_source_that_runs_out_of_time_is_not_taken_for_a_reader_who_does():
    async def late() -> AsyncGenerator[bytes]:
        yield b"1\n"
        raise TimeoutError

    with pytest.raises(TimeoutError):
        await Client().read(Lines(late()))


async def test_whoever_is_cancelled_closes_the_source():
    client, source = Client(), Source(wait_after=1)
    answering = client.read(Lines(source.lines()))
    await source.waiting.wait()
    answering.cancel()
    with pytest.raises(asyncio.CancelledError):
        await answering
    assert source.closed.is_set()


def streaming(source: Callable[[], AsyncGenerator[bytes]]) -> Callable[[Scope, Receive, Send], Any]:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await Lines(source())(scope, receive, send)

    return app


async def test_a_connection_that_is_never_read_is_gone_after_a_while(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    monkeypatch.setattr("pollux.asgi.ndjson.WRITE_SECONDS", 0.05)
    # What it waited for at its end it would wait for longer than this test does.
    monkeypatch.setattr("pollux.asgi.listening.LAST_SECONDS", 10_000)
    closed = asyncio.Event()

    async def endless() -> AsyncGenerator[bytes]:
        try:
            while True:
                yield b"x" * 65_536
        finally:
            closed.set()

    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(listening(streaming(endless), settings_in(tmp_path)))
        _, writer = await asyncio.open_connection("127.0.0.1", urlsplit(server.url).port, limit=1)
        try:
            writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            await asyncio.wait_for(closed.wait(), HANG_SECONDS)
            # The server has nothing to wait for any more, although its last words were never read.
            async with asyncio.timeout(HANG_SECONDS):
                await stack.aclose()
        finally:
            writer.transport.abort()
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []
