"""Stories of a tool at work that asks for other calls: gated like the model's, answered to the tool, gone with it."""

from dataclasses import replace
from typing import Any

import pytest
from tests.core.builders import LIFE, NOON, asked_of, at_work, glance, ran, refolded, results

from pollux.core.errors import Misfit
from pollux.core.events import ActionDecided, ToolObserved
from pollux.core.ids import ActionId
from pollux.core.machine import step
from pollux.core.policy import Mode
from pollux.core.run import Action, asked_id, run_of
from pollux.core.turns import MAX_CALLS

# What becomes of a call that is asked for.


def test_a_call_that_is_allowed_runs_while_its_asker_works():
    tale = at_work().request("a")
    assert glance(tale.run) == "executing: run 1.0 #1 begun, run 1.0-1 #1"

    tale.start("a-1").complete("a-1", "found")
    assert (tale.outcome("a-1").result, tale.action("a").asked) == ("found", 1)
    assert glance(tale.run) == "executing: run 1.0 #1 begun"
    assert [call.id for call in tale.run.calls] == ["a"]


def test_a_call_that_needs_a_person_waits_while_its_asker_works():
    tale = at_work().request("a", "require_approval")
    assert glance(tale.run) == "executing: run 1.0 #1 begun, wakes at 300"
    assert [approval.id for approval in tale.run.approvals] == ["apr_1_1.0-1"]
    with pytest.raises(Misfit):
        tale.start("a-1")

    tale.resolve("a-1").start("a-1").complete("a-1")
    assert glance(tale.run) == "executing: run 1.0 #1 begun"


def test_a_denied_call_is_answered_at_once():
    tale = at_work().request("a", "deny")

    assert tale.outcome("a-1").code == "policy_denied"
    assert glance(tale.run) == "executing: run 1.0 #1 begun"


@pytest.mark.parametrize("on_reject", ["answer", "fail"])
def test_a_rejection_is_for_the_asker_to_take_and_does_not_end_the_run(on_reject: str):
    tale = ran("a", on_reject=on_reject).allow("a").start("a").request("a", "require_approval")
    tale.resolve("a-1", "rejected", feedback="not now")

    assert tale.outcome("a-1").result == {"error": "the user rejected this call", "feedback": "not now"}
    assert glance(tale.complete("a").run) == "planning: model 2.1"


def test_a_question_that_nobody_answers_expires_while_its_asker_works():
    tale = at_work().request("a", "require_approval").wait(LIFE)

    assert (tale.outcome("a-1").code, tale.question("a-1")) == ("expired", "expired")
    assert glance(tale.run) == "executing: run 1.0 #1 begun"


def test_a_call_whose_terms_have_changed_is_stopped_and_its_asker_works_on():
    tale = at_work().request("a").stop("a-1")

    assert tale.outcome("a-1").code == "policy_changed"
    assert glance(tale.run) == "executing: run 1.0 #1 begun"


def test_a_page_answers_a_call_that_was_asked_for_or_is_given_up():
    tale = at_work().request("a", where="page").start("a-1", seconds=60)
    tale.request("a", where="page").start("a-2", seconds=60).complete("a-1", "clicked").wait(60)

    assert [tale.outcome(name).code for name in ("a-1", "a-2")] == ["", "page_gone"]
    assert glance(tale.run) == "executing: run 1.0 #1 begun"


def test_what_the_model_reads_is_the_answer_to_its_own_call_alone():
    tale = at_work("b").request("a").start("a-1").complete("a-1", "found").allow("b").start("b")
    tale.complete("b", "read").request("a", "deny").complete("a", "made of it")

    assert results(tale.run) == {"a": "made of it", "b": "read"}
    assert [message.role for message in tale.run.messages] == ["user", "assistant", "tool"]
    assert [action.call.id for action in tale.run.actions] == ["a-1", "a-2", "a", "b"]


# Several of them.


def test_several_are_open_at_once_and_answered_in_any_order():
    modes: tuple[Mode, ...] = ("allow", "require_approval", "require_approval")
    tale = at_work()
    for mode in modes:
        tale.request("a", mode)
    tale.resolve("a-3").start("a-3").start("a-1").complete("a-3")
    assert glance(tale.run) == "executing: run 1.0 #1 begun, run 1.0-1 #1 begun, wakes at 300"

    tale.resolve("a-2", "rejected").complete("a-1")
    assert [action.call.id for action in tale.run.done] == ["a-3", "a-2", "a-1"]


