"""The program that is killed in the middle of a runbook: `python -m tests.runbooks.killed_worker` is its nursery.

Every block that acts leaves a line in a file that no part of Pollux reads, or a request at a server of the test's. What
a process finds when it begins is all that it knows: it goes on as `pollux runbook resume` would.
"""

import asyncio
import importlib
import json
import logging
import os
import sys
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.crash.outside import Fault, Outside
from tests.crash.worker import Job, Nursery, faulty_store
from tests.runbooks.lab import ADA, agent, block, document, script

from pollux.bootstrap import Fixed
from pollux.core.errors import Misfit
from pollux.core.ids import RunId
from pollux.core.messages import ToolResult
from pollux.core.run import Run
from pollux.dispatch.local import LocalDispatcher
from pollux.engine.engine import Engine
from pollux.engine.model import ModelRequest
from pollux.engine.system import SystemClock
from pollux.providers.scripted import Answer, ScriptedProvider, call, reply
from pollux.runbooks.opening import Opening
from pollux.runbooks.runtime import Runbooks, make_runbooks
from pollux.runbooks.settings import DEFAULT_AGENTS
from pollux.runbooks.shelf import digest_of
from pollux.runbooks.trust import Trust
from pollux.tools.files.root import Root
from pollux.tools.shell.agent_shell import Runner

AGENT = Path(__file__).parent / "worker_agent.py"
EFFECTS = "effects"
LOOK_SECONDS = 0.02
BLOCKS = ("script", "ours", "http", "theirs", "last")
"""The blocks in their order. Each acts once, and leaves its name."""


def runbook(
    url: str,
    *,
    asks: bool = False,
    first: str = "echo script >> effects",
    orders: str = "append effects theirs",
    inner: str = "",
) -> str:
    """script → agent (ours) → http → agent (over ACP) → script. `asks` has the agents ask about what they do.

    With `inner` the first is another runbook, which does the same.
    """
    may = {"readFiles": True, "writeFiles": True, "executeCommands": True, "alwaysAllowTools": not asks}
    source: dict[str, Any] = {"type": "acp", "command": sys.executable, "args": ["-I", "-S", str(AGENT)], "env": {}}
    begin = block("sub-runbook", "script", runbookPath=inner) if inner else script("script", first)
    return document(
        begin,
        agent("ours", "Append a line.", capabilities=may),
        block("http", "http", verb="POST", url=url, body="http"),
        agent("theirs", orders, source=source, capabilities=may),
        script("last", "echo last >> effects"),
    )


async def _next_turn(request: ModelRequest) -> Answer:
    """By what was said: another process goes on with the right next reply."""
    results = [part for message in request.turns for part in message.parts if isinstance(part, ToolResult)]
    return reply("done") if results else call("shell", {"command": "echo ours >> effects"})


