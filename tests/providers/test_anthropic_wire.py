"""What Anthropic is sent and answers: requests, turns put together from events, refusals."""

import json
from typing import Any

import pytest
from pydantic import TypeAdapter

from pollux.core.errors import ModelError
from pollux.core.messages import JSON, Blob, FileRef, Message, Native, Text, Thought, ToolCall, ToolResult, Usage, user
from pollux.core.tools import ToolSpec
from pollux.engine.model import Done, ModelEvent, ModelRequest, NativePart, TextDelta, ThoughtDelta, Turns
from pollux.providers.anthropic_errors import refused, reported
from pollux.providers.anthropic_reply import AnthropicFold
from pollux.providers.anthropic_request import encode_count, encode_message, encode_request, encode_tools
from pollux.providers.refusals import NEVER

ADD = ToolSpec("add", "Add.", {"type": "object", "properties": {"a": {"type": "integer"}}})
CALLED = Message("assistant", (ToolCall("c", "add", {}),))
RESULT = Message("tool", (ToolResult("c", "add", 3),))
START = {"type": "message_start", "message": {"model": "claude-x", "usage": {"input_tokens": 5, "output_tokens": 1}}}
STOP = {"type": "message_stop"}


def refusal(error: JSON) -> ModelError:
    return reported(error, secrets=())


def fold(*events: Any) -> tuple[list[ModelEvent], Done]:
    folding = AnthropicFold({"t_1": "größe"}, refusal)
    brought = [one for event in events for one in folding.add([json.dumps(event).encode()])]
    assert folding.failure is None
    *calls, done = folding.finish()
    assert isinstance(done, Done)
    return [*brought, *calls], done


def begin(index: int, **block: Any) -> dict[str, Any]:
    return {"type": "content_block_start", "index": index, "content_block": block}


def more(index: int, **delta: Any) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": delta}


def end(index: int) -> dict[str, Any]:
    return {"type": "content_block_stop", "index": index}


def text(index: int, said: str) -> list[dict[str, Any]]:
    return [begin(index, type="text", text=""), more(index, type="text_delta", text=said), end(index)]


def use(index: int, arguments: str, **block: Any) -> list[dict[str, Any]]:
    named = {"id": f"toolu_{index}", "name": "add"} | block
    pieces = [more(index, type="input_json_delta", partial_json=piece) for piece in ("", arguments[:3], arguments[3:])]
    return [begin(index, type="tool_use", input={}, **named), *pieces, end(index)]


def ending(reason: str | None, **fields: Any) -> dict[str, Any]:
    return {"type": "message_delta", "delta": {"stop_reason": reason} | fields, "usage": {"output_tokens": 9}}


def whole(*blocks: Any, reason: str | None = "end_turn", **fields: Any) -> dict[str, Any]:
    return {"type": "message", "model": "claude-x", "content": list(blocks), "stop_reason": reason} | fields


def native(done: Done) -> list[dict[str, Any]]:
    assert done.message.native is not None
    return json.loads(done.message.native.body)["content"]


def request(*messages: Message, **settings: Any) -> ModelRequest:
    return ModelRequest(settings.pop("model", "claude-opus-5"), Turns(messages or [user("hi")]), **settings)


def body(*messages: Message, **settings: Any) -> dict[str, Any]:
    asked = request(*messages, **settings)
    return json.loads(encode_request(asked, encode_tools(asked.tools) if asked.tools else b""))


def test_a_stream_is_put_together_block_by_block():
    events, done = fold(
        START,
        begin(0, type="thinking", thinking="", signature=""),
        {"type": "ping"},
        more(0, type="thinking_delta", thinking="Hm, "),
        more(0, type="thinking_delta", thinking="yes."),
        more(0, type="signature_delta", signature="c2ln"),
        end(0),
        *text(1, "Let me see."),
        *use(2, '{"a": 1.0}'),
        *use(3, "", name="t_1"),
        ending("tool_use"),
        STOP,
    )
    calls = (ToolCall("toolu_2", "add", {"a": 1.0}), ToolCall("toolu_3", "größe", {}))
    assert events == [ThoughtDelta("Hm, "), ThoughtDelta("yes."), TextDelta("Let me see."), *calls]
    assert done.message.parts == (Thought("Hm, yes."), Text("Let me see."), *calls)
    assert (done.stop, done.reason, done.model) == ("tool_calls", "tool_use", "claude-x")
    assert native(done)[0] == {"type": "thinking", "thinking": "Hm, yes.", "signature": "c2ln"}
    assert done.message.native and '"input":{"a": 1.0}' in done.message.native.body


