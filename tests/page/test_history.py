"""Histories in Gemini's form: what was written is read back, also by way of a browser's JSON."""

import json
from base64 import b64decode
from contextlib import suppress
from random import Random
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.page.conversations import answer, conversation

from pollux.core.errors import ValidationError
from pollux.core.messages import Blob, FileRef, Message, Native, Part, Text, Thought, ToolCall, ToolResult, notice, user
from pollux.page.history import LARGEST, MOST_MESSAGES, completed, read, recent, write


def as_a_browser_would(value: Any) -> Any:
    """The value after JSON.parse and JSON.stringify: one kind of number, and keys that look like numbers first."""
    match value:
        case dict():
            members = cast("dict[str, Any]", value)
            numbers = sorted((name for name in members if name.isascii() and name.isdigit()), key=int)
            order = [*numbers, *(name for name in members if name not in numbers)]
            return {name: as_a_browser_would(members[name]) for name in order}
        case list():
            return [as_a_browser_would(each) for each in cast("list[Any]", value)]
        case int() | float() if not isinstance(value, bool):
            return int(value) if abs(value) < 1e21 and float(value).is_integer() else value
        case _:
            return value


def test_a_turn_of_the_model_keeps_its_signature_and_its_order():
    message = answer(
        {"text": "Let me see.", "thought": True},
        {"functionCall": {"id": "c1", "name": "click", "args": {"b": 1, "a": 2}}, "thoughtSignature": "c2ln"},
    )
    (written,) = write([message])
    assert written == {
        "role": "model",
        "parts": [
            {"text": "Let me see.", "thought": True},
            {"functionCall": {"id": "c1", "name": "click", "args": {"b": 1, "a": 2}}, "thoughtSignature": "c2ln"},
        ],
        "native": "gemini",
    }
    assert read([written]) == (message,)


def test_a_user_a_call_and_its_result_look_as_gemini_has_them():
    messages = (
        user("Hello"),
        Message("assistant", (ToolCall("c1", "click", {"ref": "buy"}),)),
        Message("tool", (ToolResult("c1", "click", "ok"), ToolResult("c2", "fill", "no such field", is_error=True))),
    )
    assert write(messages) == [
        {"role": "user", "parts": [{"text": "Hello"}]},
        {"role": "model", "parts": [{"functionCall": {"id": "c1", "name": "click", "args": {"ref": "buy"}}}]},
        {
            "role": "function",
            "parts": [
                {"functionResponse": {"id": "c1", "name": "click", "response": {"output": "ok"}}},
                {"functionResponse": {"id": "c2", "name": "fill", "response": {"error": "no such field"}}},
            ],
        },
    ]
    assert read(write(messages)) == messages


def test_a_call_without_an_id_shows_ours_and_goes_back_to_the_service_without_it():
    message = answer({"functionCall": {"name": "click", "args": {}}}, {"functionCall": {"name": "click", "args": {}}})
    (written,) = write([message])
    ids = [part["functionCall"]["id"] for part in written["parts"]]
    assert ids == [call.id for call in message.calls] and len(set(ids)) == 2
    (back,) = read([written])
    assert back == message and back.native is not None and '"id"' not in back.native.body


def test_two_calls_of_one_tool_stay_two():
    message = answer(
        {"functionCall": {"id": "a", "name": "click", "args": {"n": 1}}},
        {"functionCall": {"id": "b", "name": "click", "args": {"n": 2}}},
    )
    assert [(call.id, call.args["n"]) for call in read(write([message]))[0].calls] == [("a", 1), ("b", 2)]


@pytest.mark.parametrize("result", [1, None, "x", [], {"output": 1}, {"error": "no"}, {"result": {"output": 2}}])
def test_a_result_that_looks_like_a_wrapping_is_not_unwrapped(result: Any):
    for is_error in (False, True):
        message = Message("tool", (ToolResult("c1", "look", result, is_error=is_error),))
        assert read(write([message])) == (message,)


