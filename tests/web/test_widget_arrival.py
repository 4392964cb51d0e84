"""A page that the agent has come to is looked at when it shows what it was opened for."""

import asyncio
from pathlib import Path

import pytest
from playwright.async_api import Browser, Route, expect
from tests.http.browsing import needs_chromium
from tests.page.site import page_site as site
from tests.web.bundles import needs_web
from tests.web.shared_browser import in_browser
from tests.web.widget_site import ask, shop

from pollux.providers.scripted import ScriptedProvider, call, reply

pytestmark = [needs_chromium, needs_web, pytest.mark.slow, in_browser]

# The first page leads to itself, with an answer in its address; then it asks the server for what it shows.
ARRIVING = """
document.getElementById('buy').onclick = () => location.assign('/shop?checkout')
if (location.search) fetch('/total').then(answer => answer.text()).then(total => {
    document.getElementById('cart').textContent = total
})
"""
FRAMES = "n => new Promise(done => { const next = () => n-- ? requestAnimationFrame(next) : done(); next() })"


async def test_what_the_next_page_asks_its_server_for_is_there_when_the_agent_looks(chromium: Browser, tmp_path: Path):
    model = ScriptedProvider(call("click", {"ref": "e1"}), reply("It comes to 19.00."))
    host = """<!doctype html><html lang="en"><head><title>Shop</title></head><body><main><h1>Mugs</h1>
<button id="buy">Check out</button><output id="cart">nothing yet</output></main>
<script src="/pollux.js" data-mode="full"></script><script type="module" src="/shop.js"></script></body></html>"""
    async with site(tmp_path, model) as here, shop(chromium, here, host=host, more=ARRIVING) as (page, troubles):
        asked = asyncio.Event()

        async def total(route: Route) -> None:
            # Late: the page has long been drawn, and everything else in it has come.
            asked.set()
            await page.wait_for_load_state("load")
            await page.evaluate(FRAMES, 20)
            await route.fulfill(body="19.00 in all", content_type="text/plain")

        await page.route("**/total", total)
        await ask(page, "what does it come to?")
        await expect(page.locator("pollux-chat >> .assistant").last).to_contain_text("It comes to 19.00.")
        assert asked.is_set()
        assert "19.00 in all" in model.requests[-1].system and "nothing yet" not in model.requests[-1].system
        assert await page.evaluate("fetch.toString()") == "function fetch() { [native code] }"
        assert troubles == []
