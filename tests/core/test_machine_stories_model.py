"""Stories of the model's side: replies, re-asks, retries, budgets, summaries and time."""

from typing import Any

import pytest
from tests.core.builders import LIFE, NOON, SPENT, Tale, call, glance, ran, results, said

from pollux.core.errors import Misfit
from pollux.core.events import ModelCalled, ModelReplied, Stop
from pollux.core.machine import conclude, fold, key_of, pending, step, wake_at
from pollux.core.messages import Message, Text, Thought, Usage
from pollux.core.profile import Limits
from pollux.core.run import Ending
from pollux.core.turns import MAX_CALLS

# Replies.


def test_a_plain_reply_completes_the_run():
    tale = Tale().claim().ask().reply("Good morning.")

    assert tale.run.status == "completed"
    assert tale.run.text == "Good morning."
    assert tale.run.usage == SPENT
    assert tale.run.model_calls == 1


def test_a_run_whose_model_only_thought_has_no_text():
    tale = Tale().claim().reply(Message("assistant", (Thought("hm"),)))

    assert (tale.run.status, tale.run.text) == ("completed", "")


def test_text_beside_calls_is_kept_and_the_calls_are_done():
    tale = Tale().claim().reply(said("Let me look.", call("a"))).allow("a").start("a").complete("a", 42)

    assert tale.run.text == "Let me look."
    assert glance(tale.run) == "planning: model 2.1"
    assert tale.result("a") == 42


def test_an_answer_cut_off_at_its_length_still_completes_when_it_is_only_text():
    tale = Tale().claim().reply("half a sen", stop="length")

    assert tale.run.closing == Ending("completed", NOON, code="length")
    assert tale.run.status == "completed"


def test_a_run_whose_answer_is_not_whole_says_so_and_no_other_does():
    cut = Message("assistant", (Text("half a sen"),), cut=True)
    marks = {"finish_reason": "length", "incomplete": True}

    assert Tale().claim().ask().run.finish == Tale().claim().reply("Good morning.").run.finish == {}
    assert Tale().claim().reply(said("", call("a")), stop="length").run.finish == {}
    assert Tale().claim().reply("half a sen", stop="length").run.finish == marks
    assert Tale().claim().reply(cut, stop="length").run.finish == {**marks, "cut": True}


@pytest.mark.parametrize("stop", ["length", "truncated", "blocked", "bad_call", "empty"])
def test_no_tool_runs_from_an_answer_that_was_not_finished(stop: Stop):
    tale = Tale().claim().reply(said("", call("a")), stop=stop)

    assert tale.run.calls == ()
    assert tale.run.messages == Tale().run.messages
    assert not any(key_of(effect).kind == "authorize" for effect in pending(tale.run))


@pytest.mark.parametrize("stop", ["empty", "bad_call"])
def test_an_answer_that_is_no_answer_is_asked_for_once_more(stop: Stop):
    tale = Tale().claim().reply("", stop=stop)
    assert glance(tale.run) == "planning: model 1.2"

    again = tale.reply("Here it is.")
    assert (again.run.status, again.run.model_calls) == ("completed", 2)


@pytest.mark.parametrize("second", ["empty", "bad_call"])
def test_an_answer_that_is_no_answer_twice_fails_the_run(second: Stop):
    tale = Tale().claim().reply("", stop="empty").reply("", stop=second)

    assert _ending(tale) == "model_error"


def test_each_turn_may_be_asked_for_once_more():
    tale = ran("a").refuse("a").reply("", stop="empty").reply(said("", call("b"))).refuse("b").reply("", stop="empty")

    assert glance(tale.run) == "planning: model 3.2"


FATAL = [
    ("blocked", "the model's answer was blocked (SAFETY: too hot)", "model_error"),
    ("truncated", "the model's answer broke off (SAFETY: too hot)", "stream_interrupted"),
    ("other", "the model stopped without an answer (SAFETY: too hot)", "model_error"),
]


@pytest.mark.parametrize(("stop", "message", "code"), FATAL)
def test_an_answer_without_use_fails_the_run_and_says_why(stop: Stop, message: str, code: str):
    tale = Tale().claim().ask()
    known: dict[str, Any] = {"epoch": 1, "turn": 1, "attempt": 1, "at": NOON}
    tale.tell(ModelReplied(message=said(), stop=stop, usage=SPENT, reason="SAFETY", detail="too hot", **known))

    assert tale.run.ending == Ending("failed", NOON, code, message)


def test_an_unknown_stop_with_words_is_an_answer():
    assert Tale().claim().reply("fine", stop="other").run.status == "completed"


def test_an_answer_with_too_many_calls_fails_the_run_and_opens_none():
    wanted = [call(f"c{number}") for number in range(MAX_CALLS + 1)]
    assert len(Tale().claim().reply(said("", *wanted[1:])).run.calls) == MAX_CALLS

    tale = Tale().claim().reply(said("", *wanted))
    assert (tale.run.calls, tale.run.messages) == ((), Tale().run.messages)
    assert tale.run.ending and tale.run.ending.message.startswith(f"the model asked for {MAX_CALLS + 1} tools")


