"""Tools with a schema of their author's own, and what a failure of a tool says."""

from dataclasses import dataclass
from datetime import date
from typing import Any, TypedDict

import pytest
from pydantic import BaseModel

from pollux.core.errors import AuthError, PolicyError, PolluxError, ToolError, ToolExecutionError, ValidationError
from pollux.core.ids import ActionId, RunId, ThreadId, UserId
from pollux.core.messages import JSON
from pollux.core.tools import ToolContext
from pollux.engine.gate import Toolbox
from pollux.tools.typed.tools import Action, define_tool, tool

CONTEXT = ToolContext(UserId("ada"), "", RunId("run_1"), ActionId("act_1_1.0"), ThreadId("thr_1"))
ANYTHING: dict[str, JSON] = {"type": "object"}


@dataclass
class Point:
    x: int
    y: int = 0


class City(BaseModel):
    name: str


class Film(TypedDict):
    title: str


async def test_a_function_may_bring_its_schema_and_gets_the_arguments_as_they_came():
    schema: dict[str, JSON] = {"type": "object", "properties": {"when": {"type": "string"}, "n": {}}}

    @tool(input_schema=schema)
    def plan(when: date, context: ToolContext, n: JSON = 3) -> list[Any]:
        """Plan."""
        return [when, n, context.key]

    assert plan.spec.input_schema == {**schema, "additionalProperties": False}
    assert "additionalProperties" not in schema
    args = Toolbox([plan]).prepare("plan", {"when": "2026-01-02"})
    assert args == {"when": "2026-01-02"}
    assert await plan.run(CONTEXT, args) == ["2026-01-02", 3, "act_1_1.0"]


async def test_a_function_that_takes_any_keyword_takes_what_its_schema_names():
    @tool(input_schema={"type": "object", "additionalProperties": {"type": "integer"}})
    def add(**numbers: int) -> int:
        """Add."""
        return sum(numbers.values())

    assert await add.run(CONTEXT, Toolbox([add]).prepare("add", {"a": 1, "b": 2})) == 3


def test_an_open_schema_gives_no_argument_that_the_function_does_not_have():
    @tool(input_schema=ANYTHING)
    def add(n: int = 1) -> int:
        """Add."""
        return n

    with pytest.raises(ValidationError, match=r"argument that is not expected\. Known: n"):
        Toolbox([add]).prepare("add", {"m": 1})


@pytest.mark.parametrize(
    ("schema", "args", "expected"),
    [
        ({"type": "object", "properties": {"x": {"type": "integer"}}}, {"x": 1}, {"x": 1}),
        (Point, {"x": 1}, Point(1)),
        (City, {"name": "Rome"}, City(name="Rome")),
        (Film, {"title": "Up"}, {"title": "Up"}),
        (dict[str, int], {"a": 1}, {"a": 1}),
    ],
)
async def test_a_defined_tool_gives_its_action_what_the_schema_makes(
    schema: Any, args: dict[str, JSON], expected: object
):
    seen: list[object] = []
    made = define_tool("keep", "Keep it.", schema, seen.append)
    await made.run(CONTEXT, Toolbox([made]).prepare("keep", args))
    assert seen == [expected]
    with pytest.raises(ValidationError):
        Toolbox([made]).prepare("keep", {"z": "more"})


async def with_context(params: Any, context: Any) -> list[Any]:
    return [params, context.key]


def with_any(*both: Any) -> list[Any]:
    return [both[0], both[1].key]


def with_none() -> None: ...


def by_keyword(*, params: Any) -> None: ...


ACTIONS: list[tuple[Action, JSON]] = [
    (lambda params: params, {"a": 1}),
    (lambda params, context: [params, context.key], [{"a": 1}, "act_1_1.0"]),
    (with_any, [{"a": 1}, "act_1_1.0"]),
    (lambda params, limit=3: [params, limit], [{"a": 1}, 3]),
    (lambda params=None: params, {"a": 1}),
    (with_context, [{"a": 1}, "act_1_1.0"]),
    (len, 1),
]


@pytest.mark.parametrize(("action", "result"), ACTIONS)
async def test_an_action_takes_the_parameters_and_the_context_if_it_wants(action: Action, result: JSON):
    made = define_tool("act", "Act.", ANYTHING, action)
    assert await made.run(CONTEXT, {"a": 1}) == result


async def test_an_action_may_ask_for_the_context_by_its_type():
    def act(context: ToolContext, params: dict[str, JSON]) -> list[Any]:
        return [params, context.key]

    made = define_tool("act", "Act.", ANYTHING, act)
    assert (made.context_type, await made.run(CONTEXT, {"a": 1})) == (ToolContext, [{"a": 1}, "act_1_1.0"])


@pytest.mark.parametrize(
    ("name", "description", "schema", "action", "words"),
    [
        ("", "Act.", ANYTHING, len, "cannot be called ''"),
        ("act", "", ANYTHING, len, "tool act: it has no description"),
        ("act", "Act.", list[int], len, "must describe an object"),
        ("act", "Act.", int, len, "must describe an object"),
        ("act", "Act.", None, len, "input_schema must be JSON Schema"),
        ("act", "Act.", "object", len, "input_schema must be JSON Schema"),
        ("act", "Act.", ANYTHING, with_none, r"must take \(params\) or \(params, context\)"),
        ("act", "Act.", ANYTHING, by_keyword, "must take"),
        ("act", "Act.", ANYTHING, "len", "a tool is made of a function, found str"),
    ],
)
def test_a_definition_that_cannot_be_is_refused(name: str, description: str, schema: Any, action: Any, words: str):
    with pytest.raises(ValidationError, match=words):
        define_tool(name, description, schema, action)


# What a failure says


@pytest.mark.parametrize("kind", [ToolError, ToolExecutionError, ValidationError, AuthError, PolicyError])
@pytest.mark.parametrize("told", [True, False])
async def test_what_the_author_raises_as_ours_stays_as_it_is(kind: type[PolluxError], told: bool):
    problem = kind("not today")

    def act(params: Any) -> None:
        raise problem

    with pytest.raises(kind) as caught:
        await define_tool("act", "Act.", ANYTHING, act, send_errors_to_model=told).run(CONTEXT, {})
    assert caught.value is problem


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, ValueError),
        ({"send_errors_to_model": True}, ToolError),
        ({"send_errors_to_model": True, "side_effect": True}, ValueError),
        ({"send_errors_to_model": True, "side_effect": True, "repeat": "keyed"}, ValueError),
        ({"send_errors_to_model": True, "side_effect": True, "repeat": "repeatable"}, ToolError),
    ],
)
async def test_other_errors_go_to_the_model_only_where_asked_and_where_nothing_can_have_happened(
    options: dict[str, Any], expected: type[Exception]
):
    def act(params: Any) -> None:
        raise ValueError("the moon is full")

    with pytest.raises(expected, match="the moon is full"):
        await define_tool("act", "Act.", ANYTHING, act, **options).run(CONTEXT, {})


async def test_an_error_for_the_model_is_short_and_never_empty():
    @tool(send_errors_to_model=True)
    async def act(n: int) -> None:
        """Act."""
        raise KeyError() if n == 0 else ValueError("x" * n)

    with pytest.raises(ToolError, match=r"^KeyError$"):
        await act.run(CONTEXT, {"n": 0})
    with pytest.raises(ToolError, match=r"^x{2000}$"):
        await act.run(CONTEXT, {"n": 5_000})