class Worker:
    """One job on one engine. The job's `environ` says which document, and what is decided about unknown outcomes."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._home = Path(job.home)
        self._outside = Outside(Path(job.outside))
        self._fault = Fault(**job.fault)
        self._work = self._home / "work"
        self._answers = int(job.environ.get("answers", 1_000))
        """How many questions it answers before it waits for somebody else."""
        self._began = time.monotonic()

    async def run(self) -> dict[str, Any]:
        """Begin the runbook or go on with it, approve what it asks, decide about what is unknown, and see it end."""
        async with self._engine() as (engine, runbooks):
            run = await self._taken_up(engine, runbooks)
            while True:
                run = await self._seen(engine, run.id)
                if run.is_open or run.ending is None or run.ending.code != "outcome_unknown":
                    return self._summary(run)
                run = await self._decided(engine, runbooks, run)

    async def answer(self) -> dict[str, Any]:
        """Answer the question that waits, as another process does, and leave. It drives nothing."""
        answers: list[str] = []
        async with self._engine(drives=False) as (engine, _):
            for question in await engine.queries.approvals(ADA, limit=10):
                assert question.action.approval is not None
                answers.append(await self._approve(engine, question.action.approval.id))
            return {"answers": answers}

    @asynccontextmanager
    async def _engine(self, *, drives: bool = True) -> AsyncGenerator[tuple[Engine, Runbooks]]:
        self._work.mkdir(exist_ok=True)
        runbooks = make_runbooks(
            root=Root(self._work),
            # Two shells in one are slow to start, and what they act on is the same.
            runner=Runner(self._work, sandbox="off"),
            roots=lambda path: Root(Path(path)),
            agents=DEFAULT_AGENTS,
            model="scripted",
            trust=Trust(self._home),
        )
        clock = SystemClock()
        engine = Engine(
            store=faulty_store(self._job, self._fault),
            providers=runbooks.providers(Fixed(ScriptedProvider(*[_next_turn] * 100))),
            tools=runbooks.tools if drives else (),
            profiles=runbooks.profiles if drives else {},
            clock=clock,
            dispatcher=LocalDispatcher(clock),
        )
        async with engine:
            runbooks.host.serve(engine)
            yield engine, runbooks

    async def _taken_up(self, engine: Engine, runbooks: Runbooks) -> Run:
        last = await last_go(engine)
        if last is not None:
            run = await engine.queries.run(last)
            if not run.is_open:
                return run
            if self._job.environ.get("recovers") == "all":
                # As a server does, which was not told which run to go on with.
                await engine.recover()
                return run
            return await runbooks.resume(run.id, user=ADA)
        source = self._job.environ["document"]
        if self._job.environ.get("trusted") == "yes":
            for each in (source, self._job.environ.get("inner", "")):
                runbooks.trust.pin(
                    "runbook", digest_of(each), what="test", by="ada", folder=os.path.realpath(self._work)
                )
        return await runbooks.start(Opening(source, "json", str(self._work)), user=ADA)

    async def _seen(self, engine: Engine, run_id: RunId) -> Run:
        """The run once it has ended, or once it waits and nobody here answers."""
        while True:
            run = await engine.queries.run(run_id)
            if not run.is_open:
                return run
            await asyncio.sleep(LOOK_SECONDS)
            for question in await engine.queries.approvals(ADA, limit=10):
                assert question.action.approval is not None
                if self._answers <= 0:
                    self._outside.note("asked", approval=question.action.approval.id, tool=question.action.tool)
                    # Until it is killed.
                    await asyncio.sleep(self._job.seconds)
                self._answers -= await self._approve(engine, question.action.approval.id) == "approved"

    async def _approve(self, engine: Engine, approval_id: str) -> str:
        try:
            await engine.resolve(approval_id, "approved", by="ada")
        except Misfit as misfit:
            return misfit.code
        self._outside.note("acknowledged", what="approved", name=approval_id)
        return "approved"

    async def _decided(self, engine: Engine, runbooks: Runbooks, run: Run) -> Run:
        """As a person would: `look` says what the world looks like, and to do again what has not been done."""
        failed = runbooks.progress(await engine.queries.messages(run.thread_id, ADA)).failure
        assert failed is not None, f"{run.id} ended as unknown, but no block did"
        how = self._job.environ["decision"]
        if how == "look":
            how = "skip" if self._has_acted(failed.block.name) else "retry"
        retry, skip = (failed.block.id, "") if how == "retry" else ("", failed.block.id)
        return await runbooks.resume(run.id, user=ADA, retry=retry, skip=skip)

    def _has_acted(self, name: str) -> bool:
        path = self._home / "posted" if name == "http" else self._work / EFFECTS
        return path.exists() and name in path.read_text().splitlines()

    def _summary(self, run: Run) -> dict[str, Any]:
        ending = run.ending
        told = {"run": run.id, "status": run.status, "code": ending.code if ending else ""}
        return {**told, "message": ending.message if ending else "", "seconds": time.monotonic() - self._began}


async def last_go(engine: Engine) -> RunId | None:
    """The newest run of a document that is no part of another."""
    rows = await engine.queries.runs(ADA, limit=1_000)
    roots = [row for row in rows if row.profile == "runbook" and row.parent is None]
    return max(roots, key=lambda row: row.created_at).run_id if roots else None


def work(job: Job) -> None:
    """Do a job in this process."""
    outside = Path(job.outside)
    log = os.open(outside / "log", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.dup2(log, 1)
    os.dup2(log, 2)
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(process)d %(name)s: %(message)s")
    summary = asyncio.run(asyncio.wait_for(getattr(Worker(job), job.mode)(), job.seconds))
    (outside / f"summary-{job.id}.json").write_text(json.dumps(summary))


if __name__ == "__main__":
    # What blocks import when they run is here before anybody forks.
    for module in ("acp.schema", "aiohttp", "minijinja", "tree_sitter_bash", "yaml"):
        importlib.import_module(module)
    Nursery(work).serve()
