"""The approvals inbox for the unlucky: focus elsewhere, texts half written, wrong clocks, arguments that deceive."""

import asyncio
import json
import re
from collections.abc import AsyncGenerator
from datetime import UTC, datetime, timedelta

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Route, expect
from tests.console.acting import CONFIG
from tests.console.lab import PATIENT, Lab, lab
from tests.http.browsing import needs_chromium
from tests.http.site import TOKENS
from tests.web.bundles import needs_web
from tests.web.shared_browser import in_browser

pytestmark = [needs_chromium, needs_web, pytest.mark.slow, in_browser]

PENDING = "/api/agent/approvals/pending?limit=25"


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def shared(chromium: Browser, tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Lab]:
    async with lab(chromium, tmp_path_factory.mktemp("approvals"), config=CONFIG) as opened:
        yield opened


@pytest_asyncio.fixture(loop_scope="session")
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


async def test_escape_another_page_and_signing_in_again_lose_nothing_that_was_typed(place: Lab):
    approval = await place.asks("typed@example.com")
    async with place.desk() as desk:
        await desk.open(f"approvals/{approval}")
        body, why = desk.page.get_by_label("body", exact=True), desk.page.get_by_label("Why not?")
        edit, reject = (desk.page.get_by_role("button", name=name, exact=True) for name in ("Edit", "Reject"))
        await edit.click()
        await body.fill("the report is late")
        await body.press("Escape")
        await reject.click()
        await why.fill("not before noon")
        await why.press("Escape")
        await desk.open("runs")
        await desk.page.get_by_role("button", name="Sign out").click()
        await desk.page.get_by_label("Token").fill(TOKENS["ada"])
        await desk.page.get_by_role("button", name="Sign in").click()
        await expect(desk.page.get_by_text("Signed in as ada")).to_be_visible(timeout=PATIENT)
        await desk.open(f"approvals/{approval}")
        await edit.click()
        await expect(body).to_have_value("the report is late")
        await desk.page.get_by_role("button", name="Leave it as it is").click()
        await edit.click()
        await expect(body).to_have_value("the report is ready")
        await body.press("Escape")
        await reject.click()
        await expect(why).to_have_value("not before noon")
        await why.press("Control+Enter")
        await desk.sees("Rejected. Nothing was done.")
        # The browser itself reports that for a moment nobody was signed in.
        assert all("401" in trouble for trouble in desk.troubles)
        desk.troubles.clear()


async def test_a_form_has_the_caret_from_the_moment_it_is_there(place: Lab):
    approval = await place.asks("caret@example.com")
    async with place.desk() as desk:
        await desk.open(f"approvals/{approval}")
        # Looked at before the next frame: a caret that came with it would leave the field that a fast typist is in.
        await desk.page.evaluate(
            """() => new MutationObserver(() => {
              const form = document.querySelector("form[aria-label='Other arguments']");
              if (form) window.caretIn ??= form.contains(document.activeElement) ? "the form" : "elsewhere";
            }).observe(document.body, { childList: true, subtree: true })"""
        )
        await desk.page.get_by_role("button", name="Edit", exact=True).click()
        await expect(desk.page.get_by_label("body", exact=True)).to_be_visible()
        assert await desk.page.evaluate("window.caretIn") == "the form"


@pytest.mark.parametrize("hours", [-3, 3, 30])
async def test_a_clock_that_is_wrong_here_changes_nothing_that_is_said_of_time(place: Lab, hours: int):
    approval = await place.asks("timely@example.com")
    async with place.desk() as desk:
        await desk.page.clock.install(time=datetime.now(UTC) + timedelta(hours=hours))
        await desk.page.reload()
        await desk.open(f"approvals/{approval}")
        await expect(desk.page.locator(".countdown")).to_have_text(re.compile(r"^23:5\d:\d\d left$"), timeout=PATIENT)
        asked = desk.page.locator(".facts div").filter(has=desk.page.get_by_text("Asked", exact=True))
        await expect(asked).to_have_text(re.compile(r"^Asked(now|\d+ (sec|min)\. ago)$"))


async def test_many_answers_wait_for_their_turn_where_the_server_takes_only_so_many(place: Lab):
    approvals = {await place.asks(f"{name}@many.example") for name in ("one", "two", "three")}
    refused: set[str] = set()

    async def takes_few(route: Route) -> None:
        approval: str = json.loads(route.request.post_data or "")["approvalId"]
        is_first = approval not in refused
        refused.add(approval)
        error = {"code": "rate_limited", "message": "too many requests; come again in 1 seconds"}
        body = json.dumps({"ok": False, "error": error})
        if is_first:
            await route.fulfill(status=429, content_type="application/json", body=body)
        else:
            await route.continue_()

    async with place.desk() as desk:
        await desk.page.route("**/approvals/resolve*", takes_few)
        await desk.open("approvals")
        await desk.page.get_by_label("Select all 3 that are shown").check()
        await desk.page.get_by_role("button", name="Reject 3…").click()
        await desk.page.get_by_role("dialog").get_by_role("button", name="Reject 3 questions").click()
        await expect(desk.page.locator(".remark")).to_have_text("3 rejected.", timeout=PATIENT)
        assert refused == approvals
        desk.troubles.clear()


async def test_letters_that_only_look_like_others_are_told_of_a_recipient(place: Lab):
    doubtful = "\u0440\u0430ypal"
    await place.ada.run(f'call launch {{"probe": "{doubtful}"}}')
    async with place.desk() as desk:
        await desk.open("approvals")
        await desk.sees(f"{doubtful} is not what it looks like: \u0440 (U+0440) and \u0430 (U+0430) only look Latin.")
        assert await desk.problems() == []


async def test_a_question_that_moves_up_when_another_is_answered_wants_another_look(place: Lab):
    async with place.desk() as desk:
        await desk.page.clock.install()
        await desk.page.reload()
        run = await place.ada.run("Send an email to first@two.example and to second@two.example saying it is noon")
        await desk.open(f"threads/{run['threadId']}")
        questions = desk.page.get_by_role("group", name="E-mail to")
        await expect(questions).to_have_count(2, timeout=PATIENT)
        second = questions.last.get_by_role("button", name="Approve once")
        await expect(second).to_have_attribute("aria-disabled", "false", timeout=PATIENT)
        # From here on, time passes only when we say so.
        await desk.page.clock.pause_at(datetime.now(UTC) + timedelta(minutes=1))
        await questions.first.get_by_role("button", name="Reject").click()
        await desk.page.get_by_role("form", name="Reject").get_by_role("button", name="Reject").click()
        async with asyncio.timeout(PATIENT / 1000):
            while await questions.count() == 2:
                await desk.page.clock.run_for(50)
        await expect(second).to_have_attribute("aria-disabled", "true")
        await desk.page.clock.run_for(1_000)
        await expect(second).to_have_attribute("aria-disabled", "false")
