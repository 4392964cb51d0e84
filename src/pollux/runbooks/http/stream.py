"""A runbook's events from the beginning and then as they happen: as NDJSON, or as server-sent events."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from pollux.asgi.beats import with_beats
from pollux.asgi.bodies import encoded
from pollux.asgi.endpoint import Call
from pollux.asgi.errors import INTERNAL
from pollux.asgi.ndjson import NDJSON, SSE, Lines
from pollux.core.errors import Draining, PolluxError, StoreError, public_text
from pollux.engine.logs import log_of
from pollux.runbooks.following import follow
from pollux.runbooks.http.runtime import RunbookRuntime
from pollux.runbooks.told import Told
from pollux.wire.breaks import json_line

logger = log_of(__name__)


async def events(runtime: RunbookRuntime, call: Call) -> Lines:
    """What happened and what happens, until the run has ended."""
    # Before anything is sent, so that an unknown run is still a 404.
    run = await runtime.run(call.path["id"], call.user)
    told = _whole(runtime, follow(runtime.engine, runtime.runbooks.types, run.id))
    if "text/event-stream" in call.headers.get("accept", ""):
        return Lines(_sent(told), media_type=SSE)
    return Lines(_lines(told), media_type=NDJSON)


async def _whole(runtime: RunbookRuntime, items: AsyncGenerator[Told]) -> AsyncGenerator[Told]:
    """The events, and where they cannot be told to their end, why not."""
    async with aclosing(items):
        try:
            async for told in items:
                yield told
        except PolluxError as problem:
            if isinstance(problem, StoreError) and runtime.engine.is_draining:
                problem = Draining("this process is stopping; ask another, or try again soon")
            yield _last_word(problem.code, public_text(problem))
        except Exception:
            logger.exception("a runbook's stream failed")
            yield _last_word("internal", INTERNAL)


def _last_word(code: str, error: str) -> dict[str, Any]:
    return {"type": "error", "code": code, "error": error}


async def _lines(items: AsyncGenerator[Told]) -> AsyncGenerator[bytes]:
    async with aclosing(items):
        async for told in items:
            yield json_line(encoded(told))


async def _sent(items: AsyncGenerator[Told]) -> AsyncGenerator[bytes]:
    async with aclosing(items):
        async for told in with_beats(items):
            yield b":\n\n" if told is None else f"event: {told['type']}\ndata: ".encode() + encoded(told) + b"\n\n"
