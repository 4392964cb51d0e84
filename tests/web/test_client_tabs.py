"""One conversation in two tabs: whoever is first counts, the other is told, and nothing is done twice."""

import asyncio
import shutil
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, BrowserContext, Page
from tests.engine.builders import TO_BOB, mail
from tests.http.browsing import needs_chromium
from tests.page.site import page_site
from tests.page.test_door import BUY
from tests.web.bundles import needs_web
from tests.web.client_pages import client_page, needs_node, said, served
from tests.web.shared_browser import in_browser, opened

from pollux.core.messages import ToolResult
from pollux.engine.model import ModelRequest
from pollux.providers.scripted import Answer, ScriptedProvider, call, reply

pytestmark = [needs_node, needs_web, pytest.mark.slow]

CHANGED = "That question does not stand any more."


def outcome(request: ModelRequest) -> str:
    [result] = [part for turn in request.turns for part in turn.parts if isinstance(part, ToolResult)]
    return str(result.result)


@pytest.mark.parametrize("order", [("approve_once", "reject"), ("reject", "approve_once")])
async def test_a_question_that_two_tabs_answer_at_once_has_one_outcome_and_the_other_is_told(
    tmp_path: Path, order: tuple[str, str]
):
    tool, model = mail(), ScriptedProvider(call("send_mail", TO_BOB), reply("That is settled."))
    async with page_site(tmp_path, model, tools=[tool]) as site:
        async with client_page(tmp_path / "one", site.url) as page:
            [question] = (await page.do("send", "write to Bob"))["approvals"]
        shutil.copytree(tmp_path / "one", tmp_path / "two")
        async with client_page(tmp_path / "one", site.url) as one, client_page(tmp_path / "two", site.url) as two:
            tabs = [one, two]
            for tab in tabs:
                assert [each["id"] for each in (await tab.do("resume"))["approvals"]] == [question["id"]]
            states = await asyncio.gather(
                *(tab.do("resolve", question["id"], decision) for tab, decision in zip(tabs, order, strict=True))
            )
        # Both go on with what it came to, which is what the first of them said.
        for state in states:
            assert (said(state)[-1], state["error"], state["approvals"]) == ("That is settled.", None, [])
        [winner] = [decision for state, decision in zip(states, order, strict=True) if CHANGED not in said(state)]
        assert [said(state, "system") for state in states].count([CHANGED]) == 1
        assert len(tool.ran) == (1 if winner == "approve_once" else 0)
        assert ("sent" in outcome(model.requests[-1])) is (winner == "approve_once")
        assert len(model.requests) == 2


async def shop(context: BrowserContext, url: str) -> Page:
    page = await context.new_page()
    await page.goto(url + "/shop/")
    return page


async def duplicated(page: Page) -> Page:
    """As a browser does it: a tab of its own, with a copy of all that is kept."""
    async with page.expect_popup() as opening:
        await page.evaluate("void window.open(location.href)")
    copy = await opening.value
    await copy.wait_for_function("window.talk")
    return copy


async def contents(page: Page) -> list[Any]:
    return await page.evaluate("talk.state.messages.map(each => each.code ?? each.content)")


async def echo(request: ModelRequest) -> Answer:
    """Click once for every message, then say it again."""
    last = request.turns[-1]
    return call("click-buy", BUY) if last.role == "user" else reply(f"Done: {_asked(request)}")


def _asked(request: ModelRequest) -> str:
    return [turn.text for turn in request.turns if turn.role == "user"][-1]


@needs_chromium
@in_browser
async def test_a_duplicated_tab_and_its_original_both_go_on_and_no_call_is_done_twice(
    chromium: Browser, tmp_path: Path
):
    async with page_site(tmp_path, ScriptedProvider(*[echo] * 20)) as site, opened(chromium) as context:
        await context.route(site.url + "/shop/*", served)
        first = await shop(context, site.url)
        await first.evaluate("talk.send('first')")
        copy = await duplicated(first)
        await copy.evaluate("talk.resume()")
        # Both know what was said, and go on from there at the same moment.
        assert await contents(copy) == ["first", "Done: first"]
        await asyncio.gather(first.evaluate("talk.send('here')"), copy.evaluate("talk.send('there')"))
        assert await contents(first) == ["first", "Done: first", "here", "Done: here"]
        assert await contents(copy) == ["first", "Done: first", "there", "Done: there"]
        done = await first.evaluate("JSON.parse(localStorage.calls)")
        assert (len(done), len(set(done))) == (3, 3)


@needs_chromium
@in_browser
async def test_a_tab_that_is_duplicated_in_the_middle_of_a_call_leaves_it_to_the_original(
    chromium: Browser, tmp_path: Path
):
    async with page_site(tmp_path, ScriptedProvider(*[echo] * 20)) as site, opened(chromium) as context:
        await context.route(site.url + "/shop/*", served)
        first = await shop(context, site.url)
        await first.evaluate("localStorage.hold = 'yes'; void talk.send('first')")
        await first.wait_for_function("localStorage.calls")
        copy = await duplicated(first)
        await copy.evaluate("talk.resume()")
        assert await contents(copy) == ["elsewhere"]
        await first.evaluate("localStorage.removeItem('hold')")
        await copy.evaluate("talk.send('there')")
        await first.wait_for_function("!talk.state.isLoading")
        assert await contents(first) == ["first", "Done: first"]
        assert await contents(copy) == ["elsewhere", "there", "Done: there"]
        done = await first.evaluate("JSON.parse(localStorage.calls)")
        assert (len(done), len(set(done))) == (2, 2)
