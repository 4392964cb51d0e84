"""The machine: what a run becomes when a fact meets it, and what the world owes it then.

    step(run, event)   the run after the event; refuses a misfit loudly and changes nothing
    conclude(run)      the ending that follows from the state, if one does
    pending(run)       the effects owed, from the run alone
    wake_at(run)       when only the clock can move it

Effects are derived from the state, so a run loaded after a crash goes on along the same path as one that never
stopped. There is no other resume code.
"""

from collections.abc import Iterable
from typing import assert_never

from pollux.core import actions, turns
from pollux.core.effects import Authorize, CallModel, Compress, Effect, Key, Reconcile, RunTool
from pollux.core.errors import Misfit
from pollux.core.events import (
    ActionCompleted,
    ActionDecided,
    ActionFailed,
    ActionHandedOver,
    ActionNoted,
    ActionReconciled,
    ActionSettled,
    ActionStarted,
    ApprovalResolved,
    CallRefused,
    CancelRequested,
    Event,
    HistoryCompressed,
    ModelCalled,
    ModelFailed,
    ModelReplied,
    PageShown,
    RunCancelled,
    RunClaimed,
    RunCompleted,
    RunFailed,
    RunRestored,
    RunStarted,
    TimeReached,
    ToolObserved,
)
from pollux.core.ids import Instant
from pollux.core.run import Action, Ending, Run, evolve


def step(run: Run | None, event: Event) -> Run:
    """What the run becomes. Raises Misfit, and changes nothing, where the event does not fit."""
    if run is None:
        if not isinstance(event, RunStarted):
            raise Misfit(f"{_name(event)} needs a run, but none has started")
        return turns.begin(event)
    if run.ending and not _is_heard_after_the_end(event):
        raise Misfit(f"{_name(event)} needs an open run, but this one is {run.status}", code="run_ended")
    after = _apply(run, event)
    assert after is not run
    # A value that nobody has seen yet: its number and time are set in place: a copy for them alone would double the
    # cost.
    after.__dict__["version"] = run.version + 1
    after.__dict__["updated_at"] = event.at
    return after


def fold(events: Iterable[Event]) -> Run:
    """The run that a journal tells of."""
    run: Run | None = None
    for event in events:
        run = step(run, event)
    if run is None:
        raise Misfit("a journal needs at least one event")
    return run


def _apply(run: Run, event: Event) -> Run:
    match event:
        case RunStarted():
            raise Misfit("run_started needs a new run, but this one has started")
        case RunClaimed():
            return actions.claimed(run, event)
        case PageShown():
            return evolve(run, page=event.page)
        case ModelCalled():
            return turns.called(run, event)
        case ModelReplied():
            return actions.close_turn(turns.replied(run, event), event.at)
        case ModelFailed():
            return turns.failed(run, event)
        case HistoryCompressed():
            return turns.compressed(run, event)
        case ActionDecided():
            return actions.decided(run, event)
        case CallRefused():
            return actions.refused(run, event)
        case ActionStarted():
            return actions.started(run, event)
        case ActionNoted():
            return actions.noted(run, event)
        case ToolObserved():
            return actions.observed(run, event)
        case ActionHandedOver():
            return actions.handed_over(run, event)
        case ActionCompleted() | ActionFailed():
            return actions.ended(run, event)
        case ActionReconciled():
            return actions.reconciled(run, event)
        case ActionSettled():
            return actions.settled(run, event)
        case ApprovalResolved():
            return actions.resolved(run, event)
        case TimeReached():
            return _time_reached(run, event.at)
        case CancelRequested():
            if run.cancel:
                raise Misfit("cancel_requested needs a run that is not being cancelled already", code="run_ended")
            return actions.cancelled(run, by=event.by, reason=event.reason, at=event.at)
        case RunRestored():
            return actions.restored(run, event)
        case RunCompleted() | RunFailed() | RunCancelled():
            return _ended(run, event)
        case _:
            assert_never(event)


def conclude(run: Run, at: Instant) -> RunCompleted | RunFailed | RunCancelled | None:
    """The ending that follows from the state. Whoever commits a fact commits this with it."""
    # The two that are true of most states first: this is asked of each.
    if run.ending or (not run.cancel and (run.calls or run.closing is None)) or _has_unfinished(run):
        return None
    if run.cancel:
        if run.cancel.reason == "timeout":
            return RunFailed(code="timeout", message="the run reached its time limit", at=at)
        return RunCancelled(at=at)
    assert run.closing is not None
    if run.closing.status == "completed":
        return RunCompleted(at=at)
    closing = run.closing
    return RunFailed(code=closing.code, message=closing.message, connect_url=closing.connect_url, at=at)


def pending(run: Run) -> tuple[Effect, ...]:
    """What the world owes the run now."""
    global _last
    # Asked several times about each state, by whoever commits, drives and waits: the last answer is kept.
    known, owed = _last
    if known is run:
        return owed
    owed = tuple(_owed(run))
    _last = (run, owed)
    return owed


_last: tuple[Run | None, tuple[Effect, ...]] = (None, ())


