"""The scripted provider: says its lines, and complains when the play goes otherwise."""

import pytest

from pollux.core.errors import ModelError
from pollux.core.messages import ToolCall, user
from pollux.engine.model import ModelRequest, TextDelta, ThoughtDelta, Turns
from pollux.providers.scripted import Answer, ScriptedProvider, call, calls, chunks, fail, reply
from pollux.testing.provider_lab import ask

ASKED = ModelRequest("script", Turns([user("hello")]))


async def test_each_call_plays_the_next_step():
    provider = ScriptedProvider(call("add", {"a": 1}), reply("Two.", thought="easy"))
    first, second = await ask(provider, ASKED), await ask(provider, ASKED)
    assert first.done.stop == "tool_calls" and first.of(ToolCall) == [ToolCall("call_1_1", "add", {"a": 1})]
    assert second.events[:-1] == (ThoughtDelta("easy"), TextDelta("Two."))
    assert second.done.message.text == "Two." and second.done.stop == "end"
    provider.assert_exhausted()


async def test_several_calls_in_one_turn_have_ids_of_their_own():
    answered = await ask(ScriptedProvider(calls(("a", {}), ("b", {}), text="Both.")), ASKED)
    assert [made.id for made in answered.done.message.calls] == ["call_1_1", "call_1_2"]
    assert answered.done.message.text == "Both."


async def test_text_can_come_in_pieces_and_end_as_told():
    answered = await ask(ScriptedProvider(chunks(["a", "b"], stop="length", reason="MAX_TOKENS")), ASKED)
    assert [delta.text for delta in answered.of(TextDelta)] == ["a", "b"]
    assert (answered.done.stop, answered.done.reason) == ("length", "MAX_TOKENS")


@pytest.mark.parametrize("after", ["", "some text"])
async def test_a_step_can_fail_before_or_after_it_began(after: str):
    answered = await ask(ScriptedProvider(fail("rate_limit", retry_after=2, after=after)), ASKED)
    assert isinstance(answered.error, ModelError)
    assert (answered.error.kind, answered.error.retry_after) == ("rate_limit", 2)
    assert answered.error.started == bool(after) == bool(answered.events)


async def test_a_gate_sees_the_request_and_chooses_the_step():
    async def echo(request: ModelRequest) -> Answer:
        return reply(next(iter(request.turns)).text.upper())

    assert (await ask(ScriptedProvider(echo), ASKED)).done.message.text == "HELLO"


async def test_what_was_asked_is_kept_as_it_was():
    provider = ScriptedProvider(reply("one"))
    turns = Turns([user("hello")])
    await ask(provider, ModelRequest("script", turns))
    turns.extend([user("later")])
    assert [message.text for message in provider.requests[0].turns] == ["hello"]


async def test_one_call_too_many_is_an_assertion_that_names_the_step():
    provider = ScriptedProvider(reply("one"))
    await ask(provider, ASKED)
    with pytest.raises(AssertionError, match="has 1 steps, but the model was asked for step 2"):
        await ask(provider, ASKED)


async def test_a_step_never_asked_for_is_named():
    provider = ScriptedProvider(reply("one"), reply("two"))
    await ask(provider, ASKED)
    with pytest.raises(AssertionError, match="step 2 of 2"):
        provider.assert_exhausted()


async def test_it_counts_lists_and_closes_like_any_provider():
    provider = ScriptedProvider()
    assert await provider.count_tokens(ASKED) == 1
    assert [info.name for info in await provider.models()] == ["scripted"]
    await provider.close()
