"""The whole script in a page of a real server: it sees the page and uses it, asks first, and survives a reload."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, Route, expect
from tests.engine.builders import TO_BOB, mail
from tests.http.browsing import browser, needs_chromium
from tests.page.site import PageSite
from tests.page.site import page_site as site
from tests.web.bundles import built, needs_web

from pollux.providers.scripted import ScriptedProvider, call, reply

pytestmark = [needs_chromium, needs_web, pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]

OWN = "default-src 'none'; script-src 'self'; connect-src 'self'"
POLICY = f"{OWN}; require-trusted-types-for 'script'; trusted-types 'none'"
HOST = """<!doctype html><html lang="en"><head><title>Shop</title></head><body><main><h1>Mugs</h1>
<button id="buy">Buy a mug</button><output id="cart">0 in the cart</output></main>
<script src="/shop.js"></script><script src="/pollux.js" data-mode="full" data-launcher="closed"></script>
<script src="/pollux.js"></script></body></html>"""
SHOP = """let count = 0
document.getElementById('buy').onclick = () => {
    document.getElementById('cart').textContent = `${++count} in the cart`
}"""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def chromium() -> AsyncGenerator[Browser]:
    async with browser() as opened:
        yield opened


@asynccontextmanager
async def shop(chromium: Browser, here: PageSite) -> AsyncGenerator[tuple[Page, list[str]]]:
    """A page of the server's own, with our script twice and a strict policy; and what the browser complained of."""

    async def answer(route: Route) -> None:
        match route.request.url.removeprefix(here.url).partition("?")[0]:
            case "/shop":
                headers = {"Content-Security-Policy": POLICY}
                await route.fulfill(body=HOST, content_type="text/html", headers=headers)
            case "/shop.js":
                await route.fulfill(body=SHOP, content_type="text/javascript")
            case "/pollux.js" | "/automation.mjs" as name:
                await route.fulfill(path=built() / name[1:], content_type="text/javascript")
            case "/favicon.ico":
                await route.fulfill(status=204)
            case _:
                await route.continue_()

    context = await chromium.new_context()
    page = await context.new_page()
    troubles: list[str] = []
    page.on("console", lambda said: troubles.append(said.text) if said.type in ("error", "warning") else None)
    page.on("pageerror", lambda problem: troubles.append(str(problem)))
    await page.route("**/*", answer)
    await page.goto(f"{here.url}/shop")
    try:
        yield page, troubles
    finally:
        await context.close()


async def ask(page: Page, text: str) -> None:
    field = page.locator("pollux-chat >> textarea")
    await field.fill(text)
    await field.press("Enter")


async def test_the_script_sees_and_uses_the_page_and_tells_of_it(chromium: Browser, tmp_path: Path):
    model = ScriptedProvider(call("click", {"ref": "e1"}), reply("There is **one** mug in your cart."))
    async with site(tmp_path, model) as here, shop(chromium, here) as (page, troubles):
        assert await page.locator("pollux-chat").count() == 1
        await page.locator("pollux-chat >> role=button[name='Open the assistant']").click()
        await ask(page, "buy a mug")
        await expect(page.locator("pollux-chat >> strong")).to_have_text("one")
        await expect(page.locator("#cart")).to_have_text("1 in the cart")
        assert 'e1 button "Buy a mug"' in model.requests[0].system
        assert "Open the assistant" not in model.requests[0].system
        await expect(page.locator("pollux-chat >> .steps .done")).to_have_count(1)
        assert await page.evaluate("document.querySelector('pollux-chat').isLoading") is False
        assert troubles == []


async def test_a_question_is_there_again_after_a_reload_and_what_it_asks_for_is_done_once(
    chromium: Browser, tmp_path: Path
):
    tool = mail()
    model = ScriptedProvider(call("send_mail", TO_BOB), reply("Sent to Bob."))
    async with site(tmp_path, model, tools=[tool]) as here, shop(chromium, here) as (page, troubles):
        await page.locator("pollux-chat >> role=button[name='Open the assistant']").click()
        await ask(page, "tell Bob")
        card = page.locator("pollux-chat >> .approval")
        await expect(card).to_be_visible()
        before = await card.locator("tbody").inner_text()
        assert TO_BOB["to"] in before and tool.ran == []

        await page.reload()
        await expect(card).to_be_visible()
        assert await card.locator("tbody").inner_text() == before
        assert await page.evaluate("document.querySelector('pollux-chat').lastUserMessage") == "tell Bob"
        await expect(card.locator(".approve")).to_have_attribute("aria-disabled", "false")
        await card.locator(".approve").click()
        await expect(page.locator("pollux-chat >> .assistant").last).to_contain_text("Sent to Bob.")
        assert len(tool.ran) == 1
        await expect(card).to_have_count(0)

        await page.reload()
        await page.locator("pollux-chat >> role=button[name='Open the assistant']").click()
        await expect(page.locator("pollux-chat >> .assistant").last).to_contain_text("Sent to Bob.")
        assert len(tool.ran) == 1 and troubles == []


async def test_a_page_that_the_browser_kept_goes_on_with_what_was_said_since(chromium: Browser, tmp_path: Path):
    async with site(tmp_path, ScriptedProvider(reply("Hello."))) as here, shop(chromium, here) as (page, _):
        await page.locator("pollux-chat >> role=button[name='Open the assistant']").click()
        await ask(page, "hi")
        await expect(page.locator("pollux-chat >> .assistant").last).to_contain_text("Hello.")
        # As if this had been said on the page that the visitor comes back from.
        await page.evaluate("""() => {
            const kept = Object.entries(sessionStorage);
            document.querySelector("pollux-chat").clear();
            for (const [key, value] of kept) sessionStorage.setItem(key, value);
            window.dispatchEvent(new PageTransitionEvent("pageshow", { persisted: true }));
        }""")
        await expect(page.locator("pollux-chat >> .assistant").last).to_contain_text("Hello.")


async def test_what_is_too_long_to_send_stays_in_the_field(chromium: Browser, tmp_path: Path):
    async with site(tmp_path, ScriptedProvider()) as here, shop(chromium, here) as (page, _):
        await page.locator("pollux-chat >> role=button[name='Open the assistant']").click()
        await ask(page, "x" * 100_001)
        await expect(page.locator("pollux-chat >> text=Say it in parts")).to_be_visible()
        assert await page.evaluate("document.querySelector('pollux-chat').messageInput.length") == 100_001


async def test_what_was_sent_leaves_the_field_however_its_signs_are_counted(chromium: Browser, tmp_path: Path):
    async with site(tmp_path, ScriptedProvider(reply("Hello."))) as here, shop(chromium, here) as (page, troubles):
        await page.locator("pollux-chat >> role=button[name='Open the assistant']").click()
        await ask(page, "\N{GRINNING FACE}" * 60_000)
        await expect(page.locator("pollux-chat >> .assistant")).to_contain_text("Hello.")
        await expect(page.locator("pollux-chat >> textarea")).to_have_value("")
        assert troubles == []


async def test_a_page_that_is_written_anew_has_a_chat_again(chromium: Browser, tmp_path: Path):
    async with site(tmp_path, ScriptedProvider()) as here, shop(chromium, here) as (page, _):
        await page.evaluate("document.open(); document.append(document.createElement('html')); document.close()")
        await expect(page.locator("pollux-chat")).to_have_count(0)
        await page.evaluate((built() / "pollux.js").read_text())
        await expect(page.locator("pollux-chat >> textarea")).to_be_visible()
