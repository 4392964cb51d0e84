"""Write a Reply as Anthropic writes it: one message, or the events of a stream."""

import json
from dataclasses import dataclass
from typing import Any

from pollux.emulator import tokens
from pollux.emulator.anthropic.request import Talk
from pollux.emulator.gemini.catalogue import base_name
from pollux.emulator.jsons import compact
from pollux.emulator.model import Call, Reply
from pollux.emulator.seal import Seal

_REFUSED = frozenset({"SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT"})
_UNKNOWN_BLOCK = {"type": "hologram", "hue": "teal", "frames": [1, 2, 3]}


@dataclass(frozen=True)
class Writer:
    """Everything one answer needs besides what it says. `stopped` is the sequence that ended it."""

    talk: Talk
    seal: Seal
    stopped: str | None = None

    def whole(self, reply: Reply) -> dict[str, Any]:
        """One message."""
        return self._message(reply, self._blocks(reply), self._ending(reply), spent=self._spent(reply))

    def stream(self, reply: Reply) -> list[dict[str, Any]]:
        """The events of a stream; one that never finished lacks its end."""
        start = self._message(reply, [], {"stop_reason": None, "stop_sequence": None, "stop_details": None}, spent=1)
        events: list[dict[str, Any]] = [{"type": "message_start", "message": start}]
        for index, block in enumerate(self._blocks(reply)):
            events += self._block(index, block, reply)
            if index == 0:
                events.insert(2, {"type": "ping"})
        if reply.unknown_part:
            events.append({"type": "something_new", "kept": True})
        if reply.finish is None:
            return events[:-1] if len(events) > 1 else events
        usage = self._usage(reply, spent=self._spent(reply))
        return [
            *events,
            {"type": "message_delta", "delta": self._ending(reply), "usage": usage},
            {"type": "message_stop"},
        ]

    def _message(
        self, reply: Reply, content: list[dict[str, Any]], ending: dict[str, Any], *, spent: int
    ) -> dict[str, Any]:
        message: dict[str, Any] = {
            "id": f"msg_01{self.seal.response_id()}",
            "type": "message",
            "role": "assistant",
            "model": base_name(self.talk.ask.model),
            "content": content,
        }
        odd = {"something_new": {"kept": True}} if reply.unknown_part else {}
        return message | ending | {"usage": self._usage(reply, spent=spent)} | odd

    def _blocks(self, reply: Reply) -> list[dict[str, Any]]:
        blocks = self._thought(reply)
        if reply.texts:
            blocks.append({"type": "text", "text": reply.text, "citations": None})
        blocks += [self._call(call) for call in reply.calls]
        return blocks + ([dict(_UNKNOWN_BLOCK)] if reply.unknown_part else [])

    def _thought(self, reply: Reply) -> list[dict[str, Any]]:
        """Unasked, the demo model thinks where there is something to decide: before it calls tools."""
        mode = self.talk.ask.thoughts
        if not reply.thoughts or mode == "off" or (mode == "hidden" and not reply.calls):
            return []
        text = "".join(reply.thoughts) if mode == "shown" else ""
        return [{"type": "thinking", "thinking": text, "signature": self.seal.sign_thought(text, self.talk.prefix)}]

    def _call(self, call: Call) -> dict[str, Any]:
        named = {"id": f"toolu_01{call.id}"} if call.id is not None else {}
        return {"type": "tool_use", **named, "name": call.name, "input": call.args}

    def _block(self, index: int, block: dict[str, Any], reply: Reply) -> list[dict[str, Any]]:
        empty: dict[str, Any]
        deltas: list[dict[str, Any]]
        match block["type"]:
            case "thinking":
                empty = block | {"thinking": "", "signature": ""}
                shown = [{"type": "thinking_delta", "thinking": text} for text in reply.thoughts if block["thinking"]]
                deltas = [*shown, {"type": "signature_delta", "signature": block["signature"]}]
            case "text":
                empty = block | {"text": ""}
                deltas = [{"type": "text_delta", "text": text} for text in reply.texts]
            case "tool_use":
                empty = block | {"input": {}}
                deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in _pieces(block["input"])]
            case _:
                empty, deltas = block, []
        start = {"type": "content_block_start", "index": index, "content_block": empty}
        middle = [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
        return [start, *middle, {"type": "content_block_stop", "index": index}]

    def _ending(self, reply: Reply) -> dict[str, Any]:
        reason = self._reason(reply)
        details = {"type": "refusal", "category": None, "explanation": reply.message} if reason == "refusal" else None
        sequence = self.stopped if reason == "stop_sequence" else None
        return {"stop_reason": reason, "stop_sequence": sequence, "stop_details": details}

    def _reason(self, reply: Reply) -> str | None:
        if reply.block or reply.finish in _REFUSED:
            return "refusal"
        match reply.finish:
            case "STOP":
                return "tool_use" if reply.calls else "stop_sequence" if self.stopped else "end_turn"
            case "MAX_TOKENS":
                return "max_tokens"
            case None:
                return None
            case other:
                return other.lower()

    def _thinking(self, reply: Reply) -> int:
        return sum(tokens.count(text) for text in reply.thoughts) if self._thought(reply) else 0

    def _spent(self, reply: Reply) -> int:
        said = tokens.count(reply.text) + sum(tokens.count(compact([call.name, call.args])) for call in reply.calls)
        return said + self._thinking(reply)

    def _usage(self, reply: Reply, *, spent: int) -> dict[str, Any]:
        return {
            "input_tokens": self.talk.ask.text_tokens,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
            "output_tokens": spent,
            "output_tokens_details": {"thinking_tokens": min(spent, self._thinking(reply))},
            "service_tier": "standard",
        }


def line(event: dict[str, Any]) -> str:
    """JSON as the service writes it into a stream."""
    return json.dumps(event, ensure_ascii=False, separators=(",", ":"))


def _pieces(args: dict[str, Any]) -> list[str]:
    """Arguments as they arrive: nothing, then two halves."""
    text = compact(args)
    return ["", text[: len(text) // 2], text[len(text) // 2 :]]
