"""The approvals inbox for the unlucky: focus elsewhere, texts half written, wrong clocks, and arguments that deceive."""

from collections.abc import AsyncGenerator

import pytest
import pytest_asyncio
from playwright.async_api import expect
from tests.console.acting import CONFIG
from tests.console.lab import PATIENT, Lab, lab
from tests.http.browsing import needs_chromium
from tests.web.bundles import needs_web

pytestmark = [needs_chromium, needs_web, pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]

PENDING = "/api/agent/approvals/pending?limit=25"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Lab]:
    async with lab(tmp_path_factory.mktemp("approvals"), config=CONFIG) as opened:
        yield opened


@pytest_asyncio.fixture(loop_scope="module")
async def place(shared: Lab) -> AsyncGenerator[Lab]:
    """The same lab for each test, with nothing left to answer."""
    yield shared
    for question in (await shared.ada.get(PENDING)).body["items"]:
        await shared.ada.resolve(question["id"], "reject", query="?wait=0")


async def test_a_key_pressed_at_another_question_does_not_answer_the_one_that_is_open(place: Lab):
    opened = await place.asks("open@example.com")
    await place.asks("looked-at@example.com")
    async with place.desk() as desk:
        await desk.open(f"approvals/{opened}")
        approve = desk.page.get_by_role("button", name="Approve once", exact=True)
        await expect(approve).to_have_attribute("aria-disabled", "false", timeout=PATIENT)
        await desk.page.locator("[data-question]").nth(1).focus()
        for key in ("Shift+A", "e", "r", "a"):
            await desk.page.keyboard.press(key)
        await expect(approve).to_be_visible()
        await expect(desk.page.locator("main")).not_to_contain_text("Press a once more")
        # Back at the one that is open, the same keys count.
        await desk.page.keyboard.press("k")
        await desk.page.keyboard.press("a")
        await desk.sees("Press a once more")
    assert len((await place.ada.get(PENDING)).body["items"]) == 2
