"""A run and its actions, as facts. Statuses are derived from them, here and nowhere else."""

from collections.abc import Collection, Iterator
from typing import Any, Literal, TypeVar

from pollux.core.canonical import digest
from pollux.core.errors import ValidationError
from pollux.core.frozen import frozen
from pollux.core.ids import ActionId, ApprovalId, Instant, RunId, ThreadId, UserId, grant_id
from pollux.core.messages import JSON, NO_USAGE, Message, ToolCall, Usage
from pollux.core.page import Page
from pollux.core.policy import ANY_ARGUMENTS, SCOPES, Decision, Document, Grant, Rule, Scope
from pollux.core.profile import Limits, OnReject
from pollux.core.tools import Repeat, Where

T = TypeVar("T")

RunStatus = Literal["queued", "planning", "awaiting_confirmation", "executing", "completed", "failed", "cancelled"]
ActionStatus = Literal["planned", "awaiting_confirmation", "executing", "completed", "failed", "rejected"]
ApprovalStatus = Literal["pending", "approved", "rejected", "expired", "withdrawn", "superseded"]
_REFUSED = frozenset({"policy_denied", "invalid_args", "unknown_tool", "auth_error"})
INCOMPLETE = "The answer reached the output limit and is incomplete."
CUT_SHORT = "The answer was longer than its limit. It was cut and is incomplete."
CancelReason = Literal["user", "superseded", "parent", "timeout"]


@frozen
class Parent:
    """The action of another run that this run answers."""

    run_id: RunId
    action_id: ActionId
    root: RunId


@frozen
class Resolution:
    """A person's answer to an approval, or what closed it instead."""

    status: ApprovalStatus
    at: Instant
    by: str = ""
    feedback: str = ""
    scope: Scope | None = None


@frozen(slots=False)
class Approval:
    """A durable question to a person. It is about one hash of arguments, one schema, and has one answer."""

    id: ApprovalId
    args_hash: str
    schema_hash: str
    reason: str
    preview: str
    requested_at: Instant
    expires_at: Instant
    resolution: Resolution | None = None
    scopes: tuple[Scope, ...] = ()
    """For how long the person may allow it from now on; nothing where each call is asked about."""

    @property
    def status(self) -> ApprovalStatus:
        return self.resolution.status if self.resolution else "pending"

    @property
    def is_open(self) -> bool:
        return self.resolution is None

    def scope_for(self, asked: Scope) -> Scope:
        """The scope that an answer gets. `always` means as long as the question allows. Raises ValidationError."""
        if asked in self.scopes:
            return asked
        if asked == "always" and (lasting := lasting_scope(self.scopes)):
            return lasting
        if not self.scopes:
            raise ValidationError("there is no recipient to always allow", code="no_recipient")
        offered = ", ".join(self.scopes)
        problem = f"this can be allowed for: {offered}; found {asked!r}. Approve it once instead"
        raise ValidationError(problem, code="no_recipient")


@frozen
class Start:
    """An attempt that was announced before it was made. `deadline` is for those who answer from outside."""

    epoch: int
    attempt: int
    at: Instant
    deadline: Instant | None = None


@frozen
class Outcome:
    """How an action ended. `result` is what the model reads, also for a failure."""

    status: Literal["completed", "failed", "rejected"]
    result: JSON
    at: Instant
    code: str = ""
    message: str = ""
    connect_url: str = ""


@frozen(slots=False)
class Action:
    """What we took responsibility for: one call, its canonical arguments, its decision and its fate."""

    id: ActionId
    call: ToolCall
    turn: int
    tool: str
    args: dict[str, JSON]
    args_hash: str
    schema_hash: str
    decided_at: Instant
    side_effect: bool = False
    repeat: Repeat = "once"
    parallel: bool = True
    where: Where = "here"
    decision: Decision | None = None
    subjects: tuple[str, ...] = ()
    provenance: tuple[str, ...] = ()
    preview: str = ""
    approval: Approval | None = None
    started: Start | None = None
    handed_over: bool = False
    """A page or a child run is working on it; no driver is."""
    interrupted: bool = False
    unhappened: bool = False
    """The interrupted attempt was looked up and had not happened: it may run again."""
    note: JSON = None
    """How far its tool came, in the tool's own words."""
    outcome: Outcome | None = None
    edited_by: str = ""
    asker: str = ""
    """The action at work that asked for this one; empty for what the model asked for."""
    asked: int = 0
    """How many actions this one has asked for."""
    observed: int = 0
    """How often somebody at work in it did something without asking."""
    definition: str = ""
    """The hash of the tool that somebody was asked about, or had allowed."""

    @property
    def status(self) -> ActionStatus:
        if self.outcome:
            return self.outcome.status
        if self.started:
            return "executing" if self.where != "page" else "awaiting_confirmation"
        if self.approval and self.approval.is_open:
            return "awaiting_confirmation"
        return "planned"

    @property
    def has_leave(self) -> bool:
        """Whether it may run: allowed by the policy, or approved by a person."""
        if self.outcome or self.decision is None:
            return False
        if self.approval:
            return self.approval.status == "approved"
        return self.decision.mode == "allow"

    @property
    def allowed_by(self) -> str:
        """What let it start, for the audit: the rule, the grants, or the approval and who gave it."""
        if self.started is None or self.decision is None:
            return ""
        if self.approval and self.approval.resolution:
            return f"approval:{self.approval.id} by {self.approval.resolution.by}"
        return self.decision.decider

    @property
    def is_audited(self) -> bool:
        """Whether the audit tells of it: it can have an effect, a person was asked, or it was denied or invalid."""
        if self.side_effect or self.approval:
            return True
        return self.outcome is not None and self.outcome.code in _REFUSED

    @property
    def is_asked(self) -> bool:
        """Whether a person has to answer."""
        return self.approval is not None and self.approval.is_open and self.outcome is None

    @property
    def is_in_flight(self) -> bool:
        """Whether a driver may be executing it right now."""
        return self.started is not None and not (self.handed_over or self.interrupted or self.outcome)


