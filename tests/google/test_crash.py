"""Kill -9 at every commit, sync and request of connect → ask → approve → done, for both of Google's tools, over HTTP.

Judged by the workspace's own ledger: one line for each wish, as it was approved, never two; none without leave; no run
that is completed without its line; no outcome that is unknown; no draft left over.
"""

import itertools
import os
import random
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from pathlib import Path
from signal import SIGKILL
from typing import Any, Literal

import pytest
from tests.crash.lab import STRACE, Lab, running_lab
from tests.crash.outside import Point
from tests.google.crash import EVENT, MAIL, NAMES, Deed, Google, Newcomer, customer, open_google
from tests.http.crash import RESTART_SECONDS, RUN, STREAM, Kill, Shop, Sync
from tests.http.crash_road import Travel
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
    kill_once,
    outlive,
    restart,
    sweep,
    sweep_again,
    together,
)
from tests.waiting import HANG_SECONDS

from pollux.tools.google.gmail import LOOK_SECONDS

pytestmark = pytest.mark.slow

KILLS = int(os.environ.get("POLLUX_CRASH_KILLS", "500"))
SEED = int(os.environ.get("POLLUX_CRASH_SEED", "0"))
BATCHES = 2
SYNC_PARTS = 2
"""The syncs of a story are shared out among so many tests, so that workers can share them."""
COMMITS_OF_CONNECTING = 1
"""The secret together with the audit's word of it."""

PLACES: Mapping[str, Callable[[], Iterator[Kill]]] = {
    "commit:before": lambda: at_commits("commit:before"),
    "commit:after": lambda: at_commits("commit:after"),
    "request:before": lambda: at_requests("before"),
    "request:after": lambda: at_requests("after"),
}
"""Where a server can be made to end, one point after the other."""

needs_strace = pytest.mark.skipif(STRACE is None, reason="strace is not installed: apt-get install strace")
both = pytest.mark.parametrize("deed", [MAIL, EVENT], ids=lambda deed: deed.tool)


@pytest.fixture
async def lab(tmp_path: Path) -> AsyncGenerator[Lab]:
    async with running_lab(tmp_path, "tests.google.crash_worker") as running:
        yield running


@pytest.fixture
async def google(tmp_path: Path) -> AsyncGenerator[Google]:
    async with open_google(tmp_path / "google") as world:
        yield world


@both
@pytest.mark.parametrize("point", COMMITS)
async def test_a_server_killed_around_any_commit_repeats_and_loses_nothing(
    lab: Lab, google: Google, deed: Deed, point: Point
):
    total = await sweep(lambda: google.shop(lab, customer(deed)), at_commits(point))
    print(f"{point} every commit of {deed.tool}: {total}")
    assert total.kills == deed.commits
    assert_certain(total)


@both
@pytest.mark.parametrize("when", WHENS)
async def test_a_server_killed_at_any_request_of_its_own_repeats_and_loses_nothing(
    lab: Lab, google: Google, deed: Deed, when: Literal["before", "after"]
):
    total = await sweep(lambda: google.shop(lab, customer(deed)), at_requests(when))
    print(f"{when} every request of {deed.tool}: {total}")
    assert total.kills == deed.requests
    assert_certain(total)


@pytest.mark.parametrize(
    ("deed", "left"), [(MAIL, ["ada@example.com has 1 drafts left over"]), (EVENT, [])], ids=[MAIL.tool, EVENT.tool]
)
async def test_a_request_that_arrives_when_the_next_server_is_already_asking_repeats_nothing(
    lab: Lab, google: Google, deed: Deed, left: list[str]
):
    total = await sweep(lambda: google.shop(lab, customer(deed)), at_requests("late"))
    print(f"at every request of {deed.tool}, which arrives late: {total}")
    assert total.kills == deed.requests
    # A draft that comes after the mail was begun anew stays there, unsent: nobody knows of it.
    assert (total.problems, total.unknown) == (left, 0)


@needs_strace
@both
@pytest.mark.parametrize("when", WHENS)
@pytest.mark.parametrize("part", range(SYNC_PARTS))
async def test_a_server_killed_at_any_sync_repeats_and_loses_nothing(
    lab: Lab, google: Google, deed: Deed, when: Literal["before", "after"], part: int
):
    synced, total = await at_every_sync(lambda: google.shop(lab, customer(deed)), when, part=part, parts=SYNC_PARTS)
    print(f"{when} part {part} of the syncs of {deed.tool}, {dict(synced)}: {total}")
    assert synced.keys() >= {"pollux.db-wal", "audit-heads.jsonl"}
    assert_certain(total)


async def test_a_server_killed_while_an_account_is_connected_keeps_it_or_is_asked_again(lab: Lab, google: Google):
    commits: list[Kill] = [(point, number) for point in COMMITS for number in range(1, COMMITS_OF_CONNECTING + 1)]
    total = Findings()
    for kill in (*commits, *(Travel(when, 1) for when in WHENS)):
        total.add(await kill_once(google.new_shop(lab, Newcomer(MAIL.wish, workspace=google.workspace)), kill))
    print(f"while an account is connected: {total}")
    assert total.kills == 2 * COMMITS_OF_CONNECTING + 2
    assert_certain(total)


