"""Readers who stall or vanish harm nobody: they hold no copies, are noticed when they go, and stop no run.

The large version, with its figures, is `make bench-http`.
"""

import asyncio
import gc
import json
import socket
import struct
import tracemalloc
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from tests.http.scenes import Held, only_run, settled
from tests.http.site import TOKENS, Site, site
from tests.waiting import HANG_SECONDS, until

from pollux.core.messages import Message, Text
from pollux.engine.model import Done, ModelEvent, ModelRequest, TextDelta
from pollux.providers.scripted import ScriptedProvider
from pollux.testing import reply
from pollux.testing import scripted as model

MIB = 1 << 20
PIECE = 16_384
READERS = 20
STREAM = "/api/agent/run/stream"


class Flood(ScriptedProvider):
    """A model that says its first word, and when it is let go very much more."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.let_go = asyncio.Event()
        self._pieces = size // PIECE

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        yield TextDelta("x")
        await self.let_go.wait()
        for _ in range(self._pieces):
            yield TextDelta("x" * PIECE)
            await asyncio.sleep(0)
        yield Done("end", Message("assistant", (Text("x" * (1 + self._pieces * PIECE)),)))


class Restless(ScriptedProvider):
    """A model that never waits while it speaks."""

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        count = int(request.turns[-1].text)
        for _ in range(count):
            yield TextDelta("word ")
        yield Done("end", Message("assistant", (Text("word " * count),)))


class Reader:
    """A client on a connection of its own, with little room for what it does not read."""

    def __init__(self, here: Site) -> None:
        self._address = ("127.0.0.1", urlsplit(here.url).port)
        self._socket = socket.socket()
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self._socket.setblocking(False)

    async def ask(self, method: str, path: str, body: object = None) -> None:
        """Send a request, and read the first line of its answer and no more."""
        loop, content = asyncio.get_running_loop(), json.dumps(body).encode() if body else b""
        await loop.sock_connect(self._socket, self._address)
        head = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {TOKENS['ada']}\r\n"
        await loop.sock_sendall(self._socket, f"{head}Content-Length: {len(content)}\r\n\r\n".encode() + content)
        read = b""
        async with asyncio.timeout(HANG_SECONDS):
            while b'{"type"' not in read:
                read += await loop.sock_recv(self._socket, 512)
        assert read.startswith(b"HTTP/1.1 200 "), read

    def leave(self, manner: str) -> None:
        """By closing, at once or after saying no more, or as a machine that lost its power and came back."""
        if manner == "reset":
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        elif manner == "half":
            self._socket.shutdown(socket.SHUT_WR)
        self._socket.close()

    def close(self) -> None:
        self._socket.close()


@asynccontextmanager
async def readers(here: Site, count: int) -> AsyncGenerator[list[Reader]]:
    made = [Reader(here) for _ in range(count)]
    try:
        yield made
    finally:
        for reader in made:
            reader.close()


def live() -> int:
    """How many requests are being answered in this loop."""
    running = (task.get_coro() for task in asyncio.all_tasks())
    return sum(getattr(each, "__qualname__", "") == "RequestResponseCycle.run_asgi" for each in running)


async def nobody_is_served() -> None:
    await until(lambda: live() == 0)


async def held_by(path: Path, stalled: int) -> int:
    """How many bytes this process holds more, when a run has said four MiB and so many readers have read none of it."""
    flood = Flood(4 * MIB)
    async with site(path, flood) as here:
        async with here.ada.open("POST", STREAM, {"prompt": "much"}) as response:
            run_id = json.loads(await response.content.readline())["runId"]
            response.close()
        await nobody_is_served()
        async with readers(here, stalled) as followers:
            for follower in followers:
                await follower.ask("GET", f"/api/agent/runs/{run_id}/events")
            assert live() == stalled
            gc.collect()
            tracemalloc.start()
            try:
                flood.let_go.set()
                run = await settled(here, run_id)
                assert run.ending is not None and len(run.text) > 4 * MIB
                assert live() == stalled
                gc.collect()
                return tracemalloc.get_traced_memory()[0]
            finally:
                tracemalloc.stop()


@pytest.mark.slow
async def test_readers_who_stall_hold_no_copies_of_what_they_have_not_read(tmp_path: Path):
    alone, beside = await held_by(tmp_path / "alone", 0), await held_by(tmp_path / "beside", READERS)
    # A copy for each would be eighty MiB. What waits for one reader is a line and what its connection takes.
    assert beside - alone < 12 * MIB, (alone, beside)


@pytest.mark.parametrize("manner", ["reset", "close", "half"])
async def test_readers_who_vanish_leave_no_stream_behind_and_stop_no_run(tmp_path: Path, manner: str):
    step = Held(reply("Hello."))
    async with site(tmp_path, model(*[step] * READERS)) as here, readers(here, READERS) as vanishing:
        await asyncio.gather(*(reader.ask("POST", STREAM, {"prompt": "hello"}) for reader in vanishing))
        assert live() == READERS
        for reader in vanishing:
            reader.leave(manner)
        await nobody_is_served()
        step.let_go.set()

        async def is_done() -> bool:
            rows = (await here.ada.get("/api/agent/runs?limit=25")).body["items"]
            return [row["state"] for row in rows] == ["completed"] * READERS

        await until(is_done)


@pytest.mark.parametrize("manner", ["reset", "close"])
async def test_a_reader_who_stalled_before_it_vanished_is_noticed_too(tmp_path: Path, manner: str):
    flood = Flood(8 * MIB)
    async with site(tmp_path, flood) as here, readers(here, 1) as (reader,):
        await reader.ask("POST", STREAM, {"prompt": "much"})
        flood.let_go.set()
        await settled(here, (await only_run(here.ada))["runId"])
        assert live() == 1
        reader.leave(manner)
        await nobody_is_served()


async def test_another_user_is_answered_while_readers_stall(tmp_path: Path):
    # More than the kernel keeps for a reader: else nobody would notice that nothing is read.
    flood = Flood(8 * MIB)
    async with site(tmp_path, flood) as here, readers(here, 3) as stalled:
        for reader in stalled:
            await reader.ask("POST", STREAM, {"prompt": "much"})
        flood.let_go.set()
        assert len((await here.bob.run("and me"))["summary"]) > 8 * MIB
        assert live() == len(stalled)


async def test_another_user_is_answered_beside_a_model_that_never_waits(tmp_path: Path):
    lines: list[dict[str, Any]] = []
    async with site(tmp_path, Restless()) as here:

        async def listen() -> None:
            async with here.ada.open("POST", STREAM, {"prompt": "100000"}) as response:
                async for line in response.content:
                    lines.append(json.loads(line))

        listening = asyncio.create_task(listen())
        await until(lambda: len(lines) > 2)
        async with asyncio.timeout(HANG_SECONDS):
            assert (await here.bob.run("1"))["summary"] == "word "
        assert not listening.done()
        await listening
        assert sum(len(line["delta"]) for line in lines if line["type"] == "delta") == 500_000
