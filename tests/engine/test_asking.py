"""A tool at work asks for another call of the same run: one gate, one inbox, one journal, whoever asks."""

import asyncio

import pytest
from tests.engine.builders import ADA, TO_BOB, FakeTool, Lab, ask, kinds, mail, settle, store_of, until, watched
from tests.engine.watching import seated

from pollux.core.errors import Misfit, ValidationError
from pollux.core.messages import JSON, ToolResult
from pollux.core.policy import Rule
from pollux.core.tools import Answered, ToolContext
from pollux.engine.engine import Engine
from pollux.engine.feed import Output
from pollux.providers.scripted import call, reply

LET_AGENT = (Rule("allow", tool="agent"),)


class Agent(FakeTool):
    """Asks for a mail when it is called, and keeps what it was answered."""

    def __init__(self, tool: str = "send_mail", args: dict[str, JSON] = TO_BOB, times: int = 1) -> None:
        super().__init__("agent", body=self._work, side_effect=True, repeat="once")
        self.heard: list[Answered] = []
        self._tool, self._args, self._times = tool, args, times

    async def _work(self, context: ToolContext, args: dict[str, JSON]) -> object:
        for _ in range(self._times):
            self.heard.append(await context.ask(self._tool, dict(self._args)))
        return [each.status for each in self.heard]


async def asked_for(engine: Engine):
    """The run, once its agent waits for a person."""
    return await until(engine, await ask(engine), lambda now: now.approvals)


async def test_what_a_tool_asks_for_waits_for_a_person_while_the_tool_works(lab: Lab):
    agent, post = Agent(), mail()
    engine = await lab.engine(call("agent"), reply("done"), tools=[agent, post], rules=LET_AGENT)
    run = await asked_for(engine)
    assert run.status == "executing" and not post.ran
    assert [row.approval_id for row in await store_of(engine).approvals(ADA)] == [run.approvals[0].id]
    await engine.resolve(run.approvals[0].id, "approved", by="ada")
    run = await settle(engine, run)
    assert run.status == "completed" and agent.heard == [Answered("completed", "sent")]
    assert len(post.ran) == 1
    # The model hears of its own call alone.
    answers = [part for message in run.messages for part in message.parts if isinstance(part, ToolResult)]
    assert [part.name for part in answers] == ["agent"]


async def test_a_rejection_is_told_to_the_tool_and_the_run_goes_on(lab: Lab):
    agent, post = Agent(), mail()
    engine = await lab.engine(call("agent"), reply("done"), tools=[agent, post], rules=LET_AGENT)
    run = await asked_for(engine)
    await engine.resolve(run.approvals[0].id, "rejected", by="ada", feedback="not now")
    run = await settle(engine, run)
    assert run.status == "completed" and not post.ran
    assert [(each.status, each.code) for each in agent.heard] == [("rejected", "rejected")]


async def test_the_policy_answers_for_what_a_tool_asks(lab: Lab):
    agent, post = Agent(), mail()
    rules = (*LET_AGENT, Rule("deny", tool="send_mail"))
    engine = await lab.engine(call("agent"), reply("done"), tools=[agent, post], rules=rules)
    run = await settle(engine, await ask(engine))
    assert run.status == "completed" and not post.ran
    assert [(each.status, each.code) for each in agent.heard] == [("rejected", "policy_denied")]


async def test_a_grant_given_for_one_serves_the_next(lab: Lab):
    agent, post = Agent(times=3), mail()
    engine = await lab.engine(call("agent"), reply("done"), tools=[agent, post], rules=LET_AGENT)
    run = await asked_for(engine)
    await engine.resolve(run.approvals[0].id, "approved", by="ada", scope="session")
    run = await settle(engine, run)
    assert len(post.ran) == 3 and len({key for key, _ in post.ran}) == 3
    assert [each.status for each in agent.heard] == ["completed"] * 3


async def test_many_are_asked_for_one_after_another(lab: Lab):
    agent, post = Agent(times=150), mail()
    engine = await lab.engine(call("agent"), reply("done"), tools=[agent, post], rules=(Rule("allow"),))
    run = await settle(engine, await ask(engine))
    assert run.status == "completed" and len(post.ran) == 150


async def test_arguments_that_do_not_fit_are_said_to_the_tool_itself(lab: Lab):
    agent = Agent(args={"body": "to nobody"})
    engine = await lab.engine(call("agent"), reply("done"), tools=[agent, mail()], rules=LET_AGENT)
    run = await settle(engine, await ask(engine))
    assert run.actions[0].outcome is not None and "to" in run.actions[0].outcome.message
    assert len(run.actions) == 1


