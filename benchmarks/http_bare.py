"""The floors: what a stream costs where nothing is remembered, checked or decided. Prints `LISTENING port`.

`bare`: Starlette and uvicorn write the same lines at the same pace by themselves. `relay URL`: they ask the model for
them, as anything that answers with a model's words must.
"""

import asyncio
import contextlib
import json
import socket
import sys
import time
from collections.abc import AsyncIterator
from typing import Any

import uvicorn
from http_model import stamped
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import Route

NDJSON = "application/x-ndjson; charset=utf-8"
RUN, THREAD = "run_" + "0" * 24, "thr_" + "0" * 24


def line(value: dict[str, Any]) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode() + b"\n"


async def own_lines(count: int, gap: float) -> AsyncIterator[bytes]:
    began, loop, said = asyncio.get_running_loop().time(), asyncio.get_running_loop(), list[str]()
    yield line({"type": "status", "status": "planning", "threadId": THREAD, "runId": RUN})
    for number in range(1, count + 1):
        await asyncio.sleep(began + number * gap - loop.time())
        said.append(stamped(time.monotonic()).decode())
        yield line({"type": "delta", "delta": said[-1]})
    yield line({"type": "result", "result": {"ok": True, "status": "completed", "summary": "".join(said)}})


async def relayed(http: Any, base: str, prompt: str) -> AsyncIterator[bytes]:
    yield line({"type": "status", "status": "planning", "threadId": THREAD, "runId": RUN})
    body = {"contents": [{"role": "user", "parts": [{"text": prompt}]}]}
    url, said = f"{base}/v1beta/models/fake:streamGenerateContent?alt=sse", list[str]()
    async with http.post(url, json=body) as answer:
        async for piece in answer.content:
            if piece.startswith(b"data: "):
                said.append(json.loads(piece[6:])["candidates"][0]["content"]["parts"][0]["text"])
                yield line({"type": "delta", "delta": said[-1]})
    yield line({"type": "result", "result": {"ok": True, "status": "completed", "summary": "".join(said)}})


def application(base: str | None) -> Starlette:
    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        if base is None:
            yield
            return
        import aiohttp

        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as http:
            app.state.http = http
            yield

    async def stream(request: Request) -> StreamingResponse:
        prompt = (await request.json())["prompt"]
        _, count, gap = prompt.split("-")
        lines = relayed(request.app.state.http, base, prompt) if base else own_lines(int(count), int(gap) / 1000)
        return StreamingResponse(lines, media_type=NDJSON)

    return Starlette(routes=[Route("/api/agent/run/stream", stream, methods=["POST"])], lifespan=lifespan)


def main() -> None:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.bind(("127.0.0.1", 0))
    # Before it is told where: whoever comes too early waits instead of being refused.
    listener.listen(2048)
    print("LISTENING", listener.getsockname()[1], flush=True)
    app = application(sys.argv[2] if sys.argv[1] == "relay" else None)
    config = uvicorn.Config(app, log_config=None, access_log=False, ws="none", backlog=2048, loop="asyncio")
    uvicorn.Server(config).run(sockets=[listener])


if __name__ == "__main__":
    main()
