"""What was shown is what was hashed is what ran. Edited arguments are a new question; any other change is refused."""

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.engine.builders import (
    ADA,
    TO_BOB,
    FakeTool,
    Lab,
    answer,
    approve,
    mail,
    question,
    sent,
    settle,
)

from pollux.core.canonical import canonical, digest
from pollux.core.errors import Misfit, NotFound, PolicyError, ValidationError
from pollux.core.messages import JSON
from pollux.core.policy import Rule
from pollux.core.run import Action, Run
from pollux.core.tools import ToolContext
from pollux.dispatch.local import LocalDispatcher
from pollux.engine import gate
from pollux.engine.engine import Engine
from pollux.engine.gate import Toolbox
from pollux.providers.scripted import ScriptedProvider, call, calls, reply
from pollux.stores.memory import MemoryStore
from pollux.testing.clock import FakeClock

SEND = call("send_mail", TO_BOB)
TO_EVE: dict[str, JSON] = {"to": "eve@example.com"}


async def test_edited_arguments_are_a_new_question_and_run_as_edited(lab: Lab):
    tool = mail()
    engine = await lab.engine(SEND, reply("Sent to Eve."), tools=[tool])
    run = await answer(engine)
    edited = await engine.edit(question(run).id, TO_EVE, by=ADA)
    asked = await settle(engine, run)
    assert question(asked) == edited.approval
    assert (question(asked).args_hash, question(asked).preview) == (
        digest(TO_EVE),
        "send_mail {'to': 'eve@example.com'}",
    )
    run = await approve(engine, asked)
    assert [args for _, args in tool.ran] == [TO_EVE]
    assert "'arguments': {'to': 'eve@example.com'}, 'edited_by': 'the user'" in sent(lab.model)[-1]


async def test_the_old_question_is_superseded_by_an_edit(lab: Lab):
    engine = await lab.engine(SEND, tools=[mail()])
    run = await answer(engine)
    await engine.edit(question(run).id, TO_EVE, by=ADA)
    with pytest.raises(Misfit) as refused:
        await engine.resolve(question(run).id, "approved", by=ADA)
    assert refused.value.code == "superseded"
    with pytest.raises(Misfit):
        await engine.edit(question(run).id, TO_EVE, by=ADA)


async def test_an_edit_can_be_edited(lab: Lab):
    tool = mail()
    engine = await lab.engine(SEND, reply("Sent."), tools=[tool])
    run = await answer(engine)
    first = await engine.edit(question(run).id, TO_EVE, by=ADA)
    assert first.approval is not None
    second = await engine.edit(first.approval.id, {"to": "zoe@example.com"}, by=ADA)
    assert len({run.actions[0].id, first.id, second.id}) == 3
    await approve(engine, await settle(engine, run))
    assert [args for _, args in tool.ran] == [{"to": "zoe@example.com"}]


async def test_edits_that_the_policy_denies_are_refused_and_change_nothing(lab: Lab):
    rule = Rule("deny", subjects=("eve@*",), reason="not to Eve")
    engine = await lab.engine(SEND, tools=[mail()], rules=[rule])
    run = await answer(engine)
    with pytest.raises(PolicyError, match="not to Eve"):
        await engine.edit(question(run).id, TO_EVE, by=ADA)
    assert question(await engine.queries.run(run.id)) == question(run)


async def test_edits_that_do_not_fit_the_tool_are_refused(lab: Lab):
    engine = await lab.engine(SEND, tools=[mail()])
    run = await answer(engine)
    with pytest.raises(ValidationError):
        await engine.edit(question(run).id, {"body": "to nobody"}, by=ADA)


async def test_an_edit_to_a_granted_recipient_runs_at_once(lab: Lab):
    tool = mail()
    engine = await lab.engine(SEND, reply("."), call("send_mail", TO_EVE), reply("."), tools=[tool])
    await approve(engine, await answer(engine), scope="always")
    run = await answer(engine)
    await engine.edit(question(run).id, TO_BOB, by=ADA)
    assert (await settle(engine, run)).status == "completed"
    assert [args for _, args in tool.ran] == [TO_BOB, TO_BOB]


async def test_a_question_of_an_earlier_turn_cannot_be_edited(lab: Lab):
    engine = await lab.engine(SEND, SEND, tools=[mail()])
    run = await answer(engine)
    later = await approve(engine, run)
    assert question(later).id != question(run).id
    with pytest.raises(Misfit) as refused:
        await engine.edit(question(run).id, TO_EVE, by=ADA)
    assert refused.value.code == "already_resolved"


