"""uvicorn's HTTP/1.1 with eight changes: what a request may say around its body has an end, so that a head without one
costs no memory; a head that does not come is not waited for; what comes behind the body is no header; an offer of
another protocol is passed over, and the body behind it read; what is no HTTP is refused in the same shape as everything
else; an answer can hang up; a body that nothing waits for has an end too; and whoever says no more may still listen."""

import asyncio
import socket
import struct
from typing import Any, cast

import httptools
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from pollux.asgi import bodies
from pollux.asgi.bodies import encoded
from pollux.asgi.door import HEADERS, correlation_id
from pollux.asgi.errors import HttpError, rendered
from pollux.asgi.ndjson import HANG_UP

LARGEST_HEAD = 128 << 10
HEAD_SECONDS = 30.0
"""How long the head of a request may take, from the first byte or the opened connection on."""
FRAMING = 8
"""How many bytes of chunk sizes each byte of a body may bring along."""
PROBE_SECONDS = 1.0
"""How often we look whether a caller who says no more still listens. One who has left resets the connection."""
PROBE = b"HTTP/1.1 100 Continue\r\n\r\n"
"""What may be said before an answer."""
ZERO = b"0"
"""What may be said between the chunks of an answer: the size of the next one may begin so."""
ZEROS = frozenset({1, 2, 4, 8, 16, 32})
"""At which of these looks it is said. Some clients take no more than sixteen digits of a size."""
KEEP_ALIVE = (("TCP_KEEPIDLE", 10), ("TCP_KEEPINTVL", 5), ("TCP_KEEPCNT", 3))
"""In seconds: what finds out, where nothing more can be said, that there is no caller any more."""
MEASURES = (b"content-length", b"transfer-encoding")
"""The headers that say where a body ends."""


