"""What can be a tool, and what cannot: functions, methods, partials, objects, and the options beside them."""

import functools
import re
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from pydantic import BaseModel, Field

from pollux.core.errors import ValidationError
from pollux.core.ids import ActionId, RunId, ThreadId, UserId
from pollux.core.messages import JSON
from pollux.core.tools import ToolContext
from pollux.engine.gate import Toolbox
from pollux.tools.typed.tools import TypedTool, tool

CONTEXT = ToolContext(UserId("ada"), "", RunId("run_1"), ActionId("act_1_1.0"), ThreadId("thr_1"))


@dataclass
class Point:
    x: int
    y: int = 0


class City(BaseModel):
    name: str


@tool
def book(origin: str) -> str:
    """Book a flight."""
    return origin


class Shop:
    """A shop."""

    def __init__(self, name: str) -> None:
        self.name = name

    def buy(self, what: str) -> str:
        """Buy something."""
        return f"{what} at {self.name}"

    @classmethod
    def open(cls, hour: int) -> str:
        """Open a shop."""
        return f"{cls.__name__} at {hour}"

    @tool
    @staticmethod
    def close(hour: int) -> str:
        """Close it."""
        return f"closed at {hour}"


class Caller:
    """Calls somebody."""

    async def __call__(self, who: str) -> str:
        return f"hello {who}"


def greet(word: str, who: str, key: str = "none") -> str:
    """Greet somebody."""
    return f"{word} {who} {key}"


