"""A site's actions over Jay's own route: its envelope, its codes, its statuses, and whoever calls."""

import asyncio
import json
import logging
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.actions.lab import ADA, EXAMPLE, acting, looking

from pollux.asgi.errors import HttpError
from pollux.core.errors import ModelError, PolluxError, ValidationError
from pollux.core.ids import UserId
from pollux.core.messages import JSON
from pollux.core.tools import ToolContext
from pollux.page.jay import DESCRIPTIONS, JayActions, RawInput, Verb
from pollux.tools.actions import (
    ActionError,
    ActionMetadata,
    ActionRegistry,
    Caller,
    Handler,
    action,
    action_tools,
    add_plugin,
    query,
    read_plugin,
)
from pollux.tools.actions.controls import controls_of

SECRET = "hunter2"


class Chat:
    """An agent that keeps what it was asked, and says or raises one thing."""

    def __init__(self, problem: Exception | None = None) -> None:
        self.asked: list[tuple[Verb, dict[str, JSON]]] = []
        self._problem = problem

    async def __call__(self, which: Verb, input: dict[str, JSON]) -> dict[str, JSON]:
        self.asked.append((which, input))
        if self._problem is not None:
            raise self._problem
        return {"type": "response", "message": "hello", "history": []}


@pytest.fixture
def shop(monkeypatch: pytest.MonkeyPatch) -> Iterator[ActionRegistry]:
    """The example's plugin, of which one action is described in the one form and one in the other."""
    monkeypatch.syspath_prepend(EXAMPLE)  # pyright: ignore[reportUnknownMemberType]
    registry = ActionRegistry()
    add_plugin(registry, read_plugin(EXAMPLE))
    yield registry
    sys.modules.pop("shop_actions", None)


async def call(
    registry: ActionRegistry,
    name: str,
    given: RawInput | dict[str, Any] = b"",
    *,
    method: str = "POST",
    caller: Caller = ADA,
    chat: Chat | None = None,
) -> tuple[int, Any]:
    raw = json.dumps(given).encode() if method != "GET" and isinstance(given, dict) else given
    return await JayActions(registry).answer(name, method, raw, caller=caller, agent=chat or Chat())


async def refusal(registry: ActionRegistry, name: str, given: Any = b"", **more: Any) -> tuple[int, str, bool]:
    """Status, code, and whether the handler said it."""
    status, body = await call(registry, name, given, **more)
    assert body.keys() == {"success", "error"}
    assert body["success"] is False
    assert body["error"].keys() == {"code", "message", "isActionError"}
    assert body["error"]["message"]
    return status, body["error"]["code"], body["error"]["isActionError"]


def only(handler: Handler[..., Any], metadata: ActionMetadata | None = None) -> ActionRegistry:
    registry = ActionRegistry()
    registry.register(handler, metadata)
    return registry


async def test_an_action_described_in_either_form_answers_in_jays_envelope(shop: ActionRegistry):
    pot = {"id": "p3", "name": "Tea pot", "price": 24.0}
    assert await call(shop, "searchProducts", {"query": "pot"}) == (200, {"success": True, "data": [pot]})
    cart = {"items": [{"productId": "p3", "quantity": 2}], "total": 48.0}
    given = {"productId": "p3", "quantity": 2}
    assert await call(shop, "cart.addToCart", given) == (200, {"success": True, "data": cart})


async def test_what_no_file_describes_is_called_all_the_same(shop: ActionRegistry):
    assert await call(shop, "restock", {"p1": 3}) == (200, {"success": True, "data": {"accepted": 1}})


async def test_defaults_of_the_schema_are_filled_in():
    takes: dict[str, JSON] = {"type": "object", "properties": {"sort": {"type": "string", "default": "price"}}}
    found = await call(only(looking("list", lambda sort: sort), ActionMetadata("list", "List.", takes)), "list")  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    assert found == (200, {"success": True, "data": "price"})


