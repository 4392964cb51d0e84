"""What every dispatcher must do, as tests. A new dispatcher is one class and a subclass of DispatcherSuite with a lab.

class TestMine(DispatcherSuite):
    @pytest.fixture
    async def lab(self, tmp_path):
        async with MyLab(tmp_path) as lab:
            yield lab

A lab opens a house: a process that accepts runs, together with at least one that drives them. They may be the same.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Protocol

import pytest

from pollux.core.ids import RunId, UserId
from pollux.core.messages import JSON
from pollux.core.run import Parent, Run
from pollux.core.tools import Reconciled, Tool, ToolContext, ToolSpec
from pollux.engine.engine import Engine, Start
from pollux.engine.ports import Dispatcher
from pollux.providers.scripted import ScriptedProvider, call, calls, fail, reply
from pollux.testing.clock import FakeClock

ADA = UserId("ada")
WAIT_SECONDS = 30.0


class House(Protocol):
    """Processes on one store: `door` accepts, and somebody drives."""

    @property
    def door(self) -> Engine: ...

    @property
    def dispatcher(self) -> Dispatcher:
        """The door's."""
        ...

    async def close(self) -> None:
        """All of them, at once, in whatever state they are."""
        ...


class DispatcherLab(Protocol):
    """A place for houses, one after the other, on the same store and the same clock."""

    @property
    def clock(self) -> FakeClock: ...

    async def open(self, provider: ScriptedProvider, tools: Sequence[Tool] = ()) -> House: ...


class LabTool:
    """A tool that does what it is given to do, and keeps the keys it was asked with."""

    def __init__(self, name: str, body: Callable[[ToolContext], Awaitable[object]] | None = None, **spec: Any) -> None:
        self.spec = ToolSpec(name, f"The tool {name}.", {"type": "object"}, **spec)
        self.ran: list[str] = []
        self._body = body

    def prepare(self, args: dict[str, JSON]) -> dict[str, JSON]:
        return args

    def subjects(self, args: dict[str, JSON]) -> frozenset[str]:
        return frozenset({"bob@example.com"} if self.spec.side_effect else ())

    def preview(self, args: dict[str, JSON]) -> str:
        return self.spec.name

    async def run(self, context: ToolContext, args: dict[str, JSON]) -> object:
        self.ran.append(context.key)
        return await self._body(context) if self._body else "done"

    async def reconcile(self, context: ToolContext, args: dict[str, JSON]) -> Reconciled:
        return Reconciled("unknown")


class Held:
    """The body of a tool that says when it began, and ends when it is let go."""

    def __init__(self) -> None:
        self.began = asyncio.Event()
        self.let_go = asyncio.Event()

    async def __call__(self, context: ToolContext) -> str:
        self.began.set()
        await self.let_go.wait()
        return "at last"


def mail() -> LabTool:
    """A side effect: a person is asked first."""
    return LabTool("send_mail", side_effect=True, repeat="keyed")


async def begun(house: House) -> Run:
    return await house.door.start(Start("go on", user=ADA))


async def until(house: House, run_id: RunId, is_so: Callable[[Run], object]) -> Run:
    """The run as soon as this is so."""
    async with asyncio.timeout(WAIT_SECONDS):
        while True:
            run = await house.door.queries.run(run_id)
            if is_so(run):
                return run
            await asyncio.sleep(0.01)


async def ended(house: House, run_id: RunId) -> Run:
    return await until(house, run_id, lambda run: run.ending)


async def asked(house: House, run_id: RunId) -> str:
    """The id of the question that the run waits for."""
    run = await until(house, run_id, lambda run: run.approvals)
    return run.approvals[0].id


