"""A world that counts, and agents that change it: what a restored store must not do a second time."""

import asyncio
import random
import shutil
import sqlite3
import subprocess
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, closing
from itertools import count
from pathlib import Path
from typing import Any, Protocol

import psycopg
from tests.engine.builders import ADA, KEY, FakeTool
from tests.waiting import HANG_SECONDS, until

from pollux.bootstrap import make_engine
from pollux.core.errors import Misfit
from pollux.core.messages import JSON
from pollux.core.policy import Rule
from pollux.core.run import Run
from pollux.core.tools import Reconciled, ToolContext
from pollux.engine.engine import Engine, Start
from pollux.engine.model import ModelRequest
from pollux.engine.ports import Store
from pollux.engine.queries import Question
from pollux.providers.scripted import Answer, ScriptedProvider, call, reply
from pollux.stores.filelock import FileLock
from pollux.stores.postgres.store import PostgresStore
from pollux.stores.sqlite import SqliteStore

SCHEMA: Mapping[str, JSON] = {"type": "object", "properties": {"body": {"type": "string"}}}
KINDS = ("once", "keyed", "checkable")
ALLOWED = tuple(Rule("allow", tool=f"free_{kind}", tier="user", priority=900) for kind in KINDS)


class World:
    """What has really happened, outside of every store."""

    def __init__(self) -> None:
        self.done: Counter[str] = Counter()
        self.looks = 0
        self.moment: Callable[[], Awaitable[None]] = _nothing
        """Called before and after each effect."""

    def tools(self) -> list[FakeTool]:
        """One that asks and one that is allowed, of each repeat class."""
        return [_Act(f"{way}_{kind}", self, kind) for way in ("ask", "free") for kind in KINDS]


class _Act(FakeTool):
    """Counts an effect by what it was asked for."""

    def __init__(self, name: str, world: World, kind: Any) -> None:
        super().__init__(name, schema=SCHEMA, side_effect=True, repeat=kind)
        self._world = world

    async def run(self, context: ToolContext, args: dict[str, JSON]) -> object:
        await self._world.moment()
        self._world.done[str(args["body"])] += 1
        await self._world.moment()
        return "done"

    async def reconcile(self, context: ToolContext, args: dict[str, JSON]) -> Reconciled:
        self._world.looks += 1
        return Reconciled("done" if self._world.done[str(args["body"])] else "not_done")


async def _plan(request: ModelRequest) -> Answer:
    """Two effects for each prompt, one after the other: `3 once` acts asked as 3a, then freely as 3b."""
    turns = list(request.turns)
    answered = sum(message.role == "tool" for message in turns)
    number, kind = turns[0].text.split()
    if answered == 2:
        return reply("done")
    return call(f"{('ask', 'free')[answered]}_{kind}", {"body": f"{number}{'ab'[answered]}"})


@asynccontextmanager
async def running(store: Store, world: World) -> AsyncGenerator[Engine]:
    provider = ScriptedProvider(*[_plan] * 1_000)
    async with make_engine(store, lambda model: provider, tools=world.tools(), rules=ALLOWED) as engine:
        yield engine


class Site(Protocol):
    """A store that can be backed up and put back."""

    def store(self) -> Store: ...
    def back_up(self, number: int) -> None: ...
    def restore(self, number: int) -> None: ...