@pytest.mark.parametrize("body", [b"", b"  \n"])
async def test_an_empty_body_is_an_input_without_members(body: bytes):
    assert await call(only(acting("go", lambda: 7)), "go", body) == (200, {"success": True, "data": 7})


@pytest.mark.parametrize(
    "body", [b"{", b"{'a': 1}", b'{"a": NaN}', b'{"a": 1, "a": 2}', b'{"a": "\xff"}', b"[" * 9_999]
)
async def test_a_body_that_is_no_json_is_invalid_json(shop: ActionRegistry, body: bytes):
    assert await refusal(shop, "restock", body) == (400, "INVALID_JSON", False)


@pytest.mark.parametrize("body", [b"[]", b"null", b'"mug"', b"{}", b'{"query": 7}', b'{"query": "x", "limit": 0}'])
async def test_json_that_does_not_fit_is_invalid_input(shop: ActionRegistry, body: bytes):
    assert await refusal(shop, "searchProducts", body) == (400, "INVALID_INPUT", False)


@pytest.mark.parametrize("name", ["", "nobody", "addToCart", "cart", "cart.addToCart.x", "../restock", "x" * 9_999])
async def test_an_unknown_name_is_not_found_and_its_input_not_read(shop: ActionRegistry, name: str):
    assert await refusal(shop, name, b"{") == (404, "ACTION_NOT_FOUND", False)
    assert await refusal(shop, name, {}, method="GET") == (404, "ACTION_NOT_FOUND", False)


@pytest.mark.parametrize("name", ["cart.addToCart", "restock", "geminiAgent.sendMessage"])
async def test_what_changes_something_is_not_done_by_a_get(shop: ActionRegistry, name: str):
    chat = Chat()
    assert await refusal(shop, name, {"productId": "p1"}, method="GET", chat=chat) == (405, "METHOD_NOT_ALLOWED", False)
    assert chat.asked == []


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "HEAD", "get"])
async def test_other_methods_are_not_allowed(shop: ActionRegistry, method: str):
    assert await refusal(shop, "searchProducts", {"query": "x"}, method=method) == (405, "METHOD_NOT_ALLOWED", False)


@query
def echo(input: dict[str, Any]) -> dict[str, Any]:
    return input


async def test_a_query_takes_plain_members_as_text():
    given = {"word": "Größe 東京 🫖", "number": "7", "": "x"}
    assert await call(only(echo), "echo", given, method="GET") == (200, {"success": True, "data": given})


async def test_a_query_takes_its_input_as_one_member_in_json():
    given = {"_input": json.dumps({"words": ["Größe", "東京"], "deep": {"is": True}}), "word": "passed over"}
    _, body = await call(only(echo), "echo", given, method="GET")
    assert body["data"] == {"words": ["Größe", "東京"], "deep": {"is": True}}


@pytest.mark.parametrize("whole", ["{", "[", "mug", '{"a": "\ud800"}'])
async def test_a_whole_input_of_a_query_that_is_no_json_is_invalid_input(whole: str):
    assert await refusal(only(echo), "echo", {"_input": whole}, method="GET") == (400, "INVALID_INPUT", False)


async def test_numbers_and_truth_values_in_a_query_are_read_where_the_schema_wants_them(shop: ActionRegistry):
    _, body = await call(shop, "searchProducts", {"query": "mug", "limit": "1"}, method="GET")
    assert [each["id"] for each in body["data"]] == ["p2"]
    for limit in ("many", "1.5", "true", "", "[1]", "NaN", "9" * 9_999):
        given = {"query": "mug", "limit": limit}
        assert await refusal(shop, "searchProducts", given, method="GET") == (400, "INVALID_INPUT", False)


