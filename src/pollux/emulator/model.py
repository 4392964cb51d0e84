"""What every face hands to the planner and gets back: the demo model's own words, free of any vendor's wire format."""

from dataclasses import dataclass, field
from typing import Any, Literal

Mode = Literal["auto", "any", "none"]

LABEL = "demo model, rule-based"


@dataclass(frozen=True)
class Tool:
    """A function the caller declared."""

    name: str
    description: str = ""
    schema: dict[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True)
class Call:
    """A function the model wants called."""

    name: str
    args: dict[str, Any]
    id: str | None = None


@dataclass(frozen=True)
class Result:
    """What a call came back with."""

    name: str
    response: Any


@dataclass(frozen=True)
class Attachment:
    """A file the caller sent along."""

    mime: str
    size: int


@dataclass(frozen=True)
class Ask:
    """One request, read and found well-formed. `rounds` are the results since the prompt, one entry per model turn;
    `made` are the calls that they answer."""

    model: str
    prompt: str
    system: str = ""
    earlier: tuple[str, ...] = ()
    tools: tuple[Tool, ...] = ()
    rounds: tuple[tuple[Result, ...], ...] = ()
    made: tuple[tuple[Call, ...], ...] = ()
    mode: Mode = "auto"
    allowed: frozenset[str] = frozenset()
    schema: dict[str, Any] | None = None
    json_only: bool = False
    attachments: tuple[Attachment, ...] = ()
    thoughts: Literal["off", "hidden", "shown"] = "hidden"
    max_tokens: int | None = None
    stops: tuple[str, ...] = ()
    text_tokens: int = 0
    media_tokens: int = 0
    can_search: bool = False
    """A search of the service's own was switched on."""
    tells_search: bool = False
    """And its calls are to be shown among the parts of the answer."""
    digest: bytes = b""


@dataclass(frozen=True)
class Reply:
    """What the demo model says. `texts` holds one entry per streamed chunk; `finish` None means it never finished."""

    texts: tuple[str, ...] = ()
    calls: tuple[Call, ...] = ()
    thoughts: tuple[str, ...] = ()
    finish: str | None = "STOP"
    message: str | None = None
    block: str | None = None
    no_candidates: bool = False
    spread_calls: bool = False
    unknown_part: bool = False
    searched: str = ""
    """What was looked up in the web for this answer."""

    @property
    def text(self) -> str:
        """Everything said, in one piece."""
        return "".join(self.texts)
