"""What is taken and given over HTTP about runbooks, as types. The OpenAPI document is made from them."""

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from pollux.asgi.shapes import LONGEST_TEXT, Camel, Id, State, Strict
from pollux.core.policy import Scope
from pollux.runbooks.http.lines import PendingTool, TokenUsage
from pollux.runbooks.told import AgentStatus

PlaceText = Annotated[str, Meta(min_length=1, max_length=1_000)]
Digest = Annotated[str, Meta(min_length=1, max_length=200)]
BlockState = Literal["pending", "next", "waiting", "running", "done", "failed", "skipped"]


# What is asked.


class DocumentQuery(Struct, frozen=True):
    """Which document: its path in the folder."""

    path: PlaceText


class DocumentBody(Strict, kw_only=True, frozen=True):
    """A document in place of the one that has this digest."""

    source: str
    digest: Digest


class BlockBody(Strict, kw_only=True, frozen=True):
    """Properties of one block, in place of those of the same names. The others stay, and so does every other line."""

    props: dict[str, Any]
    digest: Digest


class RunbookStartBody(Strict, kw_only=True, frozen=True):
    """Which document to run. With `trust`, it is accepted as it stands, now and as long as it stays the same."""

    path: PlaceText
    variables: dict[str, str] = {}
    digest: Digest | None = None
    """Of the document as the caller saw it. Another one is not run. Required with `trust`."""
    programs_digest: Digest | None = None
    """Of the programs as the caller saw them. With `trust`, others are not accepted."""
    trust: bool = False
    model: Annotated[str, Meta(min_length=1, max_length=200)] | None = None
    """For agent blocks that name none, in place of the settings' one. By its name alone, without an address."""


class ResumeBody(Strict, kw_only=True, frozen=True):
    """How to go on after a block that did not succeed: with that block again, or without it."""

    retry: Id | None = None
    skip: Id | None = None
    variables: dict[str, str] = {}
    """Besides those that were given before, or in their place. A run that has not ended takes none."""


class ToolApprovalBody(Strict, kw_only=True, frozen=True):
    """A person's answer to a question of a runbook or its agents. With `remember`, for the rest of the session.

    For one of our own agents that means the tool, whatever its arguments, where the question offers `tool`; else what
    the question names. `scope` chooses another one of the question's `scopes`.
    """

    approval_id: Id
    approved: bool
    remember: bool = False
    scope: Scope | None = None
    feedback: Annotated[str, Meta(max_length=LONGEST_TEXT)] = ""
    args_hash: Annotated[str, Meta(max_length=200)] | None = None


# What is given: documents.


class RunbookItem(Camel, kw_only=True, frozen=True):
    """A document of the folder. One that cannot be read has an `error`."""

    path: str
    id: str
    name: str
    digest: str
    trusted: bool
    blocks: int
    warnings: list[str]
    error: str


class RunbookPage(Camel, kw_only=True, frozen=True):
    """Documents by path; `next` leads to those after them."""

    ok: bool = True
    items: list[RunbookItem]
    next: str | None = None


class CapabilitiesView(Camel, kw_only=True, frozen=True):
    read_files: bool
    write_files: bool
    execute_commands: bool
    always_allow_tools: bool


class InternalAgentView(Camel, tag_field="type", tag="internal", kw_only=True, frozen=True):
    """Our own agent. Without a model, the one of its profile or of the settings."""

    model: str | None
    maker: str | None
    uri: str | None
    profile: str | UnsetType = UNSET


class AcpAgentView(Camel, tag_field="type", tag="acp", kw_only=True, frozen=True):
    """A program that speaks the Agent Client Protocol, or a name of the registry."""

    command: str
    args: list[str]
    env: dict[str, str]


class AgentView(Camel, kw_only=True, frozen=True):
    """What an agent block is told. Prompts and directory are templates."""

    source: InternalAgentView | AcpAgentView
    prompt: str
    system_prompt: str | None
    capabilities: CapabilitiesView
    timeout_seconds: int | None
    working_directory: str | None


class BlockView(Camel, kw_only=True, frozen=True):
    """A block of a document. `runs` says whether it does anything here."""

    id: str
    type: str
    name: str
    props: dict[str, Any]
    content: str
    line: int
    depth: int
    runs: bool
    agent: AgentView | None = None


