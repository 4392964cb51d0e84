"""No process outlives its run, however the run ends and whatever the command does to stay. `-s` prints the figures."""

import contextlib
import json
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.tools.shell.boxes import require_bubblewrap
from tests.tools.shell.living import living, new_mark, sleepers
from tests.waiting import HANG_SECONDS, Stopwatch, stopwatch, until

from pollux.tools.shell.sandbox import Sandbox

REPOSITORY = Path(__file__).parents[3]

# What a command does, and how many sleepers it has when it is up.
SHAPES = {
    "a wrapper": ("sleep 1000 & wait", 1),
    "a child with its own session": ("setsid sleep 1000 & wait", 1),
    "a daemon that forked twice": ("(setsid sh -c 'sleep 1000 & sleep 1000 &' &); sleep 1000", 3),
    "who ignores TERM": ("trap '' TERM HUP INT; sleep 1000 & setsid sleep 1000 & wait", 2),
    "a storm of fifty": ("i=0; while [ $i -lt 50 ]; do setsid sleep 1000 & i=$((i+1)); done; wait", 50),
    "a relay that never stays": ('sh -c "$RELAY" & sleep 1000', 1),
}
RELAY = 'sleep 0.005; setsid sh -c "$RELAY" &'

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="only Linux lets a process adopt orphans"),
]


@pytest.fixture(params=["off", "required"], ids=["warden", "bubblewrap"])
async def sandbox(request: pytest.FixtureRequest) -> Sandbox:
    if request.param == "required":
        await require_bubblewrap()
    return request.param


async def test_nothing_survives_a_cancelled_call(tmp_path: Path, sandbox: Sandbox):
    async with running(tmp_path, sandbox) as us:
        await us.all_up()
        with stopwatch() as watch:
            us.process.send_signal(signal.SIGUSR1)
            assert await us.hear() == ["ended", *["CancelledError"] * len(SHAPES)]
        # Not only in the end: nobody is left when the cancelled call returns.
        us.assert_alone(watch, f"cancel, {sandbox}")


async def test_nothing_survives_a_time_out(tmp_path: Path, sandbox: Sandbox):
    for seconds in (5, 25):
        async with running(tmp_path, sandbox, timeout=seconds) as us:
            # Where the time is over before all are up, the machine is slow, and they get longer.
            is_up = await us.all_up(or_ended=True)
            with stopwatch() as watch:
                assert await us.hear(seconds=seconds + HANG_SECONDS) == ["ended", *["124"] * len(SHAPES)]
            us.assert_alone(watch, f"time-out, {sandbox}", limit=seconds)
        if is_up:
            return
    raise AssertionError("they were never all up")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL], ids=["SIGTERM", "SIGKILL"])
async def test_nothing_survives_our_own_death(tmp_path: Path, sandbox: Sandbox, number: signal.Signals):
    async with running(tmp_path, sandbox) as us:
        await us.all_up()
        with stopwatch() as watch:
            us.process.send_signal(number)
            await us.all_gone()
        us.assert_alone(watch, f"{number.name} to us, {sandbox}")


async def test_nothing_survives_our_death_though_a_fork_of_ours_lives_on(tmp_path: Path, sandbox: Sandbox):
    async with running(tmp_path, sandbox) as us:
        await us.all_up()
        us.process.send_signal(signal.SIGUSR2)
        assert await us.hear() == ["copied"]
        with stopwatch() as watch:
            us.process.kill()
            await us.all_gone()
        us.assert_alone(watch, f"SIGKILL with a fork, {sandbox}")


class Us:
    """A process that runs one command of each shape."""

    def __init__(self, process: subprocess.Popen[bytes], said: Path, marks: dict[str, str]) -> None:
        self.process = process
        self._said = said
        self._heard = 0
        self._marks = marks

    async def hear(self, *, seconds: float = HANG_SECONDS) -> list[str]:
        """What it says next."""
        await until(lambda: self._has_news, seconds=seconds)
        self._heard += 1
        return json.loads(self._said.read_bytes().splitlines()[self._heard - 1])

    @property
    def _has_news(self) -> bool:
        return self._said.read_bytes().count(b"\n") > self._heard

    async def all_up(self, *, or_ended: bool = False) -> bool:
        """Whether they were all up at some time. They can end before that, if they may."""
        for shape, mark in self._marks.items():
            await until(
                lambda mark=mark, wanted=SHAPES[shape][1]: sleepers(mark) >= wanted or (or_ended and self._has_news)
            )
            if or_ended and self._has_news:
                return False
        return True

    async def all_gone(self) -> None:
        for mark in self._marks.values():
            with contextlib.suppress(TimeoutError):
                await until(lambda mark=mark: not living(mark))

    def assert_alone(self, watch: Stopwatch, what: str, *, limit: float = 0.0) -> None:
        left = {shape: living(mark) for shape, mark in self._marks.items() if living(mark)}
        print(f"{what}: {len(left)} of {len(SHAPES)} commands left somebody behind, after {watch.seconds:.2f} s")
        assert left == {}
        assert watch.seconds < limit + 10


@asynccontextmanager
async def running(root: Path, sandbox: Sandbox, timeout: float | None = None) -> AsyncGenerator[Us]:
    marks = {shape: new_mark() for shape in SHAPES}
    job: dict[str, Any] = {
        "root": str(root),
        "sandbox": sandbox,
        "timeout": timeout,
        "env": {"RELAY": RELAY},
        "commands": {mark: f": {mark}; {SHAPES[shape][0]}" for shape, mark in marks.items()},
    }
    said = root.with_name(f"{root.name}-said")
    with (
        said.open("wb") as stdout,
        subprocess.Popen(
            [sys.executable, "-m", "tests.tools.shell.runner"], stdin=subprocess.PIPE, stdout=stdout, cwd=REPOSITORY
        ) as process,
    ):
        assert process.stdin is not None
        try:
            process.stdin.write(json.dumps(job).encode() + b"\n")
            process.stdin.flush()
            us = Us(process, said, marks)
            assert await us.hear() == ["began"]
            yield us
        finally:
            process.kill()
