"""Pages with a chat in them, in a real browser: served on loopback, with the headers and the host page a test wants."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web
from playwright.async_api import Browser, Locator, Page
from tests.web.bundles import bundle

STRICT = (
    "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'self'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
HOST = """<!doctype html><html lang="en"><head><title>Shop</title></head><body>
<main><h1>Mugs</h1><p>Blue, and <a href="/more">more</a>.</p>
<button id="buy">Buy</button><input id="mail" aria-label="Mail"></main>
"""


@dataclass
class ChatPage:
    """One page with a chat whose conversation says what the test tells it to say."""

    page: Page
    troubles: list[str] = field(default_factory=list[str])
    """What the browser complained about: errors, warnings, violations of the policy."""
    requests: list[str] = field(default_factory=list[str])

    @property
    def chat(self) -> Locator:
        return self.page.locator("pollux-chat")

    def part(self, selector: str) -> Locator:
        return self.page.locator(f"pollux-chat >> {selector}")

    async def show(self, **change: Any) -> None:
        """Have the conversation say this, and wait until it is drawn."""
        await self.page.evaluate(
            """async (change) => {
                conversation.show(change)
                await new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))
            }""",
            change,
        )

    async def asked(self) -> list[list[Any]]:
        """What the chat asked the conversation for."""
        return [call for call in await self.page.evaluate("conversation.asked") if call != ["resume"]]

    async def again(self) -> "ChatPage":
        """The page as if it had just been opened."""
        await self.page.reload()
        self.troubles.clear()
        self.requests.clear()
        return self

    async def get(self, name: str) -> Any:
        return await self.chat.evaluate(f"chat => chat.{name}")

    async def focused(self) -> str:
        """What has the focus, in the page or in the chat."""
        return await self.page.evaluate(
            """() => {
                const at = document.querySelector('pollux-chat').shadowRoot.activeElement ?? document.activeElement
                return at.getAttribute('aria-label') || at.className || at.id || at.tagName
            }"""
        )


@asynccontextmanager
async def chat_page(
    browser: Browser,
    *,
    host: str = HOST,
    style: str = "",
    first: str = "",
    csp: str = STRICT,
    tag: str = "",
    **context: Any,
) -> AsyncGenerator[ChatPage]:
    """A host page with its own `style` and a script that runs `first`, and our script with these attributes."""
    head = ('<link rel="stylesheet" href="/style.css">' if style else "") + (
        '<script src="/first.js"></script>' if first else ""
    )
    body = host.replace("</head>", head + "</head>") + f'<script src="/chat.js" {tag}></script>'
    async with served({"/": body, "/style.css": style, "/first.js": first}, csp=csp) as url:
        opened = await browser.new_context(**context)
        page = await opened.new_page()
        there = ChatPage(page)
        page.on("console", lambda said: there.troubles.append(said.text) if said.type in ("error", "warning") else None)
        page.on("pageerror", lambda problem: there.troubles.append(str(problem)))
        page.on("request", lambda request: there.requests.append(request.url))
        await page.add_init_script(
            "document.addEventListener('securitypolicyviolation', e => console.error('violated', e.violatedDirective))"
        )
        await page.goto(url)
        await there.chat.wait_for(state="attached")
        try:
            yield there
        finally:
            await opened.close()


@asynccontextmanager
async def served(files: Mapping[str, str], *, csp: str) -> AsyncGenerator[str]:
    """These files at the paths that they have here, and the chat for tests at /chat.js."""
    kinds = {".css": "text/css", ".js": "text/javascript"}

    async def answer(request: web.Request) -> web.Response:
        if request.path == "/chat.js":
            return web.Response(body=bundle("chat").read_bytes(), content_type="text/javascript")
        if request.path not in files:
            raise web.HTTPNoContent
        kind = next((kinds[end] for end in kinds if request.path.endswith(end)), "text/html")
        headers = {"Content-Security-Policy": csp} if kind == "text/html" else {}
        return web.Response(text=files[request.path], content_type=kind, charset="utf-8", headers=headers)

    app = web.Application()
    app.router.add_get("/{path:.*}", answer)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/"
    finally:
        await runner.cleanup()
