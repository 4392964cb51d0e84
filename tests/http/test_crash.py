"""Kill -9 at every commit, sync and model call of run → approve → execute over HTTP: nothing twice, nothing lost."""

import itertools
import json
import os
import random
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from signal import SIGKILL
from typing import Any, Literal

import aiohttp
import pytest
from tests.crash.lab import STRACE, Lab, running_lab
from tests.crash.outside import Point
from tests.http.crash import RUN, STREAM, Customer, Kill, Route, Shop, Sync, Wish
from tests.http.crash_road import Road, open_road
from tests.http.crash_sweep import (
    AT_ONCE,
    COMMITS,
    WHENS,
    Findings,
    assert_sound,
    at_commits,
    at_every_sync,
    at_random,
    at_requests,
    outlive,
    restart,
    sweep,
    sweep_again,
    together,
)
from tests.http.site import TOKENS, Person, process

from pollux.emulator import run_emulator

pytestmark = pytest.mark.slow

KILLS = int(os.environ.get("POLLUX_CRASH_KILLS", "1000"))
SEED = int(os.environ.get("POLLUX_CRASH_SEED", "0"))
BATCHES = 4
SYNC_PARTS = 3
"""The syncs of a story are shared out among so many tests, so that workers can share them."""
COMMITS_OF_A_STORY = 5
"""As many as in tests/crash: the door commits nothing of its own."""
MODEL_CALLS_OF_A_STORY = 2
RIGHT_AFTER_THE_MAIL: Kill = ("commit:before", 4)
MAIL = {"to": "bob@example.com", "subject": "Report", "body": "Here is the report."}
REPORT = Wish("email Bob the report", MAIL)

needs_strace = pytest.mark.skipif(STRACE is None, reason="strace is not installed: apt-get install strace")


@dataclass(frozen=True)
class Outbox:
    """The world of `demo_mail`: a file with a line for each mail. Its keys are the actions' ids."""

    path: Path
    model: str
    tools: Sequence[str] = ("demo_mail",)

    @property
    def environ(self) -> Mapping[str, str]:
        return {"GEMINI_API_KEY": "a-key", "GOOGLE_GEMINI_BASE_URL": self.model}

    def times(self, customer: Customer) -> int:
        return sum(mail["id"] == customer.action_id for mail in self._mails())

    def oddities(self, customers: Sequence[Customer]) -> Iterator[str]:
        mails = self._mails()
        if len(mails) > len(customers):
            yield f"{len(mails)} mails were sent for {len(customers)} wishes"
        for mail in mails:
            if {name: mail[name] for name in MAIL} != MAIL:
                yield f"{mail['id']}: another mail was sent than the one that was approved"

    def _mails(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.path.read_text().splitlines()] if self.path.exists() else []


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
            asked = await Person(http, first.url, TOKENS["ada"]).run(REPORT.prompt)
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


@pytest.mark.parametrize("point", COMMITS)
@pytest.mark.parametrize("route", [RUN, STREAM])
async def test_a_server_killed_around_any_commit_repeats_and_loses_nothing(
    lab: Lab, model: str, route: Route, point: Point
):
    total = await sweep(lambda: shop_in(lab, model, route), at_commits(point))
    print(f"{point} every commit of {route}: {total}")
    assert total.kills == COMMITS_OF_A_STORY
    assert_sound(total)


@needs_strace
@pytest.mark.parametrize("part", range(SYNC_PARTS))
@pytest.mark.parametrize("when", WHENS)
async def test_a_server_killed_at_any_sync_repeats_and_loses_nothing(
    lab: Lab, model: str, when: Literal["before", "after"], part: int
):
    synced, total = await at_every_sync(lambda: shop_in(lab, model), when, part=part, parts=SYNC_PARTS)
    print(f"{when} part {part} of the syncs of {dict(synced)}: {total}")
    assert synced.keys() >= {"pollux.db-wal", "audit-heads.jsonl", "outbox.jsonl"}
    assert_sound(total)


