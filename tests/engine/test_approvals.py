"""Approvals: asked, answered once, in time, by somebody; and the grants they leave behind."""

import asyncio

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
    kinds,
    mail,
    question,
    sent,
    settle,
    until,
)
from tests.waiting import HANG_SECONDS

from pollux.core.errors import Misfit, NotFound, ValidationError
from pollux.core.events import ActionStarted
from pollux.core.policy import Rule
from pollux.core.profile import Limits, Profile
from pollux.engine.ports import Change
from pollux.providers.scripted import Answer, call, calls, reply

SEND = call("send_mail", TO_BOB)


async def test_a_side_effect_waits_for_a_person_and_runs_after_their_yes(lab: Lab):
    tool = mail()
    engine = await lab.engine(SEND, reply("Sent."), tools=[tool])
    run = await answer(engine)
    assert (run.status, tool.ran) == ("awaiting_confirmation", [])
    run = await approve(engine, run)
    assert (run.text, [args for _, args in tool.ran]) == ("Sent.", [TO_BOB])
    assert [entry.kind for entry in await engine.queries.audit()] == ["decided", "approved", "started", "completed"]


async def test_while_one_call_waits_for_a_person_another_runs(lab: Lab):
    look, tool = HeldTool("look"), mail()
    engine = await lab.engine(calls(("send_mail", TO_BOB), ("look", {})), reply("Both."), tools=[look, tool])
    run = await ask(engine)
    async with asyncio.timeout(HANG_SECONDS):
        await look.began.wait()
    asked = await engine.queries.run(run.id)
    assert (asked.status, len(asked.approvals), tool.ran) == ("executing", 1, [])
    look.let_go.set()
    asked = await settle(engine, run)
    assert asked.status == "awaiting_confirmation"
    assert (await approve(engine, asked)).text == "Both."


async def test_a_late_approval_starts_beside_its_slow_sibling(lab: Lab):
    look, tool = HeldTool("look"), mail()
    engine = await lab.engine(calls(("look", {}), ("send_mail", TO_BOB)), reply("Both."), tools=[look, tool])
    run = await ask(engine)
    asked = await until(engine, run, lambda now: now.approvals)
    await engine.resolve(question(asked).id, "approved", by=ADA)
    sent_first = await until(engine, run, lambda now: any(a.tool == "send_mail" and a.outcome for a in now.actions))
    assert sent_first.status == "executing"
    look.let_go.set()
    assert (await settle(engine, run)).text == "Both."


async def test_a_no_with_a_word_why_is_told_to_the_model(lab: Lab):
    tool = mail()
    engine = await lab.engine(SEND, reply("I will wait."), tools=[tool])
    run = await answer(engine)
    await engine.resolve(question(run).id, "rejected", by=ADA, feedback="wait until Monday")
    run = await settle(engine, run)
    assert (run.text, tool.ran) == ("I will wait.", [])
    assert sent(lab.model)[-1] == "tool: {'error': 'the user rejected this call', 'feedback': 'wait until Monday'}"


async def test_a_no_ends_the_run_where_the_profile_says_so(lab: Lab):
    engine = await lab.engine(SEND, tools=[mail()], profile=Profile(tools=("send_mail",), on_reject="fail"))
    run = await answer(engine)
    await engine.resolve(question(run).id, "rejected", by=ADA)
    run = await settle(engine, run)
    assert (run.status, run.ending and run.ending.code) == ("failed", "rejected")


async def test_an_approval_answered_twice_is_refused_the_second_time(lab: Lab):
    engine = await lab.engine(SEND, reply("Sent."), tools=[mail()])
    run = await answer(engine)
    await approve(engine, run)
    with pytest.raises(Misfit) as refused:
        await engine.resolve(question(run).id, "rejected", by=BOB)
    assert refused.value.code == "already_resolved"


async def test_always_allow_leaves_a_grant_and_the_next_run_does_not_ask(lab: Lab):
    tool = mail()
    engine = await lab.engine(SEND, reply("Sent."), SEND, reply("Again."), tools=[tool])
    await approve(engine, await answer(engine), scope="always")
    (grant,) = await engine.queries.grants(ADA)
    assert (grant.tool, grant.subject, grant.scope) == ("send_mail", "bob@example.com", "always")
    run = await answer(engine)
    assert (run.text, len(tool.ran)) == ("Again.", 2)


async def test_a_grant_for_the_session_ends_with_its_thread(lab: Lab):
    engine = await lab.engine(SEND, reply("Sent."), SEND, reply("Again."), SEND, tools=[mail()])
    first = await approve(engine, await answer(engine), scope="session")
    assert (await answer(engine, thread_id=first.thread_id)).text == "Again."
    assert (await answer(engine)).status == "awaiting_confirmation"