def test_128_are_open_at_once_and_no_more():
    tale = at_work()
    for _ in range(MAX_CALLS):
        tale.request("a", "require_approval")
    with pytest.raises(Misfit, match="at most 128 calls"):
        tale.request("a")

    tale.resolve("a-7", "rejected").request("a")
    assert tale.action(f"a-{MAX_CALLS + 1}").asker == tale.action("a").id


def test_500_one_after_another_leave_nothing_open_behind():
    tale = at_work()
    for number in range(1, 501):
        tale.request("a").start(f"a-{number}").complete(f"a-{number}")
        assert (len(tale.run.calls), len(tale.run.open), len(tale.run.messages)) == (1, 1, 2)

    assert tale.action("a").asked == 500
    assert len({action.id for action in tale.run.actions}) == 501
    assert refolded(tale.complete("a")) == tale.run


def test_a_call_that_was_asked_for_may_ask_in_turn():
    tale = at_work().request("a").start("a-1").request("a-1", "require_approval").resolve("a-1-1")
    assert glance(tale.run) == "executing: run 1.0 #1 begun, run 1.0-1 #1 begun, run 1.0-1-1 #1"

    tale.start("a-1-1").complete("a-1-1").complete("a-1").complete("a")
    assert glance(tale.run) == "planning: model 2.1"
    assert run_of(tale.action("a-1-1").id) == tale.run.id


# Tools that want to be alone.


def test_a_tool_that_wants_to_be_alone_runs_beside_the_one_that_asked_for_it():
    for alone in ({"parallel": False}, {}):
        tale = at_work(**alone).request("a", parallel=False)
        assert glance(tale.run) == "executing: run 1.0 #1 begun, run 1.0-1 #1"


def test_it_runs_beside_all_those_who_wait_for_it_however_many_there_are_between():
    tale = at_work(parallel=False).request("a", parallel=False).start("a-1").request("a-1", parallel=False)

    assert glance(tale.run) == "executing: run 1.0 #1 begun, run 1.0-1 #1 begun, run 1.0-1-1 #1"


def test_it_waits_for_a_tool_that_has_nothing_to_do_with_it():
    tale = at_work("b").allow("b").start("b").request("a", parallel=False)
    assert glance(tale.run) == "executing: run 1.0 #1 begun, run 1.1 #1 begun"

    assert glance(tale.complete("b").run) == "executing: run 1.0 #1 begun, run 1.0-1 #1"


def test_two_that_want_to_be_alone_run_one_after_the_other():
    tale = at_work().request("a", parallel=False).request("a", parallel=False)
    assert glance(tale.run) == "executing: run 1.0 #1 begun, run 1.0-1 #1"

    assert glance(tale.start("a-1").complete("a-1").run) == "executing: run 1.0 #1 begun, run 1.0-2 #1"


def test_two_askers_do_not_wait_for_one_another_for_ever():
    tale = at_work("b").allow("b").start("b").request("a", parallel=False).request("b", parallel=False)
    assert glance(tale.run) == "executing: run 1.0 #1 begun, run 1.1 #1 begun, run 1.0-1 #1"

    tale.start("a-1").complete("a-1").complete("a")
    assert glance(tale.run) == "executing: run 1.1 #1 begun, run 1.1-1 #1"


def test_a_call_of_the_model_does_not_use_the_room_that_an_asker_leaves():
    tale = at_work("b").allow("b", parallel=False).request("a", "require_approval")

    assert glance(tale.run) == "executing: run 1.0 #1 begun, wakes at 300"


# Who may ask, and under which name.

WRONG: dict[str, dict[str, Any]] = {
    "another's number": {"id": ActionId("act_1_1.1-1")},
    "a number that is taken": {"id": ActionId("act_1_1.0-1")},
    "a number ahead of its time": {"id": ActionId("act_1_1.0-3")},
    "the name of a call of the model": {"id": ActionId("act_1_1.1")},
    "another turn": {"turn": 2},
    "an asker that is not at work": {"asker": "act_1_1.1", "id": ActionId("act_1_1.1-1")},
    "an asker that nobody knows": {"asker": "act_ghost_1.0", "id": ActionId("act_ghost_1.0-1")},
}