@pytest.mark.parametrize("when", WHENS)
async def test_a_server_killed_at_any_model_call_repeats_and_loses_nothing(
    lab: Lab, model: str, when: Literal["before", "after"]
):
    async with open_road() as road, road.to(model) as url:
        total = await sweep(lambda: shop_with(lab, url, [Customer(REPORT)], road), at_requests(when))
    print(f"{when} every model call: {total}")
    assert total.kills == MODEL_CALLS_OF_A_STORY
    assert_sound(total)


async def test_a_mail_that_is_sent_twice_is_noticed(lab: Lab, model: str):
    shop = shop_in(lab, model)
    assert await shop.serve(RIGHT_AFTER_THE_MAIL) == -SIGKILL
    outbox_of(shop).write_text(outbox_of(shop).read_text() * 2)
    problems = (await restart(shop, kills=1)).problems
    assert len(problems) == 2
    assert "done 2 times" in problems[0]


async def test_a_mail_that_is_lost_after_it_was_acknowledged_is_noticed(lab: Lab, model: str):
    shop = shop_in(lab, model)
    assert await shop.serve() == 0
    outbox_of(shop).unlink()
    problems = (await restart(shop, kills=0)).problems
    assert len(problems) == 2
    assert "acknowledged, but it was not done" in problems[0]


async def test_an_audit_that_does_not_fit_its_heads_is_noticed(lab: Lab, model: str):
    shop = shop_in(lab, model)
    assert await shop.serve(RIGHT_AFTER_THE_MAIL) == -SIGKILL
    heads = shop.place.home / "audit-heads.jsonl"
    begun, first, *others = heads.read_text().splitlines(keepends=True)
    heads.write_text("".join([begun, first.replace('"hash": "', '"hash": "0'), *others]))
    (problem,) = (await restart(shop, kills=1)).problems
    assert "the audit: " in problem


# The large version.


@pytest.mark.soak
@pytest.mark.parametrize("route", [RUN, STREAM])
@pytest.mark.parametrize("first", COMMITS)
async def test_a_server_killed_again_as_it_recovers_repeats_and_loses_nothing(
    lab: Lab, model: str, first: Point, route: Route
):
    def make() -> Shop:
        shop = shop_in(lab, model, route)
        shop.calls = 1000
        return shop

    total = Findings()
    for point in COMMITS:
        total.add(await sweep_again(make, at_commits(first), lambda point=point: at_commits(point)))
    print(f"{first} every commit of {route}, and around every commit afterwards: {total}")
    assert_sound(total)


@pytest.mark.soak
@pytest.mark.parametrize("batch", range(BATCHES))
async def test_servers_killed_at_random_repeat_and_lose_nothing(lab: Lab, model: str, batch: int):
    seeds = itertools.count((SEED * BATCHES + batch) * 1_000_000)

    async def torment(dice: random.Random) -> Findings:
        customers = [Customer(REPORT, f"customer{n}", dice.choice((RUN, STREAM))) for n in range(dice.randint(1, 6))]
        shop = shop_with(lab, model, customers)
        shop.calls = 1000
        fates = (some_fate(dice, len(customers)) for _ in range(dice.randint(1, 5)))
        return await outlive(shop, fates)

    shares = (at_random(torment, kills=KILLS / BATCHES / AT_ONCE, seeds=seeds) for _ in range(AT_ONCE))
    total = await together(shares)
    print(f"at random: {total}")
    assert_sound(total)


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


def shop_in(lab: Lab, model: str, route: Route = RUN) -> Shop:
    """A new place with one customer."""
    return shop_with(lab, model, [Customer(REPORT, route=route)])


def shop_with(lab: Lab, model: str, customers: list[Customer], road: Road | None = None) -> Shop:
    place = lab.place()
    return Shop(lab, place, Outbox(place.home / "outbox.jsonl", model), customers, road)


def outbox_of(shop: Shop) -> Path:
    return shop.place.home / "outbox.jsonl"
