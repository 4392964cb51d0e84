"""The program that is killed: an engine on a store of SQLite or PostgreSQL, in a process of its own.

`python -m tests.crash.worker` is a nursery: it has everything imported, reads jobs from its standard input, one JSON
object a line, and forks a process for each, so that thousands of them can be killed in minutes. It reports every pid,
and every end or stop of a child, on its standard output. The children die with it.
"""

import asyncio
import contextlib
import ctypes
import json
import logging
import os
import select
import signal
import sys
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, fields
from pathlib import Path
from types import FrameType
from typing import Any, TypeVar, cast

from tests.crash.outside import RULES, Fault, Outside, make_tools
from tests.waiting import HANG_SECONDS, block_until

from pollux.core.errors import Conflict, Misfit, StoreError, ThreadBusy
from pollux.core.events import ModelCalled
from pollux.core.ids import RunId, ThreadId, UserId
from pollux.core.machine import pending
from pollux.core.messages import JSON
from pollux.core.profile import Limits, Profile
from pollux.core.run import Parent, Run, run_of
from pollux.core.tools import ToolContext
from pollux.dispatch.local import LocalDispatcher
from pollux.engine.engine import Engine, Start
from pollux.engine.model import ModelRequest
from pollux.engine.ports import Change, Store
from pollux.engine.system import SystemClock
from pollux.providers.scripted import Answer, ScriptedProvider, calls, reply
from pollux.stores.filelock import FileLock
from pollux.stores.postgres.store import PostgresStore
from pollux.stores.sqlite import SqliteStore

USER = UserId("someone")
KEY = b"k" * 32
NO_ARGUMENTS: dict[str, JSON] = {}
RECOVER_SECONDS = 0.25
PR_SET_PDEATHSIG, PR_SET_PTRACER, PR_SET_PTRACER_ANY = 1, 0x59616D61, -1

T = TypeVar("T")
_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True)
class Job:
    """What one process has to do. `runs` are stories by run id: `keyed+once;keyed` makes two calls, then one."""

    id: int
    mode: str
    home: str
    outside: str
    url: str = ""
    """Of a PostgreSQL database. Without one, the store is SQLite in the home."""
    runs: dict[str, str] = field(default_factory=dict[str, str])
    approves: bool = True
    fault: dict[str, Any] = field(default_factory=dict[str, Any])
    impatient: bool = False
    """Takes every other driver for dead, as a lease that ran out would."""
    traced: bool = False
    limit: int = 25
    rounds: int = 0
    seconds: float = HANG_SECONDS
    """After so long it hangs, and ends with an error."""
    environ: dict[str, str] = field(default_factory=dict[str, str])
    """For programs that are told by their environment what to do."""

    @classmethod
    def parse(cls, line: str) -> "Job":
        found: dict[str, Any] = json.loads(line)
        assert found.keys() <= {one.name for one in fields(cls)}
        return cls(**found)


def store_of(home: Path, url: str) -> SqliteStore | PostgresStore:
    """The real store, as it lies there."""
    heads = home / "audit-heads.jsonl"
    if url:
        return PostgresStore(url, key=KEY, heads=heads, connections=4)
    return SqliteStore(home / "pollux.db", key=KEY, heads=heads)


def faulty_store(job: Job, fault: Fault) -> Store:
    """The real store, with a fault around its commits."""
    return cast("Store", FaultyStore(job, fault))


class FaultyStore:
    """The real store, with a fault around its commits."""

    def __init__(self, job: Job, fault: Fault) -> None:
        self._store = store_of(Path(job.home), job.url)
        self._fault = fault
        self._impatient = job.impatient

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def commit(self, change: Change) -> None:
        self._fault.reach("commit:before")
        await self._store.commit(change)
        self._fault.reach("commit:after")
        if any(isinstance(event, ModelCalled) for event in change.events):
            self._fault.reach("model:announced")

    async def is_alive(self, driver: str) -> bool:
        return not self._impatient and await self._store.is_alive(driver)


