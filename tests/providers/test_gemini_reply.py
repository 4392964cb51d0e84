"""What Gemini's answers become: every shape of part, reason and usage."""

import json
from typing import Any

import pytest

from pollux.core.errors import ModelError
from pollux.core.messages import JSON, NO_USAGE, Blob, FileRef, Text, Thought, ToolCall, Usage
from pollux.engine.model import Done, ModelEvent, NativePart, TextDelta, ThoughtDelta
from pollux.providers.gemini_errors import reported
from pollux.providers.gemini_reply import GeminiFold


def refusal(error: JSON) -> ModelError:
    return reported(error, secrets=())


def fold(*chunks: Any, names: dict[str, str] | None = None) -> tuple[list[ModelEvent], Done]:
    folding = GeminiFold(names or {}, refusal)
    events = [event for chunk in chunks for event in folding.add([json.dumps(chunk).encode()])]
    assert folding.failure is None
    (done,) = folding.finish()
    assert isinstance(done, Done)
    return events, done


def chunk(*parts: dict[str, Any], finish: str | None = None, **more: Any) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": list(parts)}, "index": 0}
    return {"candidates": [candidate | ({"finishReason": finish} if finish else {}) | more]}


def native_parts(done: Done) -> list[dict[str, Any]]:
    assert done.message.native is not None
    return json.loads(done.message.native.body)["parts"]


def call(name: str = "add", **more: Any) -> dict[str, Any]:
    return {"functionCall": {"name": name, "args": {"a": 1}, **more}}


def test_plain_text_is_merged_into_one_part():
    events, done = fold(chunk({"text": "Hel"}), chunk({"text": "lo"}), chunk({"text": ""}, finish="STOP"))
    assert events == [TextDelta("Hel"), TextDelta("lo")]
    assert done.message.parts == (Text("Hello"),)
    assert native_parts(done) == [{"text": "Hello"}]


@pytest.mark.parametrize("text", [7, 0, ["a"], {"a": 1}, True])
def test_a_text_that_is_none_is_an_error_of_the_model(text: Any):
    folding = GeminiFold({}, refusal)
    folding.add([json.dumps(chunk({"text": text}, finish="STOP")).encode()])
    assert folding.failure is not None and folding.failure.kind == "protocol"


def test_text_that_arrived_together_is_one_delta():
    folding = GeminiFold({}, refusal)
    together = [json.dumps(chunk({"text": text})).encode() for text in ("a", "b", "c")]
    assert folding.add(together) == [TextDelta("abc")]


def test_signatures_stay_where_they_were_and_as_they_were():
    signature = "EpwICpkI+/=="
    parts = [
        {"text": "Hm", "thought": True},
        {"text": "I will ", "thoughtSignature": "one"},
        {"text": "add", "unknownField": {"x": [1.5, None]}},
        {**call(id="c1"), "thoughtSignature": signature},
        {"text": "", "thoughtSignature": "two"},
    ]
    _, done = fold(*(chunk(part) for part in parts), chunk(finish="STOP"))
    assert native_parts(done) == parts
    assert done.message.parts == (Thought("Hm"), Text("I will add"), ToolCall("c1", "add", {"a": 1}))


def test_text_around_a_call_is_not_merged_over_it():
    _, done = fold(chunk({"text": "a"}, call(id="1"), {"text": "b"}), chunk({"text": "c"}, finish="STOP"))
    assert native_parts(done) == [{"text": "a"}, call(id="1"), {"text": "bc"}]
    assert done.message.text == "abc"


def test_thoughts_are_events_of_their_own():
    events, done = fold(
        chunk({"text": "one ", "thought": True}), chunk({"text": "two", "thought": True}, finish="STOP")
    )
    assert events == [ThoughtDelta("one "), ThoughtDelta("two")]
    assert done.message.parts == (Thought("one two"),)
    assert done.stop == "empty"


def test_an_unknown_part_is_kept_and_said_to_be_there():
    odd = {"hologram": {"hue": "teal"}, "thoughtSignature": "s"}
    events, done = fold(chunk({"text": "a"}, odd, finish="STOP"))
    assert events == [TextDelta("a"), NativePart(odd)]
    assert native_parts(done) == [{"text": "a"}, odd]
    assert done.stop == "end"


