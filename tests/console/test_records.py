"""What stays and how things are: the audit, what was used, the Google account, and the server's health."""

import json
import sqlite3
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Locator, expect
from tests.console.lab import CONFIG, PATIENT, PEOPLE, Desk, Lab, lab
from tests.console.line import line_to
from tests.http.browsing import needs_chromium, opens_link
from tests.http.google_site import CLIENT
from tests.http.site import TOKENS, Person
from tests.web.bundles import needs_web
from tests.web.shared_browser import in_browser

from pollux.emulator.workspace import run_workspace
from pollux.stores.schema import ELEVENTH

pytestmark = [needs_chromium, needs_web, pytest.mark.slow, in_browser]

# Nobody knows its price.
NEW_MODEL = '[profiles.new]\nmodel = "gemini-3.8-flash--slow-every1"\n'


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def place(chromium: Browser, tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Lab]:
    async with lab(chromium, tmp_path_factory.mktemp("records")) as opened:
        await opened.ada.resolve(await opened.asks("bob@example.com"))
        await opened.ada.resolve(await opened.asks("carol@example.com"), "reject")
        yield opened


@pytest_asyncio.fixture(loop_scope="session")
async def known(chromium: Browser, tmp_path: Path) -> AsyncGenerator[Lab]:
    """One where a model was used whose price is known, and another may be."""
    async with lab(chromium, tmp_path, config=CONFIG + NEW_MODEL) as opened:
        await opened.ada.run("add 2 and 3")
        yield opened


def _store(place: Lab) -> sqlite3.Connection:
    return sqlite3.connect(place.home / "home" / "pollux.db")


def _entries(desk: Desk) -> Locator:
    return desk.page.locator(".entry summary")


async def _comes_back(desk: Desk) -> None:
    """As when somebody comes back to the page: it is read at once, and not in some seconds."""
    await desk.page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")


# The audit.


async def _kept(place: Lab, kind: str) -> int:
    """How many entries of this kind there are."""
    return len((await place.ada.get(f"/api/agent/audit?limit=100&kind={kind}")).body["items"])


async def test_the_audit_is_filtered_by_what_stands_in_the_address(place: Lab):
    await place.ada.resolve(await place.asks("dora@example.com"), "reject")
    approved = await _kept(place, "approved")
    async with place.desk() as desk:
        await desk.open("audit")
        await expect(_entries(desk).first).to_contain_text("Rejected", timeout=PATIENT)
        await desk.page.get_by_label("What").select_option("Approved")
        await expect(_entries(desk)).to_have_count(approved)
        await expect(_entries(desk)).to_contain_text(["Approveddemo_mailby ada"] * approved)
        await desk.page.get_by_label("Tool").fill("no_such_tool")
        await desk.page.get_by_label("Tool").press("Enter")
        await desk.sees("No entry fits.")
        await expect(desk.page).to_have_url(f"{place.url}/console#/audit?kind=approved&tool=no_such_tool")
        await desk.page.reload()
        await desk.sees("No entry fits.")
        await desk.page.get_by_role("button", name="Show everything").click()
        await expect(_entries(desk)).not_to_have_count(0)
        await expect(_entries(desk).first).to_contain_text("Rejected")
        await desk.page.get_by_label("From (UTC)").fill("2199-01-01")
        await desk.page.get_by_label("From (UTC)").blur()
        await desk.sees("No entry fits.")


async def test_an_entry_unfolds_to_all_its_fields(place: Lab):
    newest = (await place.ada.get("/api/agent/audit?limit=1&kind=completed")).body["items"][0]
    async with place.desk(color_scheme="dark") as desk:
        await desk.open("audit?kind=completed")
        await _entries(desk).first.press("Enter")
        for name in ("hash", "previous", "inputHash", "runId", "threadId", "actionId", "approvalId", "modelName"):
            await desk.sees(newest[name])
        assert await desk.problems() == []


async def test_what_is_shown_can_be_taken_along(place: Lab):
    rejected = await _kept(place, "rejected")
    async with place.desk() as desk:
        await desk.open("audit?kind=rejected")
        await expect(_entries(desk)).to_have_count(rejected, timeout=PATIENT)
        for name, ending in (("JSON lines", "jsonl"), ("CSV", "csv")):
            async with desk.page.expect_download() as begun:
                await desk.page.get_by_role("link", name=name).click()
            download = await begun.value
            assert download.suggested_filename == f"pollux-audit.{ending}"
            text = Path(await download.path()).read_text()
            assert text.count("demo_mail") == rejected > 0 and "rejected" in text
        assert json.loads(text.splitlines()[1].split(",")[0]) > 0


