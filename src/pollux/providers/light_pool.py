"""Connections of the light HTTP client: one answer at a time on each, and kept for the next one where that is safe.

The law: bytes answer the request that is under way, or nobody. A connection that brings anything else is closed.
"""

import asyncio
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple, cast

import httptools

from pollux.core.errors import ModelError

if TYPE_CHECKING:
    from ssl import SSLContext

MAX_HEAD = 64 * 1024
"""No head of an answer may be larger, nor what stands between two pieces of its body."""

MAX_UNREAD = 1024 * 1024
"""Above this the server has to wait until somebody reads."""

MAX_REST_SECONDS = 30.0
"""A connection that rested longer is not used again: many a box on the way forgets it without saying so."""

CODING = b"content-encoding"
CODING_LENGTH = len(CODING)

# The second address of a host gets its chance this soon, so that broken IPv6 does not cost the whole time-out.
_NEXT_ADDRESS_SECONDS = 0.25


class Origin(NamedTuple):
    """Where connections lead. `label` is what people are shown: the address without a user's name or key."""

    host: str
    port: int
    is_tls: bool
    label: str


class Connection(asyncio.Protocol):
    """One socket and the answer that is arriving on it."""

    __slots__ = (
        "_between", "_is_paused", "_parser", "_pool", "_raw", "_size", "complete", "failure", "heard", "keep", "origin",
        "pieces", "rested", "status", "transport", "waiter",
    )  # fmt: skip

    def __init__(self, pool: "Pool", origin: Origin) -> None:
        self._pool = pool
        self._parser = httptools.HttpResponseParser(self)
        self._is_paused = False
        self.origin = origin
        self.rested = 0.0
        self.waiter: asyncio.Future[None] | None = None
        self.failure: ModelError | None = None
        self.begin()

    def begin(self) -> None:
        """Forget the last answer and await the next."""
        self.status = 0
        self._raw: list[tuple[bytes, bytes]] = []
        self.pieces: list[bytes] = []
        self.heard = self.complete = self.keep = False
        self._size = self._between = 0

    def take(self) -> bytes:
        """What has arrived of the body; empty at its end, or when nothing is there yet. Raises ModelError."""
        pieces = self.pieces
        if not pieces:
            if self.failure is not None:
                raise self.failure
            return b""
        arrived = pieces[0] if len(pieces) == 1 else b"".join(pieces)
        pieces.clear()
        self._size = 0
        if self._is_paused:
            self._is_paused = False
            self.transport.resume_reading()
        return arrived

    @property
    def head(self) -> dict[bytes, bytes]:
        """The headers by their names in lower case; those that came several times are joined."""
        found: dict[bytes, bytes] = {}
        for name, value in self._raw:
            key = name.lower()
            found[key] = value if key not in found else found[key] + b", " + value
        return found

    @property
    def coding(self) -> bytes:
        """How the body is compressed."""
        for name, value in self._raw:
            if len(name) == CODING_LENGTH and name.lower() == CODING:
                return value
        return b"identity"

    def fail(self, error: ModelError) -> None:
        """Give up on the answer, unless all of it is here."""
        if not self.complete and self.failure is None:
            self.failure = error
            self._wake()
            self.transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)
        self._pool.live.add(self)

    def data_received(self, data: bytes) -> None:
        if self.complete:
            self.transport.abort()
            return
        self.heard = True
        size = self._size
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            # After the end of the answer, more bytes spoil the connection and not the answer.
            self.keep = False
            self.fail(ModelError(f"{self.origin.label} did not answer in HTTP", kind="protocol"))
            self._wake()
            return
        self._between = self._between + len(data) if self._size == size else 0
        if self._between > MAX_HEAD:
            self.fail(ModelError(f"{self.origin.label} sent headers without end", kind="protocol"))
        if self._size > MAX_UNREAD and not self._is_paused and not self.complete:
            self._is_paused = True
            self.transport.pause_reading()
        if self.status:
            self._wake()

    def eof_received(self) -> None:
        if self.status and self._ends_by_closing():
            self.complete = True
            self._wake()
        self._break_off()

    def connection_lost(self, exc: Exception | None) -> None:
        self._pool.lose(self)
        self._break_off()

    def on_message_begin(self) -> None:
        if self.complete:
            raise ValueError("a second answer to one request")

    def on_header(self, name: bytes, value: bytes) -> None:
        # Kept as they come, a dozen with every answer: hardly any is ever asked for. What follows a body may not change
        # what its head has said.
        if not self.status:
            self._raw.append((name, value))

    def on_headers_complete(self) -> None:
        if sum(map(len, chain.from_iterable(self._raw))) > MAX_HEAD:
            raise ValueError("the head is too large")
        status = self._parser.get_status_code()
        if status < 200:
            # "Continue" and its like announce an answer; they are none.
            self._raw = []
        else:
            self.status = status

    def on_body(self, body: bytes) -> None:
        self.pieces.append(body)
        self._size += len(body)

    def on_message_complete(self) -> None:
        if self.status:
            self.complete = True
            self.keep = self._parser.should_keep_alive()

    def _wake(self) -> None:
        if self.waiter is not None and not self.waiter.done():
            self.waiter.set_result(None)

    def _break_off(self) -> None:
        when = "before the answer was complete" if self.heard else "before an answer came"
        self.fail(ModelError(f"the connection to {self.origin.label} broke off {when}", kind="connection"))

    def _ends_by_closing(self) -> bool:
        # The parser knows, but has no way to be told that the connection ended.
        head = self.head
        if (coding := head.get(b"transfer-encoding")) is not None:
            return not coding.rstrip().lower().endswith(b"chunked")
        return b"content-length" not in head


