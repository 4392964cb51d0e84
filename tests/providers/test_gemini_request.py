"""What Gemini is sent, held against Google's own types."""

import json
import warnings
from types import MappingProxyType
from typing import Any

import pytest

from pollux.core.errors import ModelError
from pollux.core.messages import Blob, FileRef, Message, Native, Text, Thought, ToolCall, ToolResult, notice, user
from pollux.core.tools import ToolSpec
from pollux.engine.model import ModelRequest, Turns
from pollux.providers.encoding import ToolCache, mint_call_id, names_sent, sent_name
from pollux.providers.gemini_request import TOOL_NAME, encode_message, encode_request, encode_tools

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from google.genai import types

SCHEMA = {
    "type": "object",
    "properties": {"tree": {"$ref": "#/$defs/node"}, "kind": {"const": "x"}},
    "$defs": {"node": {"anyOf": [{"type": "string"}, {"type": "array", "items": {"$ref": "#/$defs/node"}}]}},
    "additionalProperties": False,
}
GROW = ToolSpec("grow", "Grow a tree.", SCHEMA)


def content(message: Message) -> dict[str, Any]:
    return json.loads(encode_message(message))


def body(*messages: Message, **settings: Any) -> dict[str, Any]:
    model = settings.pop("model", "gemini-3.8-flash")
    request = ModelRequest(model, Turns(messages or [user("hi")]), **settings)
    return json.loads(encode_request(request, encode_tools(request.tools) if request.tools else b""))


def test_a_native_turn_goes_back_byte_for_byte():
    own = '{"parts": [{"text":"\\u00e9", "thoughtSignature":"a+/="}],"role":"model"}'
    assert encode_message(Message("assistant", (Text("é"),), native=Native("gemini", own))) == own.encode()


def test_another_provider_s_turn_is_rebuilt_without_thoughts():
    theirs = Message(
        "assistant",
        (Thought("hm"), Text("Adding."), ToolCall("call_1", "add", {"a": 1}), ToolCall("call_2", "add", {"a": 2})),
        native=Native("openai", "{}"),
    )
    first, second, third = content(theirs)["parts"]
    assert first == {"text": "Adding."}
    assert second["functionCall"] == {"id": "call_1", "name": "add", "args": {"a": 1}}
    assert second["thoughtSignature"] == "skip_thought_signature_validator"
    assert "thoughtSignature" not in third


def test_every_kind_of_part_is_accepted_by_google_s_types():
    said = user("look", Blob("image/png", b"\x89PNG\xff"), FileRef("video/mp4", "https://example.com/v"))
    answered = Message("assistant", (Text("ok"), ToolCall("c1", "add", {"a": [1, None]})))
    results = Message("tool", (ToolResult("c1", "add", {"sum": 3}), ToolResult("c2", "add", 3)))
    for message in (said, answered, results):
        sent = content(message)
        parsed = types.Content.model_validate(sent)
        assert parsed.parts is not None and len(parsed.parts) == len(message.parts)
    blob = types.Content.model_validate(content(said)).parts
    assert blob is not None and blob[1].inline_data is not None and blob[1].inline_data.data == b"\x89PNG\xff"


def test_results_are_objects_and_carry_the_id_of_their_call():
    results = Message("tool", (ToolResult("c1", "add", {"error": "no"}, is_error=True), ToolResult("c2", "add", [1])))
    assert content(results) == {
        "role": "user",
        "parts": [
            {"functionResponse": {"id": "c1", "name": "add", "response": {"error": "no"}}},
            {"functionResponse": {"id": "c2", "name": "add", "response": {"result": [1]}}},
        ],
    }


def test_an_id_that_we_made_up_is_not_sent():
    result = content(Message("tool", (ToolResult(mint_call_id(), "add", 1),)))
    assert "id" not in result["parts"][0]["functionResponse"]


@pytest.mark.parametrize("message", [notice("psst"), Message("assistant", (Thought("hm"),)), Message("user", ())])
def test_what_holds_nothing_for_the_model_is_not_sent(message: Message):
    assert encode_message(message) == b""


def test_schemas_are_passed_untouched():
    sent = body(tools=(GROW,))
    assert sent["tools"] == [
        {"functionDeclarations": [{"name": "grow", "description": "Grow a tree.", "parametersJsonSchema": SCHEMA}]}
    ]
    types.Tool.model_validate(sent["tools"][0])


def test_a_frozen_schema_can_be_sent():
    frozen = ToolSpec("grow", "", MappingProxyType({"type": "object"}))
    assert body(tools=(frozen,))["tools"][0]["functionDeclarations"][0]["parametersJsonSchema"] == {"type": "object"}


