"""The actions' side of the machine: decisions, approvals, starts, interruptions and outcomes.

The law kept here: nothing starts without leave, nothing starts twice in an epoch, and what may have happened is never
assumed not to have.
"""

from collections.abc import Iterator
from itertools import takewhile
from typing import Literal

from pollux.core import turns
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
    RunClaimed,
    RunRestored,
    ToolObserved,
)
from pollux.core.ids import Instant
from pollux.core.messages import JSON, Message, ToolCall, ToolResult, notice
from pollux.core.policy import MAY_BE_DONE
from pollux.core.run import (
    Action,
    Approval,
    Cancel,
    CancelReason,
    Ending,
    Outcome,
    Resolution,
    Run,
    Start,
    action_id,
    asked_id,
    evolve,
)

UNKNOWN = "outcome_unknown"


def claimed(run: Run, event: RunClaimed) -> Run:
    """A new driver: what the old one had in flight may or may not have happened."""
    if event.epoch != run.epoch + 1:
        raise Misfit(f"run_claimed needs epoch {run.epoch + 1}, but found {event.epoch}", code="claimed")
    run = turns.interrupted(evolve(run, epoch=event.epoch, driver=event.driver), event.at)
    for action in run.open:
        if action.is_in_flight:
            run = _put(run, evolve(action, interrupted=True))
    return close_turn(_give_up_on_unknown(run, event.at), event.at)


def restored(run: Run, event: RunRestored) -> Run:
    """Whatever could have had an effect since is looked up, or its outcome is unknown; open questions say so."""
    run = evolve(run, restored=True)
    for action in run.open:
        if action.outcome or not action.side_effect or action.handed_over or action.where == "child":
            continue
        if action.approval and action.approval.is_open:
            reason = f"{MAY_BE_DONE} {action.approval.reason}".strip()
            # For this once alone: what would be allowed from now on is not what the question was about.
            run = _put(run, evolve(action, approval=evolve(action.approval, reason=reason, scopes=())))
            continue
        known = action.started or Start(run.epoch, 1, event.at)
        action = evolve(action, started=known, interrupted=True, unhappened=False)
        if action.repeat != "checkable":
            action = evolve(action, outcome=_unknown(action, event.at, f"{action.tool}: {MAY_BE_DONE}"))
        run = _put(run, action)
    return close_turn(run, event.at)


def decided(run: Run, event: ActionDecided) -> Run:
    """The policy's answer becomes an action: allowed, waiting for a person, or refused."""
    action = event.action
    if event.supersedes:
        return _edited(run, event)
    if action.asker:
        return close_turn(_add(_asked_for(run, event), action, event.at), event.at)
    if event.epoch != run.epoch or run.cancel or action.call not in run.calls or _for_call(run, action.call.id):
        raise Misfit(f"action_decided needs call {action.call.id!r} to be undecided in epoch {run.epoch}")
    return close_turn(_add(run, action, event.at), event.at)


def refused(run: Run, event: CallRefused) -> Run:
    """A call that cannot become an action of any tool is answered with an error; the run goes on."""
    call = next((call for call in run.calls if call.id == event.call_id), None)
    if event.epoch != run.epoch or run.cancel or call is None or _for_call(run, call.id):
        raise Misfit(f"call_refused needs call {event.call_id!r} to be undecided in epoch {run.epoch}")
    outcome = Outcome("failed", {"error": event.message}, event.at, event.code, event.message, event.connect_url)
    return close_turn(evolve(run, open=(*run.open, _actionless(run, call, outcome))), event.at)


def started(run: Run, event: ActionStarted) -> Run:
    """An attempt is announced. Only with leave, only once in an epoch."""
    action = _open_action(run, event.action_id, "action_started")
    if event.epoch != run.epoch or run.cancel:
        raise Misfit(f"action_started needs epoch {run.epoch} of a run that is not being cancelled")
    if not action.has_leave:
        raise Misfit(f"action_started needs leave for action {action.id!r}, but it is {action.status}")
    if action.started and not action.interrupted:
        raise Misfit(f"action_started needs action {action.id!r} not to be running, but it is")
    if action.interrupted and not _is_safe_to_repeat(action):
        raise Misfit(f"action_started needs action {action.id!r} to be safe to repeat, but it is {action.repeat}")
    before = action.started.attempt if action.started else 0
    if event.attempt != before + 1:
        raise Misfit(f"action_started needs attempt {before + 1}, but found {event.attempt}")
    start = Start(event.epoch, event.attempt, event.at, event.deadline)
    handed_over = action.where == "page"
    return _put(run, evolve(action, started=start, interrupted=False, unhappened=False, handed_over=handed_over))


