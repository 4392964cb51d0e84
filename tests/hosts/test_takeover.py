"""What a worker leaves when it dies or stands still goes on elsewhere within ten seconds, and it is done once.

Each story takes eight seconds, six of which pass until somebody silent is given up.
"""

import asyncio
import contextlib
import random
from datetime import datetime
from pathlib import Path
from signal import SIGCONT, SIGSTOP

import psycopg
import pytest
from tests.dispatch.queue_lab import TAKEN_UP_SECONDS
from tests.hosts.errands import Crowd, Errand
from tests.hosts.fleet import fleet, heard_workers, until
from tests.hosts.judge import judge
from tests.hosts.world import KINDS, Moment
from tests.waiting import stopwatch

MOST_SECONDS = 10.0
"""After so long at most, another goes on."""

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("by", ["worker", "serve"])
async def test_what_a_killed_worker_was_at_goes_on_elsewhere_within_ten_seconds(tmp_path: Path, database: str, by: str):
    async with fleet(tmp_path, database) as here:
        # In this order: a server that finds no worker takes jobs itself.
        await here.start("worker")
        await here.start("serve")
        errand, crowd = Errand("wish"), Crowd(here, random.Random(0))
        going = asyncio.create_task(crowd.go_on())
        with here.world.held("wish", "before"):
            doing = asyncio.create_task(errand.do(here))
            first = await until(lambda: here.world.arrived("wish", "before"))
            if by == "worker":
                await here.start("worker")
            await here.member(first).kill()
        with stopwatch() as watch:
            await until(lambda: len(here.world.attempts("wish")) == 2)
        crowd.enough()
        await asyncio.gather(doing, going)
        findings = await judge(here, [errand, *crowd.errands])
        print(f"\na worker was killed: a {by} went on after {watch.seconds:.1f} s; {findings}")
        assert here.member(here.world.attempts("wish")[1]).kind == by
        # The second is all that it waits for on purpose, whatever the machine.
        assert watch.seconds <= MOST_SECONDS
        assert TAKEN_UP_SECONDS <= MOST_SECONDS
        assert findings.problems == []


async def test_a_worker_that_stood_still_and_wakes_up_does_nothing_twice_and_goes_on_with_other_runs(
    tmp_path: Path, database: str
):
    moments: tuple[Moment, ...] = ("before", "after")
    points: dict[Errand, Moment] = {
        Errand(f"{kind}-{moment}", kind=kind): moment for kind in KINDS for moment in moments
    }
    async with fleet(tmp_path, database) as here:
        [sleeper] = await here.start("worker")
        await here.start("serve")
        with contextlib.ExitStack() as holds:
            for errand, moment in points.items():
                holds.enter_context(here.world.held(errand.wish, moment))
            doing = [asyncio.create_task(errand.do(here)) for errand in points]
            await until(
                lambda: all(here.world.arrived(errand.wish, at) == sleeper.pid for errand, at in points.items())
            )
            [other] = await here.start("worker")
            sleeper.send(SIGSTOP)
        with stopwatch() as watch:
            await asyncio.gather(*doing)
        # It comes back, acts where it was about to, and reports.
        woken = _now(database)
        sleeper.send(SIGCONT)
        await until(lambda: all(here.world.has_left(errand.wish, sleeper.pid) for errand in points))
        # Both are heard: the server does not take what follows for itself.
        await until(lambda: heard_workers(database, woken) == 2)
        assert await other.stop() == 0
        later = Errand("later")
        await later.do(here)
        assert here.world.attempts("later") == [sleeper.pid]
        findings = await judge(here, [*points, later])
        print(f"\na worker stood still: its {len(points)} runs had ended {watch.seconds:.1f} s later; {findings}")
        assert findings.problems == []
        assert findings.unknowns == 2
        assert watch.seconds <= MOST_SECONDS
        assert here.world.effects() == dict.fromkeys([errand.wish for errand in (*points, later)], 1)


def _now(database: str) -> datetime:
    """By the server's clock."""
    with psycopg.connect(database, autocommit=True) as db:
        found = db.execute("SELECT clock_timestamp()").fetchone()
    assert found
    return found[0]
