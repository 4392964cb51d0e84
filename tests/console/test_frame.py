"""The frame of the console: signing in, the way around, narrow screens, and nothing from elsewhere."""

from collections.abc import AsyncGenerator

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Route, expect
from tests.console.lab import PATIENT, Desk, Lab, lab
from tests.http.browsing import needs_chromium, opens_link
from tests.http.site import TOKENS
from tests.web.bundles import needs_web
from tests.web.shared_browser import in_browser

pytestmark = [needs_chromium, needs_web, pytest.mark.slow, in_browser]

PAGES = {
    "threads": "Conversations", "approvals": "Approvals", "unknown": "Unknown outcomes", "runs": "Runs",
    "runbooks": "Runbooks", "grants": "Grants", "audit": "Audit", "usage": "Tokens and costs", "google": "Google",
    "settings": "Settings", "health": "Health",
}  # fmt: skip


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def place(chromium: Browser, tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Lab]:
    async with lab(chromium, tmp_path_factory.mktemp("console")) as opened:
        yield opened


async def test_whoever_is_not_signed_in_is_asked_for_a_token(place: Lab):
    async with place.desk(name="") as desk:
        await desk.open()
        await desk.page.get_by_label("Token").fill("wrong")
        await desk.page.get_by_role("button", name="Sign in").click()
        await expect(desk.page.get_by_role("alert")).to_be_visible()
        assert await desk.problems() == []
        await desk.page.get_by_label("Token").fill(TOKENS["ada"])
        await desk.page.get_by_role("button", name="Sign in").click()
        await expect(desk.page.get_by_text("Signed in as ada")).to_be_visible(timeout=PATIENT)
        # The browser itself reports both refusals.
        assert all("401" in trouble for trouble in desk.troubles)
        desk.troubles.clear()


async def test_the_link_of_the_server_leads_to_the_console_and_leaves_no_token_in_the_address(place: Lab):
    async with place.desk() as desk:
        assert desk.page.url.startswith(f"{place.url}/console") and "token" not in desk.page.url
        await expect(desk.page.get_by_text("Signed in as ada")).to_be_visible(timeout=PATIENT)


async def test_signing_out_ends_it(place: Lab):
    async with place.desk() as desk:
        await desk.page.get_by_role("button", name="Sign out").click()
        await expect(desk.page.get_by_role("heading", name="Sign in to Pollux")).to_be_visible()
        await desk.page.reload()
        await expect(desk.page.get_by_role("heading", name="Sign in to Pollux")).to_be_visible()
        desk.troubles.clear()


async def signs_in(desk: Desk, name: str) -> None:
    await desk.page.get_by_label("Token").fill(TOKENS[name])
    await desk.page.get_by_role("button", name="Sign in").click()
    await expect(desk.page.get_by_text(f"Signed in as {name}")).to_be_visible(timeout=PATIENT)


async def test_who_signs_in_after_somebody_else_sees_nothing_of_theirs(place: Lab):
    approval = await place.asks("secret@example.com")
    async with place.desk() as desk:
        await desk.open("threads/new")
        await desk.page.get_by_label("Message").fill("a private thought")
        await desk.open(f"approvals/{approval}")
        await desk.sees("secret@example.com")
        await desk.page.get_by_role("button", name="Sign out").click()
        await signs_in(desk, "bob")
        await desk.sees("Nothing waits for you.")
        await expect(desk.page.locator("main")).not_to_contain_text("secret@example.com")
        await desk.open("threads/new")
        await expect(desk.page.get_by_label("Message")).to_have_value("")
        desk.troubles.clear()
    await place.ada.resolve(approval, "reject")


async def test_who_signs_in_again_finds_what_they_were_about_to_say(place: Lab):
    async with place.desk() as desk:
        await desk.open("threads/new")
        await desk.page.get_by_label("Message").fill("a private thought")
        await desk.page.get_by_role("button", name="Sign out").click()
        await signs_in(desk, "ada")
        await expect(desk.page.get_by_label("Message")).to_have_value("a private thought")
        desk.troubles.clear()


async def test_a_session_that_is_revoked_in_one_browser_is_over_in_the_other(place: Lab):
    async with place.desk() as desk, place.desk() as other:
        await desk.open("settings")
        rows = desk.page.get_by_role("region", name="Sessions").get_by_role("row")
        await expect(rows.filter(has_text="This browser")).to_have_count(1, timeout=PATIENT)
        # The newest is the first.
        await rows.nth(1).get_by_role("button", name="Revoke").click()
        await expect(desk.page.get_by_text("Session revoked.")).to_be_visible(timeout=PATIENT)
        assert await desk.problems() == []
        await other.page.reload()
        await expect(other.page.get_by_role("heading", name="Sign in to Pollux")).to_be_visible(timeout=PATIENT)
        other.troubles.clear()


async def test_a_tab_never_says_that_somebody_is_signed_in_who_is_not(place: Lab):
    approval = await place.asks("secret@example.com")
    async with place.desk() as desk:
        await desk.open(f"approvals/{approval}")
        await desk.sees("secret@example.com")
        other = await desk.page.context.new_page()
        await opens_link(other, place.url, TOKENS["bob"])
        await expect(desk.page.get_by_text("Signed in as bob")).to_be_visible(timeout=PATIENT)
        await desk.sees("Nothing waits for you.")
        await expect(desk.page.locator("main")).not_to_contain_text("secret@example.com")
        # What the first tab asked for as Bob before it was told is refused; the browser reports it.
        desk.troubles.clear()
    await place.ada.resolve(approval, "reject")


