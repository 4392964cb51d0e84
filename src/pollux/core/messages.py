"""What is said in a thread: messages of neutral parts, with the provider's own turn kept verbatim beside them."""

from typing import Any, Literal

from pollux.core.frozen import frozen

JSON = Any
"""A JSON value. Parsed at the edge; inside it is only carried, hashed and handed on."""

Role = Literal["user", "assistant", "tool", "notice"]


@frozen
class Text:
    """Plain text."""

    text: str
    type: Literal["text"] = "text"


@frozen
class Thought:
    """What the model showed of its thinking. Never sent to another provider."""

    text: str
    type: Literal["thought"] = "thought"


@frozen
class Blob:
    """An image or file carried inline."""

    mime: str
    data: bytes
    name: str | None = None
    type: Literal["blob"] = "blob"


@frozen
class FileRef:
    """A file that the provider can fetch for itself."""

    mime: str
    uri: str
    type: Literal["file"] = "file"


@frozen
class CallFacts:
    """What our own code knows of a call beside its arguments. No model, page, agent or document can write it."""

    rendered_from: tuple[str, ...] = ()
    """The blocks whose outputs are a part of the arguments, each as `type: name`."""
    placed_by: tuple[str, ...] = ()
    """The blocks whose outputs say where it works."""
    capabilities: tuple[str, ...] = ()
    """What the agent behind the call was given."""
    accepted: tuple[tuple[str, str], ...] | None = None
    """The programs that a person accepted with the document: each word, and the file behind it. None: nobody did."""
    made_from: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Of values that it hands on, each as `env NAME` or `var NAME`: the blocks whose outputs they were made from."""
    places: tuple[str, ...] = ()
    """The folders whose files others may change: what the call starts from there counts by its content."""

    @property
    def preview_note(self) -> str:
        """Lines below a preview: whoever decides must know which outputs are a part of the call."""
        parts = (("made from", self.rendered_from), ("placed by", self.placed_by))
        return "".join(f"\n{part} the output of {', '.join(sources)}" for part, sources in parts if sources)


@frozen
class ToolCall:
    """What the model asked for. `minted` means the provider gave no id and this one is ours."""

    id: str
    name: str
    args: dict[str, JSON]
    minted: bool = False
    facts: CallFacts | None = None
    type: Literal["tool_call"] = "tool_call"


@frozen
class ToolResult:
    """The answer to one call, as the model sees it."""

    call_id: str
    name: str
    result: JSON
    is_error: bool = False
    type: Literal["tool_result"] = "tool_result"


Part = Text | Thought | Blob | FileRef | ToolCall | ToolResult


@frozen
class Native:
    """A provider's own turn as it came, as JSON text: goes back byte for byte to the same provider and to no other."""

    provider: str
    body: str


@frozen
class Message:
    """One turn of a thread. A `notice` is shown to people and never sent to a model."""

    role: Role
    parts: tuple[Part, ...]
    native: Native | None = None
    pinned: bool = False
    sources: tuple[str, ...] = ()
    """Whose words the model had read for it by means of its own service: `web`. Found by the engine, never claimed."""
    cut: bool = False
    """The answer was longer than its limit: the rest of it was not read."""

    @property
    def text(self) -> str:
        """The text alone, without thoughts, calls or results."""
        return "".join(part.text for part in self.parts if isinstance(part, Text))

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The calls that the model asked for in this turn, in order."""
        return tuple(part for part in self.parts if isinstance(part, ToolCall))


def user(text: str, *more: Part) -> Message:
    """A user's message."""
    return Message("user", (Text(text), *more))


def notice(text: str) -> Message:
    """A line for people, kept in the thread and hidden from models."""
    return Message("notice", (Text(text),))


@frozen
class Usage:
    """Tokens of one or several model calls. `thoughts` is part of `output`; `cached` is part of `input`."""

    input: int = 0
    output: int = 0
    thoughts: int = 0
    cached: int = 0

    @property
    def total(self) -> int:
        """What went in and what came out."""
        return self.input + self.output

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.input + other.input,
            self.output + other.output,
            self.thoughts + other.thoughts,
            self.cached + other.cached,
        )


NO_USAGE = Usage()
