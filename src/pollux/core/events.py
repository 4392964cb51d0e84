"""Facts about a run, in the past tense: input of the machine, journal and audit at once.

A driver's facts carry the epoch of its claim; the machine refuses those of an older one. Facts without an epoch come
from people, pages and clocks.
"""

from typing import Literal, get_args

from pollux.core.errors import ModelErrorKind
from pollux.core.frozen import frozen
from pollux.core.ids import ActionId, ApprovalId, Instant, RunId, ThreadId, UserId
from pollux.core.messages import JSON, NO_USAGE, Message, Usage
from pollux.core.page import Page
from pollux.core.policy import Document, Rule, Scope
from pollux.core.profile import Limits, OnReject
from pollux.core.run import Action, CancelReason, Compressed, Parent

Stop = Literal["end", "tool_calls", "length", "blocked", "bad_call", "empty", "truncated", "other"]
FailureKind = ModelErrorKind | Literal["instructions", "interrupted", "internal"]
CompressionStatus = Literal["compressed", "refused_empty", "refused_larger", "failed"]


@frozen(kw_only=True)
class RunStarted:
    """A prompt was accepted into a thread."""

    run_id: RunId
    thread_id: ThreadId
    user: UserId
    door: str
    origin: str
    profile: str
    model: str
    prompt: Message
    limits: Limits
    on_reject: OnReject = "answer"
    interactive: bool = True
    deadline: Instant | None = None
    parent: Parent | None = None
    head: int = 0
    compressed: Compressed | None = None
    context_tokens: int = 0
    instructions: str = ""
    rules: tuple[Rule, ...] = ()
    document: Document | None = None
    """The runbook that it follows, as it was when the run began."""
    sources: tuple[str, ...] = ()
    """Which tools had spoken in the thread before, and in the runs around this one."""
    request: str = ""
    """A digest of what a door was asked for: whoever repeats the question can be told from one who asks another."""
    page: Page | None = None
    keep_seconds: float | None = None
    """How long after its end what was said is kept. None: until somebody erases it."""
    restored: bool = False
    """It goes on with a run that was restored from a backup, or is the child of one."""
    at: Instant


@frozen(kw_only=True)
class RunClaimed:
    """A driver took the run. What an older driver had in flight is interrupted from now on."""

    epoch: int
    driver: str
    at: Instant


@frozen(kw_only=True)
class PageShown:
    """The page in which the agent works shows something else, or offers other tools."""

    page: Page
    at: Instant


@frozen(kw_only=True)
class ModelCalled:
    """A model call is about to be made. Committed before it is, so that a crash loop cannot spend without end."""

    epoch: int
    turn: int
    attempt: int
    at: Instant


@frozen(kw_only=True)
class ModelReplied:
    """The model finished an answer."""

    epoch: int
    turn: int
    attempt: int
    message: Message
    stop: Stop
    usage: Usage
    reason: str = ""
    detail: str = ""
    at: Instant


@frozen(kw_only=True)
class ModelFailed:
    """A model call failed. With `retry_at` it will be tried again then, without it the run fails."""

    epoch: int
    turn: int
    attempt: int
    kind: FailureKind
    message: str
    retry_at: Instant | None = None
    at: Instant


@frozen(kw_only=True)
class ActionDecided:
    """The policy answered for a call, or a person edited its arguments and the policy answered again."""

    epoch: int
    action: Action
    supersedes: ActionId | None = None
    at: Instant


@frozen(kw_only=True)
class CallRefused:
    """A call that nothing can answer: an unknown tool, arguments that do not fit, or an account not connected."""

    epoch: int
    call_id: str
    code: Literal["unknown_tool", "invalid_args", "auth_error"]
    message: str
    connect_url: str = ""
    at: Instant


@frozen(kw_only=True)
class ActionStarted:
    """An attempt is about to be made. Committed before it is: after a crash we know that it may have happened."""

    epoch: int
    action_id: ActionId
    attempt: int
    deadline: Instant | None = None
    at: Instant


