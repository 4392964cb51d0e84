"""Thought signatures, calls and responses: given by Gemini 3, wanted back exactly, refused otherwise."""

import base64
from typing import Any

import pytest
from tests.emulator.wire import ADD, FLASH, OLD, WEATHER, Got, Wire, answered, prompt, user

MISSING = "Function call is missing a thought_signature in functionCall parts."
COUNT = "Please ensure that the number of function response parts is equal to the number of function call parts"


async def call_turn(wire: Wire, body: dict[str, Any], *, model: str = FLASH) -> dict[str, Any]:
    return (await wire.ask(body, model=model)).json["candidates"][0]["content"]


def refused(got: Got, text: str) -> bool:
    return got.status == 400 and got.error["status"] == "INVALID_ARGUMENT" and text in got.error["message"]


async def test_the_first_call_of_a_turn_is_signed_and_every_call_has_an_id(wire: Wire):
    content = await call_turn(wire, prompt("weather in Paris and in Rome", WEATHER))
    first, second = content["parts"]
    assert "thoughtSignature" in first and "thoughtSignature" not in second
    assert first["functionCall"]["id"] != second["functionCall"]["id"]


async def test_a_turn_sent_back_as_it_came_is_accepted(wire: Wire):
    body = prompt("weather in Paris and in Rome", WEATHER)
    content = await call_turn(wire, body)
    got = await wire.ask(answered(body, content, {"result": "sun"}, {"result": "rain"}))
    assert (
        got.json["candidates"][0]["content"]["parts"][0]["text"]
        == "get_weather returned sun\nget_weather returned rain"
    )


async def test_the_url_safe_alphabet_is_the_same_signature(wire: Wire):
    body = prompt("add 2 and 3", ADD)
    content = await call_turn(wire, body)
    raw = base64.b64decode(content["parts"][0]["thoughtSignature"])
    content["parts"][0]["thoughtSignature"] = base64.urlsafe_b64encode(raw).decode().rstrip("=")
    assert (await wire.ask(answered(body, content, {"result": 5}))).status == 200


async def test_a_missing_signature_is_refused_with_the_name_and_position(wire: Wire):
    body = prompt("add 2 and 3", ADD)
    content = await call_turn(wire, body)
    del content["parts"][0]["thoughtSignature"]
    got = await wire.ask(answered(body, content, {"result": 5}))
    assert refused(got, MISSING) and "`default_api:add` , position 2." in got.error["message"]


async def test_vertex_refuses_a_missing_signature_in_its_own_words(wire: Wire):
    body = prompt("add 2 and 3", ADD)
    content = await call_turn(wire, body)
    del content["parts"][0]["thoughtSignature"]
    path = f"/v1beta1/projects/p/locations/global/publishers/google/models/{FLASH}:generateContent"
    got = await wire.send("POST", path, answered(body, content, {"result": 5}))
    assert refused(got, "function call `default_api:add` in the 2. content block is missing a `thought_signature`")


@pytest.mark.parametrize("at", [0, 10, 40, -1])
async def test_an_altered_signature_is_refused(wire: Wire, at: int):
    body = prompt("add 2 and 3", ADD)
    content = await call_turn(wire, body)
    raw = bytearray(base64.b64decode(content["parts"][0]["thoughtSignature"]))
    raw[at] ^= 1
    content["parts"][0]["thoughtSignature"] = base64.b64encode(bytes(raw)).decode()
    assert refused(await wire.ask(answered(body, content, {"result": 5})), "Corrupted thought signature.")


async def test_a_signature_moved_to_another_call_is_refused(wire: Wire):
    body = prompt("add 2 and 3", ADD)
    content = await call_turn(wire, body)
    content["parts"][0]["functionCall"]["args"] = {"a": 20, "b": 30}
    assert refused(await wire.ask(answered(body, content, {"result": 50})), "Corrupted thought signature.")


async def test_arguments_written_with_another_number_form_are_the_same_call(wire: Wire):
    body = prompt("add 2 and 3", ADD)
    content = await call_turn(wire, body)
    content["parts"][0]["functionCall"]["args"] = {"b": 3.0, "a": 2.0}
    assert (await wire.ask(answered(body, content, {"result": 5}))).status == 200