@frozen
class Cancel:
    """That the run is to stop, who said so and why."""

    by: str
    reason: CancelReason
    at: Instant


@frozen
class Ending:
    """How the run ended, or will as soon as nothing is in flight."""

    status: Literal["completed", "failed", "cancelled"]
    at: Instant
    code: str = ""
    message: str = ""
    connect_url: str = ""
    """Where the user can give what was missing, if that is why."""


@frozen
class Compressed:
    """A summary standing for the thread's messages up to and including number `upto`."""

    upto: int
    summary: Message
    tokens: int


@frozen(slots=False)
class Run:
    """One attempt to answer one prompt in a thread. Changed only by `machine.step`."""

    id: RunId
    thread_id: ThreadId
    user: UserId
    door: str
    origin: str
    profile: str
    model: str
    limits: Limits
    on_reject: OnReject
    interactive: bool
    created_at: Instant
    deadline: Instant | None
    parent: Parent | None
    head: int
    """How many messages the thread had when the run began: the history it answers to."""
    compressed: Compressed | None
    context_tokens: int

    instructions: str = ""
    """What the model is told first, where this run was given its own: whoever goes on with it says the same."""
    rules: tuple[Rule, ...] = ()
    """What was said for this run alone about what it may do: it holds for whoever goes on with it."""
    document: Document | None = None
    """The runbook that it follows, and whether a person had accepted its text when the run began."""
    sources: tuple[str, ...] = ()
    """Whose words the model reads: of tools that had spoken in the thread before, of what the runs around it and its
    children have read, and of the web since it was read."""
    request: str = ""
    """A digest of what a door was asked for, where it wants to know a repetition when it sees one."""
    page: Page | None = None
    """The page in which it works, as it was last shown."""
    keep_seconds: float | None = None
    """How long after its end what was said is kept. None: until somebody erases it."""
    restored: bool = False
    """The store was put back from a backup since it began: whatever it does next may have been done already."""
    version: int = 1
    updated_at: Instant = 0.0
    """When the last of its facts happened."""
    epoch: int = 0
    driver: str = ""
    turn: int = 1
    attempt: int = 1
    reasked: bool = False
    asked: bool = False
    """The model has been called for this attempt, by the driver of this epoch, and has not answered."""
    asked_since: Instant | None = None
    """When the model was first called for this turn: retries are counted from here."""
    retry_at: Instant | None = None
    model_calls: int = 0
    usage: Usage = NO_USAGE
    used: tuple[Usage, ...] = ()
    """The same by calls of the model, summaries included: prices may depend on how long each was."""
    messages: tuple[Message, ...] = ()
    calls: tuple[ToolCall, ...] = ()
    """The calls of the current turn; empty when all of them have been answered."""
    open: tuple[Action, ...] = ()
    """The actions for these calls, at most one for each."""
    done: tuple[Action, ...] = ()
    """Actions of earlier turns, and superseded ones."""
    compression_tokens: int = 0
    """The size of the conversation after the last attempt to summarise it."""
    cancel: Cancel | None = None
    closing: Ending | None = None
    """What the run will end as, once it may."""
    ending: Ending | None = None

    @property
    def status(self) -> RunStatus:
        if self.ending:
            return self.ending.status
        if self.epoch == 0:
            return "queued"
        states = {action.status for action in self.open}
        if "executing" in states:
            return "executing"
        if "awaiting_confirmation" in states:
            return "awaiting_confirmation"
        return "planning"

    @property
    def is_open(self) -> bool:
        return self.ending is None

    @property
    def actions(self) -> tuple[Action, ...]:
        """Every action, oldest first."""
        return self.done + self.open

    @property
    def refused(self) -> str:
        """Of a run that completed: how many of its calls people and the policy refused, in words; empty if none."""
        if self.status != "completed":
            return ""
        codes = [each.outcome.code for each in self.actions if each.outcome and each.outcome.status == "rejected"]
        denied = codes.count("policy_denied")
        # What was edited was asked about once more.
        rejected = len(codes) - denied - codes.count("superseded")
        return ", ".join(f"{count} {word}" for count, word in ((rejected, "rejected"), (denied, "denied")) if count)

    @property
    def approvals(self) -> tuple[Approval, ...]:
        """The questions that are waiting for a person now."""
        return tuple(a.approval for a in self.open if a.approval and a.is_asked)

    @property
    def text(self) -> str:
        """The last thing the model said."""
        for message in reversed(self.messages):
            if message.role == "assistant" and message.text:
                return message.text
        return ""

    @property
    def finish(self) -> dict[str, Any]:
        """The marks of an answer that is not whole, as every interface tells them. Empty for any other run."""
        if self.status != "completed" or self.closing is None or self.closing.code != "length":
            return {}
        said = next((each for each in reversed(self.messages) if each.role == "assistant" and each.text), None)
        marks: dict[str, Any] = {"finish_reason": "length", "incomplete": True}
        return marks | {"cut": True} if said is not None and said.cut else marks

    def action(self, action_id: str) -> Action | None:
        for actions in (self.open, self.done):
            for action in reversed(actions):
                if action.id == action_id:
                    return action
        return None

    def action_of_approval(self, approval_id: str) -> Action | None:
        return next((a for a in self._newest_first() if a.approval and a.approval.id == approval_id), None)

    def grants_of(self, action: Action) -> Iterator[Grant]:
        """What an answer for longer than once leaves behind: a grant for each subject, or for the tool as a whole."""
        approval = action.approval
        answer = approval.resolution if approval else None
        if approval is None or answer is None or answer.scope is None:
            return
        # For the tool as a whole, only ever in one session.
        subjects, scope = ((ANY_ARGUMENTS,), "session") if answer.scope == "tool" else (action.subjects, answer.scope)
        for position, subject in enumerate(subjects):
            yield Grant(
                id=grant_id(approval.id, position),
                user=self.user,
                tool=action.tool,
                subject=subject,
                scope=scope,
                granted_at=answer.at,
                thread_id=self.thread_id if scope == "session" else None,
                approval_id=approval.id,
                document=self.document.digest if scope == "document" and self.document else "",
                definition=self.consented(action.definition, action.asker),
                by=answer.by,
            )

    def consented(self, definition: str, asker: str) -> str:
        """What a grant is for: the tool as it is, and of what an agent inside a document asks, that very agent.

        A name is the document's to choose, and to choose twice. What tells agents apart is the block, and all that was
        decided about when it was started: its command, its program, its rights.
        """
        agent = self.action(asker) if asker and self.document else None
        return definition if agent is None else digest([definition, agent.call.id, agent.tool, list(agent.subjects)])

    def _newest_first(self) -> Iterator[Action]:
        yield from reversed(self.open)
        yield from reversed(self.done)


