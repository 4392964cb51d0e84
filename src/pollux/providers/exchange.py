"""One model call, the same for every service: send, read, fold, and say truthfully whether an answer had begun."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from typing import Protocol

from pollux.core.errors import ModelError
from pollux.core.frozen import frozen
from pollux.core.messages import Usage
from pollux.engine.model import ModelEvent, ModelRequest
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
    started = False
    try:
        async with http.post(
            call.url, headers, call.body, idle=request.idle_seconds, total=request.total_seconds
        ) as response:
            if response.status != 200:
                raise await refused(response, request)
            async for chunks in _events(response) if request.stream else _whole(response):
                for event in fold.add(chunks):
                    started = True
                    yield event
                if fold.failure is not None:
                    raise fold.failure
    except ModelError as error:
        error.started = started
        if started:
            # The answer is lost, what it has cost is not.
            yield fold.usage
        raise
    for event in fold.finish():
        yield event


async def _events(response: Response) -> AsyncIterator[list[bytes]]:
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


async def _whole(response: Response) -> AsyncIterator[list[bytes]]:
    yield [await response.read_all()]
