"""A model that always has an answer and a tool that takes anything, for tests that ask at random; and raw requests."""

import asyncio
import json
from collections.abc import AsyncIterator, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from tests.waiting import HANG_SECONDS, own_time

from pollux.core.tools import ToolSpec
from pollux.engine.model import ModelEvent, ModelRequest
from pollux.providers.scripted import ScriptedProvider, call, chunks
from pollux.tools.define import Args, FunctionTool

LONGEST = 5.0
"""No answer may take longer, in seconds of `own_time`: how busy the machine is does not count."""
NO_MORE = b""
"""As the last piece of a request: nothing else comes, although the server may wait for it."""
FENCE = b"GET /readyz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
"""A request that goes as far as the store: it is answered after what was sent before it has been read."""


class Endless(ScriptedProvider):
    """Calls `note` for a prompt that begins with "ask", and answers any other."""

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        last = request.turns[-1]
        is_asked = last.role == "user" and last.text.startswith("ask")
        step = call("note", {"to": last.text}) if is_asked else chunks(["Do", "ne."])
        async for event in ScriptedProvider(step).stream(request):
            yield event


def note() -> FunctionTool:
    """A tool that asks first, takes any arguments and gives them back."""
    spec = ToolSpec("note", "Keep a note.", {"type": "object"}, side_effect=True, repeat="repeatable")

    def keep(context: object, args: Args) -> Args:
        return args

    return FunctionTool(spec, keep, subjects=lambda args: frozenset({str(args.get("to"))[:100]}))


@dataclass(frozen=True)
class Reply:
    """One answer as it came."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def error(self) -> dict[str, Any]:
        """What an error of ours says. Raises AssertionError where it has another shape."""
        assert self.headers["content-type"] == "application/json", self
        told = json.loads(self.body)
        assert told["ok"] is False, self
        assert all(isinstance(told["error"][name], str) for name in ("code", "message", "correlationId")), self
        return told["error"]


@contextmanager
def short_work() -> Generator[None]:
    """Raises AssertionError where an answer of this process took longer than it may."""
    begun = own_time()
    yield
    spent = own_time() - begun
    assert spent < LONGEST, f"{spent:.1f} s for one request"


async def exchange(port: int, *pieces: bytes) -> list[Reply]:
    """What comes back for these bytes, until the server hangs up."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    heard = bytearray()

    async def hear() -> None:
        while piece := await reader.read(1 << 16):
            heard.extend(piece)

    receiving = asyncio.ensure_future(hear())
    try:
        async with asyncio.timeout(HANG_SECONDS):
            with suppress(ConnectionError):  # Refused before it was all said.
                for piece in pieces:
                    if piece == NO_MORE:
                        # Whatever it has to say before it hears that there is no more, it may say.
                        await exchange(port, FENCE)
                        writer.write_eof()
                        break
                    writer.write(piece)
                    await writer.drain()
                await receiving
                return replies_in(bytes(heard))
            return []
    finally:
        receiving.cancel()
        await asyncio.wait({receiving})
        writer.transport.abort()


def replies_in(data: bytes) -> list[Reply]:
    """The answers that these bytes hold, one after the other."""
    found: list[Reply] = []
    while data:
        head, _, data = data.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        if headers.get("transfer-encoding") == "chunked":
            body, data = _chunks(data)
        else:
            size = int(headers.get("content-length", 0 if first[9] == "1" else len(data)))
            body, data = data[:size], data[size:]
        found.append(Reply(int(first[9:12]), headers, body))
    return found


def _chunks(data: bytes) -> tuple[bytes, bytes]:
    whole = b""
    while True:
        size, _, data = data.partition(b"\r\n")
        length = int(size or b"0", 16)
        whole, data = whole + data[:length], data[length + 2 :]
        if not length:
            return whole, data
