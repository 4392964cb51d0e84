"""Stories of how what a tool asked for ends: with its asker, with a driver, unknown, or with the run."""

import pytest
from tests.core.builders import NOON, at_work, glance, ran, results

from pollux.core.errors import Misfit
from pollux.core.policy import Mode
from pollux.core.tools import Repeat

# The asker ends.


@pytest.mark.parametrize("mode", ["allow", "require_approval"])
def test_what_has_not_begun_when_its_asker_ends_is_withdrawn(mode: Mode):
    tale = at_work().request("a", mode).complete("a")

    assert tale.outcome("a-1").code == "withdrawn"
    assert not tale.run.approvals
    assert glance(tale.run) == "planning: model 2.1"
    assert results(tale.run) == {"a": "done"}


def test_a_question_that_was_withdrawn_takes_no_answer():
    tale = at_work().request("a", "require_approval").break_("a")

    assert tale.question("a-1") == "withdrawn"
    with pytest.raises(Misfit) as refused:
        tale.resolve("a-1")
    assert refused.value.code == "withdrawn"


def test_leave_that_came_before_the_asker_ended_is_not_used_after_it():
    tale = at_work().request("a", "require_approval").resolve("a-1").complete("a")

    assert (tale.question("a-1"), tale.outcome("a-1").code) == ("approved", "withdrawn")
    with pytest.raises(Misfit):
        tale.start("a-1")


def test_what_has_begun_when_its_asker_ends_is_waited_for():
    tale = at_work().request("a").start("a-1").complete("a")
    assert glance(tale.run) == "executing: run 1.0-1 #1 begun"

    assert glance(tale.complete("a-1").run) == "planning: model 2.1"
    assert results(tale.run) == {"a": "done"}


def test_what_was_asked_for_in_between_goes_with_the_one_that_asked():
    tale = at_work().request("a").start("a-1").request("a-1", "require_approval").complete("a-1")

    assert tale.outcome("a-1-1").code == "withdrawn"
    assert glance(tale.run) == "executing: run 1.0 #1 begun"


def test_a_child_that_is_handed_over_waits_for_nothing_that_it_asked_for():
    tale = at_work(where="child").request("a", "require_approval").hand_over("a")

    assert tale.outcome("a-1").code == "withdrawn"
    assert glance(tale.run) == "executing: nothing"


# The driver dies.


def test_a_driver_s_death_withdraws_the_question_and_nobody_knows_how_far_the_asker_came():
    tale = at_work().request("a", "require_approval").claim()

    assert (tale.outcome("a").code, tale.question("a-1")) == ("outcome_unknown", "withdrawn")
    assert tale.run.ending is not None
    assert tale.run.ending.code == "outcome_unknown"
    with pytest.raises(Misfit) as refused:
        tale.resolve("a-1")
    assert refused.value.code == "withdrawn"


def test_an_asker_that_runs_again_asks_anew_and_counts_on():
    tale = at_work(repeat="repeatable").request("a", "require_approval").claim()
    assert tale.question("a-1") == "withdrawn"
    assert glance(tale.run) == "executing: run 1.0 #2"

    tale.start("a").request("a", "require_approval").resolve("a-2").start("a-2").complete("a-2").complete("a")
    assert [action.id for action in tale.run.actions] == ["act_1_1.0-1", "act_1_1.0-2", "act_1_1.0"]
    assert glance(tale.run) == "planning: model 2.1"


INTERRUPTED: list[tuple[Repeat, str]] = [
    ("once", "outcome_unknown"),
    ("keyed", "outcome_unknown"),
    ("repeatable", "withdrawn"),
]


@pytest.mark.parametrize(("repeat", "code"), INTERRUPTED)
def test_what_was_interrupted_with_its_asker_is_not_run_again_for_nobody(repeat: Repeat, code: str):
    tale = at_work(repeat="repeatable").request("a", repeat=repeat).start("a-1").claim()

    assert tale.outcome("a-1").code == code
    assert glance(tale.run) == "executing: run 1.0 #2"


