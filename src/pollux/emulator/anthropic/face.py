"""Answer one request for a message: read it, ask the demo model, write the answer. Pure: bytes in, an Answer out."""

import json
from dataclasses import replace

from pollux.emulator import sse
from pollux.emulator.answer import Answer
from pollux.emulator.anthropic import catalogue, errors
from pollux.emulator.anthropic.answer import Writer, line
from pollux.emulator.anthropic.errors import Refusal, bad_request
from pollux.emulator.anthropic.request import Talk, check_version, read
from pollux.emulator.faults import STATUSES, Fault
from pollux.emulator.jsons import compact
from pollux.emulator.model import Ask
from pollux.emulator.planner.plan import plan
from pollux.emulator.seal import Seal, digest
from pollux.emulator.spoil import spoil

__all__ = [
    "Refusal",
    "answer_count",
    "answer_message",
    "bad_request",
    "check_key",
    "check_version",
    "models",
    "read",
    "refuse",
    "request_id",
]

_HTML = b"<html><head><title>502 Bad Gateway</title></head><body>502 Bad Gateway</body></html>\n"


def request_id(seed: int, content: bytes) -> str:
    """The id under which the service would know this request."""
    return f"req_01{Seal(seed, digest('anthropic request', content)).response_id()}"


def check_key(key: str | None) -> None:
    """Any key will do, but there must be one. Raises Refusal."""
    if not key:
        raise errors.missing_key()
    if key.startswith("invalid"):
        raise errors.invalid_key()


def refuse(refusal: Refusal, request: str) -> Answer:
    """An error answer. `request` is its id."""
    return _json(refusal.body(request), request, status=refusal.status, headers=refusal.headers)


def models(model: str | None, *, size: int, after: str, request: str) -> Answer:
    """A page of the models, or one of them. Raises Refusal."""
    if model is None:
        return _json(catalogue.page(size=size, after=after), request)
    if model not in catalogue.MODELS:
        raise errors.unknown_model(model)
    return _json(catalogue.describe(model), request)


def answer_count(talk: Talk, *, fault: Fault | None, request: str) -> Answer:
    """What a request would cost. Raises Refusal."""
    return _scripted(fault) or _json({"input_tokens": talk.ask.text_tokens}, request)


def answer_message(talk: Talk, *, seed: int, fault: Fault | None, request: str) -> Answer:
    """A message, whole or streamed. Raises Refusal."""
    if (scripted := _scripted(fault)) is not None:
        return scripted
    writer = Writer(talk, Seal(seed, talk.ask.digest), _stopped(talk.ask))
    reply = writer.seal.identify(plan(talk.ask))
    reply = spoil(reply, fault) if fault is not None else reply
    if talk.stream:
        error = line(errors.scripted(503).body(request))
        payloads = [line(event) for event in writer.stream(reply)]
        frames = sse.frames(payloads, error=error, fault=fault, line_end="\n", name=_event_name)
        headers = {"request-id": request, "Cache-Control": "no-cache"}
        return Answer(200, tuple(frames), "text/event-stream; charset=utf-8", streamed=True, headers=headers)
    if fault is not None and fault.kind == "stream-error":
        raise errors.scripted(500)
    if fault is not None and fault.kind == "bad-json":
        return Answer(200, (compact(writer.whole(reply))[:-20].encode(),), "application/json")
    return _json(writer.whole(reply), request)


def _scripted(fault: Fault | None) -> Answer | None:
    """What a fault puts in place of any answer. Raises Refusal where that is a status."""
    if fault is not None and fault.kind == "html":
        return Answer(502, (_HTML,), "text/html; charset=UTF-8")
    if fault is not None and fault.kind in STATUSES:
        per_day = fault.options.get("quota") == "day"
        raise errors.scripted(int(fault.kind), retry=fault.options.get("retry"), per_day=per_day)
    return None


def _stopped(ask: Ask) -> str | None:
    """The first of the stop sequences that the answer would run into."""
    said = plan(replace(ask, stops=())).text if ask.stops else ""
    return min((stop for stop in ask.stops if stop and stop in said), key=said.find, default=None)


def _event_name(payload: str) -> str:
    try:
        return str(json.loads(payload)["type"])
    except ValueError:
        return "content_block_delta"


def _json(body: object, request: str, *, status: int = 200, headers: dict[str, str] | None = None) -> Answer:
    return Answer(
        status, (compact(body).encode(),), "application/json", headers={"request-id": request} | (headers or {})
    )
