"""Stories of execution: starts, deaths of drivers, looks at the world, late truths, pages and children."""

from dataclasses import replace
from typing import Any, Literal

import pytest
from tests.core.builders import LIFE, NOON, Tale, glance, ran

from pollux.core.errors import Misfit
from pollux.core.events import (
    ActionCompleted,
    ActionFailed,
    ActionHandedOver,
    ActionReconciled,
    ActionStarted,
    RunClaimed,
)
from pollux.core.ids import ActionId
from pollux.core.machine import step
from pollux.core.run import Ending
from pollux.core.tools import Repeat

REPEATS: list[Repeat] = ["repeatable", "keyed", "checkable", "once"]


def _begun(repeat: Repeat = "once") -> Tale:
    return ran("a").allow("a", repeat=repeat).start("a")


def _died(repeat: Repeat) -> Tale:
    """A driver announced an attempt and was never heard of again; another one took over."""
    return _begun(repeat).claim()


# Starting.


def test_an_action_starts_once_in_an_epoch():
    with pytest.raises(Misfit, match="not to be running"):
        _begun("repeatable").start("a")


@pytest.mark.parametrize("wrong", [{"epoch": 0}, {"epoch": 2}, {"attempt": 0}, {"attempt": 2}, {"action_id": "act_x"}])
def test_a_start_of_the_wrong_driver_attempt_or_action_is_refused(wrong: dict[str, Any]):
    tale = ran("a").allow("a")
    fact = ActionStarted(epoch=1, action_id=tale.action("a").id, attempt=1, at=NOON)
    with pytest.raises(Misfit):
        step(tale.run, replace(fact, **wrong))


def test_a_failed_tool_is_told_to_the_model_and_the_run_goes_on():
    tale = _begun().break_("a")

    assert tale.action("a").status == "failed"
    assert tale.result("a") == {"error": "it broke"}
    assert glance(tale.run) == "planning: model 2.1"


def test_a_policy_that_changed_its_mind_stops_an_action_before_its_start():
    tale = ran("a").hold("a").resolve("a").stop("a")

    assert tale.action("a").status == "rejected"
    assert tale.result("a") == {"error": "changed"}


def test_what_is_running_or_not_allowed_cannot_be_stopped_before_its_start():
    for tale in (_begun(), ran("a").hold("a"), ran("a").allow("a", where="page").start("a")):
        with pytest.raises(Misfit, match="not to have begun"):
            tale.stop("a")


def test_an_older_driver_cannot_stop_an_action():
    tale = ran("a").allow("a").claim()
    stale = ActionFailed(epoch=1, action_id=tale.action("a").id, attempt=0, code="policy_changed", message="", at=NOON)
    with pytest.raises(Misfit):
        step(tale.run, stale)


def test_a_result_for_an_attempt_that_was_never_made_is_refused():
    tale = ran("a").allow("a")
    with pytest.raises(Misfit):
        tale.complete("a")
    unknown = ActionCompleted(epoch=1, action_id=ActionId("act_x"), attempt=1, result=1, at=NOON)
    with pytest.raises(Misfit, match="known action"):
        step(tale.run, unknown)


def test_success_cannot_be_reported_for_no_attempt():
    tale = ran("a").allow("a")
    with pytest.raises(Misfit):
        step(tale.run, ActionCompleted(epoch=1, action_id=tale.action("a").id, attempt=0, result=1, at=NOON))


# A driver dies.


@pytest.mark.parametrize("epoch", [0, 1, 3])
def test_a_run_is_claimed_by_the_next_epoch_and_no_other(epoch: int):
    with pytest.raises(Misfit) as refusal:
        step(Tale().claim().run, RunClaimed(epoch=epoch, driver="d", at=NOON))
    assert refusal.value.code == "claimed"


@pytest.mark.parametrize("repeat", ["repeatable", "keyed"])
def test_what_may_be_repeated_is_run_again_as_a_new_attempt(repeat: Repeat):
    tale = _died(repeat)
    assert glance(tale.run) == "executing: run 1.0 #2"

    tale.start("a").complete("a")
    assert glance(tale.run) == "planning: model 2.1"


def test_what_may_happen_only_once_has_an_unknown_outcome_and_the_run_fails():
    tale = _died("once")

    said = "tool_a was interrupted; it may or may not have happened"
    assert tale.run.ending == Ending("failed", NOON, "outcome_unknown", said)
    assert tale.result("a") == {"error": "tool_a was interrupted; it may or may not have happened"}


