"""A run as the lines of a stream: what was said, what was called, and where an answer began anew. Each is told once."""

import logging
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from typing import Any

from pollux.asgi.bodies import encoded
from pollux.asgi.errors import INTERNAL, safe_text
from pollux.core.errors import PolluxError
from pollux.core.events import ActionDecided, ModelReplied
from pollux.core.machine import pending, step
from pollux.core.messages import Thought
from pollux.core.run import Run
from pollux.engine.engine import Engine
from pollux.engine.feed import Delta, Item
from pollux.engine.ports import Recorded
from pollux.http.runtime import as_it_is
from pollux.http.views import run_view

logger = logging.getLogger(__name__)

KINDS = {"text": "delta", "thought": "thought_delta"}


async def told(engine: Engine, begun: Run) -> AsyncGenerator[bytes]:
    """A run's lines, from its beginning to where nothing is owed. The last one is a result, or why there is none."""
    first = {"type": "status", "status": "planning", "threadId": begun.thread_id, "runId": begun.id}
    yield encoded(first) + b"\n"
    follow = Follow()
    try:
        async with aclosing(engine.watch(begun.id)) as items:
            async for item in items:
                for line in follow.read(item):
                    yield encoded(line) + b"\n"
                if type(item) is not Recorded:
                    continue
                # What a key leads back to may have been asked and answered since: only its present state is an answer.
                if follow.run is not None and follow.run.version >= begun.version and is_settled(follow.run):
                    yield encoded({"type": "result", "result": run_view(follow.run)}) + b"\n"
                    return
    except PolluxError as found:
        problem = as_it_is(engine, found)
        yield _last_word(begun, problem.code, safe_text(problem))
    except Exception:
        logger.exception("a stream failed")
        yield _last_word(begun, "internal", INTERNAL)


def _last_word(begun: Run, code: str, message: str) -> bytes:
    """The line for a run that cannot be told to its end here."""
    return encoded({"type": "error", "error": message, "code": code, "runId": begun.id}) + b"\n"


def is_settled(run: Run) -> bool:
    """Whether nothing is owed: it has ended, or only people can move it."""
    if not run.is_open:
        return True
    return run.status == "awaiting_confirmation" and not pending(run) and run.retry_at is None


class Follow:
    """Folds what is watched. `run` is the run as far as it has been told."""

    def __init__(self) -> None:
        self.run: Run | None = None
        self._shown = {"text": 0, "thought": 0}
        """How much of the open turn has been told."""

    def read(self, item: Item) -> Iterator[dict[str, Any]]:
        """The lines that this item makes."""
        match item:
            case Delta():
                self._shown[item.kind] += len(item.text)
                if item.text:
                    yield {"type": KINDS[item.kind], "delta": item.text}
            case Recorded(event=event):
                self.run = step(self.run, event)
                if isinstance(event, ModelReplied) and not _is_asked_again(self.run, event):
                    yield from self._rest(event)
                elif isinstance(event, ActionDecided):
                    action = event.action
                    yield {"type": "tool_call", "toolName": action.tool, "preview": action.preview, "id": action.id}
            case _:
                if any(self._shown.values()):
                    self._shown = {"text": 0, "thought": 0}
                    yield {"type": "turn_restarted", "turn": item.turn}

    def _rest(self, event: ModelReplied) -> Iterator[dict[str, Any]]:
        """What was not streamed, or was streamed before anybody watched."""
        thought = "".join(part.text for part in event.message.parts if isinstance(part, Thought))
        for kind, text in (("thought", thought), ("text", event.message.text)):
            if rest := text[self._shown[kind] :]:
                yield {"type": KINDS[kind], "delta": rest}
        self._shown = {"text": 0, "thought": 0}


def _is_asked_again(run: Run, event: ModelReplied) -> bool:
    """Whether this answer was none: its words are not the run's, and whoever saw them is told to drop them."""
    return run.turn == event.turn and run.attempt > event.attempt
