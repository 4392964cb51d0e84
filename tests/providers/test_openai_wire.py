"""What an OpenAI-compatible service is sent and answers, held against OpenAI's own types."""

import json
from typing import Any

import pytest
from openai.types.chat import (
    ChatCompletionAssistantMessageParam,
    ChatCompletionToolMessageParam,
    ChatCompletionUserMessageParam,
)
from pydantic import TypeAdapter

from pollux.core.errors import ModelError
from pollux.core.messages import JSON, Blob, FileRef, Message, Native, Text, Thought, ToolCall, ToolResult, Usage, user
from pollux.core.tools import ToolSpec
from pollux.engine.model import Done, ModelEvent, ModelRequest, TextDelta, ThoughtDelta, Turns
from pollux.providers.openai import ollama_url
from pollux.providers.openai_errors import refused, reported
from pollux.providers.openai_reply import OpenAIFold
from pollux.providers.openai_request import encode_message, encode_request, encode_tools
from pollux.providers.refusals import NEVER

ADD = ToolSpec("add", "Add.", {"type": "object", "properties": {"a": {"type": "integer"}}})


def refusal(error: JSON) -> ModelError:
    return reported(error, secrets=())


def fold(*chunks: Any, end: bool = True) -> tuple[list[ModelEvent], Done]:
    folding = OpenAIFold({"t_1": "größe"}, refusal)
    payloads = [json.dumps(chunk).encode() for chunk in chunks] + ([b"[DONE]"] if end else [])
    events = [event for payload in payloads for event in folding.add([payload])]
    assert folding.failure is None
    *calls, done = folding.finish()
    assert isinstance(done, Done)
    return [*events, *calls], done


def chunk(delta: dict[str, Any] | None = None, finish: str | None = None, **more: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta or {}, "finish_reason": finish}], **more}


def piece(index: int | None, arguments: str = "", **more: Any) -> dict[str, Any]:
    place = {} if index is None else {"index": index}
    return chunk(
        {
            "tool_calls": [
                place
                | {k: v for k, v in more.items() if k == "id"}
                | {"function": {"arguments": arguments} | {k: v for k, v in more.items() if k == "name"}}
            ]
        }
    )


def native(done: Done) -> dict[str, Any]:
    assert done.message.native is not None
    return json.loads(done.message.native.body)


def body(*messages: Message, limit_name: str = "max_tokens", **settings: Any) -> dict[str, Any]:
    request = ModelRequest(settings.pop("model", "gpt-5"), Turns(messages or [user("hi")]), **settings)
    tools = encode_tools(request.tools) if request.tools else b""
    return json.loads(encode_request(request, tools, limit_name=limit_name))


def test_parallel_calls_over_chunks_are_put_together_by_index():
    events, done = fold(
        chunk({"role": "assistant", "content": None}),
        piece(0, id="c0", name="add"),
        piece(1, id="c1", name="t_1"),
        piece(0, '{"a":'),
        piece(1, "{}"),
        piece(0, "1}"),
        chunk(finish="tool_calls"),
    )
    assert events == [ToolCall("c0", "add", {"a": 1}), ToolCall("c1", "größe", {})]
    assert done.stop == "tool_calls"
    assert [call["function"] for call in native(done)["tool_calls"]] == [
        {"name": "add", "arguments": '{"a":1}'},
        {"name": "t_1", "arguments": "{}"},
    ]


def test_calls_without_an_index_are_told_apart_by_their_names():
    _, done = fold(
        piece(None, '{"a":1}', name="add"), piece(None, '{"a"', name="add"), piece(None, ":2}"), chunk(finish="stop")
    )
    assert [call.args for call in done.message.calls] == [{"a": 1}, {"a": 2}]
    assert all(call.minted for call in done.message.calls)
    assert [call["id"] for call in native(done)["tool_calls"]] == [call.id for call in done.message.calls]


