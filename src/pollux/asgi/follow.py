"""A run as lines for whoever watches: what was said, what was called, and where an answer began anew. Each once."""

from collections.abc import Iterator
from typing import Any

from pollux.core.events import ActionDecided, ModelReplied
from pollux.core.machine import pending, step
from pollux.core.messages import Thought
from pollux.core.run import Run
from pollux.engine.feed import Delta, Item, Output
from pollux.engine.ports import Recorded

KINDS = {"text": "delta", "thought": "thought_delta"}


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
            case Output():
                # What a tool shows while it works is for whoever looks at the run, not for a chat.
                pass
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
