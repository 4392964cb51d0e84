"""A page of a real server's own with the whole script in it, as it is shipped."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from playwright.async_api import Browser, Page, Route
from tests.page.site import PageSite
from tests.web.bundles import built

OWN = "default-src 'none'; script-src 'self'; connect-src 'self'"
POLICY = f"{OWN}; require-trusted-types-for 'script'; trusted-types 'none'"
HOST = """<!doctype html><html lang="en"><head><title>Shop</title></head><body><main><h1>Mugs</h1>
<button id="buy">Take a mug</button><output id="cart">0 in the cart</output></main>
<script src="/shop.js"></script><script src="/pollux.js" data-mode="full" data-launcher="closed"></script>
<script src="/pollux.js"></script></body></html>"""
SHOP = """let count = 0
document.getElementById('buy').onclick = () => {
    document.getElementById('cart').textContent = `${++count} in the cart`
}"""


@asynccontextmanager
async def shop(
    chromium: Browser, here: PageSite, *, host: str = HOST, more: str = ""
) -> AsyncGenerator[tuple[Page, list[str]]]:
    """A page of the server's own, with our script twice and a strict policy; and what the browser complained of."""

    async def answer(route: Route) -> None:
        match route.request.url.removeprefix(here.url).partition("?")[0]:
            case "/shop":
                headers = {"Content-Security-Policy": POLICY}
                await route.fulfill(body=host, content_type="text/html", headers=headers)
            case "/shop.js":
                await route.fulfill(body=SHOP + more, content_type="text/javascript")
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
