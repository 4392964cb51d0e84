"""uvicorn's HTTP/1.1 with six changes: what a request may say around its body has an end, so that a head without one
costs no memory; a head that does not come is not waited for; what comes behind the body is no header; an offer of
another protocol is passed over, and the body behind it read; what is no HTTP is refused in the same shape as everything
else; and an answer can hang up."""

import asyncio
from typing import Any, cast

import httptools
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from pollux.asgi.bodies import encoded
from pollux.asgi.door import HEADERS, correlation_id
from pollux.asgi.errors import HttpError, rendered
from pollux.asgi.ndjson import HANG_UP

LARGEST_HEAD = 128 << 10
HEAD_SECONDS = 30.0
"""How long the head of a request may take, from the first byte or the opened connection on."""
FRAMING = 8
"""How many bytes of chunk sizes each byte of a body may bring along."""
MEASURES = (b"content-length", b"transfer-encoding")
"""The headers that say where a body ends."""


class Bounded(HttpToolsProtocol):
    """One connection. Refuses a request whose line, headers, chunk sizes and trailers are too large together."""

    _around = 0
    _in_head = False
    _declines = False
    _head_due: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._expect_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget_head()
        super().connection_lost(exc)

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
        self._forget_head()
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        # With an offer of another protocol the parser stops here, and the body is still to come.
        if not self.parser.should_upgrade():
            super().on_message_complete()

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
