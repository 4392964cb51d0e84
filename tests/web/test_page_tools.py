"""Tools that a page brings itself: what Jay's automation tells of, and what is declared to browsers (WebMCP)."""

import json
from collections.abc import AsyncGenerator
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page
from tests.http.browsing import needs_chromium
from tests.web.bundles import bundle, needs_web
from tests.web.see import BEGIN, PAGES, shown, state
from tests.web.shared_browser import in_browser, launched

pytestmark = [needs_chromium, needs_web, pytest.mark.slow, in_browser]

DECLARED = """
  window.given = [];
  document.modelContext.registerTool({
    name: "add-to-cart", description: "Put a mug into the cart",
    inputSchema: { type: "object", required: ["id"], additionalProperties: false,
      properties: { id: { type: "string", enum: ["blue", "red"] }, count: { type: "integer", minimum: 1 } } },
    async execute(input) {
      given.push(input);
      if (input.count === 13) throw new Error("unlucky");
      if (input.count === 12) return { isError: true, content: [{ type: "text", text: "sold out" }] };
      return { content: [{ type: "text", text: `${input.id} is in the cart` }] };
    },
  });
  document.modelContext.registerTool({ name: "click", description: "Not ours", execute: async () => "no" });
"""


@pytest_asyncio.fixture(loop_scope="session", scope="module")
async def chromium() -> AsyncGenerator[Browser]:
    """One of its own: the others shall not know of this."""
    async with launched("--enable-features=WebMCP") as browser:
        yield browser


@pytest_asyncio.fixture(loop_scope="session")
async def jay(chromium: Browser) -> AsyncGenerator[Page]:
    async with shown(chromium, (PAGES / "jay.html").read_text()) as page:
        yield page


@pytest_asyncio.fixture(loop_scope="session")
async def declaring(chromium: Browser) -> AsyncGenerator[Page]:
    page = await chromium.new_page()
    # Only pages with an origin of their own may declare tools.
    await page.route("**/*", lambda route: route.fulfill(body="<!doctype html><p>Shop", content_type="text/html"))
    await page.goto("http://shop.localhost/")
    if not await page.evaluate("'modelContext' in document"):
        pytest.skip("this Chromium knows nothing of document.modelContext")
    await page.evaluate(DECLARED)
    await page.add_script_tag(path=bundle("automation"))
    await page.evaluate(BEGIN)
    yield page
    await page.close()


async def tools(page: Page) -> dict[str, dict[str, Any]]:
    return {tool["name"]: tool for tool in await page.evaluate("automation.tools()")}


async def call(page: Page, name: str, **args: object) -> dict[str, Any]:
    made = {"id": "1", "name": name, "args": args}
    return await page.evaluate("(call) => automation.execute(call)", made)


async def test_what_a_jay_page_says_of_itself_is_told_without_its_elements(jay: Page) -> None:
    told = await state(jay)
    assert told["viewState"] == {"products": [{"name": "Blue mug"}, {"name": "Red mug"}], "total": 24}
    by_name = {each["refName"]: each for each in told["interactions"]}
    assert [item["coordinate"] for item in by_name["addToCart"]["items"]] == [
        ["blue", "addToCart"],
        ["red", "addToCart"],
    ]
    assert by_name["addToCart"]["items"][0] == {"coordinate": ["blue", "addToCart"], "events": ["click"]}
    assert by_name["secretNote"]["items"][0]["private"] is True
    assert "sendMessage" not in by_name


async def test_each_interaction_is_a_tool_and_lists_are_one(jay: Page) -> None:
    offered = await tools(jay)
    adding = offered["click-add-to-cart"]["inputSchema"]
    assert adding["properties"]["coordinate"]["enum"] == ["blue/addToCart", "red/addToCart"]
    assert adding["required"] == ["coordinate"]
    assert offered["fill-size"]["inputSchema"]["properties"]["value"]["enum"] == ["S", "M"]
    assert "coordinate" not in offered["fill-size"]["inputSchema"]["properties"]
    assert "toggle-gift" in offered
    # The server asks about private ones by what the call names.
    assert offered["fill-secret-note"]["inputSchema"]["required"] == ["coordinate", "value"]


async def test_a_jay_tool_acts_upon_the_item_that_is_meant(jay: Page) -> None:
    outcome = await call(jay, "click-add-to-cart", coordinate="red/addToCart")
    assert outcome["ok"], outcome
    assert (await call(jay, "fill-size", value="M"))["ok"]
    assert (await call(jay, "toggle-gift"))["ok"]
    assert await jay.evaluate("[clicked, size.value, gift.checked]") == [["red"], "M", True]


