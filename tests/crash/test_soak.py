"""The large version: thousands of kills at random, of several runs at once, of the recovering processes too.

`POLLUX_CRASH_KILLS` sets how many, `POLLUX_CRASH_SEED` what is drawn. They come in batches, so that one that hangs is
told from one that takes long.
"""

import asyncio
import itertools
import os
import random
import shutil
import time
from signal import SIGKILL
from typing import Any

import pytest
from tests.crash.lab import STRACE, Child, Lab, Place, Trace
from tests.crash.oracle import Findings, judge
from tests.crash.outside import CLASSES, Point

KILLS = int(os.environ.get("POLLUX_CRASH_KILLS", "5000"))
SEED = int(os.environ.get("POLLUX_CRASH_SEED", "0"))
BATCHES = 10
AT_ONCE = 4
POINTS: tuple[tuple[Point, int], ...] = (
    ("commit:before", 25),
    ("commit:after", 25),
    ("effect:before", 6),
    ("effect:after", 6),
    ("model:announced", 8),
    ("model:asked", 8),
)
SYSCALLS = (("fsync,fdatasync", 40), ("pwrite64", 250))


@pytest.mark.soak
@pytest.mark.parametrize("batch", range(BATCHES))
async def test_thousands_of_kills_at_random_repeat_and_lose_nothing(lab: Lab, batch: int):
    total = Findings()
    began = time.monotonic()
    seeds = itertools.count((SEED * BATCHES + batch) * 1_000_000)

    async def keep_killing() -> None:
        while total.kills < KILLS / BATCHES:
            seed = next(seeds)
            findings = await torment(lab, random.Random(seed))
            assert findings.problems == [], f"with seed {seed}"
            total.add(findings)

    async with asyncio.TaskGroup() as group:
        for _ in range(AT_ONCE):
            group.create_task(keep_killing())
    print(f"random kills: {total}, in {time.monotonic() - began:.0f} s")
    # A recovery that hangs has ended its process with an error.
    assert (total.repeats, total.losses) == (0, 0)


async def torment(lab: Lab, dice: random.Random) -> Findings:
    """One place: some runs, a few processes that are killed one after the other or side by side, and a recovery."""
    place = lab.place()
    place.runs |= {f"run_{number}": story(dice) for number in range(dice.randint(1, 6))}
    kills = 0
    for _ in range(dice.randint(2, 6)):
        # Side by side, the survivor has to take on what the other leaves behind.
        children = [await doomed(lab, place, dice) for _ in range(dice.choice((1, 1, 1, 2)))]
        codes = [await child.wait() for child in children]
        assert set(codes) <= {0, -SIGKILL}, place.log[-4000:]
        kills += codes.count(-SIGKILL)
        if 0 in codes:
            # One came to its end: there is nothing left to kill.
            break
    summary = await lab.finish(place)
    findings = await judge(place)
    findings.kills, findings.slowest_recovery = kills, summary["seconds"]
    if not findings.problems:
        shutil.rmtree(place.home.parent)
    return findings


def story(dice: random.Random) -> str:
    """Up to three turns of up to three calls."""
    turns = (dice.choices(CLASSES, k=dice.randint(1, 3)) for _ in range(dice.randint(1, 3)))
    return ";".join("+".join(turn) for turn in turns)


async def doomed(lab: Lab, place: Place, dice: random.Random) -> Child:
    """A process that will be killed somewhere, unless it is done before."""
    kinds = ["point", "clock", *(["syscall"] if STRACE else [])]
    match dice.choice(kinds):
        case "point":
            point, most = dice.choice(POINTS)
            return await lab.spawn("recover", place, at=(point, dice.randint(1, most)), **PATIENT)
        case "syscall":
            syscalls, most = dice.choice(SYSCALLS)
            return await lab.spawn("recover", place, trace=Trace(syscalls, str(dice.randint(1, most))), **PATIENT)
        case _:
            child = await lab.spawn("recover", place, **PATIENT)
            asyncio.get_running_loop().call_later(dice.uniform(0.0, 0.5), child.send, SIGKILL)
            return child


PATIENT: dict[str, Any] = {"limit": 1000, "seconds": 40.0}
"""Calls that a kill interrupted count: with the usual limit some runs would rightly end early."""
