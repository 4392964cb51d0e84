"""The Messages API in bytes: what is answered, and what is refused as the real service refuses it."""

import json
from typing import Any

import pytest
from tests.emulator.wire import Got, Wire

from pollux.emulator.server import Emulator

ADD: dict[str, Any] = {
    "name": "add",
    "description": "Add two numbers",
    "input_schema": {
        "type": "object",
        "properties": {"a": {"type": "number"}, "b": {"type": "number"}},
        "required": ["a", "b"],
    },
}
SHOWN = {"type": "adaptive", "display": "summarized"}
DROPS = {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}}
BINDING = {"anthropic-beta": "thinking-binding-controls-2026-08-01"}


def asked(text: str, **more: Any) -> dict[str, Any]:
    return {"model": "claude-opus-5", "max_tokens": 2000, "messages": [{"role": "user", "content": text}], **more}


def answered(body: dict[str, Any], got: Got, **more: Any) -> dict[str, Any]:
    """The request that follows: the turn as it came, and a result for every call."""
    content = got.json["content"]
    results = [
        {"type": "tool_result", "tool_use_id": block["id"], "content": "5"}
        for block in content
        if block["type"] == "tool_use"
    ]
    turns = [{"role": "assistant", "content": content}, {"role": "user", "content": results}]
    return body | {"messages": [*body["messages"], *turns]} | more


async def send(
    wire: Wire, body: Any, *, path: str = "/v1/messages", method: str = "POST", **headers: str | None
) -> Got:
    given = {"x-api-key": "test-key", "anthropic-version": "2023-06-01"}
    given |= {name.replace("_", "-"): value for name, value in headers.items() if value is not None}
    sent = {name: value for name, value in given.items() if headers.get(name.replace("-", "_"), "") is not None}
    raw = body if isinstance(body, bytes) else json.dumps(body).encode() if body is not None else None
    async with wire.session.request(method, wire.url + path, data=raw, headers=sent) as response:
        content = await response.read()
        return Got(response.status, {name.lower(): value for name, value in response.headers.items()}, content)


async def test_a_stream_names_its_events_in_the_real_order(wire: Wire):
    got = await send(wire, asked("count to 3", stream=True))
    names = [line[7:] for line in got.raw.decode().splitlines() if line.startswith("event: ")]
    assert names == [event["type"] for event in got.events]
    assert names[:4] == ["message_start", "content_block_start", "ping", "content_block_delta"]
    assert names[-3:] == ["content_block_stop", "message_delta", "message_stop"]
    assert got.headers["request-id"].startswith("req_")


async def test_the_same_request_has_the_same_bytes(wire: Wire):
    body = asked("add 2 and 3", tools=[ADD], thinking=SHOWN)
    assert (await send(wire, body)).raw == (await send(wire, body)).raw


async def test_what_a_request_costs_can_be_asked(wire: Wire):
    body = {key: value for key, value in asked("hello " * 50).items() if key != "max_tokens"}
    got = await send(wire, body, path="/v1/messages/count_tokens")
    assert got.json["input_tokens"] > 50


async def test_the_version_header_tells_the_lists_of_models_apart(wire: Wire):
    claudes = await send(wire, None, path="/v1/models?limit=5", method="GET")
    assert len(claudes.json["data"]) == 5 and claudes.json["has_more"]
    after = claudes.json["last_id"]
    rest = await send(wire, None, path=f"/v1/models?limit=1000&after_id={after}", method="GET")
    assert not rest.json["has_more"] and after not in {one["id"] for one in rest.json["data"]}
    one = await send(wire, None, path="/v1/models/claude-opus-5", method="GET")
    assert one.json["max_tokens"] == 128_000
    assert "models" in (await wire.send("GET", "/v1/models")).json


async def test_a_stop_sequence_is_named(wire: Wire):
    got = (await send(wire, asked("count to 9", stop_sequences=["5", "7"]))).json
    assert (got["stop_reason"], got["stop_sequence"]) == ("stop_sequence", "5")


async def test_thoughts_are_shown_hidden_or_left_out_as_asked(wire: Wire):
    def kinds(got: Got) -> list[str]:
        return [block["type"] for block in got.json["content"]]

    body = asked("add 2 and 3", tools=[ADD])
    hidden, shown = await send(wire, body), await send(wire, body | {"thinking": SHOWN})
    off = await send(wire, body | {"thinking": {"type": "disabled"}})
    assert kinds(hidden) == kinds(shown) == ["thinking", "tool_use"] and kinds(off) == ["tool_use"]
    assert not hidden.json["content"][0]["thinking"] and shown.json["content"][0]["thinking"]
    assert hidden.json["usage"]["output_tokens_details"]["thinking_tokens"] > 0


