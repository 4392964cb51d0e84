"""What a stream says, and how three services would write it. Sensible or not: the encoders do not ask."""

import json
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

ABSENT: Final = object()
"""An id that the service leaves out."""

Counts = tuple[Any, ...] | int | None
"""Tokens in, out and together; or something else than three numbers."""


@dataclass(frozen=True)
class Say:
    """Words for the reader."""

    text: Any


@dataclass(frozen=True)
class Think:
    """Words that are nobody else's business."""

    text: Any


@dataclass(frozen=True)
class Strange:
    """Something that nobody has heard of yet."""


@dataclass(frozen=True)
class Call:
    """A tool that the model wants."""

    name: Any
    args: Any
    id: Any = ABSENT


@dataclass(frozen=True)
class End:
    """How it ended: `end`, `length`, `blocked`, `other`, or anything at all."""

    reason: Any
    counts: Counts


Part = Say | Think | Strange | Call
Chunk = tuple[Part, ...]


@dataclass(frozen=True)
class Wire:
    """One service's way to write a stream."""

    name: str
    model: str
    turn: bytes
    """What a request holds once for every result that it brings."""
    encode: Callable[[random.Random, Sequence[Chunk], End | None], list[Any]]
    """The facts as JSON values, and as texts where the service does not write JSON."""
    broken: tuple[bytes, ...]
    """What is JSON, or nearly, but no part of a stream."""


def gemini(chance: random.Random, chunks: Sequence[Chunk], end: End | None) -> list[Any]:
    """Candidates of parts."""
    datas: list[Any] = []
    for chunk in chunks:
        parts = [_gemini_part(part) for part in chunk]
        datas.append({"candidates": [{"content": {"role": "model", "parts": parts}, "index": 0}]})
    if end is not None:
        names = ("promptTokenCount", "candidatesTokenCount", "totalTokenCount")
        last: dict[str, Any] = {"content": {"parts": []}, "finishReason": _worded(end.reason, _GEMINI_REASONS)}
        datas.append({"candidates": [last], "usageMetadata": _named(names, end.counts)})
    return datas


