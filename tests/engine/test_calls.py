"""Calls: several in a turn, those nothing can answer, those a page or a child run answers, and those that fail."""

import asyncio

import pytest
from tests.engine.builders import ADA, FakeTool, HeldTool, Lab, answer, approve, ask, kinds, mail, sent, settle, until
from tests.waiting import HANG_SECONDS

from pollux.core.errors import Misfit, NotFound, ToolError
from pollux.core.ids import RunId
from pollux.core.messages import JSON
from pollux.core.policy import MOST_SUBJECTS, Rule
from pollux.core.profile import Limits, Profile
from pollux.core.run import Parent
from pollux.core.tools import Reconciled, ToolContext
from pollux.engine.engine import Engine, Start
from pollux.providers.scripted import call, calls, reply

ONE_OF_EACH = calls(("left", {}), ("right", {}))


async def test_two_calls_of_a_turn_run_at_the_same_time(lab: Lab):
    left, right = HeldTool("left"), HeldTool("right")
    engine = await lab.engine(ONE_OF_EACH, reply("Both."), tools=[left, right])
    run = await ask(engine)
    async with asyncio.timeout(HANG_SECONDS):
        await left.began.wait()
        await right.began.wait()
    right.let_go.set()
    left.let_go.set()
    run = await settle(engine, run)
    assert run.text == "Both."
    assert sent(lab.model)[-1] == "tool: done done"


async def test_a_tool_that_runs_alone_waits_for_the_others(lab: Lab):
    left, right = HeldTool("left", parallel=False), HeldTool("right")
    engine = await lab.engine(ONE_OF_EACH, reply("Both."), tools=[left, right])
    run = await ask(engine)
    await until(engine, run, lambda now: now.actions and now.actions[0].started)
    async with asyncio.timeout(HANG_SECONDS):
        await left.began.wait()
    assert not right.began.is_set()
    left.let_go.set()
    async with asyncio.timeout(HANG_SECONDS):
        await right.began.wait()
    right.let_go.set()
    assert (await settle(engine, run)).text == "Both."


async def test_an_unknown_tool_is_told_to_the_model_and_the_run_goes_on(lab: Lab):
    engine = await lab.engine(call("fly"), reply("I cannot fly."), tools=[FakeTool()])
    run = await answer(engine)
    assert run.text == "I cannot fly."
    assert "there is no tool 'fly'; the tools are: look" in sent(lab.model)[-1]


async def test_arguments_that_do_not_fit_are_told_to_the_model_and_nobody_is_asked(lab: Lab):
    tool = mail()
    engine = await lab.engine(call("send_mail", {"to": 7}), reply("Sorry."), tools=[tool])
    run = await answer(engine)
    assert (run.text, tool.ran) == ("Sorry.", [])
    assert "to: this value is not of type" in sent(lab.model)[-1]


async def test_a_tool_that_cannot_describe_its_call_is_not_run(lab: Lab):
    class Shy(FakeTool):
        def preview(self, args: dict[str, JSON]) -> str:
            raise RuntimeError("no words")

    shy = Shy()
    engine = await lab.engine(call("look"), reply("Well."), tools=[shy])
    run = await answer(engine)
    assert (run.text, shy.ran) == ("Well.", [])
    assert "could not prepare this call" in sent(lab.model)[-1]


async def test_a_call_that_a_person_is_asked_about_is_looked_at_once(lab: Lab):
    looks: list[str] = []

    class Watched(FakeTool):
        def prepare(self, args: dict[str, JSON]) -> dict[str, JSON]:
            looks.append("prepare")
            return args

        def preview(self, args: dict[str, JSON]) -> str:
            looks.append("preview")
            return "a look"

    engine = await lab.engine(call("look", {"to": "bob"}), tools=[Watched(side_effect=True)])
    run = await answer(engine)
    assert (run.status, looks) == ("awaiting_confirmation", ["prepare", "preview"])


async def test_a_call_with_more_recipients_than_are_compared_is_asked_about(lab: Lab):
    class Letters(FakeTool):
        def subjects(self, args: dict[str, JSON]) -> frozenset[str]:
            return frozenset(f"p{n}@example.com" for n in range(MOST_SUBJECTS + 1))

    allowed = Rule("allow", "send_mail", subjects=("*@example.com",))
    engine = await lab.engine(call("send_mail"), tools=[Letters("send_mail", side_effect=True)], rules=[allowed])
    run = await answer(engine)
    assert (run.status, [asked.scopes for asked in run.approvals]) == ("awaiting_confirmation", [()])