@pytest.mark.parametrize("args", [{"coordinate": "green/addToCart"}, {}, {"coordinate": ""}])
async def test_an_unknown_coordinate_is_refused_and_never_the_first_item(jay: Page, args: dict[str, str]) -> None:
    outcome = await call(jay, "click-add-to-cart", **args)
    assert not outcome["ok"]
    assert await jay.evaluate("clicked") == []


async def test_a_coordinate_of_jays_leads_to_its_element_and_events_can_be_triggered(jay: Page) -> None:
    assert await jay.evaluate("automation.getInteraction(['blue', 'addToCart']).known.name") == "Add"
    assert (await jay.evaluate("automation.triggerEvent('click', ['blue', 'addToCart'])"))["ok"]
    assert (await jay.evaluate("automation.triggerEvent('input', ['size'], 'M')"))["ok"]
    assert not (await jay.evaluate("automation.triggerEvent('click', ['green', 'addToCart'])"))["ok"]
    assert await jay.evaluate("[clicked, size.value]") == [["blue"], "M"]


async def test_an_event_of_any_interaction_is_triggered_by_the_pages_own_means(jay: Page) -> None:
    assert {"trigger-interaction", "fill-input"} <= (await tools(jay)).keys()
    await jay.evaluate("""() => {
        window.heard = [];
        const { automation } = window.__jay;
        const given = automation.triggerEvent;
        automation.triggerEvent = (...event) => { heard.push(event); return given?.apply(automation, event); };
    }""")
    assert (await call(jay, "trigger-interaction", coordinate="red/addToCart"))["ok"]
    assert (await call(jay, "fill-input", coordinate="size", value="M"))["ok"]
    pressed, *filled = await jay.evaluate("heard")
    assert pressed[:2] == ["click", ["red", "addToCart"]]
    assert filled == [["change", ["size"], "M"]]
    assert await jay.evaluate("size.value") == "M"
    wrong = await call(jay, "trigger-interaction", coordinate="green/addToCart")
    assert not wrong["ok"] and "red/addToCart" in wrong["error"]


async def test_a_jay_page_that_comes_late_is_noticed(chromium: Browser) -> None:
    html = (PAGES / "jay.html").read_text().replace("window.__jay =", "window.later =")
    async with shown(chromium, html) as page:
        assert "viewState" not in await state(page)
        await page.evaluate("window.told = []; automation.onStateChange((state) => told.push(state)); 0")
        await page.evaluate("window.__jay = later; window.dispatchEvent(new Event('jay:automation-ready'))")
        assert await page.evaluate("told.at(-1).viewState.total") == 24


async def test_declared_tools_are_offered_but_none_can_stand_in_for_ours(declaring: Page) -> None:
    offered = await tools(declaring)
    assert offered["add-to-cart"]["description"] == "Put a mug into the cart"
    assert offered["add-to-cart"]["category"] == "page-automation"
    assert offered["click"]["description"] != "Not ours"


async def test_a_declared_tool_is_called_with_what_fits_its_schema(declaring: Page) -> None:
    outcome = await call(declaring, "add-to-cart", id="blue", count=2)
    assert outcome == {"ok": True, "did": "called add-to-cart", "changed": [], "value": "blue is in the cart"}
    assert await declaring.evaluate("given") == [{"id": "blue", "count": 2}]


@pytest.mark.parametrize("args", [{}, {"id": "green"}, {"id": "blue", "count": 0}, {"id": "blue", "colour": "red"}])
async def test_what_does_not_fit_its_schema_reaches_no_declared_tool(declaring: Page, args: dict[str, Any]) -> None:
    outcome = await call(declaring, "add-to-cart", **args)
    assert not outcome["ok"]
    assert "arguments" in outcome["error"]
    assert await declaring.evaluate("given") == []


async def test_a_declared_tool_that_fails_says_so(declaring: Page) -> None:
    sold_out = await call(declaring, "add-to-cart", id="blue", count=12)
    assert sold_out == {"ok": False, "error": "add-to-cart failed: sold out"}
    threw = await call(declaring, "add-to-cart", id="blue", count=13)
    assert not threw["ok"]
    assert "failed in the page" in json.dumps(threw)
