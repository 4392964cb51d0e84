"""Long threads: summarised when due, never in the middle of a call, and only by a summary that helps."""

from tests.engine.builders import ADA, FakeTool, Lab, answer, journal, kinds, sent

from pollux.core.errors import MissingCredential
from pollux.core.events import HistoryCompressed
from pollux.core.ids import ThreadId
from pollux.core.messages import Message, Text, ToolCall, ToolResult, Usage, user
from pollux.core.profile import Limits, Profile
from pollux.engine.compress import split
from pollux.engine.engine import Engine
from pollux.engine.model import Provider
from pollux.providers.scripted import Answer, call, fail, reply

LONG = "x" * 400
SHORT_OF = Profile(tools=("look",), limits=Limits(compress_at=100))
FULL = Usage(90, 30)


def said(text: str) -> Message:
    return Message("assistant", (Text(text),))


async def long_thread(engine: Engine, *more: Message) -> ThreadId:
    """A thread whose last answer filled the context."""
    past = [user(f"first {LONG}"), said(f"one {LONG}"), *more, user(f"second {LONG}"), said(f"two {LONG}")]
    thread = await engine.threads.open(ADA, past)
    run = await answer(engine, "fill it", thread_id=thread.id)
    assert run.context_tokens == 120
    return thread.id


async def test_a_thread_is_summarised_when_it_has_grown_too_long(lab: Lab):
    engine = await lab.engine(
        reply("Full.", usage=FULL), reply("draft"), reply("They counted."), reply("Three."), profile=SHORT_OF
    )
    run = await answer(engine, "and now?", thread_id=await long_thread(engine))
    assert (run.text, run.compressed is not None) == ("Three.", True)
    assert sent(lab.model)[0] == "user: Summary of the conversation so far:\nThey counted."
    assert sent(lab.model)[-1] == "user: and now?"
    assert "draft" in sent(lab.model, 2)[-1]
    assert [lab.model.requests[number].tool_mode for number in (1, 2, 3)] == ["none", "none", "auto"]


async def test_a_summary_is_used_by_later_runs_and_after_a_restart(lab: Lab):
    engine = await lab.engine(
        reply("Full.", usage=FULL), reply("draft"), reply("They counted."), reply("Three."), profile=SHORT_OF
    )
    thread_id = await long_thread(engine)
    await answer(engine, "and now?", thread_id=thread_id)
    after_summary = sent(lab.model)
    await engine.close()
    later = await lab.engine(reply("Four."), reply("Five."), profile=SHORT_OF)
    await answer(later, "next", thread_id=thread_id)
    assert sent(lab.model) == [*after_summary, "assistant: Three.", "user: next"]
    await answer(later, "last", thread_id=thread_id)
    assert sent(lab.model) == [*after_summary, "assistant: Three.", "user: next", "assistant: Four.", "user: last"]
    assert len(await later.queries.messages(thread_id, ADA)) == 12


async def test_an_empty_summary_is_refused_and_the_words_stay(lab: Lab):
    engine = await lab.engine(reply("Full.", usage=FULL), Answer(), reply("Three."), profile=SHORT_OF)
    run = await answer(engine, "and now?", thread_id=await long_thread(engine))
    assert (run.text, run.compressed) == ("Three.", None)
    assert await _statuses(engine, run.id) == ["refused_empty"]
    assert sent(lab.model)[0].startswith("user: first")


async def test_a_summary_no_smaller_than_its_original_is_refused(lab: Lab):
    endless = reply("y" * 5000)
    engine = await lab.engine(reply("Full.", usage=FULL), endless, endless, reply("Three."), profile=SHORT_OF)
    run = await answer(engine, "and now?", thread_id=await long_thread(engine))
    assert (run.text, await _statuses(engine, run.id)) == ("Three.", ["refused_larger"])


async def test_a_summary_that_fails_does_not_fail_the_run(lab: Lab):
    engine = await lab.engine(reply("Full.", usage=FULL), fail("server"), reply("Three."), profile=SHORT_OF)
    run = await answer(engine, "and now?", thread_id=await long_thread(engine))
    assert (run.text, await _statuses(engine, run.id)) == ("Three.", ["failed"])