def noted(run: Run, event: ActionNoted) -> Run:
    """How far an attempt came. Refused from one that is none any more: its tool must not go on."""
    action = _open_action(run, event.action_id, "action_noted")
    if event.epoch != run.epoch or run.cancel:
        raise Misfit(f"action_noted needs epoch {run.epoch} of a run that is not being cancelled")
    if not action.is_in_flight or not _is_attempt(action, event.epoch, event.attempt):
        raise Misfit(f"action_noted needs the attempt at action {action.id!r} to be under way, but it is not")
    return _put(run, evolve(action, note=event.note))


def observed(run: Run, event: ToolObserved) -> Run:
    """What a foreign agent did unasked. It is counted, and nothing follows from it."""
    action = _open_action(run, event.action_id, "tool_observed")
    if event.epoch != run.epoch or not action.is_in_flight:
        raise Misfit(f"tool_observed needs action {action.id!r} to be under way in epoch {run.epoch}, but it is not")
    return _put(run, evolve(action, observed=action.observed + 1))


def handed_over(run: Run, event: ActionHandedOver) -> Run:
    """A child run has it now: a driver's death no longer touches it."""
    action = _open_action(run, event.action_id, "action_handed_over")
    if action.where != "child" or not action.is_in_flight or not _is_attempt(action, event.epoch, event.attempt):
        raise Misfit(f"action_handed_over needs child action {action.id!r} in flight, but it is {action.status}")
    return close_turn(_put(run, evolve(action, handed_over=True)), event.at)


def ended(run: Run, event: ActionCompleted | ActionFailed) -> Run:
    """An attempt came to an end. A late truth is taken as long as nothing was put in its place."""
    action = run.action(event.action_id)
    if action is None:
        raise Misfit(f"{_past(event)} needs a known action, but found {event.action_id!r}")
    outcome = _outcome_of(event)
    run = evolve(run, sources=tuple(sorted({*run.sources, *event.sources}))) if event.sources else run
    if _stays_unknown(action) and _is_attempt(action, event.epoch, event.attempt) and outcome.code != UNKNOWN:
        return _put(run, evolve(action, outcome=outcome))
    if run.ending or action.outcome:
        raise Misfit(f"{_past(event)} needs action {action.id!r} to be open, but it is {action.status}")
    if event.attempt == 0 and isinstance(event, ActionFailed):
        return _stopped_before_start(run, action, event, outcome)
    if not _is_attempt(action, event.epoch, event.attempt):
        raise Misfit(f"{_past(event)} needs the last attempt at action {action.id!r}, but it was started again")
    return close_turn(_put(run, evolve(action, outcome=outcome)), event.at)


def reconciled(run: Run, event: ActionReconciled) -> Run:
    """The look at the world decides what an interrupted action became."""
    action = _open_action(run, event.action_id, "action_reconciled")
    if event.epoch != run.epoch or not action.interrupted or action.unhappened or action.repeat != "checkable":
        raise Misfit(f"action_reconciled needs action {action.id!r} to be interrupted, checkable and not looked up yet")
    if event.outcome == "done":
        action = evolve(action, outcome=Outcome("completed", event.result, event.at))
    elif event.outcome == "not_done" and (run.cancel or action.asker):
        action = evolve(action, outcome=_dropped(event.at) if run.cancel else _withdrawn(event.at))
    elif event.outcome == "not_done":
        action = evolve(action, unhappened=True)
    else:
        action = evolve(action, outcome=_unknown(action, event.at, event.detail))
    return close_turn(_put(run, action), event.at)


def settled(run: Run, event: ActionSettled) -> Run:
    """A person found out what a machine could not."""
    action = run.action(event.action_id)
    if action is None or not _stays_unknown(action):
        status = action.status if action else "not known"
        raise Misfit(
            f"action_settled needs action {event.action_id!r} to have an unknown outcome, but it is {status}",
            code="already_resolved",
        )
    if event.outcome == "done":
        outcome = Outcome("completed", {"settled": "done"}, event.at, message=f"settled as done by {event.by}")
    else:
        said = f"settled as not done by {event.by}"
        outcome = Outcome("failed", {"error": said}, event.at, "not_done", said)
    return _put(run, evolve(action, outcome=outcome))