class Bounded(HttpToolsProtocol):
    """One connection. Refuses a request whose line, headers, chunk sizes and trailers are too large together."""

    _around = 0
    _in_head = False
    _declines = False
    _in_body = False
    _has_asked = False
    _looks = 0
    _head_due: asyncio.TimerHandle | None = None
    _body_due: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._expect_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget_head()
        self._forget_body()
        super().connection_lost(exc)

    def eof_received(self) -> bool:  # type: ignore[override]
        """Whether the connection stays: whoever sent a whole request and says no more may still want its answer.

        One who has closed the connection says no more either. What we say shows the difference.
        """
        if self._in_head or self._in_body or not self._has_asked or self.cycle.response_complete:
            return False
        self.cycle.keep_alive = False
        own: socket.socket = self.transport.get_extra_info("socket")
        own.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for name, value in KEEP_ALIVE:
            if hasattr(socket, name):
                own.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
        self._probe()
        return True

    def on_url(self, url: bytes) -> None:
        if not self._declines:
            super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        # A proxy that takes credentials away, or adds them, looks at the head alone: nothing in a trailer counts.
        if self._in_head and not self._declines:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        if self._declines:
            return
        self._in_head = False
        self._in_body = True
        self._forget_head()
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        # With an offer of another protocol the parser stops here, and the body is still to come.
        if not self.parser.should_upgrade():
            self._in_body, self._has_asked = False, True
            self._forget_body()
            super().on_message_complete()

    def on_response_complete(self) -> None:
        if self._looks:
            _set_reset(self.transport.get_extra_info("socket"), on_close=False)
        super().on_response_complete()
        if self._in_body and self._body_due is None:
            # It was answered before its body was read, as one without a credential is.
            self._body_due = asyncio.get_running_loop().call_later(bodies.BODY_SECONDS, self.transport.abort)

    def data_received(self, data: bytes) -> None:
        self._around += len(data)
        self._unset_keepalive_if_required()
        try:
            self._feed(data)
        except httptools.HttpParserError:
            self.logger.warning("Invalid HTTP request received.")
            self.send_400_response("")
        if self._around > LARGEST_HEAD and not self.transport.is_closing():
            self.logger.warning("The head of a request is too large.")
            self._refuse(431, "head_too_large", f"the head of the request is larger than {LARGEST_HEAD} bytes")

    def on_message_begin(self) -> None:
        if self._declines:
            return
        self._around = 0
        self._in_head = True
        if self._head_due is None:
            self._expect_head()
        super().on_message_begin()
        cast("dict[str, Any]", self.scope)[HANG_UP] = self.transport.abort

    def on_body(self, body: bytes) -> None:
        self._around = max(0, self._around - FRAMING * len(body))
        super().on_body(body)

    def send_400_response(self, msg: str) -> None:
        message = "this is not HTTP/1.1 as we read it. Look for https in the address, or a line break in a header"
        self._refuse(400, "bad_request", message)

    def _feed(self, data: bytes) -> None:
        rest = memoryview(data)
        while True:
            try:
                self.parser.feed_data(rest)
                return
            except httptools.HttpParserUpgrade as offer:
                self._decline()
                rest = rest[offer.args[0] :]

    def _decline(self) -> None:
        """Java's client offers HTTP/2 with its first request, whatever that is. Left alone, the parser would take the
        body for a request of its own: a new one is told how long it is, and goes on from there."""
        measures = [b"%b: %b\r\n" % pair for pair in self.headers if pair[0] in MEASURES]
        self.parser = httptools.HttpRequestParser(self)
        self.parser.set_dangerous_leniencies(lenient_data_after_close=True)
        self._declines = True
        self.parser.feed_data(b"".join([b"POST / HTTP/1.1\r\n", *measures, b"\r\n"]))
        self._declines = False

    def _expect_head(self) -> None:
        self._head_due = asyncio.get_running_loop().call_later(HEAD_SECONDS, self._give_up)

    def _forget_head(self) -> None:
        if self._head_due is not None:
            self._head_due.cancel()
            self._head_due = None

    def _forget_body(self) -> None:
        if self._body_due is not None:
            self._body_due.cancel()
            self._body_due = None

    def _probe(self) -> None:
        if self.transport.is_closing():
            return
        self._looks += 1
        own: socket.socket = self.transport.get_extra_info("socket")
        if own.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
            # Nothing is read any more, so nobody else would see it.
            self.transport.abort()
            return
        if not self.cycle.response_started:
            # Into an answer before this one nothing else may be written, and HTTP/1.0 knows no such word.
            if not self.pipeline and self.scope["http_version"] != "1.0":
                self.transport.write(PROBE)
        elif self.cycle.chunked_encoding and not self.cycle.response_complete and self._looks in ZEROS:
            self.transport.write(ZERO)
            # Some clients take this, with the end of the connection behind it, for the end of the answer. Until that
            # is all said, closing the connection resets it: also where this process is killed.
            _set_reset(own, on_close=True)
        asyncio.get_running_loop().call_later(PROBE_SECONDS, self._probe)

    def _give_up(self) -> None:
        self._head_due = None
        if not self.transport.is_closing():
            self._refuse(408, "timeout", f"the head of the request was not there within {HEAD_SECONDS:g} seconds")

    def _refuse(self, status: int, code: str, message: str) -> None:
        if self.pipeline or (self.cycle and self.cycle.response_started and not self.cycle.response_complete):
            # An answer is half written: nothing else can be said any more.
            self.transport.abort()
            return
        correlation = correlation_id()
        body = encoded(rendered(HttpError(status, code, message), correlation)[2])
        own = {"content-type": "application/json", "content-length": str(len(body)), "connection": "close"}
        headers = {**HEADERS, **own, "x-correlation-id": correlation}
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        self.transport.write(STATUS_LINE[status] + lines.encode() + b"\r\n" + body)
        self.transport.close()


def _set_reset(own: socket.socket, *, on_close: bool) -> None:
    own.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", on_close, 0))