@frozen(kw_only=True)
class ActionNoted:
    """A tool wrote down how far it came, before it went on: whoever takes the action up again reads it first."""

    epoch: int
    action_id: ActionId
    attempt: int
    note: JSON
    at: Instant


@frozen(kw_only=True)
class ToolObserved:
    """A foreign agent did something by itself, without asking. It is written down, and was never gated."""

    epoch: int
    action_id: ActionId
    """The action in which the agent is at work."""
    tool: str
    title: str
    status: str
    at: Instant


@frozen(kw_only=True)
class ActionHandedOver:
    """A child run was set going; its end will answer the action."""

    epoch: int
    action_id: ActionId
    attempt: int
    at: Instant


@frozen(kw_only=True)
class ActionCompleted:
    """An attempt succeeded. A page's or child's answer has the epoch in which it was asked."""

    epoch: int
    action_id: ActionId
    attempt: int
    result: JSON
    sources: tuple[str, ...] = ()
    """Whose words a child run had read that answers with this."""
    at: Instant


@frozen(kw_only=True)
class ActionFailed:
    """An attempt failed, or the policy changed its mind before one was made (attempt 0)."""

    epoch: int
    action_id: ActionId
    attempt: int
    code: str
    message: str
    connect_url: str = ""
    """Where the user can give what was missing."""
    sources: tuple[str, ...] = ()
    """Whose words a child run had read that failed."""
    at: Instant


@frozen(kw_only=True)
class ActionReconciled:
    """A look at the world told whether an interrupted attempt had happened."""

    epoch: int
    action_id: ActionId
    outcome: Literal["done", "not_done", "unknown"]
    result: JSON = None
    detail: str = ""
    """For the person who has to find out what a machine could not."""
    at: Instant


@frozen(kw_only=True)
class ActionSettled:
    """A person found out what became of an action whose outcome was unknown."""

    action_id: ActionId
    outcome: Literal["done", "not_done"]
    by: str
    at: Instant


@frozen(kw_only=True)
class ApprovalResolved:
    """A person answered. `scope` means: and do not ask again for these recipients."""

    approval_id: ApprovalId
    decision: Literal["approved", "rejected"]
    by: str
    feedback: str = ""
    scope: Scope | None = None
    at: Instant


@frozen(kw_only=True)
class HistoryCompressed:
    """A summary was made for the older part of the thread, or refused."""

    epoch: int
    turn: int
    status: CompressionStatus
    tokens_before: int
    tokens_after: int
    compressed: Compressed | None = None
    usage: Usage = NO_USAGE
    at: Instant


@frozen(kw_only=True)
class TimeReached:
    """The clock reached the run's `wake_at`: whatever was due by then has happened."""

    at: Instant


@frozen(kw_only=True)
class CancelRequested:
    """Somebody wants the run to stop."""

    by: str
    reason: CancelReason = "user"
    at: Instant


@frozen(kw_only=True)
class RunRestored:
    """The store was put back from a backup: what was owed then may have been done since. A person knows of it."""

    by: str
    at: Instant


@frozen(kw_only=True)
class RunCompleted:
    """The run ended with an answer."""

    at: Instant


@frozen(kw_only=True)
class RunFailed:
    """The run ended without one."""

    code: str
    message: str
    connect_url: str = ""
    at: Instant


@frozen(kw_only=True)
class RunCancelled:
    """The run was stopped, and nothing of it is in flight any more."""

    at: Instant


Event = (
    RunStarted
    | RunClaimed
    | PageShown
    | ModelCalled
    | ModelReplied
    | ModelFailed
    | ActionDecided
    | CallRefused
    | ActionStarted
    | ActionNoted
    | ToolObserved
    | ActionHandedOver
    | ActionCompleted
    | ActionFailed
    | ActionReconciled
    | ActionSettled
    | ApprovalResolved
    | HistoryCompressed
    | TimeReached
    | CancelRequested
    | RunRestored
    | RunCompleted
    | RunFailed
    | RunCancelled
)

EVENT_TYPES: dict[str, type[Event]] = {cls.__name__: cls for cls in get_args(Event)}
"""Every event by its stored name."""
