"""Kill -9 at every point of ask → approval → answer → effect → end, run the script again: nothing twice, nothing lost.

All of it through the public Agent. A sweep goes on until a script survives: by then every point of its kind was hit.
"""

import asyncio
import itertools
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from signal import SIGKILL

import pytest
from tests.crash.lab import STRACE
from tests.crash.outside import CLASSES, Fault, Point
from tests.sdk.crash import Script, log_of, run_process, told_by
from tests.waiting import HANG_SECONDS

from pollux.core.messages import Message, ToolResult

POINTS: tuple[Point, ...] = ("commit:before", "commit:after", "effect:before", "effect:after")
FIRST_KILLS: tuple[tuple[Point, int], ...] = (("commit:after", 2), ("effect:before", 1), ("effect:after", 1))
STORIES = (*CLASSES, "keyed+checkable+repeatable;checkable+keyed", "once+keyed;once")

Spoil = Callable[[Script, int], Script]
"""The script with the n-th fault of some kind."""

needs_strace = pytest.mark.skipif(STRACE is None, reason="strace is not installed: apt-get install strace")


@dataclass
class Findings:
    """What became of one script or many. `problems` are the promises that were broken, in words."""

    kills: int = 0
    unknowns: int = 0
    """Scripts that were told that nobody can know what became of a `once` call."""
    problems: list[str] = field(default_factory=list[str])

    def add(self, other: "Findings") -> None:
        self.kills += other.kills
        self.unknowns += other.unknowns
        self.problems += other.problems


@pytest.mark.slow
@pytest.mark.parametrize("kind", CLASSES)
def test_a_script_killed_around_any_commit_or_effect_repeats_and_loses_nothing(tmp_path: Path, kind: str):
    total = sweep_points(Script(tmp_path, kind))
    # Five commits, each before and after, and one effect, before and after.
    assert total.kills == 12
    # Between the commit that announces a `once` effect and the one that holds its result lie four points.
    assert total.unknowns == (4 if kind == "once" else 0)
    assert total.problems == []


@pytest.mark.slow
@needs_strace
@pytest.mark.parametrize("kind", ["keyed", "once"])
def test_a_script_killed_at_any_sync_repeats_and_loses_nothing(tmp_path: Path, kind: str):
    total = sweep(Script(tmp_path, kind), at_sync)
    assert total.kills >= 12
    assert total.problems == []


@pytest.mark.slow
def test_a_script_that_answers_when_it_is_asked_repeats_and_loses_nothing(tmp_path: Path):
    total = sweep_points(Script(tmp_path, "checkable+keyed", defers=False))
    assert total.kills > 12
    assert total.problems == []


def test_a_tool_that_acts_twice_is_noticed(tmp_path: Path):
    script = Script(tmp_path, "careless")
    assert run_process(replace(script, fault=Fault("effect:after", 1))) == -SIGKILL
    assert go_on(script).problems == ["1.0 (careless) happened 2 times"]


def test_a_call_that_is_told_but_never_happened_is_noticed(tmp_path: Path):
    script = Script(tmp_path, "keyed")
    assert run_process(script) == 0
    (tmp_path / "effects.jsonl").unlink()
    assert judge(script).problems == ["1.0 (keyed) is told as done, but never happened"]


# The large version.


@pytest.mark.soak
@pytest.mark.parametrize("defers", [True, False], ids=["answered-later", "answered-when-asked"])
@pytest.mark.parametrize("story", STORIES)
def test_every_point_of_every_story_repeats_and_loses_nothing(tmp_path: Path, story: str, defers: bool):
    script = Script(tmp_path, story, defers=defers)
    total = sweep_points(script)
    if STRACE:
        total.add(sweep(script, at_sync))
    print(f"{story}: {total.kills} kills, {total.unknowns} unknown outcomes")
    assert total.kills >= 12
    assert total.problems == []


