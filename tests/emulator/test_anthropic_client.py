"""The anthropic package as the client of the third face: same demo model, Anthropic's words."""

import json
from collections.abc import AsyncGenerator
from typing import Any

import pytest
from tests.waiting import HANG_SECONDS

from pollux.emulator.server import Emulator

anthropic: Any = pytest.importorskip("anthropic")

WEATHER = {
    "name": "get_weather",
    "description": "Current weather in a city",
    "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}
ASKED = "weather in Paris and in Rome"


def client_of(emulator: Emulator, *, key: str = "test-key") -> Any:
    return anthropic.AsyncAnthropic(api_key=key, base_url=emulator.url, max_retries=0, timeout=HANG_SECONDS)


@pytest.fixture
async def client(emulator: Emulator) -> AsyncGenerator[Any]:
    async with client_of(emulator) as one:
        yield one


def asked(text: str, **more: Any) -> dict[str, Any]:
    return {"model": "claude-opus-5", "max_tokens": 500, "messages": [{"role": "user", "content": text}], **more}


async def test_hello_is_answered(client: Any):
    answer = await client.messages.create(**asked("say hi"))
    assert [block.text for block in answer.content] == ["hi"] and answer.stop_reason == "end_turn"
    assert answer.usage.input_tokens > 0 and answer.usage.output_tokens == 1


@pytest.mark.parametrize("thinking", [{"type": "disabled"}, {"type": "adaptive", "display": "summarized"}])
async def test_a_stream_is_the_whole_answer_in_pieces(client: Any, thinking: dict[str, str]):
    body = asked(ASKED, tools=[WEATHER], thinking=thinking)
    whole = await client.messages.create(**body)
    async with client.messages.stream(**body) as stream:
        streamed = await stream.get_final_message()
    assert [block.type for block in streamed.content] == [block.type for block in whole.content]
    assert [block.input for block in streamed.content if block.type == "tool_use"] == [
        {"city": "Paris"},
        {"city": "Rome"},
    ]
    assert streamed.stop_reason == whole.stop_reason == "tool_use"
    assert streamed.usage.output_tokens == whole.usage.output_tokens


async def test_calls_go_round_with_their_thoughts(client: Any):
    body = asked(ASKED, tools=[WEATHER], thinking={"type": "adaptive", "display": "summarized"})
    async with client.messages.stream(**body) as stream:
        first = await stream.get_final_message()
    results = [
        {"type": "tool_result", "tool_use_id": block.id, "content": "sunny"}
        for block in first.content
        if block.type == "tool_use"
    ]
    turns = [*body["messages"], first.to_param(), {"role": "user", "content": results}]
    second = await client.messages.create(**body | {"messages": turns})
    assert second.content[-1].text == "get_weather returned sunny\nget_weather returned sunny"


async def test_a_tool_can_be_forced_or_forbidden(client: Any):
    forced = await client.messages.create(
        **asked("hello", tools=[WEATHER], tool_choice={"type": "tool", "name": "get_weather"})
    )
    forbidden = await client.messages.create(**asked(ASKED, tools=[WEATHER], tool_choice={"type": "none"}))
    assert forced.content[-1].type == "tool_use" and forbidden.content[-1].type == "text"


async def test_structured_output_satisfies_the_schema(client: Any):
    schema = {
        "type": "object",
        "properties": {"n": {"type": "integer"}},
        "required": ["n"],
        "additionalProperties": False,
    }
    config = {"format": {"type": "json_schema", "schema": schema}}
    answer = await client.messages.create(**asked("give me 7", output_config=config))
    assert json.loads(answer.content[-1].text) == {"n": 7}


async def test_models_are_listed_page_by_page(client: Any):
    names = [model.id async for model in client.models.list(limit=4)]
    assert "claude-opus-5" in names and len(set(names)) == len(names) > 4
    assert (await client.models.retrieve("claude-opus-5")).max_tokens == 128_000


async def test_tokens_are_counted(client: Any):
    body = {key: value for key, value in asked("hello there").items() if key != "max_tokens"}
    assert (await client.messages.count_tokens(**body)).input_tokens > 0


async def test_faults_are_errors_in_the_clients_own_words(client: Any, emulator: Emulator):
    async def ask(model: str) -> Any:
        return await client.messages.create(**asked("say hi") | {"model": model})

    with pytest.raises(anthropic.NotFoundError):
        await ask("claude-unheard-of")
    with pytest.raises(anthropic.RateLimitError) as caught:
        await ask("claude-opus-5--429-retry2")
    assert caught.value.response.headers["retry-after"] == "2" and caught.value.request_id.startswith("req_")
    with pytest.raises(anthropic.InternalServerError):
        await ask("claude-opus-5--500")
    with pytest.raises(anthropic.APIConnectionError):
        await ask("claude-opus-5--reset")
    async with client_of(emulator, key="invalid") as stranger:
        with pytest.raises(anthropic.AuthenticationError):
            await stranger.messages.create(**asked("say hi"))


@pytest.mark.parametrize("fault", ["safety", "max-tokens", "comments", "events", "multi-line", "crlf", "split-utf8"])
async def test_streams_of_every_form_are_read_to_their_end(client: Any, fault: str):
    async with client.messages.stream(**asked("count to 9") | {"model": f"claude-opus-5--{fault}"}) as stream:
        answer = await stream.get_final_message()
    assert answer.stop_reason == {"safety": "refusal", "max-tokens": "max_tokens"}.get(fault, "end_turn")
