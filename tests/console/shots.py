"""The pictures of the console in docs/images: `python -m tests.console.shots`. They show the demo as it opens.

All but one: nothing of the demo has an unknown outcome.
"""

import asyncio
import tempfile
from pathlib import Path
from typing import Any

from playwright.async_api import Browser, Page, expect
from tests.console.acting import CONFIG
from tests.console.lab import Lab, lab
from tests.http.site import TOKENS
from tests.web.shared_browser import launched

from pollux.cli.demo.opened import opened

IMAGES = Path(__file__).parents[2] / "docs/images"
SIZE: Any = {"width": 1280, "height": 800}
COLOURS = ("light", "dark")
PAGES = (
    *("threads", "approvals", "runs", "runbooks", "agent", "grants"),
    *("audit", "usage", "google", "settings", "health"),
)
RUNBOOK = "runbooks/todo.atrb"


async def main() -> None:
    with tempfile.TemporaryDirectory() as place:
        async with opened(Path(place), port=0) as demo, launched() as chromium:
            token = (demo.home / "token").read_text().strip()
            for colours in COLOURS:
                await shoot(chromium, demo.url, token, PAGES, colours)
    with tempfile.TemporaryDirectory() as place:
        async with launched() as chromium, lab(chromium, Path(place), config=CONFIG) as unsure:
            await lose(unsure)
            for colours in COLOURS:
                await shoot(unsure.chromium, unsure.url, TOKENS["ada"], ("unknown",), colours)


async def lose(place: Lab) -> None:
    """Something is approved and begun, and never heard of again."""
    run = await place.ada.run('call launch {"probe": "Voyager"}')
    await place.ada.resolve(run["approvals"][0]["id"])


async def shoot(chromium: Browser, url: str, token: str, names: tuple[str, ...], colours: Any) -> None:
    """These pages in these colours."""
    context = await chromium.new_context(viewport=SIZE, color_scheme=colours)
    page = await context.new_page()
    await page.goto(f"{url}/login?token={token}")
    if "/login" in page.url:
        # The machine's own token leads straight on; the link of anybody else asks first.
        await page.get_by_role("button", name="Sign in as").click()
    for name in names:
        # Nothing is pointed at.
        await page.mouse.move(0, 0)
        match name:
            case "threads":
                await show(page, url, name)
                # The newest: a mail to Carol that waits.
                await page.get_by_role("link", name="carol").first.click()
                await expect(page.get_by_role("button", name="Approve once")).to_be_visible()
            case "runs":
                await show(page, url, name)
                await page.locator("main table a").nth(2).click()
                await expect(page.get_by_role("heading", name="What happened")).to_be_visible()
            case "runbooks":
                await show(page, url, RUNBOOK)
            case "agent":
                await page.get_by_role("button", name="Configure report").click()
                await expect(page.get_by_label("Prompt", exact=True)).to_be_visible()
            case "unknown":
                await show(page, url, name)
                await expect(page.get_by_text("Launch Voyager").first).to_be_visible()
            case _:
                await show(page, url, name)
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
