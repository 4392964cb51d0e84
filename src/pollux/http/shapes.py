"""What is taken and given over HTTP, as types. The OpenAPI document is made from them."""

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from pollux.asgi.shapes import LONGEST_TEXT, Camel, Finish, Id, PageQuery, State, Strict
from pollux.core.policy import Scope

LONGEST_PROMPT = 200_000

Status = Literal["completed", "awaiting_confirmation", "failed"]
ActionState = Literal["planned", "awaiting_confirmation", "executing", "completed", "failed", "rejected"]


# What is asked.


class AttachmentBody(Strict, kw_only=True, frozen=True):
    """A file that comes with a prompt, in base64: an image, a PDF or a text, of at most 5 MiB."""

    name: Annotated[str, Meta(min_length=1, max_length=200)]
    mime_type: Annotated[str, Meta(min_length=1, max_length=100)]
    data: Annotated[str, Meta(min_length=1)]


class RunBody(Strict, kw_only=True, frozen=True):
    """A prompt, and to which thread it belongs. Without a thread a new one is opened."""

    prompt: Annotated[str, Meta(min_length=1, max_length=LONGEST_PROMPT)]
    thread_id: Id | None = None
    profile: Id = "default"
    supersede: bool = False
    # Not an empty list: a body without any keeps the digest that it has with servers that know of none.
    attachments: Annotated[list[AttachmentBody], Meta(max_length=8)] | UnsetType = UNSET


class ResolveBody(Strict, kw_only=True, frozen=True):
    """A person's answer. `argsHash` says which arguments they were shown."""

    approval_id: Id
    decision: Literal["reject", "approve_once", "approve_and_always_allow_recipient"]
    feedback: Annotated[str, Meta(max_length=LONGEST_TEXT)] = ""
    args_hash: Annotated[str, Meta(max_length=200)] | None = None


class EditBody(Strict, kw_only=True, frozen=True):
    """Other arguments for an action that waits."""

    args: dict[str, Any]


class SettleBody(Strict, kw_only=True, frozen=True):
    """What became of an action whose outcome was unknown."""

    outcome: Literal["done", "not_done"]


class RenameBody(Strict, kw_only=True, frozen=True):
    """Another title."""

    title: Annotated[str, Meta(max_length=200)]


class SignInBody(Strict, kw_only=True, frozen=True):
    """A token, to be exchanged for a browser's session."""

    token: Annotated[str, Meta(min_length=1, max_length=8192)]


class RunsQuery(PageQuery, rename="camel", frozen=True):
    """The runs of one thread, or of all; in one state, or in any."""

    thread_id: Id | None = None
    state: State | None = None


class PendingQuery(Struct, frozen=True):
    """The questions that wait."""

    limit: Annotated[int, Meta(ge=1, le=25)] = 10
    before: str | None = None


class WaitQuery(Struct, frozen=True):
    """How many seconds to wait for what follows."""

    wait: Annotated[float, Meta(ge=0, le=30)] = 30


class EventsQuery(Struct, frozen=True):
    """From where on."""

    after: Annotated[int, Meta(ge=0, le=2**53)] | None = None


class TokenQuery(Struct, frozen=True):
    """The token of a login link."""

    token: Annotated[str, Meta(max_length=8192)] = ""


class ConnectQuery(Struct, frozen=True):
    """What an account is to be connected for: names of tools, all of them if none is named."""

    tools: Annotated[str, Meta(max_length=200)] = ""
    redirect: bool = True


class CallbackQuery(Struct, frozen=True):
    """What Google says when it sends the browser back."""

    state: Annotated[str, Meta(max_length=8192)] = ""
    code: Annotated[str, Meta(max_length=8192)] = ""
    error: Annotated[str, Meta(max_length=200)] = ""


# What is given.


class UsageView(Camel, kw_only=True, frozen=True):
    """Tokens."""

    input: int
    output: int
    thoughts: int
    cached: int
    total: int


class ApprovalView(Camel, kw_only=True, frozen=True):
    """A question that waits: exactly the arguments that would run."""

    id: str
    tool: str
    reason: str
    preview: str
    args: dict[str, Any]
    args_hash: str
    expires_at: str
    subjects: list[str]
    provenance: list[str]
    scopes: list[Scope]
    """For how long it may be allowed from now on. `always` and `document`: what "always allow" leaves behind."""


