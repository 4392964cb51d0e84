"""Every app of TodoMVC that a visitor's own hand can use, the tools can use."""

import asyncio

import pytest
from playwright.async_api import Browser
from tests.http.browsing import needs_chromium
from tests.web.act_todos import Hand, Tools, installed, lived, served, starts
from tests.web.bundles import needs_web
from tests.web.shared_browser import in_browser

pytestmark = [needs_chromium, needs_web, pytest.mark.interop]

AT_ONCE = 3
ENOUGH = 40


@in_browser
async def test_the_tools_drive_nearly_every_todo_app_that_trusted_input_drives(chromium: Browser):
    apps = installed()
    turn = asyncio.Semaphore(AT_ONCE)
    async with served(apps) as url:

        async def trial(start: str, kind: type[Hand] | type[Tools]) -> str:
            async with turn:
                return await lived(chromium, f"{url}/{start}", kind)

        begun = starts(apps)
        by_hand = dict(zip(begun, await asyncio.gather(*(trial(each, Hand) for each in begun)), strict=True))
        usable = [each for each, problem in by_hand.items() if not problem]
        by_tools = dict(zip(usable, await asyncio.gather(*(trial(each, Tools) for each in usable)), strict=True))
    failed = {each: problem for each, problem in by_tools.items() if problem}
    for who, problems in (("by hand", by_hand), ("by the tools", failed)):
        for each, problem in problems.items():
            print(f"{each} {who}: {problem or 'works'}")
    print(
        f"of {len(begun)} apps {len(usable)} accept trusted input; the tools drive {len(usable) - len(failed)} of them"
    )
    assert len(usable) - len(failed) >= ENOUGH