def resolved(run: Run, event: ApprovalResolved) -> Run:
    """A person's answer, taken once."""
    action = run.action_of_approval(event.approval_id)
    if action is None or action.approval is None:
        raise Misfit(f"approval_resolved needs a known approval, but found {event.approval_id!r}")
    approval = action.approval
    _is_waiting(approval, event.at, "approval_resolved")
    resolution = Resolution(event.decision, event.at, event.by, event.feedback, event.scope)
    action = evolve(action, approval=evolve(approval, resolution=resolution))
    if event.decision == "rejected":
        said = "the user rejected this call"
        result: dict[str, JSON] = {"error": said}
        if event.feedback:
            result["feedback"] = event.feedback
        action = evolve(action, outcome=Outcome("rejected", result, event.at, "rejected", said))
    return close_turn(_put(run, action), event.at)


def expired(run: Run, at: Instant) -> Run:
    """Questions nobody answered and pages that went away, up to this moment."""
    for action in run.open:
        if action.outcome:
            continue
        approval = action.approval
        if approval and approval.is_open and at >= approval.expires_at:
            said = "nobody answered the approval request in time"
            closed = evolve(approval, resolution=Resolution("expired", at))
            outcome = Outcome("rejected", {"error": said}, at, "expired", said)
            run = _put(run, evolve(action, approval=closed, outcome=outcome))
        start = action.started
        if action.handed_over and start and start.deadline is not None and at >= start.deadline:
            said = "the page did not answer in time"
            run = _put(run, evolve(action, outcome=Outcome("failed", {"error": said}, at, "page_gone", said)))
    return close_turn(run, at)


def cancelled(run: Run, *, by: str, reason: CancelReason, at: Instant) -> Run:
    """Stop: questions are withdrawn, what has not started never will, what is in flight must end first."""
    run = evolve(run, cancel=Cancel(by, reason, at), retry_at=None)
    for call in run.calls:
        if not _for_call(run, call.id):
            run = evolve(run, open=(*run.open, _actionless(run, call, _dropped(at))))
    for action in run.open:
        if action.outcome or action.is_in_flight:
            continue
        if action.approval and action.approval.is_open:
            action = evolve(action, approval=evolve(action.approval, resolution=Resolution("withdrawn", at)))
        if action.started is None or action.handed_over or action.unhappened:
            action = evolve(action, outcome=_left_off(at) if action.handed_over else _dropped(at))
        run = _put(run, action)
    return close_turn(_give_up_on_unknown(run, at), at)


# Inside a turn.


def _add(run: Run, action: Action, at: Instant) -> Run:
    if action.decision is None:
        raise Misfit(f"action_decided needs a decision for action {action.id!r}")
    # What is asked for is numbered by its asker, and so always new: there may be thousands of them in a turn.
    if not action.asker and _is_known(run, action):
        raise Misfit(f"action_decided needs a new action, but {action.id!r} is known")
    if action.approval and action.decision.mode != "require_approval":
        raise Misfit(f"action_decided needs no approval for action {action.id!r}, but brings one")
    if action.decision.mode == "deny":
        said = f"the policy refused this call: {action.decision.reason}"
        action = evolve(action, outcome=Outcome("rejected", {"error": said}, at, "policy_denied", said))
    elif action.decision.mode == "require_approval":
        approval = action.approval
        if approval is None or approval.args_hash != action.args_hash or approval.schema_hash != action.schema_hash:
            raise Misfit(f"action_decided needs an approval for the very arguments of action {action.id!r}")
        run = evolve(run, messages=(*run.messages, notice(f"Approval needed: {action.preview or action.tool}")))
    return evolve(run, open=(*run.open, action))


def _asked_for(run: Run, event: ActionDecided) -> Run:
    """One more call in the turn: not the model's, but of an action that is at work and waits for it."""
    action = event.action
    asker = _for_asker(run, action)
    if event.epoch != run.epoch or run.cancel or asker is None or not asker.is_in_flight:
        raise Misfit(f"action_decided needs {action.asker!r}, which asks, to be at work in epoch {run.epoch}")
    is_next = (action.id, action.turn) == (asked_id(asker.id, asker.asked + 1), run.turn)
    if not is_next or any(call.id == action.call.id for call in run.calls):
        raise Misfit(f"action_decided needs the next that {asker.id!r} asks for, but found {action.id!r}")
    if len(run.calls) > turns.MAX_CALLS:
        raise Misfit(f"action_decided needs at most {turns.MAX_CALLS} calls to be open, and there are more")
    return _put(evolve(run, calls=(*run.calls, action.call)), evolve(asker, asked=asker.asked + 1))


