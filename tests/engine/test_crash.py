"""A process that dies at any commit, before or after it is written: nothing repeated, nothing lost, nothing stuck."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any, cast

import pytest
from tests.engine.builders import (
    ADA,
    TO_BOB,
    FakeTool,
    FaultyStore,
    HeldTool,
    Lab,
    approve,
    ask,
    journal,
    kinds,
    mail,
    question,
    settle,
    store_of,
    until,
)
from tests.waiting import HANG_SECONDS
from tests.waiting import until as wait_until

from pollux.core.events import ActionCompleted, ActionStarted, RunClaimed
from pollux.core.ids import RunId
from pollux.core.machine import fold
from pollux.core.messages import JSON
from pollux.core.run import Parent, Run
from pollux.core.tools import Reconciled, ToolContext
from pollux.engine.engine import Engine, Start
from pollux.engine.model import ModelEvent, ModelRequest
from pollux.engine.ports import Change
from pollux.providers.scripted import ScriptedProvider, Step, call, calls, reply

COMMITS = 6
"""More than the run below needs when nothing happens to it."""


class Outbox(FakeTool):
    """Sends, and remembers by key what it has sent, as a provider that takes our key would."""

    def __init__(self, repeat: str) -> None:
        super().__init__("send_mail", "sent", schema=mail().spec.input_schema, side_effect=True, repeat=repeat)

    @property
    def sent(self) -> set[str]:
        return {key for key, _ in self.ran}

    async def reconcile(self, context: ToolContext, args: dict[str, JSON]) -> Reconciled:
        self.looked += 1
        return Reconciled("done", "found") if context.key in self.sent else Reconciled("not_done")


@pytest.mark.parametrize("writes_the_last", [True, False], ids=["after", "before"])
@pytest.mark.parametrize("repeat", ["repeatable", "keyed", "checkable", "once"])
async def test_a_death_at_any_commit_repeats_and_loses_nothing(lab: Lab, repeat: str, writes_the_last: bool):
    for number in range(1, COMMITS + 1):
        tool = Outbox(repeat)
        store = lab.faulty()
        store.dies_at, store.writes_the_last = number, writes_the_last
        run_id = await _live(lab, store, tool)
        if run_id is None:
            continue
        engine = await lab.engine(provider=Replayed(), tools=[tool])
        await engine.recover()
        run = await _see_through(engine, run_id)
        _is_honest(run, tool)
        assert fold(await journal(engine, run_id)) == run
        await engine.close()


def _is_honest(run: Run, tool: Outbox) -> None:
    """The run ended, sent at most once unless that is harmless, and says so if it does not know."""
    (action,) = run.actions
    outcome = action.outcome
    assert not run.is_open and outcome is not None
    if outcome.status == "completed":
        assert run.status == "completed" and len(tool.sent) == 1
    else:
        assert (action.repeat, outcome.code, run.status) == ("once", "outcome_unknown", "failed")
    assert len(tool.sent) <= 1
    if action.repeat in ("checkable", "once"):
        assert len(tool.ran) <= 1


class Replayed(ScriptedProvider):
    """Sends a mail as the first thing in a thread, then says so: what it says depends on what it is told alone."""

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        answered = any(message.role == "tool" for message in request.turns)
        self._steps = (reply("Sent.") if answered else call("send_mail", TO_BOB),)
        self.requests.clear()
        async for event in super().stream(request):
            yield event


async def _live(lab: Lab, store: FaultyStore, tool: FakeTool) -> RunId | None:
    """One process's life, until it dies at its commit or has nothing left to do. The run, if it was ever written."""
    engine = await lab.engine(provider=Replayed(), tools=[tool], store=store)
    life = asyncio.create_task(_ask_and_approve(engine))
    death = asyncio.create_task(store.died.wait())
    async with asyncio.timeout(HANG_SECONDS):
        await asyncio.wait({life, death}, return_when=asyncio.FIRST_COMPLETED)
    await engine.close()
    death.cancel()
    life.cancel()
    await asyncio.gather(life, death, return_exceptions=True)
    check = await lab.engine()
    rows = await check.queries.runs(ADA, limit=1)
    written = rows[0].run_id if rows and rows[0].status != "completed" else None
    await check.close()
    return written


