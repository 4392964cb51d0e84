"""What every provider must do, as tests. A new provider is one file, and a subclass of ProviderSuite with a `lab`.

class TestMine(ProviderSuite):
    @pytest_asyncio.fixture
    async def lab(self):
        async with run_emulator() as emulator:
            lab = ProviderLab(emulator, lambda url: MyProvider("a-secret", url), model="gemini-3.8-flash", ...)
            yield lab
            await lab.provider.close()
"""

import asyncio
import gc
import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace
from typing import cast

import pytest

from pollux.core.errors import ModelError
from pollux.core.messages import Blob, Message, Native, Text, Thought, ToolCall, ToolResult, notice, user
from pollux.core.tools import ToolSpec
from pollux.engine.model import ModelEvent, TextDelta, ThoughtDelta
from pollux.testing.provider_lab import (
    ADD,
    COUNTING,
    FAULTS,
    Answered,
    Fails,
    ProviderLab,
    Talk,
    ask,
    http_answer,
    saying,
    serving,
)

WAIT_SECONDS = 30.0
"""After so long something hangs."""
PNG = bytes.fromhex("89504e470d0a1a0a0000000d49484452")
TWO_CALLS = 'call add {"a": 1, "b": 2} call add {"a": 3, "b": 4}'
_ENDLESS = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
both_ways = pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])


