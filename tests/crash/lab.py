"""Processes to be killed, places for them to work in, and the tracer that kills them inside a system call.

Everything is bounded: whoever is still there when a lab closes is killed by its pid.
"""

import asyncio
import contextlib
import itertools
import json
import os
import shutil
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from signal import SIGKILL, SIGSTOP, Signals
from typing import Any, Literal

from tests.crash.outside import Outside, Point
from tests.crash.worker import store_of
from tests.stores.postgres import fresh_database
from tests.waiting import HANG_SECONDS

from pollux.stores.postgres.store import PostgresStore
from pollux.stores.sqlite import SqliteStore

REPOSITORY = Path(__file__).parent.parent.parent
Kind = Literal["sqlite", "postgres"]
PATIENCE = 3 * HANG_SECONDS
"""Longer than any process gives itself."""
STRACE = shutil.which("strace")


@dataclass(frozen=True)
class Trace:
    """What the tracer does to a process: `syscalls` by name, `number` as strace counts them, what happens then.

    It counts for each thread and each kind of call by itself. With a `file` of the home only calls on that file count.
    """

    syscalls: str
    number: str
    effect: str = "signal=SIGKILL"
    file: str = ""
    log: Path = Path(os.devnull)
    """Where the tracer tells of each call. Usually only what it does to the process counts."""


@dataclass
class Place:
    """A store's home, and the world outside of it."""

    home: Path
    outside: Outside
    url: str = ""
    """Of the PostgreSQL database in which its store is, if it is in one."""
    runs: dict[str, str] = field(default_factory=dict[str, str])
    """Every run that was planned here, with its story."""

    def store(self) -> SqliteStore | PostgresStore:
        return store_of(self.home, self.url)

    def touch(self, name: str) -> None:
        """Tell those who wait for this file."""
        (self.outside.directory / name).touch()

    @property
    def log(self) -> str:
        path = self.outside.directory / "log"
        return path.read_text(errors="replace") if path.exists() else ""


class Child:
    """One process. `code` is its exit code once it ended, negative for a signal."""

    def __init__(self, job: int, place: Place) -> None:
        self.job = job
        self._place = place
        loop = asyncio.get_running_loop()
        self.pid: asyncio.Future[int] = loop.create_future()
        self.ended: asyncio.Future[int] = loop.create_future()
        self.stopped = asyncio.Event()
        self.tracer: asyncio.subprocess.Process | None = None

    async def wait(self, seconds: float = PATIENCE) -> int:
        """How it ended."""
        async with asyncio.timeout(seconds):
            return await asyncio.shield(self.ended)

    async def wait_stopped(self) -> bool:
        """Whether it stopped, rather than ended."""
        stopping = asyncio.ensure_future(self.stopped.wait())
        await asyncio.wait({stopping, self.ended}, timeout=PATIENCE, return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        return self.stopped.is_set()

    def send(self, number: Signals) -> None:
        if not self.ended.done():
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid.result(), number)

    async def summary(self) -> dict[str, Any]:
        """What it had to say at its end. Raises AssertionError if it did not end well."""
        code = await self.wait()
        assert code == 0, f"process {self.pid.result()} ended with {code}\n{self._place.log[-4000:]}"
        return json.loads((self._place.outside.directory / f"summary-{self.job}.json").read_text())


