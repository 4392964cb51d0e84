"""The gate: no action without a decision, no attempt without looking at the decision again."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from pollux.core.canonical import digest
from pollux.core.errors import ValidationError
from pollux.core.events import ActionDecided, ActionFailed, ActionStarted, CallRefused
from pollux.core.ids import ActionId, Instant
from pollux.core.messages import JSON, ToolCall
from pollux.core.policy import Grant, PolicyRequest, Rule, decide
from pollux.core.run import Action, Approval, Run, action_id, approval_id
from pollux.core.tools import Tool
from pollux.engine.toolbox import Toolbox

logger = logging.getLogger(__name__)

PREVIEW_LENGTH = 2_000


@dataclass(frozen=True, slots=True)
class Terms:
    """What decisions are made under, as of now."""

    toolbox: Toolbox
    offered: frozenset[str]
    rules: Sequence[Rule]
    grants: Sequence[Grant]
    now: Instant


def authorize(run: Run, call: ToolCall, terms: Terms) -> ActionDecided | CallRefused:
    """Make an action of a call, or say why that cannot be."""
    if call.name not in terms.offered or call.name not in terms.toolbox:
        known = ", ".join(sorted(terms.offered)) or "none"
        return _refusal(run, call, "unknown_tool", f"there is no tool {call.name!r}; the tools are: {known}", terms)
    try:
        args = terms.toolbox.prepare(call.name, call.args)
        action = plan(run, call, args, terms, id=action_id(run.id, run.turn, run.calls.index(call)))
    except ValidationError as problem:
        return _refusal(run, call, "invalid_args", str(problem), terms)
    except Exception:
        # A tool that cannot even describe its call is not run: default to refusing.
        logger.exception("a tool failed while its call was being prepared")
        return _refusal(run, call, "invalid_args", "the tool could not prepare this call", terms)
    return ActionDecided(epoch=run.epoch, action=action, at=terms.now)


def plan(run: Run, call: ToolCall, args: dict[str, JSON], terms: Terms, *, id: ActionId, edited_by: str = "") -> Action:
    """An action for prepared arguments, with the policy's answer and, where it asks, the question to a person."""
    tool = terms.toolbox[call.name]
    spec = tool.spec
    request = _request_for(run, tool, args)
    decision = decide(request, terms.rules, terms.grants)
    args_hash = digest(args)
    preview = tool.preview(args)[:PREVIEW_LENGTH]
    approval = None
    if decision.mode == "require_approval":
        approval = Approval(
            id=approval_id(id),
            args_hash=args_hash,
            schema_hash=spec.schema_hash,
            reason=decision.reason,
            preview=preview,
            requested_at=terms.now,
            expires_at=terms.now + run.limits.approval_seconds,
        )
    return Action(
        id=id,
        call=call,
        turn=run.turn,
        tool=spec.name,
        args=args,
        args_hash=args_hash,
        schema_hash=spec.schema_hash,
        decided_at=terms.now,
        side_effect=spec.side_effect,
        repeat=spec.repeat or "once",
        parallel=spec.parallel,
        where=spec.where,
        decision=decision,
        subjects=tuple(sorted(request.subjects)),
        provenance=tuple(sorted(request.provenance)),
        preview=preview,
        approval=approval,
        edited_by=edited_by,
    )


def begin(run: Run, action: Action, terms: Terms, *, is_fresh: bool = False) -> ActionStarted | ActionFailed:
    """Announce an attempt, unless the policy or the tool has changed since the decision."""
    now = terms.now
    objection = "" if is_fresh else _objection(run, action, terms)
    if objection:
        return ActionFailed(
            epoch=run.epoch, action_id=action.id, attempt=0, code="policy_changed", message=objection, at=now
        )
    before = action.started.attempt if action.started else 0
    deadline = now + run.limits.page_seconds if action.where == "page" else None
    return ActionStarted(epoch=run.epoch, action_id=action.id, attempt=before + 1, deadline=deadline, at=now)


def _request_for(run: Run, tool: Tool, args: dict[str, JSON]) -> PolicyRequest:
    return PolicyRequest(
        user=run.user,
        door=run.door,
        profile=run.profile,
        tool=tool.spec,
        args=args,
        subjects=tool.subjects(args),
        provenance=_provenance(run),
        interactive=run.interactive,
        thread_id=run.thread_id,
    )


def _objection(run: Run, action: Action, terms: Terms) -> str:
    tool = terms.toolbox.get(action.tool)
    if tool is None or tool.spec.schema_hash != action.schema_hash:
        return "the tool has changed since the call was decided"
    if digest(action.args) != action.args_hash:
        return "the arguments are not the ones that were decided on"
    decision = decide(_request_for(run, tool, action.args), terms.rules, terms.grants)
    if decision.mode == "deny":
        return f"the policy forbids it now: {decision.reason}"
    if decision.mode == "require_approval" and action.approval is None:
        return "the policy wants a person's approval now, and there was none"
    return ""


def _provenance(run: Run) -> frozenset[str]:
    """Where the words came from that the model had read: the user, and every tool that answered."""
    tools = {action.tool for action in run.done}
    return frozenset({"user", *(f"tool:{tool}" for tool in tools)})


def _refusal(
    run: Run, call: ToolCall, code: Literal["unknown_tool", "invalid_args"], message: str, terms: Terms
) -> CallRefused:
    return CallRefused(epoch=run.epoch, call_id=call.id, code=code, message=message, at=terms.now)