class ActionView(Camel, kw_only=True, frozen=True):
    """What was taken on, and what became of it."""

    id: str
    tool: str
    status: Status
    state: ActionState
    requires_approval: bool
    error_code: str | None = None
    message: str | None = None
    approval_id: str | None = None


class RunView(Finish, kw_only=True, frozen=True):
    """A run as its caller sees it. `status` is one of three words; `state` is exact."""

    ok: bool = True
    run_id: str
    thread_id: str
    status: Status
    state: State
    summary: str
    actions: list[ActionView]
    approvals: list[ApprovalView]
    usage: UsageView
    profile: str
    model: str
    created_at: str
    updated_at: str
    cost: float | None
    """US dollars by list prices; null where there is none."""
    ended_at: str | None = None
    error_code: str | None = None
    connect_url: str | None = None
    refused: str = ""
    """Calls of a completed run that were not made, in words: `1 rejected`, `2 rejected, 1 denied`."""


class PendingView(ApprovalView, kw_only=True, frozen=True):
    """A question that waits, with where it comes from."""

    run_id: str
    action_id: str
    thread_id: str
    prompt: str
    created_at: str
    truncated: bool = False
    """In a list, that texts end with … or are left out: `GET /api/agent/approvals/{id}` has the question whole."""


class PendingAnswer(Camel, kw_only=True, frozen=True):
    """One question, whole."""

    ok: bool = True
    approval: PendingView


class PendingPage(Camel, kw_only=True, frozen=True):
    ok: bool = True
    items: list[PendingView]
    next: str | None = None


class Resolved(Camel, kw_only=True, frozen=True):
    """An answer was taken."""

    ok: bool = True
    approval_id: str
    decision: str
    status: Literal["approved", "rejected"]
    run: RunView


class Edited(Camel, kw_only=True, frozen=True):
    """The question about the new arguments."""

    ok: bool = True
    approval: ApprovalView | None
    action: ActionView
    superseded: str


class ThreadView(Camel, kw_only=True, frozen=True):
    id: str
    title: str
    created_at: str
    updated_at: str
    messages: int
    open_run: str | None = None


class ThreadAnswer(Camel, kw_only=True, frozen=True):
    ok: bool = True
    thread: ThreadView


class ThreadPage(Camel, kw_only=True, frozen=True):
    ok: bool = True
    items: list[ThreadView]
    next: str | None = None


class CallView(Camel, kw_only=True, frozen=True):
    id: str
    tool: str
    args: dict[str, Any]


class ResultView(Camel, kw_only=True, frozen=True):
    id: str
    tool: str
    result: Any
    is_error: bool


class AttachmentView(Camel, kw_only=True, frozen=True):
    """A file that came with a message. Without a size, only the provider has it."""

    id: str
    name: str | None
    mime_type: str
    size: int | None


class MessageView(Camel, kw_only=True, frozen=True):
    """A message by its number. A `notice` is the assistant's own request for approval: models never read it."""

    number: int
    kind: Literal["user", "assistant", "tool", "notice"]
    role: Literal["user", "assistant", "tool"]
    """Who says it. A `notice` is said by the assistant."""
    text: str
    calls: list[CallView]
    results: list[ResultView]
    attachments: list[AttachmentView]
    cut: Literal[True] | UnsetType = UNSET
    """The answer was longer than its limit, and this is what was kept of it. The model is told so."""


class MessagePage(Camel, kw_only=True, frozen=True):
    """Messages in the order they were said; `next` leads to earlier ones."""

    ok: bool = True
    items: list[MessageView]
    next: str | None = None


class RunRowView(Camel, kw_only=True, frozen=True):
    run_id: str
    thread_id: str
    profile: str
    state: State
    created_at: str
    updated_at: str
    prompt: str
    """Its beginning; empty where it was erased."""
    model: str
    """Empty for a run that an older version wrote last."""
    tokens: int
    cost: float | None = None
    error_code: str | None = None
    parent_run_id: str | None = None
    refused: str = ""
    """As of one run."""