class Lab:
    """Starts processes and knows what becomes of them."""

    def __init__(self, directory: Path, nursery: asyncio.subprocess.Process, kind: Kind = "sqlite") -> None:
        self._directory = directory
        self._kind = kind
        self._databases: dict[str, ExitStack] = {}
        self._nursery = nursery
        self._numbers = itertools.count(1)
        self._by_job: dict[int, Child] = {}
        self._by_pid: dict[int, Child] = {}
        self._tracers: set[asyncio.subprocess.Process] = set()

    def place(self, home: Path | None = None) -> Place:
        """A new place to work in."""
        directory = self._directory / f"place-{next(self._numbers)}"
        outside = directory / "outside"
        outside.mkdir(parents=True)
        home = home or directory / "home"
        home.mkdir(exist_ok=True)
        return Place(home, Outside(outside), self._database() if self._kind == "postgres" else "")

    def done(self, place: Place) -> None:
        """Nobody looks at this place any more."""
        if place.url:
            self._databases.pop(place.url).close()

    def _database(self) -> str:
        stack = ExitStack()
        url = stack.enter_context(fresh_database())
        self._databases[url] = stack
        return url

    async def spawn(
        self,
        mode: str,
        place: Place,
        runs: Mapping[str, str] | None = None,
        *,
        at: tuple[Point, int] | None = None,
        signal: int = SIGKILL,
        trace: Trace | None = None,
        **more: Any,
    ) -> Child:
        """A process for this job; `at` says where it signals itself, `trace` in which system call it is hit."""
        assert self._nursery.stdin is not None
        place.runs |= runs or {}
        number = next(self._numbers)
        fault = {"point": at[0], "number": at[1], "signal": signal} if at else {}
        if signal == SIGSTOP:
            fault["lock"] = f"{place.home}/pollux.db.lock"
        job = {
            "id": number,
            "mode": mode,
            "home": str(place.home),
            "outside": str(place.outside.directory),
            "url": place.url,
            "runs": dict(place.runs if runs is None else runs),
            "fault": fault,
            "traced": trace is not None,
            **more,
        }
        child = self._by_job[number] = Child(number, place)
        self._nursery.stdin.write(json.dumps(job).encode() + b"\n")
        async with asyncio.timeout(PATIENCE):
            await self._nursery.stdin.drain()
            pid = await child.pid
        if trace:
            child.tracer = await self._trace(pid, trace, place)
        return child

    async def finish(self, place: Place, **more: Any) -> dict[str, Any]:
        """Restart, recover, and see everything that was planned here end."""
        child = await self.spawn("recover", place, **more)
        return await child.summary()

    async def listen(self) -> None:
        """Take in what the nursery tells. Runs until it is gone."""
        assert self._nursery.stdout is not None
        async for line in self._nursery.stdout:
            match json.loads(line):
                case {"job": job, "pid": pid}:
                    self._by_pid[pid] = self._by_job.pop(job)
                    self._by_pid[pid].pid.set_result(pid)
                case {"stopped": pid}:
                    self._by_pid[pid].stopped.set()
                case {"ended": pid, "code": code}:
                    self._by_pid.pop(pid).ended.set_result(code)
                case other:
                    raise AssertionError(f"the nursery said {other}")

    async def close(self) -> None:
        for child in self._by_pid.values():
            child.send(SIGKILL)
        for tracer in self._tracers:
            if tracer.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    tracer.kill()
            await tracer.wait()
        self._nursery.kill()
        await self._nursery.wait()
        for stack in self._databases.values():
            stack.close()

    async def _trace(self, pid: int, trace: Trace, place: Place) -> asyncio.subprocess.Process:
        assert STRACE is not None
        inject = f"inject={trace.syscalls}:{trace.effect}:when={trace.number}"
        self._tracers = {tracer for tracer in self._tracers if tracer.returncode is None}
        only = ["-P", str((place.home / trace.file).resolve())] if trace.file else []
        tracer = await asyncio.create_subprocess_exec(
            STRACE, "-f", "-qq", "-y", "-o", str(trace.log), *only,
            "-e", f"trace={trace.syscalls}", "-e", "signal=none", "-e", inject, "-p", str(pid),
            stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL,
        )  # fmt: skip
        self._tracers.add(tracer)
        return tracer


@asynccontextmanager
async def running_lab(
    directory: Path, nursery_module: str = "tests.crash.worker", *, kind: Kind = "sqlite"
) -> AsyncGenerator[Lab]:
    """A lab with a nursery of its own; nothing of it is left afterwards."""
    nursery = await asyncio.create_subprocess_exec(
        sys.executable, "-m", nursery_module,
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, cwd=REPOSITORY,
    )  # fmt: skip
    lab = Lab(directory, nursery, kind)
    listening = asyncio.create_task(lab.listen())
    try:
        yield lab
    finally:
        await lab.close()
        listening.cancel()
        await asyncio.gather(listening, return_exceptions=True)