async def test_what_has_no_recipient_cannot_be_allowed_for_ever(lab: Lab):
    engine = await lab.engine(call("wipe"), tools=[FakeTool("wipe", side_effect=True)])
    run = await answer(engine)
    with pytest.raises(ValidationError) as refused:
        await engine.resolve(question(run).id, "approved", by=ADA, scope="always")
    assert refused.value.code == "no_recipient"


async def test_a_revoked_grant_stops_an_action_that_has_not_begun(lab: Lab):
    slow, tool = HeldTool("slow", parallel=False), mail()
    both = calls(("slow", {}), ("send_mail", TO_BOB))
    engine = await lab.engine(SEND, reply("Sent."), both, reply("Stopped."), tools=[slow, tool])
    await approve(engine, await answer(engine), scope="always")
    run = await ask(engine)
    async with asyncio.timeout(HANG_SECONDS):
        await slow.began.wait()
    (grant,) = await engine.queries.grants(ADA)
    await engine.revoke(grant.id, user=ADA, by=ADA)
    slow.let_go.set()
    run = await settle(engine, run)
    assert (run.text, len(tool.ran)) == ("Stopped.", 1)
    stopped = run.actions[1].outcome
    assert stopped and (stopped.status, stopped.code) == ("rejected", "policy_changed")


@pytest.mark.parametrize(
    ("asked", "status"),
    [
        pytest.param(calls(("send_mail", TO_BOB)), "awaiting_confirmation", id="as it is decided"),
        pytest.param(calls(("slow", {}), ("send_mail", TO_BOB)), "completed", id="as it begins"),
    ],
)
async def test_a_grant_revoked_while_a_call_is_committed_does_not_allow_it(lab: Lab, asked: Answer, status: str):
    tool, slow, store = mail(), FakeTool("slow", parallel=False), lab.faulty()
    engine = await lab.engine(SEND, reply("Sent."), asked, reply("Stopped."), tools=[slow, tool], store=store)
    await approve(engine, await answer(engine), scope="always")
    (grant,) = await engine.queries.grants(ADA)

    async def revoke(change: Change) -> None:
        begun = [event.action_id for event in change.events if isinstance(event, ActionStarted)]
        if change.run and any(one and one.tool == "send_mail" for one in map(change.run.action, begun)):
            store.before_commit = None
            await engine.revoke(grant.id, user=ADA, by=ADA)

    store.before_commit = revoke
    run = await answer(engine)
    assert (run.status, len(tool.ran)) == (status, 1)
    assert "granted" not in [entry.kind for entry in await engine.queries.audit() if entry.run_id == run.id]


async def test_a_grant_is_revoked_once_and_by_its_owner(lab: Lab):
    engine = await lab.engine(SEND, reply("Sent."), tools=[mail()])
    await approve(engine, await answer(engine), scope="always")
    (grant,) = await engine.queries.grants(ADA)
    with pytest.raises(NotFound):
        await engine.revoke(grant.id, user=BOB, by=BOB)
    await engine.revoke(grant.id, user=ADA, by=ADA)
    with pytest.raises(NotFound):
        await engine.revoke(grant.id, user=ADA, by=ADA)


async def test_an_approval_nobody_answers_expires(lab: Lab):
    engine = await lab.engine(SEND, reply("Nobody was there."), tools=[mail()])
    run = await answer(engine)
    lab.clock.advance(24 * 3600)
    with pytest.raises(Misfit) as refused:
        await engine.resolve(question(run).id, "approved", by=ADA)
    assert refused.value.code == "expired"
    run = await until(engine, run, lambda now: now.ending)
    assert (run.text, run.actions[0].approval and run.actions[0].approval.status) == ("Nobody was there.", "expired")


async def test_after_the_end_of_its_run_an_approval_says_what_became_of_it(lab: Lab):
    engine = await lab.engine(SEND, SEND, reply("Sent."), SEND, reply("Nobody."), tools=[mail()])
    withdrawn = await answer(engine)
    await engine.cancel(withdrawn.id, by=ADA)
    superseded = await answer(engine)
    edited = await engine.edit(question(superseded).id, {"to": "eve@example.com"}, by=ADA)
    assert edited.approval
    await engine.resolve(edited.approval.id, "approved", by=ADA)
    await settle(engine, superseded)
    expired = await answer(engine)
    lab.clock.advance(24 * 3600)
    await until(engine, expired, lambda now: now.ending)
    fates = {"withdrawn": withdrawn, "superseded": superseded, "expired": expired}
    asked = {code: question(run).id for code, run in fates.items()} | {"already_resolved": edited.approval.id}
    for code, approval_id in asked.items():
        with pytest.raises(Misfit) as refused:
            await engine.resolve(approval_id, "approved", by=ADA)
        assert refused.value.code == code
        with pytest.raises(Misfit) as refused:
            await engine.edit(approval_id, {"to": "carol@example.com"}, by=ADA)
        assert refused.value.code == code