@pytest.mark.parametrize(("found", "code"), [("done", ""), ("not_done", "withdrawn"), ("unknown", "outcome_unknown")])
def test_what_can_be_looked_up_is_and_then_left_at_that(found: str, code: str):
    tale = at_work(repeat="repeatable").request("a", repeat="checkable").start("a-1").claim()
    assert glance(tale.run) == "executing: run 1.0 #2, look 1.0-1 #1"

    assert tale.look("a-1", found).outcome("a-1").code == code
    assert glance(tale.run) == "executing: run 1.0 #2"


def test_a_late_result_of_what_was_interrupted_is_still_the_truth():
    tale = at_work(repeat="repeatable").request("a").start("a-1").claim().complete("a-1", "sent")
    assert tale.outcome("a-1").result == "sent"

    assert glance(tale.start("a").complete("a").run) == "planning: model 2.1"


def test_a_page_or_a_child_that_works_for_an_asker_is_not_touched_by_a_driver_s_death():
    for where in ("page", "child"):
        tale = at_work().request("a", where=where).start("a-1")
        if where == "child":
            tale.hand_over("a-1")
        tale.claim()
        assert tale.action("a-1").outcome is None
        assert tale.complete("a-1").run.ending


# Nobody knows.


def test_what_was_asked_for_and_came_to_an_unknown_end_ends_the_run_as_unknown():
    tale = at_work().request("a").start("a-1").break_("a-1", "outcome_unknown")
    assert glance(tale.run) == "executing: run 1.0 #1 begun"

    tale.complete("a")
    assert tale.run.ending is not None
    assert (tale.run.ending.code, tale.run.ending.message) == ("outcome_unknown", "it broke")


def test_what_a_person_settles_in_time_lets_the_run_go_on():
    tale = at_work().request("a").start("a-1").break_("a-1", "outcome_unknown").settle("a-1", "done").complete("a")

    assert glance(tale.run) == "planning: model 2.1"


def test_what_stayed_unknown_can_be_settled_after_the_end():
    tale = at_work().request("a").start("a-1").claim().settle("a-1", "not_done")

    assert tale.outcome("a-1").code == "not_done"


def test_an_unknown_end_in_an_earlier_turn_is_not_held_against_this_one():
    tale = at_work().request("a").start("a-1").break_("a-1", "outcome_unknown").settle("a-1", "done").complete("a")
    tale.want("b").allow("b").start("b").request("b").start("b-1").complete("b-1").complete("b")

    assert glance(tale.run) == "planning: model 3.1"


# Stopping.


def test_a_cancelled_run_withdraws_what_was_asked_for_and_waits_for_what_is_in_flight():
    tale = at_work().request("a", "require_approval").request("a").request("a").start("a-3").cancel()
    assert [tale.outcome(name).code for name in ("a-1", "a-2")] == ["cancelled", "cancelled"]
    assert tale.question("a-1") == "withdrawn"
    with pytest.raises(Misfit):
        tale.request("a")

    assert tale.complete("a-3").run.is_open
    assert tale.complete("a").run.status == "cancelled"


def test_a_time_limit_does_the_same():
    tale = ran("a", deadline=NOON + 60).allow("a").start("a").request("a", "require_approval").wait(60)
    assert tale.question("a-1") == "withdrawn"

    tale.break_("a", "cancelled")
    assert tale.run.ending is not None
    assert tale.run.ending.code == "timeout"


@pytest.mark.parametrize(("found", "code"), [("done", ""), ("not_done", "cancelled"), ("unknown", "outcome_unknown")])
def test_while_cancelling_what_was_asked_for_is_still_looked_up(found: str, code: str):
    tale = at_work().request("a", repeat="checkable").start("a-1").cancel().claim()
    assert glance(tale.run) == "executing: look 1.0-1 #1"

    assert tale.look("a-1", found).outcome("a-1").code == code
    assert tale.run.status == "cancelled"


@pytest.mark.parametrize(("repeat", "code"), [("repeatable", "cancelled"), ("keyed", "outcome_unknown")])
def test_a_driver_that_dies_while_cancelling_drops_what_was_asked_for(repeat: Repeat, code: str):
    tale = at_work().request("a", repeat=repeat).start("a-1").cancel().claim()

    assert (tale.outcome("a-1").code, tale.run.status) == (code, "cancelled")