async def _ask_and_approve(engine: Engine) -> None:
    run = await ask(engine, "send it")
    asked = await until(engine, run, lambda now: now.approvals)
    await engine.resolve(question(asked).id, "approved", by=ADA)
    await until(engine, run, lambda now: now.ending)


async def _see_through(engine: Engine, run_id: RunId) -> Run:
    """The run to its end, with a person who says yes where they are asked."""
    run = await settle(engine, run_id)
    return await approve(engine, run) if run.approvals else run


@pytest.mark.parametrize("writes_the_last", [True, False], ids=["after", "before"])
async def test_a_child_s_end_reaches_its_parent_whenever_the_process_dies(lab: Lab, writes_the_last: bool):
    for number in range(3, 8):
        store = lab.faulty()
        store.dies_at, store.writes_the_last = number, writes_the_last
        name = RunId(f"run_child{number}")
        before = await _delegating(lab, name, store)
        run = await ask(before)
        async with asyncio.timeout(HANG_SECONDS):
            await store.died.wait()
        await before.close()
        after = await _delegating(lab, name)
        await after.recover()
        run = await until(after, run, lambda now: now.ending)
        assert (run.status, run.text) == ("completed", "The whole.")
        await after.close()


async def _delegating(lab: Lab, name: RunId, store: FaultyStore | None = None) -> Engine:
    engines: list[Engine] = []

    async def body(context: ToolContext, args: dict[str, JSON]) -> object:
        if await store_of(engines[0]).run(name) is None:
            parent = Parent(context.run_id, context.action_id, context.run_id)
            await engines[0].start(Start("a part", user=context.user, parent=parent, run_id=name))
        return None

    class Delegates(ScriptedProvider):
        async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
            told = list(request.turns)
            step = reply("The part.") if told[0].text == "a part" else call("delegate")
            self._steps = (reply("The whole.") if told[-1].role == "tool" else step,)
            self.requests.clear()
            async for event in super().stream(request):
                yield event

    delegate = FakeTool("delegate", body=body, where="child", repeat="keyed")
    engines.append(await lab.engine(provider=Delegates(), tools=[delegate], store=store))
    return engines[0]


async def test_a_run_that_was_being_cancelled_when_its_process_died_is_ended(lab: Lab):
    slow = HeldTool(repeat="once", stubborn=True)
    before = await lab.engine(call("slow"), tools=[slow])
    run = await ask(before)
    async with asyncio.timeout(HANG_SECONDS):
        await slow.began.wait()
    await before.cancel(run.id, by=ADA)
    await before.close()
    after = await lab.engine(tools=[slow])
    assert await after.recover() == 1
    run = await settle(after, run)
    assert (run.status, run.actions[0].outcome and run.actions[0].outcome.code) == ("cancelled", "outcome_unknown")
    slow.let_go.set()
    assert slow.task
    async with asyncio.timeout(HANG_SECONDS):
        await asyncio.wait({slow.task})


async def test_a_run_whose_process_died_can_be_cancelled_before_anybody_recovers_it(lab: Lab):
    slow = HeldTool(repeat="repeatable")
    before = await lab.engine(call("slow"), tools=[slow])
    run = await ask(before)
    async with asyncio.timeout(HANG_SECONDS):
        await slow.began.wait()
    await before.close()
    after = await lab.engine(tools=[slow])
    await after.cancel(run.id, by=ADA)
    run = await settle(after, run)
    assert (run.status, run.actions[0].outcome and run.actions[0].outcome.code) == ("cancelled", "cancelled")


async def test_approvals_survive_and_are_answered_elsewhere(lab: Lab):
    tool = mail()
    before = await lab.engine(call("send_mail", TO_BOB), tools=[tool])
    run = await settle(before, await ask(before))
    await before.close()
    after = await lab.engine(reply("Sent."), tools=[tool])
    assert await after.recover() == 0
    run = await approve(after, run)
    assert (run.text, len(tool.ran), run.epoch) == ("Sent.", 1, 2)


