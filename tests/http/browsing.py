"""A real browser for tests, and somebody else's site on the same machine for it to visit."""

import shutil
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest
from aiohttp import web
from playwright.async_api import Browser, Page, async_playwright

CHROMIUM = shutil.which("chromium")
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
    # The browser's own guard of local addresses: ours must do without it.
    "--disable-features=LocalNetworkAccessChecks,BlockInsecurePrivateNetworkRequests",
    # Somebody else's name that leads to this machine.
    "--host-resolver-rules=MAP evil.example 127.0.0.1",
]  # fmt: skip
PAGE = "<!doctype html><title>elsewhere</title><body>"

needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed; apt-get install chromium")


@asynccontextmanager
async def browser() -> AsyncGenerator[Browser]:
    """Chromium without a window, closed at the end."""
    async with async_playwright() as playwright:
        chromium = await playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        try:
            yield chromium
        finally:
            await chromium.close()


@dataclass(frozen=True)
class Elsewhere:
    """A site of somebody else's, by the port that it has."""

    port: int

    def origin(self, host: str) -> str:
        return f"http://{host}:{self.port}"


@asynccontextmanager
async def elsewhere() -> AsyncGenerator[Elsewhere]:
    """An empty page at every path; `/bounce?to=URL` sends on whatever came, body and all."""

    async def answer(request: web.Request) -> web.Response:
        if request.path == "/bounce":
            return web.Response(status=307, headers={"Location": request.query["to"]})
        return web.Response(text=PAGE, content_type="text/html")

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield Elsewhere(runner.addresses[0][1])
    finally:
        await runner.cleanup()


async def opens_link(page: Page, url: str, token: str) -> None:
    """As a person with a login link does: open it, and say that it is their own."""
    await page.goto(f"{url}/login?token={token}")
    await page.get_by_role("button", name="Sign in as").click()
    await page.wait_for_url(f"{url}/console**")
