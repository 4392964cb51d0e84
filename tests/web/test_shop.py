"""The shop's story in a real browser: the agent on its pages puts things into the cart, fills in the form, and orders
only what was approved, once, whatever happens to the page or to the server meanwhile."""

from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import pytest_asyncio
from playwright.async_api import Browser, ConsoleMessage, Page, expect
from tests.http.browsing import needs_chromium
from tests.waiting import until
from tests.web.bundles import WEB, built, needs_web
from tests.web.ports import held_port
from tests.web.shared_browser import PATIENT, in_browser
from tests.web.shop_process import marker, shop_process, started

from pollux.emulator import run_emulator

pytestmark = [needs_chromium, needs_web, pytest.mark.slow, in_browser]

AXE = WEB / "node_modules/axe-core/axe.min.js"
ADDRESS = {"name": "Ada Lovelace", "street": "12 St James's Square", "town": "London", "postcode": "SW1Y 4JH"}
CALL = """async ([name, input]) => {
  const answer = await fetch(`/_jay/actions/${name}`, { method: "POST", body: JSON.stringify(input) });
  return (await answer.json()).data;
}"""


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def model() -> AsyncGenerator[str]:
    async with run_emulator(port=0) as emulator:
        yield emulator.url


@pytest.fixture(scope="module")
def scripts() -> Path:
    return built()


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def url(model: str, scripts: Path, tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[str]:
    """The shop for those whose server does not die. Every visitor is somebody new."""
    async with shop_process(tmp_path_factory.mktemp("home"), scripts, model) as shop:
        yield shop.url


@dataclass
class Visitor:
    """Somebody at the shop, who talks to the agent on its pages."""

    page: Page
    troubles: list[str] = field(default_factory=list[str])

    async def say(self, text: str) -> None:
        box = self.page.locator("pollux-chat textarea")
        await box.fill(text)
        await box.press("Enter")

    async def hears(self, text: str) -> None:
        await expect(self.page.locator("pollux-chat")).to_contain_text(text, timeout=PATIENT)

    async def call(self, name: str, **given: object) -> Any:
        return await self.page.evaluate(CALL, [name, given])

    async def form(self) -> dict[str, str]:
        return {name: await self.page.locator(f"[name={name}]").input_value() for name in ADDRESS}


@pytest_asyncio.fixture(loop_scope="session")
async def visitor(chromium: Browser) -> AsyncGenerator[Visitor]:
    page = await chromium.new_page()
    known = Visitor(page)

    def heard(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            known.troubles.append(message.text)

    page.on("console", heard)
    page.on("pageerror", lambda problem: known.troubles.append(str(problem)))
    yield known
    await page.context.close()


async def test_from_the_catalogue_to_an_order_that_was_approved(visitor: Visitor, url: str):
    page = visitor.page
    await page.goto(url)
    await visitor.say("show me tea pots under 30")
    await visitor.hears("I found 3: Glass tea pot (£21.50), Stoneware tea pot (£24.00), Brown Betty tea pot")
    await visitor.say("add two blue mugs to the cart")
    await visitor.hears("I pressed “Add to cart” for Blue mug twice.")
    await expect(page.locator("#count")).to_have_text("2", timeout=PATIENT)

    await page.reload()
    await visitor.hears("for Blue mug twice")
    await expect(page.locator("#count")).to_have_text("2", timeout=PATIENT)
    await visitor.say("what is in my cart?")
    await visitor.hears("Cart: 2 × Blue mug (price 9.50), total 19.00.")

    await visitor.say("fill in my address and stop before paying")
    await visitor.hears("I stopped there: “Pay £19.00” is yours to press.")
    assert urlsplit(page.url).path == "/shop/checkout"
    assert await visitor.form() == ADDRESS
    assert await page.locator("[name=card]").input_value() == ""
    assert await visitor.call("listOrders") == []

    await page.reload()
    assert await visitor.form() == ADDRESS
    await visitor.say("place the order")
    await visitor.hears("order the cart for £19.00, on invoice, to Ada Lovelace")
    await page.reload()
    await visitor.hears("order the cart for £19.00, on invoice, to Ada Lovelace")
    assert await visitor.call("listOrders") == []
    await approve(page)
    await visitor.hears("The order is placed: number")
    await expect(page.locator("#count")).to_have_text("", timeout=PATIENT)

    (order,) = await visitor.call("listOrders")
    assert (order["total"], order["items"][0]["quantity"], order["paid"]) == (19, 2, "on invoice")
    await page.goto(f"{url}orders")
    await expect(page.get_by_role("heading", name=f"Order {order['number']}")).to_be_visible(timeout=PATIENT)
    assert visitor.troubles == []


async def test_what_is_denied_is_not_ordered(visitor: Visitor, url: str):
    await visitor.page.goto(f"{url}checkout")
    await visitor.call("addToCart", productId="mug-blue")
    await visitor.page.reload()
    await visitor.say("place the order")
    await visitor.page.get_by_role("button", name="Deny").click()
    await visitor.hears("The order was not placed")
    assert await visitor.call("listOrders") == []
    assert (await visitor.call("getCart"))["count"] == 1


@pytest.mark.parametrize("hold", ["before", "after"])
async def test_a_server_killed_while_it_orders_has_ordered_once_when_it_is_back(
    visitor: Visitor, model: str, scripts: Path, tmp_path: Path, hold: str
):
    home, page = tmp_path / "home", visitor.page
    with held_port() as port:
        async with shop_process(home, scripts, model, port=port, hold=hold) as shop:
            await page.goto(f"{shop.url}checkout")
            await visitor.call("addToCart", productId="mug-blue", quantity=2)
            await page.reload()
            await visitor.say("place the order")
            await approve(page)
            await until(marker(home).exists)
            shop.kill()
            again = await started(home, scripts, model, port=port)
            try:
                await visitor.hears("The order is placed: number 1")
                orders = await visitor.call("listOrders")
                assert [order["total"] for order in orders] == [19]
                assert (await visitor.call("getCart"))["count"] == 0
            finally:
                again.kill()


async def test_the_visitor_can_do_all_of_it_by_hand(visitor: Visitor, url: str):
    page = visitor.page
    await page.goto(url)
    await page.get_by_role("searchbox").fill("red mug")
    await expect(page.locator("#products li")).to_have_count(1, timeout=PATIENT)
    await page.get_by_role("button", name="Add to cart").click()
    await expect(page.get_by_role("status").first).to_have_text("In your cart: 1 × Red mug.", timeout=PATIENT)
    await page.goto(f"{url}cart")
    await expect(page.locator("#total")).to_have_text("Total £9.50", timeout=PATIENT)
    await page.get_by_role("link", name="Go to checkout").click()
    for name, value in {**ADDRESS, "card": "4929123456789012", "expiry": "12/31", "cvc": "123"}.items():
        await page.locator(f"[name={name}]").fill(value)
    await page.get_by_label("Wrap as a gift").check()
    await page.get_by_label("I accept the terms").check()
    await page.get_by_role("button", name="Pay £12.00").click()
    await expect(page.get_by_role("heading", name="Order")).to_have_count(2, timeout=PATIENT)
    (order,) = await visitor.call("listOrders")
    assert (order["paid"], order["gift"], order["total"]) == ("by card, ending in 9012", True, 12)
    assert visitor.troubles == []


async def test_nothing_about_its_pages_shuts_anybody_out(visitor: Visitor, url: str):
    page = visitor.page
    await page.goto(url)
    await visitor.call("addToCart", productId="mug-blue")
    for name in ("", "cart", "checkout", "orders"):
        await page.emulate_media(color_scheme="light")
        await page.goto(url + name)
        await expect(page.locator("#count")).to_have_text("1", timeout=PATIENT)
        await page.evaluate(AXE.read_text())
        assert await violations(page, {}) == []
        await page.emulate_media(color_scheme="dark")
        assert await violations(page, {"runOnly": ["color-contrast"]}) == []


async def violations(page: Page, options: dict[str, object]) -> list[tuple[str, str]]:
    found = await page.evaluate("options => axe.run({ exclude: ['pollux-chat'] }, options)", options)
    return [(each["id"], each["nodes"][0]["html"]) for each in found["violations"]]


async def approve(page: Page) -> None:
    """As a person does: not before the question has stood for a moment."""
    button = page.get_by_role("button", name="Approve", exact=True)
    await expect(button).to_have_attribute("aria-disabled", "false", timeout=PATIENT)
    await button.click()
