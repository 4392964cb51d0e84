"""Servers and workers on one PostgreSQL, each an engine with a store of its own, in this process."""

from collections.abc import Iterable, Sequence
from typing import Any

import psycopg

from pollux.core.tools import Tool
from pollux.dispatch.queue import dispatcher, jobs, statements, tending
from pollux.dispatch.queue.dispatcher import ProcrastinateDispatcher
from pollux.engine.engine import Engine
from pollux.engine.model import Provider
from pollux.engine.ports import Clock
from pollux.providers.scripted import ScriptedProvider
from pollux.stores.postgres.store import PostgresStore
from pollux.testing.clock import FakeClock

KEY = b"k" * 32
TAKEN_UP_SECONDS = statements.GONE_SECONDS + tending.TEND_SECONDS + dispatcher.AGAIN_SECONDS + jobs.POLL_SECONDS
"""All that another waits for before it goes on with a silent worker's run: until the silence counts, until it looks,
until it tries once more where the driver still seemed alive, and until it fetches the job."""


async def opened(
    url: str,
    clock: Clock,
    provider: Provider,
    tools: Iterable[Tool] = (),
    *,
    concurrency: int = 0,
    stands_in: bool = False,
) -> tuple[Engine, ProcrastinateDispatcher]:
    """One process of a deployment: a server, or with a concurrency a worker."""
    queue = ProcrastinateDispatcher(url, clock=clock, concurrency=concurrency, stands_in=stands_in)
    store = PostgresStore(url, key=KEY, connections=4, beside=queue.beside)
    engine = Engine(store=store, providers=lambda model: provider, tools=tools, clock=clock, dispatcher=queue)
    await engine.__aenter__()
    return engine, queue


class QueueHouse:
    """One server and one worker."""

    def __init__(
        self, door: Engine, dispatcher: ProcrastinateDispatcher, worker: Engine, taking: ProcrastinateDispatcher
    ) -> None:
        self.door = door
        self.dispatcher = dispatcher
        self.worker = worker
        self.taking = taking
        self._is_open = True

    async def close(self) -> None:
        if self._is_open:
            self._is_open = False
            await self.worker.close()
            await self.door.close()


class QueueLab:
    def __init__(self, url: str) -> None:
        self.url = url
        self.clock = FakeClock()
        self.houses: list[QueueHouse] = []

    async def open(self, provider: ScriptedProvider, tools: Sequence[Tool] = ()) -> QueueHouse:
        door = await opened(self.url, self.clock, provider, tools)
        worker = await opened(self.url, self.clock, provider, tools, concurrency=50)
        self.houses.append(QueueHouse(*door, *worker))
        return self.houses[-1]

    async def close(self) -> None:
        for house in self.houses:
            await house.close()


def rows(url: str, table: str = "procrastinate_jobs") -> list[tuple[Any, ...]]:
    """What lies in a table of the queue."""
    with psycopg.connect(url, autocommit=True) as db:
        return db.execute(f"SELECT * FROM pollux.{table}".encode()).fetchall()