class Worker:
    """One job on one engine."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._outside = Outside(Path(job.outside))
        self._fault = Fault(**job.fault)
        self._planned = set(job.runs)
        self._refused = 0
        self._began = time.monotonic()

    async def run(self) -> dict[str, Any]:
        """Start the runs, approve what they ask, and see them end."""
        async with self._engine() as engine:
            runs = await self._see_all(engine)
            return self._summary(runs)

    async def recover(self) -> dict[str, Any]:
        """As `run`, and take on what others left behind: at the beginning, and whenever a neighbour dies meanwhile."""
        async with self._engine() as engine:
            recovered = await self._insist(engine.recover)
            seeing = asyncio.ensure_future(self._see_all(engine))
            while not (await asyncio.wait({seeing}, timeout=RECOVER_SECONDS))[0]:
                recovered += await self._insist(engine.recover)
            return self._summary(await seeing, recovered=recovered)

    async def hold(self) -> dict[str, Any]:
        """As `run`, then stay until told to leave."""
        async with self._engine() as engine:
            runs = await self._see_all(engine)
            self._outside.note("holding")
            await self._file("leave")
            return self._summary(runs)

    async def race(self) -> dict[str, Any]:
        """Eight tasks answer the same approval at once, round after round. Each round is released by a file."""
        answers: list[str] = []
        async with self._engine() as engine:
            for number, run_id in enumerate(self._job.runs):
                run = await engine.queries.run(RunId(run_id))
                (approval,) = run.approvals
                self._outside.note("ready", round=number)
                await self._file(f"go-{number}")
                answers += await asyncio.gather(*(self._answer(engine, approval.id, task) for task in range(8)))
            for run_id in self._job.runs:
                await engine.wait_settled(RunId(run_id), seconds=self._job.seconds)
            return self._summary([], answers=answers)

    async def cancel(self) -> dict[str, Any]:
        """As `run`, but stop the run as soon as its tool has acted."""
        async with self._engine() as engine:
            seeing = asyncio.ensure_future(self._see_all(engine))
            while not self._outside.notes("effects"):
                await asyncio.sleep(0.005)
            for run_id in self._job.runs:
                await engine.cancel(RunId(run_id), by="tester")
                self._outside.note("acknowledged", what="cancelled", name=run_id)
            return self._summary(await seeing)

    async def steady(self) -> dict[str, Any]:
        """Start run after run until told that it is enough, whatever the store says, and see them all end."""
        async with self._engine() as engine:
            seen: list[asyncio.Task[Run]] = []
            while not (self._outside.directory / "enough").exists():
                run_id = f"run_{self._job.id}x{len(seen)}"
                self._outside.note("plans", run=run_id)
                self._planned.add(run_id)
                await self._start(engine, run_id, "keyed")
                seen.append(asyncio.create_task(self._see(engine, run_id, "keyed")))
                await asyncio.sleep(0.005)
            return self._summary(await asyncio.gather(*seen))

    @asynccontextmanager
    async def _engine(self) -> AsyncGenerator[Engine]:
        tools = make_tools(self._outside, self._fault, lambda context: self._beget(engine, context))
        clock = SystemClock()
        provider = ScriptedProvider(*[self._next_turn] * 100_000)
        profile = Profile(tools=tuple(tool.spec.name for tool in tools), limits=Limits(self._job.limit))
        engine = Engine(
            store=faulty_store(self._job, self._fault),
            providers=lambda model: provider,
            tools=tools,
            profiles={"default": profile},
            rules=RULES,
            clock=clock,
            dispatcher=LocalDispatcher(clock),
        )
        await self._insist(engine.__aenter__)
        try:
            yield engine
        finally:
            await engine.close()

    async def _next_turn(self, request: ModelRequest) -> Answer:
        """By what is in the thread: another process goes on with the right next reply."""
        prompt = next(message.text for message in request.turns if message.role == "user")
        self._outside.note("model_calls", story=prompt)
        self._fault.reach("model:asked")
        answered = sum(message.role == "tool" for message in request.turns)
        turns = prompt.split(";")
        if answered == len(turns):
            return reply("All done.")
        return calls(*((name, NO_ARGUMENTS) for name in turns[answered].split("+")))

    async def _see_all(self, engine: Engine) -> Sequence[Run]:
        return await asyncio.gather(*(self._see(engine, run_id, story) for run_id, story in self._job.runs.items()))

    async def _see(self, engine: Engine, run_id: str, story: str) -> Run:
        # In this order: a neighbour may begin it between our two looks.
        acknowledged = self._is_acknowledged("started", run_id)
        if await self._is_missing(engine, run_id):
            # Not to be begun again: the loss must show.
            assert not acknowledged, f"{run_id} was acknowledged, but is not there"
            await self._start(engine, run_id, story)
        while True:
            run = await engine.wait_settled(RunId(run_id), seconds=0.2)
            if not run.is_open or (not self._job.approves and not pending(run)):
                return run
            if self._job.approves:
                await self._approve_all(engine)

    async def _is_missing(self, engine: Engine, run_id: str) -> bool:
        return run_id not in {row.run_id for row in await engine.queries.runs(USER, limit=10_000)}

    def _is_acknowledged(self, what: str, name: str) -> bool:
        return self._outside.has("acknowledged", what=what, name=name)

    async def _start(self, engine: Engine, run_id: str, story: str) -> None:
        start = Start(story, USER, run_id=RunId(run_id), thread_id=ThreadId(f"thr_{run_id}"), create=True)
        try:
            await self._insist(lambda: engine.start(start))
        except (Conflict, ThreadBusy):
            # Another process was asked for the same run and was faster; or our own first try was written after all.
            if await self._is_missing(engine, run_id):
                raise
        else:
            self._outside.note("acknowledged", what="started", name=run_id)

    async def _approve_all(self, engine: Engine) -> None:
        """Everything that our runs and their children ask."""
        questions = [
            question
            for question in await engine.queries.approvals(USER, limit=1000)
            if (question.run.parent.root if question.run.parent else question.run.id) in self._planned
        ]
        for question in questions:
            assert question.action.approval is not None
            await self._approve(engine, question.action.approval.id)
        if not questions:
            await asyncio.sleep(0.005)

    async def _beget(self, engine: Engine, context: ToolContext) -> None:
        """The child's id follows from the action: a second attempt finds the first one's child."""
        run_id = RunId("run_" + context.key.removeprefix("act_").replace("_", "-"))
        parent = Parent(context.run_id, context.action_id, context.run_id)
        try:
            await engine.start(
                Start("keyed", USER, run_id=run_id, thread_id=ThreadId(f"thr_{run_id}"), create=True, parent=parent)
            )
        except (Conflict, ThreadBusy):
            if await self._is_missing(engine, run_id):
                raise

    async def _approve(self, engine: Engine, approval_id: str) -> None:
        if self._is_acknowledged("approved", approval_id):
            # What we saw of the run may be a moment old; the store must know it by now.
            await self._check_resolved(engine, approval_id)
            return
        try:
            await self._insist(lambda: engine.resolve(approval_id, "approved", by="tester"))
        except Misfit as misfit:
            if misfit.code != "already_resolved":
                raise
        else:
            self._outside.note("acknowledged", what="approved", name=approval_id)

    async def _check_resolved(self, engine: Engine, approval_id: str) -> None:
        run = await engine.queries.run(run_of(approval_id))
        waiting = {approval.id for approval in run.approvals}
        assert approval_id not in waiting, f"{approval_id} was acknowledged, but is not resolved"
        await asyncio.sleep(0.01)

    async def _answer(self, engine: Engine, approval_id: str, task: int) -> str:
        try:
            await engine.resolve(approval_id, "approved", by=f"resolver {os.getpid()}.{task}")
        except Misfit as misfit:
            return misfit.code
        return "approved"

    async def _insist(self, ask: Callable[[], Awaitable[T]]) -> T:
        """Ask again as long as the store is in trouble, as a person would."""
        while True:
            try:
                return await ask()
            except StoreError as problem:
                self._refused += 1
                self._outside.note("refused", why=str(problem))
                await asyncio.sleep(0.02)

    async def _file(self, name: str) -> None:
        while not (self._outside.directory / name).exists():
            await asyncio.sleep(0.001)

    def _summary(self, runs: Sequence[Run], **more: Any) -> dict[str, Any]:
        statuses = {run.id: run.status for run in runs}
        seconds = time.monotonic() - self._began
        return {"statuses": statuses, "refused": self._refused, "seconds": round(seconds, 3), **more}


def work(job: Job) -> None:
    """Do a job in this process. What it has to say goes to a file named after the job."""
    outside = Path(job.outside)
    log = os.open(outside / "log", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.dup2(log, 1)
    os.dup2(log, 2)
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(process)d %(name)s: %(message)s")
    if job.traced:
        wait_for_tracer()
    # Many wait for a slow disk here. That waiting for a lock has an end is another test's.
    FileLock.__init__.__kwdefaults__ = {"wait": 1000.0}
    modes = Worker(job)
    summary = asyncio.run(asyncio.wait_for(getattr(modes, job.mode)(), job.seconds))
    (outside / f"summary-{job.id}.json").write_text(json.dumps(summary))


def wait_for_tracer() -> None:
    """Go on once somebody traces this process."""
    _libc.prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0)
    block_until(lambda: "TracerPid:\t0\n" not in Path("/proc/self/status").read_text())
    # One that is just taking hold misses calls. A signal, even one that means nothing, waits until it follows us.
    os.kill(os.getpid(), signal.SIGWINCH)


class Nursery:
    """Forks a process for each job, and tells what becomes of them."""

    def __init__(self, work: Callable[[Job], None]) -> None:
        self._work = work
        self._wakes = os.pipe()
        for end in self._wakes:
            os.set_blocking(end, False)
        signal.signal(signal.SIGCHLD, _nothing)
        signal.set_wakeup_fd(self._wakes[1], warn_on_full_buffer=False)

    def serve(self) -> None:
        buffer = b""
        while True:
            ready, _, _ = select.select([0, self._wakes[0]], [], [])
            if self._wakes[0] in ready:
                os.read(self._wakes[0], 4096)
                self._reap()
            if 0 in ready:
                read = os.read(0, 65536)
                if not read:
                    return
                *lines, buffer = (buffer + read).split(b"\n")
                for line in lines:
                    self._spawn(Job.parse(line.decode()))

    def _spawn(self, job: Job) -> None:
        parent = os.getpid()
        pid = os.fork()
        if pid:
            _say(job=job.id, pid=pid)
            return
        status = 1
        try:
            _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
            if os.getppid() == parent:
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
                self._work(job)
                status = 0
        except BaseException:  # The child must not go on as a second nursery.
            logging.getLogger(__name__).exception("the job failed")
        finally:
            with contextlib.suppress(Exception):
                sys.stderr.flush()
            os._exit(status)

    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG | os.WUNTRACED)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if os.WIFSTOPPED(status):
                _say(stopped=pid)
            else:
                _say(ended=pid, code=os.waitstatus_to_exitcode(status))


def _nothing(number: int, frame: FrameType | None) -> None:
    """A handler must be there for the wake-up to be written."""


def _say(**fields: int) -> None:
    os.write(1, json.dumps(fields).encode() + b"\n")


if __name__ == "__main__":
    Nursery(work).serve()
