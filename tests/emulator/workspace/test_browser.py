"""The consent page and the outbox in a real browser."""

from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.async_api import Page
from tests.emulator.workspace.desk import COMPOSE, EVENTS, PEOPLE, Desk, auth_url, code_form
from tests.http.browsing import browser, elsewhere, needs_chromium

from pollux.emulator.workspace import Workspace

pytestmark = [needs_chromium, pytest.mark.slow]


async def test_a_person_allows_half_and_is_sent_back_to_the_client(workspace: Workspace, desk: Desk):
    async with browser() as chromium, elsewhere() as site:
        redirect = f"{site.origin('127.0.0.1')}/callback"
        page, said = await _open(await chromium.new_page())
        await page.goto(auth_url(workspace.url, redirect_uri=redirect))
        await page.get_by_label("Account").fill("ann@example.com")
        await page.get_by_label("See and change events").uncheck()
        await page.get_by_role("button", name="Allow").click()
        await page.wait_for_url(f"{redirect}?*")
        form = code_form(page.url, redirect_uri=redirect)
        assert said == []
    scopes = (await desk.ask("POST", "/token", data=form)).json["scope"].split()
    assert COMPOSE in scopes and EVENTS not in scopes


async def test_a_person_denies_with_the_keyboard(workspace: Workspace):
    async with browser() as chromium, elsewhere() as site:
        redirect = f"{site.origin('127.0.0.1')}/callback"
        page, said = await _open(await chromium.new_page())
        await page.goto(auth_url(workspace.url, redirect_uri=redirect))
        await page.get_by_role("button", name="Deny").focus()
        await page.keyboard.press("Enter")
        await page.wait_for_url(f"{redirect}?*")
        assert parse_qs(urlsplit(page.url).query)["error"] == ["access_denied"] and said == []


async def test_a_mail_full_of_tricks_is_only_text(workspace: Workspace, desk: Desk):
    evil = b"<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"
    await desk.send(PEOPLE + b"Subject: " + evil + b"\r\nContent-Type: text/html\r\n\r\n" + evil)
    async with browser() as chromium:
        page, said = await _open(await chromium.new_page())
        await page.goto(f"{workspace.url}/outbox")
        await page.get_by_role("link", name="<img src=x").click()
        await page.get_by_text("Source").click()
        assert await page.locator("img, script, iframe").count() == 0
        assert "<script>document.title" in await page.locator("h1").inner_text()
        assert "owned" not in (await page.title()).replace("'owned'", "") and said == []


async def _open(page: Page) -> tuple[Page, list[str]]:
    """A page, and whatever the browser complains about."""
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("dialog", lambda dialog: said.append(dialog.message))
    return page, said
