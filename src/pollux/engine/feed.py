"""What happens to one run, for those who are here: its head, its facts and the text on its way.

Deltas are shown and never stored. A watcher that comes late gets the open turn's text so far.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from pollux.core.errors import Draining
from pollux.core.events import Event, ModelCalled
from pollux.core.run import Run
from pollux.core.thread import Thread
from pollux.engine.model import Turns
from pollux.engine.ports import Recorded


@dataclass(frozen=True, slots=True)
class Delta:
    """Text on its way. `offset` counts the characters of that kind before it in this attempt."""

    turn: int
    attempt: int
    offset: int
    kind: Literal["text", "thought"]
    text: str


@dataclass(frozen=True, slots=True)
class TurnRestarted:
    """The answer begins anew: drop what you showed of this turn."""

    turn: int
    attempt: int


Item = Recorded | Delta | TurnRestarted

BACKLOG = 256
"""How many items a slow watcher may lag behind before its deltas are joined."""
JOINED = 65_536
"""How long a joined delta may grow: joining without end would cost the square of the answer's length."""


class Watcher:
    """One reader's place in the feed."""

    __slots__ = ("_closed", "_items", "_waiter")

    def __init__(self) -> None:
        self._closed = False
        self._items: list[Item] = []
        self._waiter: asyncio.Future[None] | None = None

    def put(self, item: Item) -> None:
        items = self._items
        if len(items) > BACKLOG and isinstance(item, Delta) and _continues(items[-1], item):
            # Bounded by the answer's length: a reader that stalls costs text, not objects.
            last = items[-1]
            assert isinstance(last, Delta)
            items[-1] = Delta(last.turn, last.attempt, last.offset, last.kind, last.text + item.text)
            return
        items.append(item)
        self._wake()

    def close(self) -> None:
        """Nothing more will come from here."""
        self._closed = True
        self._wake()

    def _wake(self) -> None:
        waiter = self._waiter
        if waiter is not None and not waiter.done():
            waiter.set_result(None)

    async def take(self) -> list[Item]:
        """Everything since the last time, waiting for the first."""
        if not self._items and not self._closed:
            self._waiter = asyncio.get_running_loop().create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None
        items, self._items = self._items, []
        if not items:
            raise Draining("this process is stopping; watch the run from another")
        return items


def _continues(last: Item, item: Delta) -> bool:
    return (
        isinstance(last, Delta)
        and len(last.text) < JOINED
        and (last.turn, last.attempt, last.kind) == (item.turn, item.attempt, item.kind)
    )


class Feed:
    """One run as this process knows it. Kept while somebody drives or watches it."""

    __slots__ = (
        "_lengths",
        "_patient",
        "_shown",
        "_waiting",
        "closed",
        "driving",
        "live",
        "lock",
        "on_move",
        "run",
        "thread",
        "turns",
        "users",
        "watchers",
    )

    def __init__(self, run: Run, thread: Thread) -> None:
        self.run = run
        self.thread = thread
        self.turns: Turns | None = None
        self.closed = False
        self.driving = False
        self.live = False
        """Whether somebody asked to see text as it arrives."""
        self.on_move: Callable[[], None] = do_nothing
        self.users = 0
        self.lock = asyncio.Lock()
        self.watchers: list[Watcher] = []
        self._shown: list[Delta] = []
        self._lengths = {"text": 0, "thought": 0}
        self._waiting: list[asyncio.Future[None]] = []
        self._patient: list[asyncio.Future[None]] = []

    def advance(self, run: Run, events: Sequence[Event], thread: Thread) -> None:
        """The run has a new head."""
        seq = run.version - len(events)
        if run.compressed is not self.run.compressed:
            self.turns = None
        elif self.turns is not None:
            self.turns.extend(run.messages[len(self.run.messages) :])
        if self._shown and (again := self._asked_again(events)):
            self._forget_text()
            self._publish(TurnRestarted(again.turn, again.attempt))
        if run.turn != self.run.turn or run.ending or run.calls:
            # With calls to answer, the turn's text is in the journal: who comes now reads it there.
            self._forget_text()
        self.run, self.thread = run, thread
        if self.watchers:
            for event in events:
                seq += 1
                self._publish(Recorded(seq, event))
        self.nudge()

    def show(self, turn: int, attempt: int, kind: Literal["text", "thought"], text: str) -> None:
        """Some text arrived. What a stopped attempt still says is not shown: another may have begun."""
        run = self.run
        if run.turn != turn or run.attempt != attempt or run.cancel or run.ending:
            return
        delta = Delta(turn, attempt, self._lengths[kind], kind, text)
        self._lengths[kind] += len(text)
        self._shown.append(delta)
        for watcher in self.watchers:
            watcher.put(delta)

    def shown(self) -> list[Delta]:
        """The open turn's text so far."""
        return list(self._shown)

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

    def _wake_all(self) -> None:
        if self._waiting:
            self._waiting = _woken(self._waiting)
        if self._patient and not (self.driving and self.run.is_open and not self.closed):
            self._patient = _woken(self._patient)

    def _asked_again(self, events: Sequence[Event]) -> ModelCalled | None:
        """The call that takes the place of the one whose text was shown, if there is one among these facts."""
        shown = self._shown[-1]
        for event in reversed(events):
            if isinstance(event, ModelCalled) and event.turn == shown.turn and event.attempt > shown.attempt:
                return event
        return None

    def _publish(self, item: Item) -> None:
        for watcher in self.watchers:
            watcher.put(item)

    def _forget_text(self) -> None:
        self._shown = []
        self._lengths = {"text": 0, "thought": 0}


def _woken(waiting: list[asyncio.Future[None]]) -> list[asyncio.Future[None]]:
    for future in waiting:
        if not future.done():
            future.set_result(None)
    return []


def do_nothing() -> None:
    pass
