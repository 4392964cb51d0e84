"""Pollux: agents that may act. This is the public API; what is not named here may change.

Importing it reads no file, sets nothing up and loads none of the names below: each comes when it is first used.
"""

from pollux._version import __version__

TYPE_CHECKING = False  # As type checkers know it, without the 5 ms that importing it takes.

if TYPE_CHECKING:
    from pollux.core.errors import NotFound, PolluxError, SessionNotFound, ToolError, ValidationError
    from pollux.core.messages import Blob, FileRef, Message, Text
    from pollux.core.prices import Price
    from pollux.core.profile import Limits
    from pollux.core.tools import Reconciled, ToolContext
    from pollux.sdk.agent import Agent, GeminiAgent
    from pollux.sdk.approvals import Approve, Edit, Reject
    from pollux.sdk.collect import files, shell
    from pollux.sdk.context import SessionContext
    from pollux.sdk.events import ApprovalRequired
    from pollux.sdk.gemini_cli.history import message_records_to_history
    from pollux.sdk.gemini_cli.sessions import load_session
    from pollux.sdk.result import Result, RunFailed
    from pollux.sdk.rule import Rule
    from pollux.tools.definition import ToolDefinition, ToolExecutionContext
    from pollux.tools.skills import skill_dir
    from pollux.tools.typed.tools import define_tool, tool

_HOMES = {
    "Agent": "sdk.agent",
    "ApprovalRequired": "sdk.events",
    "Approve": "sdk.approvals",
    "Blob": "core.messages",
    "Edit": "sdk.approvals",
    "FileRef": "core.messages",
    "GeminiAgent": "sdk.agent",
    "Limits": "core.profile",
    "Message": "core.messages",
    "NotFound": "core.errors",
    "PolluxError": "core.errors",
    "Price": "core.prices",
    "Reconciled": "core.tools",
    "Reject": "sdk.approvals",
    "Result": "sdk.result",
    "Rule": "sdk.rule",
    "RunFailed": "sdk.result",
    "SessionContext": "sdk.context",
    "SessionNotFound": "core.errors",
    "Text": "core.messages",
    "ToolContext": "core.tools",
    "ToolDefinition": "tools.definition",
    "ToolError": "core.errors",
    "ToolExecutionContext": "tools.definition",
    "ValidationError": "core.errors",
    "define_tool": "tools.typed.tools",
    "files": "sdk.collect",
    "load_session": "sdk.gemini_cli.sessions",
    "message_records_to_history": "sdk.gemini_cli.history",
    "shell": "sdk.collect",
    "skill_dir": "tools.skills",
    "tool": "tools.typed.tools",
}

__all__ = [
    "Agent",
    "ApprovalRequired",
    "Approve",
    "Blob",
    "Edit",
    "FileRef",
    "GeminiAgent",
    "Limits",
    "Message",
    "NotFound",
    "PolluxError",
    "Price",
    "Reconciled",
    "Reject",
    "Result",
    "Rule",
    "RunFailed",
    "SessionContext",
    "SessionNotFound",
    "Text",
    "ToolContext",
    "ToolDefinition",
    "ToolError",
    "ToolExecutionContext",
    "ValidationError",
    "__version__",
    "define_tool",
    "files",
    "load_session",
    "message_records_to_history",
    "shell",
    "skill_dir",
    "tool",
]


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'pollux' has no attribute {name!r}")
    from importlib import import_module

    found = globals()[name] = getattr(import_module(f"pollux.{home}"), name)
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