def test_fields_nobody_knows_go_back_with_the_turn():
    signed = {"index": 0, "id": "c", "function": {"name": "add", "arguments": "{}"}, "extra_content": {"sig": "x=="}}
    details = [{"type": "reasoning.encrypted", "data": "abc"}]
    _, done = fold(chunk({"tool_calls": [signed], "reasoning_details": details}), chunk(finish="tool_calls"))
    assert native(done)["tool_calls"][0]["extra_content"] == {"sig": "x=="}
    assert native(done)["reasoning_details"] == details


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_reasoning_is_a_thought(field: str):
    events, done = fold(
        chunk({field: "Hm, "}), chunk({field: "yes."}), chunk({"content": "Yes."}), chunk(finish="stop")
    )
    assert events == [ThoughtDelta("Hm, "), ThoughtDelta("yes."), TextDelta("Yes.")]
    assert done.message.parts == (Thought("Hm, yes."), Text("Yes."))


@pytest.mark.parametrize(
    ("finish", "delta", "end", "stop"),
    [
        ("stop", {"content": "x"}, True, "end"),
        ("stop", {}, True, "empty"),
        ("length", {"content": "x"}, True, "length"),
        ("content_filter", {"content": "x"}, True, "blocked"),
        ("something_new", {"content": "x"}, True, "other"),
        (None, {"content": "x"}, True, "end"),
        (None, {"content": "x"}, False, "truncated"),
        ("stop", {"refusal": "I will not."}, True, "blocked"),
        ("function_call", {"function_call": {"name": "add", "arguments": "{}"}}, True, "tool_calls"),
        ("stop", {"tool_calls": [{"index": 0, "function": {"name": "add", "arguments": "{"}}]}, True, "bad_call"),
        ("stop", {"tool_calls": [{"index": 0, "function": {"name": "add", "arguments": "[1]"}}]}, True, "bad_call"),
        ("stop", {"tool_calls": [{"index": 0, "function": {"name": "", "arguments": "{}"}}]}, True, "bad_call"),
        ("length", {"tool_calls": [{"index": 0, "function": {"name": "add", "arguments": "{"}}]}, True, "length"),
    ],
)
def test_every_way_to_end_is_typed(finish: str | None, delta: dict[str, Any], end: bool, stop: str):
    _, done = fold(chunk(delta), chunk(finish=finish), end=end)
    assert done.stop == stop
    assert done.reason == (finish or "")


def test_a_call_cut_off_by_the_length_limit_is_still_seen():
    _, done = fold(piece(0, '{"a":', name="add", id="c"), chunk(finish="length"))
    assert [call.name for call in done.message.calls] == ["add"]


def test_a_refusal_is_explained():
    assert fold(chunk({"refusal": "I will "}), chunk({"refusal": "not."}, "stop"))[1].detail == "I will not."


def test_no_choice_is_an_empty_answer_and_no_chunk_is_none():
    assert fold({"choices": []})[1].stop == "empty"
    with pytest.raises(ModelError, match="empty answer"):
        OpenAIFold({}, refusal).finish()


def test_usage_comes_in_a_chunk_of_its_own_or_not_at_all():
    counted: dict[str, Any] = {
        "choices": [],
        "usage": {
            "prompt_tokens": 10,
            "completion_tokens": 8,
            "completion_tokens_details": {"reasoning_tokens": 5},
            "prompt_tokens_details": {"cached_tokens": 4},
        },
    }
    assert fold(chunk({"content": "x"}, "stop"), counted)[1].usage == Usage(10, 8, 5, 4)
    assert fold(chunk({"content": "x"}, "stop"))[1].usage == Usage()


def test_content_in_parts_is_text():
    assert (
        fold(chunk({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}, "stop"))[1].message.text
        == "ab"
    )


def test_messages_are_what_openai_s_types_expect():
    said = user(
        "look",
        Blob("image/png", b"\1"),
        Blob("audio/wav", b"\2"),
        Blob("application/pdf", b"\3", "a.pdf"),
        FileRef("image/png", "https://example.com/i.png"),
        FileRef("text/csv", "https://example.com/t.csv"),
    )
    TypeAdapter(ChatCompletionUserMessageParam).validate_json(encode_message(said), strict=False)
    answered = Message("assistant", (Thought("hm"), Text("ok"), ToolCall("c", "add", {"a": 1})), Native("gemini", "{}"))
    TypeAdapter(ChatCompletionAssistantMessageParam).validate_json(encode_message(answered))
    assert b"hm" not in encode_message(answered)
    results = Message("tool", (ToolResult("c", "add", "three"), ToolResult("d", "add", {"sum": 3})))
    first, second = json.loads(b"[" + encode_message(results) + b"]")
    for result in (first, second):
        TypeAdapter(ChatCompletionToolMessageParam).validate_python(result)
    assert (first["content"], second["content"]) == ("three", '{"sum":3}')