def test_text_that_arrived_together_is_one_delta():
    folding = AnthropicFold({}, refusal)
    events = [START, begin(0, type="thinking", thinking="a", signature="s"), end(0), *text(1, "b"), *text(2, "c")]
    assert folding.add([json.dumps(event).encode() for event in events]) == [ThoughtDelta("a"), TextDelta("bc")]


def test_the_blocks_of_a_whole_answer_go_back_byte_for_byte():
    said = b'{"type": "thinking", "thinking": "\\u00fc", "signature": "s==", "new": 1.0}'
    answer = b'{"type":"message","content":[' + said + b', {"type":"text","text":"x"}],"stop_reason":"end_turn"}'
    folding = AnthropicFold({}, refusal)
    assert folding.add([answer]) == [ThoughtDelta("ü"), TextDelta("x")]
    done = folding.finish()[-1]
    assert isinstance(done, Done) and done.message.native and said.decode() in done.message.native.body


def test_blocks_nobody_knows_are_kept_and_announced():
    searched = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"q": "x"}}
    redacted = {"type": "redacted_thinking", "data": "abc"}
    events, done = fold(whole(redacted, searched, {"type": "text", "text": "found"}))
    assert events == [NativePart(redacted), NativePart(searched), TextDelta("found")]
    assert native(done)[:2] == [redacted, searched]
    assert done.message.parts == (Text("found"),)


def test_citations_stay_with_their_text():
    cited = more(0, type="citations_delta", citation={"cited_text": "x"})
    _, done = fold(START, begin(0, type="text", text=""), more(0, type="text_delta", text="x"), cited, end(0), STOP)
    assert native(done) == [{"type": "text", "text": "x", "citations": [{"cited_text": "x"}]}]


def test_calls_without_a_usable_id_get_one_that_goes_into_the_turn():
    _, done = fold(
        START, *use(0, "{}", id=""), *use(1, "{}", id="a.b"), *use(2, "{}"), *use(3, "{}", id="toolu_2"), STOP
    )
    ids = [call.id for call in done.message.calls]
    assert len(set(ids)) == 4 and [call.minted for call in done.message.calls] == [True, True, False, True]
    assert [block["id"] for block in native(done)] == ids


@pytest.mark.parametrize(
    ("blocks", "reason", "stop"),
    [
        (text(0, "x"), "end_turn", "end"),
        (text(0, "x"), "stop_sequence", "end"),
        (text(0, "x"), "max_tokens", "length"),
        (text(0, "x"), "model_context_window_exceeded", "length"),
        (text(0, "x"), "refusal", "blocked"),
        (text(0, "x"), "pause_turn", "other"),
        (text(0, "x"), None, "truncated"),
        ([], "end_turn", "empty"),
        (text(0, "\n"), "end_turn", "empty"),
        ([begin(0, type="thinking", thinking="hm", signature="s"), end(0)], "end_turn", "empty"),
        (use(0, "{}"), "tool_use", "tool_calls"),
        (use(0, "{}"), "end_turn", "tool_calls"),
        (use(0, '{"a": '), "tool_use", "bad_call"),
        (use(0, "[1, 2]"), "tool_use", "bad_call"),
        (use(0, "{}", name=""), "tool_use", "bad_call"),
        (use(0, '{"a": '), "max_tokens", "length"),
        (use(0, "{}"), None, "truncated"),
    ],
)
def test_every_way_to_end_is_typed(blocks: list[Any], reason: str | None, stop: str):
    _, done = fold(START, *blocks, *([ending(reason)] if reason else []))
    assert (done.stop, done.reason) == (stop, reason or "")


def test_a_call_cut_off_by_the_length_limit_is_still_seen():
    _, done = fold(START, *use(0, '{"a": ')[:-1], ending("max_tokens"), STOP)
    assert [call.name for call in done.message.calls] == ["add"]
    assert native(done)[0]["input"] == {}


def test_no_call_stays_in_an_answer_that_broke_off():
    _, done = fold(START, *text(0, "x"), *use(1, "{}"))
    assert not done.message.calls and [block["type"] for block in native(done)] == ["text"]


