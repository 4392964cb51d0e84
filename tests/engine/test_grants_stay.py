"""What a yes for longer leaves behind is there before anything runs, whatever comes of it. And what runs at once.

docs/guides/approvals.md says so.
"""

import asyncio

import pytest
from tests.engine.builders import ADA, TO_BOB, Body, FakeTool, HeldTool, Lab, answer, approve, mail, question, settle
from tests.waiting import HANG_SECONDS

from pollux.core.errors import Misfit, ToolError
from pollux.core.messages import JSON
from pollux.core.policy import Rule
from pollux.core.tools import ToolContext
from pollux.providers.scripted import call, calls, reply


async def fails(context: ToolContext, args: dict[str, JSON]) -> object:
    raise ToolError("the mailbox is full")


async def breaks(context: ToolContext, args: dict[str, JSON]) -> object:
    raise ConnectionError("nobody knows")


@pytest.mark.parametrize(("body", "code"), [(fails, "tool_call_failure"), (breaks, "outcome_unknown")])
async def test_a_grant_stays_when_the_action_fails_and_the_next_one_is_not_asked_about(lab: Lab, body: Body, code: str):
    tool = mail(body=body)
    script = [call("send_mail", TO_BOB), reply("No."), call("send_mail", TO_BOB), reply("Sent.")]
    engine = await lab.engine(*(script if body is fails else [script[0], *script[2:]]), tools=[tool])
    run = await approve(engine, await answer(engine), scope="always")
    assert [action.outcome and action.outcome.code for action in run.done] == [code]
    [grant] = await engine.queries.grants(ADA)
    assert grant.subject == TO_BOB["to"]
    tool.body = None
    run = await answer(engine)
    assert (run.status, run.done[0].approval, len(tool.ran)) == ("completed", None, 2)
    await engine.revoke(grant.id, user=ADA, by=ADA)
    assert await engine.queries.grants(ADA) == []


async def test_a_grant_stays_when_the_run_is_cancelled_before_the_action_ends(lab: Lab):
    tool = HeldTool("send_mail", side_effect=True, repeat="once")
    tool.spec = mail(repeat="once").spec
    engine = await lab.engine(call("send_mail", TO_BOB), tools=[tool])
    run = await answer(engine)
    await engine.resolve(question(run).id, "approved", by=ADA, scope="always")
    async with asyncio.timeout(HANG_SECONDS):
        await tool.began.wait()
    await engine.cancel(run.id, by=ADA)
    assert (await settle(engine, run)).status == "cancelled"
    assert len(await engine.queries.grants(ADA)) == 1


async def test_a_grant_stays_when_a_rule_forbids_the_action_meanwhile_and_the_rule_is_stronger(lab: Lab):
    tool = mail()
    one = await lab.engine(call("send_mail", TO_BOB), tools=[tool])
    run = await answer(one)
    await one.close()
    stricter = await lab.engine(
        reply("No."), call("send_mail", TO_BOB), reply("No."), tools=[tool], rules=[Rule("deny", tool="send_mail")]
    )
    with pytest.raises(Misfit, match="nothing ran"):
        await stricter.resolve(question(run).id, "approved", by=ADA, scope="always")
    await settle(stricter, run)
    assert (len(await stricter.queries.grants(ADA)), tool.ran) == (1, [])
    await answer(stricter)
    assert tool.ran == []


@pytest.mark.parametrize("parallel", [True, False])
async def test_actions_that_are_approved_run_beside_one_another_unless_their_tool_says_no(lab: Lab, parallel: bool):
    tools = [HeldTool(name, side_effect=True, repeat="once", parallel=parallel) for name in ("first", "second")]
    engine = await lab.engine(calls(("first", {}), ("second", {})), reply("Both."), tools=tools)
    run = await answer(engine)
    for approval in run.approvals:
        await engine.resolve(approval.id, "approved", by=ADA)
    async with asyncio.timeout(HANG_SECONDS):
        await tools[0].began.wait()
        if parallel:
            await tools[1].began.wait()
    assert tools[1].began.is_set() is parallel
    tools[0].let_go.set()
    tools[1].let_go.set()
    assert (await settle(engine, run)).text == "Both."


async def test_a_tool_that_runs_alone_does_so_within_its_run(lab: Lab):
    slow, other = HeldTool(parallel=False), FakeTool()
    engine = await lab.engine(call("slow"), call("look"), reply("Seen."), tools=[slow, other], rules=[Rule("allow")])
    first = asyncio.create_task(answer(engine))
    async with asyncio.timeout(HANG_SECONDS):
        await slow.began.wait()
        assert (await answer(engine)).text == "Seen."
        slow.let_go.set()
        await first
    assert len(other.ran) == 1
