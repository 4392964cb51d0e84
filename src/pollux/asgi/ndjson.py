"""The one writer of streams. Every line leaves by itself, a reader who does not read is waited for in vain only so
long, and one who has gone is noticed at once. Nothing here keeps a run going: whoever stops reading stops nothing."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Mapping

from starlette.types import Receive, Scope, Send

from pollux.asgi.bodies import gone

logger = logging.getLogger(__name__)

NDJSON = "application/x-ndjson; charset=utf-8"
SSE = "text/event-stream; charset=utf-8"
WRITE_SECONDS = 30.0
"""How long one line may wait for its reader."""
FAIR = 8
"""After how many lines others have their turn: less than a millisecond's work."""
HANG_UP = "pollux.hang_up"
"""Where a scope holds what ends its connection at once: closed in order, it would wait for the reader for ever."""


class Lines:
    """An answer whose lines come as they happen."""

    def __init__(
        self, lines: AsyncGenerator[bytes], *, media_type: str = NDJSON, headers: Mapping[str, str] | None = None
    ) -> None:
        self._lines = lines
        self._since: float | None = None
        """Since when a line waits for its reader, if one does."""
        self._headers = {
            "content-type": media_type,
            # Nobody keeps it, like any other answer, and nobody compresses it on the way: that would hold lines back.
            "cache-control": "no-store, no-transform",
            # For proxies that would otherwise wait until they have more.
            "x-accel-buffering": "no",
            **(headers or {}),
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope.get("method") == "HEAD":
            # Not a line of it is wanted: the next request on this connection need not wait until there are no more.
            await self._lines.aclose()
            await self._begin(send)
            await send({"type": "http.response.body", "body": b""})
            return
        writing = asyncio.ensure_future(self._write(send))
        leaving = asyncio.ensure_future(gone(receive))
        try:
            is_patient = await self._wait(writing, leaving)
        finally:
            for task in (writing, leaving):
                task.cancel()
            await asyncio.wait({writing, leaving})
            await self._lines.aclose()
        if not writing.cancelled():
            writing.result()
        if not is_patient:
            logger.info("a reader took no line for %g seconds, and was left", WRITE_SECONDS)
            if HANG_UP in scope:
                scope[HANG_UP]()
                await gone(receive)

    async def _wait(self, writing: "asyncio.Future[None]", leaving: "asyncio.Future[None]") -> bool:
        """Until one of them is over, or a line has waited too long for its reader: then False."""
        # One look now and then, instead of a timer set and cancelled for every line.
        loop, patience = asyncio.get_running_loop(), WRITE_SECONDS
        while patience > 0:
            done, _ = await asyncio.wait({writing, leaving}, timeout=patience, return_when=asyncio.FIRST_COMPLETED)
            if done:
                return True
            patience = WRITE_SECONDS if self._since is None else self._since + WRITE_SECONDS - loop.time()
        return False

    async def _begin(self, send: Send) -> None:
        headers = [(name.encode(), value.encode()) for name, value in self._headers.items()]
        await send({"type": "http.response.start", "status": 200, "headers": headers})

    async def _write(self, send: Send) -> None:
        loop = asyncio.get_running_loop()
        await self._begin(send)
        written = 0
        async for line in self._lines:
            self._since = loop.time()
            await send({"type": "http.response.body", "body": line, "more_body": True})
            self._since = None
            written += 1
            if written % FAIR == 0:
                # A producer that never waits must not keep everybody else waiting.
                await asyncio.sleep(0)
        await send({"type": "http.response.body", "body": b"", "more_body": False})
