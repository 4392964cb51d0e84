"""google-genai as the client: whatever it can do against the real service, it can do here."""

# The vendor's signatures name types that are only there with optional packages.
# pyright: reportUnknownMemberType=false

import json

import pytest
from google.genai import Client, errors, types

from pollux.emulator.server import Emulator

pytestmark = pytest.mark.filterwarnings("ignore:Inheritance class:DeprecationWarning")

FLASH = "gemini-3.8-flash"


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def get_weather(city: str) -> str:
    """Current weather in a city."""
    return f"{city} is sunny"


async def test_hello_is_answered_by_something_that_calls_itself_a_demo_model(gemini: Client):
    answer = await gemini.aio.models.generate_content(model=FLASH, contents="hello")
    assert answer.text is not None and "demo model, rule-based" in answer.text
    assert answer.response_id and answer.model_version == FLASH


async def test_a_stream_brings_growing_usage_and_one_finish_reason(gemini: Client):
    chunks = [one async for one in await gemini.aio.models.generate_content_stream(model=FLASH, contents="count to 5")]
    totals = [chunk.usage_metadata.total_token_count or 0 for chunk in chunks if chunk.usage_metadata]
    reasons = [chunk.candidates[0].finish_reason for chunk in chunks if chunk.candidates]
    assert "".join(chunk.text or "" for chunk in chunks) == "1\n2\n3\n4\n5"
    assert totals == sorted(totals) and totals[0] < totals[-1]
    assert [reason for reason in reasons if reason] == [types.FinishReason.STOP]


async def test_automatic_function_calling_goes_round_with_signatures(gemini: Client, emulator: Emulator):
    config = types.GenerateContentConfig(tools=[add])
    answer = await gemini.aio.models.generate_content(model=FLASH, contents="add 2 and 3", config=config)
    assert answer.text == "add returned 5"
    assert len(emulator.requests) == 2
    assert "thoughtSignature" in json.dumps(emulator.requests[1].body)


async def test_parallel_calls_are_answered_together_in_a_streamed_chat(gemini: Client):
    chat = gemini.aio.chats.create(model=FLASH, config=types.GenerateContentConfig(tools=[get_weather]))
    stream = await chat.send_message_stream("what is the weather in Paris and in Rome")
    text = "".join([chunk.text or "" async for chunk in stream])
    assert "Paris is sunny" in text and "Rome is sunny" in text


async def test_a_chat_keeps_its_history_acceptable(gemini: Client, emulator: Emulator):
    chat = gemini.aio.chats.create(model=FLASH, config=types.GenerateContentConfig(tools=[add]))
    assert (await chat.send_message("add 1 and 2")).text == "add returned 3"
    assert (await chat.send_message("say done")).text == "done"
    assert (await chat.send_message("add 4 and 5")).text == "add returned 9"
    assert len(emulator.requests[-1].body["contents"]) == 9


async def test_thoughts_come_first_when_they_are_wanted(gemini: Client):
    config = types.GenerateContentConfig(thinking_config=types.ThinkingConfig(include_thoughts=True))
    answer = await gemini.aio.models.generate_content(model=FLASH, contents="say hi", config=config)
    parts = answer.candidates[0].content.parts if answer.candidates and answer.candidates[0].content else None
    assert parts and [bool(part.thought) for part in parts] == [True, False]
    assert answer.usage_metadata and answer.usage_metadata.thoughts_token_count


async def test_structured_output_satisfies_the_schema(gemini: Client):
    schema = {
        "type": "object",
        "properties": {
            "city": {"type": "string"},
            "size": {"enum": ["small", "large"]},
            "tags": {"$ref": "#/$defs/tags"},
        },
        "required": ["city", "size", "tags"],
        "$defs": {"tags": {"type": "array", "items": {"type": "string"}, "minItems": 2}},
    }
    config = types.GenerateContentConfig(response_mime_type="application/json", response_json_schema=schema)
    answer = await gemini.aio.models.generate_content(model=FLASH, contents="a large town in Norway", config=config)
    value = json.loads(answer.text or "")
    assert value["city"] == "Norway" and value["size"] == "large" and len(value["tags"]) >= 2


async def test_an_image_is_described_by_kind_and_size(gemini: Client):
    image = types.Part.from_bytes(data=b"\x89PNG" + bytes(96), mime_type="image/png")
    answer = await gemini.aio.models.generate_content(model=FLASH, contents=[image, "what is this?"])
    assert "image/png (100 bytes)" in (answer.text or "")
    assert answer.usage_metadata and (answer.usage_metadata.prompt_token_count or 0) > 258


async def test_tokens_are_counted(gemini: Client):
    counted = await gemini.aio.models.count_tokens(model=FLASH, contents="one two three")
    assert counted.total_tokens == 3


async def test_models_are_listed_page_by_page(gemini: Client):
    listed = [model.name async for model in await gemini.aio.models.list(config={"page_size": 3, "query_base": True})]
    assert "models/gemini-3.8-flash" in listed and len(listed) == len(set(listed)) > 6
    assert (await gemini.aio.models.get(model=FLASH)).supported_actions == ["generateContent", "countTokens"]


@pytest.mark.parametrize(
    ("model", "code", "status"),
    [
        ("gemini-3.6-flahs", 404, "NOT_FOUND"),
        ("gemini-3.8-flash--429-retry2", 429, "RESOURCE_EXHAUSTED"),
        ("gemini-3.8-flash--503", 503, "UNAVAILABLE"),
        ("gemini-3.8-flash--500", 500, "INTERNAL"),
    ],
)
async def test_errors_arrive_as_the_clients_own_errors(gemini: Client, model: str, code: int, status: str):
    with pytest.raises(errors.APIError) as caught:
        await gemini.aio.models.generate_content(model=model, contents="hello")
    assert (caught.value.code, caught.value.status) == (code, status)


async def test_a_blocked_prompt_and_a_safety_stop_are_told_apart(gemini: Client):
    blocked = await gemini.aio.models.generate_content(model=FLASH + "--block", contents="hello")
    stopped = await gemini.aio.models.generate_content(model=FLASH + "--safety", contents="hello")
    assert blocked.prompt_feedback and blocked.prompt_feedback.block_reason == types.BlockedReason.PROHIBITED_CONTENT
    assert stopped.candidates and stopped.candidates[0].finish_reason == types.FinishReason.SAFETY


async def test_an_invalid_key_is_the_real_400(emulator: Emulator):
    client = Client(api_key="invalid-key", http_options=types.HttpOptions(base_url=emulator.url))
    with pytest.raises(errors.ClientError, match="API key not valid"):
        await client.aio.models.generate_content(model=FLASH, contents="hello")
    await client.aio.aclose()
    client.close()


async def test_the_key_is_never_kept(gemini: Client, emulator: Emulator):
    await gemini.aio.models.generate_content(model=FLASH, contents="hello")
    assert "test-key" not in repr(emulator.requests)
