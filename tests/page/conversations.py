"""Conversations as they come about: answers read by the provider's own reader, turns with mixed calls, odd words."""

import json
from random import Random
from typing import Any

from pollux.core.errors import ModelError
from pollux.core.ids import RunId
from pollux.core.messages import Message, Native, Text, Thought, ToolResult, user
from pollux.engine.model import Done
from pollux.page.history import write
from pollux.page.seal import Holder, Seal, sealed
from pollux.providers.gemini_reply import GeminiFold

KEY, FORMER = b"k" * 32, b"f" * 32
NOW = 1_800_000_000.5
HOLDER = Holder(visitor="vis_ada", origin="https://shop.example", profile="shop")

WORDS = (
    "Put two of the red mugs into my cart, please.",
    "Grüße aus Köln: 2 × 3 €",
    "日本語のテキスト 🎉👩‍👩‍👧",
    'a\tb\nc "quoted" \\ back',
    "e\u0301 in two characters",
    "nul \0 inside",
    "",
    "<script>alert(1)</script>",
)
VALUES: tuple[Any, ...] = (
    1, 0, -7, 1.5, 2.0, -0.0, 1e300, 2**60, True, False, None, "x", "é", [], {}, [1, [2, [3]]],
    {"a": {"b": [None, "c"]}}, {"10": "ten", "9": "nine", "b": 1}, {"output": 1}, {"error": "not one"},
)  # fmt: skip


def answer(*parts: dict[str, Any]) -> Message:
    """The model's message, read from the wire as the provider reads it."""
    chunks = [json.dumps({"candidates": [{"content": {"parts": [part]}}]}).encode() for part in parts]
    fold = GeminiFold({}, lambda error: ModelError("refused", kind="server"))
    fold.add([*chunks, b'{"candidates":[{"finishReason":"STOP"}]}'])
    (done,) = (event for event in fold.finish() if isinstance(event, Done))
    return done.message


def conversation(random: Random, *, turns: int | None = None) -> list[Message]:
    """Some turns, with calls in about half of them."""
    messages: list[Message] = []
    for turn in range(turns or random.randint(1, 5)):
        messages.append(user(random.choice(WORDS) or "go on"))
        if random.random() < 0.6:
            messages.extend(_called(random, turn))
        messages.append(_said(random))
    return messages


def waiting(random: Random) -> tuple[list[Message], tuple[str, ...]]:
    """A conversation that ends with calls that the page has yet to answer, and their ids."""
    messages = conversation(random)
    call, *_ = _called(random, 99)
    return [*messages, user("now click"), call], tuple(each.id for each in call.calls)


def sealed_one(
    random: Random, *, run: int = 1, holder: Holder = HOLDER, key: bytes = KEY, now: float = NOW
) -> list[dict[str, Any]]:
    """A sealed history, sometimes with calls that wait."""
    messages, pending = waiting(random) if random.random() < 0.5 else (conversation(random), ())
    seal = Seal(run_id=RunId(f"run_{run}"), tools_hash=f"{random.getrandbits(64):016x}", pending=pending)
    return sealed(write(messages), seal, holder=holder, keys=(key,), now=now)


def _called(random: Random, turn: int) -> list[Message]:
    names = [random.choice(("click-add-to-cart", "fill-input", "action_cart_add")) for _ in range(random.randint(1, 3))]
    calls: list[dict[str, Any]] = []
    for position, name in enumerate(names):
        call: dict[str, Any] = {"name": name, "args": {"value": random.choice(VALUES), "n": random.randint(0, 99)}}
        if random.random() < 0.7:
            call = {"id": f"c{turn}_{position}", **call}
        calls.append({"functionCall": call})
    calls[0]["thoughtSignature"] = f"c2lnbmF0dXJl{random.getrandbits(32):08x}=="
    thought = {"text": "I should look first.", "thought": True}
    message = answer(*([thought] if random.random() < 0.5 else []), *calls)
    results = tuple(
        ToolResult(call.id, call.name, random.choice(VALUES), is_error=random.random() < 0.2) for call in message.calls
    )
    return [message, Message("tool", results)]


def _said(random: Random) -> Message:
    words = random.choice(WORDS) or "Done."
    match random.randint(0, 3):
        case 0:
            return Message("assistant", (Text(words),))
        case 1:
            # Another provider's turn, with its own form beside.
            native = Native("anthropic", json.dumps([{"type": "thinking", "thinking": "hm", "signature": "U0lH"}]))
            return Message("assistant", (Thought("hm"), Text(words)), native=native)
        case 2:
            return answer({"text": words}, {"text": " And more.", "thoughtSignature": "dGV4dA=="})
        case _:
            return answer({"text": "hm", "thought": True}, {"text": words})
