"""uvicorn's HTTP/1.1 with four changes: what a request may say around its body has an end, so that a head without one
costs no memory; a head that does not come is not waited for; what is no HTTP is refused in the same shape as everything
else; and an answer can hang up."""

import asyncio
from typing import Any, cast

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


class Bounded(HttpToolsProtocol):
    """One connection. Refuses a request whose line, headers, chunk sizes and trailers are too large together."""

    _around = 0
    _head_due: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._expect_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget_head()
        super().connection_lost(exc)

    def on_headers_complete(self) -> None:
        self._forget_head()
        super().on_headers_complete()

    def data_received(self, data: bytes) -> None:
        self._around += len(data)
        super().data_received(data)
        if self._around > LARGEST_HEAD and not self.transport.is_closing():
            self.logger.warning("The head of a request is too large.")
            self._refuse(431, "head_too_large", f"the head of the request is larger than {LARGEST_HEAD} bytes")

    def on_message_begin(self) -> None:
        self._around = 0
        if self._head_due is None:
            self._expect_head()
        super().on_message_begin()
        cast("dict[str, Any]", self.scope)[HANG_UP] = self.transport.abort

    def on_body(self, body: bytes) -> None:
        self._around = max(0, self._around - FRAMING * len(body))
        super().on_body(body)

    def send_400_response(self, msg: str) -> None:
        self._refuse(400, "bad_request", "this is not HTTP/1.1 as we read it")

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
