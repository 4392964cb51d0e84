"""Follow one run: what is in the journal, the open turn's text so far, then everything as it happens."""

from collections.abc import AsyncIterator

from pollux.core.events import RunCancelled, RunCompleted, RunFailed
from pollux.engine.feed import Feed, Item, Watcher
from pollux.engine.ports import Recorded, Store

_ENDINGS = (RunCompleted, RunFailed, RunCancelled)


async def watch_feed(feed: Feed, store: Store, after: int) -> AsyncIterator[Item]:
    """Every item once and in order, without a gap, until the run has ended."""
    watcher = Watcher()
    # Subscribed before the journal is read: what is committed meanwhile comes twice and is dropped by its number.
    feed.watchers.append(watcher)
    shown = feed.shown()
    try:
        seen = after
        for record in await store.journal(feed.run.id, after):
            yield record
            seen = record.seq
            if isinstance(record.event, _ENDINGS):
                return
        for delta in shown:
            yield delta
        while True:
            for item in await watcher.take():
                if type(item) is Recorded:
                    if item.seq <= seen:
                        continue
                    seen = item.seq
                    yield item
                    if isinstance(item.event, _ENDINGS):
                        return
                else:
                    yield item
    finally:
        feed.watchers.remove(watcher)