async def test_a_denied_tool_is_hidden_from_the_model_and_refused_when_called(lab: Lab):
    tool = mail()
    engine = await lab.engine(
        call("send_mail", {"to": "x"}), reply("No."), tools=[FakeTool(), tool], rules=[Rule("deny", "send_*")]
    )
    run = await answer(engine)
    assert [spec.name for spec in lab.model.requests[0].tools] == ["look"]
    assert (run.text, tool.ran) == ("No.", [])


async def test_a_call_denied_by_its_arguments_is_refused_and_audited(lab: Lab):
    tool = mail()
    rule = Rule("deny", "send_mail", subjects=("*@evil.example",), reason="not to them")
    engine = await lab.engine(call("send_mail", {"to": "m@evil.example"}), reply("No."), tools=[tool], rules=[rule])
    run = await answer(engine)
    assert (run.actions[0].status, tool.ran) == ("rejected", [])
    assert "not to them" in sent(lab.model)[-1]
    assert [entry.kind for entry in await engine.queries.audit()] == ["decided"]


@pytest.mark.parametrize(
    ("problem", "said"),
    [(ToolError("no such city"), "no such city"), (KeyError("secret"), "the tool failed (KeyError)")],
)
async def test_a_tool_that_fails_is_told_to_the_model(lab: Lab, problem: Exception, said: str):
    async def body(context: ToolContext, args: dict[str, JSON]) -> object:
        raise problem

    engine = await lab.engine(call("look"), reply("It failed."), tools=[FakeTool(body=body)])
    run = await answer(engine)
    assert run.text == "It failed."
    assert sent(lab.model)[-1] == f"tool: {{'error': {said!r}}}"


@pytest.mark.parametrize(
    ("problem", "repeat", "code"),
    [
        (ToolError("refused"), "once", "tool_call_failure"),
        (ConnectionResetError(), "once", "outcome_unknown"),
        (ConnectionResetError(), "keyed", "outcome_unknown"),
        (ConnectionResetError(), "checkable", "tool_call_failure"),
        (ConnectionResetError(), "repeatable", "tool_call_failure"),
    ],
)
async def test_only_an_error_of_its_own_says_that_a_side_effect_did_not_happen(
    lab: Lab, problem: Exception, repeat: str, code: str
):
    async def body(context: ToolContext, args: dict[str, JSON]) -> object:
        raise problem

    tool = FakeTool("act", body=body, found=Reconciled("not_done"), repeat=repeat, side_effect=True)
    engine = await lab.engine(call("act"), reply("It failed."), tools=[tool], rules=[Rule("allow")])
    run = await answer(engine)
    assert run.actions[0].outcome is not None
    assert (run.actions[0].outcome.code, len(tool.ran)) == (code, 1)
    assert run.status == ("failed" if code == "outcome_unknown" else "completed")


async def test_a_tool_that_gives_up_by_itself_is_a_failure_and_is_not_run_again(lab: Lab):
    async def body(context: ToolContext, args: dict[str, JSON]) -> object:
        raise asyncio.CancelledError

    tool = FakeTool(body=body, repeat="once")
    engine = await lab.engine(call("look"), reply("It failed."), tools=[tool])
    run = await answer(engine)
    assert (run.text, len(tool.ran)) == ("It failed.", 1)


@pytest.mark.parametrize(("repeat", "code"), [("repeatable", "timeout"), ("once", "outcome_unknown")])
async def test_a_tool_that_takes_too_long_is_stopped(lab: Lab, repeat: str, code: str):
    slow = HeldTool(timeout=0.01, repeat=repeat)
    engine = await lab.engine(call("slow"), reply("Too slow."), tools=[slow])
    run = await answer(engine)
    assert run.actions[0].outcome and run.actions[0].outcome.code == code
    assert (run.status, slow.stops) == ("completed" if code == "timeout" else "failed", 1)


async def test_a_page_tool_waits_for_the_page_s_answer(lab: Lab):
    click = FakeTool("click", where="page")
    engine = await lab.engine(call("click"), reply("Clicked."), tools=[click])
    run = await answer(engine)
    (action,) = run.open
    assert (run.status, action.started and action.started.deadline) == ("awaiting_confirmation", lab.clock.now() + 60)
    await engine.submit(action.id, {"clicked": True}, user=ADA)
    run = await settle(engine, run)
    assert (run.text, click.ran) == ("Clicked.", [])
    assert sent(lab.model)[-1] == "tool: {'clicked': True}"


async def test_a_page_that_says_it_failed_is_believed(lab: Lab):
    engine = await lab.engine(call("click"), reply("Oh."), tools=[FakeTool("click", where="page")])
    run = await answer(engine)
    await engine.submit(run.open[0].id, None, error="no such button")
    assert (await settle(engine, run)).text == "Oh."
    assert sent(lab.model)[-1] == "tool: {'error': 'no such button'}"


