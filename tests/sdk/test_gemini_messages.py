"""A recorded conversation goes on with the real provider. The emulator judges calls, results and signatures."""

import json
from collections.abc import AsyncGenerator, Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.sdk.recorded import HEAD, SESSIONS, SIGNATURE, call, entry, gemini, message, response, user, written
from tests.sdk.test_gemini_history import PICTURE, RECORDED

from pollux.core.messages import Blob, Message, Text, ToolCall, ToolResult
from pollux.core.messages import user as says
from pollux.core.tools import ToolSpec
from pollux.emulator import Emulator, run_emulator
from pollux.emulator.gemini.request import Target, read_ask
from pollux.engine.model import Done, ModelRequest, Turns
from pollux.providers import openai_request
from pollux.providers.gemini import GeminiProvider
from pollux.providers.gemini_request import encode_request
from pollux.sdk.gemini_cli.history import message_records_to_history
from pollux.sdk.gemini_cli.messages import history_to_messages
from pollux.sdk.gemini_cli.sessions import MessageRecord, load_session

FLASH = "gemini-3.8-flash"
LOOK = ToolSpec("look", "Look.", {"type": "object"})


@pytest.fixture
async def emulator() -> AsyncGenerator[Emulator]:
    async with run_emulator() as running:
        yield running


@pytest.fixture
async def provider(emulator: Emulator) -> AsyncGenerator[GeminiProvider]:
    made = GeminiProvider("a-key", emulator.url)
    yield made
    await made.close()


async def ask(provider: GeminiProvider, messages: Iterable[Message]) -> Done:
    request = ModelRequest(FLASH, Turns(messages), tools=(LOOK,), total_seconds=5)
    [done] = [event async for event in provider.stream(request) if isinstance(event, Done)]
    return done


def messages_of(path: Path) -> tuple[Message, ...]:
    return history_to_messages(message_records_to_history(load_session(path).records))


@pytest.mark.parametrize("path", SESSIONS, ids=lambda path: path.name)
async def test_a_real_session_goes_on(provider: GeminiProvider, path: Path):
    done = await ask(provider, [*messages_of(path), says("say marzipan")])
    assert (done.stop, done.message.text) == ("end", "marzipan")


async def test_the_model_s_own_signature_goes_back_to_it_through_a_session_file(
    provider: GeminiProvider, emulator: Emulator, tmp_path: Path
):
    called = (await ask(provider, [says('call look {"at": "ünïcode ✓"}')])).message
    assert called.native is not None
    turn = gemini("g", json.loads(called.native.body)["parts"])
    [made] = called.calls
    answer = message("r", "user", [response(made.id, output="nothing")])
    path = written(tmp_path, HEAD, user("u", 'call look {"at": "ünïcode ✓"}'), turn, answer)

    # It ends with a result, so the turn is not over: without its genuine signature the call would be refused.
    assert (await ask(provider, messages_of(path))).stop == "end"
    [sent] = [part for part in emulator.requests[-1].body["contents"][1]["parts"] if "functionCall" in part]
    assert sent["thoughtSignature"] == turn["content"][-1]["thoughtSignature"]


async def test_calls_that_were_recorded_without_a_signature_are_taken_too(provider: GeminiProvider, tmp_path: Path):
    made = gemini("g", "", toolCalls=[entry("a", result=[response("a", output=1)]), entry("b")])
    assert (await ask(provider, messages_of(written(tmp_path, HEAD, user("u", "q"), made)))).stop == "end"


def test_the_parts_are_neutral_and_a_turn_that_they_say_whole_has_no_native(tmp_path: Path):
    made = gemini("g", "Well:", toolCalls=[entry("a", result=[response("a", error="none"), PICTURE], n=1)])
    assert messages_of(written(tmp_path, HEAD, user("u", "q"), made)) == (
        Message("user", (Text("q"),)),
        Message("assistant", (Text("Well:"), ToolCall("a", "look", {"n": 1}))),
        Message("tool", (ToolResult("a", "look", {"error": "none"}, is_error=True),)),
        Message("user", (Blob("image/png", b"\x89PNG\r\n\x1a\n"),)),
    )


def test_calls_without_ids_have_ids_among_us_and_none_for_gemini(tmp_path: Path):
    said = [gemini("g", [call(None), call(None)]), message("r", "user", [response("x", output=1)])]
    _, assistant, tool = messages_of(written(tmp_path, HEAD, user("u", "q"), *said))
    ids = [made.id for made in assistant.calls]
    assert len(set(ids)) == 2 and all(made.minted for made in assistant.calls)
    assert [part.call_id for part in tool.parts if isinstance(part, ToolResult)] == ids
    assert assistant.native is not None and tool.native is not None
    assert '"id"' not in assistant.native.body + tool.native.body


def test_a_signed_turn_is_kept_as_it_was(tmp_path: Path):
    parts = [{"text": "Well:", "thoughtSignature": SIGNATURE}]
    [_, assistant] = messages_of(written(tmp_path, HEAD, user("u", "q"), gemini("g", parts)))
    assert assistant.text == "Well:"
    assert assistant.native is not None and assistant.native.provider == "gemini"
    assert json.loads(assistant.native.body) == {"role": "model", "parts": parts}


def test_junk_in_a_history_is_left_out():
    history: list[dict[str, Any]] = [
        {},
        {"role": "model", "parts": 7},
        {"role": "user", "parts": [None, {"text": "a"}]},
    ]
    assert history_to_messages(history) == (Message("user", (Text("a"),)),)


@given(st.lists(RECORDED, max_size=6))
def test_whatever_was_recorded_can_be_sent_to_gemini_and_to_others(records: list[MessageRecord]):
    messages = history_to_messages(message_records_to_history(records))
    request = ModelRequest(FLASH, Turns([*messages, says("go on")]))
    read_ask(encode_request(request, b""), Target("v1beta", FLASH, "generateContent"))
    assert json.loads(openai_request.encode_request(request, b"", limit_name="max_tokens"))["messages"]
    answered = [part.call_id for said in messages for part in said.parts if isinstance(part, ToolResult)]
    assert answered == [made.id for said in messages for made in said.calls]