async def test_a_whole_chain_says_so_and_no_more_than_that_to_those_who_do_not_operate_the_server(place: Lab):
    async with place.desk() as desk:
        await desk.open("audit")
        await desk.page.get_by_role("button", name="Verify").click()
        await desk.sees("The audit is whole. No entry is changed, missing or moved.")
        await expect(desk.page.get_by_role("button", name="Copy the head")).to_have_count(0)


async def test_an_operator_sees_how_far_a_whole_chain_goes_and_can_keep_its_head(place: Lab):
    head = (await Person(place.http, place.url, PEOPLE["local"]).get("/api/agent/audit/head")).body
    async with place.desk(name="local", permissions=["clipboard-read", "clipboard-write"]) as desk:
        await desk.open("audit")
        await desk.page.get_by_role("button", name="Verify").click()
        await desk.sees(f"The audit is whole. {head['entries']} entries")
        await desk.page.get_by_role("button", name="Copy the head").click()
        await expect(desk.page.get_by_text("Copied: the head, with its number.")).to_be_visible()
        kept = await desk.page.evaluate("navigator.clipboard.readText()")
        assert kept == f"{head['entries']} {head['head']}"


async def test_a_chain_that_somebody_broke_cannot_be_overlooked(place: Lab):
    db = _store(place)
    (trigger,) = db.execute("SELECT sql FROM sqlite_master WHERE name = 'audit_refuses_update'").fetchone()
    db.execute("DROP TRIGGER audit_refuses_update")
    (body,) = db.execute("SELECT by FROM audit WHERE seq = 2").fetchone()
    db.execute("UPDATE audit SET by = 'mallory' WHERE seq = 2")
    db.commit()
    try:
        async with place.desk() as desk:
            await desk.open("audit")
            await desk.page.get_by_role("button", name="Verify").click()
            alert = desk.page.get_by_role("alert")
            await expect(alert).to_contain_text("The audit was tampered with", timeout=PATIENT)
            await expect(alert).to_contain_text("update: entry 2 changed after being written")
            await expect(alert).to_contain_text("drop trigger: audit_refuses_update is gone")
            await expect(alert).to_contain_text("Change nothing.")
            assert await desk.problems() == []
    finally:
        db.execute("UPDATE audit SET by = ? WHERE seq = 2", (body,))
        db.execute(trigger)
        db.commit()
        db.close()
    # The server names what it found for a minute.
    assert (await place.engine.queries.verify_audit()).valid


# Tokens and costs.


async def test_what_was_used_is_drawn_and_told_day_by_day(place: Lab):
    old = await place.ada.run("add 2 and 3")
    with _store(place) as db:
        db.execute("UPDATE runs SET created_at = created_at - 3 * 86400 WHERE run_id = ?", (old["runId"],))
        # No run is ever begun on another day: the sums are made again, as at an upgrade.
        db.execute("DELETE FROM usage")
        db.execute(ELEVENTH[1])
    read = (await place.ada.get("/api/agent/usage?days=7")).body
    sums = [sum(model["total"] for model in day["models"]) for day in read["days"]]
    assert sums[3] == old["usage"]["total"] and sums[4] == 0
    async with place.desk() as desk:
        await desk.open("usage?days=7")
        await desk.sees(f"Tokens{sum(sums):,}")
        chart = desk.page.get_by_role("img", name="Tokens per day")
        # It is drawn once it knows how wide it is.
        await expect(chart.locator("rect[class^=series]")).to_have_count(
            sum(total > 0 for total in sums), timeout=PATIENT
        )
        await chart.locator(".bar").nth(3).hover()
        await desk.sees(f": {sums[3]:,} tokens")
        await desk.page.get_by_text("Show as a table").press("Enter")
        rows = desk.page.get_by_role("region", name="Every day").get_by_role("row")
        await expect(rows).to_have_count(1 + 7)
        totals = await rows.locator("td:nth-of-type(7)").all_inner_texts()
        assert totals == [f"{total:,}" for total in reversed(sums)]
        assert await desk.problems() == []
        await desk.page.get_by_role("link", name="A year").click()
        await expect(chart.locator(".bar")).to_have_count(365, timeout=PATIENT)
        await expect(desk.page).to_have_url(f"{place.url}/console#/usage?days=365")


