"""Answers: plain ones, those with a tool between, and what a model is told on the way."""

from collections.abc import AsyncIterator

from tests.engine.builders import FakeTool, Lab, answer, ask, kinds, sent, settle

from pollux.core.errors import MissingCredential, ValidationError
from pollux.core.profile import Profile
from pollux.core.run import Run
from pollux.engine.model import ModelEvent, ModelRequest, Provider, TextDelta
from pollux.providers.scripted import Answer, ScriptedProvider, call, chunks, reply


async def test_a_plain_reply_completes_the_run(lab: Lab):
    engine = await lab.engine(reply("Hello, Ada."))
    run = await answer(engine, "hello")
    assert (run.status, run.text) == ("completed", "Hello, Ada.")
    assert await kinds(engine, run) == ["RunStarted", "RunClaimed", "ModelCalled", "ModelReplied", "RunCompleted"]


async def test_a_tool_s_answer_goes_back_to_the_model(lab: Lab):
    look = FakeTool(result={"colour": "red"})
    engine = await lab.engine(call("look", {"at": "sky"}), reply("It is red."), tools=[look])
    run = await answer(engine, "look up")
    assert run.text == "It is red."
    assert [args for _, args in look.ran] == [{"at": "sky"}]
    assert sent(lab.model) == ["user: look up", "assistant: look()", "tool: {'colour': 'red'}"]


async def test_the_journal_tells_the_run_again(lab: Lab):
    engine = await lab.engine(call("look"), reply("Done."), tools=[FakeTool()])
    run = await answer(engine)
    assert await engine.queries.run(run.id) == run


async def test_a_script_that_is_over_fails_the_run_and_nothing_else(lab: Lab):
    engine = await lab.engine(reply("one"))
    await answer(engine)
    lost = await answer(engine)
    assert (lost.status, lost.ending and lost.ending.code) == ("failed", "model_error")


async def test_instructions_are_made_for_every_model_turn(lab: Lab):
    async def instruct(run: Run, profile: Profile) -> str:
        return f"{profile.name} in turn {run.turn}"

    engine = await lab.engine(call("look"), reply("Done."), tools=[FakeTool()], instruct=instruct)
    await answer(engine)
    assert [request.system for request in lab.model.requests] == ["default in turn 1", "default in turn 2"]


async def test_a_profile_s_own_words_are_its_instructions(lab: Lab):
    engine = await lab.engine(reply("Aye."), profile=Profile(instructions="Speak like a sailor."))
    await answer(engine)
    assert lab.model.requests[0].system == "Speak like a sailor."


async def test_instructions_that_raise_fail_the_run_by_name(lab: Lab):
    async def instruct(run: Run, profile: Profile) -> str:
        raise RuntimeError("the secret of the author")

    engine = await lab.engine(instruct=instruct)
    run = await answer(engine)
    assert run.ending and run.ending.code == "instructions_failed"
    assert "secret" not in run.ending.message and "RuntimeError" in run.ending.message
    assert lab.model.requests == []


async def test_instructions_that_raise_our_own_errors_fail_the_run_by_the_same_name(lab: Lab):
    async def instruct(run: Run, profile: Profile) -> str:
        raise ValidationError("no such customer")

    engine = await lab.engine(instruct=instruct)
    run = await answer(engine)
    assert run.ending and run.ending.code == "instructions_failed"


async def test_a_missing_key_fails_the_run_as_an_authentication_error(lab: Lab):
    def providers(model: str) -> Provider:
        raise MissingCredential("GEMINI_API_KEY is not set")

    engine = await lab.engine(providers=providers)
    run = await answer(engine)
    assert run.ending and run.ending.code == "auth_error"
    assert run.ending.message == "GEMINI_API_KEY is not set"


async def test_an_empty_answer_is_asked_for_once_more(lab: Lab):
    engine = await lab.engine(Answer(), reply("Here I am."))
    run = await answer(engine)
    assert (run.text, run.model_calls) == ("Here I am.", 2)


async def test_two_empty_answers_fail_the_run(lab: Lab):
    engine = await lab.engine(Answer(), Answer())
    run = await answer(engine)
    assert run.ending and run.ending.code == "model_error"
    assert len(lab.model.requests) == 2


async def test_an_answer_cut_off_in_a_call_runs_nothing(lab: Lab):
    look = FakeTool()
    engine = await lab.engine(Answer(calls=(("look", {}),), stop="length"), tools=[look])
    run = await answer(engine)
    assert run.status == "failed"
    assert look.ran == []


async def test_a_provider_that_ends_without_saying_so_fails_the_run(lab: Lab):
    class Silent(ScriptedProvider):
        async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
            yield TextDelta("I was about to")

    engine = await lab.engine(provider=Silent())
    run = await answer(engine)
    assert run.ending and run.ending.code == "model_error"
    assert "without saying so" in run.ending.message


async def test_what_a_profile_says_about_the_answer_reaches_the_model(lab: Lab):
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
    profile = Profile(output_schema=schema, thinking="off", max_output_tokens=99, extra={"seed": 7}, model="m-1")
    engine = await lab.engine(reply('{"n": 1}'), profile=profile)
    await answer(engine)
    request = lab.model.requests[0]
    assert (request.output_schema, request.thinking, request.max_output_tokens) == (schema, "off", 99)
    assert (request.extra, request.model) == ({"seed": 7}, "m-1")


async def test_text_is_streamed_only_where_somebody_looks(lab: Lab):
    engine = await lab.engine(reply("unseen"), chunks(["se", "en"]))
    await answer(engine)
    run = await ask(engine, live=True)
    await settle(engine, run)
    assert [request.stream for request in lab.model.requests] == [False, True]