def test_what_the_service_would_not_take_back_is_not_kept():
    unsigned = [begin(1, type="thinking", thinking="half", signature="")]
    _, done = fold(START, *text(0, "x"), *unsigned, ending("max_tokens"), STOP)
    assert [block["type"] for block in native(done)] == ["text"]
    _, done = fold(START, begin(0, type="thinking", thinking="hm", signature="s"), end(0), ending("max_tokens"), STOP)
    assert done.message.native is None and done.message.parts == (Thought("hm"),)


def test_a_refusal_is_explained():
    details = {"type": "refusal", "category": "bio", "explanation": "I will not."}
    assert fold(START, ending("refusal", stop_details=details), STOP)[1].detail == "I will not."


def test_all_input_counts_and_what_was_kept_is_told_apart():
    started = {"input_tokens": 10, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 1000}
    counted = {"output_tokens": 8, "output_tokens_details": {"thinking_tokens": 5}, "input_tokens": None}
    start = {"type": "message_start", "message": {"model": "m", "usage": started}}
    done = fold(start, *text(0, "x"), ending("end_turn") | {"usage": counted}, STOP)[1]
    assert done.usage == Usage(input=1110, output=8, thoughts=5, cached=100)
    assert fold(whole({"type": "text", "text": "x"}))[1].usage == Usage()


@pytest.mark.parametrize("nonsense", [b"{}", b"[]", b'"x"', b'{"type": 1}', b'{"type": "message", "content": [1]}'])
def test_what_is_no_event_is_a_protocol_error(nonsense: bytes):
    folding = AnthropicFold({}, refusal)
    folding.add([nonsense])
    assert folding.failure is not None and folding.failure.kind == "protocol"


def test_kinds_of_events_that_are_yet_to_come_are_passed_over():
    new = {"type": "aurora", "message": "words", "index": "north", "content": {"colour": "green"}}
    assert fold(START, new, *text(0, "x"), ending("end_turn"), STOP)[1].stop == "end"


def test_no_event_at_all_is_an_empty_answer():
    with pytest.raises(ModelError, match="empty answer"):
        AnthropicFold({}, refusal).finish()


def test_messages_are_what_anthropic_s_types_expect():
    types = pytest.importorskip("anthropic.types")
    said = user(
        "look",
        Blob("image/png", b"\1"),
        Blob("application/pdf", b"\3", "a.pdf"),
        Blob("text/csv", b"a,b", "t.csv"),
        FileRef("image/png", "https://example.com/i.png"),
        FileRef("application/pdf", "https://example.com/d.pdf"),
    )
    answered = Message("assistant", (Text("ok"), ToolCall("c", "add", {"a": 1})))
    for message in (said, answered, RESULT):
        adapter: TypeAdapter[Any] = TypeAdapter(types.MessageParam)
        adapter.validate_json(encode_message(message))


def test_what_people_send_along_has_the_form_of_its_kind():
    files = (
        Blob("image/png", b"\1"),
        Blob("application/pdf", b"\3", "a.pdf"),
        Blob("text/csv", b"a,b", "t.csv"),
        Blob("audio/wav", b"\2", "a.wav"),
        FileRef("image/png", "https://example.com/i.png"),
        FileRef("text/csv", "https://example.com/t.csv"),
    )
    image, pdf, table, sound, linked, named = json.loads(encode_message(Message("user", files)))["content"]
    assert image["source"] == {"type": "base64", "media_type": "image/png", "data": "AQ=="}
    assert (pdf["type"], pdf["title"]) == ("document", "a.pdf")
    assert table["source"] == {"type": "text", "media_type": "text/plain", "data": "a,b"}
    assert sound == {"type": "text", "text": "[file a.wav (audio/wav)]"}
    assert linked["source"] == {"type": "url", "url": "https://example.com/i.png"}
    assert named["type"] == "text"


def test_a_turn_of_another_provider_is_rebuilt_with_ids_that_are_accepted():
    call = ToolCall("call:1/é", "größe", {"a": 1})
    rebuilt = Message("assistant", (Thought("hm"), Text(" "), Text("ok"), call), Native("gemini", "{}"))
    words, used = json.loads(encode_message(rebuilt))["content"]
    (answer,) = json.loads(encode_message(Message("tool", (ToolResult(call.id, call.name, "no", is_error=True),))))[
        "content"
    ]
    assert words == {"type": "text", "text": "ok"}
    assert used["id"] == answer["tool_use_id"] != call.id and used["id"].isascii()
    assert (answer["content"], answer["is_error"]) == ("no", True)
    assert encode_message(user(" ")) == b""


