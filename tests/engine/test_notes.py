"""A tool that writes down how far it came: the note is on disk before it goes on, and the next attempt reads it."""

import asyncio

import pytest
from tests.engine.builders import (
    ADA,
    TO_BOB,
    FakeTool,
    Lab,
    answer,
    approve,
    ask,
    journal,
    kinds,
    mail,
    settle,
    store_of,
    until,
)
from tests.engine.test_crash import Replayed
from tests.waiting import HANG_SECONDS

from pollux.core.errors import Misfit, ToolExecutionError
from pollux.core.events import RunClaimed
from pollux.core.ids import ActionId, RunId, ThreadId
from pollux.core.machine import fold, step
from pollux.core.messages import JSON
from pollux.core.policy import Rule
from pollux.core.tools import Reconciled, ToolContext, ToolSpec
from pollux.engine.ledger import change_of
from pollux.providers.scripted import call, reply

ANYBODY = (Rule("allow"),)


class Drafts(FakeTool):
    """Makes a draft, notes it, sends it: a mailbox in which sending takes the draft away."""

    def __init__(self) -> None:
        super().__init__("send_mail", schema=mail().spec.input_schema, side_effect=True, repeat="checkable")
        self.drafts: list[str] = []
        self.sent: list[str] = []
        self.seen: list[tuple[int, JSON]] = []
        self.before_sending: asyncio.Event | None = None

    async def run(self, context: ToolContext, args: dict[str, JSON]) -> object:
        self.seen.append((context.attempt, context.noted))
        draft = str(context.noted or "")
        if not draft:
            draft = f"draft {len(self.drafts) + 1}"
            self.drafts.append(draft)
            await context.note(draft)
        if self.before_sending:
            await self.before_sending.wait()
        self.drafts.remove(draft)
        self.sent.append(draft)
        return {"sent": draft}

    async def reconcile(self, context: ToolContext, args: dict[str, JSON]) -> Reconciled:
        self.looked += 1
        with pytest.raises(ToolExecutionError):
            await context.note("nothing is noted while looking")
        if not context.noted or context.noted in self.drafts:
            return Reconciled("not_done")
        return Reconciled("done", {"sent": context.noted})


async def test_a_note_is_in_the_journal_and_of_the_action(lab: Lab):
    tool = Drafts()
    engine = await lab.engine(call("send_mail", TO_BOB), reply("sent"), tools=[tool])
    run = await settle(engine, await approve(engine, await answer(engine)))
    assert run.actions[0].note == "draft 1"
    assert "ActionNoted" in await kinds(engine, run)
    assert tool.seen == [(1, None)]


@pytest.mark.parametrize("writes_the_last", [True, False], ids=["after", "before"])
async def test_a_death_at_any_commit_sends_one_draft_and_never_two(lab: Lab, writes_the_last: bool):
    deaths = 0
    for number in range(1, 7):
        tool, store = Drafts(), lab.faulty()
        store.dies_at, store.writes_the_last = number, writes_the_last
        first = await lab.engine(provider=Replayed(), tools=[tool], rules=ANYBODY, store=store)
        starting = asyncio.create_task(ask(first))
        died = asyncio.create_task(store.died.wait())
        async with asyncio.timeout(2 * HANG_SECONDS):
            await asyncio.wait({starting, died}, return_when=asyncio.FIRST_COMPLETED)
            if starting.done():
                ended = asyncio.create_task(settle(first, starting.result()))
                await asyncio.wait({ended, died}, return_when=asyncio.FIRST_COMPLETED)
                ended.cancel()
        deaths += died.done()
        for task in (starting, died):
            task.cancel()
        await first.close()
        again = await lab.engine(provider=Replayed(), tools=[tool], rules=ANYBODY)
        await again.recover()
        rows = await again.queries.runs(ADA)
        if not rows:
            continue
        run = await settle(again, rows[0].run_id)
        assert run.status == "completed", (number, run.ending)
        assert len(tool.sent) == 1, (number, tool.sent)
        assert fold(await journal(again, run)) == run
        await again.close()
    assert deaths >= 5


