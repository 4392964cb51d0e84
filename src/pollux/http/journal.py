"""A run's journal, from any number on, and then as it is written: as NDJSON, or as server-sent events.

Facts have numbers and can be asked for again. Text on its way has none: whoever comes later reads it in its reply.
"""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

import msgspec

from pollux.asgi.beats import with_beats
from pollux.asgi.bodies import encoded
from pollux.asgi.endpoint import Call
from pollux.asgi.follow import KINDS
from pollux.asgi.ndjson import NDJSON, SSE, Lines
from pollux.core.errors import PolluxError, ValidationError, public_text
from pollux.core.events import ActionHandedOver, HistoryCompressed, ModelReplied
from pollux.core.ids import RunId
from pollux.core.run import Run
from pollux.engine.engine import Engine
from pollux.engine.feed import Delta, Item, Output
from pollux.engine.glance import cost_of
from pollux.engine.ports import Recorded
from pollux.http.runtime import Runtime, as_it_is
from pollux.wire.breaks import json_line


async def events(runtime: Runtime, call: Call) -> Lines:
    """What happened after a number, and what happens, until the run has ended."""
    run_id = RunId(call.path["id"])
    after = _after(call)
    # Before anything is sent, so that an unknown run is still a 404.
    run = await runtime.engine.queries.run(run_id, call.user)
    items = runtime.engine.watch(run_id, after=after, user=call.user)
    if "text/event-stream" in call.headers.get("accept", ""):
        return Lines(_sent(runtime.engine, items, run), media_type=SSE)
    return Lines(_lines(runtime.engine, items, run), media_type=NDJSON)


def line_of(item: Item, run: Run, child: str = "") -> dict[str, Any]:
    """An item as it is told: a fact with its number, and what a call of the model cost or which run goes on with an
    action; or text on its way.
    """
    match item:
        case Recorded(seq=seq, event=event):
            facts: dict[str, Any] = msgspec.to_builtins(event)
            compressed: dict[str, Any] = facts.get("compressed") or {}
            for holder, name in ((facts, "message"), (facts, "prompt"), (compressed, "summary")):
                if isinstance(holder.get(name), dict):
                    # The provider's own form of what is here already.
                    holder[name].pop("native", None)
                    _without_bytes(holder[name]["parts"])
            line: dict[str, Any] = {"type": type(event).__name__, "seq": seq, "data": facts}
            if isinstance(event, ModelReplied | HistoryCompressed):
                line["cost"] = cost_of(run.model, event.usage, at=run.created_at)
            elif isinstance(event, ActionHandedOver):
                line["childRunId"] = child
            return line
        case Delta():
            return {"type": KINDS[item.kind], "delta": item.text, "turn": item.turn, "offset": item.offset}
        case Output():
            return {"type": "tool_output", "actionId": item.action_id, "stream": item.stream, "text": item.text}
        case _:
            return {"type": "turn_restarted", "turn": item.turn}


def _line(engine: Engine, item: Item, run: Run) -> dict[str, Any]:
    match item:
        case Recorded(event=ActionHandedOver(action_id=action_id)):
            return line_of(item, run, engine.queries.child_of(action_id))
        case _:
            return line_of(item, run)


def _without_bytes(parts: list[dict[str, Any]]) -> None:
    """Files by name and size: whoever wants their bytes asks for them."""
    for part in parts:
        if part["type"] == "blob":
            data: str = part.pop("data")
            part["size"] = len(data) * 3 // 4 - data[-2:].count("=")


def _after(call: Call) -> int:
    # A browser that reconnects keeps its address and says here how far it had come.
    last = call.headers.get("last-event-id", "")
    if not last:
        return call.query.after or 0
    if not (last.isascii() and last.isdigit() and len(last) < 16):
        raise ValidationError("Last-Event-ID must be the number of an event")
    return int(last)


async def _lines(engine: Engine, items: AsyncGenerator[Item], run: Run) -> AsyncGenerator[bytes]:
    async with aclosing(items):
        try:
            async for item in items:
                yield json_line(encoded(_line(engine, item, run)))
        except PolluxError as problem:
            yield json_line(encoded(_last_word(as_it_is(engine, problem))))


async def _sent(engine: Engine, items: AsyncGenerator[Item], run: Run) -> AsyncGenerator[bytes]:
    async with aclosing(items):
        try:
            async for item in with_beats(items):
                if item is None:
                    yield b":\n\n"
                    continue
                line = _line(engine, item, run)
                number = f"id: {line['seq']}\n" if "seq" in line else ""
                yield f"{number}event: {line['type']}\ndata: ".encode() + encoded(line) + b"\n\n"
        except PolluxError as problem:
            yield b"event: error\ndata: " + encoded(_last_word(as_it_is(engine, problem))) + b"\n\n"


def _last_word(problem: PolluxError) -> dict[str, Any]:
    return {"type": "error", "code": problem.code, "error": public_text(problem)}
