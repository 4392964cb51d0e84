"""Tools in a module whose annotations are all text."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, TypedDict

import pytest

from pollux.core.errors import ValidationError
from pollux.core.ids import ActionId, RunId, ThreadId, UserId
from pollux.core.tools import ToolContext
from pollux.tools.typed.tools import TypedTool, define_tool, tool

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

CONTEXT = ToolContext(UserId("ada"), "", RunId("run_1"), ActionId("act_1_1.0"), ThreadId("thr_1"))


@dataclass
class Branch:
    name: Annotated[str, "what it is called"]
    below: list[Branch] = field(default_factory=list["Branch"])


@tool
def height(branch: Branch, context: ToolContext) -> int:
    """Measure a branch."""
    return 1 + max((height(inner, context) for inner in branch.below), default=0)


def measure(branch: Branch) -> str:
    """Name it."""
    return branch.name


async def test_the_names_of_the_module_are_found():
    assert await height.run(CONTEXT, {"branch": {"name": "a", "below": [{"name": "b"}]}}) == 2
    assert height.spec.input_schema["$defs"]["Branch"]["properties"]["name"]["description"] == "what it is called"


async def test_the_names_of_the_function_around_are_found():
    @dataclass
    class Leaf:
        veins: int
        twin: Leaf | None = None

    class Bush(TypedDict):
        leaves: list[Leaf]

    @tool
    def count(bush: Bush) -> int:
        """Count the leaves."""
        return sum(leaf.veins for leaf in bush["leaves"])

    @tool(name="first")
    def first(leaf: Leaf) -> int:
        """Look at one."""
        return leaf.veins

    assert await count.run(CONTEXT, {"bush": {"leaves": [{"veins": 2, "twin": {"veins": 3}}]}}) == 2
    assert await first.run(CONTEXT, {"leaf": {"veins": 4}}) == 4
    made = define_tool("count", "Count.", Bush, lambda bush: len(bush["leaves"]))
    assert await made.run(CONTEXT, {"leaves": []}) == 0


async def test_a_function_brings_what_it_encloses():
    def make() -> Callable[..., Any]:
        @dataclass
        class Seed:
            n: int

        def plant(seed: Seed) -> Seed:
            """Plant it."""
            return Seed(seed.n + 1)

        return plant

    made = tool(make())
    assert (await made.run(CONTEXT, {"seed": {"n": 1}})).n == 2


async def test_a_function_from_elsewhere_never_means_the_callers_names():
    class Branch:
        pass

    made = tool(measure)
    assert Branch is not None and await made.run(CONTEXT, {"branch": {"name": "a"}}) == "a"


def test_a_name_for_type_checkers_alone_is_refused_with_what_to_do():
    with pytest.raises(ValidationError, match=r"tool act: Sequence in an annotation cannot be found.*TYPE_CHECKING"):

        @tool
        def act(names: Sequence[str]) -> None:  # pyright: ignore[reportUnusedFunction]
            """Act."""


def test_what_a_tool_returns_need_not_be_found():
    @tool
    def act(name: str) -> Sequence[str]:
        """Act."""
        return [name]

    assert act("a") == ["a"]


def test_a_tool_does_not_keep_what_was_around_it():
    import gc
    import weakref

    class Large:
        pass

    def make() -> tuple[TypedTool[..., Any], weakref.ref[Large]]:
        large = Large()

        @tool
        def act(branch: Branch) -> None:
            """Act."""

        return act, weakref.ref(large)

    act, large = make()
    gc.collect()
    assert act.spec.name == "act" and large() is None