def test_settings_have_the_service_s_own_names():
    sent = body(
        model="claude-haiku-4-5",
        system="Be brief.",
        tools=(ADD,),
        tool_mode="any",
        output_schema={"type": "object", "properties": {}},
        max_output_tokens=9,
        temperature=0.5,
        stream=False,
    )
    assert (sent["system"], sent["max_tokens"], sent["temperature"]) == ("Be brief.", 9, 0.5)
    assert sent["tool_choice"] == {"type": "any"} and sent["tools"][0]["input_schema"] == ADD.input_schema
    assert sent["output_config"]["format"]["schema"]["additionalProperties"] is False
    assert "stream" not in sent and "thinking" not in sent


def test_extra_is_laid_over_and_none_takes_a_field_away():
    sent = body(extra={"stream": None, "metadata": {"user_id": "u"}, "tools": [{"type": "web_search_20250305"}]})
    assert "stream" not in sent
    assert sent["metadata"] == {"user_id": "u"} and sent["tools"] == [{"type": "web_search_20250305"}]
    assert body(model="claude-opus-5-5", extra={"thinking": {"type": "x"}})["thinking"] == {"type": "x"}
    with pytest.raises(ModelError, match="messages"):
        body(extra={"messages": []})


def test_counting_sends_what_counts_and_nothing_else():
    asked = request(tools=(ADD,), system="s", temperature=1.0, extra={"metadata": {}, "cache_control": None})
    sent = json.loads(encode_count(asked, encode_tools(asked.tools)))
    assert set(sent) == {"messages", "tools", "model", "system"}


@pytest.mark.parametrize(
    ("model", "asked", "limit"),
    [
        ("claude-opus-5-5", None, 128_000),
        ("claude-opus-5-5", 1_000_000, 128_000),
        ("claude-opus-5-5", 7, 7),
        ("claude-haiku-4-5-20251001", None, 64_000),
        ("claude-opus-4-20250514", None, 32_000),
        ("claude-3-7-sonnet-20250219", None, 64_000),
        ("claude-3-5-haiku-20241022", None, 8_192),
        ("claude-3-opus-20240229", None, 4_096),
        ("claude-of-a-gateway", None, 32_000),
    ],
)
def test_the_limit_that_the_service_needs_is_the_model_s_own(model: str, asked: int | None, limit: int):
    assert body(model=model, max_output_tokens=asked)["max_tokens"] == limit


BOUND = {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}}


@pytest.mark.parametrize(
    ("model", "default", "shown", "off"),
    [
        ("claude-3-5-haiku-20241022", None, None, None),
        ("claude-haiku-4-5", None, {"type": "enabled", "budget_tokens": 16_000}, None),
        ("claude-opus-4-6", None, {"type": "adaptive", "display": "summarized"}, None),
        ("claude-opus-5", None, {"type": "adaptive", "display": "summarized"}, {"type": "disabled"}),
        ("claude-haiku-5-5", BOUND, BOUND | {"display": "summarized"}, {"type": "disabled"}),
        ("claude-sonnet-5-5", BOUND, BOUND | {"display": "summarized"}, {"type": "between_tools"}),
        ("claude-opus-5-5", BOUND, BOUND | {"display": "summarized"}, BOUND),
        ("claude-mythos-preview", None, {"type": "adaptive", "display": "summarized"}, None),
        ("claude-of-a-gateway", None, None, None),
    ],
)
def test_every_model_is_told_to_think_in_its_own_way(model: str, default: Any, shown: Any, off: Any):
    assert body(model=model).get("thinking") == default
    assert body(model=model, thinking="shown").get("thinking") == shown
    assert body(model=model, thinking="off").get("thinking") == off


@pytest.mark.parametrize("model", ["claude-opus-5-5", "claude-fable-5-1", "claude-mythos-preview"])
def test_a_model_that_always_thinks_is_asked_for_the_least_effort(model: str):
    sent = body(model=model, thinking="off", output_schema={"type": "object"})
    assert sent["output_config"]["effort"] == "low" and sent["output_config"]["format"]