@pytest.mark.asyncio
class DispatcherSuite:
    """The whole conformance suite."""

    async def test_a_run_that_begins_is_driven(self, lab: DispatcherLab):
        house = await lab.open(ScriptedProvider(reply("Hello.")))
        run = await ended(house, (await begun(house)).id)
        assert (run.status, run.text) == ("completed", "Hello.")

    async def test_many_runs_are_all_driven(self, lab: DispatcherLab):
        house = await lab.open(ScriptedProvider(*[reply("Hello.")] * 40))
        runs = [await begun(house) for _ in range(40)]
        done = [await ended(house, run.id) for run in runs]
        assert {run.status for run in done} == {"completed"}

    async def test_a_person_s_answer_brings_the_run_on(self, lab: DispatcherLab):
        tool = mail()
        house = await lab.open(ScriptedProvider(call("send_mail"), reply("Sent.")), [tool])
        run = await begun(house)
        await house.door.resolve(await asked(house, run.id), "approved", by=ADA)
        run = await ended(house, run.id)
        assert (run.status, run.text, len(tool.ran)) == ("completed", "Sent.", 1)

    async def test_an_answer_given_while_the_run_is_driven_is_not_lost(self, lab: DispatcherLab):
        slow, tool = Held(), mail()
        tools = [LabTool("look", slow), tool]
        house = await lab.open(ScriptedProvider(calls(("look", {}), ("send_mail", {})), reply("Sent.")), tools)
        run = await begun(house)
        question = await asked(house, run.id)
        await asyncio.wait_for(slow.began.wait(), WAIT_SECONDS)
        await house.door.resolve(question, "approved", by=ADA)
        # Beside the slow one, not after it.
        await until(house, run.id, lambda _: tool.ran)
        slow.let_go.set()
        run = await ended(house, run.id)
        assert (run.status, len(tool.ran)) == ("completed", 1)

    async def test_an_answer_given_just_when_the_driver_leaves_is_not_lost(self, lab: DispatcherLab):
        steps = [step for _ in range(20) for step in (call("send_mail"), reply("Sent."))]
        house = await lab.open(ScriptedProvider(*steps), [mail()])
        for _ in range(20):
            run = await begun(house)
            await house.door.resolve(await asked(house, run.id), "approved", by=ADA)
            assert (await ended(house, run.id)).status == "completed"

    async def test_a_moment_that_has_come_moves_the_run(self, lab: DispatcherLab):
        house = await lab.open(ScriptedProvider(fail("rate_limit", retry_after=30.0), reply("Now.")))
        run = await until(house, (await begun(house)).id, lambda run: run.retry_at)
        lab.clock.advance(31)
        assert (await ended(house, run.id)).text == "Now."

    async def test_a_question_runs_out_while_a_slow_tool_goes_on(self, lab: DispatcherLab):
        slow = Held()
        script = ScriptedProvider(calls(("look", {}), ("send_mail", {})), reply("Not sent."))
        house = await lab.open(script, [LabTool("look", slow), mail()])
        run = await begun(house)
        await asked(house, run.id)
        await asyncio.wait_for(slow.began.wait(), WAIT_SECONDS)
        lab.clock.advance(25 * 3600)
        await until(house, run.id, lambda run: not run.approvals)
        slow.let_go.set()
        assert (await ended(house, run.id)).text == "Not sent."

    async def test_many_wakes_of_one_run_are_one_drive(self, lab: DispatcherLab):
        slow = Held()
        script = ScriptedProvider(call("look"), reply("Once."))
        house = await lab.open(script, [tool := LabTool("look", slow)])
        run = await begun(house)
        for _ in range(50):
            house.dispatcher.wake(run.id)
        await asyncio.wait_for(slow.began.wait(), WAIT_SECONDS)
        for _ in range(50):
            house.dispatcher.wake(run.id)
        slow.let_go.set()
        assert (await ended(house, run.id)).text == "Once."
        assert (len(tool.ran), len(script.requests)) == (1, 2)

    async def test_a_cancelled_run_is_stopped_wherever_it_is_driven(self, lab: DispatcherLab):
        slow = Held()
        house = await lab.open(ScriptedProvider(call("look")), [LabTool("look", slow)])
        run = await begun(house)
        await asyncio.wait_for(slow.began.wait(), WAIT_SECONDS)
        await house.door.cancel(run.id, by=ADA)
        assert (await ended(house, run.id)).status == "cancelled"

    async def test_a_child_s_end_brings_its_parent_on(self, lab: DispatcherLab):
        doors: list[House] = []

        async def delegate(context: ToolContext) -> None:
            parent = Parent(context.run_id, context.action_id, context.run_id)
            await doors[0].door.start(Start("a part", user=ADA, parent=parent, run_id=RunId("run_child")))

        tool = LabTool("delegate", delegate, where="child", repeat="keyed")
        doors.append(
            await lab.open(ScriptedProvider(call("delegate"), reply("The part."), reply("The whole.")), [tool])
        )
        run = await begun(doors[0])
        assert (await ended(doors[0], run.id)).text == "The whole."

    async def test_what_a_closed_house_has_left_is_done_by_the_next(self, lab: DispatcherLab):
        slow = Held()
        house = await lab.open(ScriptedProvider(call("look")), [LabTool("look", slow)])
        run = await begun(house)
        await asyncio.wait_for(slow.began.wait(), WAIT_SECONDS)
        async with asyncio.timeout(WAIT_SECONDS):
            await house.close()
        house = await lab.open(ScriptedProvider(reply("Taken up.")), [LabTool("look")])
        await house.door.recover()
        assert (await ended(house, run.id)).text == "Taken up."
