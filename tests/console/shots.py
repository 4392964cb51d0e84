"""The pictures of the console in docs/images: `python -m tests.console.shots`. They show the demo as it opens."""

import asyncio
import tempfile
from pathlib import Path
from typing import Any

from playwright.async_api import Browser, Page, expect
from tests.http.browsing import browser

from pollux.cli.demo.opened import Opened, opened

IMAGES = Path(__file__).parents[2] / "docs/images"
SIZE: Any = {"width": 1280, "height": 800}
PAGES = (
    *("threads", "approvals", "unknown", "runs", "runbooks", "grants"),
    *("audit", "usage", "google", "settings", "health"),
)
RUNBOOK = "runbooks/todo.atrb"


async def main() -> None:
    with tempfile.TemporaryDirectory() as place:
        async with opened(Path(place), port=0) as demo, browser() as chromium:
            for colours in ("light", "dark"):
                await shoot(demo, chromium, colours)


async def shoot(demo: Opened, chromium: Browser, colours: Any) -> None:
    """Every page in these colours."""
    context = await chromium.new_context(viewport=SIZE, color_scheme=colours)
    page = await context.new_page()
    token = (demo.home / "token").read_text().strip()
    await page.goto(f"{demo.url}/login?token={token}")
    for name in PAGES:
        await show(page, demo.url, name)
        match name:
            case "threads":
                # The newest: a mail to Carol that waits.
                await page.get_by_role("link", name="carol").first.click()
                await expect(page.get_by_role("button", name="Approve once")).to_be_visible()
            case "runs":
                await page.locator("main table a").nth(2).click()
                await expect(page.get_by_role("heading", name="What happened")).to_be_visible()
            case "runbooks":
                await show(page, demo.url, RUNBOOK)
            case _:
                pass
        # Approving is possible only after the question has been in view for a moment.
        await page.wait_for_timeout(1_000)
        await page.screenshot(path=IMAGES / f"console-{name}-{colours}.png")
    await context.close()


async def show(page: Page, url: str, name: str) -> None:
    await page.goto(f"{url}/console#/{name}")
    await expect(page.locator("main h1").first).to_be_visible()
    await expect(page.locator("[aria-busy=true]")).to_have_count(0)


if __name__ == "__main__":
    asyncio.run(main())