def logged(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return f"logged {function(*args, **kwargs)}"

    return call


@pytest.mark.parametrize(
    ("made", "name", "description", "args", "result"),
    [
        (tool(Shop("Ann's").buy), "buy", "Buy something.", {"what": "tea"}, "tea at Ann's"),
        (tool(Shop.open), "open", "Open a shop.", {"hour": 9}, "Shop at 9"),
        (Shop.close, "close", "Close it.", {"hour": 9}, "closed at 9"),
        (tool(Caller(), name="ring"), "ring", "Calls somebody.", {"who": "bob"}, "hello bob"),
        (tool(functools.partial(greet, "hi")), "greet", "Greet somebody.", {"who": "bob"}, "hi bob none"),
        (tool(functools.partial(greet, key="s3")), "greet", "Greet somebody.", {"word": "a", "who": "b"}, "a b s3"),
        (tool(logged(greet)), "greet", "Greet somebody.", {"word": "a", "who": "b"}, "logged a b none"),
        (tool(lambda: 7, name="seven", description="Seven."), "seven", "Seven.", {}, 7),
    ],
)
async def test_whatever_can_be_called_and_described_can_be_a_tool(
    made: TypedTool[..., Any], name: str, description: str, args: dict[str, JSON], result: object
):
    assert (made.spec.name, made.spec.description) == (name, description)
    prepared = Toolbox([made]).prepare(name, args)
    assert await made.run(CONTEXT, prepared) == result


def test_what_a_partial_has_filled_in_is_not_told_to_anybody():
    made = tool(functools.partial(greet, key="s3cret"))
    assert "s3cret" not in str(made.spec) and "key" not in made.spec.input_schema["properties"]
    with pytest.raises(ValidationError, match="member that is not expected"):
        Toolbox([made]).prepare("greet", {"word": "a", "who": "b", "key": "mine"})


# What cannot be a tool


def unhinted(x):  # pyright: ignore[reportUnknownParameterType, reportMissingParameterType]
    """Do."""


def starred(*names: str) -> None:
    """Do."""


def open_ended(**names: str) -> None:
    """Do."""


def undescribed(x: int) -> None: ...


def yielding() -> Iterator[int]:
    """Do."""
    yield 1


async def yielding_async() -> AsyncIterator[int]:
    """Do."""
    yield 1


def impossible(f: Callable[[], int]) -> None:
    """Do."""


def nested(points: list[Point | City | complex]) -> None:
    """Do."""


def by_field(n: int = Field(3, ge=1)) -> None:
    """Do."""


def two_contexts(a: ToolContext, b: ToolContext) -> None:
    """Do."""


def quoted(x: "Nobody") -> None:  # pyright: ignore[reportUndefinedVariable, reportUnknownParameterType]  # noqa: F821
    """Do."""


UNFIT: list[tuple[Any, str]] = [
    (unhinted, "tool unhinted: x has no type hint; write `x: str`, say, or give input_schema="),
    (starred, r"tool starred: \*names cannot be described; name each parameter"),
    (open_ended, r"tool open_ended: \*\*names cannot be described"),
    (undescribed, "tool undescribed: it has no description.*write a docstring"),
    (yielding, "yielding yields its results; return them as a list"),
    (yielding_async, "yielding_async yields its results"),
    (impossible, "tool impossible: f: .*Callable.* has no JSON form; use text"),
    (nested, "tool nested: points: .*give a JSON Schema"),
    (by_field, "tool by_field: n: write Annotated"),
    (two_contexts, "tool two_contexts: b: one context is enough"),
    (quoted, "tool quoted: Nobody in an annotation cannot be found"),
    (lambda: 1, "tool <lambda>: a tool cannot be called .<lambda>.; give name="),
    (max, "signature cannot be read; wrap it in a function"),
    (Shop, "a tool is made of a function, found Shop"),
    (Shop.buy, r"Shop.buy is a method without its object; make the tool of a bound one"),
    (Shop.__dict__["open"], "make the tool of the bound method"),
    (book, "book is a tool already"),
    ("book", "a tool is made of a function, found str"),
    (7, "a tool is made of a function, found int"),
]


@pytest.mark.parametrize(("function", "words"), UNFIT)
def test_what_no_model_could_call_is_refused_with_what_to_do(function: Any, words: str):
    with pytest.raises(ValidationError, match=words):
        tool(function)
    with pytest.raises(ValidationError, match=words):
        tool()(function)


BAD_OPTIONS: list[tuple[dict[str, Any], str]] = [
    ({"name": "with space"}, "a tool cannot be called 'with space'"),
    ({"name": "1st"}, "beginning with a letter"),
    ({"name": ""}, "cannot be called ''"),
    ({"name": "x" * 65}, "up to 64"),
    ({"name": 7}, "cannot be called 7"),
    ({"description": "  "}, "no description"),
    ({"description": 7}, "no description"),
    ({"side_effect": "yes"}, "side_effect must be True or False, found 'yes'"),
    ({"parallel": None}, "parallel must be True or False"),
    ({"send_errors_to_model": 1}, "send_errors_to_model must be True or False"),
    ({"default_approval": "maybe"}, "default_approval must be one of required, not_required"),
    ({"repeat": "twice"}, "repeat must be one of repeatable, keyed, checkable, once"),
    ({"repeat": "checkable"}, "a checkable tool needs reconcile="),
    ({"timeout": 0}, "timeout must be a number of seconds above 0"),
    ({"timeout": float("inf")}, "timeout must be"),
    ({"timeout": float("nan")}, "timeout must be"),
    ({"timeout": True}, "timeout must be"),
    ({"timeout": "5"}, "timeout must be"),
    ({"prepare": 7}, "prepare must be a function"),
    ({"subjects": "to"}, "subjects must be a function"),
    ({"reconcile": 1}, "reconcile must be a function"),
    ({"preview": Caller().__call__}, "preview must be an ordinary function"),
    ({"input_schema": "object"}, "input_schema must be JSON Schema"),
    ({"input_schema": Point}, "input_schema must be JSON Schema"),
    ({"input_schema": {}}, "must describe an object"),
    ({"input_schema": {"type": "array"}}, "must describe an object"),
    ({"input_schema": {"type": "object", "properties": {"n": {"type": "no"}}}}, "not JSON Schema"),
    ({"input_schema": {"type": "object", "properties": {"n": {"default": float("nan")}}}}, "not JSON"),
    ({"input_schema": {"type": "object", "$ref": "http://127.0.0.1:9/x"}}, "http://127.0.0.1:9/x is not fetched"),
    ({"input_schema": {"type": "object", "properties": {}}}, "says nothing of the parameter n"),
    ({"input_schema": {"type": "object", "properties": {"n": {}, "m": {}}}}, "names m, but the function has no such"),
]


@pytest.mark.parametrize(("options", "words"), BAD_OPTIONS, ids=lambda value: re.sub(r" at 0x\w+", "", str(value)))
def test_an_option_that_cannot_be_is_refused(options: dict[str, Any], words: str):
    def count(n: int) -> None:
        """Count."""

    with pytest.raises(ValidationError, match=words):
        tool(count, **options)


def test_an_unknown_option_is_refused_with_those_there_are():
    with pytest.raises(TypeError, match=r"there is no option 'sideeffect'; .* side_effect"):
        tool(greet, sideeffect=True)  # pyright: ignore[reportCallIssue]


def test_two_tools_of_one_name_are_refused():
    with pytest.raises(ValidationError, match="two tools are called 'greet'"):
        Toolbox([tool(greet), tool(greet)])