class NoticeView(Camel, kw_only=True, frozen=True):
    """What is odd about a document. With a hazard in it, it is not run."""

    text: str
    block: str
    line: int
    is_hazard: bool


class ProgramView(Camel, kw_only=True, frozen=True):
    """A word of an agent's command that means a file, and which file that is."""

    word: str
    file: str


class DocumentView(Camel, kw_only=True, frozen=True):
    """A document as it stands. One that cannot be read has an `error`, and no blocks."""

    ok: bool = True
    path: str
    source: str
    form: Literal["atrb", "json"]
    digest: str
    trusted: bool
    editable: bool
    id: str
    name: str
    version: int
    blocks: list[BlockView]
    warnings: list[NoticeView]
    error: str
    programs: list[ProgramView] = []
    """What its agents and scripts would start now: what `trust` accepts with the text."""
    programs_digest: str = ""
    """Of all of these, also of those that the system brings along."""


# What is given: runs.


class AgentProgress(Camel, kw_only=True, frozen=True):
    """How an agent block is getting on. `pendingToolCall` is what waits for a person's leave."""

    status: AgentStatus
    token_usage: TokenUsage | None
    pending_tool_call: PendingTool | None
    input_tokens: int | None
    output_tokens: int | None


class BlockProgress(Camel, kw_only=True, frozen=True):
    """How far a block has come. `outputs` are the names that templates find in its output."""

    id: str
    type: str
    name: str
    state: BlockState
    outputs: list[str]
    code: str
    error: str
    seconds: float | None
    started_at: str | None
    """The last time; null where it has not begun."""
    agent: AgentProgress | None = None


class RunbookQuestion(Camel, kw_only=True, frozen=True):
    """What a person has to answer: exactly the arguments that would run. `blockId` is the block of this document.

    Where it is `truncated`, texts end with … or are left out: `GET /api/agent/approvals/{id}` has the question whole.
    """

    id: str
    run_id: str
    block_id: str
    by_agent: bool
    tool: str
    reason: str
    preview: str
    args: dict[str, Any]
    args_hash: str
    expires_at: str
    subjects: list[str]
    scopes: list[Scope]
    """For how long it may be allowed from now on. `remember` needs `tool` or `session` among them."""
    truncated: bool = False


class RunbookRunView(Camel, kw_only=True, frozen=True):
    """A run of a document. `code` and `error` say why it did not complete."""

    ok: bool = True
    run_id: str
    thread_id: str
    runbook_id: str
    name: str
    path: str
    digest: str
    trusted: bool
    state: State
    code: str
    error: str
    summary: str
    blocks: list[BlockProgress]
    approvals: list[RunbookQuestion]
    created_at: str


class RunbookRunItem(Camel, kw_only=True, frozen=True):
    """A run in a list. `path` is the document's, as the list of documents tells it."""

    run_id: str
    thread_id: str
    name: str
    path: str
    state: State
    created_at: str
    updated_at: str


class RunbookRunPage(Camel, kw_only=True, frozen=True):
    """Runs of runbooks, newest first."""

    ok: bool = True
    items: list[RunbookRunItem]
    next: str | None = None


class ToolApprovalAnswer(Camel, kw_only=True, frozen=True):
    """An answer was taken."""

    ok: bool = True
    approval_id: str
    approved: bool
    remember: bool
    status: Literal["approved", "rejected"]
    run: RunbookRunView


# What is given: settings.


class KnownAgent(Camel, kw_only=True, frozen=True):
    """An agent that blocks may name. `isInstalled` says whether its program is found here."""

    name: str
    command: str
    args: list[str]
    description: str
    is_installed: bool


class RunbookSettings(Camel, kw_only=True, frozen=True):
    """Whom blocks may ask, and what new ones begin with."""

    ok: bool = True
    agents: list[KnownAgent]
    default_timeout: int
    default_capabilities: CapabilitiesView
    model: str | None
    editable: bool


class RunbookModels(Camel, kw_only=True, frozen=True):
    """The models that the settings' service offers, by the names that blocks take. Empty where it tells none."""

    ok: bool = True
    items: list[str]