async def test_an_approval_expires_when_its_profile_says(lab: Lab):
    limits = Limits(approval_seconds=10)
    engine = await lab.engine(
        SEND, reply("Late."), tools=[mail()], profile=Profile(tools=("send_mail",), limits=limits)
    )
    run = await answer(engine)
    lab.clock.advance(9)
    assert (await settle(engine, run)).is_open
    lab.clock.advance(1)
    assert (await until(engine, run, lambda now: now.ending)).text == "Late."


async def test_with_nobody_to_ask_the_answer_is_no(lab: Lab):
    tool = mail()
    engine = await lab.engine(SEND, reply("I may not."), tools=[tool])
    run = await answer(engine, interactive=False)
    assert (run.text, tool.ran) == ("I may not.", [])
    assert "there is nobody to ask" in sent(lab.model)[-1]


async def test_a_policy_that_became_stricter_stops_what_was_allowed(lab: Lab):
    tool = mail()
    before = await lab.engine(SEND, tools=[tool])
    run = await answer(before)
    await before.close()
    after = await lab.engine(reply("Not any more."), tools=[tool], rules=[Rule("deny", args="bob")])
    with pytest.raises(Misfit, match="nothing ran: the policy forbids it now") as refused:
        await approve(after, run)
    assert refused.value.code == "policy_changed"
    run = await settle(after, run)
    assert (run.text, tool.ran) == ("Not any more.", [])
    assert run.actions[0].outcome and run.actions[0].outcome.code == "policy_changed"


async def test_a_rule_that_asks_now_stops_what_was_allowed_without_asking(lab: Lab):
    slow, other = HeldTool("slow", parallel=False), FakeTool("other")
    before = await lab.engine(calls(("slow", {}), ("other", {})), tools=[slow, other])
    run = await ask(before)
    async with asyncio.timeout(HANG_SECONDS):
        await slow.began.wait()
    await before.close()
    slow.let_go.set()
    rules = [Rule("require_approval", "other")]
    after = await lab.engine(reply("Asked too late."), tools=[slow, other], rules=rules)
    assert await after.recover() == 1
    run = await settle(after, run)
    assert (run.text, other.ran) == ("Asked too late.", [])


async def test_a_run_of_another_agent_is_left_to_a_process_that_has_its_tools(lab: Lab):
    tool, clerk = mail(), Profile("clerk", tools=("send_mail",))
    asking = await lab.engine(SEND, tools=[tool], profile=clerk)
    run = await answer(asking, profile="clerk")
    await asking.close()
    stranger = await lab.engine()
    run = await stranger.resolve(run.approvals[0].id, "approved", by="ada")
    assert (await stranger.recover(), tool.ran, run.is_open) == (0, [], True)
    await stranger.close()
    knowing = await lab.engine(reply("Sent."), tools=[tool], profile=clerk)
    assert await knowing.recover() == 1
    run = await settle(knowing, run)
    assert (run.text, [args for _, args in tool.ran]) == ("Sent.", [TO_BOB])


async def test_one_run_can_be_taken_on_alone(lab: Lab):
    tool, clerk = mail(), Profile("clerk", tools=("send_mail",))
    asking = await lab.engine(SEND, SEND, tools=[tool], profile=clerk)
    first, other = await answer(asking, profile="clerk"), await answer(asking, profile="clerk")
    await asking.close()
    stranger = await lab.engine()
    for run in (first, other):
        await stranger.resolve(run.approvals[0].id, "approved", by="ada")
    await stranger.close()
    knowing = await lab.engine(reply("Sent."), tools=[tool], profile=clerk)
    assert await knowing.recover(other.id) == 1
    assert (await settle(knowing, other)).text == "Sent."
    assert (await knowing.queries.run(first.id)).is_open
    assert await knowing.recover(other.id) == 0


async def test_a_run_of_another_agent_can_still_be_cancelled(lab: Lab):
    asking = await lab.engine(SEND, tools=[mail()], profile=Profile("clerk", tools=("send_mail",)))
    run = await answer(asking, profile="clerk")
    await asking.close()
    stranger = await lab.engine()
    assert (await stranger.cancel(run.id, by="ada")).status == "cancelled"


async def test_questions_are_listed_with_what_they_are_about(lab: Lab):
    engine = await lab.engine(SEND, tools=[mail()])
    run = await answer(engine)
    (asked,) = await engine.queries.approvals(ADA)
    assert (asked.run.id, asked.action.args, asked.action.approval) == (run.id, TO_BOB, question(run))
    assert await engine.queries.approvals(BOB) == []


async def test_an_approval_says_who_answered(lab: Lab):
    engine = await lab.engine(SEND, reply("Sent."), tools=[mail()])
    run = await approve(engine, await answer(engine))
    approval = run.actions[0].approval
    assert approval and approval.resolution and approval.resolution.by == ADA
    assert "ApprovalResolved" in await kinds(engine, run)
