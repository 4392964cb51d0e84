"""The tool calls of a conversation: all of them in outline, and those at work in full as far as there is room."""

from collections import OrderedDict
from dataclasses import replace

from pollux.acp.failures import AgentFailed
from pollux.acp.limits import Limits
from pollux.acp.updates import (
    OtherUpdate,
    ToolCall,
    ToolCallChanged,
    ToolCallEnded,
    ToolCallStarted,
    ToolKind,
    ToolStatus,
    Update,
    merged,
)
from pollux.core.frozen import frozen
from pollux.core.messages import JSON


@frozen
class ToolCallSeen:
    """A tool call of the agent's. Where it was not `asked`, the agent ran it without asking us."""

    id: str
    title: str
    kind: ToolKind
    status: ToolStatus
    asked: bool


class ToolCalls:
    """What an agent told of its tool calls. An update names only what is new, so what it told before is kept."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._seen: dict[str, ToolCallSeen] = {}
        self._open: OrderedDict[str, tuple[ToolCall, int]] = OrderedDict()
        self._size = 0

    @property
    def seen(self) -> tuple[ToolCallSeen, ...]:
        """All of them, in the order in which they were first told of."""
        return tuple(self._seen.values())

    def told(self, update: dict[str, JSON], size: int) -> Update:
        """What an update comes to. Raises AgentFailed when there are too many calls."""
        before = self._known(update)
        call = merged(before, update)
        if call is None:
            return OtherUpdate("tool_call without an id")
        self._keep(call, size)
        if call.status in ("completed", "failed"):
            is_news = before is None or before.status != call.status
            return ToolCallEnded(call) if is_news else ToolCallChanged(call)
        return ToolCallChanged(call) if before else ToolCallStarted(call)

    def asked(self, told: dict[str, JSON], size: int) -> ToolCall | None:
        """The call that permission is asked for, with all that was told of it before. None if it has no id."""
        call = merged(self._known(told), told)
        if call is not None:
            call = replace(call, asked=True)
            self._keep(call, size)
        return call

    def _known(self, told: dict[str, JSON]) -> ToolCall | None:
        call = merged(None, {"toolCallId": told.get("toolCallId")})
        if call is None or call.id not in self._seen:
            return None
        if call.id in self._open:
            return self._open[call.id][0]
        seen = self._seen[call.id]
        return replace(call, title=seen.title, kind=seen.kind, status=seen.status, asked=seen.asked)

    def _keep(self, call: ToolCall, size: int) -> None:
        if call.id not in self._seen and len(self._seen) >= self._limits.tool_calls:
            raise AgentFailed("flood", f"the agent told of more than {self._limits.tool_calls} tool calls")
        self._seen[call.id] = ToolCallSeen(call.id, call.title, call.kind, call.status, call.asked)
        _, before = self._open.pop(call.id, (None, 0))
        self._size -= before
        if call.status in ("completed", "failed"):
            return
        # An update adds to what is kept of its call, and never more than itself.
        self._open[call.id] = (call, before + size)
        self._size += before + size
        while self._size > 2 * self._limits.line_bytes:
            _, (_, oldest) = self._open.popitem(last=False)
            self._size -= oldest