async def test_a_question_is_withdrawn_when_the_one_who_asked_has_ended(lab: Lab):
    asking: list[asyncio.Task[Answered]] = []

    async def leave(context: ToolContext, args: dict[str, JSON]) -> object:
        asking.append(asyncio.ensure_future(context.ask("send_mail", dict(TO_BOB))))
        while not engine_run().approvals:
            await asyncio.sleep(0)
        return "gone"

    agent = FakeTool("agent", body=leave, side_effect=True, repeat="once")
    engine = await lab.engine(call("agent"), reply("done"), tools=[agent, mail()], rules=LET_AGENT)
    run = await ask(engine)

    def engine_run():
        return engine._ledger.feeds[0].run if engine._ledger.feeds else run  # pyright: ignore[reportPrivateUsage]

    run = await settle(engine, run)
    assert run.status == "completed"
    assert (await asking[0]).code == "withdrawn"
    approval = next(action.approval for action in run.actions if action.approval)
    assert approval.status == "withdrawn"
    with pytest.raises(Misfit) as refused:
        await engine.resolve(approval.id, "approved", by="ada")
    assert refused.value.code in ("withdrawn", "run_ended")
    kinds_ = [entry.kind for entry in await store_of(engine).audit()]
    assert kinds_.count("failed") == 1


async def test_the_run_s_time_limit_and_a_cancel_end_what_was_asked_for(lab: Lab):
    agent, post = Agent(), mail()
    engine = await lab.engine(call("agent"), reply("done"), tools=[agent, post], rules=LET_AGENT)
    run = await asked_for(engine)
    await engine.cancel(run.id, by="ada")
    run = await until(engine, run, lambda now: now.ending)
    assert run.status == "cancelled" and not post.ran
    assert {action.approval.status for action in run.actions if action.approval} == {"withdrawn"}


async def test_what_was_asked_for_cannot_be_edited(lab: Lab):
    engine = await lab.engine(call("agent"), reply("done"), tools=[Agent(), mail()], rules=LET_AGENT)
    run = await asked_for(engine)
    with pytest.raises(ValidationError, match="cannot be edited"):
        await engine.edit(run.approvals[0].id, {"to": "eve@example.com"}, by="ada")


async def test_a_driver_s_death_withdraws_the_question_and_leaves_the_agent_s_outcome_unknown(lab: Lab):
    engine = await lab.engine(call("agent"), reply("done"), tools=[Agent(), mail()], rules=LET_AGENT)
    run = await asked_for(engine)
    question = run.approvals[0].id
    await engine.close()
    post = mail()
    engine = await lab.engine(tools=[Agent(), post], rules=LET_AGENT)
    await engine.recover()
    run = await until(engine, run, lambda now: now.ending)
    assert run.ending is not None and run.ending.code == "outcome_unknown" and not post.ran
    action = run.action_of_approval(question)
    assert action is not None and action.approval is not None and action.approval.status == "withdrawn"


async def test_what_an_agent_did_unasked_is_written_down_as_observed(lab: Lab):
    async def work(context: ToolContext, args: dict[str, JSON]) -> object:
        await context.observe("agent:read", "read notes.txt", "completed")
        return "read"

    agent = FakeTool("agent", body=work, side_effect=True, repeat="once")
    engine = await lab.engine(call("agent"), reply("done"), tools=[agent], rules=LET_AGENT)
    run = await settle(engine, await ask(engine))
    assert "ToolObserved" in await kinds(engine, run) and run.actions[0].observed == 1
    lines = [entry for entry in await store_of(engine).audit() if entry.kind == "observed"]
    # Seen, not allowed by anybody.
    assert [(line.tool_name, line.by) for line in lines] == [("agent:read", "")]


async def test_what_a_tool_shows_reaches_those_who_watch_and_is_not_kept(lab: Lab):
    go = asyncio.Event()

    async def work(context: ToolContext, args: dict[str, JSON]) -> object:
        await go.wait()
        context.tell("half way\n")
        context.tell("careful\n", stream="stderr")
        return "whole"

    engine = await lab.engine(call("work"), reply("done"), tools=[FakeTool("work", body=work)])
    run = await ask(engine)
    watching = asyncio.ensure_future(watched(engine, run.id))
    await until(engine, run, lambda now: now.status == "executing")
    # The one who waits for that state watches too, until it has seen it.
    await seated(engine, 1)
    go.set()
    items = [item for item in await watching if isinstance(item, Output)]
    assert [(item.stream, item.text) for item in items] == [("stdout", "half way\n"), ("stderr", "careful\n")]
    assert not any(isinstance(item, Output) for item in await watched(engine, run.id))
