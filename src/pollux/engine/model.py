"""The provider port: what we ask of a model and what it answers, in neutral terms.

A provider yields events and then exactly one Done, or raises ModelError. It never retries: retry lives once, above.
"""

from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import field
from typing import Literal, Protocol

from pollux.core.events import Stop
from pollux.core.frozen import frozen
from pollux.core.messages import JSON, NO_USAGE, Message, ToolCall, Usage, user
from pollux.core.profile import Thinking
from pollux.core.tools import ToolSpec

Encode = Callable[[Message], bytes]
"""One message in a provider's wire form; empty where it has none (notices)."""

ToolMode = Literal["auto", "none", "any"]

CUT = user("[Your last answer was longer than its limit and was cut. The text above is all that was kept of it.]")
"""What the model reads behind an answer of which it said more."""


class Turns(list[Message]):
    """Messages in order, each encoded once per provider.

    Encoding is remembered because a thread is sent again with every call: the cost of a call must not grow with the
    conversation beyond joining bytes. Messages are only ever added at the end.
    """

    def encoded(self, provider: str, encode: Encode) -> bytes:
        """Every turn in the provider's wire form, joined by commas."""
        known: list[bytes] = self.__dict__.setdefault(provider, [])
        for message in self[len(known) :]:
            said = encode(message)
            known.append(b",".join((said, encode(CUT))) if said and message.cut else said)
        return b",".join(filter(None, known))


@frozen(slots=False)
class ModelRequest:
    """One call of a model. `extra` is passed verbatim; `stream` says whether anybody watches the text arrive."""

    model: str
    turns: Turns
    system: str = ""
    tools: tuple[ToolSpec, ...] = ()
    tool_mode: ToolMode = "auto"
    output_schema: Mapping[str, JSON] | None = None
    thinking: Thinking = "default"
    max_output_tokens: int | None = None
    temperature: float | None = None
    extra: Mapping[str, JSON] = field(default_factory=dict[str, JSON])
    stream: bool = True
    idle_seconds: float = 60
    """No byte for so long: the call has failed."""
    total_seconds: float = 600
    answer_bytes: int = 4 * 1024 * 1024
    """Text and thoughts beyond that are not read: Done says `length`, and its message `cut`."""


@frozen
class TextDelta:
    """Some more text of the answer."""

    text: str


@frozen
class ThoughtDelta:
    """Some more of the thinking that the model shows."""

    text: str


@frozen
class NativePart:
    """Something of the provider's that has no neutral form. It is kept in the turn; this only says it is there."""

    body: JSON


@frozen
class Done:
    """The end of an answer. `message` holds neutral parts and the provider's own turn."""

    stop: Stop
    message: Message
    usage: Usage = NO_USAGE
    reason: str = ""
    """The provider's own word for the stop."""
    detail: str = ""
    """The provider's explanation, if it gave one."""
    model: str = ""


ModelEvent = TextDelta | ThoughtDelta | ToolCall | NativePart | Usage | Done


@frozen
class ModelInfo:
    """A model that the provider offers."""

    name: str
    title: str = ""
    input_tokens: int | None = None
    output_tokens: int | None = None


class Provider(Protocol):
    """Whoever produces replies."""

    @property
    def name(self) -> str:
        """What natives of this provider are marked with."""
        ...

    def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        """The answer as it arrives, ending in exactly one Done. Raises ModelError."""
        ...

    async def count_tokens(self, request: ModelRequest) -> int: ...

    async def models(self) -> tuple[ModelInfo, ...]: ...

    async def close(self) -> None: ...


class Providers(Protocol):
    """Finds the provider for a model's name."""

    def __call__(self, model: str) -> Provider: ...
