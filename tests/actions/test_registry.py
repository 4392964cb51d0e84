"""The registry: what is called by name is checked on the way in and on the way out."""

import asyncio
import logging
from typing import Any

import pytest
from tests.actions.lab import ADA, acting, looking
from tests.waiting import HANG_SECONDS

from pollux.core.errors import ToolError, ValidationError
from pollux.core.messages import JSON
from pollux.core.tools import ToolContext
from pollux.tools.actions import ActionError, ActionMetadata, ActionRegistry, action, query

TAKES: dict[str, JSON] = {
    "type": "object",
    "properties": {
        "query": {"type": "string"},
        "limit": {"type": "integer", "default": 10, "minimum": 1},
        "page": {"type": "object", "properties": {"size": {"type": "integer", "default": 5}}},
        "filters": {"type": "array", "items": {"type": "object", "properties": {"op": {"default": "is"}}}},
        "sort": {"type": "object", "default": {"by": "name"}, "properties": {"up": {"default": True}}},
    },
    "required": ["query"],
}
GIVES: dict[str, JSON] = {"type": "array", "items": {"type": "string"}}
SEARCH = ActionMetadata("search", "Search.", TAKES, GIVES)


@query
def search(input: dict[str, Any]) -> Any:
    return input.get("answer", [str(input)])


def registry(metadata: ActionMetadata | None = SEARCH) -> ActionRegistry:
    made = ActionRegistry()
    made.register(search, metadata)
    return made


async def failure(made: ActionRegistry, name: str, input: JSON) -> ActionError:
    with pytest.raises(ActionError) as problem:
        await made.execute(name, input, ADA)
    assert "Traceback" not in str(problem.value)
    return problem.value


def test_names_are_in_the_order_of_registration():
    made = ActionRegistry([acting("b", lambda: 1), acting("a", lambda: 2)])
    assert made.get_names() == ["b", "a"]
    with pytest.raises(ValidationError, match="two actions are called 'a'"):
        made.register(looking("a", lambda: 3))


def test_what_is_described_is_listed_with_what_describes_it():
    made = ActionRegistry([search, acting("other", lambda: 1)])
    assert made.get_actions_with_metadata() == []
    made.set_metadata("search", SEARCH)
    [described] = made.get_actions_with_metadata()
    assert (described.name, described.metadata, described.handler) == ("search", SEARCH, search)
    assert made.get_metadata("other") is None


def test_to_describe_an_action_that_is_not_there_does_nothing():
    made = registry()
    made.set_metadata("nobody", SEARCH)
    assert (made.get_names(), made.get_metadata("nobody")) == (["search"], None)


def test_schemas_that_are_none_are_refused():
    with pytest.raises(ValidationError, match="action search: the schema is not JSON Schema"):
        registry(ActionMetadata("search", "Search.", {"type": "thing"}))


async def test_defaults_are_filled_in_however_deep():
    filled = registry().prepare("search", {"query": "x", "page": {}, "filters": [{}, {"op": "not"}]})
    assert filled == {
        "query": "x",
        "limit": 10,
        "page": {"size": 5},
        "filters": [{"op": "is"}, {"op": "not"}],
        "sort": {"by": "name", "up": True},
    }
    assert "page" not in registry().prepare("search", {"query": "x"})


def test_defaults_of_the_function_are_shown_under_the_names_of_the_file():
    def find(search_text: str, page_size: int = 3, more: bool = False) -> None: ...

    takes: dict[str, JSON] = {"type": "object", "properties": {"searchText": {}, "pageSize": {}}}
    made = ActionRegistry()
    made.register(looking("find", find), ActionMetadata("find", "Find.", takes))
    assert made.prepare("find", {"searchText": "x"}) == {"searchText": "x", "pageSize": 3, "more": False}


async def test_a_default_is_not_shared_between_calls():
    made = registry()
    made.prepare("search", {"query": "x"})["sort"]["by"] = "price"
    assert made.prepare("search", {"query": "x"})["sort"]["by"] == "name"


