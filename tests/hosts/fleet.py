"""Servers and workers on one PostgreSQL, each `pollux serve` or `pollux worker` in a process of its own.

Everything is bounded, and whoever is still there when a fleet ends is killed by its pid.
"""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path
from typing import Literal, TypeVar

import aiohttp
import psycopg
from tests import waiting
from tests.crash.lab import REPOSITORY
from tests.hosts.world import KINDS, PLACE, World
from tests.http.site import Person
from tests.waiting import HANG_SECONDS

from pollux.emulator import run_emulator
from pollux.stores.postgres.store import PostgresStore

Kind = Literal["serve", "worker"]
PATIENCE = 2 * HANG_SECONDS
POLL_SECONDS = 0.02
USERS = ("ada", "bob", "cleo", "dan", "eve", "finn", "gus", "hana")
CONFIG = """
[serve]
requests_per_minute = 1000000
burst = 100000
[profiles.default]
limits = { model_calls = 100 }
"""
T = TypeVar("T")


def token_of(user: str) -> str:
    return f"token-of-{user}-0123456789"


class Member:
    """One process of a fleet."""

    def __init__(self, kind: Kind, process: "subprocess.Popen[bytes]", log: Path) -> None:
        self.kind: Kind = kind
        self.popen = process
        self.log = log
        self.url = ""
        self.is_ready = False

    @property
    def pid(self) -> int:
        return self.popen.pid

    async def wait_ready(self) -> bool:
        """Whether it says that it is ready, rather than ends."""
        assert self.popen.stdout is not None
        line = await asyncio.wait_for(asyncio.to_thread(self.popen.stdout.readline), PATIENCE)
        if line:
            self.is_ready, self.url = True, json.loads(line).get("url", "")
        return self.is_ready

    def send(self, number: signal.Signals) -> None:
        self.popen.send_signal(number)

    async def kill(self) -> None:
        """As a crash does."""
        self.popen.kill()
        await self.wait()

    async def stop(self) -> int:
        """As an operator does; the result is the exit code."""
        self.send(signal.SIGTERM)
        return await self.wait()

    async def wait(self) -> int:
        code = await asyncio.to_thread(self.popen.wait, PATIENCE)
        if self.popen.stdout is not None:
            self.popen.stdout.close()
        return code

    def complaints(self) -> list[str]:
        """What it logged as a warning or worse."""
        lines = self.log.read_text(errors="replace").splitlines()
        return [line for line in lines if any(f" {level} " in line for level in ("WARNING", "ERROR", "CRITICAL"))]


class Fleet:
    """The processes, the world they act upon, and the people who talk to any of the servers."""

    def __init__(self, folder: Path, store: str, model: str, http: aiohttp.ClientSession) -> None:
        self.folder = folder
        self._http = http
        self.store = store
        self.world = World(folder / "outside")
        tools = "".join(f'[tools.{kind}]\nuse = "tests.hosts.world:TOOLS"\n' for kind in KINDS)
        (folder / "fleet.toml").write_text(f"{CONFIG}{tools}\n[page]\n")
        self._environ = {
            **{name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ},
            "HOME": str(folder),
            "POLLUX_HOME": str(folder / "home"),
            "POLLUX_STORE": store,
            "POLLUX_TOKENS": ",".join(f"{user}:{token_of(user)}" for user in USERS),
            "GEMINI_API_KEY": "k",
            "GOOGLE_GEMINI_BASE_URL": model,
            "PYTHONPATH": f"{REPOSITORY}/src:{REPOSITORY}",
            PLACE: str(self.world.directory),
        }
        self.members: list[Member] = []
        """Every one there ever was."""

    def launch(self, kind: Kind) -> Member:
        """A process that is on its way."""
        words = ["--port", "0"] if kind == "serve" else ["--concurrency", "20"]
        log = self.folder / f"{kind}-{len(self.members)}.log"
        with log.open("wb") as talk:
            process = subprocess.Popen(
                [sys.executable, "-m", "pollux.cli", kind, "--config", "fleet.toml", *words],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=talk, cwd=self.folder, env=self._environ,
            )  # fmt: skip
        self.members.append(Member(kind, process, log))
        return self.members[-1]

    async def start(self, *kinds: Kind) -> list[Member]:
        """These, at once and ready."""
        last = _last_worker(self.store)
        started = [self.launch(kind) for kind in kinds]
        for member in started:
            assert await member.wait_ready(), (await member.wait(), member.log.read_text())
        # A server that finds no worker takes jobs itself: those that are here must be known to be.
        await until(lambda: heard_workers(self.store, last) >= kinds.count("worker"))
        return started

    async def restart(self, member: Member) -> Member:
        """One in its place, as often as it takes: the database may be away."""
        async with asyncio.timeout(PATIENCE):
            while True:
                successor = self.launch(member.kind)
                if await successor.wait_ready():
                    return successor
                await successor.wait()

    def alive(self, kind: Kind) -> list[Member]:
        """Those that are there and were ready once."""
        return [each for each in self.members if each.kind == kind and each.is_ready and each.popen.poll() is None]

    def person(self, user: str, server: Member) -> Person:
        return Person(self._http, server.url, token_of(user))

    def member(self, pid: int | None) -> Member:
        return next(each for each in self.members if each.pid == pid)

    async def end(self) -> None:
        for member in self.members:
            if member.popen.poll() is None:
                await member.kill()


@asynccontextmanager
async def fleet(folder: Path, store: str) -> AsyncGenerator[Fleet]:
    """A fleet without members yet, on this database, with the emulator as its model."""
    # A connection for each request: a server closes one that was idle for a while, maybe just when it is used again.
    connector = aiohttp.TCPConnector(force_close=True)
    async with run_emulator() as model, aiohttp.ClientSession(connector=connector) as http:
        here = Fleet(folder, store, model.url, http)
        try:
            yield here
        finally:
            await here.end()


@asynccontextmanager
async def open_store(here: Fleet) -> AsyncGenerator[PostgresStore]:
    """The fleet's store, to be read by its judge."""
    store = PostgresStore(here.store, key=(here.folder / "home" / "audit.key").read_bytes(), connections=4)
    await store.open()
    try:
        yield store
    finally:
        await store.close()


async def until(is_so: Callable[[], T], seconds: float = PATIENCE) -> T:
    """What it is, once it is true."""
    return await waiting.until(is_so, seconds=seconds)


def heard_workers(store: str, since: datetime | int = 0) -> int:
    """How many processes that do nothing but work the queue knows: those numbered, or heard, after that."""
    wanted = "last_heartbeat > %s" if isinstance(since, datetime) else "id > %s"
    question = f"SELECT FROM pollux.procrastinate_workers WHERE NOT stands_in AND {wanted}"
    with psycopg.connect(store, autocommit=True) as db:
        return len(db.execute(question.encode(), (since,)).fetchall())


def _last_worker(store: str) -> int:
    with psycopg.connect(store, autocommit=True) as db:
        try:
            found = db.execute("SELECT coalesce(max(id), 0) FROM pollux.procrastinate_workers").fetchone()
        except psycopg.errors.UndefinedTable:
            # The first process of a fleet makes it.
            return 0
    return int(found[0]) if found else 0
