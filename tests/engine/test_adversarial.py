"""Junk, stray exceptions, awkward moments: whatever comes, a run ends or waits for somebody, and nobody else pays."""

import asyncio
import sys
import threading
from typing import Any, cast

import pytest
from tests.engine.builders import (
    ADA,
    BOB,
    TO_BOB,
    FakeTool,
    HeldTool,
    Lab,
    answer,
    approve,
    ask,
    mail,
    question,
    settle,
    until,
    watched,
)
from tests.engine.watching import seated
from tests.waiting import HANG_SECONDS

from pollux.core.errors import Misfit, NotFound, PolluxError, ToolError, ValidationError
from pollux.core.ids import RunId, ThreadId
from pollux.core.messages import JSON
from pollux.core.profile import Limits, Profile
from pollux.core.run import Parent, Run
from pollux.core.tools import Reconciled, ToolContext, ToolSpec
from pollux.core.turns import MAX_CALLS
from pollux.dispatch.local import LocalDispatcher
from pollux.engine.engine import Engine, Start
from pollux.engine.model import ModelRequest
from pollux.engine.perform import plain
from pollux.providers.scripted import Answer, Step, call, calls, reply
from pollux.tools.define import FunctionTool

SURROGATE = "\udcff"
Args = dict[str, JSON]
NOTHING: Args = {}


# What tools return and raise.


class Unspeakable:
    def __str__(self) -> str:
        raise RuntimeError("not now")


@pytest.mark.parametrize("result", [10**5000, Unspeakable()], ids=["a huge number", "an object without text"])
async def test_a_result_that_has_no_form_is_told_as_such_and_the_tool_is_not_run_again(lab: Lab, result: object):
    look = FakeTool(result=result)
    engine = await lab.engine(call("look"), reply("Odd."), tools=[look])
    run = await answer(engine)
    assert (run.text, len(look.ran)) == ("Odd.", 1)


@pytest.mark.slow
def test_a_result_that_holds_itself_many_times_over_has_an_end():
    knot: list[Any] = []
    knot += [knot, knot, knot]
    assert "cannot be shown" in plain(knot)


async def test_an_error_text_with_half_a_character_is_told_to_the_model(lab: Lab):
    async def body(context: ToolContext, args: Args) -> object:
        raise ToolError(f"there is no file {SURROGATE}")

    look = FakeTool(body=body)
    run = await answer(await lab.engine(call("look"), reply("No file."), tools=[look]))
    assert (run.text, len(look.ran)) == ("No file.", 1)


async def test_a_tool_that_calls_exit_ends_its_own_call_alone(lab: Lab):
    async def body(context: ToolContext, args: Args) -> object:
        sys.exit(3)

    run = await answer(await lab.engine(call("look"), reply("It left."), tools=[FakeTool(body=body)]))
    assert (run.text, run.done[0].status) == ("It left.", "failed")


async def test_a_function_that_raises_stop_iteration_fails_like_any_other(lab: Lab):
    def first(context: ToolContext, args: Args) -> object:
        return next(iter(()))

    tool = FunctionTool(ToolSpec("first", "The first one.", {"type": "object"}), first)
    run = await answer(await lab.engine(call("first"), reply("None."), tools=[tool]))
    assert (run.text, run.done[0].status) == ("None.", "failed")


async def test_functions_that_never_return_keep_neither_lists_nor_the_end_waiting(lab: Lab):
    never, began = threading.Event(), threading.Semaphore(0)

    def hang(context: ToolContext, args: Args) -> object:
        began.release()
        # Longer than a hang is waited for: it must not be this that ends.
        return never.wait(10 * HANG_SECONDS)

    tool = FunctionTool(ToolSpec("hang", "Never ends.", {"type": "object"}), hang)
    engine = await lab.engine(calls(*[("hang", NOTHING)] * 40), tools=[tool])
    await ask(engine)
    try:
        async with asyncio.timeout(HANG_SECONDS):
            for _ in range(40):
                await asyncio.to_thread(began.acquire)
            assert len(await engine.queries.runs(ADA, limit=1_000)) == 1
            await engine.close()
    finally:
        never.set()


# What a look at the outcome, instructions and a tool's description may do.


class Looked(FakeTool):
    """A checkable tool that answers a look with whatever it was given."""

    def __init__(self, answer: object) -> None:
        super().__init__("slow", repeat="checkable")
        self._answer = answer

    async def reconcile(self, context: ToolContext, args: Args) -> Reconciled:
        if isinstance(self._answer, BaseException):
            raise self._answer
        return cast("Reconciled", self._answer)


