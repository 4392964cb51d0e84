"""What is the chat's own, by whatever name a page gives it."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from pollux.page import chat

CONTRACT = Path(__file__).parent.parent.parent.parent / "shared/samples/jay/gemini-chat.jay-contract"
OWN: list[Any] = [
    "messageInput",
    "message_input",
    "SendMessage",
    ["toggleExpand"],
    ["gemini-chat", "close"],
    ["item", "sendMessage"],
    '["geminiChat", "close"]',
    "polluxChat/close",
    "pollux-chat > close",
]
OTHER: list[Any] = [
    "message",
    "send",
    ["p1", "addToCart"],
    '["p1"',
    "[" * 100_000,
    "",
    None,
    7,
    {"a": 1},
    [1, None],
    [],
]


@pytest.mark.parametrize("reference", OWN, ids=str)
def test_its_own_controls_are_known_in_every_form(reference: Any):
    assert chat.is_own(reference) and chat.is_reached_by({"coordinate": reference, "value": "x"})


@pytest.mark.parametrize("reference", OTHER, ids=range(len(OTHER)))
def test_other_controls_are_not(reference: Any):
    assert not chat.is_own(reference) and not chat.is_reached_by({"ref": reference})


def test_a_text_to_fill_in_may_say_anything():
    assert not chat.is_reached_by({"coordinate": ["comment"], "value": "sendMessage"})


def test_tools_for_single_controls_are_known_by_their_names():
    assert all(map(chat.is_own_tool, ("fill-message-input", "click-sendMessage", "click-pollux-chat-close")))
    assert not any(map(chat.is_own_tool, ("send-message", "click-send", "fill-message", "click-", "message-input")))


def test_every_control_of_jays_own_chat_is_known_and_so_is_its_state():
    if not CONTRACT.exists():
        pytest.skip("the sample contract of Jay's chat is not here")
    tags = {tag["tag"]: tag["type"] for tag in yaml.safe_load(CONTRACT.read_text())["tags"]}
    controls = [name for name, kind in tags.items() if "interactive" in kind]
    assert len(controls) == 3 and all(map(chat.is_own, controls))
    assert chat.is_container("helper", dict.fromkeys(tags, ""))
    assert not chat.is_container("helper", {"messages": []}) and not chat.is_container("helper", None)
