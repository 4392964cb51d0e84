"""What happens to one run, for those who are here: its head, its facts and the text on its way.

Deltas are shown and never stored. A watcher that comes late gets the open turn's text so far, and the end of what tools
at work have shown. The text is kept once: whoever falls behind keeps a place in it instead of a copy, so that fifty who
stall cost no more than one.
"""

import asyncio
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, cast

from pollux.core.errors import Draining, StoreError
from pollux.core.events import Event, ModelCalled
from pollux.core.frozen import frozen
from pollux.core.ids import ActionId
from pollux.core.run import Run
from pollux.core.thread import Thread
from pollux.engine.airwaves import Kind, Piece
from pollux.engine.model import Turns
from pollux.engine.outputs import Output, Outputs
from pollux.engine.ports import Recorded


@frozen
class Delta:
    """Text on its way. `offset` counts the characters of that kind before it in this attempt."""

    turn: int
    attempt: int
    offset: int
    kind: Kind
    text: str


@frozen
class TurnRestarted:
    """The answer begins anew: drop what you showed of this turn."""

    turn: int
    attempt: int


Item = Recorded | Delta | TurnRestarted | Output

BACKLOG = 256
"""How many items a slow watcher may lag behind before it keeps its place in the text instead of the text itself."""
BLOCK = 65_536
"""How many characters are joined into one piece: enough to make pieces few, little enough to be copied in a moment."""


class Said:
    """The text and thoughts of one attempt, in the order in which they came. Places count the characters of both."""

    __slots__ = ("_blocks", "_kind", "_lengths", "_places", "_recent", "_size", "attempt", "length", "turn")

    def __init__(self, turn: int, attempt: int) -> None:
        self.turn = turn
        self.attempt = attempt
        self.length = 0
        self._blocks: list[Delta] = []
        self._places: list[int] = []
        """Where each block begins."""
        # What is not in a block yet: pieces of one kind, joined when somebody asks or there is enough of them.
        self._recent: list[str] = []
        self._kind: Kind = "text"
        self._size = 0
        self._lengths: dict[Kind, int] = {"text": 0, "thought": 0}

    def add(self, kind: Kind, text: str) -> Delta:
        """Some more was said."""
        if kind != self._kind or self._size >= BLOCK:
            self._close_block()
            self._kind = kind
        size, offset = len(text), self._lengths[kind]
        self._recent.append(text)
        self._size += size
        self._lengths[kind] = offset + size
        self.length += size
        return Delta(self.turn, self.attempt, offset, kind, text)

    def between(self, start: int, end: int) -> list[Delta]:
        """What was said from one place to another, in few pieces. Whole blocks are shared, not copied."""
        self._join_recent()
        found: list[Delta] = []
        first = max(bisect_right(self._places, start) - 1, 0)
        for place, block in zip(self._places[first:], self._blocks[first:], strict=True):
            found += _cut(block, start - place, end - place)
        if self._recent:
            place = self.length - self._size
            found += _cut(self._block(), start - place, end - place)
        return found

    def _join_recent(self) -> None:
        if len(self._recent) > 1:
            self._recent = ["".join(self._recent)]

    def _close_block(self) -> None:
        if self._recent:
            self._join_recent()
            self._blocks.append(self._block())
            self._places.append(self.length - self._size)
            self._recent, self._size = [], 0

    def _block(self) -> Delta:
        return Delta(self.turn, self.attempt, self._lengths[self._kind] - self._size, self._kind, self._recent[0])


def _cut(block: Delta, start: int, end: int) -> Iterator[Delta]:
    """The part of a block between these places in it, if there is any."""
    start, end = max(start, 0), min(end, len(block.text))
    if start == 0 and end == len(block.text):
        yield block
    elif start < end:
        yield Delta(block.turn, block.attempt, block.offset + start, block.kind, block.text[start:end])


@dataclass(slots=True, eq=False)
class _Rest:
    """Text that a watcher has yet to read, where all of them find it."""

    said: Said
    start: int
    end: int


