"""Who watches, and who gives them something to see: a viewer in a task of its own, and a model that waits for words."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

from tests.waiting import HANG_SECONDS, until

from pollux.core.ids import RunId
from pollux.core.messages import Message, Text
from pollux.core.run import Run
from pollux.engine.engine import Engine
from pollux.engine.feed import Delta, Item, TurnRestarted
from pollux.engine.model import Done, ModelEvent, ModelRequest, TextDelta, ThoughtDelta
from pollux.engine.ports import Recorded
from pollux.providers.scripted import ScriptedProvider


class Speaker(ScriptedProvider):
    """Speaks a word whenever it is given one, and ends when there are no more."""

    def __init__(self) -> None:
        super().__init__(name="speaker")
        self.words: asyncio.Queue[ModelEvent | None] = asyncio.Queue()

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        said = ""
        while (word := await self.words.get()) is not None:
            said += word.text if isinstance(word, TextDelta) else ""
            yield word
        yield Done("end", Message("assistant", (Text(said),)))

    def say(self, *words: str) -> None:
        for word in words:
            self.words.put_nowait(TextDelta(word))

    def think(self, word: str) -> None:
        self.words.put_nowait(ThoughtDelta(word))

    def end(self) -> None:
        self.words.put_nowait(None)


def seqs(items: Sequence[Item]) -> list[int]:
    return [item.seq for item in items if isinstance(item, Recorded)]


def text(items: Sequence[Item], kind: str = "text") -> str:
    """What is left on a viewer's screen. Fails where an offset does not continue what was shown."""
    shown = ""
    for item in items:
        if isinstance(item, TurnRestarted):
            shown = ""
        elif isinstance(item, Delta) and item.kind == kind:
            assert item.offset == len(shown), (item, shown)
            shown += item.text
    return shown


async def seated(engine: Engine, watchers: int) -> None:
    """Wait until so many watchers have read what there was, and wait for what comes."""

    def are_waiting() -> bool:
        places: list[Any] = [watcher for feed in vars(engine)["_ledger"].feeds for watcher in feed.watchers]
        return sum(place._waiter is not None for place in places) == watchers

    await until(are_waiting)


class Viewer:
    """A watcher in a task of its own."""

    def __init__(self, engine: Engine, run: Run, after: int = 0) -> None:
        self.items: list[Item] = []
        self._news = asyncio.Event()
        self.task = asyncio.create_task(self._watch(engine, run.id, after))

    async def _watch(self, engine: Engine, run_id: RunId, after: int) -> None:
        async for item in engine.watch(run_id, after=after):
            self.items.append(item)
            self._news.set()

    async def shows(self, wanted: str) -> None:
        async with asyncio.timeout(HANG_SECONDS):
            while text(self.items) != wanted:
                self._news.clear()
                await self._news.wait()

    async def end(self) -> list[Item]:
        async with asyncio.timeout(HANG_SECONDS):
            await self.task
        return self.items
