"""The openai package as the client of the second face: same demo model, OpenAI's words."""

import json
from collections.abc import AsyncGenerator
from typing import Any

import openai
import pytest
from openai.types.chat import ChatCompletionMessageParam, ChatCompletionToolParam
from tests.emulator.wire import Wire, prompt
from tests.waiting import HANG_SECONDS

from pollux.emulator.server import Emulator

WEATHER: ChatCompletionToolParam = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Current weather in a city",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}
ASKED: list[ChatCompletionMessageParam] = [{"role": "user", "content": "weather in Paris and in Rome"}]


def client_of(emulator: Emulator, *, root: str = "/v1", key: str = "test-key") -> openai.AsyncOpenAI:
    return openai.AsyncOpenAI(api_key=key, base_url=emulator.url + root, max_retries=0, timeout=HANG_SECONDS)


@pytest.fixture
async def client(emulator: Emulator) -> AsyncGenerator[openai.AsyncOpenAI]:
    async with client_of(emulator) as one:
        yield one


def say(text: str) -> list[ChatCompletionMessageParam]:
    return [{"role": "user", "content": text}]


@pytest.mark.parametrize("root", ["/v1", "/openai/v1", "/v1beta/openai"])
async def test_hello_is_answered_under_every_root(emulator: Emulator, root: str):
    async with client_of(emulator, root=root) as client:
        answer = await client.chat.completions.create(model="gpt-5", messages=say("say hi"))
    assert answer.choices[0].message.content == "hi" and answer.choices[0].finish_reason == "stop"
    assert answer.usage and answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens


async def test_a_stream_ends_with_usage_when_it_is_wanted(client: openai.AsyncOpenAI):
    stream = await client.chat.completions.create(
        model="llama3.2", messages=say("count to 4"), stream=True, stream_options={"include_usage": True}
    )
    chunks = [chunk async for chunk in stream]
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert text == "1\n2\n3\n4"
    assert [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices][-1] == "stop"
    assert chunks[-1].usage and chunks[-1].choices == []


async def test_calls_go_round(client: openai.AsyncOpenAI):
    first = await client.chat.completions.create(model="gpt-5", messages=ASKED, tools=[WEATHER])
    message = first.choices[0].message
    assert first.choices[0].finish_reason == "tool_calls" and message.tool_calls and len(message.tool_calls) == 2
    history: list[Any] = [*ASKED, message.model_dump(exclude_none=True)]
    history += [{"role": "tool", "tool_call_id": call.id, "content": "sunny"} for call in message.tool_calls]
    second = await client.chat.completions.create(model="gpt-5", messages=history, tools=[WEATHER])
    assert second.choices[0].message.content == "get_weather returned sunny\nget_weather returned sunny"


async def test_calls_are_streamed_with_their_ids_and_arguments(client: openai.AsyncOpenAI):
    stream = await client.chat.completions.create(model="gpt-5", messages=ASKED, tools=[WEATHER], stream=True)
    deltas = [call async for chunk in stream for call in chunk.choices[0].delta.tool_calls or []]
    assert [delta.index for delta in deltas] == [0, 1] and all(delta.id for delta in deltas)
    cities = [json.loads(delta.function.arguments or "")["city"] for delta in deltas if delta.function]
    assert cities == ["Paris", "Rome"]


async def test_a_tool_can_be_forced_or_forbidden(client: openai.AsyncOpenAI):
    forced = await client.chat.completions.create(
        model="gpt-5",
        messages=say("hello"),
        tools=[WEATHER],
        tool_choice={"type": "function", "function": {"name": "get_weather"}},
    )
    forbidden = await client.chat.completions.create(model="gpt-5", messages=ASKED, tools=[WEATHER], tool_choice="none")
    assert forced.choices[0].message.tool_calls and not forbidden.choices[0].message.tool_calls


async def test_structured_output_satisfies_the_schema(client: openai.AsyncOpenAI):
    schema: dict[str, object] = {
        "type": "object",
        "properties": {"n": {"type": "integer", "minimum": 3}},
        "required": ["n"],
    }
    answer = await client.chat.completions.create(
        model="gpt-5",
        messages=say("give me 7"),
        response_format={"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}},
    )
    assert json.loads(answer.choices[0].message.content or "") == {"n": 7}


async def test_models_are_listed_for_a_bearer_token(client: openai.AsyncOpenAI, wire: Wire):
    assert "gpt-5" in [model.id async for model in await client.models.list()]
    assert (await client.models.retrieve("llama3.2")).id == "llama3.2"
    assert "models" in (await wire.send("GET", "/v1/models")).json


async def test_faults_are_errors_in_the_clients_own_words(client: openai.AsyncOpenAI, emulator: Emulator):
    async def ask(model: str) -> Any:
        return await client.chat.completions.create(model=model, messages=say("say hi"))

    with pytest.raises(openai.NotFoundError):
        await ask("gpt-unheard-of")
    with pytest.raises(openai.RateLimitError) as caught:
        await ask("gpt-5--429-retry2")
    assert caught.value.response.headers["retry-after"] == "2"
    with pytest.raises(openai.InternalServerError):
        await ask("gpt-5--503")
    with pytest.raises(openai.APIConnectionError):
        await ask("gpt-5--reset")
    async with client_of(emulator, key="invalid") as stranger:
        with pytest.raises(openai.AuthenticationError):
            await stranger.chat.completions.create(model="gpt-5", messages=say("say hi"))


@pytest.mark.parametrize(
    ("fault", "reason"), [("safety", "content_filter"), ("max-tokens", "length"), ("unknown-reason", "something_new")]
)
async def test_finish_reasons_are_translated(client: openai.AsyncOpenAI, fault: str, reason: str):
    answer = await client.chat.completions.create(model=f"gpt-5--{fault}", messages=say("count to 9"))
    assert answer.choices[0].finish_reason == reason


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ({}, "you must provide a model parameter"),
        ({"model": "gpt-5"}, "Invalid 'messages'"),
        ({"model": "gpt-5", "messages": [{"role": "robot"}]}, "messages[0].role"),
        ({"model": "gpt-5", "messages": [{"role": "tool", "tool_call_id": "x"}]}, "must be a response to a preceding"),
        (
            {
                "model": "gpt-5",
                "messages": [{"role": "assistant", "tool_calls": [{"id": "x"}]}, {"role": "user", "content": "hi"}],
            },
            "must be followed by tool messages",
        ),
        (
            {"model": "gpt-5", "messages": say("hi"), "tools": [{"type": "function", "function": {"name": "a b"}}]},
            "tools[0].function.name",
        ),
    ],
)
async def test_bad_requests_are_named(wire: Wire, body: dict[str, Any], text: str):
    headers = {"Authorization": "Bearer k"}
    async with wire.session.post(wire.url + "/v1/chat/completions", json=body, headers=headers) as response:
        error = (await response.json())["error"]
    assert response.status == 400 and text in error["message"] and error["type"] == "invalid_request_error"


async def test_a_missing_token_is_401(wire: Wire):
    assert (await wire.send("POST", "/v1/chat/completions", prompt("hi"), key=None)).status == 401