async def test_a_price_that_nobody_knows_is_not_taken_for_zero(known: Lab):
    run = await known.ada.run("add 2 and 3", profile="new")
    assert run["cost"] is None and run["usage"]["total"] > 0
    async with known.desk(color_scheme="dark", viewport={"width": 360, "height": 800}) as desk:
        await desk.open("usage")
        await desk.sees(f"The cost of {run['usage']['total']:,} tokens is not known")
        await desk.sees("and more")
        await expect(desk.page.get_by_role("row", name="gemini-3.8-flash--slow-every1")).to_contain_text("unknown")
        assert await desk.page.evaluate("document.documentElement.scrollWidth") <= 360
        assert await desk.problems() == []


# Google.


async def test_a_server_without_a_client_says_what_to_set(place: Lab):
    async with place.desk() as desk:
        await desk.open("google")
        await desk.sees("POLLUX_GOOGLE_CLIENT_ID")
        await desk.sees("POLLUX_GOOGLE_CLIENT_SECRET")
        await desk.sees(f"{place.url}/api/google/callback")
        assert await desk.problems() == []


async def test_an_account_is_connected_shown_and_given_back(chromium: Browser, tmp_path: Path):
    async with run_workspace() as workspace:
        # Another site for the browser, as Google is.
        google = workspace.url.replace("127.0.0.1", "localhost")
        given = {f"POLLUX_{name}_BASE_URL": google for name in ("GMAIL", "CALENDAR", "GOOGLE_OAUTH")}
        async with lab(chromium, tmp_path, **CLIENT, **given) as place, place.desk() as desk:
            await desk.open("google")
            await desk.page.get_by_role("link", name="Connect a Google account").click()
            await desk.page.fill("#account", "ada@example.com")
            await desk.page.get_by_role("button", name="Allow").click()
            await desk.page.get_by_role("link", name="Back to Pollux").click()
            await expect(desk.page.get_by_role("heading", name="ada@example.com is connected")).to_be_visible(
                timeout=PATIENT
            )
            await desk.sees("send a mail gmail_send")
            await desk.sees("make events and look whether they are there")
            assert await desk.problems() == []
            dialog = desk.page.get_by_role("dialog", name="Disconnect ada@example.com?")
            await desk.page.get_by_role("button", name="Disconnect", exact=True).click()
            await expect(dialog).to_be_visible()
            await desk.page.keyboard.press("Escape")
            await expect(dialog).to_have_count(0)
            assert (await place.ada.get("/api/google/status")).body["connected"] is True
            await desk.page.get_by_role("button", name="Disconnect", exact=True).click()
            await desk.page.get_by_role("button", name="Disconnect the account").click()
            await desk.sees("No account is connected")
            assert (await place.ada.get("/api/google/status")).body["connected"] is False
            # Only Google was gone to.
            assert all(trouble.startswith(f"asked {google}/") for trouble in desk.troubles)
            desk.troubles.clear()


# Health.


async def test_health_says_what_is_well_and_what_waits(place: Lab):
    approval = await place.asks("health@example.com")
    async with place.desk() as desk:
        await desk.open("health")
        await desk.sees("It works. Something wants to be looked at.")
        lines = desk.page.locator(".check-line")
        await expect(lines.filter(has_text="Store")).to_contain_text("SQLite")
        await expect(lines.filter(has_text="Model")).to_contain_text("gemini-3.8-flash")
        await expect(lines.filter(has_text="Approvals")).to_contain_text("1 question waits for you")
        assert await desk.problems() == []
        await place.ada.resolve(approval, "reject")
        await _comes_back(desk)
        await desk.sees("Everything is well.")


async def test_a_server_that_is_gone_is_said_to_be_and_comes_back(place: Lab):
    async with line_to(place.url) as line, place.desk(name="") as desk:
        desk.url = line.url
        await opens_link(desk.page, line.url, TOKENS["ada"])
        await desk.open("health")
        await desk.sees("SQLite")
        await line.cut()
        await _comes_back(desk)
        await expect(desk.page.get_by_role("alert")).to_contain_text("The server does not answer.", timeout=PATIENT)
        await desk.sees("SQLite")
        await line.mend()
        await expect(desk.page.get_by_role("alert")).to_have_count(0, timeout=PATIENT)
        await expect(desk.page.get_by_text("The server answers again.")).to_be_visible()
        # The browser itself reports each request that came to nothing, and each to another port.
        desk.troubles.clear()
