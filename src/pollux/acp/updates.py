"""What an agent tells while it works, in words of ours. Nothing that it leaves out, nulls or invents is an error."""

from typing import Any, Final, Literal, cast, get_args

from pollux.core.frozen import frozen
from pollux.core.messages import JSON

ToolKind = Literal["read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", "other"]
ToolStatus = Literal["pending", "in_progress", "completed", "failed"]

LONGEST_NAME: Final = 1_000
"""Of ids, titles and modes. The rest is cut off."""
DEEPEST: Final = 50
"""Levels of a tool's input and output. What lies deeper is left out."""


@frozen
class TextContent:
    """Text that a tool call shows."""

    text: str


@frozen
class Diff:
    """What a tool call makes of a file. `old` is None for a new one."""

    path: str
    old: str | None
    new: str


@frozen
class TerminalContent:
    """A terminal whose output a tool call shows."""

    terminal_id: str


Content = TextContent | Diff | TerminalContent


@frozen(kw_only=True)
class ToolCall:
    """All that is known of a tool call by now. `asked` says whether the agent asked for permission."""

    id: str
    title: str = ""
    kind: ToolKind = "other"
    status: ToolStatus = "pending"
    raw_input: JSON = None
    raw_output: JSON = None
    locations: tuple[str, ...] = ()
    content: tuple[Content, ...] = ()
    asked: bool = False


@frozen
class TextChunk:
    """A piece of the answer."""

    text: str


@frozen
class ThoughtChunk:
    """A piece of what the agent shows of its thinking."""

    text: str


@frozen
class ToolCallStarted:
    """A tool call that was not known before."""

    call: ToolCall


@frozen
class ToolCallChanged:
    """Something about a tool call is known now."""

    call: ToolCall


@frozen
class ToolCallEnded:
    """A tool call was completed, or failed."""

    call: ToolCall


@frozen
class PlanEntry:
    """One thing that the agent means to do."""

    content: str
    priority: str
    status: str


@frozen
class PlanChanged:
    """The agent's whole plan, as it is now."""

    entries: tuple[PlanEntry, ...]


@frozen
class ContextUsed:
    """How many tokens of its context the agent has used. `cost` is what it says, in `currency`."""

    used: int
    size: int
    cost: float | None = None
    currency: str = ""


@frozen
class ModeChanged:
    """The agent works in another mode now."""

    mode: str


@frozen
class OtherUpdate:
    """Something that says nothing about the answer: commands that it knows, settings, or what we have no word for."""

    kind: str


Update = (
    TextChunk
    | ThoughtChunk
    | ToolCallStarted
    | ToolCallChanged
    | ToolCallEnded
    | PlanChanged
    | ContextUsed
    | ModeChanged
    | OtherUpdate
)


def simple_update(update: dict[str, JSON]) -> Update:
    """Every update but those of tool calls, which need to know what came before them."""
    kind = name_of(update.get("sessionUpdate"))
    match kind:
        case "agent_message_chunk" | "agent_thought_chunk":
            text = _text_of(update.get("content"))
            if text:
                return TextChunk(text) if kind == "agent_message_chunk" else ThoughtChunk(text)
        case "plan":
            return PlanChanged(tuple(_entry(entry) for entry in objects(update.get("entries"))))
        case "usage_update":
            used, size = count_of(update.get("used")), count_of(update.get("size"))
            if used is not None:
                return ContextUsed(used, size or 0, *_cost(update.get("cost")))
        case "current_mode_update":
            return ModeChanged(name_of(update.get("currentModeId")))
        case _:
            pass
    return OtherUpdate(kind)


def merged(known: ToolCall | None, told: dict[str, JSON]) -> ToolCall | None:
    """A tool call after an update of it, where only what is there counts. None if it has no id."""
    id = name_of(told.get("toolCallId"))
    if not id:
        return None
    known = known or ToolCall(id=id)
    kind, status = told.get("kind"), told.get("status")
    locations, content = told.get("locations"), told.get("content")
    raw_input, raw_output = told.get("rawInput"), told.get("rawOutput")
    return ToolCall(
        id=id,
        title=name_of(told.get("title")) or known.title,
        kind=cast("ToolKind", kind) if kind in get_args(ToolKind) else known.kind,
        status=cast("ToolStatus", status) if status in get_args(ToolStatus) else known.status,
        raw_input=known.raw_input if raw_input is None else shallow(raw_input),
        raw_output=known.raw_output if raw_output is None else shallow(raw_output),
        locations=_paths(locations) if isinstance(locations, list) else known.locations,
        content=_contents(content) if isinstance(content, list) else known.content,
        asked=known.asked,
    )


def name_of(value: JSON) -> str:
    """A short text; empty if it is none."""
    return value[:LONGEST_NAME] if isinstance(value, str) else ""


def text_of(value: JSON) -> str:
    """A text of any length; empty if it is none."""
    return value if isinstance(value, str) else ""


def count_of(value: JSON) -> int | None:
    """A whole number from 0 on; None if it is none."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63 else None


def object_of(value: JSON) -> dict[str, JSON]:
    """A JSON object; an empty one if it is none."""
    return cast("dict[str, JSON]", value) if isinstance(value, dict) else {}


def objects(value: JSON) -> list[dict[str, JSON]]:
    """The JSON objects in a list."""
    items = cast("list[JSON]", value) if isinstance(value, list) else []
    return [cast("dict[str, JSON]", item) for item in items if isinstance(item, dict)]


def shallow(value: JSON, depth: int = DEEPEST) -> JSON:
    """The value without what lies too deep."""
    if not isinstance(value, dict | list):
        return value
    if not depth:
        return "[too deep]"
    if isinstance(value, dict):
        return {key: shallow(each, depth - 1) for key, each in cast("dict[str, Any]", value).items()}
    return [shallow(each, depth - 1) for each in cast("list[Any]", value)]


def _text_of(content: JSON) -> str:
    block = object_of(content)
    if block.get("type") == "resource":
        return text_of(object_of(block.get("resource")).get("text"))
    return text_of(block.get("text")) if block.get("type") == "text" else ""


def _contents(items: JSON) -> tuple[Content, ...]:
    found: list[Content] = []
    for item in objects(items):
        match item.get("type"):
            case "content":
                found.append(TextContent(_text_of(item.get("content"))))
            case "diff":
                old = item.get("oldText")
                new = text_of(item.get("newText"))
                found.append(Diff(text_of(item.get("path")), old if isinstance(old, str) else None, new))
            case "terminal":
                found.append(TerminalContent(name_of(item.get("terminalId"))))
            case _:
                pass
    return tuple(found)


def _paths(items: JSON) -> tuple[str, ...]:
    return tuple(path for item in objects(items) if (path := text_of(item.get("path"))))


def _entry(entry: dict[str, JSON]) -> PlanEntry:
    return PlanEntry(text_of(entry.get("content")), name_of(entry.get("priority")), name_of(entry.get("status")))


def _cost(value: JSON) -> tuple[float | None, str]:
    cost = object_of(value)
    amount = cost.get("amount")
    if not isinstance(amount, int | float) or isinstance(amount, bool):
        return None, ""
    return float(amount), name_of(cost.get("currency"))