class Watcher:
    """One reader's place in the feed."""

    __slots__ = ("_closed", "_is_behind", "_items", "_size", "_waiter")

    def __init__(self) -> None:
        self._closed = False
        self._is_behind = False
        self._items: list[Item | _Rest] = []
        self._size = 0
        self._waiter: asyncio.Future[None] | None = None

    def put(self, item: Item) -> None:
        self._items.append(item)
        self._wake()

    def hear(self, delta: Delta, said: Said) -> None:
        """A delta that was just said."""
        self._size += len(delta.text)
        if self._is_behind or self._size >= BLOCK or len(self._items) >= BACKLOG:
            self._fall_behind(delta, said)
        else:
            self._items.append(delta)
        self._wake()

    def overhear(self, output: Output) -> None:
        """What a tool shows. Beyond what a slow reader may lag behind it is left out: the result has what counts."""
        if len(self._items) < BACKLOG:
            self._items.append(output)
            self._wake()

    def clear(self) -> None:
        """Skip what has come so far: it was read elsewhere."""
        self._items, self._size, self._is_behind = [], 0, False

    def close(self) -> None:
        """Nothing more will come from here."""
        self._closed = True
        self._wake()

    async def take(self) -> list[Item]:
        """Everything since the last time, waiting for the first."""
        if not self._items and not self._closed:
            self._waiter = asyncio.get_running_loop().create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None
        if not self._items:
            raise Draining("this process is stopping; watch the run from another")
        return self._taken()

    def _fall_behind(self, delta: Delta, said: Said) -> None:
        """A reader that stalls costs a place in the text, however much more of it comes."""
        items, start = self._items, said.length - len(delta.text)
        last = items[-1] if items else None
        if type(last) is _Rest and last.said is said:
            last.end = said.length
            return
        while items and type(last := items[-1]) is Delta and (last.turn, last.attempt) == (said.turn, said.attempt):
            start -= len(last.text)
            items.pop()
        items.append(_Rest(said, start, said.length))
        self._is_behind = True

    def _taken(self) -> list[Item]:
        items, self._items, self._size = self._items, [], 0
        if not self._is_behind:
            return cast("list[Item]", items)
        self._is_behind = False
        whole: list[Item] = []
        for item in items:
            if isinstance(item, _Rest):
                whole += item.said.between(item.start, item.end)
            else:
                whole.append(item)
        return whole

    def _wake(self) -> None:
        waiter = self._waiter
        if waiter is not None and not waiter.done():
            waiter.set_result(None)


class Elsewhere(Protocol):
    """The other processes, where the run may be watched or driven too."""

    def shown(self, feed: "Feed") -> None:
        """Some text arrived here."""
        ...

    def moved(self, feed: "Feed") -> None:
        """The run has moved on, or somebody here has begun or ceased to watch or to drive it."""
        ...