async def test_defaults_behind_references_are_filled_in_and_circles_end():
    schema: dict[str, JSON] = {
        "type": "object",
        "properties": {"tree": {"$ref": "#/$defs/tree"}, "self": {"$ref": "#/$defs/loop"}},
        "$defs": {
            "tree": {"type": "object", "properties": {"n": {"default": 0}, "left": {"$ref": "#/$defs/tree"}}},
            "loop": {"$ref": "#/$defs/loop"},
        },
    }
    made = registry(ActionMetadata("search", "Search.", schema))
    assert made.prepare("search", {"tree": {"left": {}}}) == {"tree": {"n": 0, "left": {"n": 0}}}


@pytest.mark.parametrize(
    ("input", "said"),
    [
        ({}, "query"),
        ({"query": 1}, "query: "),
        ({"query": "x", "limit": 0}, "limit: "),
        ({"query": "x", "filters": {}}, "filters: "),
        ([], "expected an object, found list"),
        (None, "expected an object, found NoneType"),
        ("x", "expected an object, found str"),
        ({"query": float("nan")}, ""),
        ({"query": "\ud800"}, ""),
    ],
)
async def test_an_input_that_does_not_fit_never_reaches_the_handler(input: JSON, said: str):
    problem = await failure(registry(), "search", input)
    assert (problem.code, problem.is_own) == ("INVALID_INPUT", False)
    assert said in str(problem)


async def test_an_unknown_action_is_told():
    problem = await failure(registry(), "nobody", {})
    assert (problem.code, str(problem)) == ("ACTION_NOT_FOUND", "there is no such action")


async def test_an_action_that_nothing_describes_is_called_as_its_hints_say():
    def twice(n: int) -> int:
        return n * 2

    made = ActionRegistry([looking("twice", twice)])
    assert await made.execute("twice", {"n": 4}, ADA) == 8
    assert (await failure(made, "twice", {"m": 4})).code == "INVALID_INPUT"


@pytest.mark.parametrize("answer", [[1], "x", None, [object()], {1, 2}])
async def test_an_answer_that_does_not_fit_is_told_and_not_passed_on(answer: Any):
    made = registry()
    made.register(looking("other", lambda: answer), ActionMetadata("other", "Other.", {"type": "object"}, GIVES))
    problem = await failure(made, "other", {})
    assert (problem.code, problem.is_own) == ("INVALID_OUTPUT", False)


async def test_the_caller_is_known_to_the_handler():
    @action
    async def whose(context: ToolContext) -> list[str]:
        return [context.user, context.origin, context.key]

    assert await ActionRegistry([whose]).execute("whose", {}, ADA) == ["ada", "https://shop.example", "key-1"]


async def test_a_handler_s_own_refusal_reaches_the_caller():
    @action
    def refuse() -> None:
        raise ActionError("SOLD_OUT", "there is no tea left")

    @action
    def tell() -> None:
        raise ToolError("ask for another day")

    made = ActionRegistry([refuse, tell])
    refused, told = await failure(made, "refuse", {}), await failure(made, "tell", {})
    assert (refused.code, str(refused), refused.is_own) == ("SOLD_OUT", "there is no tea left", True)
    assert (told.code, str(told), told.is_own) == ("tool_call_failure", "ask for another day", True)


@pytest.mark.parametrize("problem", [ValueError("secret"), TimeoutError("secret"), SystemExit(3), KeyError("secret")])
async def test_of_a_handler_that_breaks_only_the_kind_is_told(problem: BaseException, caplog: pytest.LogCaptureFixture):
    @action
    def broken() -> None:
        raise problem

    with caplog.at_level(logging.ERROR):
        told = await failure(ActionRegistry([broken]), "broken", {})
    assert (told.code, told.is_own) == ("INTERNAL_ERROR", False)
    kind = RuntimeError if isinstance(problem, SystemExit) else type(problem)
    assert kind.__name__ in str(told) and "secret" not in str(told)
    assert f"an action failed: {kind.__name__}" in caplog.text and "secret" not in caplog.text


async def test_a_handler_that_takes_too_long_is_given_up():
    @action(None, timeout=0.05)
    async def slow() -> None:
        await asyncio.Event().wait()

    assert (await failure(ActionRegistry([slow]), "slow", {})).code == "TIMEOUT"


async def test_a_caller_that_goes_away_takes_the_action_along():
    begun = asyncio.Event()

    @action
    async def slow() -> None:
        begun.set()
        await asyncio.Event().wait()

    call = asyncio.create_task(ActionRegistry([slow]).execute("slow", {}, ADA))
    await asyncio.wait_for(begun.wait(), HANG_SECONDS)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
