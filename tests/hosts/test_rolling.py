"""Processes that come and go in order: started all at once on an empty database, or replaced one by one under load.

Two rounds of the first take six seconds, the second ten.
"""

import asyncio
import random
from pathlib import Path

import pytest
from tests.hosts.errands import Crowd, Errand
from tests.hosts.fleet import Fleet, Kind, fleet, until
from tests.hosts.judge import judge
from tests.stores.postgres import fresh_database

EVERYBODY: tuple[Kind, ...] = ("serve", "serve", "worker", "worker")
SOME = 10

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("turns", [1, pytest.param(5, marks=pytest.mark.soak)])
async def test_each_is_replaced_in_turn_under_load_and_nobody_notices(tmp_path: Path, database: str, turns: int):
    async with fleet(tmp_path, database) as here:
        await here.start(*EVERYBODY)
        crowd = Crowd(here, random.Random(turns))
        going = asyncio.create_task(crowd.go_on())
        for _ in range(turns):
            for member in (*here.alive("worker"), *here.alive("serve")):
                before = len(crowd.errands)
                assert await member.stop() == 0
                await here.start(member.kind)
                # Under load: whoever is there takes on some more before the next one goes.
                await until(lambda before=before: going.done() or len(crowd.errands) > before + SOME)
        crowd.enough()
        await going
        findings = await judge(here, crowd.errands)
        again = sum(errand.repeated for errand in crowd.errands)
        print(f"\nreplaced {len(EVERYBODY) * turns}: {findings}, {again} requests sent again")
        assert (findings.problems, findings.unknowns) == ([], 0)
        assert _complaints(here) == []


@pytest.mark.parametrize("rounds", [2, pytest.param(10, marks=pytest.mark.soak)])
async def test_all_that_start_at_once_on_an_empty_database_become_ready(tmp_path: Path, rounds: int):
    for number in range(rounds):
        folder = tmp_path / str(number)
        folder.mkdir()
        with fresh_database() as database:
            async with fleet(folder, database) as here:
                await here.start(*EVERYBODY)
                errand = Errand("wish")
                await errand.do(here)
                assert errand.told["status"] == "completed"
                assert _complaints(here) == []


def _complaints(here: Fleet) -> list[str]:
    return [f"{member.kind}: {line}" for member in here.members for line in member.complaints()]
