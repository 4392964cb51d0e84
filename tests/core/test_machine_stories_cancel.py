"""Stories of stopping: cancellation in every phase, and a thread that can go on afterwards."""

from collections.abc import Callable

import pytest
from tests.core.builders import NOON, Tale, glance, ran, results

from pollux.core.errors import Misfit
from pollux.core.machine import pending
from pollux.core.run import Ending
from pollux.core.tools import Repeat

DROPPED = {"error": "the run was cancelled before this ran"}
ELSEWHERE = {"error": "the run was cancelled while this was done elsewhere; it may or may not have happened"}

AT_ONCE: dict[str, Callable[[], Tale]] = {
    "before anybody claimed it": lambda: Tale(),
    "before the model was asked": lambda: Tale().claim(),
    "while the model answers": lambda: Tale().claim().ask(),
    "while waiting to try again": lambda: Tale().claim().ask().fail(retry_after=20),
    "with a call undecided": lambda: ran("a"),
    "with a call allowed": lambda: ran("a").allow("a"),
    "with a question open": lambda: ran("a").hold("a"),
    "with a question answered": lambda: ran("a").hold("a").resolve("a"),
    "with a page working": lambda: ran("a").allow("a", where="page").start("a", seconds=60),
    "with a child working": lambda: ran("a").allow("a", where="child").start("a").hand_over("a"),
    "with a repeatable tool interrupted": lambda: ran("a").allow("a", repeat="repeatable").start("a").claim(),
    "after a look found nothing": lambda: (
        ran("a").allow("a", repeat="checkable").start("a").claim().look("a", "not_done")
    ),
}


@pytest.mark.parametrize("phase", AT_ONCE)
def test_with_nothing_in_flight_a_run_is_cancelled_at_once(phase: str):
    tale = AT_ONCE[phase]().cancel()

    assert tale.run.ending == Ending("cancelled", NOON, "cancelled", "the run was cancelled")
    assert set(results(tale.run)) == {action.call.id for action in tale.run.actions}
    said = ELSEWHERE if phase in ("with a page working", "with a child working") else DROPPED
    assert all(result == said for result in results(tale.run).values())


def test_what_is_in_flight_must_end_before_the_run_is_cancelled():
    tale = ran("a", "b").allow("a").hold("b").start("a").cancel()
    assert glance(tale.run) == "executing: nothing"
    assert not tale.run.approvals

    tale.complete("a", "sent")
    assert tale.run.status == "cancelled"
    assert results(tale.run) == {"a": "sent", "b": DROPPED}


def test_a_once_tool_that_was_stopped_has_an_unknown_outcome_and_its_late_result_is_recorded():
    tale = ran("a").allow("a").start("a").cancel().break_("a", "outcome_unknown")
    assert tale.run.status == "cancelled"

    outcome = tale.complete("a", "sent").action("a").outcome
    assert outcome is not None
    assert outcome.result == "sent"


LOST: list[tuple[Repeat, str]] = [
    ("once", "outcome_unknown"),
    ("keyed", "outcome_unknown"),
    ("repeatable", "cancelled"),
]


@pytest.mark.parametrize(("repeat", "code"), LOST)
def test_a_driver_that_dies_while_cancelling_leaves_the_truth_as_far_as_it_is_known(repeat: Repeat, code: str):
    tale = ran("a").allow("a", repeat=repeat).start("a").cancel().claim()

    outcome = tale.action("a").outcome
    assert outcome is not None
    assert (tale.run.status, outcome.code) == ("cancelled", code)


@pytest.mark.parametrize("died", ["before", "after"])
@pytest.mark.parametrize(("found", "code"), [("done", ""), ("not_done", "cancelled"), ("unknown", "outcome_unknown")])
def test_a_checkable_tool_is_looked_up_even_while_cancelling(died: str, found: str, code: str):
    tale = ran("a").allow("a", repeat="checkable").start("a")
    tale = tale.claim().cancel() if died == "before" else tale.cancel().claim()
    assert glance(tale.run) == "executing: look 1.0 #1"

    outcome = tale.look("a", found).action("a").outcome
    assert outcome is not None
    assert (tale.run.status, outcome.code) == ("cancelled", code)


def test_nobody_looks_while_the_tool_is_still_at_work_nor_twice():
    tale = ran("a", "b").allow("a", repeat="checkable").allow("b", where="child").start("a").start("b").cancel()
    assert glance(tale.run) == "executing: nothing"

    tale.hand_over("b").claim().look("a", "done")
    assert glance(tale.run) == "executing: nothing"


def test_a_keyed_tool_that_was_interrupted_is_unknown_when_it_may_not_run_again():
    tale = ran("a").allow("a", repeat="keyed").start("a").claim().cancel()

    outcome = tale.action("a").outcome
    assert outcome is not None
    assert (tale.run.status, outcome.code) == ("cancelled", "outcome_unknown")


def test_a_run_is_cancelled_once():
    tale = ran("a").allow("a").start("a").cancel()
    for again in (tale, Tale().claim().cancel()):
        with pytest.raises(Misfit) as refusal:
            again.cancel()
        assert refusal.value.code == "run_ended"


def test_nothing_new_begins_while_cancelling():
    tale = ran("a", "b", "c").allow("a").allow("b").hold("c").start("a").cancel()
    assert pending(tale.run) == ()
    for attempt in (lambda: tale.start("b"), lambda: tale.refuse("b"), lambda: tale.allow("c"), tale.ask):
        with pytest.raises(Misfit):
            attempt()


def test_a_question_closed_by_cancelling_is_withdrawn():
    approval = ran("a").hold("a").cancel().action("a").approval

    assert approval is not None
    assert approval.status == "withdrawn"


def test_a_question_that_was_answered_keeps_its_answer_when_the_run_is_cancelled():
    approval = ran("a").hold("a").resolve("a").cancel().action("a").approval

    assert approval is not None
    assert approval.status == "approved"


def test_a_cancelled_run_keeps_who_stopped_it_and_why():
    run = Tale().claim().cancel("superseded").run

    assert run.cancel is not None
    assert (run.cancel.by, run.cancel.reason, run.status) == ("ada", "superseded", "cancelled")


def test_a_refused_call_keeps_its_own_answer_when_the_run_is_cancelled():
    tale = ran("a", "b").refuse("a").cancel()

    assert results(tale.run) == {"a": {"error": "no such"}, "b": DROPPED}