class RunPage(Camel, kw_only=True, frozen=True):
    ok: bool = True
    items: list[RunRowView]
    next: str | None = None


class GrantView(Camel, kw_only=True, frozen=True):
    """What was always allowed."""

    id: str
    tool: str
    subject: str
    scope: Scope
    granted_at: str
    thread_id: str | None = None
    approval_id: str | None = None
    document: str = ""
    """The hash of the document for which it counts, where its scope is `document`."""
    by: str = ""


class GrantPage(Camel, kw_only=True, frozen=True):
    ok: bool = True
    items: list[GrantView]
    next: str | None = None


class Done(Camel, kw_only=True, frozen=True):
    """It is so now."""

    ok: bool = True


class AuditView(Camel, frozen=True):
    """One entry of the audit, with the nine fields of each action. Times have all of their digits."""

    seq: int
    at: str
    kind: str
    user: str
    run_id: str
    thread_id: str
    action_id: str
    model_name: str
    tool_name: str
    input_hash: str
    policy_decision: str
    approval_id: str
    execution_status: str
    error_code: str
    message: str
    by: str
    started_at: str | None
    ended_at: str | None
    previous: str
    hash: str


class AuditPage(Camel, kw_only=True, frozen=True):
    ok: bool = True
    items: list[AuditView]
    next: str | None = None


class AuditVerified(Camel, kw_only=True, frozen=True):
    """`entries` and `head` are for the operator of the server; for others both are null."""

    ok: bool = True
    valid: bool
    entries: int | None
    head: str | None
    problems: list[str]


class AuditHead(Camel, kw_only=True, frozen=True):
    """How far the chain goes. It is one for all users: for anybody but the operator of the server both are null."""

    ok: bool = True
    head: str | None
    entries: int | None


class SessionView(Camel, kw_only=True, frozen=True):
    """Who is signed in. `csrf` goes into the header X-Pollux-CSRF of whatever changes something."""

    ok: bool = True
    user: str
    expires_at: str | None = None
    csrf: str | None = None


class SessionItem(Camel, kw_only=True, frozen=True):
    """A browser in which somebody is signed in. `current` is the one that asks."""

    id: str
    made_by: Literal["token", "link", "jwt"]
    created_at: str
    expires_at: str
    current: bool


class SessionList(Camel, frozen=True):
    """All of one user's."""

    items: list[SessionItem]
    ok: bool = True


class Health(Camel, kw_only=True, frozen=True):
    ok: bool = True
    status: str
    version: str


class OutcomeView(Camel, kw_only=True, frozen=True):
    """What became of an approval that cannot be answered any more."""

    status: str
    action: ActionView
    by: str | UnsetType = UNSET
    at: str | UnsetType = UNSET


class ErrorDetail(Camel, kw_only=True, frozen=True):
    """`code` is stable. Some errors say more: which run it is about, what waits, what became of it, where to go."""

    code: str
    message: str
    correlation_id: str
    run_id: str | UnsetType = UNSET
    approvals: list[ApprovalView] | UnsetType = UNSET
    outcome: OutcomeView | UnsetType = UNSET
    connect_url: str | UnsetType = UNSET


class ConnectView(Camel, kw_only=True, frozen=True):
    """Where a browser has to go, and until when."""

    ok: Literal[True] = True
    url: str
    expires_at: str


class Connected(Camel, kw_only=True, frozen=True):
    """An account, just connected. `missing` are the tools that the user did not agree to."""

    ok: Literal[True] = True
    connected: Literal[True] = True
    email: str | None
    tools: list[str]
    missing: list[str]


class GoogleStatus(Camel, kw_only=True, frozen=True):
    """What is known of a user's Google account. `configured`: whether accounts can be connected here at all."""

    ok: Literal[True] = True
    configured: bool
    connected: bool
    email: str | None = None
    scopes: list[str] = []
    tools: list[str] = []
    problem: str | None = None


class Disconnected(Camel, kw_only=True, frozen=True):
    """An account, given back. It is forgotten here in any case; `atGoogle` says whether Google knows."""

    ok: Literal[True] = True
    was_connected: bool
    at_google: bool
    message: str


class ErrorAnswer(Struct, frozen=True):
    ok: bool
    error: ErrorDetail
