"""A model server for load: Gemini's wire format, paced, and as cheap as it can be. The prompt names the scenario.

paced-N-MS: N deltas, one every MS milliseconds by the clock, each with the moment it was due and the moment it left.
flood-N-BYTES: N deltas of that many bytes, as fast as they are taken. Anything else: a greeting at once.
Prints `LISTENING port`.
"""

import asyncio
import re
import time

SCENARIO = re.compile(rb'"text":\s*"(paced|flood)-(\d+)-(\d+)')
HEAD = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nVary: Origin\r\nServer: scaffolding on HTTPServer2\r\n"
    b"X-Content-Type-Options: nosniff\r\nTransfer-Encoding: chunked\r\n\r\n"
)
CHUNK = (
    b'data: {"candidates":[{"content":{"parts":[{"text":"%b"}],"role":"model"}%b,"index":0}],'
    b'"usageMetadata":{"promptTokenCount":12,"candidatesTokenCount":%d,"totalTokenCount":%d},"modelVersion":"fake"}\r\n\r\n'
)
LAST = b',"finishReason":"STOP"'


def stamped(now: float) -> bytes:
    """A delta of thirty characters that says when it was sent. The floor sends the same."""
    return b"%017.6f and more. " % now


def event(text: bytes, number: int, *, last: bool) -> bytes:
    body = CHUNK % (text, LAST if last else b"", number, 12 + number)
    return b"%x\r\n%b\r\n" % (len(body), body)


class Model(asyncio.Protocol):
    """One connection, kept alive; one answer at a time."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._seen = b""
        self._can_write = asyncio.Event()
        self._can_write.set()
        self._flooding: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        if self._flooding is not None:
            self._flooding.cancel()

    def pause_writing(self) -> None:
        self._can_write.clear()

    def resume_writing(self) -> None:
        self._can_write.set()

    def data_received(self, data: bytes) -> None:
        self._seen += data
        head, end, body = self._seen.partition(b"\r\n\r\n")
        if not end:
            return
        at = (low := head.lower()).find(b"content-length:") + 15
        if len(body) < int(low[at:].partition(b"\r\n")[0]):
            return
        self._seen = b""
        found = SCENARIO.findall(body)
        kind, count, size = found[-1] if found else (b"", b"2", b"0")
        self._transport.write(HEAD)
        if kind == b"paced":
            self._tick(self._loop.time(), 1, int(count), int(size) / 1000)
        elif kind == b"flood":
            self._flooding = asyncio.create_task(self._flood(int(count), b"x" * int(size)))
        else:
            self._transport.write(event(b"Hello ", 1, last=False) + event(b"there.", 2, last=True) + b"0\r\n\r\n")

    def _tick(self, began: float, number: int, count: int, gap: float) -> None:
        """Wait for the next delta's moment: counted from the beginning, so that lateness does not add up."""
        self._loop.call_at(began + number * gap, self._say, began, number, count, gap)

    def _say(self, began: float, number: int, count: int, gap: float) -> None:
        if self._transport.is_closing():
            return
        is_last = number == count
        piece = event(stamped(time.monotonic()), number, last=is_last)
        self._transport.write(piece + b"0\r\n\r\n" if is_last else piece)
        if not is_last:
            self._tick(began, number + 1, count, gap)

    async def _flood(self, count: int, text: bytes) -> None:
        for number in range(1, count + 1):
            await self._can_write.wait()
            self._transport.write(event(text, number, last=number == count))
            await asyncio.sleep(0)
        self._transport.write(b"0\r\n\r\n")


async def main() -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Model, "127.0.0.1", 0, backlog=2048)
    print("LISTENING", server.sockets[0].getsockname()[1], flush=True)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
