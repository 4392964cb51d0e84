"""Stories of the gate: several calls in a turn, decisions, approvals in any order, rejections, expiry and edits."""

from collections.abc import Callable
from dataclasses import replace
from itertools import permutations
from typing import Any

import pytest
from tests.core.builders import LIFE, NOON, Tale, action_for, call, glance, ran, results

from pollux.core.errors import Misfit
from pollux.core.events import ActionDecided, ApprovalResolved, CallRefused
from pollux.core.ids import ActionId, ApprovalId
from pollux.core.machine import step
from pollux.core.messages import ToolResult, notice
from pollux.core.policy import Decision
from pollux.core.run import Action, Ending

# Several calls in one turn.


def test_allowed_calls_run_side_by_side_and_the_model_is_asked_when_all_have_answers():
    tale = ran("a", "b").allow("a").allow("b")
    assert glance(tale.run) == "planning: run 1.0 #1, run 1.1 #1"

    tale.start("a").start("b").complete("b", 2)
    assert glance(tale.run) == "executing: run 1.0 #1 begun"

    tale.complete("a", 1)
    assert glance(tale.run) == "planning: model 2.1"


def test_answers_are_told_in_the_order_of_the_calls_however_they_came():
    tale = ran("a", "b", "c").refuse("c").allow("a").deny("b").start("a").complete("a", 1)

    told = [part for part in tale.run.messages[-1].parts if isinstance(part, ToolResult)]
    assert [(part.call_id, part.name, part.is_error) for part in told] == [
        ("a", "tool_a", False),
        ("b", "tool_b", True),
        ("c", "tool_c", True),
    ]


def test_a_run_that_completed_says_how_many_of_its_calls_were_refused():
    tale = ran("a", "b", "c", "d").hold("a").deny("b").hold("c").allow("d").edit("c", to="eve")
    assert tale.run.refused == "", "it is under way"
    tale.resolve("a", "rejected").resolve("c", "rejected").start("d").complete("d").reply("Hardly any of it.")
    assert (tale.run.status, tale.run.refused) == ("completed", "2 rejected, 1 denied")
    assert ran("a").allow("a").start("a").complete("a").reply("Done.").run.refused == ""
    assert ran("a").deny("a").reply("No.").run.refused == "1 denied"


def test_a_tool_that_wants_to_be_alone_waits_for_the_others():
    tale = ran("a", "b", "c").allow("a").allow("b", parallel=False).allow("c")
    assert glance(tale.run) == "planning: run 1.0 #1, run 1.2 #1"

    tale.start("a").start("c").complete("a").complete("c")
    assert glance(tale.run) == "planning: run 1.1 #1"


def test_the_others_wait_for_a_tool_that_wants_to_be_alone():
    tale = ran("a", "b").allow("a", parallel=False).allow("b")
    assert glance(tale.run) == "planning: run 1.0 #1"

    tale.start("a")
    assert glance(tale.run) == "executing: run 1.0 #1 begun"
    assert glance(tale.complete("a").run) == "planning: run 1.1 #1"


@pytest.mark.parametrize("order", list(permutations("abc")))
def test_mixed_approvals_may_be_answered_in_any_order(order: tuple[str, ...]):
    tale = ran("a", "b", "c").hold("a").hold("b").hold("c")
    answers = {"a": "approved", "b": "rejected", "c": "approved"}
    for name in order:
        tale.resolve(name, answers[name])
    tale.start("a").start("c").complete("c", 3).complete("a", 1)

    assert results(tale.run) == {"a": 1, "b": {"error": "the user rejected this call"}, "c": 3}
    assert glance(tale.run) == "planning: model 2.1"


def test_a_late_approval_starts_beside_its_slow_sibling():
    tale = ran("a", "b").allow("a").hold("b").start("a").resolve("b")

    assert glance(tale.run) == "executing: run 1.0 #1 begun, run 1.1 #1"


# Decisions.


def test_a_denied_call_is_answered_with_the_reason_and_the_run_goes_on():
    tale = ran("a").deny("a")

    assert tale.action("a").status == "rejected"
    assert tale.result("a") == {"error": "the policy refused this call: because"}
    assert glance(tale.run) == "planning: model 2.1"


def test_a_call_that_nothing_can_answer_is_answered_with_an_error():
    tale = ran("a").refuse("a")

    assert tale.action("a").status == "failed"
    assert tale.result("a") == {"error": "no such"}
    assert glance(tale.run) == "planning: model 2.1"