async def test_a_page_that_goes_away_is_given_up_in_time(lab: Lab):
    engine = await lab.engine(call("click"), reply("It left."), tools=[FakeTool("click", where="page")])
    run = await answer(engine)
    lab.clock.advance(60)
    run = await until(engine, run, lambda now: now.ending)
    assert (run.text, run.actions[0].outcome and run.actions[0].outcome.code) == ("It left.", "page_gone")
    with pytest.raises(Misfit):
        await engine.submit(run.actions[0].id, "too late")


async def test_only_pages_and_children_answer_by_submitting(lab: Lab):
    slow = HeldTool()
    engine = await lab.engine(call("slow"), reply("."), tools=[slow])
    run = await ask(engine)
    now = await until(engine, run, lambda now: now.actions)
    with pytest.raises(Misfit, match="to wait for an answer"):
        await engine.submit(now.actions[0].id, "mine")
    with pytest.raises(NotFound):
        await engine.submit("act_1_9.9", "nothing")
    slow.let_go.set()
    await settle(engine, run)


async def child_engine(lab: Lab, *steps: object, **more: object) -> Engine:
    """An engine whose tool `delegate` is a child run with a thread of its own."""
    engines: list[Engine] = []

    async def body(context: ToolContext, args: dict[str, JSON]) -> object:
        parent = Parent(context.run_id, context.action_id, context.run_id)
        await engines[0].start(Start("a part of it", user=context.user, parent=parent, run_id=RunId("run_child")))
        return None

    delegate = FakeTool("delegate", body=body, where="child", repeat="keyed")
    engines.append(await lab.engine(*steps, tools=[delegate, mail()], **more))  # pyright: ignore[reportArgumentType]
    return engines[0]


async def test_a_child_run_s_answer_is_its_parent_s_tool_result(lab: Lab):
    engine = await child_engine(lab, call("delegate"), reply("The part."), reply("The whole."))
    run = await ask(engine)
    run = await until(engine, run, lambda now: now.ending)
    assert run.text == "The whole."
    assert sent(lab.model)[-1].startswith("tool: {'text': 'The part.', 'seconds': ")


async def test_a_child_s_failure_is_its_parent_s_tool_error(lab: Lab):
    engine = await child_engine(lab, call("delegate"), reply(""), reply(""), reply("It failed."))
    run = await ask(engine)
    run = await until(engine, run, lambda now: now.ending)
    assert run.text == "It failed."
    assert "the model answered with nothing" in sent(lab.model)[-1]


async def test_a_child_s_question_is_listed_under_the_root_and_answered_there(lab: Lab):
    engine = await child_engine(
        lab, call("delegate"), call("send_mail", {"to": "x"}), reply("Sent."), reply("All done.")
    )
    run = await ask(engine)
    child = await until(
        engine, await engine.queries.run(run.id), lambda now: now.actions and now.actions[0].handed_over
    )
    asked = await settle(engine, RunId("run_child"))
    (row,) = await engine.queries.approvals(ADA)
    assert (row.run.parent and row.run.parent.root, child.status) == (run.id, "executing")
    await approve(engine, asked)
    assert (await until(engine, run, lambda now: now.ending)).text == "All done."


async def test_a_child_has_no_more_time_than_its_parent(lab: Lab):
    profile = Profile(tools=("delegate", "send_mail"), limits=Limits(seconds=50))
    engine = await child_engine(lab, call("delegate"), call("send_mail", {"to": "x"}), profile=profile)
    run = await ask(engine)
    await until(engine, run, lambda now: now.actions and now.actions[0].handed_over)
    child = await settle(engine, RunId("run_child"))
    assert child.deadline == run.deadline


async def test_a_child_does_not_begin_when_its_parent_is_to_end(lab: Lab):
    engine = await lab.engine(reply("Over."))
    run = await answer(engine)
    with pytest.raises(Misfit, match="an open parent run"):
        await ask(engine, parent=Parent(run.id, run.id, run.id))  # pyright: ignore[reportArgumentType]


async def test_the_facts_of_a_tool_round_are_written_in_few_commits(lab: Lab):
    store = lab.faulty()
    engine = await lab.engine(call("look"), reply("Done."), tools=[FakeTool()], store=store)
    run = await answer(engine)
    assert store.commits == 4
    assert await kinds(engine, run) == [
        "RunStarted",
        "RunClaimed",
        "ModelCalled",
        "ModelReplied",
        "ActionDecided",
        "ActionStarted",
        "ActionCompleted",
        "ModelCalled",
        "ModelReplied",
        "RunCompleted",
    ]
