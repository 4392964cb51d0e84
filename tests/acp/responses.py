"""As much of OpenAI's Responses API as Codex needs: it says `Hello there.`, or first has a command run.

A prompt `run: COMMAND` is answered with a call of the shell, and its result with `It is done.`
"""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

USAGE = {"input_tokens": 11, "output_tokens": 4, "total_tokens": 15}


@asynccontextmanager
async def responding() -> AsyncGenerator[str]:
    """The base address."""
    app = web.Application(client_max_size=2**26)
    app.router.add_post("/v1/responses", _respond)
    app.router.add_get("/v1/models", _models)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    finally:
        await runner.cleanup()


async def _models(request: web.Request) -> web.Response:
    return web.json_response({"object": "list", "data": [], "models": []})


async def _respond(request: web.Request) -> web.StreamResponse:
    items: list[dict[str, Any]] = (await request.json())["input"]
    tools: list[dict[str, Any]] = (await request.json()).get("tools", [])
    stream = web.StreamResponse(headers={"content-type": "text/event-stream"})
    await stream.prepare(request)

    async def send(kind: str, **fields: Any) -> None:
        await stream.write(f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n".encode())

    await send("response.created", response={"id": "r1"})
    call = _call(items, tools)
    if call is not None:
        await send("response.output_item.done", output_index=0, item=call)
    else:
        text = "It is done." if items[-1].get("type") == "function_call_output" else "Hello there."
        message: dict[str, Any] = {"type": "message", "role": "assistant", "id": "m1", "content": []}
        await send("response.output_item.added", output_index=0, item=message)
        for word in text.split(" "):
            delta = word if word == text.split(" ")[0] else f" {word}"
            await send("response.output_text.delta", item_id="m1", output_index=0, content_index=0, delta=delta)
        message["content"] = [{"type": "output_text", "text": text}]
        await send("response.output_item.done", output_index=0, item=message)
    await send("response.completed", response={"id": "r1", "usage": USAGE})
    await stream.write_eof()
    return stream


def _call(items: list[dict[str, Any]], tools: list[dict[str, Any]]) -> dict[str, Any] | None:
    """A call of whichever shell is on offer, if the last thing said asks for a command."""
    last = items[-1]
    text = last["content"][-1].get("text", "") if last.get("role") == "user" else ""
    if "run: " not in text:
        return None
    command = text.split("run: ")[1].strip()
    names = {tool.get("name") for tool in tools}
    args: dict[str, Any] = {"command": ["bash", "-lc", command]}
    name = "shell"
    if "exec_command" in names:
        name, args = (
            "exec_command",
            {"cmd": command, "sandbox_permissions": "require_escalated", "justification": "ok?"},
        )
    elif "shell_command" in names:
        name, args = "shell_command", {"command": command}
    return {"type": "function_call", "call_id": "call_1", "name": name, "arguments": json.dumps(args), "id": "f1"}
