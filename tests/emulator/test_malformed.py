"""Whatever is sent, the emulator answers with a client's error or an answer, never with an error of its own."""

import asyncio
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.emulator.wire import ADD, FLASH, Wire, prompt, user

from pollux.emulator.gemini import face as gemini
from pollux.emulator.gemini.errors import Refusal
from pollux.emulator.gemini.fields import MESSAGES
from pollux.emulator.gemini.request import Target
from pollux.emulator.openai import face as openai

NAMES = st.sampled_from([*sorted({name for fields in MESSAGES.values() for name in fields}), "", "x", "$ref"])
JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(max_size=8)),
    lambda below: st.one_of(st.lists(below, max_size=3), st.dictionaries(NAMES, below, max_size=4)),
    max_leaves=12,
)
PARTS = st.lists(st.dictionaries(NAMES, JSON, max_size=2) | st.just({"text": "add 1 and 2"}), max_size=2)
CONTENTS = st.lists(
    st.fixed_dictionaries({"role": st.sampled_from(["user", "model", "x"]), "parts": PARTS}), max_size=3
)


def with_contents(base: dict[str, Any], contents: list[Any]) -> dict[str, Any]:
    return {**base, "contents": contents}


def with_messages(base: dict[str, Any], messages: list[Any]) -> dict[str, Any]:
    return {"model": "gpt-5", **base, "messages": messages}


REQUESTS = st.builds(with_contents, st.dictionaries(NAMES, JSON, max_size=3), CONTENTS)


def ask_gemini(raw: bytes, method: str) -> int:
    target = Target("v1beta", FLASH, method)
    try:
        return gemini.answer_call(target, raw, seed=0, as_events=True, fault=None).status
    except Refusal as refusal:
        return refusal.code


def ask_openai(raw: bytes) -> int:
    try:
        return openai.answer_chat(openai.read(raw), seed=0, fault=None).status
    except openai.Refusal as refusal:
        return refusal.status


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(body=JSON | REQUESTS, method=st.sampled_from(["generateContent", "streamGenerateContent", "countTokens"]))
def test_no_json_breaks_the_gemini_face(body: Any, method: str):
    assert ask_gemini(json.dumps(body).encode(), method) in (200, 400)


@settings(max_examples=100, deadline=None)
@given(schema=JSON, text=st.text(max_size=30))
def test_no_schema_and_no_prompt_break_the_planner(schema: Any, text: str):
    declared = {"name": "add", "description": text, "parametersJsonSchema": schema}
    body = prompt("add " + text, declared)
    output = {"responseMimeType": "application/json", "responseJsonSchema": schema}
    assert ask_gemini(json.dumps(body).encode(), "generateContent") in (200, 400)
    assert ask_gemini(json.dumps({**prompt(text), "generationConfig": output}).encode(), "generateContent") in (
        200,
        400,
    )


CHATS = st.builds(
    with_messages,
    st.dictionaries(st.sampled_from(["tools", "tool_choice", "stop", "max_tokens", "response_format", "stream"]), JSON),
    st.lists(
        st.fixed_dictionaries({"role": st.sampled_from(["user", "assistant", "tool"]), "content": JSON}), max_size=3
    ),
)


@settings(max_examples=100, deadline=None)
@given(body=JSON | CHATS)
def test_no_json_breaks_the_openai_face(body: Any):
    assert ask_openai(json.dumps(body).encode()) in (200, 400, 404)


@settings(max_examples=60, deadline=None)
@given(raw=st.binary(max_size=60))
def test_no_bytes_break_either_face(raw: bytes):
    assert ask_gemini(raw, "generateContent") in (200, 400)
    assert ask_openai(raw) in (200, 400, 404)


@pytest.mark.parametrize(
    "raw",
    [
        b'{"contents":[{"parts":[{"text":"\\ud800"}]}]}',
        b'{"contents":[{"parts":[{"text":"\xff"}]}]}',
        b'{"contents":NaN}',
        b"[" * 5000,
        b'{"generationConfig":{"maxOutputTokens":1e400}}',
    ],
)
async def test_nasty_bytes_are_a_bad_request_over_the_wire(wire: Wire, raw: bytes):
    assert (await wire.ask(raw)).status == 400


async def test_a_client_that_leaves_does_no_harm(wire: Wire):
    reader, writer = await asyncio.open_connection("127.0.0.1", int(wire.url.rsplit(":", 1)[1]))
    writer.write(
        b"POST /v1beta/models/gemini-3.8-flash:generateContent HTTP/1.1\r\nHost: x\r\nContent-Length: 90\r\n\r\n{"
    )
    await writer.drain()
    writer.close()
    await writer.wait_closed()
    del reader
    assert (await wire.ask({"contents": [user("say hi")], "tools": [{"functionDeclarations": [ADD]}]})).status == 200