def test_calls_of_one_turn_need_distinct_ids():
    tale = Tale().claim().ask()
    with pytest.raises(Misfit, match="distinct ids"):
        tale.reply(said("", call("a"), call("a", twice=True)))


@pytest.mark.parametrize("wrong", [{"epoch": 0}, {"epoch": 2}, {"turn": 2}, {"attempt": 2}])
def test_a_late_or_foreign_reply_is_refused(wrong: dict[str, int]):
    tale = Tale().claim().ask()
    known: dict[str, Any] = {"epoch": 1, "turn": 1, "attempt": 1} | wrong
    with pytest.raises(Misfit, match="needs to be due"):
        step(tale.run, ModelReplied(message=said("hi"), stop="end", usage=SPENT, at=NOON, **known))


def test_a_run_that_nobody_claimed_takes_no_call():
    with pytest.raises(Misfit, match="needs to be due"):
        step(Tale().run, ModelCalled(epoch=0, turn=1, attempt=1, at=NOON))


# Failures and retries.


def test_a_failed_call_waits_and_is_tried_again_as_a_new_attempt():
    tale = Tale().claim().ask().fail("rate_limit", retry_after=20)
    assert glance(tale.run) == "planning: nothing, wakes at 20"

    tale.wait(20)
    assert glance(tale.run) == "planning: model 1.2"
    assert tale.reply("hi").run.status == "completed"


def test_retries_are_counted_from_the_first_call_of_the_turn():
    tale = Tale().claim().ask().fail(retry_after=5).wait(5).ask()
    assert tale.run.asked_since == NOON

    tale.reply(said("", call("a"))).refuse("a")
    assert tale.run.asked_since is None


def test_a_call_that_will_be_tried_again_is_not_held_against_the_limit():
    tale = Tale(limits=Limits(model_calls=1)).claim().ask().fail(retry_after=5)
    assert tale.run.model_calls == 0

    assert tale.wait(5).reply("hi").run.status == "completed"


FAILURES = [
    ("server", "model_error"),
    ("auth", "auth_error"),
    ("instructions", "instructions_failed"),
    ("interrupted", "stream_interrupted"),
    ("block", "block_failed"),
    ("internal", "model_error"),
]


@pytest.mark.parametrize(("kind", "code"), FAILURES)
def test_a_failure_without_retry_fails_the_run_with_its_code(kind: str, code: str):
    tale = Tale().claim().ask().fail(kind)

    assert tale.run.ending == Ending("failed", NOON, code, "it broke")


def test_a_new_driver_keeps_waiting_for_the_same_moment():
    tale = Tale().claim().ask().fail(retry_after=20).claim()

    assert glance(tale.run) == "planning: nothing, wakes at 20"


# Budgets.


def test_a_run_may_call_the_model_as_often_as_its_limit_says():
    tale = Tale(limits=Limits(model_calls=2)).claim().want("a").refuse("a").reply("hi")

    assert (tale.run.status, tale.run.model_calls) == ("completed", 2)


def test_calls_wanted_beyond_the_limit_are_not_run_but_answered():
    tale = Tale(limits=Limits(model_calls=1)).claim().want("a", "b")

    assert _ending(tale) == "loop_limit"
    said_ = "not run: the run reached its limit of 1 model calls"
    assert results(tale.run) == {"a": {"error": said_}, "b": {"error": said_}}


def test_a_call_cut_short_by_a_crash_stays_counted():
    tale = Tale(limits=Limits(model_calls=2)).claim().ask().claim()
    assert glance(tale.run) == "planning: model 1.2"

    assert _ending(tale.ask().claim()) == "loop_limit"
    assert tale.run.model_calls == 2


def test_a_second_asking_counts_too():
    tale = Tale(limits=Limits(model_calls=1)).claim().reply("", stop="empty")

    assert _ending(tale) == "loop_limit"


def test_a_run_without_any_call_to_spend_fails_at_once():
    assert _ending(Tale(limits=Limits(model_calls=0))) == "loop_limit"


def test_no_call_starts_once_the_tokens_are_spent():
    limits = Limits(tokens=30)
    assert _ending(Tale(limits=limits).claim().want("a").refuse("a").want("b")) == "budget"
    assert _ending(Tale(limits=limits).claim().reply("", stop="empty", usage=Usage(30, 0))) == "budget"
    assert Tale(limits=limits).claim().reply("long", usage=Usage(30, 99)).run.status == "completed"


# Summaries.


def _long(tokens: int = 100) -> Tale:
    return Tale(limits=Limits(compress_at=100), context_tokens=tokens).claim()


