"""Small print of the machine: codes, texts and records that programs and people read, and rare meetings of facts."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from tests.core.builders import NOON, SPENT, SUMMARY, Tale, call, glance, opened, ran, said

from pollux.core.errors import Misfit
from pollux.core.events import ActionCompleted, ActionDecided, ModelReplied, RunCancelled, RunCompleted, Stop
from pollux.core.ids import ActionId, RunId
from pollux.core.machine import key_of, pending, step
from pollux.core.messages import Message, Thought
from pollux.core.profile import Limits
from pollux.core.run import Ending, Outcome, Parent, touched_since

# Beginnings and drivers.


def test_a_run_begins_as_the_fact_that_began_it_says():
    parent = Parent(RunId("run_0"), ActionId("act_0_1.0"), RunId("run_0"))
    fact = opened(parent=parent, head=4, compressed=SUMMARY, context_tokens=9, interactive=False, deadline=NOON + 9)
    run = step(None, fact)

    kept = ["thread_id", "user", "door", "origin", "profile", "model", "limits", "on_reject", "interactive"]
    kept += ["deadline", "parent", "head", "compressed", "context_tokens"]
    assert {name: getattr(run, name) for name in kept} == {name: getattr(fact, name) for name in kept}
    assert (run.id, run.created_at, run.messages) == (fact.run_id, NOON, (fact.prompt,))


def test_a_claimed_run_knows_its_driver():
    assert (Tale().run.driver, Tale().claim().run.driver) == ("", "d")


# Effects.


KEYS: dict[tuple[Any, ...], Callable[[], Tale]] = {
    (1, "model", "", 1): lambda: Tale().claim(),
    (1, "authorize", "a", 0): lambda: ran("a"),
    (1, "tool", "act_1_1.0", 1): lambda: ran("a").allow("a"),
    (1, "reconcile", "act_1_1.0", 1): lambda: ran("a").allow("a", repeat="checkable").start("a").claim(),
    (1, "compress", "", 0): lambda: Tale(limits=Limits(compress_at=1), context_tokens=1).claim(),
}


@pytest.mark.parametrize("key", KEYS)
def test_each_effect_has_a_key_of_its_own(key: tuple[Any, ...]):
    assert [key_of(effect) for effect in pending(KEYS[key]().run)] == [key]


def test_one_that_wants_to_be_alone_keeps_the_others_waiting_also_when_it_is_not_alone():
    tale = ran("a", "b", "c").allow("a").allow("b", parallel=False).allow("c").start("a").start("b")

    assert glance(tale.run) == "executing: run 1.0 #1 begun, run 1.1 #1 begun"


# Answers that end a run.


@pytest.mark.parametrize("stop", ["length", "other"])
def test_no_tool_runs_from_an_unfinished_answer_that_has_words_too(stop: Stop):
    tale = Tale().claim().reply(said("I will", call("a")), stop=stop)

    assert tale.run.status == "failed"
    assert tale.run.actions == ()


def test_an_answer_that_the_web_went_into_marks_the_run_before_its_calls_are_decided():
    read = replace(said("found", call("a")), sources=("web",))
    run = Tale(sources=("tool:mail",)).claim().reply(read).run

    assert (run.status, run.actions, run.sources) == ("planning", (), ("tool:mail", "web"))


UNUSABLE: list[tuple[Stop, int, str]] = [
    ("bad_call", 2, "the model asked for a tool in a way that cannot be read, twice"),
    ("empty", 2, "the model answered with nothing, twice"),
    ("blocked", 1, "the model's answer was blocked"),
    ("length", 1, "the model's answer was cut off at its length limit before it could be used"),
    ("other", 1, "the model stopped without an answer"),
]


@pytest.mark.parametrize(("stop", "times", "text"), UNUSABLE)
def test_an_answer_without_words_says_what_was_wrong_with_it(stop: Stop, times: int, text: str):
    tale = Tale(concluding=False).claim()
    for _ in range(times):
        tale.reply(Message("assistant", (Thought("hm"),)) if stop == "length" else said(), stop=stop)

    assert tale.run.closing == Ending("failed", NOON, "model_error", text)


CLOSINGS: dict[str, Callable[[], Tale]] = {
    "model_error": lambda: Tale(concluding=False).claim().ask().fail(),
    "loop_limit": lambda: Tale(concluding=False, limits=Limits(model_calls=0)),
    "budget": lambda: ran("a", concluding=False, limits=Limits(tokens=1)),
    "outcome_unknown": lambda: ran("a", concluding=False).allow("a").start("a").claim(),
    "rejected": lambda: ran("a", concluding=False, on_reject="fail").hold("a").resolve("a", "rejected"),
}


@pytest.mark.parametrize("code", CLOSINGS)
def test_a_run_about_to_fail_says_so_before_it_has(code: str):
    run = CLOSINGS[code]().run

    assert run.closing
    assert (run.closing.status, run.closing.code, run.ending) == ("failed", code, None)


def test_a_turn_takes_128_calls_and_no_more():
    wanted = [call(f"c{number}") for number in range(129)]
    text = "the model asked for 129 tools in one turn; at most 128 are taken"

    assert Tale().claim().reply(said("", *wanted[:128])).run.is_open
    tale = Tale(concluding=False).claim().reply(said("", *wanted))
    assert tale.run.closing == Ending("failed", NOON, "model_error", text)


def test_of_two_spent_budgets_the_number_of_calls_is_named():
    tale = ran("a", limits=Limits(model_calls=1, tokens=1))

    assert tale.run.ending
    assert tale.run.ending.code == "loop_limit"


def test_calls_that_may_not_run_any_more_open_no_new_turn():
    tale = ran("a", limits=Limits(tokens=1))

    assert (tale.run.turn, tale.run.status) == (1, "failed")
    assert _outcome(tale) == ("failed", "budget", {"error": "not run: the run spent its budget of 1 tokens"})


def test_a_cancelled_run_is_not_failed_by_an_earlier_rejection():
    tale = ran("a", "b", on_reject="fail").hold("a").hold("b").resolve("a", "rejected").cancel()

    assert (tale.run.closing, tale.run.status) == (None, "cancelled")


def test_the_clock_cancels_in_its_own_name_and_a_person_in_theirs():
    timed, asked = Tale(deadline=NOON + 5).claim().wait(5), Tale().claim().ask().fail(retry_after=20).cancel()

    assert timed.run.cancel and asked.run.cancel
    assert (timed.run.cancel.by, timed.run.cancel.reason) == ("clock", "timeout")
    assert (asked.run.cancel.by, asked.run.cancel.reason, asked.run.retry_at) == ("ada", "user", None)


# Outcomes.


def _outcome(tale: Tale, name: str = "a") -> tuple[str, str, Any]:
    outcome = tale.action(name).outcome
    assert outcome
    return outcome.status, outcome.code, outcome.result


BROKEN = "tool_a was interrupted; it may or may not have happened"
DROPPED = "the run was cancelled before this ran"
REJECTED = "the user rejected this call"
OUTCOMES: dict[str, tuple[Callable[[], Tale], tuple[str, str, Any]]] = {
    "refused": (lambda: ran("a").refuse("a"), ("failed", "unknown_tool", {"error": "no such"})),
    "denied": (
        lambda: ran("a").deny("a"),
        ("rejected", "policy_denied", {"error": "the policy refused this call: because"}),
    ),
    "rejected": (lambda: ran("a").hold("a").resolve("a", "rejected"), ("rejected", "rejected", {"error": REJECTED})),
    "unknown": (lambda: ran("a").allow("a").start("a").claim(), ("failed", "outcome_unknown", {"error": BROKEN})),
    "dropped": (lambda: ran("a").allow("a").cancel(), ("failed", "cancelled", {"error": DROPPED})),
    "looked up": (
        lambda: ran("a").allow("a", repeat="checkable").start("a").claim().look("a", "done"),
        ("completed", "", "found"),
    ),
    "page gone": (
        lambda: ran("a").allow("a", where="page").start("a", seconds=60).wait(60),
        ("failed", "page_gone", {"error": "the page did not answer in time"}),
    ),
    "settled as done": (
        lambda: ran("a").allow("a").start("a").claim().settle("a", "done"),
        ("completed", "", {"settled": "done"}),
    ),
    "settled as not done": (
        lambda: ran("a").allow("a").start("a").claim().settle("a", "not_done"),
        ("failed", "not_done", {"error": "settled as not done by ada"}),
    ),
}


@pytest.mark.parametrize("case", OUTCOMES)
def test_an_outcome_has_a_status_a_code_and_a_result_for_the_model(case: str):
    tale, expected = OUTCOMES[case]

    assert _outcome(tale()) == expected


def test_an_edited_action_leaves_a_superseded_one_behind():
    old = ran("a").hold("a").edit("a", to="b").run.done[0]

    said_ = "superseded by edited arguments"
    assert old.outcome == Outcome("rejected", {"error": said_}, NOON, "superseded", said_)
    assert old.approval
    assert (old.approval.status, old.approval.resolution and old.approval.resolution.by) == ("superseded", "ada")


def test_an_edit_cannot_bring_back_the_name_of_a_superseded_action():
    tale = ran("a").hold("a")
    first = tale.action("a")
    tale.edit("a", to="b")
    again = ActionDecided(epoch=1, action=first, supersedes=tale.action("a").id, at=NOON)

    with pytest.raises(Misfit, match="is known"):
        step(tale.run, again)


def test_what_was_looked_up_is_not_looked_up_again_while_others_wait():
    tale = ran("a", "b").allow("a", repeat="checkable").hold("b").start("a").claim().look("a", "done")

    with pytest.raises(Misfit, match="to be open, but it is completed"):
        tale.look("a", "unknown")


def test_answers_to_calls_are_a_message_of_the_tools():
    assert [message.role for message in ran("a").deny("a").run.messages] == ["user", "assistant", "tool"]


# Refusals.

LATE = ModelReplied(epoch=1, turn=1, attempt=1, message=said("hi"), stop="end", usage=SPENT, at=NOON)


def test_a_misfit_names_the_fact_that_did_not_fit():
    with pytest.raises(Misfit, match=r"^run_completed needs a run that ends so, but here nothing is due"):
        step(Tale().claim().run, RunCompleted(at=NOON))
    with pytest.raises(Misfit, match=r"^run_cancelled needs a run that ends so, but here run_completed is due"):
        step(Tale(concluding=False).claim().reply("hi").run, RunCancelled(at=NOON))
    with pytest.raises(Misfit, match=r"^model_replied needs an open run, but this one is completed"):
        Tale().claim().reply("hi").tell(LATE)
    with pytest.raises(Misfit, match=r"^action_completed needs a known action"):
        step(ran("a").run, ActionCompleted(epoch=1, action_id=ActionId("act_x"), attempt=1, result=1, at=NOON))


@pytest.mark.parametrize(
    ("verb", "fact"),
    [
        ("start", "action_started"),
        ("hand_over", "action_handed_over"),
        ("complete", "action_completed"),
        ("break_", "action_failed"),
    ],
)
def test_a_misfit_of_an_action_names_the_fact_too(verb: str, fact: str):
    tale = ran("a", "b").deny("a").hold("b")

    with pytest.raises(Misfit, match=f"^{fact} needs action 'act_1_1.0' to be open, but it is rejected"):
        getattr(tale, verb)("a")


def test_a_misfit_of_a_look_or_an_answer_names_the_fact_too():
    tale = ran("a", "b").hold("a").hold("b").resolve("a", "rejected")

    with pytest.raises(Misfit, match=r"^action_reconciled needs action"):
        tale.look("a", "done")
    with pytest.raises(Misfit, match=r"^approval_resolved needs approval"):
        tale.resolve("a")
    with pytest.raises(Misfit, match=r"^action_decided needs approval"):
        tale.edit("a", to="b")


# What a store and an audit want to know.


def test_actions_that_changed_are_found_also_among_those_of_earlier_turns():
    tale = ran("a", "b").allow("a").allow("b").start("a").start("b")
    both = tale.run
    assert touched_since(None, both) == touched_since(both, both) == []
    tale.complete("a")
    assert [action.call.id for action in touched_since(both, tale.run)] == ["a"]
    tale.break_("b", code="outcome_unknown")
    ended = tale.run
    assert [action.call.id for action in touched_since(both, ended)] == ["a", "b"]
    tale.settle("b", "done")
    assert [action.call.id for action in touched_since(ended, tale.run)] == ["b"]


def test_an_action_is_audited_for_its_effect_a_question_or_a_refusal_and_not_for_reading():
    tale = ran("act", "ask", "deny", "odd", "read")
    tale.allow("act", side_effect=True).hold("ask").deny("deny").refuse("odd").allow("read", side_effect=False)
    audited = {action.call.id: action.is_audited for action in tale.run.actions}
    assert audited == {"act": True, "ask": True, "deny": True, "odd": True, "read": False}


def test_a_run_knows_when_its_last_fact_happened():
    tale = ran("a").hold("a", side_effect=True)
    tale.now += 5
    assert (tale.run.updated_at, tale.cancel().run.updated_at) == (NOON, NOON + 5)