def test_settings_have_the_service_s_own_names_and_values():
    sent = body(
        system="Be brief.",
        tools=(GROW,),
        tool_mode="any",
        output_schema=SCHEMA,
        thinking="shown",
        max_output_tokens=9,
        temperature=0.5,
    )
    generation = sent["generationConfig"]
    assert sent["systemInstruction"] == {"parts": [{"text": "Be brief."}]}
    assert sent["toolConfig"] == {"functionCallingConfig": {"mode": "ANY"}}
    assert generation == {
        "maxOutputTokens": 9,
        "temperature": 0.5,
        "responseMimeType": "application/json",
        "responseJsonSchema": SCHEMA,
        "thinkingConfig": {"includeThoughts": True},
    }
    types.GenerationConfig.model_validate(generation)
    types.ToolConfig.model_validate(sent["toolConfig"])
    types.Content.model_validate(sent["systemInstruction"])


@pytest.mark.parametrize(
    ("model", "config"),
    [
        ("gemini-3.8-flash", {"thinkingLevel": "MINIMAL"}),
        ("gemini-3.1-pro-preview", {"thinkingLevel": "LOW"}),
        ("gemini-flash-latest", {"thinkingLevel": "MINIMAL"}),
        ("gemini-2.5-flash", {"thinkingBudget": 0}),
        ("gemini-2.5-pro", {"thinkingBudget": 128}),
        ("gemini-2.0-flash", None),
        ("gemma-3-27b-it", None),
    ],
)
def test_thinking_is_turned_down_as_far_as_the_family_allows(model: str, config: dict[str, Any] | None):
    sent = body(model=model, thinking="off")
    assert sent.get("generationConfig", {}).get("thinkingConfig") == config
    if config:
        types.ThinkingConfig.model_validate(config)


def test_extra_is_laid_over_everything_and_adds_to_the_tools():
    extra: dict[str, Any] = {
        "generationConfig": {"topK": 3, "thinkingConfig": {"thinkingLevel": "HIGH"}},
        "safetySettings": [{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "OFF"}],
        "tools": [{"googleSearch": {}}],
    }
    sent = body(tools=(GROW,), thinking="shown", temperature=1.0, extra=extra)
    assert sent["generationConfig"] == {
        "temperature": 1.0,
        "topK": 3,
        "thinkingConfig": {"includeThoughts": True, "thinkingLevel": "HIGH"},
    }
    assert sent["safetySettings"] == extra["safetySettings"]
    assert sent["tools"][1:] == [{"googleSearch": {}}]


def test_extra_cannot_replace_the_thread():
    with pytest.raises(ModelError, match="contents"):
        body(extra={"contents": []})


@pytest.mark.parametrize("name", ["add", "mail.send", "a-b_c", "_x", "x" * 64])
def test_a_name_that_fits_is_sent_as_it_is(name: str):
    assert sent_name(name, TOOL_NAME) == name


@pytest.mark.parametrize("name", ["", "1st", "mail send", "größe", "x" * 65, "a/b", "\ud800"])
def test_a_name_that_does_not_fit_gets_a_safe_one(name: str):
    sent = sent_name(name, TOOL_NAME)
    assert TOOL_NAME.fullmatch(sent) and sent == sent_name(name, TOOL_NAME)
    assert names_sent([name, "other"], TOOL_NAME) == {sent: name, "other": "other"}


def test_names_that_differ_only_in_what_was_replaced_stay_apart():
    assert sent_name("a b", TOOL_NAME) != sent_name("a/b", TOOL_NAME)


def test_two_tools_under_one_sent_name_are_refused():
    with pytest.raises(ModelError, match="would both be sent as"):
        names_sent(["a b", sent_name("a b", TOOL_NAME)], TOOL_NAME)


def test_the_same_tools_are_encoded_once_and_changed_ones_again():
    encoded: list[int] = []
    cache = ToolCache(lambda tools: b"%d" % len(encoded) if encoded.append(len(tools)) is None else b"", lambda _: {})
    for description in ("one", "one", "two"):
        cache((ToolSpec("grow", description, {"type": "object"}),))
    assert len(encoded) == 2
    assert cache(()) == (b"", {})


def test_only_the_last_few_sets_of_tools_are_remembered():
    encoded: list[str] = []
    cache = ToolCache(lambda tools: b"x" if encoded.append(tools[0].name) is None else b"", lambda _: {})
    for name in [*(f"t{number}" for number in range(100)), "t99", "t0"]:
        cache((ToolSpec(name, "", {}),))
    assert encoded.count("t99") == 1 and encoded.count("t0") == 2
