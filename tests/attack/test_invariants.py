"""Two laws of every decision, over every built-in rule and tool.

No laundering: nothing put into the arguments makes the answer more permissive. Monotone limits: nor does padding.
Every marker goes into every place in every way, and every call is padded in every way by every amount, at length; a
part of that at every change. What is known of the call is drawn at random.
"""

import random
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from tests.attack.gate_cases import (
    AMOUNTS,
    Policy,
    answers,
    calls,
    facts_of,
    markers,
    padded,
    places,
    policies,
    toolbox,
    with_marker,
)

from pollux.engine.gate import Toolbox

AT_LENGTH, PARTS = 100_000, 5
PART = 1 / 8
Changed = tuple[str, dict[str, Any], dict[str, Any]]
"""A tool, its arguments, and the same arguments after somebody did something to them."""


@pytest.fixture(scope="module")
def box(tmp_path_factory: pytest.TempPathFactory) -> tuple[Toolbox, Path]:
    place = tmp_path_factory.mktemp("place")
    return toolbox(place), place


def laundered(place: Path) -> Iterator[Changed]:
    words = markers()
    for name, args in calls(place):
        for at in places(args):
            for marker in words:
                yield from ((name, args, changed) for changed in with_marker(args, marker, at))


def enlarged(place: Path) -> Iterator[Changed]:
    for name, args in calls(place):
        for amount in AMOUNTS:
            yield from ((name, args, changed) for changed in padded(args, amount))


def tried(box: Toolbox, cases: Iterable[Changed], dice: random.Random, *, each: int) -> int:
    """How many decisions were compared; fails at the first that came out more permissive."""
    before: dict[int, list[tuple[Policy, int]]] = {}
    compared = 0
    for name, args, changed in cases:
        if id(args) not in before:
            under = policies(dice)
            # What is allowed anyway cannot become more so.
            strict = [(policy, how) for policy, how in zip(under, answers(box, name, args, under), strict=True) if how]
            before[id(args)] = strict
        known = before[id(args)]
        some = dice.sample(known, min(each, len(known)))
        for (policy, was), now in zip(some, answers(box, name, changed, [one for one, _ in some]), strict=True):
            assert now >= was, (name, policy, str(changed)[:1000])
        compared += len(some)
    return compared


def test_every_base_call_is_one_that_its_tool_takes(box: tuple[Toolbox, Path]):
    policy: Policy = ((), facts_of(random.Random(1)))
    assert not [name for name, args in calls(box[1]) if answers(box[0], name, args, [policy]) == [3]]
    assert {name for name, _ in calls(box[1])} >= {name for name, tool in box[0].items() if tool.spec.side_effect}


@pytest.mark.parametrize(("changes", "least"), [(laundered, 2_000), (enlarged, 500)])
def test_no_change_of_arguments_widens_a_decision(box: tuple[Toolbox, Path], changes: Any, least: int):
    dice = random.Random(22)
    part = (case for case in changes(box[1]) if dice.random() < PART)
    compared = tried(box[0], part, dice, each=15)
    print(f"\n{compared} decisions, 0 more permissive")
    assert compared >= least


@pytest.mark.soak
@pytest.mark.parametrize("changes", [laundered, enlarged])
@pytest.mark.parametrize("part", range(PARTS))
def test_no_change_of_arguments_widens_a_decision_at_length(box: tuple[Toolbox, Path], changes: Any, part: int):
    dice, compared = random.Random(), 0
    while compared < AT_LENGTH // PARTS:
        compared += tried(box[0], islice(changes(box[1]), part, None, PARTS), dice, each=10)
    print(f"\n{compared} decisions, 0 more permissive")
