"""Tools from typed functions: what models are told of them, what is refused, and how they are called."""

import asyncio
import inspect
import threading
from dataclasses import dataclass
from datetime import date
from typing import Annotated, Any, Literal, TypedDict

import pytest
from pydantic import BaseModel, Field

from pollux.core.errors import ToolExecutionError, ValidationError
from pollux.core.ids import ActionId, RunId, ThreadId, UserId
from pollux.core.messages import JSON
from pollux.core.tools import Reconciled, Tool, ToolContext
from pollux.engine.gate import Toolbox
from pollux.tools.typed.tools import define_tool, tool

CONTEXT = ToolContext(UserId("ada"), "", RunId("run_1"), ActionId("act_1_1.0"), ThreadId("thr_1"))
NULL: dict[str, JSON] = {"type": "null"}
ANYTHING: dict[str, JSON] = {"type": "object"}


class SpecialContext(ToolContext):
    """What a richer way of running tools would give."""


@dataclass
class Point:
    x: int
    y: int = 0


class City(BaseModel):
    name: str


class Film(TypedDict):
    title: str


@tool
def book(
    origin: str,
    seats: Annotated[int, Field(ge=1)],
    /,
    day: date = date(2026, 1, 2),
    *,
    fare: Literal["low", "full"] = "low",
    stops: list[Point] | None = None,
    context: ToolContext | None = None,
) -> str:
    """Book a flight.

    Only direct ones.

    Args:
        origin: where from
        fare: what to pay
        context: who is asking
    """
    return f"{origin} {seats} {day} {fare} {stops} {context.key if context else '-'}"


def test_the_signature_and_the_docstring_say_everything():
    assert (book.spec.name, book.spec.description) == ("book", "Book a flight.\n\nOnly direct ones.")
    assert {name: value for name, value in book.spec.input_schema.items() if name != "$defs"} == {
        "type": "object",
        "properties": {
            "origin": {"type": "string", "description": "where from"},
            "seats": {"type": "integer", "minimum": 1},
            "day": {"type": "string", "format": "date", "default": "2026-01-02"},
            "fare": {"type": "string", "enum": ["full", "low"], "description": "what to pay", "default": "low"},
            "stops": {"anyOf": [{"type": "array", "items": {"$ref": "#/$defs/Point"}}, NULL], "default": None},
        },
        "required": ["origin", "seats"],
        "additionalProperties": False,
    }  # fmt: skip
    assert book.context_type is ToolContext


def test_a_tool_is_still_its_function():
    assert book("Rome", 2) == "Rome 2 2026-01-02 low None -"
    assert (vars(book)["__name__"], inspect.getdoc(book)) == ("book", inspect.getdoc(vars(book)["__wrapped__"]))
    assert repr(book) == "<tool book>"


async def test_arguments_come_converted_and_the_context_beside_them():
    given: dict[str, JSON] = {"origin": "Rome", "seats": 2.0, "day": "2026-02-03", "stops": [{"x": 1}]}
    assert await book.run(CONTEXT, given) == "Rome 2 2026-02-03 low [Point(x=1, y=0)] act_1_1.0"


def test_defaults_are_filled_in_so_that_what_is_shown_is_what_runs():
    given: dict[str, JSON] = {"origin": "Rome", "seats": 1}
    full = {**given, "day": "2026-01-02", "fare": "low", "stops": None}
    assert Toolbox([book]).prepare("book", given) == full
    assert given == {"origin": "Rome", "seats": 1}
    assert book.prepare(full) is full


def test_a_default_stays_the_same_whatever_becomes_of_it():
    def add_one(args: dict[str, JSON]) -> dict[str, JSON]:
        args["names"].append("one")
        return args

    @tool(prepare=add_one)
    def greet(names: list[str] = []) -> None:  # noqa: B006
        """Greet."""

    assert [greet.prepare({}) for _ in range(2)] == [{"names": ["one"]}] * 2
    assert greet.spec.input_schema["properties"]["names"]["default"] == []


def test_a_default_that_json_cannot_write_is_the_functions_own():
    unset = object()

    @tool
    def find(word: str, after: Any = unset, /, limit: int = 3) -> bool:
        """Find."""
        return after is unset

    assert find.prepare({"word": "a"}) == {"word": "a", "limit": 3}
    assert asyncio.run(find.run(CONTEXT, {"word": "a", "limit": 3})) is True


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ({"origin": "Rome"}, "seats"),
        ({"origin": "Rome", "seats": 0}, "minimum of 1"),
        ({"origin": 7, "seats": 1}, "origin"),
        ({"origin": "Rome", "seats": 1, "class": "first"}, "member that is not expected"),
        ({"origin": "Rome", "seats": 1, "context": {}}, "member that is not expected"),
        ({"origin": "Rome", "seats": 1, "day": "soon"}, "day: invalid RFC3339 encoded date"),
        ({"origin": "Rome", "seats": 1, "stops": [{"x": 1, "z": 1}]}, "stops"),
        ("Rome", "expected an object"),
    ],
)
def test_arguments_that_do_not_fit_are_refused_before_anything_runs(args: JSON, words: str):
    with pytest.raises(ValidationError, match=words):
        Toolbox([book]).prepare("book", args)


