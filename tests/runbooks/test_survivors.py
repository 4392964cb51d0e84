"""No process of a block outlives `pollux runbook run`, however that ends and whatever the block starts to stay.

`-s` prints the figures.
"""

import asyncio
import json
import os
import shlex
import signal
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.cli.machine import POLLUX, Machine
from tests.runbooks.http.site import begun, ended, runbook_site
from tests.runbooks.lab import agent, block, document, script
from tests.tools.shell.living import living, new_mark, sleepers
from tests.waiting import HANG_SECONDS, POLL_SECONDS, stopwatch, until

from pollux.runbooks.blocks.started import scripts_of
from pollux.runbooks.documents import read
from pollux.runbooks.shelf import digest_of
from pollux.runbooks.trust import Trust

pytest.importorskip("acp")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="only Linux lets a process adopt orphans"),
]

WORKER = shlex.join([sys.executable, "-I", "-S", str(Path(__file__).parent / "worker_agent.py")])
WITHIN = 10.0
LIMITS = (3, 12, 48)
"""Time-outs to be ended by. Where one comes before its tree is up, the machine is slow, and the next one is tried."""

WRAPPED = "sleep 1000 & wait"
OWN_SESSION = "setsid sleep 1000 & wait"
TWICE = "(setsid sh -c 'sleep 1000 & sleep 1000 &' &); sleep 1000"
STUBBORN = "trap '' TERM HUP INT; sleep 1000 & setsid sleep 1000 & wait"
ALL = f"trap '' TERM HUP INT; ({OWN_SESSION}) & ({TWICE}) & ({STUBBORN}) & {WRAPPED}"


@dataclass(frozen=True)
class Tree:
    """A kind of block, what it starts, and how many sleepers there are when all of it is up."""

    kind: str
    code: str
    sleepers: int
    is_agent: bool = False


TREES = {
    "a script in a shell": Tree("script", f"sh -c '{WRAPPED}'; true", 1),
    "a script whose child has its own session": Tree("script", OWN_SESSION, 1),
    "a script that forks twice": Tree("script", TWICE, 3),
    "a script whose children ignore TERM": Tree("script", STUBBORN, 2),
    "a terminal": Tree("terminal", f"{WRAPPED}; true", 1),
    "an agent that forks and ignores TERM": Tree("acp", f"trap '' TERM HUP INT; sleep 1000 & exec {WORKER}", 1, True),
    "an agent with a server of its own": Tree(
        "acp", f"setsid sh -c 'sleep 1000 <&0 & exec sleep 1000' & exec {WORKER}", 2, True
    ),
    "a script in a part": Tree("part", STUBBORN, 2),
}
SMALL = {
    "a script with all of them": Tree("script", ALL, 7),
    "a terminal with all of them": Tree("terminal", ALL, 7),
    "an agent with all of them": Tree("acp", f"({ALL}) & trap '' TERM HUP INT; exec {WORKER}", 7, True),
    "a part with all of them": Tree("part", ALL, 7),
}
CANCELLED = "cancelled by another process"
ENDINGS = ("SIGINT", "SIGTERM", "SIGKILL", "block time-out", "time-out of all", CANCELLED)
CODES = {"SIGINT": 130, "SIGTERM": 143, "SIGKILL": -9, "block time-out": 1, "time-out of all": 1}


@pytest.mark.parametrize("ending", ["SIGINT", "SIGTERM", "SIGKILL", "block time-out"])
async def test_nothing_of_a_runbook_survives_its_end(tmp_path: Path, ending: str):
    await assert_alone(tmp_path, SMALL, ending)


@pytest.mark.soak
@pytest.mark.parametrize("ending", ENDINGS)
async def test_nothing_of_any_block_survives_any_end(tmp_path: Path, ending: str):
    await assert_alone(tmp_path, TREES, ending)


async def test_nothing_of_a_runbook_survives_a_cancel_over_http(tmp_path: Path):
    await assert_cancelled(tmp_path, SMALL)


@pytest.mark.soak
async def test_nothing_of_any_block_survives_a_cancel_over_http(tmp_path: Path):
    await assert_cancelled(tmp_path, TREES)


async def assert_cancelled(path: Path, trees: dict[str, Tree]) -> None:
    """Every tree in a run of one server, all at once; when all are up, all are cancelled."""
    marks = {name: new_mark() for name in trees}
    async with runbook_site(path) as site:
        runs: list[str] = []
        for number, (name, tree) in enumerate(trees.items()):
            write(path / "runbooks", str(number), tree, marks[name], home=path / "home")
            runs.append((await begun(site.ada, f"{number}.runbook.json"))["runId"])
        for name, tree in trees.items():
            await until(lambda name=name, tree=tree: is_up(tree, marks[name]), seconds=2 * HANG_SECONDS)
        with stopwatch() as watch:
            cancels = await asyncio.gather(*(site.ada.post(f"/api/agent/runs/{run}/cancel") for run in runs))
            assert {got.status for got in cancels} == {200}
            await until(lambda: not any(living(mark) for mark in marks.values()))
        assert watch.seconds <= WITHIN
        assert {(await ended(site.ada, run))["state"] for run in runs} == {"cancelled"}
    print(
        f"cancel over HTTP: 0 of {len(trees)} trees left somebody behind, the last was gone after {watch.seconds:.2f} s"
    )


