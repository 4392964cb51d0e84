"""What the provider suite works with: a provider beside its emulator, servers that misbehave, a table of faults."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, cast

from pollux.core.errors import ModelError, ModelErrorKind
from pollux.core.events import Stop
from pollux.core.messages import Message, user
from pollux.core.tools import ToolSpec
from pollux.emulator.server import Emulator
from pollux.engine.model import Done, ModelEvent, ModelRequest, Provider, Turns
from pollux.providers.refusals import NEVER

ADD = ToolSpec(
    "add",
    "Add two integers.",
    {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
        "required": ["a", "b"],
        "additionalProperties": False,
    },
)
COUNTING = "count to 12"
"""A prompt that the emulator answers in several chunks."""


@dataclass
class ProviderLab:
    """A provider under test. `connect` makes one for any base URL; `model` is one that the emulator knows."""

    emulator: Emulator
    connect: Callable[[str], Provider]
    model: str
    secret: str
    shows_thoughts: bool = True
    provider: Provider = field(init=False)

    def __post_init__(self) -> None:
        self.provider = self.connect(self.emulator.url)

    def request(self, *said: str | Message, fault: str = "", **settings: Any) -> ModelRequest:
        """A request of these messages, answered with this fault. Where silence is the fault, it is soon given up."""
        messages = [user(one) if isinstance(one, str) else one for one in said]
        idle = 1.0 if fault.startswith(("idle", "silent")) else 30.0
        waits: dict[str, Any] = {"idle_seconds": idle, "total_seconds": 60.0}
        model = f"{self.model}--{fault}" if fault else self.model
        return ModelRequest(model, Turns(messages), **(waits | settings))

    async def ask(self, *said: str | Message, fault: str = "", **settings: Any) -> "Answered":
        """Ask the emulator and take in everything that comes."""
        return await ask(self.provider, self.request(*said, fault=fault, **settings))

    @property
    def posts(self) -> int:
        """How many calls the emulator has seen, listings aside."""
        return sum(seen.method == "POST" for seen in self.emulator.requests)

    @property
    def last_body(self) -> bytes:
        """What was sent last."""
        return self.emulator.requests[-1].content


@dataclass(frozen=True)
class Answered:
    """Everything one call brought, and how it failed if it did."""

    events: tuple[ModelEvent, ...]
    error: ModelError | None = None

    @property
    def done(self) -> Done:
        """The Done, which must be the last event and the only one of its kind."""
        assert self.error is None, f"expected an answer, found {self.error.kind}: {self.error}"
        dones = [event for event in self.events if isinstance(event, Done)]
        assert len(dones) == 1 and self.events[-1] is dones[0], f"expected one Done, at the end: {self.events}"
        return dones[0]

    def of(self, kind: type) -> list[Any]:
        """The events of one kind, in order."""
        return [event for event in self.events if isinstance(event, kind)]


async def ask(provider: Provider, request: ModelRequest) -> Answered:
    """Take in a whole answer, within a minute, whatever becomes of it."""
    events: list[ModelEvent] = []
    async with asyncio.timeout(60):
        try:
            stream = cast("AsyncGenerator[ModelEvent]", provider.stream(request))
            async with aclosing(stream):
                async for event in stream:
                    events.append(event)
        except ModelError as error:
            return Answered(tuple(events), error)
    return Answered(tuple(events))


@dataclass(frozen=True)
class Fails:
    """The call raises ModelError of one of these kinds. `started` is for streams; a whole answer never started."""

    kinds: tuple[ModelErrorKind, ...]
    started: bool = False
    retry_after: float | None = None


@dataclass(frozen=True)
class Stops:
    """The call ends in Done."""

    stop: Stop


FAULTS: dict[str, Fails | Stops] = {
    "400": Fails(("bad_request",)),
    "401": Fails(("auth",)),
    "403": Fails(("auth",)),
    "404": Fails(("not_found",)),
    "429": Fails(("rate_limit",)),
    "429-retry2": Fails(("rate_limit",), retry_after=2),
    "429-quotaday": Fails(("rate_limit",), retry_after=NEVER),
    "500": Fails(("server",)),
    "502": Fails(("server",)),
    "503": Fails(("overloaded",)),
    "504": Fails(("server",)),
    "html": Fails(("server",)),
    "reset": Fails(("connection",)),
    "reset-mid-after4": Fails(("connection",), started=True),
    "truncated-after4": Fails(("connection",), started=True),
    "idle-after4": Fails(("timeout",), started=True),
    "silent": Fails(("timeout",)),
    "stream-error-after0": Fails(("overloaded", "server")),
    "stream-error-after4": Fails(("overloaded", "server"), started=True),
    "bad-json-after0": Fails(("protocol",)),
    "bad-json-after4": Fails(("protocol",), started=True),
    "half": Stops("truncated"),
    "slow-every5": Stops("end"),
    "split-utf8": Stops("end"),
    "lf": Stops("end"),
    "cr": Stops("end"),
    "crlf": Stops("end"),
    "comments": Stops("end"),
    "events": Stops("end"),
    "multi-line": Stops("end"),
    "malformed-call": Stops("bad_call"),
    "unexpected-call": Stops("bad_call"),
    "too-many-calls": Stops("bad_call"),
    "safety": Stops("blocked"),
    "recitation": Stops("blocked"),
    "block": Stops("blocked"),
    "max-tokens": Stops("length"),
    "unknown-reason": Stops("other"),
    "empty": Stops("empty"),
    "no-candidates": Stops("empty"),
    "unknown-part": Stops("end"),
    "huge": Stops("end"),
}
"""What must come of every fault that the emulator can inject."""

Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def serving(talk: Talk) -> AsyncGenerator[str]:
    """A server that speaks as told to every connection, at the address given. It hangs up when the block ends."""
    talking: set[asyncio.Task[None]] = set()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = cast("asyncio.Task[None]", asyncio.current_task())
        talking.add(task)
        try:
            await talk(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.close()
            talking.discard(task)

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    try:
        port = server.sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}"
    finally:
        server.close()
        for task in list(talking):
            task.cancel()
        await asyncio.gather(*talking)
        await server.wait_closed()


def saying(answer: bytes) -> Talk:
    """Read a request, say these bytes, hang up."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        await writer.drain()

    return talk


def http_answer(status: int, body: bytes, *headers: str) -> bytes:
    """An HTTP answer as bytes."""
    lines = [f"HTTP/1.1 {status} Scripted", f"Content-Length: {len(body)}", "Connection: close", *headers]
    return "\r\n".join([*lines, "", ""]).encode() + body
