"""Many processes on one store: a decision is taken once, an effect happens once, and nobody is in another's way."""

import itertools
from collections import Counter
from pathlib import Path
from signal import SIGCONT, SIGSTOP

import pytest
from tests.crash.lab import PATIENCE, Lab, Place, running_lab
from tests.crash.oracle import Findings, judge
from tests.crash.outside import CLASSES, Point
from tests.crash.worker import USER
from tests.waiting import HANG_SECONDS, until

from pollux.core.tools import Repeat
from pollux.engine.ports import RunRow

pytestmark = pytest.mark.slow

ABOUT_TO_ACT: tuple[tuple[Point, int], ...] = (("commit:after", 3), ("effect:before", 1))
"""Where a sleeper has announced its action and not begun it. No look at the world can see what it is about to do: only
a tool that takes our key is safe from it. With SQLite nobody takes a run from a driver that is merely stopped."""
LONG = 2 * HANG_SECONDS
"""For processes that have much to do."""
POINTS: tuple[Point, ...] = ("commit:before", "commit:after", "effect:before", "effect:after")


@pytest.mark.parametrize("rounds", [20, *[pytest.param(200, marks=pytest.mark.soak)] * 5])
async def test_of_64_resolvers_in_8_processes_exactly_one_is_heard_in_each_round(lab: Lab, rounds: int):
    place = lab.place()
    for first in range(0, rounds, 100):
        runs = {f"run_{number}": "once" for number in range(first, min(first + 100, rounds))}
        await (await lab.spawn("run", place, runs, approves=False, seconds=LONG)).summary()
    racers = [await lab.spawn("race", place, seconds=600.0) for _ in range(8)]
    for number in range(rounds):
        await noted(place, "ready", len(racers) * (number + 1))
        place.touch(f"go-{number}")
    summaries = [await racer.summary() for racer in racers]
    answers = Counter(answer for summary in summaries for answer in summary["answers"])
    findings = await judge(place)
    executions = len(place.outside.notes("effects"))
    print(f"{sum(answers.values())} answers to {rounds} approvals: {dict(answers)}, {executions} executions")
    assert answers == {"approved": rounds, "already_resolved": 63 * rounds}
    assert executions == rounds
    assert findings.problems == []


async def test_eight_processes_with_ten_runs_each_complete_all_without_an_error(lab: Lab):
    place = lab.place()
    children = [
        await lab.spawn("recover", place, {f"run_{process}x{number}": "keyed" for number in range(10)}, seconds=LONG)
        for process in range(8)
    ]
    summaries = [await child.summary() for child in children]
    findings = await judge(place)
    print(f"8 processes: {findings}")
    assert findings.problems == []
    assert (findings.runs, len(place.outside.notes("effects"))) == (80, 80)
    assert [summary["refused"] for summary in summaries] == [0] * 8
    # Each looked for abandoned runs while the others were at work, and found none.
    assert {row.epoch for row in await rows_of(place)} == {1}


async def test_an_approval_from_another_process_is_picked_up_by_the_driver_that_is_at_work(lab: Lab):
    place = lab.place()
    driver = await lab.spawn("run", place, {"run_a": "slow+keyed"}, approves=False)
    await noted(place, "waiting", 1)
    approver = await lab.spawn("run", place)
    await noted(place, "effects", 1)
    place.touch("release")
    await driver.summary()
    await approver.summary()
    (effect,) = place.outside.notes("effects")
    assert effect["pid"] == driver.pid.result()
    assert [row.epoch for row in await rows_of(place)] == [1]
    assert (await judge(place)).problems == []


async def test_a_run_that_waits_is_driven_by_whoever_approves_it_though_its_process_still_lives(lab: Lab):
    place = lab.place()
    idle = await lab.spawn("hold", place, {"run_a": "keyed"}, approves=False)
    await noted(place, "holding", 1)
    approver = await lab.spawn("run", place)
    await approver.summary()
    place.touch("leave")
    await idle.summary()
    (effect,) = place.outside.notes("effects")
    assert effect["pid"] == approver.pid.result()
    assert [row.epoch for row in await rows_of(place)] == [2]
    assert (await judge(place)).problems == []


async def test_a_driver_that_is_only_stopped_keeps_its_run(lab: Lab):
    place = lab.place()
    stopped = await lab.spawn("run", place, {"run_a": "keyed"}, at=("effect:before", 1), signal=SIGSTOP)
    assert await stopped.wait_stopped()
    other = await lab.spawn("recover", place, {})
    assert (await other.summary())["recovered"] == 0
    stopped.send(SIGCONT)
    await stopped.summary()
    assert [row.epoch for row in await rows_of(place)] == [1]
    assert (await judge(place)).problems == []


@pytest.mark.parametrize("kind", CLASSES)
async def test_a_driver_that_wakes_up_after_its_run_was_claimed_does_nothing_twice(lab: Lab, kind: Repeat):
    total = Findings()
    for point in POINTS:
        for number in itertools.count(1):
            findings = await stop_and_wake(lab, kind, point, number)
            if findings is None:
                break
            if kind == "checkable" and (point, number) in ABOUT_TO_ACT:
                assert findings.repeats == 1
                continue
            total.add(findings)
    print(f"stopped, claimed and woken, {kind}: {total}")
    assert total.problems == []
    assert total.runs == (10 if kind == "checkable" else 12)
    # Its effect was under way or done: the claim makes that unknown, and the sleeper's late word tells it after all.
    assert total.unknowns == total.late_truths == (4 if kind == "once" else 0)


async def stop_and_wake(lab: Lab, story: str, point: Point, number: int) -> Findings | None:
    """Stop a process there, let another take its run for abandoned, and wake it up. None if it never came there."""
    place = lab.place()
    sleeper = await lab.spawn("run", place, {"run_a": story}, at=(point, number), signal=SIGSTOP)
    if not await sleeper.wait_stopped():
        assert await sleeper.wait() == 0, place.log
        return None
    await lab.finish(place, impatient=True)
    sleeper.send(SIGCONT)
    await sleeper.summary()
    return await judge(place)


async def test_no_process_outlives_its_lab(tmp_path: Path):
    async with running_lab(tmp_path) as lab:
        place = lab.place()
        child = await lab.spawn("hold", place, {"run_a": "keyed"}, approves=False)
        await noted(place, "holding", 1)
    await until(lambda: not Path(f"/proc/{child.pid.result()}").exists())


async def noted(place: Place, name: str, lines: int) -> None:
    """Wait until so many lines were noted."""
    await until(lambda: len(place.outside.notes(name)) >= lines, seconds=PATIENCE)


async def rows_of(place: Place) -> list[RunRow]:
    store = place.store()
    await store.open()
    try:
        return list(await store.runs(USER, limit=1000))
    finally:
        await store.close()