@pytest.mark.parametrize(
    "args",
    [
        {"n": 2**60},
        {"n": 2.0},
        {"b": 1, "7": 2},
        {"t": "e\u0301"},
        {"t": "nul \0"},
        {"t": "a" + "\u0301" * 500},
        {"n": 1e300},
    ],
)
def test_what_a_browser_would_change_travels_as_text_beside(args: dict[str, Any]):
    message = answer({"functionCall": {"id": "c1", "name": "click", "args": args}})
    (written,) = write([message])
    assert written["exact"].isascii() and "\0" not in json.dumps(written, ensure_ascii=False)
    (back,) = read(as_a_browser_would([written]))
    assert back == message and back.native == message.native


def test_another_providers_own_form_comes_back_byte_for_byte():
    native = Native("anthropic", '[{"type":"thinking","signature":"U0lH" }]')
    message = Message("assistant", (Thought("hm"), Text("Hello")), native=native, pinned=True)
    (written,) = write([message])
    assert written["parts"] == [{"text": "hm", "thought": True}, {"text": "Hello"}]
    assert read([written]) == (message,)


def test_a_notice_stays_with_the_server():
    assert write([notice("Shall I send it?")]) == []


def test_images_and_files_travel():
    messages = (
        Message("user", (Blob("image/png", b64decode("iVBORw=="), "cup.png"), FileRef("text/csv", "gs://a/b"))),
    )
    assert read(write(messages)) == messages


def test_a_conversation_comes_back_by_way_of_a_browser():
    for seed in range(40):
        messages = tuple(conversation(Random(seed)))
        written = write(messages)
        back = read(as_a_browser_would(json.loads(json.dumps(written))))
        assert back == messages and [m.native for m in back] == [m.native for m in messages], seed
        assert write(back) == written, seed


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
JSONS = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**62), 2**62) | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
PARTS: st.SearchStrategy[Part] = st.one_of(
    st.builds(Text, TEXTS),
    st.builds(Thought, TEXTS),
    st.builds(ToolCall, TEXTS, TEXTS, st.dictionaries(TEXTS, JSONS, max_size=3), st.booleans()),
    st.builds(ToolResult, TEXTS, TEXTS, JSONS, st.booleans()),
    st.builds(Blob, TEXTS, st.binary(max_size=20), st.none() | TEXTS),
    st.builds(FileRef, TEXTS, TEXTS),
)
MESSAGES = st.builds(
    Message,
    st.sampled_from(["user", "assistant", "tool"]),
    st.lists(PARTS, max_size=4).map(tuple),
    native=st.none() | st.builds(Native, TEXTS | st.just("gemini"), TEXTS),
    pinned=st.booleans(),
)


@settings(deadline=None)
@given(st.lists(MESSAGES, max_size=4))
def test_whatever_messages_hold_comes_back(messages: list[Message]):
    assert read(as_a_browser_would(json.loads(json.dumps(write(messages))))) == tuple(messages)


@settings(deadline=None)
@given(
    st.lists(JSONS | st.fixed_dictionaries({"role": st.sampled_from(["user", "model", "function"]), "parts": JSONS}))
)
def test_junk_is_read_or_refused_in_words(history: list[Any]):
    with suppress(ValidationError):
        assert len(read(history)) == len(history)


NATIVE = st.dictionaries(
    st.sampled_from(["text", "thought", "functionCall", "functionResponse", "inlineData", "fileData", "minted", "x"]),
    JSONS | st.fixed_dictionaries({"id": TEXTS, "name": TEXTS, "args": JSONS, "mimeType": TEXTS, "data": TEXTS}),
    max_size=3,
)


@settings(deadline=None)
@given(st.lists(NATIVE, max_size=3), st.sampled_from(["gemini", None, "other", 1]))
def test_junk_in_parts_is_read_or_refused_in_words(parts: list[Any], native: Any):
    with suppress(ValidationError):
        assert len(read([{"role": "model", "parts": parts} | ({} if native is None else {"native": native})])) == 1


