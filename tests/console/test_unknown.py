"""What nobody knows the outcome of, in a real browser: it is shown, explained, and settled by a person's word."""

from collections.abc import AsyncGenerator

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Locator, Page, expect
from tests.console.acting import CONFIG
from tests.console.lab import PATIENT, Lab, lab
from tests.http.browsing import needs_chromium
from tests.web.bundles import needs_web
from tests.web.shared_browser import in_browser

pytestmark = [needs_chromium, needs_web, pytest.mark.slow, in_browser]


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def place(chromium: Browser, tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Lab]:
    async with lab(chromium, tmp_path_factory.mktemp("unknown"), config=CONFIG) as opened:
        yield opened


async def launched(place: Lab, probe: str) -> str:
    """A launch that was approved, begun, and never heard of again; the action's id."""
    run = await place.ada.run(f'call launch {{"probe": "{probe}"}}')
    got = await place.ada.resolve(run["approvals"][0]["id"])
    (action,) = got.body["run"]["actions"]
    assert action["errorCode"] == "outcome_unknown"
    return action["id"]


def button(page: Page, name: str) -> Locator:
    return page.get_by_role("button", name=name, exact=True)


async def settled(place: Lab, action: str) -> str:
    """What the audit says of it."""
    entries = (await place.ada.get("/api/agent/audit?limit=100")).body["items"]
    (entry,) = [each for each in entries if each["kind"] == "settled" and each["actionId"] == action]
    return entry["executionStatus"]


async def test_where_everything_has_a_known_end_the_page_says_what_it_is_for(place: Lab):
    async with place.desk() as desk:
        await desk.open("unknown")
        await desk.sees("Everything that was begun has come to a known end.")
        assert await desk.problems() == []


async def test_it_is_resolved_in_the_conversation_too(place: Lab):
    run = await place.ada.run('call launch {"probe": "Giotto"}')
    got = await place.ada.resolve(run["approvals"][0]["id"])
    (action,) = got.body["run"]["actions"]
    async with place.desk() as desk:
        await desk.open(f"threads/{run['threadId']}")
        await button(desk.page, "It happened").click()
        await button(desk.page, "Yes, it happened").click()
        await desk.sees("Resolved as done, on your word.")
        assert await settled(place, action["id"]) == "completed"
        assert await desk.problems() == []


@pytest.mark.parametrize("colours", ["light", "dark"])
async def test_it_shows_what_was_begun_and_why_nobody_knows(place: Lab, colours: str):
    action = await launched(place, "Voyager" + "r" * 80)
    async with place.desk(color_scheme=colours, viewport={"width": 360, "height": 740}) as desk:
        await desk.open("unknown")
        await expect(desk.page.get_by_role("heading", level=1)).to_have_text("Unknown outcomes 1", timeout=PATIENT)
        for text in ("Launch Voyagerrr", "the line to the launch site broke after the order was given", "call launch"):
            await desk.sees(text)
        run = "run_" + action.removeprefix("act_").rpartition("_")[0]
        await expect(desk.page.locator("main").get_by_role("link", name="Run")).to_have_attribute(
            "href", f"#/runs/{run}"
        )
        assert await desk.problems() == []
        assert await desk.page.evaluate("document.documentElement.scrollWidth") <= 360
        await desk.page.get_by_role("button", name="It happened").click()
        dialog = desk.page.get_by_role("dialog")
        await expect(dialog).to_contain_text("The records will say that it was done, on your word.")
        assert await dialog.evaluate("element => element.scrollWidth <= element.clientWidth")
        assert await desk.problems() == []
        await button(desk.page, "I am not sure").click()
        await expect(dialog).to_have_count(0)
        await expect(desk.page.locator(".lost")).to_have_count(1)
    await place.ada.post(f"/api/agent/actions/{action}/settle", {"outcome": "done"})


@pytest.mark.parametrize(
    ("word", "sure", "status"),
    [
        ("It happened", "Yes, it happened", "completed"),
        ("It did not happen", "No, it did not happen", "failed"),
    ],
)
async def test_a_persons_word_settles_it(place: Lab, word: str, sure: str, status: str):
    action = await launched(place, "Pioneer")
    async with place.desk() as desk:
        await desk.open("unknown")
        await button(desk.page, f"{word}: Launch Pioneer").click()
        await button(desk.page, sure).click()
        await desk.sees("Everything that was begun has come to a known end.")
        await expect(desk.page.locator(".remark")).to_contain_text("Written down")
    assert await settled(place, action) == status


async def test_whoever_is_on_another_page_is_told_that_there_is_one(place: Lab):
    await launched(place, "Ulysses")
    async with place.desk() as desk:
        await desk.open("threads")
        link = desk.page.get_by_role("navigation").get_by_role("link", name="Unknown outcomes")
        await expect(link).to_have_accessible_name("Unknown outcomes 1 to be settled", timeout=PATIENT)
        await link.click()
        await button(desk.page, "It happened: Launch Ulysses").click()
        await button(desk.page, "Yes, it happened").click()
        await expect(link).to_have_accessible_name("Unknown outcomes", timeout=PATIENT)


async def test_what_somebody_else_settled_meanwhile_is_not_settled_again(place: Lab):
    action = await launched(place, "Galileo")
    async with place.desk() as desk:
        await desk.open("unknown")
        await button(desk.page, "It happened: Launch Galileo").click()
        await place.ada.post(f"/api/agent/actions/{action}/settle", {"outcome": "not_done"})
        await button(desk.page, "Yes, it happened").click()
        await expect(desk.page.get_by_role("dialog").get_by_role("alert")).to_contain_text("Somebody has settled it")
        await button(desk.page, "Close").click()
        await desk.sees("Everything that was begun has come to a known end.")
        assert all("409" in trouble for trouble in desk.troubles)
        desk.troubles.clear()
    assert await settled(place, action) == "failed"


async def test_one_that_is_approved_in_the_inbox_leads_here(place: Lab):
    await place.ada.run('call launch {"probe": "Cassini"}')
    async with place.desk() as desk:
        await desk.open("approvals")
        approve = button(desk.page, "Approve once")
        await expect(approve).to_have_attribute("aria-disabled", "false", timeout=PATIENT)
        await approve.click()
        await desk.sees("Approved and begun, but nobody knows whether it happened.")
        await desk.page.get_by_role("link", name="Say what happened").click()
        await desk.sees("Launch Cassini")
