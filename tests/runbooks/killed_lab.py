"""Runbooks that are killed: places for them, a server that counts what is posted, and what must be true afterwards."""

import asyncio
import os
from collections import Counter
from collections.abc import AsyncGenerator, Generator, Iterable
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from signal import SIGKILL
from threading import Thread
from typing import Any
from urllib.parse import quote, unquote

from tests.crash.lab import Child, Kind, Lab, Place, running_lab
from tests.crash.outside import Point
from tests.runbooks.killed_worker import BLOCKS, EFFECTS, runbook
from tests.runbooks.lab import ADA, document, id_of, script
from tests.waiting import HANG_SECONDS

from pollux.core.events import ActionStarted
from pollux.core.machine import fold, pending
from pollux.core.run import Run
from pollux.runbooks.opening import opening_of

INNER = "inner.runbook.json"
STORY = ("asks", "orders", "inner", "first")
"""What of all that a worker is told is about the document."""


@dataclass
class Findings:
    """Counts over one place or many. `problems` are the promises that were broken, in words."""

    kills: int = 0
    runbooks: int = 0
    repeats: int = 0
    losses: int = 0
    unknowns: int = 0
    """Runs that stopped since nobody could know whether a block had acted."""
    retried: int = 0
    skipped: int = 0
    slowest: float = 0.0
    problems: list[str] = field(default_factory=list[str])

    def add(self, other: "Findings") -> None:
        for name in ("kills", "runbooks", "repeats", "losses", "unknowns", "retried", "skipped"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.slowest = max(self.slowest, other.slowest)
        self.problems += other.problems

    def __str__(self) -> str:
        return (
            f"{self.kills} kills, {self.runbooks} runbooks, {self.repeats} repeats, {self.losses} losses,"
            f" {self.unknowns} unknown ({self.retried} retried, {self.skipped} skipped), slowest {self.slowest:.1f} s"
        )


class KilledLab:
    """Starts runbooks in processes that end where they are told to."""

    def __init__(self, lab: Lab, server: str) -> None:
        self._lab = lab
        self._server = server

    def place(self) -> Place:
        place = self._lab.place()
        (place.home / "work").mkdir()
        return place

    async def spawn(
        self, place: Place, mode: str = "run", *, at: tuple[Point, int] | None = None, **told: Any
    ) -> Child:
        """A process at work on the runbook of this place. `told` is what its worker reads."""
        # The server leaves what is posted there in this home.
        address = f"{self._server}{quote(str(place.home))}"
        written = runbook(address, **{name: told.pop(name) for name in STORY if name in told})
        environ = {"document": written, "inner": inner_document(), "trusted": "yes", "decision": "look", **told}
        (place.home / "work" / INNER).write_text(environ["inner"])
        # Where drivers are taken for dead by a clock, the dead ones would be waited for.
        return await self._lab.spawn(mode, place, at=at, environ=environ, impatient=bool(place.url))

    async def killed(self, place: Place, *, at: tuple[Point, int], **told: Any) -> bool:
        """Whether the process was killed there. One that came to its end was not."""
        code = await (await self.spawn(place, at=at, **told)).wait()
        assert code in (0, -SIGKILL), place.log[-4000:]
        return code != 0

    async def finished(self, place: Place, *, kills: int, **told: Any) -> Findings:
        """Resume in a process that lives, and look at everything."""
        summary = await (await self.spawn(place, **told)).summary()
        findings = await judge(place, summary)
        findings.kills, findings.slowest = kills, summary["seconds"]
        self._lab.done(place)
        return findings

    def done(self, place: Place) -> None:
        """Nobody looks at this place any more."""
        self._lab.done(place)


def acts_of(place: Place) -> Counter[str]:
    """How often each block has acted, as the world outside has it."""
    paths = (place.home / "posted", place.home / "work" / EFFECTS)
    return Counter(line for path in paths if path.exists() for line in path.read_text().splitlines())


async def judge(place: Place, summary: dict[str, Any]) -> Findings:
    """Hold what the runs say against what has happened. Nothing may be under way any more."""
    findings = Findings(runbooks=1)
    store = place.store()
    await store.open()
    try:
        rows = sorted(await store.runs(ADA), key=lambda row: row.created_at)
        starts: Counter[str] = Counter()
        runs: list[Run] = []
        for row in rows:
            events = [record.event for record in await store.journal(row.run_id)]
            starts.update(event.action_id for event in events if isinstance(event, ActionStarted))
            runs.append(fold(events))
        findings.problems += (await store.verify_audit()).problems
    finally:
        await store.close()
    gos = [run for run in runs if run.parent is None]
    findings.problems += _unfit(runs, gos, starts)
    findings.unknowns = sum(1 for run in gos if run.ending and run.ending.code == "outcome_unknown")
    if summary["status"] != "completed" or gos[-1].id != summary["run"]:
        findings.problems.append(f"{place.home}: ended as {summary}")
    _judge_acts(place, gos, findings)
    findings.problems += [line for line in place.log.splitlines() if line.startswith(("ERROR", "CRITICAL"))]
    return findings


def _unfit(runs: Iterable[Run], gos: list[Run], starts: Counter[str]) -> Iterable[str]:
    for run in runs:
        if run.is_open or pending(run):
            yield f"{run.id}: is {run.status}, but should have ended"
        for action in run.actions:
            if action.repeat == "once" and starts[action.id] > 1:
                yield f"{action.id} ({action.tool}): was begun {starts[action.id]} times"
    if len({run.thread_id for run in gos}) != 1:
        yield f"one runbook was begun, but there are {len(gos)} runs in several threads"


def _judge_acts(place: Place, gos: list[Run], findings: Findings) -> None:
    """A block acts once, and once more for each time that somebody said to run it again."""
    openings = [opening for run in gos for message in run.messages if (opening := opening_of(message))]
    retried = Counter(each for opening in openings for each in opening.retried)
    skipped = {each for opening in openings for each in opening.skipped}
    findings.retried, findings.skipped = retried.total(), len(skipped)
    acts = acts_of(place)
    for name in BLOCKS:
        most = 1 + retried[id_of(name)]
        if acts[name] > most:
            findings.repeats += 1
            findings.problems.append(f"{place.home}: {name} acted {acts[name]} times, and at most {most} were wanted")
        if acts[name] == 0 and id_of(name) not in skipped:
            findings.losses += 1
            findings.problems.append(f"{place.home}: {name} never acted, and the run says that it did")
    if strangers := acts.keys() - set(BLOCKS):
        findings.problems.append(f"{place.home}: nobody wanted {strangers}")


def assert_sound(findings: Findings) -> None:
    assert findings.problems == []
    assert (findings.repeats, findings.losses) == (0, 0)


@contextmanager
def counting_server() -> Generator[str]:
    """Where posts go: each leaves a line in a file of the folder that its path names."""

    class Counted(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            with open(os.path.join(unquote(self.path), "posted"), "ab") as file:
                file.write(body + b"\n")
            self.send_response(200)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            pass

        def finish(self) -> None:
            try:
                super().finish()
            except OSError:
                pass  # Who asked was killed.

    with ThreadingHTTPServer(("127.0.0.1", 0), Counted) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join(HANG_SECONDS)


@asynccontextmanager
async def killed_lab(directory: Path, kind: Kind = "sqlite") -> AsyncGenerator[KilledLab]:
    """A lab with a nursery and a server of its own; nothing of it is left afterwards."""
    with counting_server() as server:
        async with running_lab(directory, "tests.runbooks.killed_worker", kind=kind) as lab:
            yield KilledLab(lab, server)


def inner_document() -> str:
    """A runbook that is a part of another, and acts in its place."""
    return document(script("deep", "echo script >> effects"), name="Inner")


async def side_by_side(works: Iterable[Any], *, width: int = 3) -> list[Any]:
    """All of them, a few at a time."""
    gate = asyncio.Semaphore(width)

    async def one(work: Any) -> Any:
        async with gate:
            return await work

    return await asyncio.gather(*(one(work) for work in works))