async def test_who_signed_in_anew_in_another_tab_goes_on_in_this_one(place: Lab):
    approval = await place.asks("carl@example.com")
    async with place.desk() as desk:
        await desk.open(f"approvals/{approval}")
        await desk.page.get_by_role("button", name="Reject", exact=True).click()
        await desk.page.get_by_label("Why not?").fill("he has it already")
        other = await desk.page.context.new_page()
        await opens_link(other, place.url, TOKENS["ada"])
        await expect(other.get_by_text("Signed in as ada")).to_be_visible(timeout=PATIENT)
        await desk.page.get_by_role("button", name="Reject", exact=True).click()
        await desk.sees("Rejected. Nothing was done.")
        # The browser itself reports the first refusal.
        assert all("403" in trouble for trouble in desk.troubles)
        desk.troubles.clear()


@pytest.mark.parametrize("colours", ["light", "dark"])
async def test_every_page_opens_and_is_accessible(place: Lab, colours: str):
    async with place.desk(color_scheme=colours) as desk:
        for name, title in PAGES.items():
            await desk.page.get_by_role("navigation").get_by_role("link", name=title).click()
            await expect(desk.page.get_by_role("heading", level=1, name=title)).to_be_visible(timeout=PATIENT)
            await expect(desk.page).to_have_title(f"{title} · Pollux")
            assert await desk.problems() == [], name


async def test_a_narrow_screen_has_the_pages_behind_a_button(place: Lab):
    async with place.desk(viewport={"width": 360, "height": 700}) as desk:
        await expect(desk.page.get_by_role("link", name="Grants")).to_be_hidden()
        await desk.page.get_by_role("button", name="Pages").click()
        await desk.page.get_by_role("link", name="Grants").click()
        await expect(desk.page.get_by_role("heading", level=1, name="Grants")).to_be_visible()
        for name in PAGES:
            await desk.open(name)
            width = await desk.page.evaluate("document.documentElement.scrollWidth")
            assert width <= 360, name


async def test_an_address_that_names_no_page_says_so_and_fits_the_screen(place: Lab):
    async with place.desk(viewport={"width": 360, "height": 700}) as desk:
        await desk.open("x" * 2_000)
        await desk.sees("There is no page")
        assert await desk.page.evaluate("document.documentElement.scrollWidth") <= 360


async def test_another_page_than_the_servers_answer_is_called_that(place: Lab):
    async def proxy(route: Route) -> None:
        await route.fulfill(status=200, content_type="text/html", body="<h1>Accept our terms</h1>")

    async with place.desk() as desk:
        await desk.page.route("**/api/agent/**", proxy)
        await desk.open("runs")
        await desk.sees("What answered is not this server")
        await desk.page.unroute("**/api/agent/**")
        await desk.page.get_by_role("button", name="Try again").click()
        await expect(desk.page.get_by_role("alert")).to_have_count(0, timeout=PATIENT)


async def test_a_page_that_breaks_says_so_and_the_others_still_open(place: Lab):
    async def strange(route: Route) -> None:
        await route.fulfill(status=200, content_type="application/json", body="{}")

    async with place.desk() as desk:
        await desk.page.route("**/api/runbooks/settings", strange)
        await desk.page.get_by_role("link", name="Settings").click()
        await desk.sees("Something went wrong in this page.")
        await desk.page.get_by_role("link", name="Runs", exact=True).click()
        await expect(desk.page.get_by_role("heading", level=1, name="Runs")).to_be_visible()
        await expect(desk.page.get_by_role("alert")).to_have_count(0)
        desk.troubles.clear()


async def test_a_server_that_hangs_is_told_and_asked_again(place: Lab):
    held: list[Route] = []

    async with place.desk() as desk:
        await desk.page.clock.install()
        await desk.page.reload()
        await desk.open("runs")
        await desk.page.route("**/api/agent/**", lambda route: held.append(route))
        for _ in range(20):
            await desk.page.clock.run_for(1_000)
        await desk.sees("The server cannot be reached. What is shown may be old.")
        await desk.page.unroute("**/api/agent/**")
        for _ in range(20):
            await desk.page.clock.run_for(1_000)
        await expect(desk.page.get_by_text("The server cannot be reached.")).to_have_count(0, timeout=PATIENT)
        desk.troubles.clear()


async def test_a_slow_answer_is_waited_for_rather_than_asked_for_anew(place: Lab):
    asked: list[Route] = []

    async with place.desk() as desk:
        await desk.page.clock.install()
        await desk.page.reload()
        await desk.page.route("**/api/agent/runs", lambda route: asked.append(route))
        await desk.open("runs")
        for _ in range(12):
            await desk.page.clock.run_for(1_000)
        assert len(asked) == 1
        await asked[0].continue_()
        await expect(desk.page.locator("[aria-busy]")).to_have_count(0, timeout=PATIENT)


async def test_colours_can_be_chosen_and_are_kept(place: Lab):
    async with place.desk(color_scheme="light") as desk:
        await desk.page.get_by_label("Colours").select_option("dark")
        await desk.page.reload()
        await expect(desk.page.locator("html")).to_have_attribute("data-theme", "dark")


async def test_the_page_may_load_nothing_from_elsewhere(place: Lab):
    async with place.http.get(f"{place.url}/console") as answer:
        policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy and "script-src 'self'" in policy and "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy


async def test_the_count_of_what_waits_stands_in_the_title_and_beside_the_page(place: Lab):
    approval = await place.asks("bob@example.com")
    async with place.desk() as desk:
        await expect(desk.page).to_have_title("(1) Conversations · Pollux", timeout=PATIENT)
        await expect(desk.page.get_by_role("link", name="Approvals 1 waiting")).to_be_visible()
        await place.ada.resolve(approval, "reject")
        await expect(desk.page).to_have_title("Conversations · Pollux", timeout=PATIENT)
