"""A model server that costs as little as possible: the prompt names the scenario, the answer is canned.

hello, tool, tools-K, parallel-K, stream-N (one write each), slow (10 chunks, 50 ms apart). Prints `LISTENING port`.
"""

import asyncio
import json
import re
from typing import Any

SCENARIO = re.compile(rb'"text":\s*"(hello|tool|tools-\d+|parallel-\d+|stream-\d+|slow)"')
SLOW_CHUNKS, SLOW_SECONDS = 10, 0.05
# As many as the real service sends: a client pays for reading each of them.
HEADERS = (
    b"Vary: Origin\r\nVary: X-Origin\r\nVary: Referer\r\nDate: Sun, 15 Nov 2026 09:00:00 GMT\r\n"
    b"Server: scaffolding on HTTPServer2\r\nX-XSS-Protection: 0\r\nX-Frame-Options: SAMEORIGIN\r\n"
    b"X-Content-Type-Options: nosniff\r\nServer-Timing: gfet4t7; dur=312\r\n"
    b'Alt-Svc: h3=":443"; ma=2592000,h3-29=":443"; ma=2592000\r\n'
)


def plan(body: bytes) -> tuple[list[str], list[dict[str, Any]], float]:
    """Texts, calls and the pause between chunks, from the last scenario in the request and the answers after it."""
    last = list(SCENARIO.finditer(body))[-1]
    name, done = last.group(1).decode(), body.count(b'"functionResponse"', last.end())
    kind, _, count = name.rpartition("-")
    number = int(count) if kind else 0
    match kind or name:
        case "tool":
            return (["The sum ", "is 5."], [], 0) if done else ([], [_call(2, 3)], 0)
        case "tools":
            return (["Did ", f"{number} rounds."], [], 0) if done >= number else ([], [_call(done, 1)], 0)
        case "parallel":
            return (["Did ", f"{number} calls."], [], 0) if done else ([], [_call(i, 1) for i in range(number)], 0)
        case "stream":
            return [f"chunk {i} " for i in range(number)], [], 0
        case "slow":
            return [f"chunk {i} " for i in range(SLOW_CHUNKS)], [], SLOW_SECONDS
        case _:
            return ["Hello from ", "the fake model."], [], 0


def _call(a: int, b: int) -> dict[str, Any]:
    return {"functionCall": {"name": "add", "args": {"a": a, "b": b}}}


def _chunk(parts: list[dict[str, Any]], *, last: bool, count: int) -> bytes:
    candidate: dict[str, Any] = {"content": {"parts": parts, "role": "model"}, "index": 0}
    if last:
        candidate["finishReason"] = "STOP"
    usage = {"promptTokenCount": 12, "candidatesTokenCount": count, "totalTokenCount": 12 + count}
    return json.dumps({"candidates": [candidate], "usageMetadata": usage, "modelVersion": "fake"}).encode()


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Keep-alive HTTP/1.1, just enough of it."""
    try:
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            at = head.find(b"content-length:") + 15
            body = await reader.readexactly(int(head[at : head.index(b"\r\n", at)]))
            texts, calls, pause = plan(body)
            if b"streamgeneratecontent" in head:
                await _stream(writer, texts, calls, pause)
            else:
                parts = calls or [{"text": "".join(texts)}]
                reply = _chunk(parts, last=True, count=5)
                kind = b"Content-Type: application/json; charset=UTF-8\r\n"
                head = b"HTTP/1.1 200 OK\r\n" + kind + HEADERS + b"Content-Length: %d\r\n\r\n" % len(reply)
                writer.write(head + reply)
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    finally:
        writer.close()


async def _stream(writer: asyncio.StreamWriter, texts: list[str], calls: list[dict[str, Any]], pause: float) -> None:
    kind = b"Content-Type: text/event-stream\r\n"
    writer.write(b"HTTP/1.1 200 OK\r\n" + kind + HEADERS + b"Transfer-Encoding: chunked\r\n\r\n")
    pieces = [calls] if calls else [[{"text": text}] for text in texts]
    for index, parts in enumerate(pieces):
        event = b"data: " + _chunk(parts, last=index == len(pieces) - 1, count=index + 1) + b"\r\n\r\n"
        await asyncio.sleep(pause)
        writer.write(b"%x\r\n" % len(event) + event + b"\r\n")
    writer.write(b"0\r\n\r\n")


async def main() -> None:
    server = await asyncio.start_server(answer, "127.0.0.1", 0, limit=2**24)
    print("LISTENING", server.sockets[0].getsockname()[1], flush=True)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
