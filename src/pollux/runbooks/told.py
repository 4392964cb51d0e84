"""What happens in a runbook's run, as `{type, data}`: the events that the command line and the HTTP API tell.

Statuses are read off the run, never kept beside it: whoever joins late and whoever was there from the beginning are
told the same.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, Literal

from pollux.core.events import (
    ActionDecided,
    ActionNoted,
    ActionStarted,
    ApprovalResolved,
    RunCancelled,
    RunCompleted,
    RunFailed,
    RunStarted,
    ToolObserved,
)
from pollux.core.ids import Instant
from pollux.core.machine import step
from pollux.core.messages import JSON, NO_USAGE
from pollux.core.run import Action, Run
from pollux.engine.feed import Delta, Item, Output
from pollux.engine.ports import Recorded
from pollux.runbooks.agents import foreign, internal
from pollux.runbooks.blocks import BlockType
from pollux.runbooks.blocks.block_type import members
from pollux.runbooks.documents import Block, Runbook, read
from pollux.runbooks.opening import opening_of
from pollux.runbooks.progress import problem_of

AgentStatus = Literal[
    "idle",
    "initializing",
    "waiting",
    "streaming",
    "pendingToolApproval",
    "executingTool",
    "completed",
    "failed",
    "cancelled",
    "timedOut",
]
Told = dict[str, Any]
FINAL: Final = ("completed", "failed", "cancelled", "timedOut")
"""After one of these nothing more is told of an agent's block, unless it begins again."""
AGENTS: Final = (foreign.NAME, internal.NAME)


def event(type_: str, **data: Any) -> Told:
    return {"type": type_, "data": data}