@pytest.mark.parametrize("found", [None, Reconciled(cast("Any", "maybe")), asyncio.CancelledError()])
async def test_a_look_that_tells_nothing_leaves_the_outcome_unknown(lab: Lab, found: object):
    slow = HeldTool(repeat="checkable")
    before = await lab.engine(call("slow"), tools=[slow])
    run = await ask(before)
    async with asyncio.timeout(HANG_SECONDS):
        await slow.began.wait()
    await before.close()
    after = await lab.engine(tools=[Looked(found)])
    await after.recover()
    run = await settle(after, run)
    assert run.ending and run.ending.code == "outcome_unknown"


async def test_instructions_that_end_in_a_stray_cancellation_fail_the_run(lab: Lab):
    async def instruct(run: Run, profile: Profile) -> str:
        raise asyncio.CancelledError

    run = await answer(await lab.engine(instruct=instruct))
    assert run.ending and "could not be made (CancelledError)" in run.ending.message


async def stray(request: ModelRequest) -> Answer:
    raise asyncio.CancelledError


@pytest.mark.parametrize("steps", [(stray,), (reply(SURROGATE), reply(SURROGATE))], ids=["cancelled", "unwritable"])
async def test_a_summary_that_cannot_be_had_is_done_without(lab: Lab, steps: tuple[Step, ...]):
    long = "a long story, " * 50
    profile = Profile(limits=Limits(compress_at=10))
    engine = await lab.engine(reply(long), *steps, reply("Done."), profile=profile)
    first = await answer(engine)
    assert (await answer(engine, long, thread_id=first.thread_id)).text == "Done."
    lab.model.assert_exhausted()


async def test_an_approval_for_a_tool_that_cannot_describe_its_call_any_more_is_taken_and_nothing_runs(lab: Lab):
    class Forgetful(FakeTool):
        forgot = False

        def subjects(self, args: Args) -> frozenset[str]:
            if self.forgot:
                raise KeyError("to")
            return frozenset({"bob"})

    tool = Forgetful("send", side_effect=True)
    engine = await lab.engine(call("send"), reply("Not sent."), tools=[tool])
    run = await answer(engine)
    tool.forgot = True
    with pytest.raises(Misfit, match="nothing ran"):
        await approve(engine, run)
    run = await settle(engine, run)
    assert (run.text, run.done[0].outcome and run.done[0].outcome.code, tool.ran) == ("Not sent.", "policy_changed", [])


# What a model may say.


@pytest.mark.parametrize(
    "step",
    [reply(f"half {SURROGATE}"), call("look", {"a": SURROGATE}), call(f"look{SURROGATE}")],
    ids=["text", "arguments", "name"],
)
async def test_half_a_character_from_the_model_ends_the_run_or_is_refused_at_once(lab: Lab, step: Step):
    look = FakeTool()
    run = await answer(await lab.engine(step, reply("Well."), tools=[look]))
    assert not run.is_open
    assert look.ran == []


async def test_an_answer_with_too_many_calls_is_refused_as_a_whole(lab: Lab):
    look = FakeTool()
    run = await answer(await lab.engine(calls(*[("look", NOTHING)] * (MAX_CALLS + 1)), tools=[look]))
    assert run.ending and run.ending.code == "model_error"
    assert f"at most {MAX_CALLS}" in run.ending.message
    assert look.ran == []


# What people and doors may ask.


async def test_an_answer_that_is_neither_yes_nor_no_is_refused_and_the_question_stays(lab: Lab):
    engine = await lab.engine(call("send_mail", TO_BOB), reply("Sent."), tools=[mail()])
    run = await answer(engine)
    with pytest.raises(ValidationError, match="expected decision to be 'approved' or 'rejected', found 'maybe'"):
        await engine.resolve(question(run).id, cast("Any", "maybe"), by=ADA)
    with pytest.raises(ValidationError, match="expected scope"):
        await engine.resolve(question(run).id, "approved", scope=cast("Any", "for ever"), by=ADA)
    assert (await approve(engine, run)).text == "Sent."


async def test_a_run_id_that_its_approvals_would_not_lead_back_to_is_refused(lab: Lab):
    engine = await lab.engine()
    with pytest.raises(ValidationError, match="begins with 'run_'"):
        await ask(engine, run_id=RunId("mine"))


async def test_nobody_becomes_the_child_of_somebody_else_s_run_or_waits_for_it(lab: Lab):
    engine = await lab.engine(call("send_mail", TO_BOB), tools=[mail()])
    run = await answer(engine)
    with pytest.raises(NotFound):
        await engine.start(Start("mine", user=BOB, parent=Parent(run.id, run.open[0].id, run.id)))
    with pytest.raises(NotFound):
        await engine.wait_settled(run.id, user=BOB)


async def test_edited_arguments_for_a_tool_that_is_gone_are_refused_in_words(lab: Lab):
    before = await lab.engine(call("send_mail", TO_BOB), tools=[mail()])
    run = await answer(before)
    await before.close()
    after = await lab.engine()
    with pytest.raises(ValidationError, match="there is no tool 'send_mail' any more"):
        await after.edit(question(run).id, TO_BOB, by=ADA)


