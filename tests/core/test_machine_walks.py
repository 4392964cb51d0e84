"""The machine at random: walks of fifty steps through an adversarial world, and what holds after each of them."""

from collections import Counter
from random import Random
from typing import Any

from hypothesis import given, note
from hypothesis import strategies as st
from tests.core.builders import NOON, glance
from tests.core.walker import World

from pollux.core.effects import Reconcile, RunTool
from pollux.core.events import (
    ActionCompleted,
    ActionDecided,
    ActionFailed,
    ActionStarted,
    Event,
    RunClaimed,
)
from pollux.core.machine import conclude, fold, key_of, pending, wake_at
from pollux.core.messages import ToolCall, ToolResult
from pollux.core.profile import Limits
from pollux.core.run import Action, Run

STEPS = 50
ENOUGH = 400
"""More facts than any of these runs needs to end once everybody answers."""

limits = st.builds(
    Limits,
    model_calls=st.sampled_from([0, 1, 3, 12, 12, 12, 12]),
    tokens=st.sampled_from([None, None, None, 200]),
    compress_at=st.sampled_from([None, 0, 20, 60]),
)
beginnings = st.fixed_dictionaries(
    {
        "limits": limits,
        "on_reject": st.sampled_from(["answer", "fail"]),
        "deadline": st.sampled_from([None, None, None, NOON + 150]),
        "context_tokens": st.sampled_from([0, 50]),
    }
)

# A walk makes more choices than hypothesis keeps for one example, so it draws the seed and not each choice.
dice = st.randoms(use_true_random=True)


@given(beginning=beginnings, dice=dice, is_at_work=st.booleans())
def test_whatever_happens_the_laws_hold_after_every_step(beginning: dict[str, Any], dice: Random, is_at_work: bool):
    world = World(dice.randrange, **beginning)
    if is_at_work:
        world.go_to_work()
    starts: Counter[tuple[str, int]] = Counter()
    for _ in range(STEPS):
        taken = world.advance()
        if taken is None:
            continue
        before, event = taken
        note(f"{type(event).__name__}: {glance(world.run)}")
        _holds_between(before, event, world.run)
        _holds_now(world.run)
        if isinstance(event, ActionStarted):
            starts[event.action_id, event.epoch] += 1
    assert world.run.version == len(world.journal)
    assert fold(world.journal) == world.run
    assert all(count == 1 for count in starts.values())


@given(beginning=beginnings, dice=dice, is_at_work=st.booleans(), steps=st.integers(0, STEPS))
def test_a_run_ends_once_everybody_answers(beginning: dict[str, Any], dice: Random, is_at_work: bool, steps: int):
    world = World(dice.randrange, **beginning)
    if is_at_work:
        world.go_to_work()
    for _ in range(steps):
        world.advance()

    assert world.settle_down(ENOUGH) < ENOUGH
    _holds_now(world.run)
    assert fold(world.journal) == world.run


# Laws of a transition.


def _holds_between(before: Run, event: Event, after: Run) -> None:
    _starts_only_with_leave(before, event)
    _starts_for_somebody_and_at_most_once(before, event)
    _outcomes_stay(before, after)
    _older_drivers_are_fenced_off(before, event)
    assert after.model_calls <= after.limits.model_calls
    assert after.messages[: len(before.messages)] == before.messages


def _starts_only_with_leave(before: Run, event: Event) -> None:
    if isinstance(event, ActionStarted):
        action = before.action(event.action_id)
        assert action is not None
        assert action.decision is not None
        assert action.outcome is None
        assert before.cancel is None
        approved = action.approval is not None and action.approval.status == "approved"
        assert approved or (action.decision.mode == "allow" and action.approval is None)


def _starts_for_somebody_and_at_most_once(before: Run, event: Event) -> None:
    if isinstance(event, ActionStarted):
        action = before.action(event.action_id)
        assert action is not None
        assert event.attempt == 1 or (action.repeat != "once" and not action.asker)
        assert not action.asker or _is_at_work(before, action.asker)
    if isinstance(event, ActionDecided) and event.action.asker:
        assert before.cancel is None
        assert event.supersedes is None
        assert _is_at_work(before, event.action.asker)


