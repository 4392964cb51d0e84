"""Write a Reply as OpenAI writes it: one completion, or chunks."""

import json
from dataclasses import dataclass
from typing import Any

from pollux.emulator import tokens
from pollux.emulator.gemini.catalogue import base_name
from pollux.emulator.jsons import compact
from pollux.emulator.model import Call, Reply
from pollux.emulator.openai.request import Chat
from pollux.emulator.seal import Seal

# A fixed moment: answers hold no clock.
_CREATED = 1_767_225_600
_FILTERED = frozenset({"SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT"})


@dataclass(frozen=True)
class Writer:
    """Everything one answer needs besides what it says."""

    chat: Chat
    seal: Seal

    def whole(self, reply: Reply) -> dict[str, Any]:
        """One completion."""
        message: dict[str, Any] = {"role": "assistant", "content": reply.text or None, "refusal": None}
        if reply.calls:
            message["tool_calls"] = [self._call(call) for call in reply.calls]
        choice: dict[str, Any] = {"index": 0, "message": message, "logprobs": None, "finish_reason": _reason(reply)}
        choices = [] if reply.no_candidates else [choice]
        return self._head("chat.completion") | {"choices": choices, "usage": self._usage(reply)} | _odd(reply)

    def stream(self, reply: Reply) -> list[str]:
        """The payloads of a stream, `[DONE]` at the end unless it never finished."""
        deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
        deltas += [{"content": text} for text in reply.texts]
        deltas += [{"tool_calls": [{"index": at} | self._call(call)]} for at, call in enumerate(reply.calls)]
        chunks = [] if reply.no_candidates else [self._chunk(delta, None) | _odd(reply) for delta in deltas]
        if reply.finish is None:
            return [_line(chunk) for chunk in chunks]
        if not reply.no_candidates:
            chunks.append(self._chunk({}, _reason(reply)))
        if self.chat.usage:
            chunks.append(self._head("chat.completion.chunk") | {"choices": [], "usage": self._usage(reply)})
        return [*(_line(chunk) for chunk in chunks), "[DONE]"]

    def _head(self, kind: str) -> dict[str, Any]:
        return {
            "id": f"chatcmpl-{self.seal.response_id()}",
            "object": kind,
            "created": _CREATED,
            "model": base_name(self.chat.model),
        }

    def _chunk(self, delta: dict[str, Any], reason: str | None) -> dict[str, Any]:
        choice: dict[str, Any] = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
        return self._head("chat.completion.chunk") | {"choices": [choice]}

    def _call(self, call: Call) -> dict[str, Any]:
        shown: dict[str, Any] = {"id": f"call_{call.id}"} if call.id is not None else {}
        return shown | {"type": "function", "function": {"name": call.name, "arguments": compact(call.args)}}

    def _usage(self, reply: Reply) -> dict[str, Any]:
        spent = tokens.count(reply.text) + sum(tokens.count(compact([call.name, call.args])) for call in reply.calls)
        prompt = self.chat.ask.text_tokens
        return {"prompt_tokens": prompt, "completion_tokens": spent, "total_tokens": prompt + spent}


def _reason(reply: Reply) -> str | None:
    if reply.block or reply.finish in _FILTERED:
        return "content_filter"
    match reply.finish:
        case "STOP":
            return "tool_calls" if reply.calls else "stop"
        case "MAX_TOKENS":
            return "length"
        case None:
            return None
        case other:
            return other.lower()


def _odd(reply: Reply) -> dict[str, Any]:
    return {"something_new": {"kept": True}} if reply.unknown_part else {}


def _line(chunk: dict[str, Any]) -> str:
    return json.dumps(chunk, ensure_ascii=False, separators=(",", ":"))
