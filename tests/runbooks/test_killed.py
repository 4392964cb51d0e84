"""Kill -9 at every commit of script → agent → http → agent, and resume: no block acts twice, and none is left out.

A sweep goes on until a process survives: by then every commit was hit. `-s` prints the figures.
"""

import itertools
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable
from pathlib import Path
from signal import SIGKILL
from typing import Any

import pytest
from tests.crash.lab import Child, Kind, Place
from tests.crash.outside import Point
from tests.runbooks.killed_lab import INNER, Findings, KilledLab, acts_of, assert_sound, killed_lab, side_by_side
from tests.runbooks.killed_worker import BLOCKS
from tests.waiting import until

pytest.importorskip("acp")

POINTS: tuple[Point, ...] = ("commit:before", "commit:after")
ONCE = Counter(BLOCKS)
COMMITS = 17
"""How many there are at least in the story where nobody is asked: sometimes two facts are written together."""
QUESTIONS = ("runbook_script", "runbook_agent", "shell", "runbook_http", "runbook_acp", "agent_permission")
"""What is asked about in the story where everything is, up to the second script."""
MANY = 200
"""More commits than any story has."""


@pytest.fixture
async def killed(tmp_path: Path) -> AsyncGenerator[KilledLab]:
    async with killed_lab(tmp_path) as lab:
        yield lab


@pytest.mark.slow
async def test_a_kill_around_any_commit_leaves_every_block_to_act_once(killed: KilledLab):
    total = await sweep(killed, range(1, MANY))
    say(total, "around every commit")
    assert total.kills >= 2 * COMMITS
    # Around each of the blocks that may have acted: announced, perhaps done, and not told.
    assert total.unknowns == total.retried + total.skipped > len(BLOCKS)
    assert_sound(total)


@pytest.mark.slow
async def test_a_kill_of_the_resuming_process_leaves_every_block_to_act_once(killed: KilledLab):
    # The first is killed where our own agent's command is announced, the second one where the other agent has acted.
    firsts: list[tuple[Point, int]] = [("commit:after", 7), ("commit:before", 15)]
    total = await sweep_again(killed, firsts, ("commit:after",), range(1, MANY, 5))
    say(total, "around commits of the recovery")
    assert total.kills > 6
    assert_sound(total)


@pytest.mark.slow
async def test_whoever_decides_without_looking_gets_what_they_said_and_no_more(killed: KilledLab):
    again = await sweep(killed, range(2, COMMITS, 9), decision="retry")
    after = await sweep(killed, range(7, COMMITS, 8), decision="skip")
    say(again, "around every ninth commit, retry")
    say(after, "around every eighth commit, skip")
    assert again.unknowns == again.retried > 0 and after.unknowns == after.skipped > 0
    assert_sound(again)
    assert_sound(after)


@pytest.mark.slow
async def test_an_answer_by_another_process_outlives_those_who_asked(killed: KilledLab):
    found = await side_by_side(asked_and_answered(killed, number) for number in range(len(QUESTIONS)))
    total = added(findings for findings, _ in found)
    say(total, "killed while it waits, answered by a process that drives nothing")
    assert [tool for _, tool in found] == list(QUESTIONS)
    assert_sound(total)


@pytest.mark.slow
async def test_the_oracle_notices_a_block_that_acts_twice_and_one_that_never_acted(killed: KilledLab):
    twice = "echo script >> effects; echo script >> effects"
    found = await side_by_side(killed.finished(killed.place(), kills=0, first=code) for code in (twice, "true"))
    assert [(each.repeats, each.losses) for each in found] == [(1, 0), (0, 1)]


# The whole.


@pytest.mark.soak
@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
@pytest.mark.parametrize("decision", ["look", "retry", "skip"])
@pytest.mark.parametrize(
    "story",
    [
        pytest.param({}, id="trusted"),
        pytest.param({"trusted": "no", "asks": True}, id="asked"),
        pytest.param({"inner": INNER}, id="a part"),
        pytest.param({"orders": "run echo theirs >> effects"}, id="a command for the agent"),
    ],
)
async def test_a_kill_around_any_commit_of_any_story(tmp_path: Path, kind: Kind, decision: str, story: dict[str, Any]):
    async with killed_lab(tmp_path, kind) as lab:
        total = await sweep(lab, range(1, MANY), decision=decision, **story)
    say(total, f"around every commit, {decision}, {story}, {kind}")
    assert total.kills >= 2 * COMMITS
    assert_sound(total)


