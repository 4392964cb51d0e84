"""The load generator: many streams read at once, and somebody else who asks meanwhile. One JSON job as argument, lines
of JSON on stdout as things happen, the figures in the last. What was read is kept and judged when everything has ended.

Job: url, tokens, streams, prompt, deltas, spread (seconds over which they come), manner (read, follow, stall, reset or
close), words (how many pieces one who resets or closes reads first), seconds (how long a stalled reader stays), probe
(a token to ask with meanwhile), path (a stream to follow instead of beginning a run each).
"""

import asyncio
import json
import re
import socket
import struct
import sys
import time
from typing import Any
from urllib.parse import urlsplit

STAMP = re.compile(rb'"delta":"(\d+\.\d+) ')
FIRST = re.compile(rb'"planning"|"RunStarted"')
STREAM = "/api/agent/run/stream"


class Reader(asyncio.Protocol):
    """One client on a connection of its own. `pieces` is what came, and when."""

    def __init__(self, request: bytes, manner: str, words: int) -> None:
        self._request = request
        self._manner = manner
        self._words = words
        self.began = 0.0
        self.pieces: list[tuple[float, bytes]] = []
        self.first = asyncio.get_running_loop().create_future()
        self.ended = asyncio.get_running_loop().create_future()
        self._tail = b""
        self.transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        self.pieces.append((time.monotonic(), data))
        if not self.first.done():
            # The first line, or an answer that is none.
            so_far = b"".join(piece for _, piece in self.pieces)
            if FIRST.search(so_far) is None and b'"ok":false' not in so_far:
                return
            self.first.set_result(None)
            if self._manner == "stall" and self.transport:
                self.transport.pause_reading()
        if self._manner in ("reset", "close") and len(self.pieces) >= self._words:
            self.leave(self._manner)
        self._tail = (self._tail + data)[-5:]
        if self._tail == b"0\r\n\r\n":
            self._end()
            self.leave("close")

    def connection_lost(self, exc: Exception | None) -> None:
        self._end()

    def leave(self, manner: str) -> None:
        """Go away without a word (reset), or as one who has read enough (close)."""
        assert self.transport is not None
        if manner == "reset":
            own: socket.socket = self.transport.get_extra_info("socket")
            own.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.transport.abort()
        else:
            self.transport.close()

    def _end(self) -> None:
        for future in (self.first, self.ended):
            if not future.done():
                future.set_result(None)


