"""What a stream yields. Every event has a `type`, so that a consumer may match on the class or on the word."""

from dataclasses import field
from typing import Literal

from pollux.core.events import CompressionStatus
from pollux.core.frozen import frozen
from pollux.core.messages import JSON, Usage
from pollux.core.policy import Scope
from pollux.core.run import CUT_SHORT, INCOMPLETE

FinishReason = Literal["completed", "awaiting_confirmation", "failed", "cancelled"]


@frozen
class ModelInfo:
    """Who answers, and where the answer is kept."""

    model: str
    session_id: str
    run_id: str
    type: Literal["model_info"] = "model_info"


@frozen
class Content:
    """A piece of the answer. Joined, the pieces are the answer byte for byte."""

    text: str
    type: Literal["content"] = "content"


@frozen
class Thought:
    """A piece of what the model shows of its thinking."""

    text: str
    type: Literal["thought"] = "thought"


@frozen
class TurnRestarted:
    """The answer of this turn begins anew: drop what was shown of it. Only a run that changed hands does that."""

    type: Literal["turn_restarted"] = "turn_restarted"


@frozen
class ToolCallRequest:
    """The model wants a tool to be called. Whether it may is decided next."""

    id: str
    name: str
    args: dict[str, JSON]
    type: Literal["tool_call_request"] = "tool_call_request"


@frozen
class ToolCallStarted:
    """A call runs from now on. Only the command line's own streams have it."""

    id: str
    name: str
    type: Literal["tool_call_started"] = "tool_call_started"


@frozen
class ToolCallResponse:
    """What became of a call: the result that the model reads, or why there is none."""

    id: str
    name: str
    result: JSON = None
    error: str | None = None
    code: str = ""
    type: Literal["tool_call_response"] = "tool_call_response"


@frozen
class ApprovalRequired:
    """A question to a person. `args` are the ones that will run, the answer is bound to their hash."""

    id: str
    call_id: str
    tool: str
    args: dict[str, JSON]
    args_hash: str
    reason: str
    preview: str
    expires_at: float
    subjects: tuple[str, ...] = ()
    provenance: tuple[str, ...] = ()
    """Whose words the model had read: the user's, and those of every tool that answered."""
    scopes: tuple[Scope, ...] = ()
    """For how long it can be allowed from now on. Nothing: only this once."""
    type: Literal["approval_required"] = "approval_required"


@frozen
class ChatCompressed:
    """The older part of the conversation was summarised, or the summary was refused: the status says which."""

    original_token_count: int
    new_token_count: int
    compression_status: CompressionStatus
    type: Literal["chat_compressed"] = "chat_compressed"


@frozen
class UsageUpdate:
    """The tokens of one model call, and of the run so far. Costs are in US dollars, or None where one is unknown."""

    usage: Usage
    total: Usage
    cost: float | None = None
    """What `total` cost."""
    call_cost: float | None = None
    """What `usage` cost."""
    type: Literal["usage"] = "usage"


@frozen
class Failure:
    """The run ended without an answer. The code is stable, the message safe to show."""

    code: str
    message: str
    type: Literal["error"] = "error"


@frozen
class Finished:
    """The last event of every stream."""

    reason: FinishReason
    usage: Usage = field(default_factory=Usage)
    cost: float | None = None
    finish_reason: Literal["", "length"] = ""
    """`length` where the answer reached the output limit."""
    incomplete: bool = False
    """Whether the answer is not whole."""
    cut: bool = False
    """Whether the limit was the profile's own: the model said more, and it was not read."""
    type: Literal["finished"] = "finished"

    @property
    def note(self) -> str:
        """What a person should know of an answer that is not whole; empty for any other."""
        return (CUT_SHORT if self.cut else INCOMPLETE) if self.incomplete else ""


AgentEvent = (
    ModelInfo
    | Content
    | Thought
    | TurnRestarted
    | ToolCallRequest
    | ToolCallStarted
    | ToolCallResponse
    | ApprovalRequired
    | ChatCompressed
    | UsageUpdate
    | Failure
    | Finished
)
