"""The lines of a runbook's stream, as types: what happens, as `{type, data}`. The last one tells how it ended.

Written down from what `runbooks.told` tells; tests hold each line to them.
"""

from typing import Any, Literal

from msgspec import UNSET, UnsetType

from pollux.asgi.shapes import Camel, ErrorLine, Id, Line
from pollux.runbooks.told import AgentStatus


class Told(Camel, forbid_unknown_fields=True, frozen=True):
    """What a line tells. `within` is the block of the runbook around the one that it is about, if there is one."""

    within: Id | UnsetType = UNSET


class Lifecycle(Camel, forbid_unknown_fields=True, frozen=True):
    type: Literal["started", "finished", "cancelled", "error", "paused"]
    exit_code: int | UnsetType | None = UNSET
    success: bool | UnsetType = UNSET
    message: str | UnsetType = UNSET


class RunbookStarted(Told, kw_only=True, frozen=True):
    run_id: Id
    name: str


class RunbookFinished(Told, kw_only=True, frozen=True):
    run_id: Id
    status: Literal["completed", "failed", "cancelled"]
    code: str
    error: str
    summary: str


class BlockStarted(Told, kw_only=True, frozen=True):
    """`startedAt` is in seconds since 1970."""

    block_id: Id
    name: str
    block_type: str
    started_at: float
    lifecycle: Lifecycle


class BlockOutput(Told, kw_only=True, frozen=True):
    block_id: Id
    stdout: str | UnsetType = UNSET
    stderr: str | UnsetType = UNSET


class BlockFinished(Told, kw_only=True, frozen=True):
    block_id: Id
    name: str
    block_type: str
    success: bool
    code: str
    error: str
    seconds: float
    lifecycle: Lifecycle
    object: dict[str, Any]


class Asked(Told, kw_only=True, frozen=True):
    """Exactly the arguments that would run."""

    block_id: Id
    run_id: Id
    approval_id: Id
    preview: str
    reason: str
    args: dict[str, Any]
    args_hash: str
    expires_at: float


class BlockApprovalRequired(Asked, kw_only=True, frozen=True):
    name: str
    lifecycle: Lifecycle


class AgentToolApprovalRequired(Asked, kw_only=True, frozen=True):
    runbook_id: str
    tool_call_id: str
    tool_name: str
    description: str


class BlockApprovalResponse(Told, kw_only=True, frozen=True):
    """What became of a question. Where `by` is empty, nobody answered it in time."""

    block_id: Id
    approval_id: Id
    approved: bool
    remember: bool
    by: str


class AgentToolApprovalResponse(Told, kw_only=True, frozen=True):
    """The same of an agent's question."""

    block_id: Id
    approval_id: Id
    tool_call_id: str
    approved: bool
    remember: bool
    by: str


class AgentToolObserved(Told, kw_only=True, frozen=True):
    """Something that an agent did without asking."""

    block_id: Id
    tool_name: str
    title: str
    status: str


class PendingTool(Camel, forbid_unknown_fields=True, frozen=True):
    id: str
    name: str
    description: str
    summary: str


class TokenUsage(Camel, forbid_unknown_fields=True, frozen=True):
    input_tokens: int | None
    output_tokens: int | None


class AgentState(Camel, forbid_unknown_fields=True, frozen=True):
    status: AgentStatus
    token_usage: TokenUsage | None
    pending_tool_call: PendingTool | None


class AgentStateChanged(Told, kw_only=True, frozen=True):
    block_id: Id
    state: AgentState


class RunbookStartedLine(Line, tag="runbookStarted", frozen=True):
    data: RunbookStarted


class RunbookFinishedLine(Line, tag="runbookFinished", frozen=True):
    """The last line, unless it is of a runbook inside another one."""

    data: RunbookFinished


class BlockStartedLine(Line, tag="blockStarted", frozen=True):
    data: BlockStarted


class BlockOutputLine(Line, tag="blockOutput", frozen=True):
    """What a block shows while it works; who comes late is told the end of it. What counts is in `blockFinished`."""

    data: BlockOutput


class BlockFinishedLine(Line, tag="blockFinished", frozen=True):
    data: BlockFinished


class BlockApprovalRequiredLine(Line, tag="blockApprovalRequired", frozen=True):
    data: BlockApprovalRequired


class BlockApprovalResponseLine(Line, tag="blockApprovalResponse", frozen=True):
    data: BlockApprovalResponse


class AgentToolApprovalRequiredLine(Line, tag="agentToolApprovalRequired", frozen=True):
    data: AgentToolApprovalRequired


class AgentToolApprovalResponseLine(Line, tag="agentToolApprovalResponse", frozen=True):
    data: AgentToolApprovalResponse


class AgentToolObservedLine(Line, tag="agentToolObserved", frozen=True):
    data: AgentToolObserved


class AgentStateChangedLine(Line, tag="agentStateChanged", frozen=True):
    data: AgentStateChanged


RUNBOOK_LINES = (
    RunbookStartedLine,
    RunbookFinishedLine,
    BlockStartedLine,
    BlockOutputLine,
    BlockFinishedLine,
    BlockApprovalRequiredLine,
    BlockApprovalResponseLine,
    AgentToolApprovalRequiredLine,
    AgentToolApprovalResponseLine,
    AgentToolObservedLine,
    AgentStateChangedLine,
    ErrorLine,
)
"""What the stream of a runbook is made of."""
