"""What can be called: the part that model and policy may know, and the port behind it."""

import hashlib
import json
from collections.abc import Awaitable, Collection, Mapping
from dataclasses import field
from typing import Any, Literal, Protocol, runtime_checkable

from pollux.core.frozen import frozen
from pollux.core.ids import ActionId, Instant, RunId, ThreadId, UserId
from pollux.core.messages import JSON, CallFacts

Repeat = Literal["repeatable", "keyed", "checkable", "once"]
"""What a second execution would mean: harmless; harmless with our key; to be looked up first; never again."""

Where = Literal["here", "page", "child"]
"""Who executes: this process; a browser page, answering by `submit`; a child run, answering by `submit`."""

Approval = Literal["required", "not_required"]


@frozen
class ToolSpec:
    """What model and policy may know of a tool."""

    name: str
    description: str
    input_schema: Mapping[str, JSON]
    side_effect: bool = False
    default_approval: Approval | None = None
    repeat: Repeat | None = None
    parallel: bool = True
    where: Where = "here"
    timeout: float | None = None
    schema_hash: str = field(init=False, default="")

    def __post_init__(self) -> None:
        set_ = object.__setattr__
        if self.default_approval is None:
            set_(self, "default_approval", "required" if self.side_effect else "not_required")
        if self.repeat is None:
            # A tool that says nothing of repeats is not repeated once it may have acted.
            set_(self, "repeat", "once" if self.side_effect else "repeatable")
        meaning = {"name": self.name, "schema": self.input_schema, "sideEffect": self.side_effect, "where": self.where}
        # Only ever compared with itself, so plain JSON will do: schemas may hold numbers that have no canonical form.
        text = json.dumps(meaning, sort_keys=True, default=dict)
        set_(self, "schema_hash", hashlib.sha256(text.encode()).hexdigest())


@frozen
class Answered:
    """What became of a call that a tool asked for. `result` is the other tool's; `message` says why there is none."""

    status: Literal["completed", "failed", "rejected"]
    result: JSON = None
    code: str = ""
    message: str = ""


class Reach(Protocol):
    """What a tool at work may do beside returning a result."""

    def note(self, value: JSON) -> Awaitable[None]: ...

    def tell(self, text: str, *, stream: str = "stdout") -> None: ...

    def ask(self, tool: str, args: dict[str, JSON], capabilities: Collection[str]) -> Awaitable[Answered]: ...

    def objection(self, tool: str, args: dict[str, JSON]) -> Awaitable[str]: ...

    def observe(self, tool: str, title: str, status: str) -> Awaitable[None]: ...


class _Nowhere:
    """For a tool that is called without an action: it may talk, and nobody hears it."""

    def note(self, value: JSON) -> Awaitable[None]:
        raise RuntimeError("there is no action here to note anything for")

    def tell(self, text: str, *, stream: str = "stdout") -> None:
        pass

    def ask(self, tool: str, args: dict[str, JSON], capabilities: Collection[str]) -> Awaitable[Answered]:
        raise RuntimeError("there is no action here to ask for another one")

    def objection(self, tool: str, args: dict[str, JSON]) -> Awaitable[str]:
        raise RuntimeError("there is no action here that another call could stand in for")

    def observe(self, tool: str, title: str, status: str) -> Awaitable[None]:
        raise RuntimeError("there is no action here in which anything could be observed")


@frozen
class ToolContext:
    """Who is asking, and for which action. `key` is the same for every attempt at it: pass it to what takes a key."""

    user: UserId
    origin: str
    run_id: RunId
    action_id: ActionId
    thread_id: ThreadId
    deadline: Instant | None = None
    attempt: int = 1
    """Which attempt at the action this is. Later ones follow a crash."""
    noted: JSON = None
    """What an attempt at this action noted last."""
    reach: Reach = field(default=_Nowhere(), repr=False, compare=False)

    @property
    def key(self) -> str:
        """The action's own key, whatever attempt this is."""
        return self.action_id

    def note(self, value: JSON) -> Awaitable[None]:
        """Write down how far the tool came: safe on disk when it returns. Raises where the attempt is none any more."""
        return self.reach.note(value)

    def tell(self, text: str, *, stream: str = "stdout") -> None:
        """Show some output to whoever watches, as it comes. It is not kept: what counts is in the result."""
        self.reach.tell(text, stream=stream)

    def ask(self, tool: str, args: dict[str, JSON], *, capabilities: Collection[str] = ()) -> Awaitable[Answered]:
        """Have another tool called, under the same gate: the policy decides, and where it says so, a person.

        `capabilities` are a fact for the policy: what the agent that this tool works for was given.

        Raises:
            ValidationError: the arguments do not fit that tool.
            Misfit: this attempt is none any more.
        """
        return self.reach.ask(tool, args, capabilities)

    def objection(self, tool: str, args: dict[str, JSON]) -> Awaitable[str]:
        """Why this call could not run in place of the tool's own; empty where it could, and nobody is asked.

        It could where the policy allows it, or would ask by the very rule by which a person was asked and approved.
        """
        return self.reach.objection(tool, args)

    def observe(self, tool: str, title: str, status: str) -> Awaitable[None]:
        """Write down what somebody whom this tool has set to work did by himself, without asking."""
        return self.reach.observe(tool, title, status)


@frozen
class Reconciled:
    """What a look at the world found out about an interrupted action."""

    outcome: Literal["done", "not_done", "unknown"]
    result: JSON = None
    detail: str = ""
    """Where nobody knows: what a person can do to find out."""


class Tool(Protocol):
    """Something that can be called."""

    @property
    def spec(self) -> ToolSpec: ...

    def prepare(self, args: dict[str, JSON]) -> dict[str, JSON]:
        """Canonical arguments; pure. Raises ValidationError before anyone is asked."""
        ...

    def subjects(self, args: dict[str, JSON]) -> frozenset[str]:
        """Who or what is acted upon: recipients, attendees, a command, a path."""
        ...

    def preview(self, args: dict[str, JSON]) -> str:
        """One glance for the person who decides."""
        ...

    async def run(self, context: ToolContext, args: dict[str, JSON]) -> Any: ...

    async def reconcile(self, context: ToolContext, args: dict[str, JSON]) -> Reconciled:
        """Look whether an interrupted attempt happened. Only asked of `checkable` tools."""
        ...


@runtime_checkable
class Personal(Protocol):
    """A tool that needs an account of the user's somewhere else."""

    async def is_offered(self, user: UserId) -> bool:
        """Whether the model shall hear of it: the user has connected an account."""
        ...

    async def admit(self, user: UserId) -> None:
        """Raises AuthError, with where to go, if the account is not connected or lacks a right that it needs."""
        ...


@runtime_checkable
class Informed(Protocol):
    """A tool that reads what our own code knows of a call, which no argument can say."""

    def informed(self, facts: CallFacts) -> Tool:
        """The tool for a call of which this is known."""
        ...

    def unaccepted(self, args: dict[str, JSON]) -> frozenset[str]:
        """What the call starts that the person who accepted the document did not see."""
        ...
