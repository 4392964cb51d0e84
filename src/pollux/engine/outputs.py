"""The end of what each tool at work has shown, for whoever comes while it still is at work. Never stored."""

from collections import deque
from collections.abc import Iterator
from typing import Final

from pollux.core.frozen import frozen
from pollux.core.ids import ActionId
from pollux.core.run import Run

MOST: Final = 16_384
"""How many characters are kept of one action."""
PIECE: Final = 1_024
"""Shorter pieces are joined: a program may put out a character at a time."""


@frozen
class Output:
    """Something that a tool at work shows. It is not kept, and whoever reads slowly may miss some of it."""

    action_id: ActionId
    stream: str
    text: str


class Outputs:
    """What the tools at work in one run have shown last."""

    __slots__ = ("_tails",)

    def __init__(self) -> None:
        self._tails: dict[ActionId, _Tail] = {}

    def add(self, output: Output) -> None:
        tail = self._tails.get(output.action_id)
        if tail is None:
            tail = self._tails[output.action_id] = _Tail()
        tail.add(output)

    def forget_ended(self, run: Run) -> None:
        """What an action has put out is in its result once it has one."""
        if self._tails:
            at_work = {action.id for action in run.open if action.outcome is None}
            self._tails = {id_: tail for id_, tail in self._tails.items() if id_ in at_work}

    def __iter__(self) -> Iterator[Output]:
        for tail in self._tails.values():
            yield from tail.pieces


class _Tail:
    """The end of one action's output, both streams in the order in which they came."""

    __slots__ = ("_size", "pieces")

    def __init__(self) -> None:
        self.pieces: deque[Output] = deque()
        self._size = 0

    def add(self, output: Output) -> None:
        last = self.pieces[-1] if self.pieces else None
        self._size += len(output.text)
        if last is not None and last.stream == output.stream and len(last.text) + len(output.text) <= PIECE:
            self.pieces[-1] = Output(last.action_id, last.stream, last.text + output.text)
        else:
            self.pieces.append(output)
        while self._size > MOST:
            self._shorten()

    def _shorten(self) -> None:
        first = self.pieces.popleft()
        kept = first.text[self._size - MOST :]
        # From the beginning of a line, if there is one: half an escape sequence is no text.
        _, _, line = kept.partition("\n")
        self._size -= len(first.text)
        if text := line or kept:
            self.pieces.appendleft(Output(first.action_id, first.stream, text))
            self._size += len(text)