async def test_a_summary_without_a_key_fails_like_any_call_without_one(lab: Lab):
    engine = await lab.engine(reply("Full.", usage=FULL), profile=SHORT_OF)
    thread_id = await long_thread(engine)
    await engine.close()

    def providers(model: str) -> Provider:
        raise MissingCredential("no key")

    later = await lab.engine(providers=providers, profile=SHORT_OF)
    run = await answer(later, "and now?", thread_id=thread_id)
    assert (await _statuses(later, run.id), run.ending and run.ending.code) == (["failed"], "auth_error")


async def test_a_refused_summary_is_not_asked_for_again_until_a_tenth_more(lab: Lab):
    calls_of = [Answer(calls=(("look", {}),), usage=Usage(tokens, 0)) for tokens in (121, 131, 133)]
    summaries = [Answer(), Answer()]
    script = [reply("Full.", usage=FULL), summaries[0], *calls_of, summaries[1], reply("Done.")]
    engine = await lab.engine(*script, tools=[FakeTool()], profile=SHORT_OF)
    run = await answer(engine, "go", thread_id=await long_thread(engine))
    assert (run.text, await _statuses(engine, run.id)) == ("Done.", ["refused_empty", "refused_empty"])


async def test_pinned_words_survive_two_summaries(lab: Lab):
    pinned = Message("user", (Text("The code word is heron."),), pinned=True)
    second = [reply("draft 2", usage=FULL), reply("They go on."), reply("Five.")]
    engine = await lab.engine(
        reply("Full.", usage=FULL),
        reply("draft"),
        reply("They counted."),
        reply(LONG * 3, usage=FULL),
        *second,
        profile=SHORT_OF,
    )
    thread_id = await long_thread(engine, pinned, said("Noted."))
    await answer(engine, "and now?", thread_id=thread_id)
    assert sent(lab.model)[0].endswith("They counted.\n\nThe code word is heron.")
    await answer(engine, f"and then? {LONG}", thread_id=thread_id)
    assert sent(lab.model)[0] == ("user: Summary of the conversation so far:\nThey go on.\n\nThe code word is heron.")


async def test_what_a_summary_cost_is_counted(lab: Lab):
    engine = await lab.engine(
        reply("Full.", usage=FULL), reply("draft"), reply("They counted."), reply("Three."), profile=SHORT_OF
    )
    run = await answer(engine, "and now?", thread_id=await long_thread(engine))
    assert run.usage.total == 3 * 15
    assert (await kinds(engine, run)).index("HistoryCompressed") < (await kinds(engine, run)).index("ModelCalled")


async def test_a_conversation_of_one_message_is_not_summarised(lab: Lab):
    look = FakeTool()
    filling = Answer(calls=(("look", {}),), usage=FULL)
    engine = await lab.engine(filling, reply("Done."), tools=[look], profile=SHORT_OF)
    run = await answer(engine)
    assert (run.text, await _statuses(engine, run.id)) == ("Done.", ["refused_larger"])


def test_a_call_is_never_split_from_its_answer():
    asked = Message("assistant", (ToolCall("c1", "look", {"at": LONG}),))
    answered = Message("tool", (ToolResult("c1", "look", LONG),))
    for before in range(3):
        for rounds in range(1, 4):
            messages = [user(LONG), said(LONG)] * before + [user("go")] + [asked, answered] * rounds + [said("end")]
            cut = split(messages)
            assert messages[cut].role in ("user", "assistant")
            assert not (cut and messages[cut - 1].calls)


def test_about_a_third_keeps_its_words():
    messages = [user("a" * 100), said("b" * 100)] * 5
    assert split(messages) == 6


async def _statuses(engine: Engine, run_id: str) -> list[str]:
    facts = await journal(engine, run_id)  # pyright: ignore[reportArgumentType]
    return [fact.status for fact in facts if isinstance(fact, HistoryCompressed)]


async def test_a_short_thread_is_left_alone(lab: Lab):
    engine = await lab.engine(call("look"), reply("Done."), tools=[FakeTool()], profile=SHORT_OF)
    run = await answer(engine)
    assert await _statuses(engine, run.id) == []