class BlockTeller:
    """Tells of one run of a document, item by item."""

    def __init__(self, types: Mapping[str, BlockType], within: str = "") -> None:
        self.run: Run | None = None
        self.runbook: Runbook | None = None
        self._types = types
        self._within = within
        """The block of a runbook around this one, if there is one."""
        self._blocks: dict[str, Block] = {}
        self._states: dict[str, AgentStatus] = {}
        self._children: dict[str, Run] = {}
        """By block, the runs in which our own agents work."""

    def read(self, item: Item) -> Iterator[Told]:
        """What this item tells."""
        if isinstance(item, Output):
            yield from self._output(item)
        elif isinstance(item, Recorded):
            before = self.run
            self.run = step(before, item.event)
            yield from self._fact(before, self.run, item)

    def heard(self, child: "ChildTeller", item: Item) -> Iterator[Told]:
        """Something of an agent's own run."""
        for told in child.read(item):
            if child.run is not None:
                self._children[child.block_id] = child.run
            if told["type"] == "state":
                yield from self._state(child.block_id, told["status"], child.run, pending=told.get("pending"))
            else:
                yield told

    def _fact(self, before: Run | None, run: Run, record: Recorded) -> Iterator[Told]:
        match record.event:
            case RunStarted(prompt=prompt):
                opening = opening_of(prompt)
                if opening is not None:
                    self.runbook = read(opening.source, form=opening.form)
                    self._blocks = {block.id: block for block in self.runbook.blocks}
                yield self._event("runbookStarted", runId=run.id, name=self.runbook.name if self.runbook else "")
            case ActionDecided(action=action):
                if action.tool in AGENTS:
                    self._states.pop(action.call.id, None)
                    yield from self._state(action.call.id, "idle", run)
                if action.approval is not None:
                    yield from self._question(run, action)
            case ActionStarted(action_id=action_id):
                yield from self._begun(_known(run, action_id))
            case ActionNoted(action_id=action_id, note=foreign.PROMPTED):
                yield from self._state(self._block_of(action_id), "waiting", run)
            case ApprovalResolved():
                yield from self._answered(run, record.event)
            case ToolObserved():
                asker = _known(run, record.event.action_id)
                told = record.event
                yield self._event(
                    "agentToolObserved", blockId=asker.call.id, toolName=told.tool, title=told.title, status=told.status
                )
            case RunCompleted() | RunFailed() | RunCancelled():
                yield self._over(run)
            case _:
                pass
        yield from self._ended(before, run)

    def _begun(self, action: Action) -> Iterator[Told]:
        if action.asker:
            asker = action.asker
            yield from self._state(self._block_of(asker), "executingTool", self.run)
            return
        block = self._blocks.get(action.call.id)
        if block is None:
            return
        assert action.started is not None
        yield self._event(
            "blockStarted",
            blockId=block.id,
            name=block.name,
            blockType=block.type,
            startedAt=action.started.at,
            lifecycle={"type": "started"},
        )
        if action.tool in AGENTS:
            yield from self._state(block.id, "initializing", self.run)

    def _ended(self, before: Run | None, run: Run) -> Iterator[Told]:
        """What has an outcome now and had none before."""
        for action in _ended_since(before, run):
            if _ran_out(action):
                yield self._answer(action, approved=False)
            if action.asker:
                # Of a run that is being cancelled the agent waits for nothing any more.
                if not run.cancel:
                    yield from self._state(self._block_of(action.asker), "waiting", run)
            elif block := self._blocks.get(action.call.id):
                yield from self._finished(run, block, action)

    def _finished(self, run: Run, block: Block, action: Action) -> Iterator[Told]:
        outcome = action.outcome
        assert outcome is not None
        type_ = self._types[block.type]
        asked = child.actions if (child := self._children.get(block.id)) else asked_by(run, action)
        result = {**work_of(action, asked), **members(outcome.result)} if is_unfinished(action) else outcome.result
        output = type_.output(result)
        success = outcome.status == "completed" and type_.succeeded(outcome.result)
        if action.tool in AGENTS:
            yield from self._state(
                block.id,
                _final(success, "cancelled" if run.cancel and not success else outcome.code),
                run,
                usage=output.get("tokenUsage"),
            )
        if outcome.status == "completed":
            lifecycle: Told = {"type": "finished", "exitCode": output.get("exit_code"), "success": success}
        elif outcome.code == "cancelled":
            lifecycle = {"type": "cancelled"}
        else:
            lifecycle = {"type": "error", "message": outcome.message}
        yield self._event(
            "blockFinished",
            blockId=block.id,
            name=block.name,
            blockType=block.type,
            success=success,
            code=outcome.code,
            error="" if success else outcome.message or problem_of(outcome.result),
            seconds=_seconds(action),
            lifecycle=lifecycle,
            object=output,
        )

    def _question(self, run: Run, action: Action) -> Iterator[Told]:
        approval = action.approval
        assert approval is not None
        common: Told = {
            "runId": run.id,
            "approvalId": approval.id,
            "preview": action.preview,
            "reason": approval.reason,
            "args": action.args,
            "argsHash": approval.args_hash,
            "expiresAt": answered_by(run, action),
        }
        if action.asker:
            block_id = self._block_of(action.asker)
            yield from self._state(block_id, "pendingToolApproval", run, pending=pending_of(action))
            yield self._event("agentToolApprovalRequired", **_asked_about(block_id, self.runbook, action), **common)
            return
        yield self._event(
            "blockApprovalRequired",
            blockId=action.call.id,
            name=self._blocks[action.call.id].name if action.call.id in self._blocks else "",
            lifecycle={"type": "paused"},
            **common,
        )

    def _answered(self, run: Run, answer: ApprovalResolved) -> Iterator[Told]:
        action = run.action_of_approval(answer.approval_id)
        if action is None:
            return
        is_yes, is_kept = answer.decision == "approved", answer.scope is not None
        yield self._answer(action, approved=is_yes, remember=is_kept, by=answer.by)

    def _answer(self, action: Action, *, approved: bool, remember: bool = False, by: str = "") -> Told:
        """What became of a question. Without a `by`, nobody answered it in time."""
        assert action.approval is not None
        told: Told = {"approvalId": action.approval.id, "approved": approved, "remember": remember, "by": by}
        if action.asker:
            told |= {"blockId": self._block_of(action.asker), "toolCallId": action.call.id}
            return self._event("agentToolApprovalResponse", **told)
        return self._event("blockApprovalResponse", blockId=action.call.id, **told)

    def _output(self, output: Output) -> Iterator[Told]:
        block_id = self._block_of(output.action_id)
        action = self.run.action(output.action_id) if self.run else None
        if block_id not in self._blocks or action is None or action.outcome is not None:
            # What was put out is in the result: nothing is told after that.
            return
        if self._states.get(block_id) in ("initializing", "waiting", "executingTool"):
            yield from self._state(block_id, "streaming", self.run)
        yield self._event("blockOutput", blockId=block_id, **{output.stream: output.text})

    def _over(self, run: Run) -> Told:
        assert run.ending is not None
        ending = run.ending
        told = {"runId": run.id, "status": ending.status, "code": ending.code, "error": ending.message}
        return self._event("runbookFinished", **told, summary=run.text)

    def _state(
        self, block_id: str, status: AgentStatus, run: Run | None, *, usage: JSON = None, pending: Told | None = None
    ) -> Iterator[Told]:
        before = self._states.get(block_id)
        if block_id not in self._blocks or before in FINAL or (before == status and pending is None):
            return
        self._states[block_id] = status
        if usage is None and run is not None and run.usage != NO_USAGE:
            usage = {"inputTokens": run.usage.input, "outputTokens": run.usage.output}
        state = {"status": status, "tokenUsage": usage, "pendingToolCall": pending}
        yield self._event("agentStateChanged", blockId=block_id, state=state)

    def _block_of(self, action_id: str) -> str:
        """The block that an action is, or that asked for it."""
        action = self.run.action(action_id) if self.run else None
        if action is not None and action.asker:
            action = self.run.action(action.asker) if self.run else None
        return action.call.id if action else ""

    def _event(self, type_: str, **data: Any) -> Told:
        return event(type_, **data, **({"within": self._within} if self._within else {}))