class Files:
    """A SQLite store in a folder, with its heads. How a backup is taken and put back differs by its number."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "home"
        self.folder.mkdir()
        self.path, self.heads = self.folder / "pollux.db", self.folder / "audit-heads.jsonl"
        self._backups = folder / "backups"

    def store(self) -> Store:
        return SqliteStore(self.path, key=KEY, heads=self.heads)

    def back_up(self, number: int) -> None:
        place = self._backups / str(number)
        place.mkdir(parents=True)
        # Of a folder that is being written to, a snapshot of the file system is a backup: here nobody writes meanwhile.
        with FileLock(self.folder / "pollux.db.lock"):
            shutil.copy(self.heads, place)
            match number % 3:
                case 0:
                    for name in ("pollux.db", "pollux.db-wal"):
                        # Through a process of its own: to close the file here would give up our locks on it.
                        subprocess.run(["cp", str(self.folder / name), str(place)], check=True)
                case 1:
                    with (
                        closing(sqlite3.connect(self.path)) as here,
                        closing(sqlite3.connect(place / "pollux.db")) as there,
                    ):
                        here.backup(there)
                case _:
                    with closing(sqlite3.connect(self.path)) as here:
                        here.execute("VACUUM INTO ?", (str(place / "pollux.db"),))

    def restore(self, number: int) -> None:
        place = self._backups / str(number)
        if number % 2:
            # The whole folder, heads and all.
            for path in self.folder.glob("*"):
                shutil.rmtree(path) if path.is_dir() else path.unlink()
            shutil.copytree(place, self.folder, dirs_exist_ok=True)
            return
        for name in ("pollux.db-wal", "pollux.db-shm"):
            (self.folder / name).unlink(missing_ok=True)
        for path in place.glob("pollux.db*"):
            # Over what is there: the file stays the same one.
            shutil.copyfile(path, self.folder / path.name)


class Database:
    """A PostgreSQL store, dumped under load and put back into the same database."""

    def __init__(self, url: str, folder: Path) -> None:
        self._url = url
        # Walls are down for nobody else.
        self._owner = url.replace("//pollux@", "//postgres@")
        self._folder = folder
        self.heads = folder / "heads.jsonl"

    def store(self) -> Store:
        return PostgresStore(self._url, key=KEY, heads=self.heads)

    def back_up(self, number: int) -> None:
        dump = ["pg_dump", "--format=custom", "--schema=pollux", f"--file={self._folder}/{number}.dump", self._owner]
        subprocess.run(dump, check=True, capture_output=True)

    def restore(self, number: int) -> None:
        with psycopg.connect(self._url, autocommit=True) as db:
            db.execute("DROP SCHEMA pollux CASCADE")
        put = ["pg_restore", "--exit-on-error", f"--dbname={self._owner}", f"{self._folder}/{number}.dump"]
        subprocess.run(put, check=True, capture_output=True)
        if number % 2:
            # As after a recovery to a moment: server, database and tables are the same, only earlier.
            with psycopg.connect(self._url, autocommit=True) as db:
                db.execute("DELETE FROM pollux.meta WHERE name = 'place'")


async def load(site: Site, world: World, *, runs: int, backups: int, seed: int) -> None:
    """Runs that act, with backups taken at random moments; in the end everything has happened once."""
    chance = random.Random(seed)
    # Each run is a moment when it was accepted, and before and after each of its effects.
    moments, passed, turn = sorted(chance.sample(range(5 * runs), backups)), count(), asyncio.Lock()
    taken = count()

    async def take() -> None:
        async with turn:
            if next(passed) in moments:
                # Beside the load, not instead of it.
                await asyncio.to_thread(site.back_up, next(taken))

    world.moment = take
    async with running(site.store(), world) as engine, asyncio.timeout(2 * HANG_SECONDS), asyncio.TaskGroup() as tasks:
        tasks.create_task(_answer_all(engine, runs))
        for number in range(runs):
            await engine.start(Start(f"{number} {KINDS[number % 3]}", user=ADA))
            await take()
    world.moment = _nothing
    assert next(taken) == backups
    assert world.done == Counter({f"{number}{which}": 1 for number in range(runs) for which in "ab"})


async def _nothing() -> None:
    pass


async def _answer_all(engine: Engine, runs: int) -> None:
    ended = 0
    while ended < runs:
        for row in await engine.queries.approvals(ADA, limit=100):
            try:
                await engine.resolve(question_of(row), "approved", by="ada")
            except Misfit:
                continue
        rows = await engine.queries.runs(ADA, limit=1_000)
        ended = sum(row.status == "completed" for row in rows)
        await asyncio.sleep(0.005)


def question_of(found: Question) -> str:
    """The approval that is asked for."""
    assert found.action.approval
    return found.action.approval.id


async def settled(engine: Engine) -> list[Run]:
    """Every run, once nobody but a person can move any of them."""

    async def rested() -> list[Run] | None:
        # As a server does: a driver of the backup may look alive for a while.
        await engine.recover()
        rows = await engine.queries.runs(ADA, limit=1_000)
        runs = [await engine.queries.run(row.run_id) for row in rows]
        return runs if all(run.ending or run.approvals for run in runs) else None

    return await until(rested) or []