def test_a_call_is_refused_only_once_and_only_if_it_was_made():
    tale = ran("a", "b").refuse("a")
    for name in ("a", "nobody"):
        with pytest.raises(Misfit, match="to be undecided"):
            tale.refuse(name)


def test_a_call_is_decided_once_and_by_the_driver_of_the_day():
    tale = ran("a", "b").allow("a")
    with pytest.raises(Misfit, match="to be undecided"):
        tale.hold("a")

    stale = CallRefused(epoch=1, call_id="b", code="unknown_tool", message="", at=NOON)
    with pytest.raises(Misfit, match="to be undecided"):
        step(tale.claim().run, stale)


UNFIT: dict[str, dict[str, Any]] = {
    "no decision at all": {"decision": None},
    "no approval to ask for": {"approval": None},
    "an approval of other arguments": {"args_hash": "other"},
    "an approval of another schema": {"schema_hash": "other"},
}


@pytest.mark.parametrize("case", UNFIT)
def test_an_action_must_ask_about_the_very_arguments_that_would_run(case: str):
    tale = ran("a")
    action = replace(action_for(tale.run, tale.run.calls[0], "require_approval"), **UNFIT[case])
    with pytest.raises(Misfit):
        tale.tell(ActionDecided(epoch=1, action=action, at=NOON))


def test_an_approval_request_leaves_a_line_for_people():
    assert ran("a").hold("a", preview="Mail to Bob").run.messages[-1] == notice("Approval needed: Mail to Bob")
    assert ran("a").hold("a").run.messages[-1] == notice("Approval needed: tool_a")


def test_nothing_starts_without_leave():
    waiting, undecided = ran("a").hold("a"), replace(ran("a").allow("a").action("a"), decision=None)
    with pytest.raises(Misfit, match="needs leave"):
        waiting.start("a")
    assert not undecided.has_leave


# Approvals.


def test_an_approved_action_runs_and_keeps_who_said_so():
    tale = ran("a").hold("a").resolve("a", scope="always").start("a").complete("a")

    approval = tale.action("a").approval
    assert approval is not None
    assert approval.resolution is not None
    assert (approval.status, approval.resolution.by, approval.resolution.scope) == ("approved", "ada", "always")


@pytest.mark.parametrize("second", ["approved", "rejected"])
@pytest.mark.parametrize("first", ["approved", "rejected"])
def test_an_approval_answered_twice_is_refused_the_second_time(first: str, second: str):
    tale = ran("a").hold("a").resolve("a", first)

    assert _code(tale, "a", second) == "already_resolved"


FATES: dict[str, tuple[Callable[[], Tale], str]] = {
    # On a run that is open.
    "approved": (lambda: ran("a").hold("a").resolve("a"), "already_resolved"),
    "approved, executing": (lambda: ran("a").hold("a").resolve("a").start("a"), "already_resolved"),
    "rejected": (lambda: ran("a").hold("a").resolve("a", "rejected"), "already_resolved"),
    "expired": (lambda: ran("a").hold("a").wait(LIFE), "expired"),
    "withdrawn": (lambda: ran("a", "b").hold("a").allow("b").start("b").cancel(), "withdrawn"),
    "superseded": (lambda: ran("a").hold("a").edit("a", to="b"), "superseded"),
    "superseded, the new one approved": (lambda: ran("a").hold("a").edit("a", to="b").resolve("a"), "superseded"),
    # On a run that has ended.
    "approved, completed": (
        lambda: ran("a").hold("a").resolve("a").start("a").complete("a").reply("hi"),
        "already_resolved",
    ),
    "approved, cancelled": (lambda: ran("a").hold("a").resolve("a").cancel(), "already_resolved"),
    "approved, outcome unknown": (lambda: ran("a").hold("a").resolve("a").start("a").claim(), "already_resolved"),
    "rejected, completed": (lambda: ran("a").hold("a").resolve("a", "rejected").reply("hi"), "already_resolved"),
    "rejected, failed": (lambda: ran("a", on_reject="fail").hold("a").resolve("a", "rejected"), "already_resolved"),
    "expired, completed": (lambda: ran("a").hold("a").wait(LIFE).reply("hi"), "expired"),
    "expired, failed": (lambda: ran("a", on_reject="fail").hold("a").wait(LIFE), "expired"),
    "withdrawn, cancelled": (lambda: ran("a").hold("a").cancel(), "withdrawn"),
    "withdrawn, timed out": (lambda: ran("a", deadline=NOON + 10).hold("a").wait(10), "withdrawn"),
    "superseded, completed": (
        lambda: ran("a").hold("a").edit("a", to="b").resolve("a").start("a").complete("a").reply("hi"),
        "superseded",
    ),
    "superseded, cancelled": (lambda: ran("a").hold("a").edit("a", to="b").cancel(), "superseded"),
}