async def test_a_recovery_leaves_the_living_alone(lab: Lab):
    slow = HeldTool()
    engine = await lab.engine(call("slow"), reply("Done."), tools=[slow])
    run = await ask(engine)
    async with asyncio.timeout(HANG_SECONDS):
        await slow.began.wait()
    assert await engine.recover() == 0
    other = await lab.engine(tools=[slow])
    assert await other.recover() == 0
    slow.let_go.set()
    run = await settle(engine, run)
    assert (run.text, len(slow.ran), (await kinds(engine, run)).count("RunClaimed")) == ("Done.", 1, 1)


async def test_a_time_that_came_while_nobody_lived_is_told_at_recovery(lab: Lab):
    before = await lab.engine(call("send_mail", TO_BOB), tools=[mail()])
    run = await settle(before, await ask(before))
    await before.close()
    lab.clock.advance(48 * 3600)
    after = await lab.engine(reply("Too late."), tools=[mail()])
    assert await after.recover() == 1
    assert (await settle(after, run)).text == "Too late."


async def test_a_result_is_not_lost_to_another_writer_s_fact(lab: Lab):
    slow = HeldTool(repeat="once")
    both = calls(("slow", {}), ("send_mail", TO_BOB))
    store = lab.faulty()
    one = await lab.engine(both, reply("Both."), tools=[slow, mail()], store=store)
    run = await ask(one)
    async with asyncio.timeout(HANG_SECONDS):
        await slow.began.wait()
    other = await lab.engine(tools=[slow, mail()])
    asked = await other.queries.run(run.id)

    async def other_is_faster(change: Change) -> None:
        if any(isinstance(event, ActionCompleted) for event in change.events):
            store.before_commit = None
            await other.resolve(question(asked).id, "approved", by=ADA)

    store.before_commit = other_is_faster
    slow.let_go.set()
    run = await until(one, run, lambda now: now.ending)
    assert (run.text, len(slow.ran)) == ("Both.", 1)
    assert [action.status for action in run.actions] == ["completed", "completed"]


async def taken_over(lab: Lab, slow: HeldTool, *steps: Step, store: FaultyStore | None = None) -> tuple[Engine, Run]:
    """A run whose driver sleeps while another takes it for dead: the new engine, and the run."""
    one = await lab.engine(call("slow"), *steps, tools=[slow], store=store)
    run = await ask(one)
    async with asyncio.timeout(HANG_SECONDS):
        await slow.began.wait()
    other = await lab.engine(reply("From the other."), tools=[slow])

    async def nobody(driver: str) -> bool:
        return False

    cast("Any", store_of(other)).is_alive = nobody
    assert await other.recover() == 1
    return other, run


async def test_a_late_true_result_of_an_older_driver_is_accepted(lab: Lab):
    slow = HeldTool(repeat="once")
    other, run = await taken_over(lab, slow)
    run = await settle(other, run)
    assert run.ending and run.ending.code == "outcome_unknown"
    slow.let_go.set()
    told = await wait_until(lambda: _completed(other, run.id))
    assert told and (told.status, len(slow.ran)) == ("failed", 1)


async def _completed(engine: Engine, run_id: RunId) -> Run | None:
    """The run, once its first action is."""
    run = await engine.queries.run(run_id)
    return run if run.actions[0].status == "completed" else None


async def test_a_driver_that_was_taken_for_dead_starts_nothing_more(lab: Lab):
    slow = HeldTool(repeat="keyed")
    other, run = await taken_over(lab, slow, reply("From the one."))
    slow.let_go.set()
    run = await until(other, run, lambda now: now.ending)
    facts = await journal(other, run)
    claims = [fact.driver for fact in facts if isinstance(fact, RunClaimed)]
    starts = [(fact.epoch, fact.attempt) for fact in facts if isinstance(fact, ActionStarted)]
    assert (len(set(claims)), starts, run.text) == (2, [(1, 1), (2, 2)], "From the other.")
    assert len({key for key, _ in slow.ran}) == 1
