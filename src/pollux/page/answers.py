"""What a run has come to, as the page is told: an answer, calls for the page, or questions for the user."""

from collections.abc import Mapping, Sequence

from msgspec import UNSET, UnsetType

from pollux.asgi.bodies import moment
from pollux.asgi.errors import HttpError
from pollux.core.actions import result_for_model
from pollux.core.ids import Instant
from pollux.core.messages import JSON, Message
from pollux.core.run import Action, Run
from pollux.page.declared import Declared
from pollux.page.history import recent, write
from pollux.page.runtime import PageRuntime
from pollux.page.seal import Holder, Seal, sealed
from pollux.page.shapes import (
    ApprovalRequired,
    LeftOut,
    LeftOutTool,
    PendingCall,
    Question,
    Response,
    Told,
    ToolCalls,
)

MOST_LEFT_OUT = 20
LONGEST_WHY = 200
NO_TEXT = "Done."
FAILED = "I could not go on just now. Ask me again in a while."
STOPPED: Mapping[str, str] = {
    "loop_limit": "I stopped: this took more rounds than I may take for one message. Tell me how to go on.",
    "budget": "I stopped: what may be spent on one message is spent. Tell me how to go on.",
    "timeout": "I stopped: this took longer than it may. Tell me whether to go on.",
    "cancelled": "I stopped, as you asked.",
    "outcome_unknown": "I stopped: nobody can tell whether the last action happened. Look before you try it again.",
    "blocked": "The model would not answer this.",
    "auth_error": "I stopped: I need leave to use an account for this, and do not have it.",
}
"""Why an agent stopped, in words for the user. What the trouble was in detail is for whoever runs the site."""


def told(
    runtime: PageRuntime,
    run: Run,
    *,
    holder: Holder,
    before: Sequence[Message],
    tools_hash: str,
    offered: Declared,
) -> Told:
    """What to answer. `before` is what was said before the run, `offered` what the model hears of the page's tools.

    A run that failed is an answer too: what it did before is in the history, so that nobody does it again.
    Raises HttpError for a run that has not come to anything yet.
    """
    now = runtime.engine.clock.now()
    calls = [_call(run, action, offered.names, now) for action in waiting_calls(run)]
    history = _history(runtime, run, holder=holder, before=before, tools_hash=tools_hash)
    left_out = _left_out(offered)
    questions = [_question(action, offered.names, now) for action in run.open if action.is_asked]
    if questions:
        return ApprovalRequired(approvals=questions, calls=calls, history=history, run_id=run.id, left_out=left_out)
    if calls:
        return ToolCalls(calls=calls, history=history, run_id=run.id, left_out=left_out)
    ending = run.ending
    if ending is None:
        raise HttpError(
            503, "busy", "the agent is still at it; ask again with the same request", more={"runId": run.id}
        )
    if ending.status == "completed":
        said = run.text.strip() or NO_TEXT
        return Response(message=said, history=history, run_id=run.id, left_out=left_out, **run.finish)
    code = ending.code or ending.status
    return Response(message=STOPPED.get(code, FAILED), history=history, run_id=run.id, code=code, left_out=left_out)


def waiting_calls(run: Run) -> list[Action]:
    """The calls that only the page can answer."""
    return [action for action in run.open if action.where == "page" and action.started and not action.outcome]


def _history(
    runtime: PageRuntime, run: Run, *, holder: Holder, before: Sequence[Message], tools_hash: str
) -> list[dict[str, JSON]]:
    done = [action for action in run.open if action.outcome]
    # What the server has done in an open turn is in the history already, beside the calls that wait.
    so_far = (Message("tool", tuple(result_for_model(run, action) for action in done)),) if done else ()
    kept = recent((*before, *run.messages, *so_far))
    seal = Seal(run_id=run.id, tools_hash=tools_hash, pending=tuple(action.id for action in waiting_calls(run)))
    return sealed(write(kept), seal, holder=holder, keys=runtime.keys, now=runtime.engine.clock.now())


def _left_out(offered: Declared) -> LeftOut | UnsetType:
    """What the page's owner would want to know of: nothing else tells why a tool is never called."""
    missed = [each for each in offered.left_out if not each.is_needless]
    named = [LeftOutTool(name=each.name, why=each.why[:LONGEST_WHY]) for each in missed[:MOST_LEFT_OUT]]
    return LeftOut(count=len(missed), tools=named) if missed else UNSET


def _call(run: Run, action: Action, names: Mapping[str, str], now: Instant) -> PendingCall:
    start = action.started
    assert start is not None
    until = start.deadline if start.deadline is not None else start.at + run.limits.page_seconds
    name = names.get(action.tool, action.tool)
    return PendingCall(id=action.id, name=name, args=action.args, expires_in=_left(until, now))


def _question(action: Action, names: Mapping[str, str], now: Instant) -> Question:
    approval = action.approval
    assert approval is not None
    return Question(
        id=approval.id,
        tool=names.get(action.tool, action.tool) if action.where == "page" else action.tool,
        reason=approval.reason,
        preview=approval.preview or action.preview,
        args=action.args,
        args_hash=action.args_hash,
        expires_at=moment(approval.expires_at),
        expires_in=_left(approval.expires_at, now),
        subjects=list(action.subjects),
        scopes=list(approval.scopes),
        on_page=action.where == "page" or UNSET,
    )


def _left(until: Instant, now: Instant) -> float:
    """Seconds until then."""
    return round(max(0.0, until - now), 3)
