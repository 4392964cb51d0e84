"""The client in pages of another site than the server's, in a real browser, which lets through what it is told to."""

import asyncio
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, Page
from tests.engine.builders import TO_BOB, mail
from tests.http.browsing import needs_chromium
from tests.page.site import page_site
from tests.page.test_door import BUY
from tests.waiting import HANG_SECONDS
from tests.web.bundles import needs_web
from tests.web.client_pages import hosted
from tests.web.shared_browser import in_browser

from pollux.providers.scripted import ScriptedProvider, call, reply

pytestmark = [needs_chromium, needs_web, pytest.mark.slow, in_browser]


@dataclass
class Shop:
    page: Page
    warned: list[str] = field(default_factory=list[str])
    asked: list[str] = field(default_factory=list[str])
    """The paths that the page asked for at the agent's server."""

    async def do(self, script: str) -> Any:
        async with asyncio.timeout(HANG_SECONDS):
            return await self.page.evaluate(script)

    async def said(self) -> list[str]:
        return await self.do("talk.state.messages.map(each => each.content)")


@asynccontextmanager
async def shop(chromium: Browser, origin: str, server: str, *, more: str = "") -> AsyncGenerator[Shop]:
    page = await chromium.new_page()
    there = Shop(page)
    page.on("console", lambda said: there.warned.append(said.text) if said.type == "warning" else None)
    page.on("request", lambda each: there.asked.append(each.url.removeprefix(server)) if server in each.url else None)
    try:
        await page.goto(f"{origin}/?base={server}{more}")
        await page.wait_for_function("window.talk")
        there.asked.clear()
        yield there
    finally:
        await page.close()


async def test_a_page_of_a_named_site_talks_acts_asks_reloads_and_stops(chromium: Browser, tmp_path: Path):
    tool = mail()
    model = ScriptedProvider(call("click-buy", BUY), call("send_mail", TO_BOB), reply("Sent."), call("click-buy", BUY))
    async with (
        hosted() as origin,
        page_site(tmp_path, model, tools=[tool], origins=[origin]) as site,
        shop(chromium, origin, site.url) as there,
    ):
        await there.do("talk.send('buy and write')")
        await there.page.reload()
        await there.page.wait_for_function("window.talk")
        await there.do("talk.resume()")
        assert await there.do("talk.state.approvals.map(each => each.tool)") == ["send_mail"]
        await there.do("talk.resolve(talk.state.approvals[0].id, 'approve_once')")
        assert await there.said() == ["buy and write", "Sent."]
        assert (len(tool.ran), await there.do("JSON.parse(localStorage.calls).length")) == (1, 1)

        await there.do("localStorage.hold = 'yes'; void talk.send('again')")
        await there.page.wait_for_function("JSON.parse(localStorage.calls).length == 2")
        await there.do("talk.stop()")
        assert await there.do("[talk.state.isLoading, talk.state.error]") == [False, None]
        assert there.warned == []


async def test_a_site_that_was_forgotten_hears_at_once_what_to_do_about_it(chromium: Browser, tmp_path: Path):
    async with (
        hosted() as origin,
        page_site(tmp_path, ScriptedProvider()) as site,
        shop(chromium, origin, site.url) as there,
    ):
        await there.do("talk.send('hi')")
        await there.do("talk.retry()")
        error = await there.do("talk.state.error")
        assert (error["code"], "origins" in error["message"]) == ("bad_origin", False)
        [line] = there.warned
        assert f'[page] origins = ["{origin}"]' in line and "\n" not in line
        # Nothing was tried again by itself.
        assert there.asked == ["/api/page/session"] * 2


async def test_a_server_that_is_not_there_is_told_soon(chromium: Browser):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        nowhere = f"http://127.0.0.1:{free.getsockname()[1]}"
        async with hosted() as origin, shop(chromium, origin, nowhere, more="&quick") as there:
            await there.do("talk.send('hi')")
            assert (await there.do("talk.state.error"))["code"] == "unreachable"
            assert (len(there.warned), there.asked) == (1, ["/api/page/session"] * 3)
            # 15 seconds and more it would have waited, if it had tried as often as with a server that is known.
            waits = await there.do("waits")
            assert waits and sum(waits) < 8_000