@pytest.mark.asyncio
class ProviderSuite:
    """The conformance suite. Every test takes the `lab` fixture that a subclass provides."""

    @both_ways
    async def test_an_answer_ends_in_exactly_one_done(self, lab: ProviderLab, stream: bool):
        answered = await lab.ask(COUNTING, stream=stream)
        assert answered.done.stop == "end"
        assert answered.done.message.role == "assistant"
        assert answered.done.model

    @both_ways
    async def test_the_deltas_are_the_text_of_the_message(self, lab: ProviderLab, stream: bool):
        answered = await lab.ask(COUNTING, stream=stream)
        text = answered.done.message.text
        assert text and "".join(delta.text for delta in answered.of(TextDelta)) == text

    async def test_streamed_or_not_the_answer_is_the_same(self, lab: ProviderLab):
        streamed, whole = await lab.ask(COUNTING), await lab.ask(COUNTING, stream=False)
        assert streamed.done.message.text == whole.done.message.text

    async def test_text_arrives_before_the_answer_is_complete(self, lab: ProviderLab):
        answered = await lab.ask(COUNTING, fault="slow-every5")
        assert len(answered.of(TextDelta)) > 1

    @both_ways
    async def test_tokens_are_counted(self, lab: ProviderLab, stream: bool):
        usage = (await lab.ask(COUNTING, stream=stream)).done.usage
        assert usage.input > 0 and usage.output > 0

    async def test_what_a_request_would_cost_can_be_asked(self, lab: ProviderLab):
        short = await lab.provider.count_tokens(lab.request("hello"))
        long = await lab.provider.count_tokens(lab.request("hello " * 200))
        assert 0 < short < long

    async def test_the_instructions_are_sent(self, lab: ProviderLab):
        await lab.ask(COUNTING, system="Answer in verse.")
        assert b"Answer in verse." in lab.last_body

    async def test_the_models_on_offer_are_listed(self, lab: ProviderLab):
        assert lab.model in {info.name for info in await lab.provider.models()}

    async def test_an_unknown_model_is_answered_with_the_nearest(self, lab: ProviderLab):
        misspelt = replace(lab.request(COUNTING), model=lab.model[:-1] + "x")
        error = (await ask(lab.provider, misspelt)).error
        assert error is not None and error.kind == "not_found"
        assert lab.model in str(error)

    async def test_answers_at_the_same_time_do_not_mix(self, lab: ProviderLab):
        counts = [f"count to {number}" for number in range(3, 13)]
        alone = [(await lab.ask(count)).done.message.text for count in counts]
        together = await asyncio.gather(*(lab.ask(count) for count in counts))
        assert [answered.done.message.text for answered in together] == alone

    @both_ways
    async def test_a_tool_is_called_and_its_result_is_answered(self, lab: ProviderLab, stream: bool):
        first = await lab.ask("add 2 and 3", tools=(ADD,), stream=stream)
        assert first.done.stop == "tool_calls"
        assert first.of(ToolCall) == list(first.done.message.calls)
        (call,) = first.done.message.calls
        assert (call.name, call.args) == ("add", {"a": 2, "b": 3})
        second = await lab.ask("add 2 and 3", first.done.message, _results(first), tools=(ADD,), stream=stream)
        assert second.done.stop == "end" and "5" in second.done.message.text

    @both_ways
    @pytest.mark.parametrize("fault", ["", "split-calls", "no-id", "duplicate-ids"])
    async def test_parallel_calls_each_have_an_id_and_all_are_answered(
        self, lab: ProviderLab, fault: str, stream: bool
    ):
        first = await lab.ask(TWO_CALLS, fault=fault, tools=(ADD,), stream=stream)
        calls = first.done.message.calls
        assert [call.args for call in calls] == [{"a": 1, "b": 2}, {"a": 3, "b": 4}]
        assert len({call.id for call in calls}) == 2
        second = await lab.ask(TWO_CALLS, first.done.message, _results(first), tools=(ADD,), stream=stream)
        assert second.done.stop == "end"

    async def test_a_turn_goes_back_byte_for_byte_also_after_it_was_stored(self, lab: ProviderLab):
        first = await lab.ask(TWO_CALLS, tools=(ADD,))
        native = first.done.message.native
        assert native is not None and native.provider == lab.provider.name
        stored = replace(first.done.message, native=Native(native.provider, json.loads(json.dumps(native.body))))
        await lab.ask(TWO_CALLS, stored, _results(first), tools=(ADD,))
        assert native.body.encode() in lab.last_body

    async def test_a_thread_from_another_provider_is_rebuilt_without_what_was_its_own(self, lab: ProviderLab):
        call = ToolCall("theirs-1", "add", {"a": 2, "b": 3})
        theirs = Message(
            "assistant",
            (Thought("a private thought"), Text("Let me see."), call),
            native=Native("somebody-else", '{"signature":"canary"}'),
        )
        answered = await lab.ask("add 2 and 3", theirs, _answers(call), tools=(ADD,))
        assert answered.done.stop == "end"
        assert b"Let me see." in lab.last_body
        assert b"canary" not in lab.last_body and b"private thought" not in lab.last_body

    async def test_a_call_whose_id_was_made_up_elsewhere_can_be_answered(self, lab: ProviderLab):
        first = await lab.ask("add 2 and 3", fault="no-id", tools=(ADD,))
        adopted = replace(first.done.message, native=None)
        second = await lab.ask("add 2 and 3", adopted, _results(first), tools=(ADD,))
        assert second.done.stop == "end"

    async def test_notices_are_not_sent(self, lab: ProviderLab):
        await lab.ask(notice("for people only"), COUNTING)
        assert b"for people only" not in lab.last_body

    async def test_a_tool_whose_name_does_not_fit_comes_back_under_its_own_name(self, lab: ProviderLab):
        odd = ToolSpec("größte zahl/finden: " + "x" * 80, "Find the largest.", {"type": "object", "properties": {}})
        first = await lab.ask("go", tools=(odd,), tool_mode="any")
        assert [call.name for call in first.done.message.calls] == [odd.name]
        second = await lab.ask("go", first.done.message, _results(first), tools=(odd,))
        assert second.error is None

    async def test_tools_can_be_withheld(self, lab: ProviderLab):
        assert not (await lab.ask("add 2 and 3", tools=(ADD,), tool_mode="none")).done.message.calls

    async def test_an_answer_can_be_asked_for_in_a_shape(self, lab: ProviderLab):
        schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
        answered = await lab.ask("the city is Paris", output_schema=schema)
        assert set(json.loads(answered.done.message.text)) == {"city"}

    async def test_an_image_is_sent_along(self, lab: ProviderLab):
        answered = await lab.ask(user("what is this?", Blob("image/png", PNG)))
        assert answered.done.stop == "end"
        assert b"iVBORw0KGgo" in lab.last_body

    @both_ways
    async def test_thoughts_are_shown_apart_from_the_text(self, lab: ProviderLab, stream: bool):
        if not lab.shows_thoughts:
            pytest.skip("this service shows no thoughts")
        answered = await lab.ask(COUNTING, thinking="shown", stream=stream)
        shown = "".join(delta.text for delta in answered.of(ThoughtDelta))
        kept = "".join(part.text for part in answered.done.message.parts if isinstance(part, Thought))
        assert shown and shown == kept and shown not in answered.done.message.text

    @pytest.mark.parametrize("thinking", ["off", "default", "shown"])
    async def test_every_setting_of_thinking_is_accepted(self, lab: ProviderLab, thinking: str):
        assert (await lab.ask(COUNTING, thinking=thinking)).done.stop == "end"

    async def test_a_limit_on_the_answer_ends_it(self, lab: ProviderLab):
        assert (await lab.ask(COUNTING, max_output_tokens=3)).done.stop == "length"

    @both_ways
    async def test_an_answer_longer_than_its_limit_is_cut_there_and_marked(self, lab: ProviderLab, stream: bool):
        answered = await lab.ask(COUNTING, fault="huge-size100000", answer_bytes=1000, stream=stream)
        done, said = answered.done, "".join(delta.text for delta in answered.of(TextDelta))
        assert (done.stop, done.message.cut, len(done.message.text)) == ("length", True, 1000)
        assert said == done.message.text and done.message.native is None

    @both_ways
    async def test_an_answer_of_the_very_limit_is_whole(self, lab: ProviderLab, stream: bool):
        size = len((await lab.ask(COUNTING)).done.message.text)
        done = (await lab.ask(COUNTING, answer_bytes=size, stream=stream)).done
        assert (done.stop, done.message.cut, len(done.message.text)) == ("end", False, size)

    @both_ways
    @pytest.mark.parametrize("fault", FAULTS)
    async def test_every_fault_has_a_typed_outcome(self, lab: ProviderLab, fault: str, stream: bool):
        answered = await lab.ask(COUNTING, fault=fault, stream=stream)
        expected = FAULTS[fault]
        if not isinstance(expected, Fails):
            assert answered.done.stop == expected.stop
            return
        error = answered.error
        assert error is not None and error.kind in expected.kinds
        assert error.started == (expected.started and stream) == bool(answered.events)
        assert error.retry_after == expected.retry_after
        assert str(error) and lab.secret not in f"{error} {error!r}" and COUNTING not in str(error)

    @pytest.mark.parametrize("fault", ["429-retry2", "500", "503", "reset", "half", "malformed-call", "empty"])
    async def test_nothing_is_tried_again(self, lab: ProviderLab, fault: str):
        await lab.ask(COUNTING, fault=fault)
        assert lab.posts == 1

    async def test_a_call_in_an_answer_that_broke_off_is_not_called_finished(self, lab: ProviderLab):
        answered = await lab.ask("add 2 and 3", fault="half", tools=(ADD,))
        assert answered.done.stop == "truncated"

    async def test_characters_split_on_their_way_arrive_whole(self, lab: ProviderLab):
        text = (await lab.ask(COUNTING, fault="split-utf8")).done.message.text
        assert "naïve café" in text and "日本語 🎉" in text

    async def test_a_huge_answer_arrives_whole_and_in_time(self, lab: ProviderLab):
        size = 8 * 1024 * 1024
        answered = await lab.ask(COUNTING, fault=f"huge-size{size}", answer_bytes=size)
        assert len(answered.done.message.text) == size

    async def test_an_answer_that_drips_for_ever_ends_at_the_total_bound(self, lab: ProviderLab):
        answered = await lab.ask(COUNTING, fault="slow-every60", total_seconds=0.2)
        assert answered.error is not None and answered.error.kind == "timeout"

    @pytest.mark.parametrize("head", [b"", _ENDLESS], ids=["before-the-head", "in-the-body"])
    async def test_cancelling_closes_the_connection(self, lab: ProviderLab, head: bytes):
        arrived, hung_up = asyncio.Event(), asyncio.Event()
        async with serving(_listening(arrived, hung_up, head)) as url, asyncio.timeout(WAIT_SECONDS):
            provider = lab.connect(url)
            asking = asyncio.create_task(ask(provider, lab.request(COUNTING, idle_seconds=10 * WAIT_SECONDS)))
            await arrived.wait()
            asking.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asking
            await hung_up.wait()
            await provider.close()

    async def test_an_answer_nobody_finishes_reading_leaves_nothing_behind(self, lab: ProviderLab):
        before = asyncio.all_tasks()
        provider = lab.connect(lab.emulator.url)
        stream = cast("AsyncGenerator[ModelEvent]", provider.stream(lab.request(COUNTING, fault="slow-every5")))
        async with aclosing(stream):
            await anext(stream)
        await provider.close()
        gc.collect()
        # The emulator's own task for the connection ends with it, a moment later.
        left = asyncio.all_tasks() - before
        _, still = await asyncio.wait(left, timeout=WAIT_SECONDS) if left else (left, left)
        assert not still

    async def test_a_server_that_quotes_key_and_prompt_is_not_quoted(self, lab: ProviderLab):
        prompt = "my password is swordfish-2187 please"
        said = json.dumps(
            {"error": {"code": 400, "message": f'Bad key {lab.secret} for text "{prompt}"', "status": "X"}}
        )
        async with serving(saying(http_answer(400, said.encode()))) as url:
            error = await _failure(lab, url, prompt)
        assert error is not None and error.kind == "bad_request"
        assert lab.secret not in f"{error} {error!r}" and "swordfish" not in str(error)

    @pytest.mark.parametrize(
        ("answer", "kinds"),
        [
            (b"not HTTP at all\r\n\r\n", {"protocol", "connection"}),
            (b"", {"connection"}),
            (http_answer(200, b""), {"protocol"}),
            (http_answer(200, b"<html>welcome</html>"), {"protocol"}),
            (http_answer(200, b'data: "surprise"\n\n'), {"protocol"}),
            (http_answer(200, b"[1, 2, 3]"), {"protocol"}),
            (http_answer(302, b"", "Location: http://127.0.0.1:9/elsewhere"), {"protocol"}),
            (http_answer(500, b"\xff\xfe\x00"), {"server"}),
            (http_answer(500, b'"only a string"'), {"server"}),
            (http_answer(429, b'{"error": null}'), {"rate_limit"}),
            (http_answer(503, b'{"error": ["a", "list"]}'), {"overloaded"}),
            (http_answer(200, b"junk", "Content-Encoding: gzip"), {"connection", "protocol"}),
        ],
        ids=lambda value: repr(value)[:40] if isinstance(value, bytes) else "",
    )
    @both_ways
    async def test_nonsense_is_a_typed_error(self, lab: ProviderLab, answer: bytes, kinds: set[str], stream: bool):
        async with serving(saying(answer)) as url:
            error = await _failure(lab, url, COUNTING, stream=stream)
        assert error is not None and error.kind in kinds and not error.started

    async def test_nobody_at_the_address_is_a_failed_connection(self, lab: ProviderLab):
        async with serving(saying(b"")) as url:
            pass
        error = await _failure(lab, url, COUNTING)
        assert error is not None and error.kind == "connection"

    async def test_the_provider_does_not_show_its_key(self, lab: ProviderLab):
        assert lab.secret not in repr(lab.provider)
        assert lab.secret not in repr(lab.request(COUNTING))

    async def test_the_key_travels_in_a_header_only(self, lab: ProviderLab):
        await lab.ask(COUNTING)
        seen = lab.emulator.requests[-1]
        assert lab.secret not in f"{seen.path} {seen.query}" and lab.secret.encode() not in seen.content


def _results(answered: Answered) -> Message:
    return _answers(*answered.done.message.calls)


def _answers(*calls: ToolCall) -> Message:
    sums = (call.args.get("a", 0) + call.args.get("b", 0) for call in calls)
    return Message(
        "tool", tuple(ToolResult(call.id, call.name, total) for call, total in zip(calls, sums, strict=True))
    )


def _listening(arrived: asyncio.Event, hung_up: asyncio.Event, head: bytes) -> Talk:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(head)
        arrived.set()
        while await reader.read(65536):
            pass
        hung_up.set()

    return talk


async def _failure(lab: ProviderLab, url: str, prompt: str, *, stream: bool = True) -> ModelError | None:
    provider = lab.connect(url)
    answered = await ask(provider, lab.request(prompt, stream=stream))
    await provider.close()
    return answered.error