def test_what_an_author_says_of_a_tool_is_in_its_spec():
    @tool(name="mail.send", description="Send it.", side_effect=True, repeat="keyed", parallel=False, timeout=5)
    def send(to: str) -> None: ...

    spec = send.spec
    assert (spec.name, spec.description) == ("mail.send", "Send it.")
    assert (spec.side_effect, spec.default_approval, spec.repeat) == (True, "required", "keyed")
    assert (spec.parallel, spec.timeout) == (False, 5)


def test_without_a_word_a_tool_has_no_side_effect():
    assert (book.spec.side_effect, book.spec.default_approval, book.spec.repeat) == (
        False,
        "not_required",
        "repeatable",
    )


def test_the_author_prepares_names_subjects_and_shows():
    @tool(
        side_effect=True,
        prepare=lambda args: {**args, "to": [name.strip() for name in args["to"]]},
        subjects=lambda args: (name for name in args["to"]),
        preview=lambda args: f"to {', '.join(args['to'])}",
    )
    def send(to: list[str]) -> None:
        """Send."""

    args = send.prepare({"to": [" ada ", "bob"]})
    assert (args, send.subjects(args), send.preview(args)) == (
        {"to": ["ada", "bob"]}, frozenset({"ada", "bob"}), "to ada, bob",
    )  # fmt: skip


def test_one_subject_may_be_plain_text():
    @tool(subjects=lambda args: args["to"])
    def send(to: str) -> None:
        """Send."""

    assert send.subjects({"to": "ada"}) == frozenset({"ada"})


def test_what_the_author_prepared_must_fit_too():
    @tool(prepare=lambda args: {"n": "many"})
    def count(n: int) -> None:
        """Count."""

    with pytest.raises(ValidationError, match="n: expected int, got str"):
        count.prepare({"n": 1})


@pytest.mark.parametrize(
    ("option", "answer"),
    [("prepare", [1]), ("subjects", 7), ("subjects", [7]), ("subjects", None), ("preview", None)],
)
def test_an_option_that_answers_nonsense_is_named(option: str, answer: object):
    def answers(args: dict[str, JSON]) -> Any:
        return answer

    options: Any = {option: answers}
    made = define_tool("count", "Count.", ANYTHING, len, **options)
    with pytest.raises(ToolExecutionError, match=f"{option} of tool count must return"):
        getattr(made, option)({})


async def test_an_interrupted_call_is_looked_up_by_the_author():
    def look(context: ToolContext, args: dict[str, JSON]) -> Reconciled:
        return Reconciled("done", [context.key, args["n"], threading.current_thread().name])

    async def look_async(context: ToolContext, args: dict[str, JSON]) -> Reconciled:
        return look(context, args)

    def pay(n: int) -> None:
        """Pay."""

    here = threading.current_thread().name
    sync = tool(pay, side_effect=True, repeat="checkable", reconcile=look)
    found = await sync.reconcile(CONTEXT, {"n": 1})
    assert found.outcome == "done" and found.result[:2] == ["act_1_1.0", 1] and found.result[2] != here
    other = tool(pay, side_effect=True, repeat="checkable", reconcile=look_async)
    assert (await other.reconcile(CONTEXT, {"n": 1})).result == ["act_1_1.0", 1, here]
    assert (await book.reconcile(CONTEXT, {})).outcome == "unknown"


async def test_a_sync_function_runs_in_a_thread_and_an_async_one_does_not():
    @tool
    def sync_where() -> str:
        """Say where."""
        return threading.current_thread().name

    @tool
    async def async_where() -> str:
        """Say where."""
        return threading.current_thread().name

    here = threading.current_thread().name
    assert await sync_where.run(CONTEXT, {}) != here
    assert await async_where.run(CONTEXT, {}) == here


async def test_a_tool_that_wants_a_richer_context_says_who_gives_it():
    @tool
    def look(context: SpecialContext) -> str:
        """Look."""
        return type(context).__name__

    assert look.context_type is SpecialContext
    special = SpecialContext(UserId("ada"), "", RunId("run_1"), ActionId("act_1_1.0"), ThreadId("thr_1"))
    assert await look.run(special, {}) == "SpecialContext"
    with pytest.raises(ToolExecutionError, match="look needs a SpecialContext; it must be run by an Agent"):
        await look.run(CONTEXT, {})


def test_a_typed_tool_is_a_tool():
    tools: list[Tool] = [book, define_tool("act", "Act.", ANYTHING, len)]
    assert [one.spec.name for one in tools] == ["book", "act"]
