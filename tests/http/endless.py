"""A model that always has an answer and a tool that takes anything, for tests that ask at random; and raw requests."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from pollux.core.tools import ToolSpec
from pollux.engine.model import ModelEvent, ModelRequest
from pollux.providers.scripted import ScriptedProvider, call, chunks
from pollux.tools.define import Args, FunctionTool

LONGEST = 5.0
"""No answer may take longer, in seconds."""
QUIET = 1.0
"""After so many seconds of silence the other side is taken to wait for us."""


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


async def exchange(port: int, *pieces: bytes, quiet: float = QUIET) -> list[Reply]:
    """What comes back for these bytes, until the server hangs up."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    heard = bytearray()

    async def hear() -> None:
        while piece := await reader.read(1 << 16):
            heard.extend(piece)

    receiving = asyncio.ensure_future(hear())
    try:
        async with asyncio.timeout(LONGEST + quiet):
            with suppress(ConnectionError):  # Refused before it was all said.
                for piece in pieces:
                    writer.write(piece)
                    await writer.drain()
                before = -1
                while not receiving.done() and len(heard) > before:
                    before = len(heard)
                    await asyncio.wait({receiving}, timeout=quiet)
                if not receiving.done():
                    # It waits for more: say that there is none.
                    writer.write_eof()
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
