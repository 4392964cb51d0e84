"""Questions about what is stored: what a user has spent, what nobody knows, and the audit from either end."""

from itertools import pairwise

from tests.engine.builders import ADA, BOB, TO_BOB, FakeTool, Lab, answer, approve, mail

from pollux.core.messages import JSON, Usage
from pollux.core.policy import Rule
from pollux.core.profile import Limits, Profile
from pollux.core.tools import ToolContext
from pollux.engine.glance import Spending
from pollux.providers.scripted import Answer, call, fail, reply


async def test_a_user_has_spent_what_the_runs_since_then_have_used(lab: Lab):
    look = Answer(calls=(("look", {}),), usage=Usage(30, 5))
    engine = await lab.engine(
        look, reply("Red.", usage=Usage(60, 5)), reply("Hi.", usage=Usage(7, 3)), tools=[FakeTool()]
    )
    began = lab.clock.now()
    await answer(engine)
    lab.clock.advance(60)
    await answer(engine)
    assert (await engine.queries.spent(ADA, began)).used == 110
    assert (await engine.queries.spent(ADA, began + 60)).used == 10
    assert await engine.queries.spent(ADA, began + 61) == Spending()
    assert await engine.queries.spent(BOB, began) == Spending()


async def test_a_run_that_waits_or_failed_has_spent_too(lab: Lab):
    sending = Answer(calls=(("send_mail", TO_BOB),), usage=Usage(20, 2))
    profile = Profile(tools=("send_mail",), limits=Limits(model_calls=2))
    engine = await lab.engine(sending, sending, fail("bad_request"), tools=[mail()], profile=profile)
    waiting, failed = await answer(engine), await approve(engine, await answer(engine))
    assert (waiting.status, failed.status) == ("awaiting_confirmation", "failed")
    # Open and without a limit: as much once more is set aside for it.
    assert await engine.queries.spent(ADA, 0) == Spending(44, promised=22)


async def test_what_was_spent_stays_spent_when_the_words_are_erased(lab: Lab):
    engine = await lab.engine(reply("Hi.", usage=Usage(7, 3)))
    run = await answer(engine)
    await engine.threads.erase(run.thread_id, ADA, by=ADA)
    assert await engine.queries.spent(ADA, 0) == Spending(10)


async def test_the_audit_is_read_from_either_end(lab: Lab):
    engine = await lab.engine(call("send_mail", TO_BOB), reply("Sent."), tools=[mail()])
    await approve(engine, await answer(engine))
    forward = list(await engine.queries.audit(user=ADA))
    assert [entry.kind for entry in forward] == ["decided", "approved", "started", "completed"]
    assert list(await engine.queries.audit(user=ADA, newest_first=True)) == forward[::-1]
    page = await engine.queries.audit(newest_first=True, before=forward[-1].seq, limit=2)
    assert [entry.kind for entry in page] == ["started", "approved"]
    assert await engine.queries.audit(user=BOB, newest_first=True) == []


async def test_the_actions_of_which_nobody_knows_the_outcome_are_found_newest_first_and_page_by_page(lab: Lab):
    async def body(context: ToolContext, args: dict[str, JSON]) -> object:
        raise ConnectionResetError

    tool = FakeTool("act", body=body, repeat="once", side_effect=True)
    twice = Answer(calls=(("act", {"n": 1}), ("act", {"n": 2})))
    engine = await lab.engine(call("act"), twice, reply("Hi."), tools=[tool], rules=[Rule("allow")])
    first, second, fine = [await answer(engine) for _ in range(3)]
    assert [run.status for run in (first, second, fine)] == ["failed", "failed", "completed"]

    whole = await engine.queries.unknown(ADA)
    ids = [question.action.id for question in whole]
    assert [question.run.id for question in whole] == [second.id, second.id, first.id]
    assert set(ids) == {action.id for run in (first, second) for action in run.actions}
    for before, after in pairwise(ids):
        (next_one,) = await engine.queries.unknown(ADA, limit=1, before=before)
        assert next_one.action.id == after
    assert await engine.queries.unknown(ADA, before=ids[-1]) == []
    assert await engine.queries.unknown(ADA, before=fine.id + "x") == []
    assert await engine.queries.unknown(BOB) == await engine.queries.unknown(BOB, before=ids[0]) == []

    await engine.threads.erase(second.thread_id, ADA, by=ADA)
    assert [question.action.id for question in await engine.queries.unknown(ADA)] == [first.actions[0].id]