async def test_a_text_that_looks_like_a_number_stays_a_text_where_a_text_is_wanted(shop: ActionRegistry):
    assert await call(shop, "searchProducts", {"query": "7"}, method="GET") == (200, {"success": True, "data": []})

    @query
    def either(code: str | int) -> str | int:
        return code

    assert await call(only(either), "either", {"code": "7"}, method="GET") == (200, {"success": True, "data": "7"})


async def test_what_no_file_describes_is_read_by_the_types_of_its_function():
    @query
    def pick(page_size: int | None = None, only_new: bool = False) -> list[object]:
        return [page_size, only_new]

    _, body = await call(only(pick), "pick", {"pageSize": "5", "only_new": "true"}, method="GET")
    assert body["data"] == [5, True]


async def test_what_a_handler_says_itself_has_its_code_and_text(shop: ActionRegistry):
    status, body = await call(shop, "cart.addToCart", {"productId": "p9"})
    assert status == 422
    assert body["error"] == {
        "code": "NO_SUCH_PRODUCT",
        "message": "there is no product p9; search for one first",
        "isActionError": True,
    }


async def test_a_handler_cannot_pass_for_the_router():
    def lost() -> None:
        raise ActionError("ACTION_NOT_FOUND", "no such thing")

    assert await refusal(only(acting("lost", lost)), "lost") == (422, "ACTION_NOT_FOUND", True)


@pytest.mark.parametrize("problem", [RuntimeError(SECRET), KeyError(SECRET), SystemExit(SECRET), TimeoutError(SECRET)])
async def test_of_any_other_failure_only_the_kind_is_told(problem: BaseException, caplog: pytest.LogCaptureFixture):
    def fail() -> None:
        raise problem

    with caplog.at_level(logging.CRITICAL):
        status, body = await call(only(acting("fail", fail)), "fail")
    assert (status, body["error"]["code"], body["error"]["isActionError"]) == (500, "INTERNAL_ERROR", False)
    assert SECRET not in json.dumps(body)


async def test_an_answer_that_does_not_fit_is_not_passed_on():
    described = ActionMetadata("count", "Count.", {"type": "object"}, {"type": "integer"})
    assert await refusal(only(looking("count", lambda: "many"), described), "count") == (500, "INVALID_OUTPUT", False)


async def test_an_answer_that_takes_too_long_is_told_as_such():
    async def wait() -> None:
        await asyncio.Event().wait()

    assert await refusal(only(acting("wait", wait, timeout=0.01)), "wait") == (500, "TIMEOUT", False)


async def test_the_handler_knows_who_calls_and_from_where():
    @action
    def who(context: ToolContext) -> list[str]:
        return [context.user, context.origin, context.key]

    bob = Caller(UserId("bob"), "https://shop.example", "key-7")
    _, body = await call(only(who), "who", caller=bob)
    assert body["data"] == ["bob", "https://shop.example", "key-7"]


async def test_each_caller_has_a_cart_of_their_own(shop: ActionRegistry):
    for user in ("ada", "bob"):
        _, body = await call(shop, "cart.addToCart", {"productId": "p1"}, caller=Caller(UserId(user)))
        assert body["data"]["items"] == [{"productId": "p1", "quantity": 1}]


async def test_a_megabyte_goes_in_and_comes_out():
    text = "é" * (1 << 19)
    _, body = await call(only(echo), "echo", json.dumps({"text": text}, ensure_ascii=False).encode())
    assert body == {"success": True, "data": {"text": text}}


# The agent's own actions


@pytest.mark.parametrize("verb", ["sendMessage", "submitToolResults"])
async def test_the_chats_own_actions_are_answered_by_the_agent(verb: Verb):
    chat = Chat()
    given: dict[str, Any] = {"history": [{"role": "model", "parts": [], "seal": "v1.x"}], "message": "e\u0301"}
    status, body = await call(ActionRegistry(), f"geminiAgent.{verb}", given, chat=chat)
    assert (status, body) == (200, {"success": True, "data": {"type": "response", "message": "hello", "history": []}})
    # As it came: what is sealed is not touched on the way.
    assert chat.asked == [(verb, given)]


