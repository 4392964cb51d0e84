"""Two laws of every decision, tried at random over every built-in rule and tool.

No laundering: nothing put into the arguments makes the answer more permissive. Monotone limits: nor does padding.
"""

import random
from pathlib import Path

import pytest
from tests.attack.gate_cases import RULES, calls, facts_of, markers, padded, places, strictness, toolbox, with_marker

from pollux.engine.gate import Toolbox

SMALL, LARGE = 2_000, 100_000


@pytest.fixture(scope="module")
def box(tmp_path_factory: pytest.TempPathFactory) -> tuple[Toolbox, Path]:
    place = tmp_path_factory.mktemp("place")
    return toolbox(place), place


def laundered(box: Toolbox, place: Path, *, cases: int, seed: int) -> int:
    """How many cases were tried; fails at the first that came out more permissive."""
    dice, words, known = random.Random(seed), markers(), calls(place)
    for case in range(cases):
        name, args = dice.choice(known)
        rules, facts = dice.choice(list(RULES.items())), facts_of(dice)
        marker = dice.choice(words)
        changed = with_marker(args, marker, dice.choice(list(places(args))), dice)
        before = strictness(box, name, args, facts, rules[1])
        after = strictness(box, name, changed, facts, rules[1])
        assert after >= before, (case, rules[0], name, marker, changed, facts)
    return cases


def padded_cases(box: Toolbox, place: Path, *, cases: int, seed: int) -> int:
    dice, known = random.Random(seed), calls(place)
    for case in range(cases):
        name, args = dice.choice(known)
        rules, facts = dice.choice(list(RULES.items())), facts_of(dice)
        changed = padded(name, args, dice)
        before = strictness(box, name, args, facts, rules[1])
        after = strictness(box, name, changed, facts, rules[1])
        assert after >= before, (case, rules[0], name, str(changed)[:500], facts)
    return cases


def test_every_base_call_is_one_that_its_tool_takes(box: tuple[Toolbox, Path]):
    dice = random.Random(1)
    facts = facts_of(dice)
    refused = [name for name, args in calls(box[1]) if strictness(box[0], name, args, facts, ()) == 3]
    assert not refused
    assert {name for name, _ in calls(box[1])} >= {name for name, tool in box[0].items() if tool.spec.side_effect}


def test_nothing_inside_arguments_widens_a_decision(box: tuple[Toolbox, Path]):
    assert laundered(*box, cases=SMALL, seed=22) == SMALL


def test_padding_a_call_never_makes_it_more_permissive(box: tuple[Toolbox, Path]):
    assert padded_cases(*box, cases=500, seed=22) == 500


@pytest.mark.soak
def test_nothing_inside_arguments_widens_a_decision_at_length(box: tuple[Toolbox, Path]):
    print(f"\n{laundered(*box, cases=LARGE, seed=random.randrange(2**32))} cases, 0 more permissive")


@pytest.mark.soak
def test_padding_never_widens_a_decision_at_length(box: tuple[Toolbox, Path]):
    print(f"\n{padded_cases(*box, cases=LARGE, seed=random.randrange(2**32))} cases, 0 more permissive")