def _is_at_work(run: Run, action_id: str) -> bool:
    return any(action.id == action_id and action.is_in_flight for action in run.open)


def _outcomes_stay(before: Run, after: Run) -> None:
    for action in before.actions:
        if action.outcome and action.outcome.code != "outcome_unknown":
            kept = after.action(action.id)
            assert kept is not None
            assert kept.outcome == action.outcome
    assert len({action.id for action in after.actions}) == len(after.actions)


def _older_drivers_are_fenced_off(before: Run, event: Event) -> None:
    epoch = getattr(event, "epoch", None)
    if epoch in (None, before.epoch) or isinstance(event, RunClaimed):
        return
    # A late truth about an attempt that nothing replaced, or a person's edit, which no driver makes.
    assert isinstance(event, ActionCompleted | ActionFailed | ActionDecided)
    if isinstance(event, ActionDecided):
        assert event.supersedes
    else:
        action = before.action(event.action_id)
        assert action is not None
        assert action.started is not None
        assert (action.started.epoch, action.started.attempt) == (event.epoch, event.attempt)


# Laws of a state.


def _holds_now(run: Run) -> None:
    keys = [key_of(effect) for effect in pending(run)]
    assert len(set(keys)) == len(keys)
    if run.cancel:
        assert all(isinstance(effect, Reconcile) for effect in pending(run))
    if run.ending:
        _is_over(run)
    else:
        assert conclude(run, NOON) is None
        assert pending(run) or _waits(run), f"stuck: {glance(run)}"
    _time_is_known_where_it_matters(run)
    _what_is_asked_for_has_an_asker(run)


def _is_over(run: Run) -> None:
    assert conclude(run, NOON) is None
    assert pending(run) == ()
    assert wake_at(run) is None
    assert run.approvals == ()
    assert all(action.outcome for action in run.actions)
    assert not any(action.approval and action.approval.is_open for action in run.actions)
    asked = [part.id for message in run.messages for part in message.parts if isinstance(part, ToolCall)]
    answered = [part.call_id for message in run.messages for part in message.parts if isinstance(part, ToolResult)]
    assert asked == answered
    if any(action.outcome and action.outcome.code == "outcome_unknown" for action in run.actions) and not run.cancel:
        assert run.ending is not None
        assert run.ending.code == "outcome_unknown"


def _what_is_asked_for_has_an_asker(run: Run) -> None:
    asked = [action for action in run.open if action.asker]
    # With its answer it has left the turn; before it has begun, whoever asked is there to hear it.
    assert not any(action.outcome for action in asked)
    assert all(action.started or _is_at_work(run, action.asker) for action in asked)
    assert not any(action.asker and action.interrupted and not _is_looked_up(action) for action in asked)
    counts = Counter(action.asker for action in run.actions if action.asker)
    assert all(action.asked == counts[action.id] for action in run.actions)
    if not run.cancel and any(action.has_leave and not action.started for action in asked):
        begins = any(isinstance(effect, RunTool) and not effect.begun for effect in pending(run))
        waits_for_nobody = {action.id for action in run.open if action.is_in_flight} - {each.asker for each in asked}
        assert begins or waits_for_nobody, f"all wait for one another: {glance(run)}"


def _is_looked_up(action: Action) -> bool:
    return action.repeat == "checkable" and not action.unhappened


def _waits(run: Run) -> bool:
    """Whether somebody or something outside will move the run."""
    if run.cancel:
        return any(action.started and not action.outcome for action in run.open)
    return wake_at(run) is not None or any(_is_elsewhere(action) for action in run.open)


def _is_elsewhere(action: Action) -> bool:
    return action.handed_over and not action.outcome


def _time_is_known_where_it_matters(run: Run) -> None:
    if run.ending or run.cancel:
        return
    moments = [moment for moment in (run.deadline, run.retry_at) if moment is not None]
    moments += [approval.expires_at for approval in run.approvals]
    pages = [action.started for action in run.open if _is_elsewhere(action) and action.started]
    moments += [start.deadline for start in pages if start.deadline is not None]
    assert wake_at(run) == min(moments, default=None)
