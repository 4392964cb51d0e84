"""One model call, the same for every service: send, read, fold, and say truthfully whether an answer had begun.

What comes beyond the limit of an answer is neither read nor kept.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import aclosing
from dataclasses import replace
from typing import Protocol

from pollux.core.errors import ModelError
from pollux.core.frozen import frozen
from pollux.core.messages import Message, Part, Text, Thought, Usage
from pollux.engine.model import Done, ModelEvent, ModelRequest, TextDelta, ThoughtDelta
from pollux.providers.encoding import is_json
from pollux.providers.http import MAX_BODY, Http, Response
from pollux.providers.sse import SseParser


class Fold(Protocol):
    """Collects one answer from its chunks."""

    failure: ModelError | None
    """Why the answer ended early: an error inside it, or something unreadable. Nothing is taken in after that."""

    def add(self, chunks: Iterable[bytes]) -> list[ModelEvent]:
        """What these chunks bring. Text that arrived together may be one delta."""
        ...

    def finish(self) -> list[ModelEvent]:
        """What is left when nothing more will come, ending in Done. Raises ModelError when there was no answer."""
        ...

    @property
    def usage(self) -> Usage:
        """Tokens as last reported."""
        ...


@frozen
class Prepared:
    """A call ready to be sent."""

    url: str
    body: bytes
    fold: Fold


async def exchange(
    http: Http,
    headers: Mapping[str, str],
    request: ModelRequest,
    prepare: Callable[[ModelRequest], Prepared],
    refused: Callable[[Response, ModelRequest], Awaitable[ModelError]],
) -> AsyncIterator[ModelEvent]:
    """The answer as it arrives, ending in exactly one Done. Raises ModelError."""
    call = prepare(request)
    fold = call.fold
    measured = _Measured(request.answer_bytes)
    started = False
    try:
        async with http.post(
            call.url, headers, call.body, idle=request.idle_seconds, total=request.total_seconds
        ) as response:
            if response.status != 200:
                raise await refused(response, request)
            async with aclosing(_events(response) if request.stream else _whole(response)) as pieces:
                async for chunks in pieces:
                    for event in measured.take(fold.add(chunks)):
                        started = True
                        yield event
                    if measured.is_cut:
                        # Leaving closes the connection: what would follow is neither read nor kept.
                        break
                    if fold.failure is not None:
                        raise fold.failure
    except ModelError as error:
        error.started = started
        if started:
            # The answer is lost, what it has cost is not.
            yield fold.usage
        raise
    for event in fold.finish():
        if not measured.is_cut:
            yield event
        elif type(event) is Done:
            yield measured.ended(event)


async def _events(response: Response) -> AsyncGenerator[list[bytes]]:
    parser = SseParser()
    size = 0
    while piece := await response.read_some():
        size += len(piece)
        if size > MAX_BODY:
            raise ModelError(f"the stream holds more than {MAX_BODY} bytes", kind="protocol")
        yield parser.feed(piece)
    if (last := parser.finish()) is not None and is_json(last):
        # Not every server ends its last event with an empty line. Half an event is no event: the answer broke off.
        yield [last]


async def _whole(response: Response) -> AsyncGenerator[list[bytes]]:
    yield [await response.read_all()]


class _Measured:
    """How much of one answer was passed on. Text and thoughts count together, in bytes of UTF-8."""

    __slots__ = ("_left", "_limit", "_taken", "is_cut")

    def __init__(self, limit: int) -> None:
        self._limit = self._left = limit
        self._taken: dict[type[Part], int] = {Text: 0, Thought: 0}
        """Characters of each kind."""
        self.is_cut = False

    def take(self, events: list[ModelEvent]) -> list[ModelEvent]:
        """The events up to where the limit is reached; after that the answer is cut."""
        for place, event in enumerate(events):
            if type(event) is TextDelta:
                kind: type[Part] = Text
            elif type(event) is ThoughtDelta:
                kind = Thought
            else:
                continue
            size = _size(event.text)
            if size > self._left:
                self.is_cut = True
                kept = event.text.encode("utf-8", "replace")[: self._left].decode("utf-8", "ignore")
                self._taken[kind] += len(kept)
                return [*events[:place], replace(event, text=kept)] if kept else events[:place]
            self._left -= size
            self._taken[kind] += len(event.text)
        return events

    def ended(self, done: Done) -> Done:
        """The end of an answer that was cut: as much text as was passed on, and nothing of the service's own."""
        left = dict(self._taken)
        parts: list[Part] = []
        for part in done.message.parts:
            if isinstance(part, Text | Thought):
                kept = part.text[: left[type(part)]]
                left[type(part)] -= len(kept)
                if kept:
                    parts.append(replace(part, text=kept))
            else:
                parts.append(part)
        message = Message("assistant", tuple(parts), sources=done.message.sources, cut=True)
        return replace(done, stop="length", message=message, detail=f"longer than {self._limit / (1 << 20):g} MiB")


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))