FOREIGN: list[tuple[Any, str]] = [
    ("hello", "expected an object with `role`"),
    ({"role": "system", "parts": []}, "expected an object with `role`"),
    ({"role": "user", "parts": "hello"}, "a list of `parts`"),
    ({"role": "user", "parts": ["hello"]}, "expected objects as `parts`"),
    ({"role": "user", "parts": [{"text": 1}]}, "expected text as `text`"),
    ({"role": "user", "parts": [{"text": "a", "more": 1}]}, "no other members than text"),
    ({"role": "user", "parts": [{}]}, "expected text, functionCall"),
    ({"role": "user", "parts": [], "name": "x"}, "no other members than role and parts"),
    ({"role": "user", "parts": [], "native": "gemini"}, "expected `native`"),
    ({"role": "user", "parts": [], "exact": "{}"}, "under `exact`"),
    ({"role": "user", "parts": [], "exact": '{"role":"assistant","parts":[]}'}, "the same role"),
    ({"role": "function", "parts": [{"functionResponse": {"id": "a", "name": "b", "response": {}}}]}, "`output`"),
    ({"role": "model", "parts": [{"functionCall": {"id": "a", "name": "b", "args": []}}]}, "an object as `args`"),
    ({"role": "user", "parts": [{"inlineData": {"mimeType": "a/b", "data": "?"}}]}, "base64"),
    ({"role": "user", "parts": [{"text": "\ud800"}]}, "surrogate"),
]


@pytest.mark.parametrize(("message", "said"), FOREIGN)
def test_what_is_not_ours_is_refused_by_what_was_expected(message: Any, said: str):
    with pytest.raises(ValidationError, match=said):
        read([message])


def test_too_many_messages_too_many_bytes_and_too_deep_are_refused():
    with pytest.raises(ValidationError, match=f"at most {MOST_MESSAGES} messages"):
        read(write([user("x")]) * (MOST_MESSAGES + 1))
    with pytest.raises(ValidationError, match="Begin a new conversation"):
        write([user("x" * LARGEST)])
    deep: Any = []
    for _ in range(5_000):
        deep = [deep]
    with pytest.raises(ValidationError, match="deep"):
        read([{"role": "user", "parts": deep}])


def test_of_a_long_conversation_the_newest_exchanges_that_fit_are_kept_whole():
    messages = [message for turn in range(9) for message in (user(f"question {turn}"), *_exchange(turn))]
    assert recent(messages) == tuple(messages)
    kept = recent(messages, most=10)
    assert kept == tuple(messages[-8:]) and kept[0].role == "user"
    assert len(json.dumps(write(recent(messages, largest=2_000)), separators=(",", ":"))) <= 2_000
    assert recent([]) == ()


def _exchange(turn: int) -> list[Message]:
    call = ToolCall(f"c{turn}", "click", {})
    result = ToolResult(f"c{turn}", "click", "x" * 100)
    return [Message("assistant", (call,)), Message("tool", (result,)), Message("assistant", (Text("done"),))]


def test_of_an_exchange_that_is_too_large_by_itself_the_long_texts_are_cut():
    told = Message("assistant", (ToolCall("c1", "read", {"path": "/"}),))
    results = Message("tool", (ToolResult("c1", "read", "r" * LARGEST),))
    kept = recent([user("first"), user("read all"), told, results, Message("assistant", (Text("t" * LARGEST),))])
    assert [message.role for message in kept] == ["user", "assistant", "tool", "assistant"]
    assert "more characters cut" in kept[-1].text and kept[1] == told
    assert read(write(kept)) == kept


def test_of_an_exchange_with_more_calls_than_can_be_kept_the_users_words_are():
    many = [Message("assistant", (Text("x"),))] * (MOST_MESSAGES + 1)
    assert recent([user("go"), *many]) == (user("go"),)


def test_half_a_character_that_a_model_said_spoils_nothing_else():
    (written,) = write([Message("assistant", (Text("hello \ud83d"),))])
    assert read([written])[0].text.startswith("hello ")


def test_every_call_of_a_conversation_that_goes_on_has_an_answer():
    asked = Message("assistant", (ToolCall("c1", "buy", {}), ToolCall("c2", "click", {})))
    done = ToolResult("c1", "buy", "bought")
    for brought in ([asked], [asked, Message("tool", (done,))]):
        _, results, last = completed([*brought, user("stop")])
        ids = [part.call_id for part in results.parts if isinstance(part, ToolResult)]
        assert (sorted(ids), last) == (["c1", "c2"], user("stop"))
    assert done in completed([asked, Message("tool", (done,))])[1].parts