@pytest.mark.soak
@pytest.mark.parametrize("story", STORIES)
def test_a_script_killed_again_as_it_goes_on_repeats_and_loses_nothing(tmp_path: Path, story: str):
    total = Findings()
    for first, point in itertools.product(FIRST_KILLS, POINTS):
        directory = tmp_path / f"{first[0]}-{point}"
        total.add(sweep(Script(directory, story), at_point(point), first=Fault(*first)))
    print(f"{story}: {total.kills} kills, {total.unknowns} unknown outcomes")
    assert total.kills > 20
    assert total.problems == []


def sweep_points(script: Script) -> Findings:
    """Around every commit and every effect."""
    total = Findings()
    for point in POINTS:
        total.add(sweep(replace(script, directory=script.directory / point), at_point(point)))
    return total


def sweep(script: Script, spoil: Spoil, *, first: Fault | None = None) -> Findings:
    """Kill one script after another, each a little later, until one survives; each was killed before by `first`."""
    total = Findings()
    for number in itertools.count(1):
        one = replace(script, directory=script.directory / f"{number}")
        if first:
            assert run_process(replace(one, fault=first)) == -SIGKILL, log_of(one)
            total.kills += 1
        code = run_process(spoil(one, number))
        if code == 0:
            total.add(judge(one))
            break
        assert code == -SIGKILL, log_of(one)
        total.kills += 1
        total.add(go_on(one))
    return total


def at_point(point: Point) -> Spoil:
    return lambda script, number: replace(script, fault=Fault(point, number))


def at_sync(script: Script, number: int) -> Script:
    return replace(script, sync=number)


def go_on(script: Script) -> Findings:
    """Run it once more, unharmed, and look."""
    asyncio.run(asyncio.wait_for(script.run(), HANG_SECONDS))
    return judge(script)


def judge(script: Script) -> Findings:
    """Hold what the session says against the world outside."""
    told = asyncio.run(told_by(script))
    results = _results(told.messages)
    unknown = {place for place, name in _calls(script) if name == "once" and _is_error(results.get(place))}
    problems = [problem for place, name in _calls(script) for problem in _broken(script, place, name, results)]
    if told.messages[-1].text != "All done." and not unknown:
        problems.append(f"it ended with {told.messages[-1].text!r}")
    problems += [f"it failed with {note['code']}" for note in script.outside.notes("failed") if not unknown]
    return Findings(unknowns=int(bool(unknown)), problems=[*problems, *told.audit_problems])


def _broken(script: Script, place: str, name: str, results: dict[str, ToolResult]) -> Iterator[str]:
    attempts, effects = (_count(script, notes)[place] for notes in ("attempts", "effects"))
    result, call = results.get(place), f"{place} ({name})"
    if effects > 1 and name != "repeatable":
        yield f"{call} happened {effects} times"
    if attempts > 1 and name == "once":
        yield f"{call} was attempted {attempts} times"
    if result is None and effects:
        yield f"{call} happened, but nobody is told"
    if result is not None and not result.is_error and not effects:
        yield f"{call} is told as done, but never happened"
    if _is_error(result) and name != "once":
        yield f"{call} failed"


def _calls(script: Script) -> list[tuple[str, str]]:
    """Every call of the story by its place, `turn.index`, as the end of its key has it."""
    turns = enumerate(script.story.split(";"), start=1)
    return [(f"{turn}.{index}", name) for turn, names in turns for index, name in enumerate(names.split("+"))]


def _results(messages: tuple[Message, ...]) -> dict[str, ToolResult]:
    turns = enumerate((message.parts for message in messages if message.role == "tool"), start=1)
    return {
        f"{turn}.{index}": part
        for turn, parts in turns
        for index, part in enumerate(parts)
        if isinstance(part, ToolResult)
    }


def _count(script: Script, name: str) -> Counter[str]:
    return Counter(note["key"].rpartition("_")[2] for note in script.outside.notes(name))


def _is_error(result: ToolResult | None) -> bool:
    return result is not None and result.is_error
