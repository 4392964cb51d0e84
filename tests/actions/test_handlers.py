"""Functions as actions: how they take their input, and what they are told of the caller."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict

import pytest
from tests.actions.lab import CONTEXT, acting, echo, looking

from pollux.core.errors import ValidationError
from pollux.core.tools import ToolContext
from pollux.tools.actions import Handler, action, query


class Place(TypedDict):
    city: str


@dataclass
class Order:
    product: str
    count: int = 1


@action
def order(product: str, count: int = 1) -> str:
    """Order something."""
    return f"{count} {product}"


def test_an_action_is_still_its_function_and_has_its_name():
    assert isinstance(order, Handler)
    assert (order.name, order.side_effect, order("tea", 2)) == ("order", True, "2 tea")
    assert order.tool.spec.default_approval == "required" and order.tool.spec.repeat == "once"
    assert repr(order) == "<action order>"


def test_a_query_only_looks():
    @query("shop.look")
    def look() -> int:
        return 1

    assert (look.name, look.side_effect, look.tool.spec.repeat) == ("shop.look", False, "repeatable")
    assert repr(look) == "<query shop.look>"


def test_an_action_may_say_what_it_is():
    made = acting("cart.add", echo, side_effect=False, repeat="keyed", timeout=3)
    spec = made.tool.spec
    assert (spec.side_effect, spec.repeat, spec.timeout) == (False, "keyed", 3)


async def test_arguments_arrive_as_the_hints_say():
    @query
    async def look(order: Order, places: list[Place]) -> list[Any]:
        return [order, places]

    args = look.prepare({"order": {"product": "tea"}, "places": [{"city": "Paris"}]})
    assert await look.run(CONTEXT, args) == [Order("tea"), [{"city": "Paris"}]]


async def test_the_input_may_come_as_a_whole():
    @query
    def look(input: dict[str, Any]) -> Any:
        return input

    @query
    def typed(input: Order, context: ToolContext) -> Any:
        return input, context.user

    untyped: Any = looking("untyped", eval("lambda input: input"))

    assert await look.run(CONTEXT, {"a": 1, "b": [2]}) == {"a": 1, "b": [2]}
    assert await typed.run(CONTEXT, {"product": "tea"}) == (Order("tea"), "ada")
    assert await untyped.run(CONTEXT, {"a": 1}) == {"a": 1}
    with pytest.raises(ValidationError, match="product"):
        typed.prepare({"count": 1})


async def test_the_caller_is_in_the_context():
    @action
    def whose(thing: str, context: ToolContext) -> str:
        return f"{thing} of {context.user}, {context.key}"

    assert await whose.run(CONTEXT, {"thing": "cart"}) == "cart of ada, act_1_1.0"


async def test_names_of_the_file_find_their_parameters():
    @query
    def search(search_text: str, page_size: int = 10) -> tuple[str, int]:
        return search_text, page_size

    args = search.prepare({"searchText": "tea"})
    assert args == {"searchText": "tea", "page_size": 10}
    assert await search.run(CONTEXT, {"searchText": "tea", "pageSize": 3}) == ("tea", 3)
    with pytest.raises(ValidationError, match="mean the same"):
        search.prepare({"searchText": "a", "search_text": "b"})


@pytest.mark.parametrize("input", [{}, {"product": 1}, {"product": "tea", "count": "x"}, {"product": "tea", "more": 1}])
def test_what_does_not_fit_the_hints_is_refused(input: dict[str, Any]):
    with pytest.raises(ValidationError):
        order.prepare(input)


async def test_a_function_without_hints_takes_what_it_names():
    look: Any = looking("look", eval("lambda a, b=2: (a, b)"))

    assert await look.run(CONTEXT, look.prepare({"a": "x"})) == ("x", 2)
    for wrong in ({}, {"a": 1, "c": 2}):
        with pytest.raises(ValidationError):
            look.prepare({**wrong})


def test_what_a_person_reads_begins_with_the_name():
    assert order.preview({"product": "tea"}) == "order(product='tea')"

    def add(n: int) -> int:
        return n

    own = action("cart.add", preview=lambda args: f"{args['n']} of them", subjects=lambda args: "shop")(add)
    assert own.preview({"n": 2}) == "cart.add: 2 of them"
    assert own.subjects({"n": 2}) == {"shop"}


def test_where_it_is_written_is_known():
    path, line = order.place
    assert path == Path(__file__) and "@action" in path.read_text().splitlines()[line - 1]


@pytest.mark.parametrize("name", ["", "a b", "x" * 65, "../a", "1a"])
def test_a_name_that_is_none_is_refused(name: str):
    with pytest.raises(ValidationError, match=r"^action .*cannot be called"):
        acting(name, lambda: None)


def test_what_cannot_be_an_action_is_refused():
    def stream(a: int):
        yield a

    with pytest.raises(ValidationError, match="yields"):
        action(stream)
    with pytest.raises(ValidationError, match="made of a function"):
        action(Order)
    with pytest.raises(ValidationError, match="write @action"):
        query(side_effect=True)
