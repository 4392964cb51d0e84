"""From facts to one transaction: what follows from a run's new events for threads, approvals, grants and the audit."""

from collections.abc import Iterator

from pollux.core import machine
from pollux.core.canonical import canonical
from pollux.core.events import (
    ActionCompleted,
    ActionDecided,
    ActionFailed,
    ActionReconciled,
    ActionSettled,
    ActionStarted,
    ApprovalResolved,
    CancelRequested,
    Event,
    HistoryCompressed,
    RunClaimed,
    TimeReached,
)
from pollux.core.ids import ActionId, GrantId, Instant, grant_id
from pollux.core.policy import Grant
from pollux.core.run import Action, Run, evolve
from pollux.core.thread import Thread, ThreadCompressed, ThreadEvent, step_thread
from pollux.engine.ports import ApprovalRow, AuditFact, Change, RunRow


def change_of(
    before: Run | None,
    after: Run,
    events: tuple[Event, ...],
    *,
    thread: Thread,
    thread_events: tuple[ThreadEvent, ...] = (),
) -> Change:
    """Everything that is written together with these events. `thread` is the thread before them."""
    said = len(before.messages) if before else 0
    at = events[-1].at
    for event in events:
        if isinstance(event, HistoryCompressed) and event.compressed:
            note = ThreadCompressed(run_id=after.id, compressed=event.compressed, at=event.at)
            thread, thread_events = step_thread(thread, note), (*thread_events, note)
    touched = _touched(before, after)
    return Change(
        run=after,
        events=events,
        row=row_of(after, at),
        thread=evolve(
            thread,
            head=after.head + len(after.messages),
            open_run=None if after.ending else after.id,
            context_tokens=after.context_tokens,
            updated_at=at,
        ),
        thread_events=thread_events,
        first_message=after.head + said + 1,
        messages=after.messages[said:],
        approvals=tuple(_approval_rows(after, touched)),
        grants=tuple(grant for event in events for grant in _grants(after, event)),
        audit=tuple(_audit(before, after, events, touched)),
    )


def row_of(run: Run, at: Instant) -> RunRow:
    """The line by which a store finds the run."""
    return RunRow(
        run_id=run.id,
        thread_id=run.thread_id,
        user=run.user,
        profile=run.profile,
        status=run.status,
        created_at=run.created_at,
        updated_at=at,
        wake_at=machine.wake_at(run),
        owed=is_owed(run),
        epoch=run.epoch,
        driver=run.driver,
        parent=run.parent.run_id if run.parent else None,
        root=run.parent.root if run.parent else None,
    )


def is_owed(run: Run) -> bool:
    """Whether somebody must see to the run: work, something in flight that must end, or a child that may have ended."""
    if run.ending:
        return False
    return bool(machine.pending(run)) or any(_is_under_way(action) for action in run.open)


def revocation(grant: Grant, *, by: str, at: Instant) -> Change:
    """A grant is taken back."""
    fact = AuditFact(at=at, kind="revoked", user=grant.user, tool_name=grant.tool, by=by)
    return Change(revoked=(GrantId(grant.id),), audit=(fact,))


def _is_under_way(action: Action) -> bool:
    return action.is_in_flight or (action.where == "child" and action.handed_over and not action.outcome)


def _touched(before: Run | None, after: Run) -> list[Action]:
    """The actions that these events changed. Untouched ones are the very same objects."""
    if before is None:
        return []
    if before.open is after.open and before.done is after.done:
        return []
    known = {id(action) for action in before.open}
    # Of the earlier turns only late truths change, so they are compared as a whole first.
    settled = len(before.done)
    if after.done[:settled] != before.done:
        known |= {id(action) for action in before.done}
        settled = 0
    return [action for action in (*after.done[settled:], *after.open) if id(action) not in known]


def _approval_rows(run: Run, touched: list[Action]) -> Iterator[ApprovalRow]:
    root = run.parent.root if run.parent else run.id
    for action in touched:
        approval = action.approval
        if approval:
            yield ApprovalRow(
                approval_id=approval.id,
                run_id=run.id,
                root=root,
                user=run.user,
                status=approval.status,
                requested_at=approval.requested_at,
                expires_at=approval.expires_at,
            )


def _grants(run: Run, event: Event) -> Iterator[Grant]:
    if not isinstance(event, ApprovalResolved) or event.scope is None:
        return
    action = run.action_of_approval(event.approval_id)
    if action is None or event.decision != "approved":
        return
    for position, subject in enumerate(action.subjects):
        yield Grant(
            id=grant_id(event.approval_id, position),
            user=run.user,
            tool=action.tool,
            subject=subject,
            scope=event.scope,
            granted_at=event.at,
            thread_id=run.thread_id if event.scope == "session" else None,
            approval_id=event.approval_id,
        )


def _audit(before: Run | None, after: Run, events: tuple[Event, ...], touched: list[Action]) -> Iterator[AuditFact]:
    """One line for each change of an action that can have an effect. What only reads is in the journal alone."""
    effects = {action.id: action for action in touched if action.side_effect}
    if not effects:
        return
    for event in events:
        match event:
            case ActionDecided():
                if action := effects.get(event.action.id):
                    yield _fact(after, action, "decided", event.at, status=event.action.status)
            case ApprovalResolved():
                for action in effects.values():
                    if action.approval and action.approval.id == event.approval_id:
                        yield _fact(after, action, event.decision, event.at, by=event.by)
                        if event.scope:
                            yield _fact(after, action, "granted", event.at, by=event.by)
            case ActionStarted():
                if action := effects.get(event.action_id):
                    yield _fact(after, action, "started", event.at, status="executing")
            case ActionCompleted() | ActionFailed() | ActionReconciled():
                if action := effects.get(event.action_id):
                    yield _fact(after, action, action.outcome.status if action.outcome else "not_done", event.at)
            case ActionSettled():
                if action := effects.get(event.action_id):
                    yield _fact(after, action, "settled", event.at, by=event.by)
            case RunClaimed() | TimeReached() | CancelRequested():
                yield from _outcomes_by_default(before, after, effects, event.at)
            case _:
                pass


def _outcomes_by_default(
    before: Run | None, after: Run, effects: dict[ActionId, Action], at: Instant
) -> Iterator[AuditFact]:
    """Actions that ended because a driver died or a clock ran out, not because somebody reported it."""
    for action in effects.values():
        earlier = before.action(action.id) if before else None
        if action.outcome and action.outcome.at == at and earlier and not earlier.outcome:
            yield _fact(after, action, action.outcome.status, at)


def _fact(run: Run, action: Action, kind: str, at: Instant, *, by: str = "", status: str = "") -> AuditFact:
    outcome, approval, decision = action.outcome, action.approval, action.decision
    return AuditFact(
        at=at,
        kind=kind,
        user=run.user,
        run_id=run.id,
        thread_id=run.thread_id,
        action_id=action.id,
        model_name=run.model,
        tool_name=action.tool,
        input=canonical(action.args),
        policy_decision=decision.mode if decision else "",
        approval_id=approval.id if approval else "",
        execution_status=status or action.status,
        error_code=outcome.code if outcome else "",
        message=_safe(outcome.code) if outcome else "",
        by=by,
        started_at=action.started.at if action.started else None,
        ended_at=outcome.at if outcome else None,
    )


def _safe(code: str) -> str:
    # A tool's own words may quote its arguments; the audit outlives an erasure, so it keeps none of them.
    return code.replace("_", " ")