async def test_a_turn_with_its_thoughts_goes_back_as_it_came(wire: Wire):
    body = asked("add 2 and 3", tools=[ADD], thinking=SHOWN)
    first = await send(wire, body)
    assert (await send(wire, answered(body, first))).json["stop_reason"] == "end_turn"


@pytest.mark.parametrize("change", [{"thinking": "other words"}, {"signature": "AAAA"}])
async def test_an_altered_thought_is_refused(wire: Wire, change: dict[str, str]):
    body = asked("add 2 and 3", tools=[ADD], thinking=SHOWN)
    following = answered(body, await send(wire, body))
    following["messages"][1]["content"][0] |= change
    got = await send(wire, following)
    assert got.status == 400 and "Invalid `signature` in `thinking` block" in got.error["message"]


async def test_a_thought_behind_other_words_is_refused_or_dropped_as_asked(wire: Wire):
    body = asked("add 2 and 3", tools=[ADD], model="claude-haiku-5-5", system="Be brief.")
    first = await send(wire, body)
    assert (await send(wire, answered(body, first))).status == 200
    refused = await send(wire, answered(body, first, system="Be long."))
    assert refused.status == 400 and "bound to a different conversation" in refused.error["message"]
    dropped = await send(wire, answered(body, first, system="Be long.", thinking=DROPS), **BINDING)
    assert dropped.status == 200


USED: dict[str, Any] = {"type": "tool_use", "id": "t", "name": "add", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "t", "content": "5"}


def talk(*turns: Any) -> dict[str, Any]:
    roles = ("user", "assistant")
    return asked("") | {"messages": [{"role": roles[at % 2], "content": turn} for at, turn in enumerate(turns)]}


BAD: list[tuple[Any, str]] = [
    (b"{", "not valid JSON"),
    (b"[]", "valid dictionary"),
    ({}, "model: Field required"),
    (asked("hi") | {"max_tokens": None}, "max_tokens: Field required"),
    (asked("hi", max_tokens=500_000), "max_tokens: 500000 > 128000"),
    (asked("hi", colour="red"), "colour: Extra inputs are not permitted"),
    (asked("hi") | {"messages": []}, "at least one message"),
    (asked("hi") | {"messages": [{"role": "system", "content": "x"}]}, "messages.0.role"),
    (asked(""), "text content blocks must be non-empty"),
    (asked(" \n"), "must contain non-whitespace text"),
    (talk([]), "non-empty content"),
    (talk([{"type": "hologram"}]), "messages.0.content.0: Input tag 'hologram'"),
    (talk("hi", [USED], "well?"), "messages.1: `tool_use` ids were found without `tool_result` blocks"),
    (talk("hi", [USED]), "messages.1: `tool_use` ids were found without `tool_result` blocks"),
    (talk([RESULT]), "messages.0.content.0: unexpected `tool_use_id`"),
    (talk("hi", [USED], [RESULT, RESULT]), "each tool_use must have a single result"),
    (talk("hi", [USED, USED], [RESULT]), "`tool_use` ids must be unique"),
    (talk("hi", [USED | {"id": "a.b"}], [RESULT]), "should match pattern '^[a-zA-Z0-9_-]+$'"),
    (talk("hi", "so"), "does not support assistant message prefill"),
    (asked("hi", tools=[ADD | {"name": "a b"}]), "tools.0.custom.name"),
    (asked("hi", tools=[ADD, ADD]), "Tool names must be unique"),
    (asked("hi", tools=[ADD | {"input_schema": {}}]), "tools.0.custom.input_schema.type: Field required"),
    (asked("hi", tool_choice={"type": "auto"}), "while providing tools"),
    (asked("hi", tools=[ADD], tool_choice={"type": "must"}), "tool_choice.type"),
    (asked("hi", temperature=0.5), "`temperature` is deprecated for this model"),
    (asked("hi", thinking={"type": "enabled", "budget_tokens": 1024}), '"thinking.type.enabled" is not supported'),
    (asked("hi", thinking=DROPS), "thinking.adaptive.block_binding: Extra inputs are not permitted"),
    (
        asked("hi", model="claude-opus-5-5", tools=[ADD], tool_choice={"type": "any"}),
        "not supported for this model",
    ),
    (asked("hi", output_config={"effort": "huge"}), "output_config.effort"),
    (
        asked("hi", output_config={"format": {"type": "json_schema", "schema": {"type": "object"}}}),
        "'additionalProperties' must be explicitly set to false",
    ),
    (
        asked("hi", output_config={"format": {"type": "json_schema", "schema": {"type": "integer", "minimum": 1}}}),
        "properties minimum are not supported",
    ),
]


