"""Kill one server after another, each a little later, and count what was found.

Commits and requests: until one is told to stop and does, so that every one was hit. Syncs: those of a server that lived
are counted, file by file, and each is then the last of another; start and orderly end included.
"""

import asyncio
import itertools
import random
import shutil
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator
from dataclasses import dataclass, field
from signal import SIGKILL
from typing import Any, Literal

from tests.crash.outside import Point
from tests.http.crash import KEYS, RESTART_SECONDS, Kill, Shop, Sync
from tests.http.crash_road import Travel, When

COMMITS: tuple[Point, ...] = ("commit:before", "commit:after")
WHENS: tuple[Literal["before", "after"], ...] = ("before", "after")
NEVER = Sync("before", KEYS, 10_000)
AT_ONCE = 3

MakeShop = Callable[[], Shop]


@dataclass
class Findings:
    """Counts over many servers. `problems` are the promises that were broken, in words."""

    kills: int = 0
    runs: int = 0
    unknown: int = 0
    slowest_recovery: float = 0.0
    problems: list[str] = field(default_factory=list[str])

    def add(self, other: "Findings") -> None:
        self.kills += other.kills
        self.runs += other.runs
        self.unknown += other.unknown
        self.slowest_recovery = max(self.slowest_recovery, other.slowest_recovery)
        self.problems += other.problems

    def __str__(self) -> str:
        counted = f"{self.kills} kills, {self.runs} runs, {len(self.problems)} problems, {self.unknown} unknown"
        return f"{counted}, slowest recovery {self.slowest_recovery:.1f} s"


async def sweep(make: MakeShop, kills: Iterator[Kill]) -> Findings:
    """Kill one server after another, until one stops as it is told."""
    total = Findings()
    for kill in kills:
        found = await kill_once(make(), kill)
        total.add(found)
        if not found.kills:
            break
    return total


async def sweep_again(make: MakeShop, first: Iterator[Kill], then: Callable[[], Iterator[Kill]]) -> Findings:
    """As `sweep`, and the server that recovers from each kill is swept as well."""
    total = Findings()
    for earlier in first:
        shop = make()
        if await shop.serve(earlier) == 0:
            break
        for kill in then():
            found = await kill_once(shop, kill)
            if not found.kills:
                total.problems += found.problems
                break
            found.kills += 1
            total.add(found)
            shop = make()
            assert await shop.serve(earlier) == -SIGKILL
    return total


async def at_every_sync(
    make: MakeShop, when: Literal["before", "after"], *, part: int, parts: int
) -> tuple[Counter[str], Findings]:
    """Kill a server at each of the syncs of a whole story, or at this part of them; all that there are, by file."""
    shop = make()
    assert await shop.serve(NEVER) == 0, shop.place.log
    synced = shop.syncs()
    every = [Sync(when, file, number) for file, times in synced.items() for number in range(1, times + 1)]
    total = Findings()
    for kill in every[part::parts]:
        total.add(await kill_once(make(), kill))
    assert total.kills == len(every[part::parts])
    return synced, total


async def at_random(
    torment: Callable[[random.Random], Awaitable[Findings]], *, kills: float, seeds: Iterator[int]
) -> Findings:
    """Torment after torment until there were so many kills. A problem names its seed."""
    total = Findings()
    while total.kills < kills:
        seed = next(seeds)
        found = await torment(random.Random(seed))
        assert found.problems == [], f"with seed {seed}"
        total.add(found)
    return total


async def outlive(shop: Shop, fates: Iterator[dict[str, Any]]) -> Findings:
    """A few servers that meet their fates one after the other, and a recovery."""
    kills = 0
    for fate in fates:
        code = await shop.serve(**fate)
        assert code in (0, -SIGKILL), shop.place.log[-4000:]
        if code == 0:
            # Everybody is content: there is nothing left to kill.
            break
        kills += 1
    found = await restart(shop, kills=kills)
    if not found.problems:
        shutil.rmtree(shop.place.home.parent)
    return found


async def together(works: Iterable[Coroutine[Any, Any, Findings]]) -> Findings:
    """All at once, counted as one."""
    total = Findings()
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(work) for work in works]
    for task in tasks:
        total.add(task.result())
    return total


async def kill_once(shop: Shop, kill: Kill) -> Findings:
    """Kill a server, unless it stops as it is told before; then let another one recover, and look."""
    code = await shop.serve(kill)
    assert code in (0, -SIGKILL), shop.place.log[-4000:]
    if isinstance(kill, Sync) and code:
        assert shop.syncs()[kill.file] == kill.number
    return await restart(shop, kills=int(code != 0))


async def restart(shop: Shop, *, kills: int) -> Findings:
    """Recover in a new server, and look."""
    seconds = await shop.recover()
    unknown = sum(customer.error == "outcome_unknown" for customer in shop.customers)
    return Findings(kills, len(shop.customers), unknown, seconds, list(shop.problems()))


def at_commits(point: Point) -> Iterator[Kill]:
    """The first commit, the second, and so on."""
    return ((point, number) for number in itertools.count(1))


def at_requests(when: When) -> Iterator[Kill]:
    """The first request into the world, the second, and so on."""
    return (Travel(when, number) for number in itertools.count(1))


def assert_sound(findings: Findings) -> None:
    assert findings.problems == []
    assert findings.slowest_recovery < RESTART_SECONDS
