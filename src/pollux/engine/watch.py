"""Follow one run: what is in the journal, the open turn's text so far, then everything as it happens."""

from collections.abc import AsyncIterator

from pollux.core.events import ModelReplied, RunCancelled, RunCompleted, RunFailed
from pollux.engine.feed import Feed, Item, Watcher
from pollux.engine.ports import Recorded, Store

_ENDINGS = (RunCompleted, RunFailed, RunCancelled)


async def watch_feed(feed: Feed, store: Store, after: int) -> AsyncIterator[Item]:
    """Every item once and in order, without a gap, until the run has ended."""
    records = list(await store.journal(feed.run.id, after))
    while (seen := records[-1].seq if records else after) < feed.run.version:
        records.extend(await store.journal(feed.run.id, seen))
    is_over = feed.run.ending is not None
    # Nothing is waited for between that look, the text so far and the subscription: they are of one moment.
    watcher = Watcher()
    # The journal may be ahead of the feed by a commit: what a reply in it says is not said once more.
    replied = {(each.event.turn, each.event.attempt) for each in records if isinstance(each.event, ModelReplied)}
    shown = [delta for delta in feed.shown() if (delta.turn, delta.attempt) not in replied]
    past: list[Item] = [*records, *shown]
    feed.watchers.append(watcher)
    try:
        for item in past:
            yield item
            if _is_ending(item):
                return
        if is_over:
            return
        while True:
            for item in await watcher.take():
                if type(item) is Recorded:
                    if item.seq <= seen and not _is_ending(item):
                        # Another process wrote it, and the journal was read before it was heard of here. The end is
                        # told even to those who say that they have seen more than there is.
                        continue
                    seen = item.seq
                yield item
                if _is_ending(item):
                    return
    finally:
        feed.watchers.remove(watcher)


def _is_ending(item: Item) -> bool:
    return type(item) is Recorded and isinstance(item.event, _ENDINGS)