@pytest.mark.parametrize(("body", "text"), BAD)
async def test_bad_requests_are_named(wire: Wire, body: Any, text: str):
    got = await send(wire, body)
    assert got.status == 400 and text in got.error["message"] and got.error["type"] == "invalid_request_error"
    assert got.json["type"] == "error" and got.json["request_id"] == got.headers["request-id"]


@pytest.mark.parametrize(
    ("thinking", "more", "text"),
    [
        ({"type": "enabled", "budget_tokens": 100}, {}, "greater than or equal to 1024"),
        ({"type": "enabled", "budget_tokens": 2000}, {}, "`max_tokens` must be greater"),
        ({"type": "enabled", "budget_tokens": 1024}, {"temperature": 0.5}, "may only be set to 1"),
        ({"type": "enabled", "budget_tokens": 1024}, {"tool_choice": {"type": "any"}}, "forces tool use"),
        ({"type": "adaptive"}, {}, '"thinking.type.adaptive" is not supported'),
    ],
)
async def test_a_thinking_budget_has_its_rules(wire: Wire, thinking: Any, more: dict[str, Any], text: str):
    got = await send(wire, asked("hi", model="claude-haiku-4-5", tools=[ADD], thinking=thinking, **more))
    assert got.status == 400 and text in got.error["message"]


async def test_thinking_with_a_budget_cannot_begin_between_a_call_and_its_result(wire: Wire):
    body = talk("add 2 and 3", [USED], [RESULT]) | {"model": "claude-haiku-4-5"}
    assert (await send(wire, body)).status == 200
    got = await send(wire, body | {"thinking": {"type": "enabled", "budget_tokens": 1024}})
    assert got.status == 400 and "must start with a thinking block" in got.error["message"]


async def test_turns_of_one_role_are_one_turn(wire: Wire):
    body = talk("add 2 and 3", [USED], [RESULT])
    body["messages"][2:] = [{"role": "user", "content": [RESULT]}, {"role": "user", "content": "say done"}]
    assert (await send(wire, body)).json["content"][-1]["text"] == "done"


async def test_keys_and_versions_are_asked_for(wire: Wire):
    missing = await send(wire, asked("hi"), x_api_key=None)
    assert (missing.status, missing.error["type"]) == (401, "authentication_error")
    assert (await send(wire, asked("hi"), x_api_key="invalid-1")).status == 401
    assert "header is required" in (await send(wire, asked("hi"), anthropic_version=None)).error["message"]
    assert "not a valid version" in (await send(wire, asked("hi"), anthropic_version="2020")).error["message"]
    newest = await send(wire, asked("hi", temperature=1), anthropic_version="2026-10-21")
    assert "temperature: Extra inputs are not permitted" in newest.error["message"]


async def test_keys_are_not_kept(wire: Wire, emulator: Emulator):
    await send(wire, asked("hi"))
    assert "test-key" not in json.dumps(emulator.requests[-1].headers)


async def test_a_fault_is_chosen_by_header_or_by_the_model(wire: Wire):
    limited = await send(wire, asked("hi"), x_emulator_fault="429;retry=2")
    assert (limited.status, limited.headers["retry-after"]) == (429, "2")
    spent = await send(wire, asked("hi", model="claude-opus-5--429-quotaday"))
    assert spent.error["details"]["error_code"] == "enforced_spend_limit_reached"
    overloaded = await send(wire, asked("count to 9", stream=True), x_emulator_fault="stream-error;after=4")
    assert overloaded.events[-1]["error"]["type"] == "overloaded_error"
    unknown = await send(wire, asked("hi"), x_emulator_fault="nonsense")
    assert unknown.status == 400 and "unknown fault" in unknown.error["message"]
