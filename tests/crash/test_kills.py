"""Kill -9 at every point of run → approval → approve → execute → finish, restart, recover: nothing twice, nothing lost.

A sweep goes on until a process survives: by then every point of its kind was hit.
"""

import itertools
from collections.abc import Callable
from pathlib import Path
from signal import SIGKILL
from typing import Any

import pytest
from tests.crash.lab import STRACE, Lab, Place, Trace, running_lab
from tests.crash.oracle import Findings, judge
from tests.crash.outside import CLASSES, Point

from pollux.core.tools import Repeat

pytestmark = pytest.mark.slow

POINTS: tuple[Point, ...] = ("commit:before", "commit:after", "effect:before", "effect:after")
FIRST_KILLS: tuple[tuple[Point, int], ...] = (("commit:after", 2), ("effect:before", 1), ("effect:after", 1))
EVERYTHING = "keyed+once+checkable+repeatable;keyed+checkable"

needs_strace = pytest.mark.skipif(STRACE is None, reason="strace is not installed: apt-get install strace")


@pytest.mark.parametrize("kind", CLASSES)
async def test_a_kill_around_any_commit_or_effect_repeats_and_loses_nothing(either_lab: Lab, kind: Repeat):
    total = Findings()
    for point in POINTS:
        total.add(await sweep(either_lab, kind, lambda number, point=point: {"at": (point, number)}))
    say(total, f"around every commit and effect of {kind}")
    # Five commits, each before and after, and one effect, before and after.
    assert total.kills == 12
    # Between the commit that announces a `once` effect and the one that holds its result lie four points.
    assert total.unknowns == (4 if kind == "once" else 0)
    assert_sound(total)


@pytest.mark.story
async def test_a_kill_around_any_commit_of_a_run_with_parallel_calls_repeats_and_loses_nothing(lab: Lab):
    total = Findings()
    for point in POINTS:
        total.add(await sweep(lab, EVERYTHING, lambda number, point=point: {"at": (point, number)}))
    say(total, f"around every commit and effect of {EVERYTHING}")
    assert total.kills > 30
    assert_sound(total)


@needs_strace
@pytest.mark.parametrize("kind", CLASSES)
async def test_a_kill_at_any_sync_repeats_and_loses_nothing(lab: Lab, kind: Repeat):
    total = await sweep(lab, kind, lambda number: {"trace": Trace("fsync,fdatasync", str(number))})
    # Counted by themselves: the sync of each head comes after that of its commit, and is never the first of its number.
    heads = await sweep(lab, kind, lambda number: {"trace": Trace("fsync", str(number), file="audit-heads.jsonl")})
    # The question, the answer and the outcome.
    assert heads.kills == 3
    total.add(heads)
    say(total, f"at every fsync of {kind}")
    assert total.kills >= 12
    assert_sound(total)


@needs_strace
async def test_a_kill_at_a_write_repeats_and_loses_nothing(lab: Lab):
    total = await sweep(lab, EVERYTHING, lambda number: {"trace": Trace("pwrite64", str(number))}, step=25)
    say(total, f"at every 25th write of {EVERYTHING}")
    assert total.kills > 10
    assert_sound(total)


@pytest.mark.parametrize("kind", CLASSES)
async def test_a_kill_of_the_recovering_process_repeats_and_loses_nothing(lab: Lab, kind: Repeat):
    await kill_the_recovering(lab, kind)


@pytest.mark.soak
@pytest.mark.parametrize("kind", CLASSES)
async def test_a_kill_of_the_recovering_process_on_postgres_repeats_and_loses_nothing(tmp_path: Path, kind: Repeat):
    async with running_lab(tmp_path, kind="postgres") as lab:
        await kill_the_recovering(lab, kind)


