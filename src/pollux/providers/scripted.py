"""A provider that answers from a list of steps, for demonstrations and tests. Asked once too often, it fails loudly.

    provider = ScriptedProvider(call("add", {"a": 2, "b": 3}), reply("The sum is 5."))

A step may also be an async function of the request that returns a step: a place to look, or to wait.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import replace

from pollux.core.errors import ModelError, ModelErrorKind
from pollux.core.events import Stop
from pollux.core.frozen import frozen
from pollux.core.messages import JSON, Message, Part, Text, Thought, ToolCall, Usage
from pollux.engine.model import Done, ModelEvent, ModelInfo, ModelRequest, TextDelta, ThoughtDelta, Turns

USAGE = Usage(input=10, output=5)


@frozen
class Answer:
    """A step that answers: pieces of text, then calls. `failure` ends it instead of a Done."""

    pieces: tuple[str, ...] = ()
    thought: str = ""
    calls: tuple[tuple[str, Mapping[str, JSON]], ...] = ()
    stop: Stop | None = None
    reason: str = ""
    usage: Usage = USAGE
    failure: ModelError | None = None


Gate = Callable[[ModelRequest], Awaitable[Answer]]
Step = Answer | Gate


def reply(text: str, *, thought: str = "", usage: Usage = USAGE) -> Answer:
    """Say this."""
    return Answer((text,), thought, usage=usage)


def chunks(pieces: Sequence[str], *, stop: Stop | None = None, reason: str = "") -> Answer:
    """Say this piece by piece, and end as told."""
    return Answer(tuple(pieces), stop=stop, reason=reason)


def call(name: str, args: Mapping[str, JSON] | None = None, *, text: str = "") -> Answer:
    """Ask for one tool."""
    return calls((name, args or {}), text=text)


def calls(*wanted: tuple[str, Mapping[str, JSON]], text: str = "") -> Answer:
    """Ask for several tools in one turn."""
    return Answer((text,) if text else (), calls=wanted)


def fail(
    kind: ModelErrorKind, message: str = "scripted failure", *, retry_after: float | None = None, after: str = ""
) -> Answer:
    """Fail, before anything was said or after some text."""
    error = ModelError(message, kind=kind, retry_after=retry_after, started=bool(after))
    return Answer((after,) if after else (), failure=error)


class ScriptedProvider:
    """Plays its steps in order, one for each call. `requests` keeps what was asked, as it was then."""

    def __init__(self, *steps: Step, name: str = "scripted") -> None:
        self._steps = steps
        self._name = name
        self.requests: list[ModelRequest] = []

    @property
    def name(self) -> str:
        return self._name

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        """The next step. Raises ModelError where the script says so, AssertionError where it has no more steps."""
        number = len(self.requests) + 1
        self.requests.append(replace(request, turns=Turns(tuple(request.turns))))
        if number > len(self._steps):
            raise AssertionError(f"the script has {len(self._steps)} steps, but the model was asked for step {number}")
        step = self._steps[number - 1]
        answer = step if isinstance(step, Answer) else await step(request)
        for event in _events(answer, number):
            yield event
        if answer.failure is not None:
            raise answer.failure

    async def count_tokens(self, request: ModelRequest) -> int:
        """A token for every four characters of text."""
        said = sum(len(message.text) for message in request.turns)
        return (said + len(request.system)) // 4

    async def models(self) -> tuple[ModelInfo, ...]:
        return (ModelInfo(self._name, "a script"),)

    async def close(self) -> None:
        """Nothing is open."""

    def assert_exhausted(self) -> None:
        """Raises AssertionError unless every step was played."""
        left = len(self._steps) - len(self.requests)
        if left > 0:
            raise AssertionError(f"step {len(self.requests) + 1} of {len(self._steps)} was never asked for")


def _events(answer: Answer, number: int) -> list[ModelEvent]:
    made = tuple(
        ToolCall(f"call_{number}_{position}", name, dict(args))
        for position, (name, args) in enumerate(answer.calls, start=1)
    )
    text = "".join(answer.pieces)
    parts: list[Part] = [Thought(answer.thought)] if answer.thought else []
    parts += [Text(text)] if text else []
    parts += made
    events: list[ModelEvent] = [ThoughtDelta(answer.thought)] if answer.thought else []
    events += [TextDelta(piece) for piece in answer.pieces if piece]
    events += made
    if answer.failure is None:
        stop: Stop = answer.stop or ("tool_calls" if made else "end" if text else "empty")
        events.append(Done(stop, Message("assistant", tuple(parts)), answer.usage, answer.reason))
    return events