def _owed(run: Run) -> Iterable[Effect]:
    if run.ending:
        return ()
    if run.cancel:
        return (_reconcile(action) for action in run.open if _needs_look(action))
    if run.calls:
        return _owed_for_calls(run)
    if run.closing or run.retry_at is not None:
        return ()
    if turns.is_summary_due(run):
        return (Compress(run.turn),)
    return (CallModel(run.turn, run.attempt, begun=run.asked),)


def key_of(effect: Effect) -> Key:
    """What tells one effect of a run from another, so that none is started twice."""
    match effect:
        case CallModel():
            return Key(effect.turn, "model", "", effect.attempt)
        case RunTool():
            return Key(effect.turn, "tool", effect.action_id, effect.attempt)
        case Authorize():
            return Key(effect.turn, "authorize", effect.call.id, 0)
        case Reconcile():
            return Key(effect.turn, "reconcile", effect.action_id, effect.attempt)
        case Compress():
            return Key(effect.turn, "compress", "", 0)
        case _:
            assert_never(effect)


def wake_at(run: Run) -> Instant | None:
    """The next moment at which time alone changes the run, or at which what was said in it is to be dropped."""
    if run.ending:
        return run.ending.at + run.keep_seconds if run.keep_seconds is not None else None
    if run.cancel or (not run.open and run.deadline is None and run.retry_at is None):
        return None
    return min(_moments(run), default=None)


def _time_reached(run: Run, at: Instant) -> Run:
    due = wake_at(run)
    if due is None or at < due:
        raise Misfit(f"time_reached needs something due by then, but the next moment is {due}")
    if run.deadline is not None and at >= run.deadline:
        return actions.cancelled(run, by="clock", reason="timeout", at=at)
    if run.retry_at is not None and at >= run.retry_at:
        run = evolve(run, retry_at=None, attempt=run.attempt + 1)
    return actions.expired(run, at)


def _is_heard_after_the_end(event: Event) -> bool:
    """Late truths still count. Who answers or edits too late is told what became of that very approval."""
    if isinstance(event, ActionDecided):
        return event.supersedes is not None
    return isinstance(event, (ActionCompleted, ActionFailed, ActionSettled, ApprovalResolved))


def _ended(run: Run, event: RunCompleted | RunFailed | RunCancelled) -> Run:
    due = conclude(run, event.at)
    # By kind and code: an older version may have said the same in other words, and its words stand.
    if type(due) is not type(event) or getattr(due, "code", "") != getattr(event, "code", ""):
        raise Misfit(f"{_name(event)} needs a run that ends so, but here {_name(due) if due else 'nothing'} is due")
    match event:
        case RunCompleted():
            return evolve(run, ending=Ending("completed", event.at))
        case RunCancelled():
            return evolve(run, ending=Ending("cancelled", event.at, "cancelled", "the run was cancelled"))
        case RunFailed():
            return evolve(run, ending=Ending("failed", event.at, event.code, event.message, event.connect_url))
        case _:
            assert_never(event)


def _has_unfinished(run: Run) -> bool:
    return any(action.started and not action.outcome for action in run.open)


def _owed_for_calls(run: Run) -> Iterable[Effect]:
    by_call = {action.call.id: action for action in run.open}
    busy = [action for action in run.open if action.is_in_flight]
    askers = {action.asker for action in run.open if action.asker}
    for call in run.calls:
        action = by_call.get(call.id)
        if action is None:
            yield Authorize(run.turn, call)
        elif action.is_in_flight:
            yield _run_tool(action, begun=True)
        elif _needs_look(action):
            yield _reconcile(action)
        elif _may_begin(action) and _has_room(action, busy, askers):
            busy.append(action)
            yield _run_tool(action, begun=False)


def _may_begin(action: Action) -> bool:
    return action.has_leave and (action.started is None or action.interrupted)


def _has_room(action: Action, busy: list[Action], askers: set[str]) -> bool:
    """Tools that do not run in parallel run alone. What was asked for runs beside all who wait for what they asked."""
    # Beside its own asker alone would not do: two of them would each wait for what the other's asker holds up.
    others = [other for other in busy if other.id not in askers] if action.asker else busy
    return not others or (action.parallel and all(other.parallel for other in others))


def _needs_look(action: Action) -> bool:
    return action.interrupted and not action.outcome and action.repeat == "checkable" and not action.unhappened


def _run_tool(action: Action, *, begun: bool) -> RunTool:
    attempt = action.started.attempt if action.started else 0
    return RunTool(action.turn, action.id, attempt if begun else attempt + 1, begun)


def _reconcile(action: Action) -> Reconcile:
    return Reconcile(action.turn, action.id, action.started.attempt if action.started else 0)


def _moments(run: Run) -> Iterable[Instant]:
    if run.deadline is not None:
        yield run.deadline
    if run.retry_at is not None:
        yield run.retry_at
    for action in run.open:
        if action.outcome:
            continue
        if action.approval and action.approval.is_open:
            yield action.approval.expires_at
        if action.started and action.started.deadline is not None and action.handed_over:
            yield action.started.deadline


def _name(event: Event) -> str:
    name = type(event).__name__
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in name).lstrip("_")