def test_an_unknown_outcome_waits_for_its_siblings_before_the_run_fails():
    tale = ran("a", "b").allow("a").allow("b", repeat="repeatable").start("a").start("b").claim()
    assert glance(tale.run) == "executing: run 1.1 #2"

    tale.start("b").complete("b")
    assert tale.run.ending
    assert tale.run.ending.code == "outcome_unknown"


@pytest.mark.parametrize("repeat", ["checkable", "once"])
def test_what_may_have_happened_is_not_started_again(repeat: Repeat):
    tale = ran("a", "b").allow("a", repeat=repeat).hold("b").start("a").claim()
    with pytest.raises(Misfit):
        tale.start("a")


def test_a_policy_that_changed_does_not_undo_what_may_have_happened():
    outcomes = {repeat: _died(repeat).stop("a").action("a").outcome for repeat in REPEATS if repeat != "once"}

    codes = {repeat: outcome.code for repeat, outcome in outcomes.items() if outcome}
    assert codes == {"repeatable": "policy_changed", "keyed": "outcome_unknown", "checkable": "outcome_unknown"}


def test_a_policy_that_changed_stops_what_was_looked_up_and_had_not_happened():
    tale = _died("checkable").look("a", "not_done").stop("a")

    assert tale.action("a").status == "rejected"


def test_a_claim_leaves_what_has_not_begun_alone():
    tale = ran("a", "b").allow("a").hold("b").claim()

    assert glance(tale.run) == "awaiting_confirmation: run 1.0 #1, wakes at 300"


# A look at the world.


def test_a_look_that_finds_it_done_gives_the_result():
    tale = _died("checkable")
    assert glance(tale.run) == "executing: look 1.0 #1"

    tale.look("a", "done", {"id": 7})
    assert tale.result("a") == {"id": 7}


def test_a_look_that_finds_nothing_lets_it_run_again():
    tale = _died("checkable").look("a", "not_done")
    assert glance(tale.run) == "executing: run 1.0 #2"

    tale.start("a").claim()
    assert glance(tale.run) == "executing: look 1.0 #2"


def test_a_look_that_cannot_tell_leaves_the_outcome_unknown():
    assert _died("checkable").look("a", "unknown").run.status == "failed"


def test_nobody_looks_at_what_is_running_not_checkable_or_looked_up_already():
    for tale in (_begun("checkable"), _died("keyed"), _died("checkable").look("a", "not_done")):
        with pytest.raises(Misfit, match="interrupted, checkable and not looked up yet"):
            tale.look("a", "done")


def test_a_look_by_an_older_driver_is_refused():
    tale = _died("checkable").claim()
    stale = ActionReconciled(epoch=2, action_id=tale.action("a").id, outcome="done", at=NOON)
    with pytest.raises(Misfit):
        step(tale.run, stale)


# Late truths.


@pytest.mark.parametrize("repeat", ["repeatable", "keyed", "checkable"])
def test_a_late_result_of_an_older_driver_is_taken_while_nothing_replaced_it(repeat: Repeat):
    tale = _died(repeat).complete("a", "late")

    assert tale.result("a") == "late"
    assert glance(tale.run) == "planning: model 2.1"


def test_a_late_result_is_refused_once_the_action_was_started_again():
    tale = _begun("keyed")
    late = tale.attempt("a")
    tale.claim().start("a")
    for fact in (ActionCompleted(result="late", **late), ActionFailed(code="x", message="", **late)):
        with pytest.raises(Misfit, match="started again"):
            step(tale.run, fact)


def test_a_late_truth_replaces_an_unknown_outcome_even_after_the_end():
    tale = _died("once").complete("a", "sent")

    assert tale.run.status == "failed"
    outcome = tale.action("a").outcome
    assert outcome is not None
    assert (outcome.status, outcome.result) == ("completed", "sent")


def test_a_late_truth_before_the_end_saves_the_run():
    tale = ran("a", "b").allow("a").hold("b").start("a").claim().complete("a", "sent").claim().resolve("b", "rejected")

    assert glance(tale.run) == "planning: model 2.1"
    assert tale.result("a") == "sent"


def test_the_truth_is_told_once():
    tale = _died("once").complete("a", "sent")
    for fact in (
        ActionCompleted(result="again", **tale.attempt("a")),
        ActionFailed(code="x", message="", **tale.attempt("a")),
    ):
        with pytest.raises(Misfit, match="to be open"):
            step(tale.run, fact)


def test_not_knowing_is_no_news():
    tale = _died("once")
    with pytest.raises(Misfit):
        tale.break_("a", "outcome_unknown")


