"""The one way a fact reaches a run: judged by the machine, written by the store, told to those who watch.

On a conflict the run is read again and the machine judges anew. A conflict is not "somebody else owns it": a finished
tool's result must find its place behind whatever came first.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable

from pollux.core.errors import Conflict, Draining, NotFound
from pollux.core.events import Event
from pollux.core.ids import RunId, ThreadId
from pollux.core.machine import step
from pollux.core.run import Run
from pollux.core.thread import Thread, ThreadEvent
from pollux.engine.change import change_of
from pollux.engine.feed import Feed
from pollux.engine.model import Turns
from pollux.engine.patience import patiently
from pollux.engine.ports import Store

Facts = Callable[[Run], Awaitable[Iterable[Event]]]
"""The facts to record, given the run as it is. Asked again after a conflict."""

Follow = Callable[[Run], Awaitable[Event | None]]
"""What follows at once from a run's state, one fact at a time, to be written in the same transaction."""

REMEMBERED_THREADS = 256


class Ledger:
    """Every run that is driven or watched in this process, and the way to record facts about them."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._feeds: dict[RunId, Feed] = {}
        self._turns: dict[ThreadId, tuple[int, Turns]] = {}
        self._in_use = asyncio.Event()
        self.is_closed = False
        """The engine is gone: what an abandoned tool still says cannot be written here any more."""

    @property
    def feeds(self) -> list[Feed]:
        """The runs that somebody here drives or watches."""
        return list(self._feeds.values())

    def is_driven(self, run_id: RunId) -> bool:
        """Whether a driver is at it here."""
        feed = self._feeds.get(run_id)
        return feed is not None and feed.driving

    async def begin(
        self, first: Iterable[Event], follow: Follow, *, thread: Thread, thread_events: tuple[ThreadEvent, ...]
    ) -> Feed:
        """A new run. Raises ThreadBusy or Conflict when its thread has moved on."""
        run, events = await _compose(None, first, follow)
        change = change_of(None, run, events, thread=thread, thread_events=thread_events)
        await self.store.commit(change)
        # Somebody may have read it from the store and be waiting already: there is only one feed.
        feed = self._feeds.get(run.id) or Feed(run, change.thread or thread)
        if feed.turns is None and feed.run.version == run.version:
            feed.turns = self._take_turns(run)
        self.keep(feed)
        return feed

    async def acquire(self, run_id: RunId) -> Feed:
        """The run's feed, kept until `release`. Raises NotFound."""
        feed = self._feeds.get(run_id)
        if feed is None:
            run = await self.store.run(run_id)
            thread = await self.store.thread(run.thread_id) if run else None
            if run is None or thread is None:
                raise NotFound(f"there is no run {run_id!r}")
            # While it was being read, another task may have made the feed: there is only one.
            feed = self._feeds.get(run_id) or Feed(run, thread)
        self.keep(feed)
        return feed

    def keep(self, feed: Feed) -> None:
        """One more who needs the feed, until `release`."""
        feed.users += 1
        self._feeds[feed.run.id] = feed
        self._in_use.set()

    def release(self, feed: Feed) -> None:
        """The counterpart of `acquire`, `begin` and `keep`."""
        feed.users -= 1
        if feed.users > 0:
            return
        self._feeds.pop(feed.run.id, None)
        if feed.turns is not None and feed.run.compressed is None:
            self._turns[feed.run.thread_id] = (feed.run.head + len(feed.run.messages), feed.turns)
            while len(self._turns) > REMEMBERED_THREADS:
                self._turns.pop(next(iter(self._turns)))
        if not self._feeds:
            self._in_use.clear()

    async def append(self, feed: Feed, facts: Facts, follow: Follow) -> Run:
        """Record facts and what follows from them. Raises Misfit where they do not fit, StoreError when not written."""
        async with feed.lock:
            while not self.is_closed:
                before = feed.run
                run, events = await _compose(before, await facts(before), follow)
                if not events:
                    return before
                change = change_of(before, run, events, thread=feed.thread)
                try:
                    await self.store.commit(change)
                except Conflict:
                    await self._refresh(feed)
                    continue
                feed.advance(run, events, change.thread or feed.thread)
                return run
        raise Draining("this process has stopped; the fact can only be told to another")

    async def follow_others(self) -> None:
        """Bring in what other processes write, as long as anybody here cares. Runs until cancelled."""
        while True:
            await self._in_use.wait()
            await patiently(self._bring_in)

    async def _bring_in(self) -> None:
        await self.store.changed_elsewhere()
        versions = await self.store.versions(list(self._feeds))
        for run_id, version in versions.items():
            feed = self._feeds.get(run_id)
            if feed is not None and version > feed.run.version:
                async with feed.lock:
                    await self._refresh(feed)

    async def _refresh(self, feed: Feed) -> None:
        records = await self.store.journal(feed.run.id, feed.run.version)
        run = feed.run
        for record in records:
            run = step(run, record.event)
        thread = await self.store.thread(run.thread_id)
        feed.advance(run, [record.event for record in records], thread or feed.thread)

    def _take_turns(self, run: Run) -> Turns | None:
        """The thread's turns as its last run left them, if nothing was said since."""
        known = self._turns.pop(run.thread_id, None)
        if run.head == 0:
            return Turns(run.messages)
        if known is None or known[0] != run.head or run.compressed is not None:
            return None
        turns = known[1]
        turns.extend(run.messages)
        return turns


async def _compose(before: Run | None, facts: Iterable[Event], follow: Follow) -> tuple[Run, tuple[Event, ...]]:
    run, events = before, list[Event]()
    for fact in facts:
        run = step(run, fact)
        events.append(fact)
    assert run is not None
    while (fact := await follow(run)) is not None:
        run = step(run, fact)
        events.append(fact)
    return run, tuple(events)
