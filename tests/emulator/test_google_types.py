"""Every kind of answer fits google-genai's own types with nothing left over, in the recorded order."""

from typing import Any

import pytest
from google.genai import types
from pydantic.alias_generators import to_camel
from tests.emulator.wire import ADD, FLASH, OLD, WEATHER, Wire, prompt

from pollux.emulator.gemini.fields import MESSAGES

SCHEMA = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
THOUGHTS = {"thinkingConfig": {"includeThoughts": True}}
BODIES: dict[str, dict[str, Any]] = {
    "words": prompt("hello"),
    "a call": prompt("add 2 and 3", ADD),
    "two calls": prompt("weather in Paris and in Rome", WEATHER),
    "thoughts": prompt("say hi", generationConfig=THOUGHTS),
    "structured": prompt(
        "name it", generationConfig={"responseMimeType": "application/json", "responseJsonSchema": SCHEMA}
    ),
    "cut": prompt("count to 50", generationConfig={"maxOutputTokens": 5}),
    "undeclared": prompt("call nothing {}", ADD),
}
SAID = ("", "--safety", "--recitation", "--block", "--empty", "--no-candidates", "--malformed-call", "--max-tokens")


@pytest.mark.parametrize("suffix", SAID)
@pytest.mark.parametrize("model", [FLASH, OLD])
@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES.keys())
async def test_answers_fit_the_vendors_types_exactly(wire: Wire, body: dict[str, Any], model: str, suffix: str):
    whole = await wire.ask(body, model=model + suffix)
    streamed = await wire.stream(body, model=model + suffix)
    for answer in [whole.json, *streamed.events]:
        types.GenerateContentResponse.model_validate(answer)
    assert types.GenerateContentResponse.model_config.get("extra") == "forbid"


async def test_fields_lie_in_the_order_of_the_recordings(wire: Wire):
    [first, *_] = (await wire.stream(prompt("say hi"))).events
    assert list(first) == ["candidates", "usageMetadata", "modelVersion", "responseId"]
    assert list(first["usageMetadata"])[:4] == [
        "promptTokenCount",
        "candidatesTokenCount",
        "totalTokenCount",
        "promptTokensDetails",
    ]
    last = (await wire.stream(prompt("say hi"))).events[-1]["candidates"][0]
    assert list(last) == ["content", "finishReason", "index"]


async def test_a_stream_is_framed_as_the_recordings_are(wire: Wire):
    got = await wire.stream(prompt("say hi"))
    assert got.raw.startswith(b'data: {"candidates": [{"content": {"parts": [{"text": "hi"}],"role": "model"}')
    assert got.raw.endswith(b"}\r\n\r\n")
    assert got.headers["content-type"] == "text/event-stream"
    assert got.headers["content-disposition"] == "attachment"


async def test_without_alt_sse_a_stream_is_one_json_array(wire: Wire):
    got = await wire.stream(prompt("count to 3"), alt="")
    assert got.headers["content-type"].startswith("application/json")
    assert "".join(chunk["candidates"][0]["content"]["parts"][0]["text"] for chunk in got.json) == "1\n2\n3"


@pytest.mark.parametrize(
    ("message", "theirs"),
    [
        ("Part", types.Part),
        ("Content", types.Content),
        ("FunctionCall", types.FunctionCall),
        ("FunctionResponse", types.FunctionResponse),
        ("FunctionDeclaration", types.FunctionDeclaration),
        ("GenerationConfig", types.GenerationConfig),
        ("ThinkingConfig", types.ThinkingConfig),
        ("FunctionCallingConfig", types.FunctionCallingConfig),
        ("ToolConfig", types.ToolConfig),
        ("Blob", types.Blob),
    ],
)
def test_every_field_the_vendors_client_may_send_is_known(message: str, theirs: Any):
    sent = {field.alias or to_camel(name) for name, field in theirs.model_fields.items()}
    assert sent <= set(MESSAGES[message])