def _edited(run: Run, event: ActionDecided) -> Run:
    old = run.action(event.supersedes or "")
    if old is None or old.call != event.action.call or old.approval is None:
        raise Misfit(f"action_decided needs action {event.supersedes!r} to be waiting for approval")
    if old.asker or event.action.asker:
        # Whoever asked goes on as if the very arguments it named had been judged.
        raise Misfit(f"action_decided needs what {old.asker!r} asked for to stay as it is, but found other arguments")
    _is_waiting(old.approval, event.at, "action_decided")
    closed = evolve(old.approval, resolution=Resolution("superseded", event.at, event.action.edited_by))
    said = "superseded by edited arguments"
    ended_ = evolve(old, approval=closed, outcome=Outcome("rejected", {"error": said}, event.at, "superseded", said))
    run = evolve(run, open=tuple(a for a in run.open if a.id != old.id), done=(*run.done, ended_))
    return close_turn(_add(run, event.action, event.at), event.at)


def _stopped_before_start(run: Run, action: Action, event: ActionFailed, outcome: Outcome) -> Run:
    if event.epoch != run.epoch or not action.has_leave or action.is_in_flight or action.handed_over:
        raise Misfit(f"action_failed needs action {action.id!r} not to have begun, but it is {action.status}")
    if action.interrupted and not action.unhappened:
        # It was begun before and may have happened; a policy that changed since does not undo that.
        outcome = _unknown(action, event.at) if action.repeat != "repeatable" else outcome
    return close_turn(_put(run, evolve(action, outcome=outcome)), event.at)


def _give_up_on_unknown(run: Run, at: Instant) -> Run:
    """Interrupted actions that can be neither repeated nor looked up: the truth is that nobody knows."""
    for action in run.open:
        if not action.interrupted or action.outcome or action.unhappened:
            continue
        # The attempt that asked for it was interrupted too: nothing is run again for nobody.
        is_last = run.cancel or action.asker
        if action.repeat == "once" or (is_last and action.repeat == "keyed"):
            run = _put(run, evolve(action, outcome=_unknown(action, at)))
        elif is_last and action.repeat == "repeatable":
            run = _put(run, evolve(action, outcome=_dropped(at) if run.cancel else _withdrawn(at)))
    return run


def close_turn(run: Run, at: Instant) -> Run:
    """When every call has its answer, the model's next turn may come."""
    if not run.calls:
        return run
    if run.closing:
        # These calls came when nothing may be run any more: they get an answer, so that the thread can go on later.
        run = _answer_all(run, run.closing, at)
    run = _without_asked(run, at)
    by_call = {action.call.id: action for action in run.open if action.outcome}
    if len(by_call) < len(run.calls):
        return run
    answered = [by_call[call.id] for call in run.calls]
    results = tuple(result_for_model(run, action) for action in answered)
    run = evolve(
        run, messages=(*run.messages, Message("tool", results)), calls=(), open=(), done=(*run.done, *answered)
    )
    closing = _closing_for(run, answered, at)
    if closing:
        return evolve(run, closing=closing)
    return turns.next_turn(run, at)


def _without_asked(run: Run, at: Instant) -> Run:
    """What was asked for by an action leaves the turn with its answer, or when whoever asked is not there any more."""
    if not any(action.asker for action in run.open):
        return run
    for action in run.open:
        asker = _for_asker(run, action)
        if not action.asker or action.outcome or action.started or (asker and asker.is_in_flight):
            continue
        if action.approval and action.approval.is_open:
            action = evolve(action, approval=evolve(action.approval, resolution=Resolution("withdrawn", at)))
        run = _put(run, evolve(action, outcome=_withdrawn(at)))
    over = tuple(action for action in run.open if action.asker and action.outcome)
    if not over:
        return run
    calls = {action.call.id for action in over}
    return evolve(
        run,
        calls=tuple(call for call in run.calls if call.id not in calls),
        open=tuple(action for action in run.open if action.call.id not in calls),
        done=(*run.done, *over),
    )


def _closing_for(run: Run, answered: list[Action], at: Instant) -> Ending | None:
    unknown = next((a.outcome for a in (*answered, *_of_turn(run, run.turn)) if a.outcome and _stays_unknown(a)), None)
    if unknown:
        return Ending("failed", at, UNKNOWN, unknown.message)
    if run.closing or run.cancel:
        return run.closing
    shut_out = next((a.outcome for a in answered if a.outcome and a.outcome.code == "auth_error"), None)
    if shut_out:
        # Only the user can mend it: the model would try again, or talk around it.
        return Ending("failed", at, "auth_error", shut_out.message, shut_out.connect_url)
    rejected = next((a for a in answered if a.outcome and a.outcome.code in ("rejected", "expired")), None)
    if rejected and rejected.outcome and run.on_reject == "fail":
        return Ending("failed", at, rejected.outcome.code, rejected.outcome.message)
    return None


