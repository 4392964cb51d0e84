"""What waits for a person in every session of a store: approvals, and actions whose outcome is unknown."""

from copy import deepcopy
from typing import Literal

from pollux.core.frozen import frozen
from pollux.core.messages import JSON
from pollux.engine import queries
from pollux.sdk.events import ApprovalRequired
from pollux.sdk.translate import question


@frozen
class OpenQuestion:
    """A question that waits for a person: an approval, or what became of an action."""

    kind: Literal["approval", "unknown_outcome"]
    session_id: str
    """Make an agent with this session's id to answer an approval."""
    run_id: str
    action_id: str
    """What `settle` takes where the outcome is unknown."""
    tool: str
    args: dict[str, JSON]
    preview: str
    approval: ApprovalRequired | None = None
    """The approval itself; None where the outcome is unknown."""


def open_question(asked: queries.Question, kind: Literal["approval", "unknown_outcome"]) -> OpenQuestion:
    """The question as an author sees it."""
    run, action = asked.run, asked.action
    approval = question(action) if kind == "approval" else None
    args = deepcopy(action.args)
    return OpenQuestion(kind, run.thread_id, run.id, action.id, action.tool, args, action.preview, approval)