class Pool:
    """The connections of one event loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._resting: dict[Origin, list[Connection]] = {}
        self.live: set[Connection] = set()

    def take(self, origin: Origin) -> Connection | None:
        """A connection that rested here and still holds, ready for a request."""
        resting = self._resting.get(origin)
        while resting:
            connection = resting.pop()
            if not connection.transport.is_closing() and self._loop.time() - connection.rested < MAX_REST_SECONDS:
                connection.begin()
                return connection
            connection.transport.abort()
        return None

    def give_back(self, connection: Connection) -> None:
        """Let a connection rest if its answer was read to the end and both sides may go on; close it otherwise."""
        transport = connection.transport
        is_done = connection.complete and not connection.pieces and not transport.get_write_buffer_size()
        if not is_done or not connection.keep or transport.is_closing():
            transport.abort()
            return
        connection.rested = now = self._loop.time()
        resting = self._resting.setdefault(connection.origin, [])
        resting.append(connection)
        # The oldest lies in front and the newest is taken first: what a busy hour needed goes away again.
        if now - resting[0].rested >= MAX_REST_SECONDS:
            resting.pop(0).transport.abort()

    def lose(self, connection: Connection) -> None:
        """A connection has ended."""
        self.live.discard(connection)
        resting = self._resting.get(connection.origin, [])
        if connection in resting:
            resting.remove(connection)

    async def connect(self, origin: Origin, tls: "SSLContext | None") -> Connection:
        """A new connection. Raises OSError."""
        _, connection = await self._loop.create_connection(
            lambda: Connection(self, origin),
            origin.host,
            origin.port,
            ssl=tls,
            happy_eyeballs_delay=None if _is_number(origin.host) else _NEXT_ADDRESS_SECONDS,
        )
        return connection

    def abort(self) -> None:
        """Close every connection, also those in use."""
        self._resting.clear()
        for connection in list(self.live):
            connection.transport.abort()

    async def close(self) -> None:
        """Close every connection and wait until the sockets are closed."""
        self.abort()
        # One round of the loop closes the sockets; TLS hears of it in the next.
        for _ in range(2):
            await asyncio.sleep(0)


def _is_number(host: str) -> bool:
    # An address has no second one to race against, and the race costs as much as the rest of the call.
    return ":" in host or host[-1].isdigit()
