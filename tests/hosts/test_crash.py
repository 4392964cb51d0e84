"""Two workers and two servers on one PostgreSQL, any of which may be killed at any moment, the database too.

`POLLUX_HOSTS_MINUTES` says for how long in the large version, `POLLUX_CRASH_SEED` what is drawn. The small one takes
half a minute.
"""

import asyncio
import os
import random
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from signal import SIGCONT, SIGSTOP

import pytest
from tests.crash.oracle import Findings
from tests.hosts.errands import Crowd
from tests.hosts.fleet import Fleet, Kind, Member, fleet
from tests.hosts.judge import judge
from tests.hosts.world import KINDS
from tests.stores.postgres import Cluster, own_cluster
from tests.waiting import HANG_SECONDS

MINUTES = int(os.environ.get("POLLUX_HOSTS_MINUTES", "5"))
SEED = int(os.environ.get("POLLUX_CRASH_SEED", "0"))
SETTLE_SECONDS = 4 * HANG_SECONDS

pytestmark = pytest.mark.slow


async def test_whoever_is_killed_nothing_is_repeated_and_nothing_is_lost(tmp_path: Path):
    await torment(tmp_path, seconds=10, seed=SEED)


@pytest.mark.soak
@pytest.mark.parametrize("minute", range(MINUTES))
async def test_whoever_is_killed_for_minutes_nothing_is_repeated_and_nothing_is_lost(tmp_path: Path, minute: int):
    await torment(tmp_path, seconds=60, seed=SEED * 1000 + minute + 1)


@pytest.mark.soak
@pytest.mark.parametrize("minute", range(MINUTES))
async def test_whoever_also_stands_still_for_a_while_nothing_is_repeated_and_nothing_is_lost(
    tmp_path: Path, minute: int
):
    await torment(tmp_path, seconds=60, seed=SEED * 1000 + minute + 501, stands_still=True)


async def torment(folder: Path, *, seconds: float, seed: int, stands_still: bool = False) -> None:
    """Let people go on about their errands while a random hand kills, then see how things stand."""
    dice = random.Random(seed)
    with own_cluster() as cluster, cluster.database() as store:
        async with fleet(folder, store) as here:
            await here.start("serve", "serve", "worker", "worker")
            # Whoever stops between its last look and its effect: only a key helps there.
            crowd = Crowd(here, dice, ("keyed", "once") if stands_still else KINDS)
            going = asyncio.create_task(crowd.go_on())
            hits = await _hit_at_random(here, cluster, dice, seconds, stands_still=stands_still)
            crowd.enough()
            began = time.monotonic()
            async with asyncio.timeout(SETTLE_SECONDS):
                await going
            settled = time.monotonic() - began
            findings = await judge(here, crowd.errands)
            findings.kills = sum(times for what, times in hits.items() if not what.endswith("stopped"))
            findings.slowest_recovery = settled
            await _audit_holds(here)
            _print(findings, hits, crowd, here, seed)
            assert findings.problems == [], f"with seed {seed}"
            assert (findings.repeats, findings.losses) == (0, 0)


async def _hit_at_random(
    here: Fleet, cluster: Cluster, dice: random.Random, seconds: float, *, stands_still: bool
) -> Counter[str]:
    """Kill, and start again what was killed; or let some stand still, and wake them up."""
    hits = Counter[str]()
    ends = time.monotonic() + seconds
    kinds: tuple[Kind | None, ...] = ("worker", "worker", "serve", "serve", None)
    while time.monotonic() < ends:
        await asyncio.sleep(dice.uniform(0.2, 1.5))
        kind = dice.choice(kinds)
        if kind is None:
            hits["database"] += 1
            await asyncio.to_thread(_restart, cluster)
            continue
        # Now and then all of a kind at once.
        hit = dice.sample(here.alive(kind), dice.choice((1, 1, 1, 2)))
        if stands_still and dice.random() < 0.5:
            hits[f"{kind} stopped"] += len(hit)
            await _stand_still(hit, dice.uniform(1.0, 10.0))
        else:
            hits[kind] += len(hit)
            for member in hit:
                await member.kill()
            await asyncio.gather(*(here.restart(member) for member in hit))
    return hits


async def _stand_still(members: Sequence[Member], seconds: float) -> None:
    for member in members:
        member.send(SIGSTOP)
    await asyncio.sleep(seconds)
    for member in members:
        member.send(SIGCONT)


def _restart(cluster: Cluster) -> None:
    cluster.stop("immediate")
    cluster.start()


async def _audit_holds(here: Fleet) -> None:
    for server in here.alive("serve"):
        audit = (await here.person("ada", server).get("/api/agent/audit/verify")).body
        assert (audit["valid"], audit["problems"]) == (True, [])


def _print(findings: Findings, hits: Counter[str], crowd: Crowd, here: Fleet, seed: int) -> None:
    errands = crowd.errands
    said = Counter(line.split(" ", 2)[2][:110] for member in here.members for line in member.complaints())
    print(f"\nseed {seed}: {findings}")
    print(f"  hit: {dict(hits)}; by kind {dict(Counter(errand.kind for errand in errands))}")
    print(f"  rejected {sum(errand.decision == 'reject' for errand in errands)},", end=" ")
    print(f"requests sent again {sum(errand.repeated for errand in errands)},", end=" ")
    print(f"slowest answer {max(errand.slowest for errand in errands):.1f} s")
    for line, times in said.most_common(12):
        print(f"  logged {times} x {line}")
