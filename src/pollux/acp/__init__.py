"""Agents that speak the Agent Client Protocol: start one, have it answer, decide what it asks, see it end."""

from pollux.acp.client import (
    Capabilities,
    Client,
    Decision,
    OptionKind,
    PermissionRequest,
    Terminal,
    TerminalExit,
    TerminalOutput,
)
from pollux.acp.conversation import Answer, converse
from pollux.acp.failures import AgentFailed, FailureKind
from pollux.acp.limits import Limits
from pollux.acp.process import AgentCommand
from pollux.acp.terminals import CommandTerminal
from pollux.acp.toolcalls import ToolCallSeen
from pollux.acp.updates import (
    Content,
    ContextUsed,
    Diff,
    ModeChanged,
    OtherUpdate,
    PlanChanged,
    PlanEntry,
    TerminalContent,
    TextChunk,
    TextContent,
    ThoughtChunk,
    ToolCall,
    ToolCallChanged,
    ToolCallEnded,
    ToolCallStarted,
    ToolKind,
    ToolStatus,
    Update,
)
from pollux.acp.usage import AgentUsage

__all__ = [
    "AgentCommand",
    "AgentFailed",
    "AgentUsage",
    "Answer",
    "Capabilities",
    "Client",
    "CommandTerminal",
    "Content",
    "ContextUsed",
    "Decision",
    "Diff",
    "FailureKind",
    "Limits",
    "ModeChanged",
    "OptionKind",
    "OtherUpdate",
    "PermissionRequest",
    "PlanChanged",
    "PlanEntry",
    "Terminal",
    "TerminalContent",
    "TerminalExit",
    "TerminalOutput",
    "TextChunk",
    "TextContent",
    "ThoughtChunk",
    "ToolCall",
    "ToolCallChanged",
    "ToolCallEnded",
    "ToolCallSeen",
    "ToolCallStarted",
    "ToolKind",
    "ToolStatus",
    "Update",
    "converse",
]