def test_media_that_the_model_made_has_a_neutral_form():
    _, done = fold(
        chunk(
            {"inlineData": {"mimeType": "image/png", "data": "AAEC"}},
            {"fileData": {"mimeType": "video/mp4", "fileUri": "https://example.com/v"}},
            finish="STOP",
        )
    )
    assert done.message.parts == (Blob("image/png", b"\0\1\2"), FileRef("video/mp4", "https://example.com/v"))
    assert done.stop == "end"


def test_a_call_without_an_id_gets_one_of_ours():
    _, done = fold(chunk(call(), call(), finish="STOP"))
    first, second = done.message.calls
    assert first.minted and second.minted and first.id != second.id
    assert all("id" not in part["functionCall"] for part in native_parts(done))
    assert done.stop == "tool_calls"


def test_an_id_given_twice_counts_once():
    _, done = fold(chunk(call(id="x"), call(id="x"), finish="STOP"))
    first, second = done.message.calls
    assert (first.id, first.minted) == ("x", False)
    assert second.minted and second.id != "x"


def test_a_sent_name_leads_back_to_the_tool_by_the_map_alone():
    _, done = fold(chunk(call("t_x_1"), call("other"), finish="STOP"), names={"t_x_1": "größe"})
    assert [made.name for made in done.message.calls] == ["größe", "other"]


@pytest.mark.parametrize("args", [None, [], "text"])
def test_arguments_that_are_no_object_are_none(args: Any):
    _, done = fold(chunk({"functionCall": {"name": "now", "args": args}}, finish="STOP"))
    assert done.message.calls[0].args == {}


def test_arguments_in_pieces_become_one_call():
    pieces = [
        {"name": "send", "id": "c9", "willContinue": True},
        {"partialArgs": [{"jsonPath": "$.to[0]", "stringValue": "bob@", "willContinue": True}], "willContinue": True},
        {"partialArgs": [{"jsonPath": "$.to[0]", "stringValue": "example.com"}], "willContinue": True},
        {"partialArgs": [{"jsonPath": "$.opts.urgent", "boolValue": True}], "willContinue": True},
        {"partialArgs": [{"jsonPath": "$['n']", "numberValue": 2}], "willContinue": True},
        {"partialArgs": [{"jsonPath": "$.cc", "nullValue": "NULL_VALUE"}], "willContinue": True},
        {},
    ]
    parts: list[dict[str, Any]] = [{"functionCall": piece} for piece in pieces]
    parts[0]["thoughtSignature"] = "s"
    events, done = fold(*(chunk(part) for part in parts), chunk(finish="STOP"))
    args = {"to": ["bob@example.com"], "opts": {"urgent": True}, "n": 2, "cc": None}
    assert events == [ToolCall("c9", "send", args)]
    assert native_parts(done)[0]["functionCall"] == {"name": "send", "id": "c9", "args": args}
    assert native_parts(done)[0]["thoughtSignature"] == "s"


@pytest.mark.parametrize(("finish", "stop"), [("MAX_TOKENS", "length"), ("STOP", "bad_call"), (None, "truncated")])
def test_a_call_cut_off_in_its_pieces_is_seen_and_not_finished(finish: str | None, stop: str):
    _, done = fold(chunk({"functionCall": {"name": "send", "willContinue": True}}, finish=finish))
    assert done.stop == stop
    assert [made.name for made in done.message.calls] == ["send"]


@pytest.mark.parametrize("path", ["", "$", "$[0]", "$.a[99999999]", "$.a.b"])
def test_a_piece_that_fits_nowhere_is_dropped(path: str):
    parts = [
        {"functionCall": {"name": "send", "args": {"a": "x"}, "willContinue": True}},
        {"functionCall": {"partialArgs": [{"jsonPath": path, "stringValue": "y"}, "junk"]}},
    ]
    _, done = fold(*(chunk(part) for part in parts), chunk(finish="STOP"))
    assert done.message.calls[0].args == {"a": "x"}