class ChildTeller:
    """Tells of the run in which our own agent works on a block."""

    def __init__(self, block_id: str, runbook: Runbook | None) -> None:
        self.block_id = block_id
        self.run: Run | None = None
        self._runbook = runbook

    def read(self, item: Item) -> Iterator[Told]:
        """Its text, its questions, and its state."""
        if isinstance(item, Delta):
            if item.kind == "text":
                yield {"type": "state", "status": "streaming"}
                yield event("blockOutput", blockId=self.block_id, stdout=item.text)
            return
        if not isinstance(item, Recorded):
            return
        before = self.run
        self.run = run = step(before, item.event)
        for action in _ended_since(before, run):
            if _ran_out(action):
                yield self._answer(action, approved=False)
        match item.event:
            case ActionDecided(action=action) if action.approval is not None:
                yield {"type": "state", "status": "pendingToolApproval", "pending": pending_of(action)}
                told = _asked_about(self.block_id, self._runbook, action)
                approval = action.approval
                yield event(
                    "agentToolApprovalRequired",
                    **told,
                    runId=run.id,
                    approvalId=approval.id,
                    preview=action.preview,
                    reason=approval.reason,
                    args=action.args,
                    argsHash=approval.args_hash,
                    expiresAt=answered_by(run, action),
                )
            case ApprovalResolved() as answer:
                action = run.action_of_approval(answer.approval_id)
                is_yes, is_kept = answer.decision == "approved", answer.scope is not None
                if action is not None:
                    yield self._answer(action, approved=is_yes, remember=is_kept, by=answer.by)
            case ActionStarted():
                yield {"type": "state", "status": "executingTool"}
            case _ if run.asked:
                yield {"type": "state", "status": "waiting"}
            case _:
                pass

    def _answer(self, action: Action, *, approved: bool, remember: bool = False, by: str = "") -> Told:
        assert action.approval is not None
        return event(
            "agentToolApprovalResponse",
            blockId=self.block_id,
            toolCallId=action.call.id,
            approvalId=action.approval.id,
            approved=approved,
            remember=remember,
            by=by,
        )


def answered_by(run: Run, action: Action) -> Instant:
    """Until when an answer counts: as long as the question, its run, and the block whose agent asks."""
    assert action.approval is not None
    until = action.approval.expires_at
    asker = run.action(action.asker) if action.asker else None
    seconds = asker.args.get("timeout") if asker else None
    if asker is not None and asker.started is not None and isinstance(seconds, int | float):
        until = min(until, asker.started.at + seconds)
    return until if run.deadline is None else min(until, run.deadline)


def pending_of(action: Action) -> Told:
    """A tool call that waits for a person, as the seed's `PendingToolCall`."""
    title = action.args.get("title")
    name = str(action.args.get("kind") or action.tool)
    return {
        "id": action.call.id,
        "name": name,
        "description": title if isinstance(title, str) else action.tool,
        "summary": action.preview,
    }


def is_unfinished(action: Action) -> bool:
    """Whether it ended without a result of its own."""
    return action.outcome is not None and action.outcome.status != "completed"


def asked_by(run: Run, action: Action) -> list[Action]:
    """What it asked for while it was at work."""
    return [each for each in run.actions if each.asker == action.id]


def work_of(action: Action, asked: Iterable[Action]) -> dict[str, JSON]:
    """How long a block worked that gave no result, and what its agent had asked for, as a result says it."""
    if action.tool not in AGENTS:
        return {"seconds": _seconds(action)}
    calls: list[JSON] = [
        {
            "tool": pending_of(each)["description"],
            "approved": each.started is not None,
            "about": (each.outcome.code if each.outcome else "") or each.status,
        }
        for each in asked
    ]
    return {"seconds": _seconds(action), "actions": calls}


def _asked_about(block_id: str, runbook: Runbook | None, action: Action) -> Told:
    pending = pending_of(action)
    return {
        "blockId": block_id,
        "runbookId": runbook.id if runbook else "",
        "toolCallId": pending["id"],
        "toolName": pending["name"],
        "description": pending["description"],
    }


def _final(success: bool, code: str) -> AgentStatus:
    if success:
        return "completed"
    return "timedOut" if code == "timeout" else "cancelled" if code == "cancelled" else "failed"


def _seconds(action: Action) -> float:
    """How long it was at work."""
    assert action.outcome is not None
    return round(action.outcome.at - action.started.at, 3) if action.started else 0.0


def _known(run: Run, action_id: str) -> Action:
    action = run.action(action_id)
    assert action is not None
    return action


def _ended_since(before: Run | None, run: Run) -> Iterator[Action]:
    """What has an outcome now and had none before."""
    if before is not None and before.open is run.open:
        return
    turn = before.turn if before else 0
    for action in run.actions:
        if action.turn >= turn and action.outcome is not None and not (before and _had_ended(before, action)):
            yield action


def _had_ended(before: Run, action: Action) -> bool:
    earlier = before.action(action.id)
    return earlier is not None and earlier.outcome is not None


def _ran_out(action: Action) -> bool:
    """Whether it was denied because nobody answered."""
    return action.approval is not None and action.approval.status == "expired"