async def test_an_attempt_that_is_none_any_more_cannot_note_and_so_does_not_go_on(lab: Lab):
    tool = Drafts()
    tool.before_sending = asyncio.Event()
    contexts: list[ToolContext] = []
    run_tool = tool.run

    async def run(context: ToolContext, args: dict[str, JSON]) -> object:
        contexts.append(context)
        return await run_tool(context, args)

    tool.run = run
    engine = await lab.engine(call("send_mail", TO_BOB), reply("sent"), tools=[tool], rules=ANYBODY)
    run_ = await until(engine, await ask(engine), lambda run: run.open and run.open[0].note)
    # Another process takes the run.
    claim = RunClaimed(epoch=run_.epoch + 1, driver="somebody else", at=lab.clock.now())
    thread = await store_of(engine).thread(run_.thread_id)
    assert thread is not None
    await store_of(engine).commit(change_of(run_, step(run_, claim), (claim,), thread=thread))
    with pytest.raises(Misfit, match="action_noted needs"):
        await contexts[0].note("too late")


async def test_a_cancelled_run_takes_no_note(lab: Lab):
    refused: list[Exception] = []
    began = asyncio.Event()

    async def body(context: ToolContext, args: dict[str, JSON]) -> object:
        began.set()
        try:
            await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:
            try:
                await context.note("not any more")
            except Misfit as problem:
                refused.append(problem)
        return "stopped"

    tool = FakeTool("send_mail", body=body, schema=mail().spec.input_schema, side_effect=True)
    engine = await lab.engine(call("send_mail", TO_BOB), tools=[tool], rules=ANYBODY)
    run = await ask(engine)
    async with asyncio.timeout(HANG_SECONDS):
        await began.wait()
    await engine.cancel(run.id, by="ada")
    await settle(engine, run)
    assert len(refused) == 1
    assert (await engine.queries.run(run.id)).actions[0].note is None


async def test_a_look_says_what_a_person_can_do_where_nobody_knows(lab: Lab):
    found = Reconciled("unknown", detail="look in Sent for the mail to bob")

    async def body(context: ToolContext, args: dict[str, JSON]) -> object:
        raise ConnectionError

    tool = FakeTool(
        "send_mail", body=body, found=found, schema=mail().spec.input_schema, side_effect=True, repeat="checkable"
    )
    engine = await lab.engine(call("send_mail", TO_BOB), reply("hm"), tools=[tool], rules=ANYBODY)
    run = await answer(engine)
    assert run.ending and run.ending.code == "outcome_unknown"
    outcome = run.actions[0].outcome
    assert outcome and outcome.message == "the tool failed (ConnectionError); look in Sent for the mail to bob"


async def test_outside_an_action_there_is_nothing_to_note_for():
    context = ToolContext(ADA, "", RunId("run_1"), ActionId("act_1_1.0"), ThreadId("thr_1"))
    with pytest.raises(RuntimeError):
        await context.note("x")


class Stuck(Drafts):
    """Notes its draft and then takes for ever."""

    def __init__(self, timeout: float | None, monkeypatch: pytest.MonkeyPatch | None = None) -> None:
        super().__init__()
        self.spec = ToolSpec(
            "send_mail", "Sends.", mail().spec.input_schema, side_effect=True, repeat="checkable", timeout=timeout
        )
        self.found: list[JSON] = []
        self._monkeypatch = monkeypatch

    async def run(self, context: ToolContext, args: dict[str, JSON]) -> object:
        await context.note("draft 1")
        loop = asyncio.get_running_loop()
        if self._monkeypatch and self.spec.timeout:
            # However long the note took: its time is up now.
            later = self.spec.timeout
            time = loop.time
            self._monkeypatch.setattr(loop, "time", lambda: time() + later)
        await loop.create_future()
        return None

    async def reconcile(self, context: ToolContext, args: dict[str, JSON]) -> Reconciled:
        self.found.append(context.noted)
        return Reconciled("done", "sent")


async def test_a_tool_that_took_too_long_is_looked_up_by_what_it_noted(lab: Lab, monkeypatch: pytest.MonkeyPatch):
    tool = Stuck(HANG_SECONDS / 2, monkeypatch)
    engine = await lab.engine(call("send_mail", TO_BOB), reply("sent"), tools=[tool], rules=ANYBODY)
    run = await answer(engine)
    assert (tool.found, run.actions[0].status) == (["draft 1"], "completed")


async def test_a_tool_that_was_stopped_is_looked_up_by_what_it_noted(lab: Lab):
    tool = Stuck(None)
    engine = await lab.engine(call("send_mail", TO_BOB), tools=[tool], rules=ANYBODY)
    run = await until(engine, await ask(engine), lambda run: run.open and run.open[0].note)
    await engine.cancel(run.id, by="ada")
    run = await settle(engine, run)
    assert (tool.found, run.actions[0].status, run.status) == (["draft 1"], "completed", "cancelled")