@pytest.mark.parametrize("fate", FATES)
def test_a_late_answer_hears_what_became_of_the_approval_whether_or_not_the_run_goes_on(fate: str):
    tale, code = FATES[fate][0](), FATES[fate][1]
    asked = tale.run.action(ActionId("act_1_1.0"))
    assert asked is not None
    assert asked.approval is not None

    for decision in ("approved", "rejected"):
        answer = ApprovalResolved(approval_id=asked.approval.id, decision=decision, by="ada", at=tale.now)
        assert _refusal(tale, answer) == code
    edited = action_for(tale.run, asked.call, "require_approval", args={"to": "c"}, revision=5)
    assert _refusal(tale, ActionDecided(epoch=1, action=edited, supersedes=asked.id, at=tale.now)) == code


def test_the_fates_tell_of_open_and_of_ended_runs():
    assert {(code, make().run.is_open) for make, code in FATES.values()} == {
        (code, is_open)
        for code in ("already_resolved", "expired", "withdrawn", "superseded")
        for is_open in (True, False)
    }


def test_an_unknown_approval_cannot_be_answered():
    fact = ApprovalResolved(approval_id=ApprovalId("apr_x"), decision="approved", by="ada", at=NOON)
    with pytest.raises(Misfit, match="known approval"):
        step(ran("a").hold("a").run, fact)


def test_a_rejection_is_told_to_the_model_with_the_persons_words():
    tale = ran("a").hold("a").resolve("a", "rejected", feedback="ask Carol instead")

    assert tale.result("a") == {"error": "the user rejected this call", "feedback": "ask Carol instead"}
    assert glance(tale.run) == "planning: model 2.1"


def test_a_rejection_fails_the_run_where_the_profile_says_so():
    tale = ran("a", on_reject="fail").hold("a").resolve("a", "rejected")

    assert tale.run.ending == Ending("failed", NOON, "rejected", "the user rejected this call")
    assert tale.result("a") == {"error": "the user rejected this call"}


def test_a_rejection_that_fails_the_run_first_lets_the_others_finish():
    tale = ran("a", "b", on_reject="fail").hold("a").allow("b").start("b").resolve("a", "rejected")
    assert glance(tale.run) == "executing: run 1.1 #1 begun"

    assert tale.complete("b").run.status == "failed"


def test_a_denial_never_fails_the_run():
    assert ran("a", on_reject="fail").deny("a").run.is_open


# Expiry.


def test_nobody_answering_in_time_is_a_rejection():
    tale = ran("a").hold("a").wait(LIFE)

    assert tale.action("a").status == "rejected"
    assert tale.result("a") == {"error": "nobody answered the approval request in time"}
    assert glance(tale.run) == "planning: model 2.1"


def test_an_expired_approval_fails_the_run_where_the_profile_says_so():
    tale = ran("a", on_reject="fail").hold("a").wait(LIFE)

    assert tale.run.ending
    assert tale.run.ending.code == "expired"


def test_the_clock_closes_only_what_is_due():
    tale = ran("a", "b").hold("a", life=10.0).hold("b").wait(10)

    assert (tale.action("a").status, tale.action("b").status) == ("rejected", "awaiting_confirmation")
    assert glance(tale.run) == f"awaiting_confirmation: nothing, wakes at {LIFE:g}"
    assert (tale.run.turn, tale.run.attempt) == (1, 1)


def test_an_answer_after_its_time_is_refused_even_before_the_clock_spoke():
    tale = ran("a").hold("a")
    tale.now += LIFE

    assert _code(tale, "a", "approved") == "expired"
    with pytest.raises(Misfit) as refusal:
        tale.edit("a", to="b")
    assert refusal.value.code == "expired"


def test_an_approved_action_does_not_expire():
    tale = ran("a", "b").hold("a").resolve("a").hold("b").wait(LIFE)

    assert glance(tale.run) == "planning: run 1.0 #1"


# Edited arguments.


