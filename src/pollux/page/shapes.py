"""What a page sends and gets, as types. A client may pass over what it does not know."""

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, UnsetType

from pollux.asgi.shapes import (
    Camel,
    DeltaLine,
    ErrorLine,
    Finish,
    Id,
    Line,
    RestartLine,
    Strict,
    ThoughtLine,
    ToolCallLine,
)
from pollux.core.policy import Scope

Json = Any


class SessionBody(Strict, frozen=True):
    """Who comes. With `userToken`, a JWT that the site signed, its subject is who."""

    profile: Annotated[str, Meta(max_length=64)] | None = None
    user_token: Annotated[str, Meta(max_length=8192)] | None = None


class SessionAnswer(Camel, frozen=True):
    """A visitor's token, for this page and this agent."""

    token: str
    expires_at: str
    ok: bool = True


class SendBody(Strict, frozen=True):
    """What the user says, with all that was said, what the page offers and what it shows."""

    message: Annotated[str, Meta(min_length=1, max_length=100_000)]
    request_id: Annotated[str, Meta(max_length=100)] = ""
    """Tells it from the same words said another time. The same request again, id and all, gets the same answer."""
    history: list[Json] = []
    tool_definitions: list[Json] = []
    page_state: Json = None


class SubmitBody(Strict, frozen=True):
    """What came of the calls that the page was given."""

    results: list[Json] = []
    history: list[Json] = []
    tool_definitions: list[Json] = []
    page_state: Json = None


class PendingCall(Camel, frozen=True):
    """A call for the page to execute, once."""

    id: str
    name: str
    args: dict[str, Json]
    expires_in: float
    """In seconds from now: what is not answered by then has failed. A visitor's clock may be wrong."""
    category: Literal["page-automation"] = "page-automation"


class Question(Camel, frozen=True):
    """What a person has to answer before the server acts."""

    id: str
    tool: str
    reason: str
    preview: str
    args: dict[str, Json]
    args_hash: str
    expires_at: str
    expires_in: float
    """In seconds from now: a visitor's clock may be wrong."""
    subjects: list[str]
    """Whom or what it is about."""
    scopes: list[Scope]
    """For how long the answer may count, beyond this once. With `always`, the user may allow the subjects for good."""
    on_page: bool | UnsetType = UNSET
    """True where the page would do it: then `tool` is the page's own name for it."""


class LeftOutTool(Camel, frozen=True):
    """A tool of the page that the model does not hear of, and why."""

    name: str
    why: str


class LeftOut(Camel, frozen=True):
    """What of the page's tools could not be offered, for whoever builds the page: how many, and the first of them."""

    count: int
    tools: list[LeftOutTool]


class Response(Finish, tag_field="type", tag="response", frozen=True):
    """The agent's answer. `code` says why, where it stopped before it was done."""

    message: str
    history: list[Json]
    run_id: str
    code: str | UnsetType = UNSET
    left_out: LeftOut | UnsetType = UNSET


class ToolCalls(Camel, tag_field="type", tag="tool-calls", frozen=True):
    """Calls for the page. Results go to submit-tool-results, with this history."""

    calls: list[PendingCall]
    history: list[Json]
    run_id: str
    left_out: LeftOut | UnsetType = UNSET


class ApprovalRequired(Camel, tag_field="type", tag="approval-required", frozen=True):
    """Questions for the user. When they are answered, submit-tool-results goes on, with this history."""

    approvals: list[Question]
    calls: list[PendingCall]
    history: list[Json]
    run_id: str
    left_out: LeftOut | UnsetType = UNSET


Told = Response | ToolCalls | ApprovalRequired


class BegunLine(Line, tag="status", frozen=True):
    """The first line of a stream: the agent is at it, and this is its run."""

    status: Literal["planning"]
    run_id: Id


PAGE_LINES = (
    BegunLine,
    DeltaLine,
    ThoughtLine,
    ToolCallLine,
    RestartLine,
    ErrorLine,
    Response,
    ToolCalls,
    ApprovalRequired,
)
"""What a page's stream is made of. The last line is what the other routes answer, or an error."""