async def test_ids_that_are_no_text_are_unknown_or_invalid_on_every_store(lab: Lab):
    engine = await lab.engine()
    for asked in (
        engine.queries.run(RunId(SURROGATE)),
        engine.queries.thread(ThreadId(SURROGATE)),
        engine.resolve(f"apr_{SURROGATE}_1.0", "approved", by=ADA),
        engine.cancel(RunId(SURROGATE), by=ADA),
    ):
        with pytest.raises((NotFound, ValidationError)):
            await asked


async def test_an_engine_that_was_never_opened_says_so_and_can_be_closed(lab: Lab):
    engine = Engine(store=lab.store(), providers=lambda model: lab.model, dispatcher=LocalDispatcher(lab.clock))
    with pytest.raises(ValidationError, match="async with"):
        await engine.start(Start("hi", user=ADA))
    await engine.close()
    with pytest.raises(PolluxError):
        await ask(engine)


# Watching, waiting and coming back.


async def test_whoever_has_seen_the_end_waits_for_nothing_more(lab: Lab):
    engine = await lab.engine(reply("Hi."))
    run = await answer(engine)
    assert await watched(engine, run, after=run.version) == []
    assert await watched(engine, run, after=run.version + 100) == []


async def test_whoever_claims_to_have_seen_more_than_there_is_still_hears_of_the_end(lab: Lab):
    slow = HeldTool()
    engine = await lab.engine(call("slow"), reply("Hi."), tools=[slow])
    run = await ask(engine)
    async with asyncio.timeout(HANG_SECONDS):
        await slow.began.wait()
    watching = asyncio.ensure_future(watched(engine, run, after=10_000))
    await seated(engine, 1)
    slow.let_go.set()
    assert len(await watching) > 0


async def test_a_question_runs_out_in_time_beside_a_slow_tool(lab: Lab):
    slow = HeldTool()
    profile = Profile(tools=("slow", "send_mail"), limits=Limits(approval_seconds=300))
    steps = (calls(("slow", {}), ("send_mail", TO_BOB)), reply("Too late."))
    engine = await lab.engine(*steps, tools=[slow, mail()], profile=profile)
    run = await ask(engine)
    async with asyncio.timeout(HANG_SECONDS):
        await slow.began.wait()
    lab.clock.advance(301)
    run = await until(engine, run, lambda now: now.open and not now.approvals)
    assert [action.status for action in run.open] == ["executing", "rejected"]
    slow.let_go.set()
    assert (await settle(engine, run)).text == "Too late."


async def test_a_child_whose_thread_was_erased_keeps_nobody_from_being_recovered(lab: Lab):
    engines: list[Engine] = []

    async def body(context: ToolContext, args: Args) -> object:
        parent = Parent(context.run_id, context.action_id, context.run_id)
        return await engines[0].start(Start("a part", user=context.user, parent=parent, run_id=RunId("run_child")))

    delegate, slow = FakeTool("delegate", body=body, where="child", repeat="keyed"), HeldTool(repeat="repeatable")
    engines.append(await lab.engine(call("delegate"), reply("A part."), call("slow"), tools=[delegate, slow]))
    run = await ask(engines[0])
    async with asyncio.timeout(HANG_SECONDS):
        await slow.began.wait()
    child = await engines[0].queries.run(RunId("run_child"))
    await engines[0].threads.erase(child.thread_id, ADA, by=ADA)
    await engines[0].close()
    after = await lab.engine(reply("Whole."), tools=[delegate, FakeTool("slow")])
    assert await after.recover() == 1
    assert (await settle(after, run)).text == "Whole."


async def test_answered_questions_can_be_listed_after_one_of_them_was_erased(lab: Lab):
    steps = (call("send_mail", TO_BOB), reply("Sent."), call("send_mail", TO_BOB), reply("Sent."))
    engine = await lab.engine(*steps, tools=[mail()])
    erased = await approve(engine, await answer(engine))
    kept = await approve(engine, await answer(engine))
    await engine.threads.erase(erased.thread_id, ADA, by=ADA)
    assert [found.run.id for found in await engine.queries.approvals(ADA, status=None)] == [kept.id]


async def test_a_page_of_questions_is_full_as_long_as_there_are_more(lab: Lab):
    steps = [step for _ in range(5) for step in (call("send_mail", TO_BOB), reply("Sent."))]
    engine = await lab.engine(*steps, tools=[mail()])
    answered = [await approve(engine, await answer(engine)) for _ in range(5)]
    listed = [found.run for found in await engine.queries.approvals(ADA, status=None)]
    assert len(listed) == len(answered)
    # The newest are passed over, and a door that gets fewer than it asked for says that there are no more.
    for run in listed[:3]:
        await engine.threads.erase(run.thread_id, ADA, by=ADA)
    found = await engine.queries.approvals(ADA, status=None, limit=2)
    assert [question.run.id for question in found] == [run.id for run in listed[3:]]
