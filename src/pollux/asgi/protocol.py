"""uvicorn's HTTP/1.1 with three changes: what a request may say around its body has an end, so that a head without one
costs no memory; what is no HTTP is refused in the same shape as everything else; and an answer can hang up."""

from typing import Any, cast

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from pollux.asgi.bodies import encoded
from pollux.asgi.door import HEADERS, correlation_id
from pollux.asgi.errors import HttpError, rendered
from pollux.asgi.ndjson import HANG_UP

LARGEST_HEAD = 128 << 10
FRAMING = 8
"""How many bytes of chunk sizes each byte of a body may bring along."""


class Bounded(HttpToolsProtocol):
    """One connection. Refuses a request whose line, headers, chunk sizes and trailers are too large together."""

    _around = 0

    def data_received(self, data: bytes) -> None:
        self._around += len(data)
        super().data_received(data)
        if self._around > LARGEST_HEAD and not self.transport.is_closing():
            self.logger.warning("The head of a request is too large.")
            self._refuse(431, "head_too_large", f"the head of the request is larger than {LARGEST_HEAD} bytes")

    def on_message_begin(self) -> None:
        self._around = 0
        super().on_message_begin()
        cast("dict[str, Any]", self.scope)[HANG_UP] = self.transport.abort

    def on_body(self, body: bytes) -> None:
        self._around = max(0, self._around - FRAMING * len(body))
        super().on_body(body)

    def send_400_response(self, msg: str) -> None:
        self._refuse(400, "bad_request", "this is not HTTP/1.1 as we read it")

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