def test_a_conversation_below_its_limit_is_not_summarised():
    assert glance(_long(99).run) == "planning: model 1.1"
    assert glance(Tale(limits=Limits(compress_at=0)).claim().run) == "planning: model 1.1"


def test_a_summary_is_made_before_the_call():
    tale = _long()
    assert glance(tale.run) == "planning: compress 1"

    tale.compress(40)
    assert (tale.run.context_tokens, tale.run.compressed is not None) == (40, True)
    assert glance(tale.run) == "planning: model 1.1"


@pytest.mark.parametrize("measured", [0, 100, 500])
def test_a_refused_summary_is_not_asked_for_again_until_a_tenth_more(measured: int):
    tale = _long().compress(measured, None)
    assert glance(tale.run) == "planning: model 1.1"

    tale.reply(said("", call("a")), usage=Usage(109, 0)).refuse("a")
    assert glance(tale.run) == "planning: model 2.1"

    tale.reply(said("", call("b")), usage=Usage(110, 0)).refuse("b")
    assert glance(tale.run) == "planning: compress 3"


def test_a_summary_is_never_made_between_two_attempts():
    tale = Tale(limits=Limits(compress_at=100)).claim().reply("", stop="empty", usage=Usage(500, 0))

    assert glance(tale.run) == "planning: model 1.2"


def test_a_summary_is_never_made_while_calls_are_open():
    tale = Tale(limits=Limits(compress_at=10)).claim().want("a")

    assert glance(tale.run) == "planning: authorize a"
    with pytest.raises(Misfit):
        tale.compress()


def test_a_summary_that_nobody_needs_any_more_is_refused():
    fresh = Tale(limits=Limits(compress_at=10), context_tokens=50)
    closing = Tale(concluding=False, limits=Limits(compress_at=10)).claim().reply("hi")
    cancelled = Tale(concluding=False, limits=Limits(compress_at=10), context_tokens=50).claim().cancel()
    for tale in (fresh, closing, cancelled):
        with pytest.raises(Misfit, match="summary to be due"):
            tale.compress()


def test_a_summary_by_an_older_driver_is_refused():
    tale = Tale(limits=Limits(compress_at=10), context_tokens=50).claim()
    late = tale.compress().journal[-1]
    with pytest.raises(Misfit):
        step(Tale(limits=Limits(compress_at=10), context_tokens=50).claim().claim().run, late)


def test_the_size_of_a_conversation_is_what_its_last_answer_measured_if_it_did():
    tale = Tale(context_tokens=70).claim().reply(said("", call("a")), usage=Usage()).refuse("a")
    assert tale.run.context_tokens == 70

    assert tale.reply("hi", usage=Usage(80, 5)).run.context_tokens == 85


def test_a_summary_is_paid_from_the_same_budget():
    tale = Tale(limits=Limits(compress_at=100, tokens=15), context_tokens=100).claim()

    assert _ending(tale.compress(usage=Usage(10, 5))) == "budget"


# Time.


def test_a_run_past_its_deadline_fails_with_a_time_out():
    tale = Tale(deadline=NOON + 60).claim().ask()
    assert wake_at(tale.run) == NOON + 60

    tale.wait(60)
    assert tale.run.ending == Ending("failed", NOON + 60, "timeout", "the run reached its time limit")


def test_the_deadline_comes_before_a_later_retry():
    tale = Tale(deadline=NOON + 10).claim().ask().fail(retry_after=20)

    assert _ending(tale.wait(10)) == "timeout"


def test_a_deadline_that_has_not_come_changes_nothing():
    tale = ran("a", deadline=NOON + 900).hold("a").wait(LIFE)

    assert glance(tale.run) == "planning: model 2.1, wakes at 900"


def test_an_ended_run_wakes_no_more():
    assert wake_at(Tale(deadline=NOON + 60).claim().reply("hi").run) is None


def test_a_time_out_waits_for_what_is_in_flight():
    tale = ran("a", deadline=NOON + 60).allow("a").start("a").wait(60)
    assert glance(tale.run) == "executing: nothing"

    assert _ending(tale.complete("a")) == "timeout"


def test_a_journal_without_events_is_no_run():
    with pytest.raises(Misfit):
        fold([])


def test_concluding_twice_says_the_same_and_an_ended_run_has_no_further_end():
    tale = Tale(concluding=False).claim().reply("hi")
    due = conclude(tale.run, NOON)

    assert due is not None
    assert conclude(tale.run, NOON) == due
    assert conclude(tale.tell(due).run, NOON) is None


def test_the_text_of_a_run_is_the_last_thing_its_model_said():
    tale = ran("a").refuse("a").reply(Message("assistant", (Text("one"), Text(" two"))))

    assert tale.run.text == "one two"


def _ending(tale: Tale) -> str:
    assert tale.run.ending is not None
    assert tale.run.ending.status == "failed"
    return tale.run.ending.code