def test_thinking_gives_way_where_the_service_would_refuse_it():
    old = "claude-haiku-4-5"
    assert "thinking" not in body(model=old, thinking="shown", tools=(ADD,), tool_mode="any")
    assert "thinking" not in body(model=old, thinking="shown", max_output_tokens=1500)
    assert "thinking" not in body(user("hi"), CALLED, RESULT, model=old, thinking="shown")
    thought = Native("anthropic", '{"role":"assistant","content":[{"type":"thinking"}]}')
    assert "thinking" in body(
        user("hi"), Message("assistant", CALLED.parts, thought), RESULT, model=old, thinking="shown"
    )
    assert body(model="claude-haiku-5-5", tools=(ADD,), tool_mode="any")["thinking"] == {"type": "disabled"}


@pytest.mark.parametrize(
    ("schema", "fit"),
    [
        ({"type": "object", "properties": {"a": {"type": "object"}}}, {"type": "object", "additionalProperties": False,
          "properties": {"a": {"type": "object", "additionalProperties": False}}}),
        ({"type": "integer", "minimum": 3}, {"type": "integer", "description": '{"minimum":3}'}),
        ({"type": "string", "format": "date", "maxLength": 9, "description": "When."},
         {"type": "string", "format": "date", "description": 'When. {"maxLength":9}'}),
        ({"oneOf": [{"type": "null"}, {"$ref": "#/$defs/A"}], "$defs": {"A": {"type": "string", "minLength": 1}}},
         {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/A"}],
          "$defs": {"A": {"type": "string", "description": '{"minLength":1}'}}}),
        ({"type": "array", "items": {"type": "object"}, "minItems": 1, "maxItems": 5},
         {"type": "array", "items": {"type": "object", "additionalProperties": False}, "minItems": 1,
          "description": '{"maxItems":5}'}),
        ({"type": "object", "properties": {"minimum": {"type": "string"}}, "required": ["minimum"]},
         {"type": "object", "properties": {"minimum": {"type": "string"}}, "required": ["minimum"],
          "additionalProperties": False}),
    ],
    ids=["closed", "bound", "format", "choices", "array", "named-like-a-bound"],
)  # fmt: skip
def test_a_wanted_shape_is_sent_in_the_part_of_the_language_that_is_taken(schema: JSON, fit: JSON):
    assert body(output_schema=schema)["output_config"]["format"]["schema"] == fit


@pytest.mark.parametrize(
    ("status", "error", "kind"),
    [
        (401, {"type": "authentication_error", "message": "no"}, "auth"),
        (402, {"type": "billing_error", "message": "pay"}, "auth"),
        (404, {"type": "not_found_error", "message": "model: x"}, "not_found"),
        (413, {"type": "request_too_large", "message": "big"}, "bad_request"),
        (529, {"type": "overloaded_error", "message": "Overloaded"}, "overloaded"),
        (0, {"type": "overloaded_error", "message": "Overloaded"}, "overloaded"),
        (0, {"type": "rate_limit_error", "message": "slow"}, "rate_limit"),
        (0, {"type": "api_error", "message": "broken"}, "server"),
        (0, {"type": "something_new"}, "server"),
        (0, "only words", "server"),
    ],
)
def test_errors_have_a_kind_by_status_or_by_their_type(status: int, error: Any, kind: str):
    assert reported(error, secrets=(), status=status).kind == kind


def test_a_spent_limit_is_not_waited_for_and_other_limits_are():
    details = {"error_code": "enforced_spend_limit_reached"}
    spent = {"type": "error", "error": {"type": "rate_limit_error", "message": "spent", "details": details}}
    assert refused(429, json.dumps(spent).encode(), secrets=()).retry_after == NEVER
    slow = b'{"type": "error", "error": {"type": "rate_limit_error", "message": "slow"}}'
    assert refused(429, slow, secrets=(), retry_after="3").retry_after == 3


def test_the_request_id_that_support_asks_for_is_shown():
    error = refused(500, b'{"error": {"type": "api_error", "message": "broken"}}', secrets=(), request_id="req_1")
    assert str(error) == "Anthropic answered api_error: broken (request req_1)"


def test_a_text_that_is_none_is_an_error_of_the_model():
    folding = AnthropicFold({}, refusal)
    folding.add([json.dumps({"type": "message", "content": [{"type": "text", "text": 7}]}).encode()])
    assert folding.failure is not None and folding.failure.kind == "protocol"