def request_for(place: str, token: str, body: dict[str, Any], path: str = STREAM) -> bytes:
    content = json.dumps(body).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: {place}\r\nAuthorization: Bearer {token}\r\n"
    return (head + f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n").encode() + content


async def one(job: dict[str, Any], number: int, made: list[Reader]) -> None:
    host, port = urlsplit(job["url"]).netloc.split(":")
    tokens = job["tokens"]
    place, token = f"{host}:{port}", tokens[number % len(tokens)]
    if job["path"]:
        request = f"GET {job['path']} HTTP/1.1\r\nHost: {place}\r\nAuthorization: Bearer {tokens[0]}\r\n\r\n".encode()
    else:
        request = request_for(place, token, {"prompt": job["prompt"]})
    await asyncio.sleep(number * job["spread"] / job["streams"])
    reader = Reader(request, job["manner"], job["words"])
    reader.began = time.monotonic()
    made.append(reader)
    await asyncio.get_running_loop().create_connection(lambda: reader, host, int(port))
    await reader.first
    if job["manner"] not in ("stall", "follow"):
        await reader.ended


async def asked(url: str, request: bytes) -> float:
    """How long one whole answer took; infinite where it was not the one expected."""
    host, port = urlsplit(url).netloc.split(":")
    began = time.monotonic()
    reader, writer = await asyncio.open_connection(host, int(port))
    try:
        writer.write(request)
        answer = await reader.read(15)
        await reader.read()
    finally:
        writer.close()
    return time.monotonic() - began if answer.startswith(b"HTTP/1.1 200 ") else float("inf")


async def probe(job: dict[str, Any], stop: asyncio.Event) -> dict[str, list[float]]:
    """Another user: ten times a second a list, twice a second a run. By the clock, however long the last one takes:
    who asks only after an answer does not see the waits that fall in between."""
    place, token = urlsplit(job["url"]).netloc, job["probe"]
    close = f"HTTP/1.1\r\nHost: {place}\r\nConnection: close\r\nAuthorization: Bearer {token}\r\n"
    look = f"GET /api/agent/runs?limit=5 {close}\r\n".encode()
    body = b'{"prompt":"hello"}'
    ask = f"POST /api/agent/run {close}Content-Length: {len(body)}\r\n\r\n".encode() + body
    loop, sent = asyncio.get_running_loop(), dict[str, list[asyncio.Task[float]]](look=[], run=[])
    began = loop.time()
    for number in range(1_000_000):
        if stop.is_set():
            break
        sent["look"].append(asyncio.create_task(asked(job["url"], look)))
        if number % 5 == 4:
            sent["run"].append(asyncio.create_task(asked(job["url"], ask)))
        await asyncio.sleep(max(0.0, began + (number + 1) / 10 - loop.time()))
    return {name: await asyncio.gather(*tasks) for name, tasks in sent.items()}


def told(**figures: Any) -> None:
    print(json.dumps(figures), flush=True)


async def main(job: dict[str, Any]) -> None:
    made: list[Reader] = []
    stop = asyncio.Event()
    probing = asyncio.create_task(probe(job, stop)) if job["probe"] else None
    began = time.monotonic()
    results = await asyncio.gather(*(one(job, n, made) for n in range(job["streams"])), return_exceptions=True)
    whole = time.monotonic() - began
    failed = [repr(result) for result in results if result is not None]
    told(at="read", left=time.monotonic())
    if job["manner"] != "read" and job["seconds"]:
        # Whoever started us looks at the server meanwhile.
        await asyncio.sleep(job["seconds"])
    stop.set()
    probes = await probing if probing else {}
    failed += [f"the other user got no {name}" for name, times in probes.items() if float("inf") in times]
    told(**judged(job, made, failed), whole=whole, probes={name: spread(times) for name, times in probes.items()})
    for reader in made:
        if reader.transport is not None:
            reader.transport.abort()


def judged(job: dict[str, Any], made: list[Reader], failed: list[str]) -> dict[str, Any]:
    """The figures of all streams, and what was wrong with those that were not as they should be."""
    first: list[float] = []
    totals: list[float] = []
    delays: list[float] = []
    for reader in made:
        so_far = b""
        for moment, piece in reader.pieces:
            so_far += piece
            if FIRST.search(so_far) is not None:
                first.append(moment - reader.began)
                break
        else:
            failed.append(f"no first line: {so_far[:300]!r}")
            continue
        if job["manner"] == "read":
            if (problem := fault(b"".join(piece for _, piece in reader.pieces), job["deltas"])) is not None:
                failed.append(problem)
                continue
            totals.append(reader.pieces[-1][0] - reader.began)
            delays += [moment - float(at) for moment, piece in reader.pieces for at in STAMP.findall(piece)]
    return {"first": spread(first), "total": spread(totals), "delay": spread(delays), "errors": failed}


def fault(raw: bytes, deltas: int) -> str | None:
    """What is wrong with an answer: every delta must be there, once and in order, and the result must hold them all."""
    head, _, rest = raw.partition(b"\r\n\r\n")
    if not head.startswith(b"HTTP/1.1 200 "):
        return f"{head[:60]!r} {rest[:200]!r}"
    body = b""
    while rest:
        size, _, rest = rest.partition(b"\r\n")
        body, rest = body + rest[: int(size, 16)], rest[int(size, 16) + 2 :]
    lines = [json.loads(line) for line in body.splitlines()]
    said = "".join(line["delta"] for line in lines if line["type"] == "delta")
    kinds = [lines[0]["type"], lines[-1]["type"]]
    if kinds != ["status", "result"] or lines[-1]["result"]["status"] != "completed":
        return f"{kinds}: {body[-300:]!r}"
    if said != lines[-1]["result"]["summary"] or (deltas and said.count(" and more. ") != deltas):
        return f"{said.count(' and more. ')} of {deltas} deltas, {len(said)} characters"
    return None


def spread(values: list[float]) -> dict[str, float]:
    """The median, the 99th of a hundred, and the worst."""
    if not values:
        return {}
    ordered = sorted(values)
    at = {"p50": 0.50, "p99": 0.99, "max": 1.0}
    return {"n": len(ordered)} | {k: ordered[min(len(ordered) - 1, int(len(ordered) * v))] for k, v in at.items()}


if __name__ == "__main__":
    asyncio.run(main(json.loads(sys.argv[1])))
