"""The shop's actions, called as its pages call them and offered as a model hears of them."""

from pathlib import Path
from typing import Any

import pytest

import pollux.shop
from pollux.core.ids import UserId
from pollux.shop import place
from pollux.tools.actions import ActionError, ActionRegistry, Caller, action_tools, add_plugin, handlers_at, read_plugin
from pollux.tools.actions.checking import check_plugin

PLUGIN = Path(pollux.shop.__file__).parent / "plugin"
ADA = Caller(UserId("visitor:ada"), "http://127.0.0.1:1", "a1")
ADDRESS = {"name": "Ada Lovelace", "street": "12 St James's Square", "town": "London", "postcode": "SW1Y 4JH"}


@pytest.fixture
def registry(tmp_path: Path) -> ActionRegistry:
    place.keep_at(tmp_path / "shop.db")
    registry = ActionRegistry()
    add_plugin(registry, read_plugin(PLUGIN))
    return registry


def test_the_files_say_what_the_handlers_do():
    findings = check_plugin(read_plugin(PLUGIN), handlers_at("pollux.shop.actions"))
    assert [finding for finding in findings if finding.kind == "error"] == []


def test_a_model_hears_of_what_is_described_and_is_asked_about_what_changes_something(registry: ActionRegistry):
    offered = {name: tool.spec.default_approval for name, tool in action_tools(registry).items()}
    assert offered == {
        "action_addToCart": "required",
        "action_getCart": "not_required",
        "action_listOrders": "not_required",
        "action_placeOrder": "required",
        "action_searchProducts": "not_required",
    }


async def test_from_a_search_to_an_order(registry: ActionRegistry):
    found: Any = await registry.execute("searchProducts", {"query": "blue mugs", "maxPrice": 10}, ADA)
    cart: Any = await registry.execute("addToCart", {"productId": found[0]["id"], "quantity": 2}, ADA)
    assert (cart["count"], cart["total"]) == (2, 19.0)
    order: Any = await registry.execute("placeOrder", {**ADDRESS, "total": 19.0}, ADA)
    assert (order["number"], order["paid"], order["total"]) == (1, "on invoice", 19.0)
    assert await registry.execute("listOrders", {}, ADA) == [order]
    assert await registry.execute("placeOrder", {**ADDRESS, "total": 19.0}, ADA) == order


def test_who_approves_an_order_reads_where_it_goes_and_what_it_costs(registry: ActionRegistry):
    tool = action_tools(registry)["action_placeOrder"]
    shown = tool.preview(tool.prepare({**ADDRESS, "total": 19}))
    assert "£19.00" in shown and "12 St James's Square" in shown and "Standard" in shown


@pytest.mark.parametrize(
    ("name", "given", "code"),
    [
        ("addToCart", {"productId": "nothing"}, "NO_SUCH_PRODUCT"),
        ("addToCart", {"productId": "mug-blue", "quantity": 0}, "INVALID_INPUT"),
        ("placeOrder", {**ADDRESS, "total": 0}, "EMPTY_CART"),
        ("placeOrder", {**ADDRESS, "town": " ", "total": 0}, "NO_ADDRESS"),
        ("placeOrder", {**ADDRESS, "total": 1, "delivery": "Rocket"}, "INVALID_INPUT"),
        ("payOrder", {**ADDRESS, "total": 1, "card": "12", "attempt": "0123456789"}, "BAD_CARD"),
        ("payOrder", {**ADDRESS, "total": 1, "card": "4" * 16, "attempt": ""}, "BAD_ATTEMPT"),
    ],
)
async def test_what_cannot_be_done_says_why(registry: ActionRegistry, name: str, given: dict[str, Any], code: str):
    with pytest.raises(ActionError) as refused:
        await registry.execute(name, given, ADA)
    assert refused.value.code == code


async def test_of_a_card_only_the_last_digits_are_kept(registry: ActionRegistry, tmp_path: Path):
    await registry.execute("addToCart", {"productId": "mug-blue"}, ADA)
    paid = {**ADDRESS, "total": 9.5, "card": "4929 1234 5678 9012", "attempt": "0123456789"}
    order: Any = await registry.execute("payOrder", paid, ADA)
    assert order["paid"] == "by card, ending in 9012"
    kept = b"".join(file.read_bytes() for file in tmp_path.glob("shop.db*"))
    assert b"49291234" not in kept and b"4929 1234" not in kept