@pytest.mark.parametrize("name", WRONG)
def test_nothing_is_asked_for_under_a_foreign_name(name: str):
    tale = at_work("b").allow("b").request("a").start("a-1").complete("a-1")

    with pytest.raises(Misfit):
        tale.request("a", **WRONG[name])
    assert tale.request("a").action("a-2").asker == tale.action("a").id


def test_a_call_that_is_open_already_is_not_asked_for_again():
    tale = at_work("b")

    with pytest.raises(Misfit):
        tale.request("a", call=tale.run.calls[1])


@pytest.mark.parametrize("epoch", [0, 2])
def test_only_the_driver_of_this_epoch_asks(epoch: int):
    tale = at_work()
    action = asked_of(tale.run, tale.action("a"))

    with pytest.raises(Misfit):
        step(tale.run, ActionDecided(epoch=epoch, action=action, at=NOON))


GONE = {
    "after it ended": lambda: at_work("b").complete("a"),
    "after it was interrupted": lambda: at_work("b", repeat="keyed").claim(),
    "before it began": lambda: ran("a").allow("a"),
    "while a page has it": lambda: ran("a").allow("a", where="page").start("a"),
    "while a child has it": lambda: ran("a").allow("a", where="child").start("a").hand_over("a"),
    "once the turn is closed": lambda: at_work().complete("a"),
}


@pytest.mark.parametrize("moment", GONE)
def test_only_an_action_at_work_asks_or_is_observed(moment: str):
    tale = GONE[moment]()

    with pytest.raises(Misfit):
        tale.request("a")
    with pytest.raises(Misfit):
        tale.observe("a")


def test_what_was_asked_for_is_judged_as_it_was_asked_and_cannot_be_edited():
    tale = at_work("b").hold("b").request("a", "require_approval")
    edited: dict[str, Any] = {"args": {"n": 2}, "edited_by": "ada"}
    asked, own = tale.action("a-1"), tale.action("b")

    for old, new in (
        (asked, replace(asked, id=ActionId(f"{asked.id}.1"), **edited)),
        (asked, replace(asked, id=ActionId(f"{asked.id}.1"), asker="", **edited)),
        (own, replace(own, id=ActionId(f"{own.id}.1"), asker=tale.action("a").id, **edited)),
    ):
        with pytest.raises(Misfit, match="stay as it is"):
            step(tale.run, ActionDecided(epoch=1, action=new, supersedes=old.id, at=NOON))


def test_a_question_asked_for_needs_an_approval_like_any_other():
    tale = at_work()

    with pytest.raises(Misfit):
        tale.request("a", "require_approval", approval=None)
    assert tale.action("a").asked == 0


def test_the_name_of_what_is_asked_for_is_the_asker_s_with_a_number():
    assert asked_id(ActionId("act_1_2.3"), 4) == "act_1_2.3-4"
    assert asked_id(asked_id(ActionId("act_1_2.3.1"), 4), 5) == "act_1_2.3.1-4-5"


# What is seen and not asked for.


def test_what_an_agent_did_unasked_is_counted_and_nothing_follows_from_it():
    tale = at_work().observe("a").observe("a")

    assert tale.action("a").observed == 2
    assert glance(tale.run) == "executing: run 1.0 #1 begun"
    assert results(tale.complete("a").run) == {"a": "done"}


def test_what_an_agent_did_while_it_was_being_stopped_is_counted_too():
    assert at_work().cancel().observe("a").action("a").observed == 1


def test_a_driver_of_the_past_observes_nothing():
    tale = at_work(repeat="keyed").claim().start("a")
    known: dict[str, Any] = {"action_id": tale.action("a").id, "tool": "read", "title": "", "status": "", "at": NOON}

    with pytest.raises(Misfit):
        step(tale.run, ToolObserved(epoch=1, **known))
    assert _observed(step(tale.run, ToolObserved(epoch=2, **known)).open) == [1]


def _observed(actions: tuple[Action, ...]) -> list[int]:
    return [action.observed for action in actions]