def touched_since(before: Run | None, after: Run) -> list[Action]:
    """The actions that changed between the two. Untouched ones are the very same objects."""
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


def lasting_scope(scopes: Collection[Scope]) -> Scope | None:
    """What "always" means of these: the longest that outlives the thread. None: it is not offered."""
    return next((scope for scope in reversed(SCOPES) if scope in scopes and scope not in ("tool", "session")), None)


def within_parents(parent: Run | None, own: Instant | None) -> Instant | None:
    """When a run has to be over: by its own limits, and with the run that it works for."""
    return min((each for each in (own, parent.deadline if parent else None) if each is not None), default=None)


def evolve(value: T, **changes: Any) -> T:
    """A changed copy of a frozen value. Raises AssertionError for a field that it does not have.

    `dataclasses.replace` runs the constructor again: 8 µs for a run, several times for every event. Copying the
    dictionary takes under 1 µs whatever the number of fields; it needs a dataclass without slots.
    """
    new = object.__new__(type(value))
    fields, known = new.__dict__, value.__dict__
    fields.update(known)
    fields.update(changes)
    assert len(fields) == len(known), f"{type(value).__name__} has no such field"
    return new


def action_id(run_id: RunId, turn: int, index: int, revision: int = 0) -> ActionId:
    """The action for one call of one turn; edited arguments make a new revision."""
    tail = f".{revision}" if revision else ""
    return ActionId(f"act_{run_id.removeprefix('run_')}_{turn}.{index}{tail}")


def asked_id(asker: ActionId, number: int) -> ActionId:
    """The action that another one asked for while it was at work."""
    return ActionId(f"{asker}-{number}")


def approval_id(action: ActionId) -> ApprovalId:
    """The one question asked about an action."""
    return ApprovalId("apr_" + action.removeprefix("act_"))


def run_of(derived: str) -> RunId:
    """The run that an action or approval id was derived from."""
    stem = derived.partition("_")[2].rpartition("_")[0]
    return RunId("run_" + stem)