def _answer_all(run: Run, closing: Ending, at: Instant) -> Run:
    said = f"not run: {closing.message}"
    outcome = Outcome("failed", {"error": said}, at, closing.code, said)
    return evolve(run, open=tuple(_actionless(run, call, outcome) for call in run.calls))


def result_for_model(run: Run, action: Action) -> ToolResult:
    outcome = action.outcome
    assert outcome is not None
    result = outcome.result
    if action.edited_by:
        # The model must not believe that its own arguments ran.
        result = {"arguments": action.args, "edited_by": "the user", "result": result}
    return ToolResult(action.call.id, action.call.name, result, is_error=outcome.status != "completed")


# Small questions and replacements.


def _outcome_of(event: ActionCompleted | ActionFailed) -> Outcome:
    if isinstance(event, ActionCompleted):
        return Outcome("completed", event.result, event.at)
    status: Literal["failed", "rejected"] = "rejected" if event.code == "policy_changed" else "failed"
    return Outcome(status, {"error": event.message}, event.at, event.code, event.message, event.connect_url)


def _dropped(at: Instant) -> Outcome:
    said = "the run was cancelled before this ran"
    return Outcome("failed", {"error": said}, at, "cancelled", said)


def _withdrawn(at: Instant) -> Outcome:
    said = "whoever asked for this has ended"
    return Outcome("failed", {"error": said}, at, "withdrawn", said)


def _left_off(at: Instant) -> Outcome:
    said = "the run was cancelled while this was done elsewhere; it may or may not have happened"
    return Outcome("failed", {"error": said}, at, "cancelled", said)


def _unknown(action: Action, at: Instant, detail: str = "") -> Outcome:
    said = detail or f"{action.tool} was interrupted; it may or may not have happened"
    return Outcome("failed", {"error": said}, at, UNKNOWN, said)


def _stays_unknown(action: Action) -> bool:
    return action.outcome is not None and action.outcome.code == UNKNOWN


def _is_safe_to_repeat(action: Action) -> bool:
    return action.repeat in ("repeatable", "keyed") or action.unhappened


def _is_attempt(action: Action, epoch: int, attempt: int) -> bool:
    return action.started is not None and (action.started.epoch, action.started.attempt) == (epoch, attempt)


def _is_known(run: Run, action: Action) -> bool:
    """Whether the turn has an action of that name: a superseded one, or one for another call."""
    return any(old.id == action.id for old in (*run.open, *_of_turn(run, action.turn)))


def _of_turn(run: Run, turn: int) -> Iterator[Action]:
    """The actions of the last turn that are done with, the last one first: also those that a tool asked for."""
    return takewhile(lambda old: old.turn == turn, reversed(run.done))


def _for_call(run: Run, call_id: str) -> Action | None:
    return next((action for action in run.open if action.call.id == call_id), None)


def _for_asker(run: Run, action: Action) -> Action | None:
    return next((asker for asker in run.open if asker.id == action.asker), None)


def _is_waiting(approval: Approval, at: Instant, what: str) -> None:
    if not approval.is_open:
        status = approval.status
        code = "already_resolved" if status in ("approved", "rejected") else status
        raise Misfit(f"{what} needs approval {approval.id!r} to be pending, but it is {status}", code=code)
    if at >= approval.expires_at:
        raise Misfit(f"{what} needs approval {approval.id!r} to be in time, but it expired", code="expired")


def _open_action(run: Run, action_id_: str, what: str) -> Action:
    action = next((action for action in run.open if action.id == action_id_), None)
    if action is None or action.outcome:
        status = action.status if action else "not open"
        raise Misfit(f"{what} needs action {action_id_!r} to be open, but it is {status}")
    return action


def _put(run: Run, action: Action) -> Run:
    """The run with this action in place of the one it came from."""
    if any(old.id == action.id for old in run.open):
        return evolve(run, open=tuple(action if old.id == action.id else old for old in run.open))
    return evolve(run, done=tuple(action if old.id == action.id else old for old in run.done))


def _actionless(run: Run, call: ToolCall, outcome: Outcome) -> Action:
    """An action for a call that never got as far as a decision: it holds the answer and nothing else."""
    return Action(
        id=action_id(run.id, run.turn, run.calls.index(call)),
        call=call,
        turn=run.turn,
        tool=call.name,
        args=call.args,
        args_hash="",
        schema_hash="",
        decided_at=outcome.at,
        outcome=outcome,
    )


def _past(event: ActionCompleted | ActionFailed) -> str:
    return "action_completed" if isinstance(event, ActionCompleted) else "action_failed"
