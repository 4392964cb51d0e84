"""Cancel, in every phase: what is in flight is stopped, ends in a fact, and only then the run is over."""

import asyncio
import threading

import pytest
from tests.engine.builders import (
    ADA,
    TO_BOB,
    FakeTool,
    HeldTool,
    Lab,
    answer,
    ask,
    journal,
    kinds,
    mail,
    question,
    sent,
    settle,
    until,
)
from tests.waiting import HANG_SECONDS

from pollux.core.errors import Misfit
from pollux.core.events import ActionCompleted
from pollux.core.ids import RunId
from pollux.core.messages import JSON
from pollux.core.profile import Limits, Profile
from pollux.core.run import Parent, Run
from pollux.core.tools import Reconciled, ToolContext, ToolSpec
from pollux.engine.engine import Engine, Start
from pollux.engine.model import ModelRequest
from pollux.providers.scripted import Answer, call, calls, fail, reply
from pollux.tools.define import FunctionTool

SEND = call("send_mail", TO_BOB)


async def cancelled(engine: Engine, run: Run) -> Run:
    await engine.cancel(run.id, by=ADA, user=ADA)
    return await settle(engine, run)


async def begun(engine: Engine, *tools: HeldTool) -> Run:
    """A run whose tools are all in flight."""
    run = await ask(engine)
    async with asyncio.timeout(HANG_SECONDS):
        for tool in tools:
            await tool.began.wait()
    return run


def codes(run: Run) -> list[str]:
    return [action.outcome.code if action.outcome else "" for action in run.actions]


async def test_while_the_model_speaks(lab: Lab):
    asked, stopped = asyncio.Event(), asyncio.Event()

    async def endless(request: ModelRequest) -> Answer:
        asked.set()
        try:
            return await asyncio.get_running_loop().create_future()
        finally:
            stopped.set()

    engine = await lab.engine(endless, reply("The next."))
    run = await ask(engine, live=True)
    async with asyncio.timeout(HANG_SECONDS):
        await asked.wait()
        run = await cancelled(engine, run)
        await stopped.wait()
    assert (run.status, (await kinds(engine, run))[-2:]) == ("cancelled", ["CancelRequested", "RunCancelled"])
    assert (await answer(engine, thread_id=run.thread_id)).text == "The next."


async def test_while_a_tool_runs_that_listens(lab: Lab):
    slow = HeldTool(repeat="repeatable")
    engine = await lab.engine(call("slow"), reply("The next."), tools=[slow])
    run = await cancelled(engine, await begun(engine, slow))
    assert (run.status, codes(run), slow.stops) == ("cancelled", ["cancelled"], 1)
    await answer(engine, "go on", thread_id=run.thread_id)
    assert sent(lab.model)[1:] == [
        "assistant: slow()",
        "tool: {'error': 'the run was cancelled while this ran'}",
        "user: go on",
    ]


@pytest.mark.parametrize("repeat", ["once", "keyed"])
async def test_what_was_stopped_midway_may_have_happened(lab: Lab, repeat: str):
    slow = HeldTool(repeat=repeat)
    engine = await lab.engine(call("slow"), tools=[slow])
    run = await cancelled(engine, await begun(engine, slow))
    assert (run.status, codes(run)) == ("cancelled", ["outcome_unknown"])


@pytest.mark.parametrize(("outcome", "code"), [("done", ""), ("not_done", "cancelled"), ("unknown", "outcome_unknown")])
async def test_a_tool_that_can_look_says_what_became_of_it(lab: Lab, outcome: str, code: str):
    found = Reconciled(outcome, "sent after all")  # pyright: ignore[reportArgumentType]
    slow = HeldTool(repeat="checkable", found=found)
    engine = await lab.engine(call("slow"), tools=[slow])
    run = await cancelled(engine, await begun(engine, slow))
    assert (run.status, codes(run), slow.looked) == ("cancelled", [code], 1)


async def test_a_look_that_fails_leaves_the_outcome_unknown(lab: Lab):
    slow = HeldTool(repeat="checkable")
    engine = await lab.engine(call("slow"), tools=[slow])
    run = await cancelled(engine, await begun(engine, slow))
    assert codes(run) == ["outcome_unknown"]


