"""Corners: answers that do not fit, moments between two steps, runs that are driven elsewhere."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence

import pytest
from tests.engine.builders import (
    ADA,
    TO_BOB,
    FakeTool,
    HeldTool,
    Lab,
    answer,
    ask,
    kinds,
    mail,
    question,
    settle,
    until,
)
from tests.waiting import HANG_SECONDS, POLL_SECONDS

from pollux.core.errors import NotFound
from pollux.core.events import CancelRequested, Event
from pollux.core.ids import Instant, RunId
from pollux.core.messages import JSON, Message, ToolCall
from pollux.core.profile import Profile
from pollux.core.run import Parent, Run
from pollux.core.tools import ToolContext
from pollux.engine.engine import Engine, Start
from pollux.engine.model import Done, ModelEvent, ModelRequest, Provider
from pollux.engine.ports import Change, Drivers
from pollux.providers.scripted import ScriptedProvider, call, reply


async def test_an_answer_whose_calls_cannot_be_told_apart_fails_the_run(lab: Lab):
    class Twin(ScriptedProvider):
        async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
            twice = (ToolCall("same", "look", {}), ToolCall("same", "look", {}))
            yield Done("tool_calls", Message("assistant", twice))

    look = FakeTool()
    engine = await lab.engine(provider=Twin(), tools=[look])
    run = await answer(engine)
    assert (run.ending and run.ending.code, look.ran) == ("model_error", [])


async def test_a_request_that_cannot_be_made_fails_the_run(lab: Lab):
    def providers(model: str) -> Provider:
        raise KeyError("no such hub")

    run = await answer(await lab.engine(providers=providers))
    assert run.ending and "could not be made (KeyError)" in run.ending.message


async def test_an_unknown_model_fails_the_run_in_the_provider_s_words(lab: Lab):
    def providers(model: str) -> Provider:
        raise NotFound("there is no model 'm'; did you mean 'n'?")

    run = await answer(await lab.engine(providers=providers))
    assert run.ending and run.ending.message == "there is no model 'm'; did you mean 'n'?"


# On PostgreSQL, whoever cancels first asks what others wrote: by then the tool has taken its step.
@pytest.mark.parametrize("kind", ["memory", "sqlite"])
async def test_a_tool_stopped_before_its_first_step_still_ends_in_a_fact(lab: Lab):
    tool, store = FakeTool(repeat="repeatable"), lab.faulty()
    engine = await lab.engine(call("look"), tools=[tool], store=store)
    crew = vars(engine)["_crew"]
    stops: list[asyncio.Task[Run]] = []

    async def facts(run: Run) -> Sequence[Event]:
        return [CancelRequested(by=ADA, at=lab.clock.now())]

    async def cancel_between(change: Change) -> None:
        if any(type(event).__name__ == "ActionStarted" for event in change.events):
            # It takes its turn right after this commit, before the tool takes its first step.
            stops.append(asyncio.ensure_future(crew.tell(RunId("run_1"), facts)))

    store.after_commit = cancel_between
    run = await ask(engine)
    run = await until(engine, run, lambda now: now.ending)
    await stops[0]
    assert run.status == "cancelled"
    assert (await kinds(engine, run))[-1] == "RunCancelled"


class Elsewhere:
    """A dispatcher of a process that drives nothing itself."""

    drives_here = False

    def __init__(self) -> None:
        self.woken: list[RunId] = []

    async def open(self, profiles: Mapping[str, Profile]) -> None:
        """Nothing to be made."""

    def stop(self) -> None:
        """Nothing is brought here."""

    async def serve(self, drivers: Drivers) -> None:
        await asyncio.get_running_loop().create_future()

    def wake(self, run_id: RunId) -> None:
        self.woken.append(run_id)

    def wake_at(self, run_id: RunId, moment: Instant) -> None:
        """Somebody else's clock."""


async def test_a_run_may_be_accepted_here_and_driven_elsewhere(lab: Lab):
    tool, dispatcher = mail(), Elsewhere()
    here = await lab.engine(tools=[tool], dispatcher=dispatcher)
    run = await ask(here)
    assert (run.status, dispatcher.woken) == ("queued", [run.id])
    there = await lab.engine(call("send_mail", TO_BOB), reply("Sent."), tools=[tool])
    assert await there.recover() == 1
    asked = await settle(there, run)
    await here.resolve(question(asked).id, "approved", by=ADA)
    assert dispatcher.woken == [run.id, run.id]
    assert tool.ran == []


async def test_a_dispatcher_brings_wakes_to_its_drivers(lab: Lab):
    accepting = await lab.engine(dispatcher=Elsewhere())
    run = await ask(accepting)
    driving = await lab.engine(reply("Driven."))
    vars(driving)["_dispatcher"].wake(run.id)
    async with asyncio.timeout(HANG_SECONDS):
        while (run := await driving.queries.run(run.id)).is_open:
            await asyncio.sleep(POLL_SECONDS)
    assert run.text == "Driven."


async def test_a_parent_is_cancelled_whose_child_has_ended(lab: Lab):
    engines: list[Engine] = []

    async def body(context: ToolContext, args: dict[str, JSON]) -> object:
        parent = Parent(context.run_id, context.action_id, context.run_id)
        await engines[0].start(Start("a part", user=context.user, parent=parent, run_id=RunId("run_child")))
        return None

    delegate = FakeTool("delegate", body=body, where="child", repeat="keyed")
    steps = (call("delegate"), reply("The part."), call("send_mail", TO_BOB))
    engines.append(await lab.engine(*steps, tools=[delegate, mail()]))
    run = await until(engines[0], await ask(engines[0]), lambda now: now.approvals)
    run = await engines[0].cancel(run.id, by=ADA)
    child = await engines[0].queries.run(RunId("run_child"))
    assert (run.status, child.status) == ("cancelled", "completed")


async def test_a_run_that_ends_while_it_is_superseded_makes_room(lab: Lab):
    slow = HeldTool()
    engine = await lab.engine(call("slow"), reply("New."), tools=[slow])
    old = await ask(engine)
    async with asyncio.timeout(HANG_SECONDS):
        await slow.began.wait()
    await engine.cancel(old.id, by=ADA)
    new = await answer(engine, thread_id=old.thread_id, supersede=True)
    assert new.text == "New."


async def test_a_tool_that_is_gone_when_its_interrupted_call_is_taken_up_is_not_looked_up(lab: Lab):
    slow = HeldTool(repeat="checkable")
    before = await lab.engine(call("slow"), tools=[slow])
    run = await ask(before)
    async with asyncio.timeout(HANG_SECONDS):
        await slow.began.wait()
    await before.close()
    after = await lab.engine(profile=Profile())
    assert await after.recover() == 1
    run = await settle(after, run)
    assert run.ending and run.ending.code == "outcome_unknown"
