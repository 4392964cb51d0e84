"""Two laws of every decision, over every built-in rule and tool.

No laundering: nothing put into the arguments makes the answer more permissive. Monotone limits: nor does padding.
Every marker goes into every place in every way, and every call is padded in every way by every amount, at length; a
part of that at every change. What is known of the call is drawn at random.
"""

import ast
import random
import re
from collections.abc import Iterable, Iterator
from importlib import import_module
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
    reworded,
    subjects_of,
    toolbox,
    with_marker,
)

import pollux
from pollux.engine.gate import Toolbox

SOURCE = Path(pollux.__file__).parent
NAMED_ELSEWHERE = (
    "pollux.runbooks.blocks.", "pollux.tools.typed.", "pollux.tools.actions.", "pollux.page.declared",
    "pollux.testing.",
)  # fmt: skip
"""Where names come from the authors of tools and pages, or from a table of blocks that the box has as a whole."""
AT_LENGTH, PARTS = 100_000, 5
PART = 1 / 30
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


def enlarged(place: Path, amounts: Iterable[int] = AMOUNTS) -> Iterator[Changed]:
    for name, args in calls(place):
        for amount in amounts:
            yield from ((name, args, changed) for changed in padded(args, amount))


def tried(box: Toolbox, cases: Iterable[Changed], dice: random.Random, *, each: int) -> int:
    """How many decisions were compared; fails at the first that came out more permissive."""
    before: dict[int, list[tuple[Policy, int]]] = {}
    compared = 0
    for name, args, changed in cases:
        if id(args) not in before:
            under = policies(dice, subjects_of(box, name, args))
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
    policy: Policy = ((), facts_of(random.Random(1)), frozenset())
    assert not [name for name, args in calls(box[1]) if answers(box[0], name, args, [policy]) == [3]]
    assert {name for name, _ in calls(box[1])} == set(box[0])


def test_every_tool_that_pollux_brings_is_tried(box: tuple[Toolbox, Path]):
    """A new one is put into the box, unless its name comes from elsewhere."""
    named: set[str] = set()
    for file in sorted(SOURCE.rglob("*.py")):
        module = ".".join(file.relative_to(SOURCE.parent).with_suffix("").parts)
        for node in () if module.startswith(NAMED_ELSEWHERE) else ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "ToolSpec":
                first = next(iter((*node.args, *(each.value for each in node.keywords if each.arg == "name"))), None)
                if isinstance(first, ast.Constant):
                    named.add(str(first.value))
                elif isinstance(first, ast.Name) and first.id.isupper():
                    named.add(getattr(import_module(module), first.id))
                elif isinstance(first, ast.Attribute) and isinstance(first.value, ast.Name) and first.attr.isupper():
                    named.add(getattr(getattr(import_module(module), first.value.id), first.attr))
                else:
                    raise AssertionError(f"{module} makes a tool whose name cannot be read here")
    assert len(named) >= 20
    assert named <= set(box[0])


@pytest.mark.parametrize(("changes", "least"), [(laundered, 2_000), (enlarged, 500)])
def test_no_change_of_arguments_widens_a_decision(box: tuple[Toolbox, Path], changes: Any, least: int):
    dice = random.Random(22)
    part = (case for case in changes(box[1]) if dice.random() < (PART if changes is laundered else 1 / 2))
    compared = tried(box[0], part, dice, each=15)
    print(f"\n{compared} decisions, 0 more permissive")
    assert compared >= least


def padded_at_length(place: Path) -> Iterator[Changed]:
    return enlarged(place, amounts=range(3, 353))


def distinct(cases: Iterable[Changed], met: set[int]) -> Iterator[Changed]:
    """Each changed call once."""
    for case in cases:
        key = hash((case[0], repr(case[2])))
        if key not in met:
            met.add(key)
            yield case


@pytest.mark.soak
@pytest.mark.parametrize("changes", [laundered, padded_at_length])
@pytest.mark.parametrize("part", range(PARTS))
def test_no_change_of_arguments_widens_a_decision_at_length(box: tuple[Toolbox, Path], changes: Any, part: int):
    met = set[int]()
    compared = tried(box[0], distinct(islice(changes(box[1]), part, None, PARTS), met), random.Random(), each=10)
    print(f"\n{len(met)} changed calls, {compared} decisions, 0 more permissive")
    assert len(met) >= AT_LENGTH // PARTS


def ordinary(word: str) -> str:
    """A word of the same shape that no rule, tool or fact knows: of two words, two, and with the same signs."""
    return re.sub(r"[0-9]", "7", re.sub(r"[A-Z]", "Q", re.sub(r"[a-z]", "q", word)))


def other_words(place: Path) -> Iterator[tuple[str, dict[str, Any], dict[str, Any], dict[str, Any]]]:
    for name, args in calls(place):
        for word in markers():
            if isinstance(word, str):
                yield from ((name, args, one, other) for one, other in reworded(args, word, ordinary(word)))


def words_tried(box: Toolbox, cases: Iterable[Any], dice: random.Random, *, each: int) -> int:
    """Of another path, address or program the answer may be another one. But a word that a rule or a fact knows opens
    nothing there that neither the call itself nor an ordinary word in its place would open."""
    compared = 0
    before: dict[int, list[Policy]] = {}
    for name, args, changed, neutral in cases:
        known = before.setdefault(id(args), []) or policies(dice, subjects_of(box, name, args))
        before[id(args)] = known
        some = dice.sample(known, each)
        found = (answers(box, name, one, some) for one in (args, neutral, changed))
        for policy, was, ordinary, now in zip(some, *found, strict=True):
            assert now >= min(was, ordinary), (name, policy, str(changed)[:1000])
        compared += 1
    return compared


def test_a_word_of_a_rule_has_no_power_in_what_a_call_acts_on(box: tuple[Toolbox, Path]):
    dice = random.Random(22)
    part = (case for case in other_words(box[1]) if dice.random() < PART / 12)
    assert words_tried(box[0], part, dice, each=4) > 500


@pytest.mark.soak
@pytest.mark.parametrize("part", range(2 * PARTS))
def test_a_word_of_a_rule_has_no_power_in_what_a_call_acts_on_at_length(box: tuple[Toolbox, Path], part: int):
    compared = words_tried(box[0], islice(other_words(box[1]), part, None, 2 * PARTS), random.Random(), each=3)
    print(f"\n{compared} changed calls, 0 more permissive")
    assert compared >= AT_LENGTH // (2 * PARTS)
