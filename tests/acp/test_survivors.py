"""No agent outlives its conversation, however that ends and whatever it does to stay. `-s` prints the figures."""

import contextlib
import shlex
import signal
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from tests.acp.processes import Us, running
from tests.acp.talking import AGENTS
from tests.tools.shell.living import living, new_mark, sleepers
from tests.waiting import HANG_SECONDS, Stopwatch, stopwatch, until

# By variables: a path may hold what a shell would split.
NAMES = f"PYTHON={shlex.quote(sys.executable)} SCRIPT={shlex.quote(str(AGENTS / 'scripted.py'))}"
AGENT = '"$PYTHON" -I -S "$SCRIPT"'
QUOTED = AGENT.replace('"', r"\"")

# What starts the agent, and how many sleepers there are when all are up. The agent itself talks, and hangs.
SHAPES = {
    "the agent alone": (f"exec {AGENT} hangs prompt", 0),
    "a wrapper of a wrapper": (f"sh -c 'sh -c \"sleep 1000 & {QUOTED} hangs prompt; wait\"; wait'; wait", 1),
    "a server in its own session": (f"setsid sleep 1000 & exec {AGENT} hangs prompt", 1),
    "a daemon that forked twice": (f"(setsid sh -c 'sleep 1000 & sleep 1000 &' &); exec {AGENT} hangs prompt", 2),
    "one that ignores TERM, and its child": (f"trap '' TERM HUP INT; sleep 1000 & exec {AGENT} stubborn", 2),
    "a storm of fifty": (
        f"i=0; while [ $i -lt 50 ]; do setsid sleep 1000 & i=$((i+1)); done; exec {AGENT} hangs prompt",
        50,
    ),
    "a relay that never stays": (
        f'RELAY=\'sleep 0.005; setsid sh -c "$RELAY" &\'; export RELAY; sh -c "$RELAY" & exec {AGENT} hangs prompt',
        0,
    ),
    "a server that holds all its pipes": (f"setsid sleep 1000 <&0 & sleep 1000 <&0 & exec {AGENT} hangs prompt", 2),
}

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="only Linux lets a process adopt orphans"),
]


async def test_no_agent_survives_a_cancelled_conversation(tmp_path: Path):
    async with all_shapes(tmp_path) as (us, marks):
        with stopwatch() as watch:
            us.process.send_signal(signal.SIGUSR1)
            assert await us.hear() == ["ended", *["CancelledError"] * len(SHAPES)]
        # Not only in the end: nobody is left when the cancelled call returns.
        assert_alone(marks, watch, "cancel")


async def test_no_agent_survives_a_time_out(tmp_path: Path):
    for seconds in (6, 25):
        async with all_shapes(tmp_path, timeout=seconds) as (us, marks):
            # Where the time is over before all are up, the machine is slow, and they get longer.
            is_up = not us.has_news
            with stopwatch() as watch:
                assert await us.hear(seconds=seconds + HANG_SECONDS) == ["ended", *["timeout"] * len(SHAPES)]
            assert_alone(marks, watch, "time-out", limit=seconds)
        if is_up:
            return
    raise AssertionError("they were never all up")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL], ids=["SIGTERM", "SIGKILL"])
async def test_no_agent_survives_our_own_death(tmp_path: Path, number: signal.Signals):
    async with all_shapes(tmp_path) as (us, marks):
        with stopwatch() as watch:
            us.process.send_signal(number)
            for mark in marks.values():
                with contextlib.suppress(TimeoutError):
                    await until(lambda mark=mark: not living(mark))
        assert_alone(marks, watch, f"{number.name} to us")


def assert_alone(marks: dict[str, str], watch: Stopwatch, what: str, *, limit: float = 0.0) -> None:
    left = {shape: living(mark) for shape, mark in marks.items() if living(mark)}
    print(f"{what}: {len(left)} of {len(SHAPES)} agents left somebody behind, after {watch.seconds:.2f} s")
    assert left == {}
    assert watch.seconds < limit + 10


@asynccontextmanager
async def all_shapes(place: Path, timeout: float | None = None) -> AsyncGenerator[tuple[Us, dict[str, str]]]:
    """One agent of each shape, all up, unless their time was over before that."""
    marks = {shape: new_mark() for shape in SHAPES}
    agents = {mark: ["sh", "-c", f": {mark}; export {NAMES}; {SHAPES[shape][0]}"] for shape, mark in marks.items()}
    async with running(place / "said", agents, timeout=timeout) as us:
        for shape, mark in marks.items():
            await until(lambda mark=mark, wanted=SHAPES[shape][1]: _is_up(mark, wanted) or us.has_news)
        yield us, marks


def _is_up(mark: str, wanted: int) -> bool:
    return sleepers(mark) >= wanted and any(b"scripted.py" in argv for argv in living(mark).values())