@pytest.mark.soak
async def test_a_kill_of_long_stories_on_postgres_repeats_and_loses_nothing(tmp_path: Path):
    total = Findings()
    async with running_lab(tmp_path, kind="postgres") as lab:
        for point in POINTS:
            for story, child in ((EVERYTHING, ""), ("child", "run_a-1.0")):
                total.add(await sweep(lab, story, lambda number, point=point: {"at": (point, number)}, child=child))
    say(total, f"around every commit and effect of {EVERYTHING} and of a child run, on PostgreSQL")
    assert total.kills > 50
    assert_sound(total)


async def kill_the_recovering(lab: Lab, kind: Repeat) -> None:
    total = Findings()
    for first, point in itertools.product(FIRST_KILLS, POINTS):
        for number in itertools.count(1):
            place = lab.place()
            killed = await lab.spawn("run", place, {"run_a": kind}, at=first)
            assert await killed.wait() == -SIGKILL
            again = await lab.spawn("recover", place, at=(point, number))
            code = await again.wait()
            if code == 0:
                break
            assert code == -SIGKILL, place.log
            total.add(await restart(lab, place, kills=2))
    say(total, f"around every commit and effect of the recovery of {kind}")
    assert total.kills > 10
    assert_sound(total)


@pytest.mark.parametrize("kind", CLASSES)
async def test_a_kill_while_a_run_is_being_cancelled_leaves_it_cancelled_or_completed(either_lab: Lab, kind: Repeat):
    total = Findings()
    for point in ("commit:before", "commit:after"):
        for number in itertools.count(4):
            place = either_lab.place()
            place.touch("hold")
            child = await either_lab.spawn("cancel", place, {"run_a": kind}, at=(point, number))
            if await child.wait() == 0:
                break
            (place.outside.directory / "hold").unlink()
            total.add(await restart(either_lab, place))
    say(total, f"around every commit of a cancellation of {kind}")
    assert total.kills == 4
    # Before the request was written there is nothing to cancel: that run goes on.
    assert total.cancelled == 3
    assert_sound(total)


async def test_a_kill_around_any_commit_of_a_child_run_reaches_its_parent_all_the_same(lab: Lab):
    total = Findings()
    for point in POINTS:
        total.add(await sweep(lab, "child", lambda number, point=point: {"at": (point, number)}, child="run_a-1.0"))
    say(total, "around every commit and effect of a run and its child")
    assert total.kills > 20
    assert_sound(total)


async def test_the_oracle_notices_a_tool_that_acts_twice(lab: Lab):
    place = lab.place()
    killed = await lab.spawn("run", place, {"run_a": "careless"}, at=("effect:after", 1))
    assert await killed.wait() == -SIGKILL
    findings = await restart(lab, place)
    assert (findings.repeats, findings.losses) == (1, 0)


async def test_the_oracle_notices_a_tool_that_never_acted(lab: Lab):
    place = lab.place()
    await (await lab.spawn("run", place, {"run_a": "idle"})).summary()
    findings = await judge(place)
    assert (findings.repeats, findings.losses) == (0, 1)


async def sweep(
    lab: Lab, story: str, fault: Callable[[int], dict[str, Any]], *, step: int = 1, child: str = ""
) -> Findings:
    """Kill one process after another, each a little later, until one comes to its end."""
    total = Findings()
    for number in itertools.count(1, step):
        place = lab.place()
        process = await lab.spawn("run", place, {"run_a": story}, **fault(number))
        code = await process.wait()
        if code == 0:
            break
        assert code == -SIGKILL, place.log
        total.add(await restart(lab, place, child=child))
    return total


async def restart(lab: Lab, place: Place, *, kills: int = 1, child: str = "") -> Findings:
    """Recover in a new process, and look. `child` is the run that a planned one begins by itself."""
    summary = await lab.finish(place)
    place.runs |= {child: "keyed"} if child else {}
    findings = await judge(place)
    findings.kills, findings.slowest_recovery = kills, summary["seconds"]
    lab.done(place)
    return findings


def say(findings: Findings, what: str) -> None:
    print(f"{what}: {findings}")


def assert_sound(findings: Findings) -> None:
    assert findings.problems == []
    # A recovery that hangs has ended its process with an error.
    assert (findings.repeats, findings.losses) == (0, 0)
