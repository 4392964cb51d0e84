"""A process of its own that writes to a PostgreSQL store, for the tests that need several, or need to kill one.

python postgres_worker.py commit URL PREFIX COUNT   write COUNT runs, and say `kept RUN` after each acknowledged one
python postgres_worker.py hold URL                  enlist as a driver, say `driver NAME`, and wait
python postgres_worker.py signal URL NAME WHEN      send itself a signal in a commit with audit: when all is `locked`,
                                                    or while it is `writing`
python postgres_worker.py migrate URL               kill itself at the end of the first migration, before its commit
"""

import asyncio
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from pollux.core.errors import Conflict, StoreError
from pollux.engine.ports import Change
from pollux.stores.postgres.address import Address
from pollux.stores.postgres.connections import connect
from pollux.stores.postgres.schema import MIGRATIONS, migrate
from pollux.stores.postgres.scopes import Statement
from pollux.stores.postgres.store import PostgresStore
from pollux.stores.postgres.writing import Beside
from pollux.testing.store_lab import Story, tell_all

KEY = b"k" * 32


def store_at(
    url: str, heads: Path | None = None, *, connections: int = 10, beside: Beside | None = None
) -> PostgresStore:
    return PostgresStore(url, key=KEY, heads=heads, connections=connections, beside=beside)


async def commit(url: str, prefix: str, count: int) -> None:
    store = store_at(url)
    await _patiently(store.open)
    for number in range(count):
        story = Story(f"{prefix}{number}")
        await _patiently(lambda story=story: story.start(store, "words " * 20))
        print("kept", story.run_id, flush=True)
        if number % 10 == 9:
            await _patiently(lambda number=number: tell_all(store, Story(f"{prefix}-told-{number}")))
    await store.close()
    print("done", flush=True)


async def hold(url: str) -> None:
    store = store_at(url)
    await store.open()
    print("driver", store.enlist(), flush=True)
    await asyncio.Event().wait()


class Strike(Sequence[object]):
    """The values of a statement; looking at them strikes."""

    def __init__(self, name: str) -> None:
        self._signal = signal.Signals[name]
        self._has_struck = False

    def now(self) -> None:
        if self._has_struck:
            return
        self._has_struck = True
        print("locked", flush=True)
        os.kill(os.getpid(), self._signal)

    def __len__(self) -> int:
        self.now()
        return 0

    def __getitem__(self, index: Any) -> Any:
        raise IndexError


async def in_the_middle(url: str, name: str, when: str) -> None:
    """Be struck between the two round trips, or when half of the second is sent. Either way nothing is written."""
    strike = Strike(name)

    def beside(change: Change) -> Sequence[Statement]:
        if not change.audit:
            return ()
        if when == "locked":
            strike.now()
            return ()
        return [(b"SELECT 1", strike)]

    store = store_at(url, beside=beside)
    await store.open()
    story = await Story("stopped").start(store)
    try:
        await story.ask(store)
    except StoreError as refusal:
        print("refused", refusal, flush=True)
    await store.close()


class Deadly(list[str]):
    """Statements of which the last has been executed when the process dies."""

    def __iter__(self) -> Iterator[str]:
        yield from super().__iter__()
        os.kill(os.getpid(), signal.SIGKILL)


def migrate_and_die(url: str) -> None:
    address = Address(url)
    migrate(connect(address), address, [Deadly(MIGRATIONS[0])])


async def _patiently(work: Callable[[], Awaitable[object]]) -> None:
    """Try again when the store says no, for as long as the test waits.

    What it refused but kept all the same shows as a conflict.
    """
    while True:
        try:
            await work()
        except StoreError as refusal:
            print("refused", refusal, flush=True)
            await asyncio.sleep(0.05)
        except Conflict:
            return
        else:
            return


if __name__ == "__main__":
    command, url, *rest = sys.argv[1:]
    if command == "commit":
        asyncio.run(commit(url, rest[0], int(rest[1])))
    elif command == "hold":
        asyncio.run(hold(url))
    elif command == "signal":
        asyncio.run(in_the_middle(url, *rest))
    else:
        migrate_and_die(url)
