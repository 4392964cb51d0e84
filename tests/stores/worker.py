"""A process of its own that writes to a store, for the tests that need several, or need to kill one.

python worker.py commit PLACE PREFIX COUNT   write COUNT runs, and say `kept RUN` after each that was acknowledged
python worker.py hold PLACE                  enlist as a driver, say `driver NAME`, and wait
"""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

from pollux.core.errors import Conflict, StoreError
from pollux.stores.filelock import FileLock
from pollux.stores.sqlite import SqliteStore
from pollux.testing.store_lab import Story, tell_all


def store_at(place: Path) -> SqliteStore:
    return SqliteStore(place / "pollux.db", key=b"k" * 32, heads=place / "heads.jsonl")


async def commit(place: Path, prefix: str, count: int) -> None:
    # Many wait for a slow disk here. That waiting has an end is another test's.
    FileLock.__init__.__kwdefaults__ = {"wait": 1000.0}
    store = store_at(place)
    await _patiently(store.open)
    for number in range(count):
        story = Story(f"{prefix}{number}")
        await _patiently(lambda story=story: story.start(store, "words " * 20))
        print("kept", story.run_id, flush=True)
        if number % 10 == 9:
            await _patiently(lambda number=number: tell_all(store, Story(f"{prefix}-told-{number}")))
    await store.close()
    print("done", flush=True)


async def hold(place: Path) -> None:
    store = store_at(place)
    await store.open()
    print("driver", store.enlist(), flush=True)
    await asyncio.Event().wait()


async def _patiently(work: Callable[[], Awaitable[object]]) -> None:
    """Try again when the store says no, for as long as the test waits.

    What it refused but kept all the same shows as a conflict.
    """
    while True:
        try:
            await work()
        except StoreError as refusal:
            print("refused", refusal, flush=True)
            await asyncio.sleep(0.01)
        except Conflict:
            return
        else:
            return


if __name__ == "__main__":
    command, place, *rest = sys.argv[1:]
    if command == "commit":
        asyncio.run(commit(Path(place), rest[0], int(rest[1])))
    else:
        asyncio.run(hold(Path(place)))
