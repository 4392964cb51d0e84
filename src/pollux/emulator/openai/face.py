"""Answer one chat request: read it, ask the demo model, write the answer. Pure: bytes and facts in, an Answer out."""

import re

from pollux.emulator import sse
from pollux.emulator.answer import Answer
from pollux.emulator.faults import STATUSES, Fault
from pollux.emulator.gemini import catalogue
from pollux.emulator.jsons import compact
from pollux.emulator.openai import errors
from pollux.emulator.openai.answer import Writer
from pollux.emulator.openai.errors import Refusal, bad_request
from pollux.emulator.openai.request import Chat, is_known, read
from pollux.emulator.planner.plan import plan
from pollux.emulator.seal import Seal
from pollux.emulator.spoil import spoil

__all__ = ["Refusal", "answer_chat", "bad_request", "check_key", "is_keyless", "models", "read", "refuse"]

_HTML = b"<html><head><title>502 Bad Gateway</title></head><body>502 Bad Gateway</body></html>\n"
_HOSTED = re.compile(r"(models/)?(gpt-|gemini-|claude-|o[0-9])")
_NAMES = ("gpt-5", "gpt-5-mini", "llama3.2", "qwen3", *catalogue.NAMES)


def check_key(key: str | None) -> None:
    """Any token will do, but there must be one. Raises Refusal."""
    if not key:
        raise errors.missing_key()
    if key.startswith("invalid"):
        raise errors.invalid_key()


def is_keyless(content: bytes) -> bool:
    """Whether the request is for a model of Ollama's, which takes no key: none of a hosted service's names."""
    try:
        model = read(content).model
    except Refusal:
        return False
    return not _HOSTED.match(model)


def refuse(refusal: Refusal) -> Answer:
    """An error answer."""
    body = compact(refusal.body()).encode()
    return Answer(refusal.status, (body,), "application/json", headers=dict(refusal.headers))


def models(model: str | None) -> Answer:
    """All models, or one. Raises Refusal."""
    if model is None:
        return _json({"object": "list", "data": [_model(name) for name in _NAMES]})
    if not is_known(model):
        raise errors.unknown_model(model)
    return _json(_model(model))


def answer_chat(chat: Chat, *, seed: int, fault: Fault | None) -> Answer:
    """A completion, whole or streamed. Raises Refusal."""
    if fault is not None and fault.kind == "html":
        return Answer(502, (_HTML,), "text/html; charset=UTF-8")
    if fault is not None and fault.kind in STATUSES:
        per_day = fault.options.get("quota") == "day"
        raise errors.scripted(int(fault.kind), retry=fault.options.get("retry"), per_day=per_day)
    writer = Writer(chat, Seal(seed, chat.ask.digest))
    reply = writer.seal.identify(plan(chat.ask))
    reply = spoil(reply, fault) if fault is not None else reply
    if chat.stream:
        error = compact(errors.scripted(503).body())
        frames = sse.frames(writer.stream(reply), error=error, fault=fault, line_end="\n")
        return Answer(200, tuple(frames), "text/event-stream; charset=utf-8", streamed=True)
    if fault is not None and fault.kind == "stream-error":
        raise errors.scripted(500)
    body = compact(writer.whole(reply))
    if fault is not None and fault.kind == "bad-json":
        body = body[:-20]
    return Answer(200, (body.encode(),), "application/json")


def _json(body: object) -> Answer:
    return Answer(200, (compact(body).encode(),), "application/json")


def _model(name: str) -> dict[str, object]:
    return {"id": name, "object": "model", "created": 1_767_225_600, "owned_by": "demo model, rule-based"}
