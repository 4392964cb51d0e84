"""A page that reshuffles between showing and acting: what was meant is clicked, or nothing is."""

import asyncio
from dataclasses import dataclass
from typing import Any

import pytest
from playwright.async_api import Browser
from tests.http.browsing import needs_chromium
from tests.web.act_scenes import PAGES, load
from tests.web.bundles import needs_web
from tests.web.shared_browser import in_browser

pytestmark = [needs_chromium, needs_web, pytest.mark.slow]

ROUNDS = 500
AT_ONCE = 10


@dataclass(frozen=True)
class Told:
    """How often what was meant was clicked, how often nothing was, and what was clicked instead."""

    right: int
    refused: int
    wrong: list[dict[str, Any]]


@in_browser
async def test_of_500_clicks_on_a_page_that_reshuffles_none_is_wrong(chromium: Browser):
    async def rounds(first: int) -> Told:
        page = await chromium.new_page()
        await load(page, (PAGES / "reshuffle.html").read_text())
        told = await page.evaluate("([count, first]) => rounds(count, first)", [ROUNDS // AT_ONCE, first])
        await page.close()
        return Told(**told)

    told = await asyncio.gather(*(rounds(17 + each) for each in range(AT_ONCE)))
    wrong = [each for part in told for each in part.wrong]
    right, refused = sum(part.right for part in told), sum(part.refused for part in told)
    print(f"{right} right, {refused} refused, {len(wrong)} wrong")
    assert wrong == []
    assert right + refused == ROUNDS
    # Refusing everything would be no art: where nothing that matters changed, the click happens.
    assert right >= ROUNDS // 5