async def test_the_chats_own_actions_are_registered_and_described_and_no_model_hears_of_them():
    registry = ActionRegistry()
    JayActions(registry)
    JayActions(registry)
    names = ["geminiAgent.sendMessage", "geminiAgent.submitToolResults"]
    assert registry.get_names() == [DESCRIPTIONS, *names]
    assert [each.name for each in registry.get_actions_with_metadata()] == names
    assert action_tools(registry) == {}
    with pytest.raises(ActionError, match="for a page's chat"):
        await registry.execute(names[0], {"message": "", "history": [], "toolDefinitions": [], "pageState": {}}, ADA)


async def test_jays_chat_is_told_what_contracts_say_of_a_pages_controls(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    (tmp_path / "plugin.yaml").write_text(
        "name: shop\ncontracts:\n"
        "  - {name: cart, contract: cart.jay-contract}\n"
        "  - {name: gone, contract: gone.jay-contract}\n"
        "  - {name: odd, contract: odd.jay-contract}\n"
    )
    (tmp_path / "odd.jay-contract").write_text("tags: [")
    (tmp_path / "cart.jay-contract").write_text(
        "name: cart\ntags:\n"
        "  - {tag: title, type: data, description: Not a control}\n"
        "  - {tag: pay, type: interactive, description: Pays what is in the cart}\n"
        "  - {tag: quiet, type: interactive}\n"
        "  - tag: lines\n    type: sub-contract\n    tags:\n"
        "      - {tag: remove, type: [data, interactive], description: [Takes, out]}\n"
    )
    jay = JayActions(ActionRegistry(), controls_of([read_plugin(tmp_path)]))
    told = await jay.answer(DESCRIPTIONS, "GET", {}, caller=ADA, agent=Chat())
    words = [("pay", "Pays what is in the cart"), ("remove", "Takes out")]
    data = [{"refName": name, "description": text} for name, text in words]
    assert told == (200, {"success": True, "data": data})
    assert ("gone.jay-contract" in caplog.text, "odd.jay-contract" in caplog.text) == (True, True)


def test_a_site_may_not_take_the_names_of_the_chats_actions():
    with pytest.raises(ValidationError, match=r"two actions are called 'geminiAgent\.sendMessage'"):
        JayActions(only(acting("geminiAgent.sendMessage", lambda: 1)))


@pytest.mark.parametrize("body", [b"{", b"[]"])
async def test_the_agent_is_not_asked_with_what_is_no_object(body: bytes):
    chat = Chat()
    status, code, _ = await refusal(ActionRegistry(), "geminiAgent.sendMessage", body, chat=chat)
    assert (status, code, chat.asked) == (400, "INVALID_JSON" if body == b"{" else "INVALID_INPUT", [])


@pytest.mark.parametrize(
    ("problem", "told"),
    [
        (ValidationError("message is missing"), (400, "INVALID_INPUT", False)),
        (ValidationError("the history has no seal", code="history_unsigned"), (400, "history_unsigned", True)),
        (HttpError(409, "history_expired", "it is older than a day"), (409, "history_expired", True)),
        (ActionError("BUSY", "one moment"), (422, "BUSY", True)),
        (ModelError(SECRET, kind="server"), (500, "INTERNAL_ERROR", False)),
        (PolluxError(SECRET), (500, "INTERNAL_ERROR", False)),
        (RuntimeError(SECRET), (500, "INTERNAL_ERROR", False)),
    ],
)
async def test_what_the_agent_refuses_is_told_in_the_same_envelope(problem: Exception, told: tuple[int, str, bool]):
    chat = Chat(problem)
    assert await refusal(ActionRegistry(), "geminiAgent.sendMessage", {}, chat=chat) == told
    _, body = await call(ActionRegistry(), "geminiAgent.sendMessage", {}, chat=chat)
    assert SECRET not in json.dumps(body)