async def assert_alone(path: Path, trees: dict[str, Tree], ending: str) -> None:
    """Every tree in a `pollux runbook run` of its own, all at once; when all are up, all are ended."""
    trips = [Trip(path / str(number), name, tree) for number, (name, tree) in enumerate(trees.items())]
    try:
        await asyncio.gather(*(trip.grow(ending) for trip in trips))
        taken = await asyncio.gather(*(trip.end(ending) for trip in trips))
    finally:
        for trip in trips:
            await trip.close()
    print(f"{ending}: 0 of {len(trips)} trees left somebody behind, the last was gone after {max(taken):.2f} s")


def write(folder: Path, name: str, tree: Tree, mark: str, *, home: Path, **limit: Any) -> None:
    """A document whose second block is this tree, and one that is a part of it, which is trusted in this home."""
    code, part = f": {mark}; {tree.code}", f"{name}-part.runbook.json"
    inner = document(script("deep", code, **limit), name="Inner")
    match tree.kind:
        case "acp":
            source = {"type": "acp", "command": "sh", "args": ["-c", code], "env": {"MARK": mark}}
            second = agent("tree", "hang", source=source, **limit)
        case "part":
            second = block("sub-runbook", "tree", runbookPath=part)
        case kind:
            second = block(kind, "tree", code=code, **limit)
    outer = document(block("env", "MARK", value=mark), second, script("after", "touch after"))
    (folder / part).write_text(inner)
    (folder / f"{name}.runbook.json").write_text(outer)
    place = os.path.realpath(folder)
    scripts = scripts_of(read(inner, form="json"), directory=place, places=(place,), shell="bash")
    Trust(home).pin("runbook", digest_of(inner), what=part, by="ada", folder=place, scripts=scripts)


def is_up(tree: Tree, mark: str) -> bool:
    is_there = not tree.is_agent or any(b"worker_agent.py" in argv for argv in living(mark).values())
    return is_there and sleepers(mark) >= tree.sleepers


class Trip:
    """One `pollux runbook run` with one tree."""

    def __init__(self, path: Path, name: str, tree: Tree) -> None:
        self._machine = Machine(path)
        self._name = name
        self._tree = tree
        self._mark = new_mark()
        self._output = path / "output"
        self._process: asyncio.subprocess.Process | None = None
        self._session = ""
        self._limit = 0

    async def grow(self, ending: str) -> None:
        """Begin, and wait until all of the tree is up."""
        for seconds in LIMITS if "time-out" in ending else LIMITS[:1]:
            await self._begin(ending, seconds)
            # Several programs start at once.
            async with asyncio.timeout(seconds + 2 * HANG_SECONDS):
                if await self._is_grown():
                    break
        else:
            raise AssertionError(f"{self._name} was not up before its time was: {self.told}")
        if ending == CANCELLED:
            self._session = await asyncio.to_thread(_session_in, self._machine)

    async def _begin(self, ending: str, seconds: int) -> None:
        self._mark, self._limit = new_mark(), seconds
        limit = {"timeoutSeconds": seconds} if ending == "block time-out" else {}
        folder = self._machine.cwd
        write(folder, "outer", self._tree, self._mark, home=Path(self._machine.environ["POLLUX_HOME"]), **limit)
        words = ["run", "outer.runbook.json", "--trust", "--output-format", "stream-json"]
        if ending == "time-out of all":
            words += ["--timeout", str(seconds)]
        with self._output.open("wb") as output:
            self._process = await asyncio.create_subprocess_exec(
                *POLLUX, "runbook", *words, cwd=folder, env=self._machine.environ, stdin=asyncio.subprocess.DEVNULL,
                stdout=output, stderr=asyncio.subprocess.DEVNULL, start_new_session=True,
            )  # fmt: skip

    async def _is_grown(self) -> bool:
        """Whether all of it was up before it ended."""
        assert self._process is not None
        while not is_up(self._tree, self._mark):
            if self._process.returncode is not None:
                return False
            await asyncio.sleep(POLL_SECONDS)
        return True

    async def end(self, ending: str) -> float:
        """End it, and say how long it took until nobody was left."""
        assert self._process is not None
        limit = self._limit if "time-out" in ending else 0
        with stopwatch() as watch:
            if ending.startswith("SIG"):
                self._process.send_signal(signal.Signals[ending])
            elif ending == CANCELLED:
                await self._cancel()
            try:
                # Left alone, they sleep for a quarter of an hour.
                await until(lambda: not living(self._mark), seconds=limit + HANG_SECONDS)
            except TimeoutError:
                raise AssertionError(f"{ending}: {self._name} left {living(self._mark)}") from None
        assert watch.seconds <= limit + WITHIN
        async with asyncio.timeout(HANG_SECONDS):
            code = await self._process.wait()
        if ending in CODES:
            assert code == CODES[ending], self.told
        assert not (self._machine.cwd / "after").exists()
        if ending != "SIGKILL":
            # Whoever reads the stream knows how it ended.
            assert self.told[-1]["type"] == "error", self.told[-1]
        return watch.seconds

    async def close(self) -> None:
        if self._process is not None and self._process.returncode is None:
            self._process.kill()
            await self._process.wait()

    @property
    def told(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self._output.read_text().splitlines()]

    async def _cancel(self) -> None:
        done = await asyncio.to_thread(self._machine.run, "sessions", "cancel", self._session)
        assert done.returncode == 0, done


def _session_in(machine: Machine) -> str:
    sessions: Iterable[dict[str, Any]] = machine.told("sessions", "list", "--all", "--json")["items"]
    # Not the one in which a part of it runs.
    return next(each["sessionId"] for each in sessions if each["summary"] == "Test")