def test_settings_have_the_service_s_own_names():
    sent = body(
        system="Be brief.",
        tools=(ADD,),
        tool_mode="any",
        output_schema={"type": "object"},
        thinking="off",
        max_output_tokens=9,
        temperature=0.5,
    )
    assert sent["messages"][0] == {"role": "system", "content": "Be brief."}
    assert sent["stream_options"] == {"include_usage": True}
    assert (sent["tool_choice"], sent["max_tokens"], sent["temperature"]) == ("required", 9, 0.5)
    assert sent["response_format"]["json_schema"]["schema"] == {"type": "object"}
    assert sent["reasoning_effort"] == "minimal"
    assert sent["tools"][0]["function"]["parameters"] == ADD.input_schema


def test_extra_is_laid_over_and_none_takes_a_field_away():
    sent = body(extra={"stream_options": None, "seed": 7, "tools": [{"type": "web_search"}]})
    assert "stream_options" not in sent
    assert sent["seed"] == 7 and sent["tools"] == [{"type": "web_search"}]
    with pytest.raises(ModelError, match="messages"):
        body(extra={"messages": []})


@pytest.mark.parametrize(
    ("model", "effort"), [("o4-mini", "low"), ("gpt-5", "minimal"), ("gpt-5.1", "none"), ("llama3", None)]
)
def test_thinking_is_turned_down_as_far_as_the_family_allows(model: str, effort: str | None):
    assert body(model=model, thinking="off").get("reasoning_effort") == effort


@pytest.mark.parametrize(
    ("status", "error", "kind"),
    [
        (401, {"message": "no", "code": "invalid_api_key"}, "auth"),
        (404, "model 'x' not found", "not_found"),
        (429, {"message": "slow"}, "rate_limit"),
        (400, {"message": "too long", "code": "context_length_exceeded"}, "bad_request"),
        (0, {"message": "busy", "type": "overloaded_error"}, "overloaded"),
        (0, {"message": "busy", "code": 429}, "rate_limit"),
        (0, {"message": "what"}, "server"),
    ],
)
def test_errors_have_a_kind_by_status_or_by_their_own_words(status: int, error: Any, kind: str):
    assert reported(error, secrets=(), status=status).kind == kind


def test_a_spent_quota_is_not_waited_for_and_other_limits_are():
    spent = json.dumps({"error": {"message": "pay", "code": "insufficient_quota"}}).encode()
    assert refused(429, spent, secrets=(), retry_after="3").retry_after == NEVER
    assert refused(429, b'{"error": {"message": "slow"}}', secrets=(), retry_after="3").retry_after == 3
    assert refused(500, b'{"detail": "broken"}', secrets=()).kind == "server"


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("", "http://127.0.0.1:11434/v1"),
        ("0.0.0.0", "http://127.0.0.1:11434/v1"),
        ("localhost:8080", "http://localhost:8080/v1"),
        ("https://ollama.example.com", "https://ollama.example.com:443/v1"),
        ("http://[::1]:9/base/", "http://[::1]:9/base/v1"),
    ],
)
def test_an_ollama_host_becomes_a_base_url(host: str, url: str):
    assert ollama_url(host) == url


@pytest.mark.parametrize("junk", [5, "add", {"index": 0}, True, [5, None, {"function": 7}, {"function": {"name": 3}}]])
def test_calls_that_are_none_are_no_reason_to_fall(junk: object):
    _, done = fold(chunk({"tool_calls": junk}), chunk({"content": "hi"}), chunk(finish="stop"))
    assert "hi" in done.message.text


@pytest.mark.parametrize("content", [7, True, {"a": 1}, [{"type": "text", "text": 7}]])
def test_a_text_that_is_none_is_an_error_of_the_model(content: Any):
    folding = OpenAIFold({}, refusal)
    folding.add([json.dumps({"choices": [{"index": 0, "message": {"content": content}}]}).encode()])
    assert folding.failure is not None and folding.failure.kind == "protocol"