def openai(chance: random.Random, chunks: Sequence[Chunk], end: End | None) -> list[Any]:
    """Deltas of one message; calls by their index, their arguments in pieces."""
    deltas: list[dict[str, Any]] = []
    calls = 0
    for part in (part for chunk in chunks for part in chunk):
        if isinstance(part, Call):
            deltas += _openai_call(chance, part, calls)
            calls += 1
        else:
            deltas.append(_openai_part(part))
    datas: list[Any] = [{"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    if end is not None:
        reason = "calls" if end.reason == "end" and calls else end.reason
        datas.append({"choices": [{"index": 0, "delta": {}, "finish_reason": _worded(reason, _OPENAI_REASONS)}]})
        names = ("prompt_tokens", "completion_tokens", "total_tokens")
        datas.append({"choices": [], "usage": _named(names, end.counts)})
        datas += ["[DONE]"] if chance.random() < 0.9 else []
    return datas


def anthropic(chance: random.Random, chunks: Sequence[Chunk], end: End | None) -> list[Any]:
    """Blocks that begin, go on and end; what belongs together may be one block or several."""
    datas: list[Any] = [{"type": "message_start", "message": {"model": "claude", "content": [], "usage": None}}]
    blocks: list[tuple[dict[str, Any], list[dict[str, Any]]]] = []
    for part in (part for chunk in chunks for part in chunk):
        begun, deltas = _anthropic_block(chance, part)
        if blocks and blocks[-1][0]["type"] == begun["type"] != "tool_use" and chance.random() < 0.8:
            blocks[-1][1].extend(deltas)
        else:
            blocks.append((begun, deltas))
    for index, (begun, deltas) in enumerate(blocks):
        datas.append({"type": "content_block_start", "index": index, "content_block": begun})
        datas += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
        if chance.random() < 0.95:
            datas.append({"type": "content_block_stop", "index": index})
    if end is not None:
        has_calls = any(begun["type"] == "tool_use" for begun, _ in blocks)
        reason = "calls" if end.reason == "end" and has_calls else end.reason
        usage = _named(("input_tokens", "output_tokens", "cache_read_input_tokens"), end.counts)
        ending = {"stop_reason": _worded(reason, _ANTHROPIC_REASONS), "stop_sequence": None}
        datas.append({"type": "message_delta", "delta": ending, "usage": usage})
        datas += [{"type": "message_stop"}] if chance.random() < 0.9 else []
    return datas


_GEMINI_REASONS: Final = {"end": "STOP", "length": "MAX_TOKENS", "blocked": "SAFETY", "other": "OTHER"}
_OPENAI_REASONS: Final = {"end": "stop", "calls": "tool_calls", "length": "length", "blocked": "content_filter"}
_ANTHROPIC_REASONS: Final = {"end": "end_turn", "calls": "tool_use", "length": "max_tokens", "blocked": "refusal"}


def _gemini_part(part: Part) -> dict[str, Any]:
    match part:
        case Say(text=text):
            return {"text": text}
        case Think(text=text):
            return {"text": text, "thought": True}
        case Strange():
            return {"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo="}, "strange": [1]}
        case Call(name=name, args=args, id=id_):
            named = {} if id_ is ABSENT else {"id": id_}
            return {"functionCall": {"name": name, "args": args, **named}, "thoughtSignature": "c2ln"}


def _openai_part(part: Say | Think | Strange) -> dict[str, Any]:
    match part:
        case Say(text=text):
            return {"role": "assistant", "content": text}
        case Think(text=text):
            return {"reasoning_content": text}
        case Strange():
            return {"audio": {"data": "iVBORw0KGgo="}, "strange": [1]}


def _openai_call(chance: random.Random, call: Call, index: int) -> list[dict[str, Any]]:
    """With its index as a rule; without one a piece belongs to the call before it."""
    place = {"index": index} if chance.random() < 0.9 else {}
    named = {} if call.id is ABSENT else {"id": call.id}
    first, *rest = _pieces(chance, call.args)
    begun = {**place, **named, "type": "function", "function": {"name": call.name, "arguments": first}}
    later = [{**place, "function": {"arguments": piece}} for piece in rest]
    return [{"tool_calls": [piece]} for piece in (begun, *later)]


def _anthropic_block(chance: random.Random, part: Part) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """How the block begins, and what goes on with it."""
    match part:
        case Say(text=text):
            return {"type": "text", "text": ""}, [{"type": "text_delta", "text": text}]
        case Think(text=text):
            deltas = [{"type": "thinking_delta", "thinking": text}, {"type": "signature_delta", "signature": "c2ln"}]
            return {"type": "thinking", "thinking": "", "signature": ""}, deltas
        case Strange():
            return {"type": "hologram", "strange": [1]}, [{"type": "frame_delta", "frame": 7}]
        case Call(name=name, args=args, id=id_):
            named = {} if id_ is ABSENT else {"id": id_}
            begun: dict[str, Any] = {"type": "tool_use", **named, "name": name, "input": {}}
            if chance.random() < 0.2:
                return {**begun, "input": args}, []
            pieces = _pieces(chance, args)
            return begun, [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]


def _pieces(chance: random.Random, args: Any) -> list[str]:
    """Arguments as text that comes in up to three pieces, cut anywhere."""
    text = json.dumps(args, ensure_ascii=chance.random() < 0.5)
    cuts = sorted(chance.randrange(len(text) + 1) for _ in range(chance.randrange(3)))
    return [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]


def _worded(reason: Any, words: dict[str, str]) -> Any:
    return words.get(reason, reason) if isinstance(reason, str) else reason


def _named(names: tuple[str, str, str], counts: Counts) -> Any:
    return dict(zip(names, counts, strict=False)) if isinstance(counts, tuple) else counts


GEMINI = Wire(
    "gemini",
    "gemini-3.8-flash",
    b'"functionResponse"',
    gemini,
    (
        b'{"candidates": 5}', b'{"candidates": [5]}', b'{"candidates": [{"content": 5}]}',
        b'{"candidates": [{"content": {"parts": "text"}}]}', b'{"candidates": [{"content": {"parts": [null]}}]}',
        b'{"error": {"code": 503, "status": "UNAVAILABLE", "message": "later"}}',
        '{"candidates": [{"content": {"parts": [{"text": "Gr\u00f6\u00dfe"}]}}]}'.encode("latin-1"),
        '{"candidates": []}'.encode("utf-16"),
    ),
)  # fmt: skip
OPENAI = Wire(
    "openai",
    "gpt-5.4",
    b'"role":"tool"',
    openai,
    (
        b'{"choices": 5}', b'{"choices": [5]}', b'{"choices": [{"delta": 5}]}', b'{"choices": [null]}', b"[DONE]",
        b'{"choices": [{"delta": {"tool_calls": 5}}]}', b'{"choices": [{"delta": {"tool_calls": [5, {}]}}]}',
        b'{"choices": [{"delta": {"tool_calls": [{"index": "x", "function": 5}]}}]}',
        b'{"choices": [{"delta": {"content": [5, {"text": 7}, {"text": "in parts"}]}}]}',
        b'{"choices": [{"message": {"role": "assistant", "content": "whole"}, "finish_reason": "stop"}]}',
        b'{"error": {"code": 503, "type": "server_error", "message": "later"}}', b'{"error": []}',
        '{"choices": [{"delta": {"content": "Gr\u00f6\u00dfe"}}]}'.encode("latin-1"),
        '{"choices": []}'.encode("utf-16"),
    ),
)  # fmt: skip
ANTHROPIC = Wire(
    "anthropic",
    "claude-sonnet-4-5",
    b'"tool_result"',
    anthropic,
    (
        b'{"type": 5}', b'{"type": "content_block_start"}', b'{"type": "content_block_start", "content_block": 5}',
        b'{"type": "content_block_delta", "index": 99, "delta": {"type": "text_delta", "text": "lost"}}',
        b'{"type": "content_block_delta", "index": 0, "delta": 5}', b'{"type": "message_start", "message": 5}',
        b'{"type": "content_block_start", "index": -1, "content_block": {"type": "text", "text": 7}}',
        b'{"type": "content_block_delta", "index": 0, "delta": {"type": "citations_delta", "citation": {}}}',
        b'{"type": "message", "content": [{"type": "text", "text": "whole"}], "stop_reason": "end_turn"}',
        b'{"type": "error", "error": {"type": "overloaded_error", "message": "later"}}', b'{"type": "error"}',
        '{"type": "content_block_delta", "delta": {"type": "text_delta", "text": "\u00df"}}'.encode("latin-1"),
        '{"type": "ping"}'.encode("utf-16"),
    ),
)  # fmt: skip
WIRES = (GEMINI, OPENAI, ANTHROPIC)