@pytest.mark.soak
@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
@pytest.mark.parametrize("first", range(1, COMMITS + 1, 2))
async def test_a_kill_around_any_commit_of_any_recovery(tmp_path: Path, kind: Kind, first: int):
    async with killed_lab(tmp_path, kind) as lab:
        total = await sweep_again(lab, [(point, first) for point in POINTS], POINTS, range(1, MANY))
    say(total, f"around every commit of the recovery from {first}, {kind}")
    assert_sound(total)


@pytest.mark.soak
@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
@pytest.mark.parametrize("number", range(len(QUESTIONS) + 1))
async def test_a_kill_of_whoever_answers_or_goes_on_after_an_answer(tmp_path: Path, kind: Kind, number: int):
    async with killed_lab(tmp_path, kind) as lab:

        async def one(point: Point, after: int) -> Findings | None:
            findings, _ = await asked_and_answered(lab, number, resuming=(point, after))
            assert_sound(findings)
            return findings if findings.kills > 1 else None

        answering = [await asked_and_answered(lab, number, answering=(point, 1)) for point in POINTS]
        total = added(findings for findings, _ in answering)
        for point in POINTS:
            total.add(await until_one_survives(one, point, range(1, MANY)))
    say(total, f"around the answer to question {number} and after it, {kind}")
    assert total.kills > 4
    assert_sound(total)


# How.


async def sweep(lab: KilledLab, numbers: range, **told: Any) -> Findings:
    """Kill one process after another, each a little later, and resume each."""

    async def one(point: Point, number: int) -> Findings | None:
        place = lab.place()
        if not await lab.killed(place, at=(point, number), **told):
            lab.done(place)
            return None
        findings = await lab.finished(place, kills=1, **told)
        _check_once(place, findings, told)
        return findings

    return added([await until_one_survives(one, point, numbers) for point in POINTS])


async def sweep_again(
    lab: KilledLab, firsts: list[tuple[Point, int]], points: tuple[Point, ...], numbers: range
) -> Findings:
    """Kill a process at one of these places, then the one that resumes, each a little later."""
    total = Findings()
    for first, second in itertools.product(firsts, points):

        async def one(point: Point, number: int, first: tuple[Point, int] = first) -> Findings | None:
            place = lab.place()
            assert await lab.killed(place, at=first)
            if not await lab.killed(place, at=(point, number)):
                lab.done(place)
                return None
            findings = await lab.finished(place, kills=2)
            _check_once(place, findings, {})
            return findings

        total.add(await until_one_survives(one, second, numbers))
    return total


async def until_one_survives(
    one: Callable[[Point, int], Awaitable[Findings | None]], point: Point, numbers: range, *, width: int = 3
) -> Findings:
    """A few at a time."""
    total = Findings()
    for start in range(0, len(numbers), width):
        found = await side_by_side((one(point, number) for number in numbers[start : start + width]), width=width)
        total.add(added(each for each in found if each is not None))
        if None in found:
            break
    return total


async def asked_and_answered(
    lab: KilledLab,
    number: int,
    *,
    answering: tuple[Point, int] | None = None,
    resuming: tuple[Point, int] | None = None,
) -> tuple[Findings, str]:
    """Killed while it waits for the answer to this question; then somebody answers, and somebody goes on."""
    place = lab.place()
    told: dict[str, Any] = {"trusted": "no", "asks": True}
    first = await lab.spawn(place, **told, answers=str(number))
    tool = await question_of(place, first)
    first.send(SIGKILL)
    assert await first.wait() == -SIGKILL
    kills = 1
    if answering is not None:
        code = await (await lab.spawn(place, "answer", at=answering, **told)).wait()
        assert code == -SIGKILL, place.log[-4000:]
        kills += 1
    else:
        answered = await (await lab.spawn(place, "answer", **told)).summary()
        assert answered["answers"] == ["approved"]
    if resuming is not None:
        kills += await lab.killed(place, at=resuming, **told)
    findings = await lab.finished(place, kills=kills, **told)
    _check_once(place, findings, told)
    return findings, tool


async def question_of(place: Place, asking: Child) -> str:
    """The tool that it waits to be asked about."""
    await until(lambda: bool(place.outside.notes("asked")) or asking.ended.done())
    assert not asking.ended.done(), place.log[-4000:]
    return place.outside.notes("asked")[-1]["tool"]


def _check_once(place: Place, findings: Findings, told: dict[str, Any]) -> None:
    """Who looks before they decide has every block act once, whatever was killed."""
    acts = acts_of(place)
    if told.get("decision", "look") == "look" and acts != ONCE:
        findings.problems.append(f"{place.home}: acted {acts}")


def added(found: Any) -> Findings:
    total = Findings()
    for each in found:
        total.add(each)
    return total


def say(findings: Findings, what: str) -> None:
    print(f"{what}: {findings}")