async def test_an_altered_text_signature_is_refused_in_later_turns(wire: Wire):
    content = await call_turn(wire, prompt("say hi"))
    raw = bytearray(base64.b64decode(content["parts"][0]["thoughtSignature"]))
    raw[-1] ^= 1
    content["parts"][0]["thoughtSignature"] = base64.b64encode(bytes(raw)).decode()
    got = await wire.ask({"contents": [user("say hi"), content, user("say ho")]})
    assert refused(got, "Corrupted thought signature.")


async def test_an_earlier_turn_needs_no_signature(wire: Wire):
    body = prompt("add 2 and 3", ADD)
    content = await call_turn(wire, body)
    del content["parts"][0]["thoughtSignature"]
    later = answered(body, content, {"result": 5})
    later["contents"] += [{"role": "model", "parts": [{"text": "5"}]}, user("say done")]
    assert (await wire.ask(later)).status == 200


async def test_the_documented_dummy_signature_is_accepted(wire: Wire):
    body = prompt("add 2 and 3", ADD)
    content = await call_turn(wire, body)
    content["parts"][0]["thoughtSignature"] = base64.b64encode(b"skip_thought_signature_validator").decode()
    assert (await wire.ask(answered(body, content, {"result": 5}))).status == 200


async def test_gemini_2_gives_no_ids_or_signatures_and_wants_none(wire: Wire):
    body = prompt("add 2 and 3", ADD)
    content = await call_turn(wire, body, model=OLD)
    assert content["parts"] == [{"functionCall": {"name": "add", "args": {"a": 2, "b": 3}}}]
    assert (await wire.ask(answered(body, content, {"result": 5}), model=OLD)).status == 200


async def test_calls_streamed_over_several_contents_are_one_turn(wire: Wire):
    body = prompt("add 2 and 3", ADD)
    chunks = (await wire.stream(body)).events
    contents = [chunk["candidates"][0]["content"] for chunk in chunks]
    parts: list[Any] = [{"functionResponse": {"name": "add", "response": {"result": 5}}}]
    got = await wire.ask(body | {"contents": [*body["contents"], *contents, {"role": "user", "parts": parts}]})
    assert got.json["candidates"][0]["content"]["parts"][0]["text"] == "add returned 5"


async def test_responses_must_equal_the_calls_in_number(wire: Wire):
    body = prompt("weather in Paris and in Rome", WEATHER)
    content = await call_turn(wire, body)
    full = answered(body, content, {"result": "sun"}, {"result": "rain"})
    full["contents"][-1]["parts"].pop()
    assert refused(await wire.ask(full), COUNT)


async def test_an_unanswered_call_cannot_be_talked_over(wire: Wire):
    body = prompt("add 2 and 3", ADD)
    content = await call_turn(wire, body)
    assert refused(await wire.ask(body | {"contents": [*body["contents"], content, user("never mind")]}), COUNT)


@pytest.mark.parametrize(("field", "value"), [("name", "subtract"), ("id", "zzzzzzzz")])
async def test_responses_must_match_the_calls_by_name_and_id(wire: Wire, field: str, value: str):
    body = prompt("add 2 and 3", ADD)
    content = await call_turn(wire, body)
    full = answered(body, content, {"result": 5})
    full["contents"][-1]["parts"][0]["functionResponse"][field] = value
    assert refused(await wire.ask(full), f"Please ensure that function response {field}s match")


async def test_a_response_needs_a_call_before_it(wire: Wire):
    parts: list[Any] = [{"functionResponse": {"name": "add", "response": {}}}]
    got = await wire.ask({"contents": [user("hi"), {"role": "user", "parts": parts}]})
    assert refused(got, "function response turn comes immediately after a function call turn")


async def test_a_conversation_cannot_begin_with_a_call(wire: Wire):
    body = prompt("add 2 and 3", ADD)
    full = answered(body, await call_turn(wire, body), {"result": 5})
    full["contents"] = full["contents"][1:]
    assert refused(await wire.ask(full), "function call turn comes immediately after a user turn")


async def test_ids_the_model_gave_twice_may_come_back_twice(wire: Wire):
    body = prompt("weather in Paris and in Rome", WEATHER)
    content = (await wire.ask(body, fault="duplicate-ids")).json["candidates"][0]["content"]
    assert (await wire.ask(answered(body, content, {"result": "sun"}, {"result": "rain"}))).status == 200