class Feed:
    """One run as this process knows it. Kept while somebody drives or watches it."""

    __slots__ = (
        "_outputs",
        "_patient",
        "_said",
        "_waiting",
        "closed",
        "driving",
        "elsewhere",
        "live",
        "lock",
        "on_move",
        "run",
        "thread",
        "told",
        "trouble",
        "turns",
        "users",
        "watchers",
    )

    def __init__(self, run: Run, thread: Thread | None) -> None:
        self.run = run
        self.thread = thread
        """As it was with that head; None where nobody here has needed it since."""
        self.turns: Turns | None = None
        self.closed = False
        self.driving = False
        self.elsewhere: Elsewhere | None = None
        self.live = False
        """Whether somebody asked to see text as it arrives."""
        self.on_move: Callable[[], None] = do_nothing
        self.told = 0
        """How many are just writing to it from outside."""
        self.trouble: StoreError | None = None
        """Why what has happened could not be written the last time."""
        self.users = 0
        self.lock = asyncio.Lock()
        self.watchers: list[Watcher] = []
        self._said: Said | None = None
        self._outputs: Outputs | None = None
        self._waiting: list[asyncio.Future[None]] = []
        self._patient: list[asyncio.Future[None]] = []

    def advance(self, run: Run, events: Sequence[Event], thread: Thread | None) -> None:
        """The run has a new head."""
        seq = run.version - len(events)
        if run.compressed is not self.run.compressed:
            self.turns = None
        elif self.turns is not None:
            self.turns.extend(run.messages[len(self.run.messages) :])
        if self._said and (again := _asked_again(self._said, events)):
            self._said = None
            self._publish(TurnRestarted(again.turn, again.attempt))
        if run.turn != self.run.turn or run.ending or run.calls:
            # With calls to answer, the turn's text is in the journal: who comes now reads it there.
            self._said = None
        self.run, self.thread = run, thread
        if self._outputs is not None:
            self._outputs.forget_ended(run)
        if self.watchers:
            for event in events:
                seq += 1
                self._publish(Recorded(seq, event))
        self.nudge()

    def show(self, turn: int, attempt: int, kind: Kind, text: str) -> None:
        """Some text arrived. What a stopped attempt still says is not shown: another may have begun."""
        run = self.run
        if run.turn != turn or run.attempt != attempt or run.cancel or run.ending:
            return
        said = self._said
        if said is None:
            said = self._said = Said(turn, attempt)
        self._say(said, kind, text)
        if self.elsewhere is not None:
            self.elsewhere.shown(self)

    def tell(self, action_id: ActionId, stream: str, text: str) -> None:
        """A tool at work shows something."""
        if text:
            output = Output(action_id, stream, text)
            self._outputs = self._outputs or Outputs()
            self._outputs.add(output)
            for watcher in self.watchers:
                watcher.overhear(output)

    def hear(self, piece: Piece) -> bool:
        """A piece of an answer that another process receives. False where something before it is missing.

        It may come at any time, and more than once. What is not of the call under way is in the journal, or will be.
        """
        run = self.run
        is_due = run.asked and (run.turn, run.attempt) == (piece.turn, piece.attempt)
        if not is_due or self.driving or run.cancel or run.ending:
            return True
        said = self._said or Said(piece.turn, piece.attempt)
        known = said.length - piece.place
        if known < 0:
            return False
        if known < len(piece.text):
            self._said = said
            self._say(said, piece.kind, piece.text[known:])
        return True

    @property
    def said(self) -> Said | None:
        """The open turn's text so far, where there is any."""
        return self._said

    def join(self, watcher: Watcher) -> None:
        """One more who watches, until `leave`."""
        self.watchers.append(watcher)
        if self.closed:
            watcher.close()
        if self.elsewhere is not None:
            self.elsewhere.moved(self)

    def leave(self, watcher: Watcher) -> None:
        self.watchers.remove(watcher)
        if self.elsewhere is not None:
            self.elsewhere.moved(self)

    def shown(self) -> list[Delta]:
        """The open turn's text so far."""
        return self._said.between(0, self._said.length) if self._said else []

    def told_by_tools(self) -> list[Output]:
        """The end of what the tools at work have shown so far."""
        return list(self._outputs or ())

    def close(self) -> None:
        """Whoever waits or watches here must look elsewhere."""
        self.closed = True
        for watcher in self.watchers:
            watcher.close()
        self._wake_all()

    async def wait_moved(self, beyond: int) -> None:
        """Return when the head has a higher version, or its driver has left. Raises Draining when nothing will come."""
        if self.closed:
            raise Draining("this process is stopping; ask another about the run")
        if self.run.version <= beyond:
            moved = asyncio.get_running_loop().create_future()
            self._waiting.append(moved)
            await moved

    async def wait_left(self, beyond: int) -> None:
        """Return when the driver that is here has left, or else when the head has moved. Raises Draining."""
        if self.driving and self.run.is_open and not self.closed:
            left = asyncio.get_running_loop().create_future()
            self._patient.append(left)
            await left
        else:
            await self.wait_moved(beyond)

    def nudge(self) -> None:
        """Let those who wait look again."""
        self.on_move()
        self._wake_all()
        if self.watchers and self.elsewhere is not None:
            self.elsewhere.moved(self)

    def _wake_all(self) -> None:
        if self._waiting:
            self._waiting = _woken(self._waiting)
        if self._patient and not (self.driving and self.run.is_open and not self.closed):
            self._patient = _woken(self._patient)

    def _say(self, said: Said, kind: Kind, text: str) -> None:
        delta = said.add(kind, text)
        for watcher in self.watchers:
            watcher.hear(delta, said)

    def _publish(self, item: Item) -> None:
        for watcher in self.watchers:
            watcher.put(item)


def _asked_again(said: Said, events: Sequence[Event]) -> ModelCalled | None:
    """The call that takes the place of the one whose text was shown, if there is one among these facts."""
    for event in reversed(events):
        if isinstance(event, ModelCalled) and event.turn == said.turn and event.attempt > said.attempt:
            return event
    return None


def _woken(waiting: list[asyncio.Future[None]]) -> list[asyncio.Future[None]]:
    for future in waiting:
        if not future.done():
            future.set_result(None)
    return []


def do_nothing() -> None:
    pass
