"""The consent page and the outbox in a real browser."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from urllib.parse import parse_qs, urlsplit

import aiohttp
import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page
from tests.emulator.workspace.desk import ALL, COMPOSE, EVENTS, PEOPLE, Clock, Desk, auth_url, code_form
from tests.http.browsing import elsewhere, needs_chromium
from tests.waiting import HANG_SECONDS
from tests.web.shared_browser import chromium, in_browser

from pollux.emulator.workspace import Workspace, run_workspace

__all__ = ["chromium"]
pytestmark = [needs_chromium, pytest.mark.slow, in_browser]


@pytest_asyncio.fixture(loop_scope="session")
async def workspace() -> AsyncGenerator[Workspace]:
    """One of the browser's own: the others belong to another event loop."""
    async with run_workspace(clock=Clock()) as running:
        yield running


@pytest_asyncio.fixture(loop_scope="session")
async def desk(workspace: Workspace) -> AsyncGenerator[Desk]:
    timeout = aiohttp.ClientTimeout(total=HANG_SECONDS)
    async with aiohttp.ClientSession(timeout=timeout, cookie_jar=aiohttp.DummyCookieJar()) as session:
        yield Desk(session, workspace.url, workspace.tokens(ALL)["access_token"])


async def test_a_person_allows_half_and_is_sent_back_to_the_client(chromium: Browser, workspace: Workspace, desk: Desk):
    async with elsewhere() as site, _opened(chromium) as (page, said):
        redirect = f"{site.origin('127.0.0.1')}/callback"
        await page.goto(auth_url(workspace.url, redirect_uri=redirect))
        await page.get_by_label("Account").fill("ann@example.com")
        await page.get_by_label("See and change events").uncheck()
        await page.get_by_role("button", name="Allow").click()
        await page.wait_for_url(f"{redirect}?*")
        form = code_form(page.url, redirect_uri=redirect)
        assert said == []
    scopes = (await desk.ask("POST", "/token", data=form)).json["scope"].split()
    assert COMPOSE in scopes and EVENTS not in scopes


async def test_a_person_denies_with_the_keyboard(chromium: Browser, workspace: Workspace):
    async with elsewhere() as site, _opened(chromium) as (page, said):
        redirect = f"{site.origin('127.0.0.1')}/callback"
        await page.goto(auth_url(workspace.url, redirect_uri=redirect))
        await page.get_by_role("button", name="Deny").focus()
        await page.keyboard.press("Enter")
        await page.wait_for_url(f"{redirect}?*")
        assert parse_qs(urlsplit(page.url).query)["error"] == ["access_denied"] and said == []


async def test_a_mail_full_of_tricks_is_only_text(chromium: Browser, workspace: Workspace, desk: Desk):
    evil = b"<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"
    await desk.send(PEOPLE + b"Subject: " + evil + b"\r\nContent-Type: text/html\r\n\r\n" + evil)
    async with _opened(chromium) as (page, said):
        await page.goto(f"{workspace.url}/outbox")
        await page.get_by_role("link", name="<img src=x").click()
        await page.get_by_text("Source").click()
        assert await page.locator("img, script, iframe").count() == 0
        assert "<script>document.title" in await page.locator("h1").inner_text()
        assert "owned" not in (await page.title()).replace("'owned'", "") and said == []


@asynccontextmanager
async def _opened(chromium: Browser) -> AsyncGenerator[tuple[Page, list[str]]]:
    """A page, and whatever the browser complains about."""
    page, said = await chromium.new_page(), list[str]()
    page.on("console", lambda message: said.append(message.text))
    page.on("dialog", lambda dialog: said.append(dialog.message))
    try:
        yield page, said
    finally:
        await page.close()
