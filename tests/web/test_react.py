"""Fields that React controls, or Preact in its place: after our tools they hold what they hold after a hand."""

from collections.abc import AsyncGenerator

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page
from tests.http.browsing import needs_chromium
from tests.web.act_react import PREACT, STEPS, built, installed, ours, start, told
from tests.web.bundles import WEB, needs_web
from tests.web.shared_browser import in_browser

pytestmark = [needs_chromium, needs_web, in_browser]


@pytest_asyncio.fixture(loop_scope="session", scope="module")
async def pages(chromium: Browser) -> AsyncGenerator[tuple[Page, Page]]:
    """Each in a window of its own: what lies behind another draws no frames."""
    pages = (await chromium.new_page(locale="en-US"), await chromium.new_page(locale="en-US"))
    yield pages
    for page in pages:
        await page.close()


async def driven(pages: tuple[Page, Page], app: str) -> None:
    """Every step in both, and after each the app thinks the same in both."""
    by_tools, by_hand = pages
    for page in pages:
        await start(page, app)
    for call, hand in STEPS:
        before = await told(by_hand)
        await ours(by_tools, call)
        await hand(by_hand)
        after = await told(by_hand)
        assert await told(by_tools) == after, call
        assert after != before, call


@pytest.mark.slow
async def test_preact_thinks_the_same_after_our_tools_as_after_a_hand(pages: tuple[Page, Page]):
    await driven(pages, built(WEB / "node_modules", tuple(PREACT.items())))


@pytest.mark.interop
async def test_react_thinks_the_same_after_our_tools_as_after_a_hand(pages: tuple[Page, Page]):
    await driven(pages, built(installed() / "node_modules"))
