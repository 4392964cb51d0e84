"""Kill -9 at every commit and every sync of run → approve → execute, all of it over HTTP: nothing twice, nothing lost.

Commits: one server after another is killed, each one commit later, until one is told to stop and does. Syncs: those of
a server that lived are counted, file by file, and each is then the last of another; start and orderly end included.
"""

import asyncio
import itertools
import json
import os
import random
import shutil
from collections import Counter
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from pathlib import Path
from signal import SIGKILL
from typing import Any, Literal

import aiohttp
import pytest
from tests.crash.lab import STRACE, Lab, running_lab
from tests.crash.outside import Point
from tests.http.crash import KEYS, MAIL, PROMPT, RUN, STREAM, Customer, Kill, Route, Shop, Sync
from tests.http.site import TOKENS, Person, process

from pollux.emulator import run_emulator

KILLS = int(os.environ.get("POLLUX_CRASH_KILLS", "1000"))
SEED = int(os.environ.get("POLLUX_CRASH_SEED", "0"))
BATCHES = 4
AT_ONCE = 3
COMMITS_OF_A_STORY = 5
"""As many as in tests/crash: the door commits nothing of its own."""
RIGHT_AFTER_THE_MAIL: Kill = ("commit:before", 4)
NEVER = Sync("before", KEYS, 10_000)
COMMITS: tuple[Point, ...] = ("commit:before", "commit:after")

needs_strace = pytest.mark.skipif(STRACE is None, reason="strace is not installed: apt-get install strace")


@dataclass
class Findings:
    """Counts over many servers. `problems` are the promises that were broken, in words."""

    kills: int = 0
    runs: int = 0
    slowest_recovery: float = 0.0
    problems: list[str] = field(default_factory=list[str])

    def add(self, other: "Findings") -> None:
        self.kills += other.kills
        self.runs += other.runs
        self.slowest_recovery = max(self.slowest_recovery, other.slowest_recovery)
        self.problems += other.problems

    def __str__(self) -> str:
        counted = f"{self.kills} kills, {self.runs} runs, {len(self.problems)} problems"
        return f"{counted}, slowest recovery {self.slowest_recovery:.1f} s"


@pytest.fixture
async def lab(tmp_path: Path) -> AsyncGenerator[Lab]:
    async with running_lab(tmp_path, "tests.http.crash_worker") as running:
        yield running


@pytest.fixture
async def model() -> AsyncGenerator[str]:
    """Where the model is. It outlives every server."""
    async with run_emulator(port=0) as emulator:
        yield emulator.url


async def test_a_server_killed_while_it_waits_sends_the_mail_once_it_is_back_and_approved(tmp_path: Path, model: str):
    environ = {"GEMINI_API_KEY": "a-key", "GOOGLE_GEMINI_BASE_URL": model}
    outbox = tmp_path / "home" / "outbox.jsonl"
    async with aiohttp.ClientSession() as http:
        async with process(tmp_path, **environ) as first:
            asked = await Person(http, first.url, TOKENS["ada"]).run(PROMPT)
            first.kill()
        assert asked["status"] == "awaiting_confirmation"
        assert not outbox.exists()

        async with process(tmp_path, **environ) as second:
            ada = Person(http, second.url, TOKENS["ada"])
            (approval,) = asked["approvals"]
            got = await ada.resolve(approval["id"])
            assert (got.status, got.body["run"]["status"]) == (200, "completed")
            again = await ada.resolve(approval["id"])
            assert (again.status, again.code) == (409, "already_resolved")

            (mail,) = map(json.loads, outbox.read_text().splitlines())
            assert mail.items() >= MAIL.items()
            audit = (await ada.get("/api/agent/audit/verify")).body
            assert (audit["valid"], audit["problems"]) == (True, [])


@pytest.mark.parametrize("route", [RUN, STREAM])
async def test_a_server_killed_around_any_commit_repeats_and_loses_nothing(lab: Lab, model: str, route: Route):
    total = Findings()
    for point in COMMITS:
        total.add(await sweep(lab, model, point, route))
    print(f"around every commit of {route}: {total}")
    assert total.kills == 2 * COMMITS_OF_A_STORY
    assert_sound(total)


@needs_strace
@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_server_killed_at_any_sync_repeats_and_loses_nothing(
    lab: Lab, model: str, when: Literal["before", "after"]
):
    total = Findings()
    synced = await syncs_of_a_whole_story(lab, model)
    for file, times in synced.items():
        for number in range(1, times + 1):
            total.add(await kill_once(shop_in(lab, model), Sync(when, file, number)))
    print(f"{when} every sync of {dict(synced)}: {total}")
    assert synced.keys() >= {"pollux.db-wal", "audit-heads.jsonl", "outbox.jsonl"}
    assert total.kills == synced.total()
    assert_sound(total)


async def test_a_mail_that_is_sent_twice_is_noticed(lab: Lab, model: str):
    shop = shop_in(lab, model)
    assert await shop.serve(RIGHT_AFTER_THE_MAIL) == -SIGKILL
    shop.outbox.write_text(shop.outbox.read_text() * 2)
    problems = (await restart(shop, kills=1)).problems
    assert len(problems) == 2
    assert "sent 2 times" in problems[0]