async def test_a_tool_that_does_not_listen_is_abandoned_and_its_late_result_recorded(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("pollux.engine.driver.STOP_SECONDS", 0.01)
    slow = HeldTool(stubborn=True, repeat="once")
    engine = await lab.engine(call("slow"), reply("The next."), tools=[slow])
    run = await cancelled(engine, await begun(engine, slow))
    assert (run.status, codes(run)) == ("cancelled", ["outcome_unknown"])
    assert (await answer(engine, thread_id=run.thread_id)).text == "The next."
    slow.let_go.set()
    async with asyncio.timeout(HANG_SECONDS):
        while codes(run := await engine.queries.run(run.id)) != [""]:
            await asyncio.sleep(0)
    assert (run.status, run.actions[0].status) == ("cancelled", "completed")
    assert isinstance((await journal(engine, run))[-1], ActionCompleted)


async def test_a_function_in_a_thread_is_abandoned_and_its_late_result_recorded(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("pollux.engine.driver.STOP_SECONDS", 0.01)
    began, let_go = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    def work(context: ToolContext, args: dict[str, JSON]) -> str:
        loop.call_soon_threadsafe(began.set)
        let_go.wait(10 * HANG_SECONDS)
        return "late"

    slow = FunctionTool(ToolSpec("slow", "Slow.", {"type": "object"}, repeat="once"), work)
    engine = await lab.engine(call("slow"), tools=[slow])
    run = await ask(engine)
    async with asyncio.timeout(HANG_SECONDS):
        await began.wait()
    try:
        run = await cancelled(engine, run)
    finally:
        let_go.set()
    assert codes(run) == ["outcome_unknown"]
    async with asyncio.timeout(HANG_SECONDS):
        while codes(run := await engine.queries.run(run.id)) != [""]:
            await asyncio.sleep(0)
    assert run.actions[0].outcome is not None
    assert run.actions[0].outcome.result == "late"


async def test_an_abandoned_tool_does_not_keep_the_engine_open(lab: Lab, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("pollux.engine.driver.STOP_SECONDS", 0.01)
    before = asyncio.all_tasks()
    slow = HeldTool(stubborn=True, repeat="once")
    engine = await lab.engine(call("slow"), tools=[slow])
    await cancelled(engine, await begun(engine, slow))
    async with asyncio.timeout(HANG_SECONDS):
        await engine.close()
    # It went on all the time.
    assert slow.task and not slow.task.done()
    slow.let_go.set()
    async with asyncio.timeout(HANG_SECONDS):
        while asyncio.all_tasks() - before:
            await asyncio.sleep(0)


async def test_while_a_person_is_asked_the_question_is_withdrawn(lab: Lab):
    tool = mail()
    engine = await lab.engine(SEND, reply("The next."), tools=[tool])
    asked = await answer(engine)
    run = await cancelled(engine, asked)
    assert (run.status, codes(run), tool.ran) == ("cancelled", ["cancelled"], [])
    with pytest.raises(Misfit) as refused:
        await engine.resolve(question(asked).id, "approved", by=ADA)
    assert refused.value.code == "withdrawn"
    assert await engine.queries.approvals(ADA) == []
    assert (await answer(engine, thread_id=run.thread_id)).text == "The next."


async def test_while_a_retry_is_waited_for(lab: Lab):
    engine = await lab.engine(fail("server", retry_after=20), reply("The next."))
    run = await cancelled(engine, await answer(engine))
    assert (run.status, run.retry_at) == ("cancelled", None)
    lab.clock.advance(20)
    assert (await answer(engine, thread_id=run.thread_id)).text == "The next."


async def test_while_a_page_is_asked(lab: Lab):
    engine = await lab.engine(call("click"), tools=[FakeTool("click", where="page")])
    run = await cancelled(engine, await answer(engine))
    assert (run.status, codes(run)) == ("cancelled", ["cancelled"])


async def test_with_one_tool_running_and_another_waiting(lab: Lab):
    slow, after = HeldTool(parallel=False), FakeTool("after")
    engine = await lab.engine(calls(("slow", {}), ("after", {})), tools=[slow, after])
    run = await cancelled(engine, await begun(engine, slow))
    assert (codes(run), after.ran) == (["cancelled", "cancelled"], [])


async def test_a_tool_that_ends_while_the_cancel_is_being_written_keeps_its_result(lab: Lab):
    slow, store = HeldTool(repeat="once"), lab.faulty()
    engine = await lab.engine(call("slow"), tools=[slow], store=store)
    run = await begun(engine, slow)

    async def let_it_end(change: object) -> None:
        store.before_commit = None
        slow.let_go.set()
        for _ in range(5):
            await asyncio.sleep(0)

    store.before_commit = let_it_end
    run = await cancelled(engine, run)
    assert (run.status, codes(run), run.actions[0].status) == ("cancelled", [""], "completed")


# On PostgreSQL, whoever cancels first asks what others wrote: by then the run may have ended.
@pytest.mark.parametrize("kind", ["memory", "sqlite"])
async def test_in_the_very_moment_a_tool_is_about_to_start(lab: Lab):
    tool, store = FakeTool(repeat="once"), lab.faulty()
    engine = await lab.engine(call("look"), tools=[tool], store=store)
    requests: list[asyncio.Task[Run]] = []

    async def cancel_next(change: object) -> None:
        if "ActionStarted" in str(change) and not requests:
            # It waits for the lock, and is the next to go on when this commit is done.
            requests.append(asyncio.ensure_future(engine.cancel(RunId("run_1"), by=ADA)))
            for _ in range(5):
                await asyncio.sleep(0)

    store.before_commit = cancel_next
    run = await ask(engine)
    run = await until(engine, run, lambda now: now.ending)
    await requests[0]
    assert run.status == "cancelled"
    assert len(tool.ran) <= 1
    assert codes(run) in ([""], ["outcome_unknown"], ["cancelled"])


async def test_a_second_cancel_is_refused(lab: Lab):
    engine = await lab.engine(SEND, tools=[mail()])
    run = await cancelled(engine, await answer(engine))
    with pytest.raises(Misfit) as refused:
        await engine.cancel(run.id, by=ADA)
    assert refused.value.code == "run_ended"


async def test_children_are_cancelled_with_their_parent(lab: Lab):
    engines: list[Engine] = []

    async def body(context: ToolContext, args: dict[str, JSON]) -> object:
        parent = Parent(context.run_id, context.action_id, context.run_id)
        await engines[0].start(Start("a part", user=context.user, parent=parent, run_id=RunId("run_child")))
        return None

    delegate = FakeTool("delegate", body=body, where="child", repeat="keyed")
    slow = HeldTool()
    engines.append(await lab.engine(call("delegate"), call("slow"), tools=[delegate, slow]))
    run = await begun(engines[0], slow)
    await until(engines[0], run, lambda now: now.actions[0].handed_over)
    run = await cancelled(engines[0], run)
    child = await settle(engines[0], RunId("run_child"))
    assert (run.status, child.status, child.cancel and child.cancel.reason) == ("cancelled", "cancelled", "parent")
    assert slow.stops == 1


async def test_an_outcome_nobody_knows_is_settled_by_a_person_once(lab: Lab):
    slow = HeldTool(repeat="once", side_effect=True, default_approval="not_required")
    engine = await lab.engine(call("slow"), tools=[slow])
    run = await cancelled(engine, await begun(engine, slow))
    run = await engine.settle(run.actions[0].id, "done", by=ADA, user=ADA)
    assert (run.status, run.actions[0].status) == ("cancelled", "completed")
    with pytest.raises(Misfit) as refused:
        await engine.settle(run.actions[0].id, "not_done", by=ADA)
    assert refused.value.code == "already_resolved"
    audit = await engine.queries.audit()
    assert [entry.kind for entry in audit] == ["decided", "started", "failed", "settled"]


async def test_a_run_out_of_time_withdraws_its_questions(lab: Lab):
    tool = mail()
    profile = Profile(tools=("send_mail",), limits=Limits(seconds=60))
    engine = await lab.engine(SEND, tools=[tool], profile=profile)
    run = await answer(engine)
    lab.clock.advance(60)
    run = await until(engine, run, lambda now: now.ending)
    assert (run.status, run.ending and run.ending.code, codes(run)) == ("failed", "timeout", ["cancelled"])
    assert [entry.kind for entry in await engine.queries.audit()] == ["decided", "failed"]