async def test_the_second_call_of_a_turn_can_be_edited(lab: Lab):
    tool = mail()
    engine = await lab.engine(calls(("send_mail", TO_BOB), ("send_mail", TO_EVE)), reply("."), tools=[tool])
    run = await answer(engine)
    edited = await engine.edit(run.approvals[1].id, {"to": "zoe@example.com"}, by=ADA)
    assert edited.id != run.actions[1].id and edited.id.startswith(run.actions[1].id)


async def test_an_answer_for_other_arguments_than_were_shown_is_refused(lab: Lab):
    engine = await lab.engine(SEND, reply("Sent."), tools=[mail()])
    run = await answer(engine)
    with pytest.raises(Misfit) as refused:
        await engine.resolve(question(run).id, "approved", by=ADA, args_hash=digest(TO_EVE))
    assert refused.value.code == "args_changed"
    assert (await approve(engine, run, args_hash=question(run).args_hash)).text == "Sent."


async def test_an_unknown_approval_is_not_found(lab: Lab):
    engine = await lab.engine(SEND, tools=[mail()])
    await answer(engine)
    for unknown in ("apr_1_9.9", "apr_nonsense", "nonsense", ""):
        with pytest.raises(NotFound):
            await engine.resolve(unknown, "approved", by=ADA)
        with pytest.raises(NotFound):
            await engine.edit(unknown, TO_EVE, by=ADA)


async def test_a_tool_that_changed_after_the_question_is_asked_about_again_and_nothing_runs(lab: Lab):
    before = await lab.engine(SEND, tools=[mail()])
    run = await answer(before)
    await before.close()
    changed = FakeTool("send_mail", side_effect=True, repeat="keyed")
    after = await lab.engine(reply("It changed."), tools=[changed])
    with pytest.raises(Misfit, match="Review the new request") as refused:
        await approve(after, run)
    assert (refused.value.code, changed.ran) == ("policy_changed", [])
    run = await after.queries.run(run.id)
    assert [action.outcome and action.outcome.code for action in run.actions] == ["superseded", None]
    run = await approve(after, run)
    assert (run.text, len(changed.ran)) == ("It changed.", 1)


texts = st.text(max_size=8)
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
arguments = st.fixed_dictionaries({"to": texts}, optional={"body": texts, "more": values})


@pytest.mark.slow
@settings(max_examples=500, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(args=arguments)
async def test_what_was_shown_is_what_was_hashed_is_what_ran(args: dict[str, JSON]):
    executed: list[bytes] = []

    async def body(context: ToolContext, args: dict[str, JSON]) -> object:
        executed.append(canonical(args))
        return None

    tool = mail()
    tool.body = body
    engine = await _engine_of(tool, call("send_mail", args), reply("Sent."))
    try:
        run = await answer(engine)
        if not run.approvals:
            # Two keys that are one after normalisation: there is no single thing to show.
            assert (run.status, executed) == ("completed", [])
            return
        (asked,) = await engine.queries.approvals(ADA)
        shown = canonical(asked.action.args)
        assert question(run).args_hash == digest(asked.action.args)
        assert asked.action.preview == question(run).preview == tool.preview(asked.action.args)[:2000]
        _is_refused_after_any_change(run, asked.action, tool)
        await approve(engine, run)
        assert executed == [shown]
    finally:
        await engine.close()


async def _engine_of(tool: FakeTool, *steps: object) -> Engine:
    clock, store = FakeClock(), MemoryStore()
    script = ScriptedProvider(*steps)  # pyright: ignore[reportArgumentType]
    engine = Engine(
        store=store,
        providers=lambda model: script,
        tools=[tool],
        clock=clock,
        dispatcher=LocalDispatcher(clock),
    )
    await engine.__aenter__()
    return engine


def _is_refused_after_any_change(run: Run, action: Action, tool: FakeTool) -> None:
    same = gate.Terms(Toolbox([tool]), frozenset({"send_mail"}), (), (), 0.0)
    assert type(gate.begin(run, action, same)).__name__ == "ActionStarted"
    other_args = replace(action, args=action.args | {"to": str(action.args["to"]) + "!"})
    other_tool = replace(same, toolbox=Toolbox([mail(where="page")]))
    for refused in (gate.begin(run, other_args, same), gate.begin(run, action, other_tool)):
        assert type(refused).__name__ == "ActionFailed" and refused.attempt == 0
