"""Follow one run: what is in the journal, the open turn's text so far, then everything as it happens."""

from collections.abc import AsyncIterator

from pollux.core.events import ModelCalled, ModelReplied, RunCancelled, RunCompleted, RunFailed
from pollux.engine.feed import Delta, Feed, Item, Watcher
from pollux.engine.ports import Recorded, Store

_ENDINGS = (RunCompleted, RunFailed, RunCancelled)


async def watch_feed(feed: Feed, store: Store, after: int) -> AsyncIterator[Item]:
    """Every item once and in order, without a gap, until the run has ended."""
    watcher = Watcher()
    # First of all: where another process drives the run, it takes a moment until its text arrives.
    feed.join(watcher)
    try:
        records = list(await store.journal(feed.run.id, after))
        while (seen := records[-1].seq if records else after) < feed.run.version:
            records.extend(await store.journal(feed.run.id, seen))
        is_over = feed.run.ending is not None
        # Nothing is waited for between that look and the text so far: they are of one moment. What came before is in
        # them.
        watcher.clear()
        past = _Past(feed.run.version, after)
        # Who was here before has heard what tools showed then, and could not tell it from what is new.
        for item in (*records, *feed.shown(), *(feed.told_by_tools() if after == 0 else ())):
            if past.is_news(item):
                yield item
            if _is_ending(item):
                return
        if is_over:
            return
        while True:
            for item in await watcher.take():
                is_news = past.is_news(item)
                if type(item) is Recorded:
                    if item.seq <= seen and not _is_ending(item):
                        # Another process wrote it, and the journal was read before it was heard of here. The end is
                        # told even to those who say that they have seen more than there is.
                        continue
                    seen = item.seq
                if is_news:
                    yield item
                if _is_ending(item):
                    return
    finally:
        feed.leave(watcher)


class _Past:
    """Which calls of the model are over for this reader. The journal, or what was read of it before, may be ahead of
    the feed: what a reply there says, or another call took back, is not said once more."""

    def __init__(self, version: int, after: int) -> None:
        self._version = version
        self._after = after
        self._over = (0, 0)

    def is_news(self, item: Item) -> bool:
        """Whether to tell it; to be asked about everything, in order."""
        if isinstance(item, Delta):
            return self._version >= self._after and (item.turn, item.attempt) > self._over
        if isinstance(item, Recorded):
            event = item.event
            self._version = max(self._version, item.seq)
            if isinstance(event, ModelReplied):
                self._over = max(self._over, (event.turn, event.attempt))
            elif isinstance(event, ModelCalled):
                # Whatever came before it, and nothing of its own.
                self._over = max(self._over, (event.turn, event.attempt - 1))
        return True


def _is_ending(item: Item) -> bool:
    return type(item) is Recorded and isinstance(item.event, _ENDINGS)