@both
async def test_what_was_done_before_a_kill_is_not_told_as_undone_while_google_is_away(
    lab: Lab, google: Google, deed: Deed
):
    shop = await killed_right_after_it_was_done(lab, google, deed)
    google.workspace.fault("401", path="/(gmail|calendar)/")
    google.workspace.fault("500", path="/token")
    # That it gives up looking in time is a deadline of its own; how long the rest takes is up to the machine.
    assert LOOK_SECONDS < RESTART_SECONDS
    shop.restart_seconds = LOOK_SECONDS + HANG_SECONDS
    found = await restart(shop, kills=1)
    assert (found.unknown, len(google.lines())) == (1, 1)
    assert "it ended failed (outcome_unknown)" in found.problems[0]


# That all this can be noticed.


@both
async def test_what_is_done_twice_is_noticed(lab: Lab, google: Google, deed: Deed):
    shop = await killed_right_after_it_was_done(lab, google, deed)
    google.ledger.write_text(google.ledger.read_text() * 2)
    problems = (await restart(shop, kills=1)).problems
    assert len(problems) == 2
    assert "done 2 times" in problems[0]
    assert "2 things were done for 1 wishes" in problems[1]


@both
async def test_what_is_lost_after_it_was_acknowledged_is_noticed(lab: Lab, google: Google, deed: Deed):
    shop = google.shop(lab, customer(deed))
    assert await shop.serve() == 0
    google.ledger.write_text("")
    problems = (await restart(shop, kills=0)).problems
    assert len(problems) == 2
    assert "acknowledged, but it was not done" in problems[0]


@pytest.mark.parametrize(("approved", "done"), [("bob@", "eve@"), ("Report", "Rapport"), ('"sha256":"', '"sha256":"0')])
async def test_another_mail_than_the_approved_one_is_noticed(lab: Lab, google: Google, approved: str, done: str):
    shop = await killed_right_after_it_was_done(lab, google, MAIL)
    google.ledger.write_text(google.ledger.read_text().replace(approved, done))
    problems = (await restart(shop, kills=1)).problems
    assert "it is not what was approved" in problems[-1]


async def test_a_draft_that_is_left_over_is_noticed(lab: Lab, google: Google):
    shop = google.shop(lab, customer(MAIL))
    assert await shop.serve() == 0
    google.workspace.accounts.mailbox("ada@example.com").keep_draft(b"To: bob@example.com\r\n\r\n", thread="", now=0)
    (problem,) = (await restart(shop, kills=0)).problems
    assert problem == "ada@example.com has 1 drafts left over"


# The large version.


@pytest.mark.soak
@both
@pytest.mark.parametrize("first", PLACES)
@pytest.mark.parametrize("then", PLACES)
async def test_a_server_killed_again_as_it_recovers_repeats_and_loses_nothing(
    lab: Lab, google: Google, deed: Deed, first: str, then: str
):
    total = await sweep_again(lambda: google.shop(lab, customer(deed), calls=1000), PLACES[first](), PLACES[then])
    print(f"{deed.tool}, {first} each, then {then} each: {total}")
    assert_certain(total)


@pytest.mark.soak
@both
@pytest.mark.parametrize("batch", range(BATCHES))
async def test_servers_killed_at_random_repeat_and_lose_nothing(lab: Lab, tmp_path: Path, deed: Deed, batch: int):
    seeds = itertools.count((SEED * BATCHES + batch) * 1_000_000)

    async def keep_killing(number: int) -> Findings:
        async with open_google(tmp_path / f"google-{number}", names=NAMES) as google:

            async def torment(dice: random.Random) -> Findings:
                names = NAMES[: dice.randint(1, len(NAMES))]
                customers = [customer(deed, name, dice.choice((RUN, STREAM))) for name in names]
                fates = (some_fate(dice, deed, len(customers)) for _ in range(dice.randint(1, 5)))
                return await outlive(google.shop(lab, *customers, calls=1000), fates)

            return await at_random(torment, kills=KILLS / BATCHES / AT_ONCE, seeds=seeds)

    total = await together(keep_killing(number) for number in range(AT_ONCE))
    print(f"{deed.tool} at random: {total}")
    assert_certain(total)


def some_fate(dice: random.Random, deed: Deed, stories: int) -> dict[str, Any]:
    """A kill somewhere in as many stories, or by the clock."""
    match dice.choice(["commit", "request", "clock", *(["sync"] if STRACE else [])]):
        case "commit":
            return {"kill": (dice.choice(COMMITS), dice.randint(1, deed.commits * stories))}
        case "request":
            return {"kill": Travel(dice.choice(WHENS), dice.randint(1, deed.requests * stories))}
        case "sync":
            files = {"pollux.db-wal": 2 + deed.commits * stories, "audit-heads.jsonl": 3 * stories}
            file, most = dice.choice(list(files.items()))
            return {"kill": Sync(dice.choice(WHENS), file, dice.randint(1, most))}
        case _:
            return {"seconds": dice.uniform(0.05, 1.5)}


async def killed_right_after_it_was_done(lab: Lab, google: Google, deed: Deed) -> Shop:
    """The last request of a story but one does it; the last tells the model."""
    shop = google.shop(lab, customer(deed))
    assert await shop.serve(Travel("after", deed.requests - 1)) == -SIGKILL
    assert len(google.lines()) == 1
    return shop


def assert_certain(findings: Findings) -> None:
    assert_sound(findings)
    assert findings.unknown == 0
