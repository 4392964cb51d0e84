"""Runs, actions and approvals as their caller sees them. Everything is read from the run itself."""

from msgspec import structs

from pollux.asgi.bodies import moment
from pollux.core.run import Action, Approval, Run
from pollux.engine.glance import cost_of
from pollux.http.shapes import ActionView, ApprovalView, PendingView, RunView, Status, UsageView
from pollux.wire.brief import MOST_SHOWN, brief_of

UNDER_WAY = "The run is under way."
NO_TEXT = "The run completed without a text."


def run_view(run: Run) -> RunView:
    """A run. Its `summary` is the answer, the question or the error, and never empty."""
    ending = run.ending
    usage = run.usage
    return RunView(
        run_id=run.id,
        thread_id=run.thread_id,
        status=_status(run.status),
        state=run.status,
        summary=_summary(run),
        error_code=(ending.code or ending.status) if ending and ending.status != "completed" else None,
        actions=[action_view(action) for action in run.actions],
        approvals=[approval_view(action) for action in run.open if action.is_asked],
        usage=UsageView(
            input=usage.input,
            output=usage.output,
            thoughts=usage.thoughts,
            cached=usage.cached,
            total=usage.total,
        ),
        profile=run.profile,
        model=run.model,
        created_at=moment(run.created_at),
        updated_at=moment(run.updated_at),
        ended_at=moment(ending.at) if ending else None,
        # A provider that counts nothing says nothing of what it costs either.
        cost=cost_of(run.model, *run.used, at=run.created_at) if usage.total else None,
        connect_url=(ending.connect_url or None) if ending else None,
        refused=run.refused,
        **run.finish,
    )


def action_view(action: Action) -> ActionView:
    """An action and its fate."""
    outcome = action.outcome
    failed = outcome is not None and outcome.status != "completed"
    return ActionView(
        id=action.id,
        tool=action.tool,
        status=_status(action.status),
        state=action.status,
        requires_approval=action.approval is not None,
        error_code=(outcome.code or outcome.status) if outcome and failed else None,
        message=(outcome.message or None) if outcome and failed else None,
        approval_id=action.approval.id if action.approval else None,
    )


def approval_view(action: Action) -> ApprovalView:
    """The question about an action."""
    approval = question_of(action)
    return ApprovalView(
        id=approval.id,
        tool=action.tool,
        reason=approval.reason,
        preview=approval.preview or action.preview,
        args=action.args,
        args_hash=action.args_hash,
        expires_at=moment(approval.expires_at),
        subjects=sorted(action.subjects),
        provenance=sorted(action.provenance),
        scopes=list(approval.scopes),
    )


def pending_view(run: Run, action: Action) -> PendingView:
    """The question whole, with where it comes from."""
    approval = question_of(action)
    return PendingView(
        **structs.asdict(approval_view(action)),
        run_id=run.id,
        action_id=action.id,
        thread_id=run.thread_id,
        prompt=prompt_of(run),
        created_at=moment(approval.requested_at),
    )


def listed_view(run: Run, action: Action) -> PendingView:
    """The question among many: of a large one the beginning."""
    whole = pending_view(run, action)
    if len(str((whole.preview, whole.subjects, whole.args, whole.prompt))) <= MOST_SHOWN:
        # As almost every one is: no value of it needs to be looked at.
        return whole
    brief = brief_of(preview=whole.preview, subjects=whole.subjects, args=whole.args, prompt=whole.prompt)
    return structs.replace(
        whole,
        preview=brief.preview,
        subjects=list(brief.subjects),
        args=brief.args,
        prompt=brief.prompt,
        truncated=brief.is_truncated,
    )


def prompt_of(run: Run) -> str:
    """What was asked."""
    return next((message.text for message in run.messages if message.role == "user"), "")


def question_of(action: Action) -> Approval:
    """The approval of an action that has one."""
    assert action.approval is not None
    return action.approval


def _how_to_settle(run: Run) -> str:
    unknown = [action.id for action in run.actions if action.outcome and action.outcome.code == "outcome_unknown"]
    if not unknown:
        return "It has been settled since."
    return f"Whoever finds out says so with POST /api/agent/actions/{unknown[0]}/settle."


def _status(state: str) -> Status:
    match state:
        case "completed":
            return "completed"
        case "failed" | "cancelled" | "rejected":
            return "failed"
        case _:
            # Of the three words the one that says: it has not ended. `state` tells the rest.
            return "awaiting_confirmation"


def _summary(run: Run) -> str:
    if run.ending and run.ending.status == "completed":
        return (run.text.strip() and run.text) or NO_TEXT
    if run.ending and run.ending.code == "outcome_unknown":
        return f"{run.ending.message}. {_how_to_settle(run)}"
    if run.ending:
        return run.ending.message or f"The run ended: {run.ending.code or run.ending.status}."
    waiting = [approval_view(action) for action in run.open if action.is_asked]
    if waiting:
        asked = "\n".join(f"- {each.preview or each.tool}" for each in waiting)
        first = waiting[0].preview or waiting[0].tool
        return f"Approval needed:\n{asked}" if len(waiting) > 1 else f"Approval needed: {first}"
    return UNDER_WAY