@pytest.mark.parametrize(("outcome", "status", "code"), [("done", "completed", ""), ("not_done", "failed", "not_done")])
def test_a_person_settles_what_no_machine_could(outcome: Literal["done", "not_done"], status: str, code: str):
    tale = _died("once").settle("a", outcome)

    settled = tale.action("a").outcome
    assert settled is not None
    assert (settled.status, settled.code) == (status, code)
    assert "ada" in settled.message


def test_what_is_known_cannot_be_settled():
    cases = [_begun().complete("a"), _died("once").settle("a", "done"), _begun()]
    for tale in cases:
        with pytest.raises(Misfit) as refusal:
            tale.settle("a", "not_done")
        assert refusal.value.code == "already_resolved"


def test_a_key_that_only_the_user_can_mend_ends_the_run_rather_than_letting_the_model_talk_around_it():
    tale = _begun().break_("a", "auth_error")

    assert tale.run.ending == Ending("failed", NOON, "auth_error", "it broke")


# Pages and children.


def _page(seconds: float | None = 60) -> Tale:
    return ran("a").allow("a", where="page").start("a", seconds=seconds)


def test_a_page_call_waits_for_the_page_and_no_longer_than_its_deadline():
    tale = _page()

    assert tale.action("a").status == "awaiting_confirmation"
    assert glance(tale.run) == "awaiting_confirmation: nothing, wakes at 60"


def test_a_page_answers_by_submitting_the_result():
    assert _page().complete("a", {"title": "Shop"}).result("a") == {"title": "Shop"}


def test_a_page_that_went_away_is_a_failed_call():
    tale = _page().wait(60)

    outcome = tale.action("a").outcome
    assert outcome is not None
    assert outcome.code == "page_gone"
    assert glance(tale.run) == "planning: model 2.1"
    with pytest.raises(Misfit):
        tale.complete("a")


def test_only_the_page_that_is_late_is_given_up():
    tale = ran("a", "b").allow("a", where="page").allow("b", where="page").start("a", seconds=10).start("b", seconds=60)

    assert glance(tale.wait(10).run) == "awaiting_confirmation: nothing, wakes at 60"


def test_a_page_without_a_deadline_is_waited_for():
    assert glance(_page(None).run) == "awaiting_confirmation: nothing"

    tale = ran("a", "b").allow("a", where="page").start("a").hold("b").wait(LIFE)
    assert glance(tale.run) == "awaiting_confirmation: nothing"


def test_the_clock_takes_nothing_from_a_page_that_answered_nor_from_a_tool_at_work():
    tale = (
        ran("a", "b", "c").allow("a", where="page").allow("b").hold("c").start("a", seconds=10).start("b", seconds=10)
    )
    tale.complete("a", "seen").wait(LIFE).complete("b", "made")

    assert (tale.result("a"), tale.result("b")) == ("seen", "made")


def test_a_page_does_not_care_which_driver_asked_it():
    tale = _page().claim().claim()
    assert glance(tale.run) == "awaiting_confirmation: nothing, wakes at 60"

    assert tale.complete("a", 1).result("a") == 1


def test_a_page_call_does_not_keep_a_tool_that_wants_to_be_alone_waiting():
    tale = ran("a", "b").allow("a", where="page").start("a").allow("b", parallel=False)

    assert glance(tale.run) == "awaiting_confirmation: run 1.1 #1"


def test_a_child_run_outlives_the_driver_that_set_it_going():
    tale = ran("a").allow("a", where="child").start("a").hand_over("a").claim()
    assert glance(tale.run) == "executing: nothing"

    assert tale.complete("a", "the child's answer").result("a") == "the child's answer"


def test_a_child_that_was_never_handed_over_is_interrupted_like_any_tool():
    tale = ran("a").allow("a", where="child", repeat="keyed").start("a").claim()

    assert glance(tale.run) == "executing: run 1.0 #2"


def test_only_a_child_that_is_starting_can_be_handed_over():
    child = ran("a").allow("a", where="child")
    for tale in (_begun(), _page(), child, child.start("a").hand_over("a")):
        with pytest.raises(Misfit):
            tale.hand_over("a")


@pytest.mark.parametrize("wrong", [{"epoch": 2}, {"attempt": 2}])
def test_a_child_is_handed_over_by_the_attempt_that_started_it(wrong: dict[str, int]):
    tale = ran("a").allow("a", where="child").start("a")
    with pytest.raises(Misfit):
        step(tale.run, replace(ActionHandedOver(**tale.attempt("a")), **wrong))