def test_edited_arguments_are_a_new_action_with_its_own_approval():
    tale = ran("a").hold("a")
    old = tale.action("a")
    tale.edit("a", to="bob")

    superseded = tale.run.action(old.id)
    assert superseded is not None
    assert superseded.approval is not None
    assert (superseded.status, superseded.approval.status) == ("rejected", "superseded")
    new = tale.action("a")
    assert (new.id, new.args) == (ActionId("act_1_1.0.1"), {"to": "bob"})
    assert new.approval is not None
    assert new.approval.args_hash == new.args_hash != old.args_hash


def test_the_answer_to_an_edited_call_begins_with_the_arguments_that_ran():
    tale = ran("a").hold("a").edit("a", to="bob").resolve("a").start("a").complete("a", "sent")

    assert list(tale.result("a").items()) == [
        ("arguments", {"to": "bob"}),
        ("edited_by", "the user"),
        ("result", "sent"),
    ]


def test_an_edit_that_the_policy_allows_runs_at_once_and_one_that_it_denies_is_answered():
    assert glance(ran("a").hold("a").edit("a", "allow", to="b").run) == "planning: run 1.0.1 #1"
    assert glance(ran("a").hold("a").edit("a", "deny", to="b").run) == "planning: model 2.1"


def test_arguments_may_be_edited_again_and_only_the_last_may_be_approved():
    tale = ran("a").hold("a").edit("a", to="b").edit("a", to="c").resolve("a")

    assert glance(tale.run) == "planning: run 1.0.2 #1"
    assert tale.action("a").args == {"to": "c"}


def test_a_superseded_approval_cannot_be_answered_or_edited():
    tale = ran("a").hold("a")
    old = tale.action("a")
    tale.edit("a", to="b")

    edited = action_for(tale.run, old.call, "require_approval", args={"to": "c"}, revision=2)
    assert _refusal(tale, ActionDecided(epoch=1, action=edited, supersedes=old.id, at=NOON)) == "superseded"
    assert old.approval is not None
    answer = ApprovalResolved(approval_id=old.approval.id, decision="approved", by="ada", at=NOON)
    assert _refusal(tale, answer) == "superseded"


def test_only_an_action_that_waits_for_approval_can_be_edited():
    tale, foreign = ran("a", "b").allow("a").hold("b"), call("z")
    cases: list[tuple[Action, ActionId | None]] = [
        (action_for(tale.run, tale.action("a").call, revision=1), tale.action("a").id),
        (action_for(tale.run, foreign, revision=1), tale.action("b").id),
        (action_for(tale.run, tale.action("b").call, revision=1), ActionId("act_nobody")),
    ]
    for action, supersedes in cases:
        assert _refusal(tale, ActionDecided(epoch=1, action=action, supersedes=supersedes, at=NOON)) == "misfit"


def test_an_edit_needs_no_driver():
    tale = ran("a").hold("a").claim()
    edited = action_for(tale.run, tale.action("a").call, args={"to": "b"}, revision=1)

    tale.tell(ActionDecided(epoch=0, action=edited, supersedes=tale.action("a").id, at=NOON))
    assert glance(tale.run) == "planning: run 1.0.1 #1"


def test_a_decision_of_an_older_driver_is_refused():
    tale = ran("a").claim()
    action = replace(action_for(tale.run, tale.run.calls[0]), decision=Decision("allow"))

    assert _refusal(tale, ActionDecided(epoch=1, action=action, at=NOON)) == "misfit"


def _refusal(tale: Tale, event: ActionDecided | ApprovalResolved) -> str:
    with pytest.raises(Misfit) as refusal:
        step(tale.run, event)
    return refusal.value.code


def _code(tale: Tale, name: str, decision: str) -> str:
    with pytest.raises(Misfit) as refusal:
        tale.resolve(name, decision)
    return refusal.value.code


def test_an_action_that_is_known_is_not_decided_again():
    tale = ran("a", "b").allow("a")

    with pytest.raises(Misfit, match="is known"):
        tale.decide("b", "allow", id=tale.action("a").id)


def test_an_approval_for_what_needs_none_is_refused():
    tale = ran("a")
    held = action_for(tale.run, tale.run.calls[0], "require_approval")

    with pytest.raises(Misfit, match="needs no approval"):
        tale.decide("a", "deny", approval=held.approval)


def test_the_model_hears_of_the_edited_arguments_also_when_they_fail():
    tale = ran("a").hold("a").edit("a", to="eve").resolve("a").start("a").break_("a")

    assert tale.result("a")["arguments"] == {"to": "eve"}