async def test_a_mail_that_is_lost_after_it_was_acknowledged_is_noticed(lab: Lab, model: str):
    shop = shop_in(lab, model)
    assert await shop.serve() == 0
    shop.outbox.unlink()
    problems = (await restart(shop, kills=0)).problems
    assert len(problems) == 2
    assert "acknowledged, but the mail was not sent" in problems[0]


async def test_an_audit_that_does_not_fit_its_heads_is_noticed(lab: Lab, model: str):
    shop = shop_in(lab, model)
    assert await shop.serve(RIGHT_AFTER_THE_MAIL) == -SIGKILL
    heads = shop.place.home / "audit-heads.jsonl"
    heads.write_text(heads.read_text().replace('"hash": "', '"hash": "0'))
    (problem,) = (await restart(shop, kills=1)).problems
    assert "the audit: " in problem


# The large version.


@pytest.mark.soak
@pytest.mark.parametrize("route", [RUN, STREAM])
@pytest.mark.parametrize("first", COMMITS)
async def test_a_server_killed_again_as_it_recovers_repeats_and_loses_nothing(
    lab: Lab, model: str, first: Point, route: Route
):
    total = Findings()
    for earlier, point in itertools.product(range(1, COMMITS_OF_A_STORY + 1), COMMITS):
        for number in itertools.count(1):
            shop = shop_in(lab, model, route)
            shop.calls = 1000
            assert await shop.serve((first, earlier)) == -SIGKILL
            found = await kill_once(shop, (point, number))
            if not found.kills:
                break
            found.kills += 1
            total.add(found)
    print(f"{first} every commit of {route}, and around every commit afterwards: {total}")
    assert_sound(total)


@pytest.mark.soak
@pytest.mark.parametrize("batch", range(BATCHES))
async def test_servers_killed_at_random_repeat_and_lose_nothing(lab: Lab, model: str, batch: int):
    total = Findings()
    seeds = itertools.count((SEED * BATCHES + batch) * 1_000_000)

    async def keep_killing() -> None:
        while total.kills < KILLS / BATCHES:
            seed = next(seeds)
            found = await torment(lab, model, random.Random(seed))
            assert found.problems == [], f"with seed {seed}"
            total.add(found)

    async with asyncio.TaskGroup() as group:
        for _ in range(AT_ONCE):
            group.create_task(keep_killing())
    print(f"at random: {total}")
    assert_sound(total)


async def torment(lab: Lab, model: str, dice: random.Random) -> Findings:
    """Some customers at once, a few servers that are killed one after the other, and a recovery."""
    customers = [Customer(f"customer{n}", dice.choice((RUN, STREAM))) for n in range(dice.randint(1, 6))]
    shop = Shop(lab, lab.place(), model, customers, calls=1000)
    kills = 0
    for _ in range(dice.randint(1, 5)):
        code = await shop.serve(**some_fate(dice, len(customers)))
        assert code in (0, -SIGKILL), shop.place.log[-4000:]
        if code == 0:
            # Everybody is content: there is nothing left to kill.
            break
        kills += 1
    found = await restart(shop, kills=kills)
    if not found.problems:
        shutil.rmtree(shop.place.home.parent)
    return found


def some_fate(dice: random.Random, stories: int) -> dict[str, Any]:
    """A kill somewhere in as many stories, or by the clock."""
    match dice.choice(["commit", "clock", *(["sync"] if STRACE else [])]):
        case "commit":
            return {"kill": (dice.choice(COMMITS), dice.randint(1, COMMITS_OF_A_STORY * stories))}
        case "sync":
            files = {"pollux.db-wal": 3 + 5 * stories, "audit-heads.jsonl": 3 * stories, "outbox.jsonl": 1}
            file, most = dice.choice(list(files.items()))
            return {"kill": Sync(dice.choice(("before", "after")), file, dice.randint(1, most))}
        case _:
            return {"seconds": dice.uniform(0.03, 0.3)}


async def sweep(lab: Lab, model: str, point: Point, route: Route) -> Findings:
    """Kill one server after another, each a little later, until one stops as it is told."""
    total = Findings()
    for number in itertools.count(1):
        found = await kill_once(shop_in(lab, model, route), (point, number))
        total.add(found)
        if not found.kills:
            break
    return total


async def syncs_of_a_whole_story(lab: Lab, model: str) -> Counter[str]:
    """Every file that is synced from the first start of a server to its end, and how often."""
    shop = shop_in(lab, model)
    assert await shop.serve(NEVER) == 0, shop.place.log
    return shop.syncs()


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
    return Findings(kills, len(shop.customers), seconds, list(shop.problems()))


def shop_in(lab: Lab, model: str, route: Route = RUN) -> Shop:
    """A new place with one customer."""
    return Shop(lab, lab.place(), model, [Customer(route=route)])


def assert_sound(findings: Findings) -> None:
    assert findings.problems == []
    assert findings.slowest_recovery < 30
