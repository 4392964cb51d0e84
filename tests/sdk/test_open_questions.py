"""What waits for a person in every session, and unknown outcomes that an author resolves."""

import asyncio

import pytest
from tests.sdk.conftest import Bench
from tests.sdk.test_approvals import SEND, send
from tests.sdk.test_commands import yes

from pollux import NotFound, RunFailed, ToolContext, ValidationError, tool
from pollux.core.errors import Misfit
from pollux.testing import call, reply


@tool(side_effect=True)
async def pay(context: ToolContext) -> str:
    """Pay, and break off half way."""
    raise RuntimeError("the line was cut")


async def doubtful(bench: Bench) -> str:
    """A session with an outcome that is unknown."""
    async with bench.agent(call("pay"), reply("Paid?"), tools=[pay], on_approval=yes) as agent:
        with pytest.raises(RunFailed):
            await agent.send("Pay")
        return agent.session_id


async def test_open_questions_of_every_session_are_listed(bench: Bench):
    unsure = await doubtful(bench)
    async with bench.agent(SEND, tools=[send], on_approval="defer") as agent:
        await agent.send("Mail Bob")
    async with bench.agent() as other:
        found = await other.open_questions()
        assert [(each.kind, each.session_id, each.tool) for each in found] == [
            ("approval", agent.session_id, "send"),
            ("unknown_outcome", unsure, "pay"),
        ]
        assert found[0].approval and found[0].approval.preview == "Mail to bob@example.com"
    async with bench.agent(reply("Sent."), tools=[send], session_id=found[0].session_id) as later:
        assert found[0].approval
        await later.answer(found[0].approval, False)
        assert [each.kind for each in await later.open_questions(limit=1)] == ["unknown_outcome"]


async def test_an_unknown_outcome_is_settled_once(bench: Bench):
    await doubtful(bench)
    async with bench.agent() as agent:
        (question,) = await agent.open_questions()
        await agent.settle(question, "done")
        assert await agent.open_questions() == []
        with pytest.raises(Misfit):
            await agent.settle(question.action_id, "not_done")
        with pytest.raises(NotFound):
            await agent.settle("act_unheard_of", "done")
        with pytest.raises(ValidationError, match="an open question or an action's id"):
            await agent.settle(7, "done")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def test_blocking_callers_can_list_them_too(bench: Bench):
    session_id = asyncio.run(doubtful(bench))
    agent = bench.agent()
    assert [each.session_id for each in asyncio.run(agent.open_questions())] == [session_id]
    asyncio.run(agent.aclose())