@pytest.mark.parametrize(
    ("reason", "stop"),
    [
        ("STOP", "end"),
        ("MAX_TOKENS", "length"),
        ("SAFETY", "blocked"),
        ("RECITATION", "blocked"),
        ("LANGUAGE", "blocked"),
        ("BLOCKLIST", "blocked"),
        ("PROHIBITED_CONTENT", "blocked"),
        ("SPII", "blocked"),
        ("MODEL_ARMOR", "blocked"),
        ("IMAGE_SAFETY", "blocked"),
        ("IMAGE_SOMETHING_NEW", "blocked"),
        ("MALFORMED_FUNCTION_CALL", "bad_call"),
        ("UNEXPECTED_TOOL_CALL", "bad_call"),
        ("TOO_MANY_TOOL_CALLS", "bad_call"),
        ("OTHER", "other"),
        ("SOMETHING_NEW", "other"),
    ],
)
def test_every_finish_reason_is_typed_and_kept(reason: str, stop: str):
    _, done = fold(chunk({"text": "x"}, finish=reason, finishMessage="because"))
    assert (done.stop, done.reason, done.detail) == (stop, reason, "because")


def test_a_blocked_prompt_says_why():
    _, done = fold({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT", "blockReasonMessage": "no"}})
    assert (done.stop, done.reason, done.detail) == ("blocked", "PROHIBITED_CONTENT", "no")
    assert done.message.native is None


@pytest.mark.parametrize("answer", [{"candidates": []}, {"candidates": None}, {"usageMetadata": {}}])
def test_no_candidate_is_an_empty_answer(answer: Any):
    assert fold(answer)[1].stop == "empty"


def test_an_answer_that_never_says_it_ended_is_truncated():
    assert fold(chunk({"text": "and th"}))[1].stop == "truncated"


def test_no_chunk_at_all_is_no_answer():
    with pytest.raises(ModelError, match="empty answer"):
        GeminiFold({}, refusal).finish()


def test_only_the_first_of_several_candidates_counts():
    several = chunk({"text": "one"}, finish="STOP")
    several["candidates"].append({"content": {"parts": [{"text": "two"}]}, "index": 1})
    assert fold(several)[1].message.text == "one"


def test_usage_is_what_was_reported_last():
    first = chunk({"text": "x"}) | {"usageMetadata": {"promptTokenCount": 9, "candidatesTokenCount": 1}}
    last = {
        "usageMetadata": {
            "promptTokenCount": 10,
            "toolUsePromptTokenCount": 5,
            "candidatesTokenCount": 20,
            "thoughtsTokenCount": 7,
            "cachedContentTokenCount": 3,
        }
    }
    assert fold(first, last)[1].usage == Usage(input=15, output=27, thoughts=7, cached=3)


@pytest.mark.parametrize("usage", [None, [], {"promptTokenCount": None}])
def test_usage_that_cannot_be_read_is_none(usage: Any):
    assert fold(chunk({"text": "x"}) | {"usageMetadata": usage})[1].usage == NO_USAGE


def test_snake_case_is_read_as_well():
    answer: dict[str, Any] = {
        "candidates": [
            {
                "content": {
                    "parts": [{"function_call": {"name": "add", "args": {}, "id": "1"}, "thought_signature": "s"}]
                },
                "finish_reason": "STOP",
                "finish_message": "done",
            }
        ],
        "usage_metadata": {"prompt_token_count": 2, "candidates_token_count": 3},
        "model_version": "m",
    }
    _, done = fold(answer)
    assert (done.stop, done.detail, done.usage, done.model) == ("tool_calls", "done", Usage(2, 3), "m")
    assert native_parts(done) == answer["candidates"][0]["content"]["parts"]


def test_what_came_before_an_error_in_the_same_read_is_not_lost():
    folding = GeminiFold({}, refusal)
    error = {"error": {"code": 503, "message": "overloaded", "status": "UNAVAILABLE"}}
    events = folding.add([json.dumps(chunk({"text": "Hi"})).encode(), json.dumps(error).encode(), b"never read"])
    assert events == [TextDelta("Hi")]
    assert folding.failure is not None and folding.failure.kind == "overloaded"


@pytest.mark.parametrize("junk", [b"", b"nul", b'"text"', b'{"candidates": {}}', b'{"candidates": [{"content": 1}]}'])
def test_junk_is_a_protocol_error(junk: bytes):
    folding = GeminiFold({}, refusal)
    assert folding.add([junk]) == []
    assert folding.failure is not None and folding.failure.kind == "protocol"
