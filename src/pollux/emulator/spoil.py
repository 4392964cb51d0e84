"""Faults in what the model says: a Reply in, another Reply out. Every face gets them from here."""

from dataclasses import replace

from pollux.emulator import tokens
from pollux.emulator.faults import Fault
from pollux.emulator.model import Call, Reply

_MULTI_BYTE = " — naïve café ✓ 日本語 🎉🧪"


def spoil(reply: Reply, fault: Fault) -> Reply:
    """The reply with the fault in it; unchanged when the fault lies elsewhere."""
    match fault.kind:
        case "malformed-call":
            return Reply(finish="MALFORMED_FUNCTION_CALL", message="Malformed function call: default_api.add(a=2,")
        case "unexpected-call":
            return Reply(finish="UNEXPECTED_TOOL_CALL", message="Unexpected tool call.")
        case "too-many-calls":
            return Reply(finish="TOO_MANY_TOOL_CALLS", message="The model made too many tool calls in a row.")
        case "safety":
            return Reply(finish="SAFETY")
        case "recitation":
            return Reply(finish="RECITATION", message="The answer resembled existing material too closely.")
        case "max-tokens":
            texts, _ = tokens.cut(reply.texts, limit=max(1, tokens.count(reply.text) // 2))
            return replace(reply, texts=texts, calls=(), finish="MAX_TOKENS")
        case "unknown-reason":
            return replace(reply, finish="SOMETHING_NEW", message="A reason nobody has seen before.")
        case "block":
            return Reply(block="PROHIBITED_CONTENT")
        case "empty":
            return Reply()
        case "no-candidates":
            return Reply(no_candidates=True)
        case "half":
            return replace(reply, finish=None)
        case "unknown-part":
            return replace(reply, unknown_part=True)
        case "huge":
            return Reply(texts=(_long(fault.number("size", 4 * 1024 * 1024)),))
        case "split-utf8" if not reply.calls:
            return replace(reply, texts=(*reply.texts, _MULTI_BYTE))
        case "no-id":
            return replace(reply, calls=tuple(Call(call.name, call.args) for call in reply.calls))
        case "duplicate-ids":
            return replace(reply, calls=tuple(replace(call, id=reply.calls[0].id) for call in reply.calls))
        case "split-calls":
            return replace(reply, spread_calls=True)
        case _:
            return reply


def _long(size: int) -> str:
    line = "All work and no play makes a long answer. "
    return (line * (size // len(line) + 1))[:size]
