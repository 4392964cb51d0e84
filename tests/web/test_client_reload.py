"""The client after a reload, whenever it comes: everything goes on, and nothing happens twice."""

import asyncio
from pathlib import Path

import pytest
from playwright.async_api import Browser
from tests.engine.builders import TO_BOB, HeldTool, mail
from tests.http.browsing import needs_chromium
from tests.page.site import page_site
from tests.page.test_door import BUY
from tests.waiting import HANG_SECONDS
from tests.web.bundles import needs_web
from tests.web.client_errands import errand, result_of, run_of, sent
from tests.web.client_pages import client_page, needs_node, said, served
from tests.web.shared_browser import in_browser, opened

from pollux.providers.scripted import ScriptedProvider, call, reply
from pollux.testing.clock import FakeClock

pytestmark = [needs_node, needs_web, pytest.mark.slow]


async def test_a_page_that_dies_at_any_moment_goes_on_and_nothing_happens_twice(tmp_path: Path):
    tool, model = mail(), ScriptedProvider(*[errand] * 2000)
    async with page_site(tmp_path, model, tools=[tool]) as site:
        async with client_page(tmp_path / "whole", site.url) as page:
            await page.do("play", "errand whole")
            points = page.told["points"]

        async def reloaded(at: int) -> None:
            name = f"at-{at}"
            async with client_page(tmp_path / name, site.url, dieAt=at) as page:
                with pytest.raises(EOFError):
                    await page.do("play", f"errand {name}")
            async with client_page(tmp_path / name, site.url) as page:
                state = await page.do("play", f"errand {name}")
                assert (said(state, "user", "assistant")[-1], state["error"]) == ("All done.", None), name
                assert said(state, "user") == [f"errand {name}"], name
                assert len(page.executed) <= 1, name
                assert sent(tool, name) == 1, name
                # What the page is known to have done, or not to have done, the model is told; else that nobody knows.
                assert len(page.executed) == 1 or "may have happened" in result_of(model, name), name

        assert points >= 12
        for at in range(1, points + 1, 4):
            await asyncio.gather(*(reloaded(at + more) for more in range(4) if at + more <= points))


async def test_a_question_that_was_open_when_the_page_was_left_is_asked_again(tmp_path: Path):
    tool, model = mail(), ScriptedProvider(call("send_mail", TO_BOB), reply("Sent."))
    async with page_site(tmp_path, model, tools=[tool]) as site:
        async with client_page(tmp_path / "page", site.url) as page:
            [question] = (await page.do("send", "write to Bob"))["approvals"]
        async with client_page(tmp_path / "page", site.url) as page:
            state = await page.do("resume")
            assert state["approvals"] == [question]
            state = await page.do("resolve", question["id"], "approve_once")
            assert (said(state), len(tool.ran)) == (["write to Bob", "Sent."], 1)


async def test_a_question_that_was_answered_elsewhere_meanwhile_is_not_asked_again(tmp_path: Path):
    tool, model = mail(), ScriptedProvider(call("send_mail", TO_BOB), reply("Sent."))
    async with page_site(tmp_path, model, tools=[tool]) as site:
        async with client_page(tmp_path / "page", site.url) as page:
            [question] = (await page.do("send", "write to Bob"))["approvals"]
        run = await site.engine.queries.run(run_of(tmp_path / "page"))
        await site.engine.resolve(question["id"], "approved", by=run.user)
        async with client_page(tmp_path / "page", site.url) as page:
            state = await page.do("resume")
            assert (said(state)[-1], state["approvals"], len(tool.ran)) == ("Sent.", [], 1)


async def test_first_words_that_were_perhaps_heard_long_ago_are_not_said_again_by_themselves(tmp_path: Path):
    model = ScriptedProvider(reply("Hello."), reply("Hello again."))
    async with page_site(tmp_path, model) as site:
        async with client_page(tmp_path / "page", site.url, deaf=True) as page:
            page.start("send", "hi")
            await page.until_kept(lambda kept: kept["step"].get("runId"))
            await site.engine.wait_settled(run_of(page.folder), seconds=HANG_SECONDS)
        async with client_page(tmp_path / "page", site.url) as page:
            await page.do("shift", 20 * 60_000)
            state = await page.do("resume")
            assert (state["error"]["code"], state["error"]["canRetry"], len(model.requests)) == ("answer_gone", True, 1)
            assert said(await page.do("retry"))[-1] == "Hello again."


async def test_a_stop_that_the_page_did_not_live_to_see_through_is_seen_through_after_the_reload(tmp_path: Path):
    tool, model = HeldTool("action_slow"), ScriptedProvider(call("action_slow", {}))
    async with page_site(tmp_path, model, tools=[tool]) as site:
        async with client_page(tmp_path / "page", site.url) as page:
            page.start("send", "do something long")
            await asyncio.wait_for(tool.began.wait(), HANG_SECONDS)
            await page.until(lambda state: state["activity"])
            page.start("stop")
            await page.until(lambda state: said(state, "system"))
        async with client_page(tmp_path / "page", site.url) as page:
            state = await page.do("resume")
            assert (state["isLoading"], state["error"]) == (False, None)
        assert (await site.engine.queries.run(run_of(tmp_path / "page"))).status == "cancelled"


async def test_an_answer_that_is_not_kept_any_more_is_not_made_again_by_itself(tmp_path: Path):
    clock, model = FakeClock(), ScriptedProvider(reply("Hello."), reply("Lost."), reply("Said again."))
    async with page_site(tmp_path, model, clock=clock) as site:
        async with client_page(tmp_path / "page", site.url) as page:
            await page.do("send", "hi")
        async with client_page(tmp_path / "page", site.url, deaf=True) as page:
            page.start("send", "and now?")
            await page.until_kept(lambda kept: kept["step"].get("runId"))
            await site.engine.wait_settled(run_of(page.folder), seconds=HANG_SECONDS)
        clock.advance(3600)
        async with client_page(tmp_path / "page", site.url) as page:
            state = await page.do("resume")
            assert (state["error"]["code"], state["error"]["canRetry"]) == ("answer_gone", True)
            assert said(await page.do("retry"))[-1] == "Said again."


async def test_somebody_else_in_the_same_tab_sees_nothing_of_it(tmp_path: Path):
    async with page_site(tmp_path, ScriptedProvider(reply("Hello."))) as site:
        async with client_page(tmp_path / "page", site.url) as page:
            await page.do("send", "hi")
        async with client_page(tmp_path / "page", site.url, userToken="a.b.c") as page:
            assert (await page.do("resume"))["messages"] == []
        assert not (tmp_path / "page/shelf.json").exists()


@needs_chromium
@in_browser
async def test_in_a_browser_a_reload_goes_on_and_a_copied_tab_does_not(chromium: Browser, tmp_path: Path):
    tool, model = mail(), ScriptedProvider(call("click-buy", BUY), call("send_mail", TO_BOB), reply("Sent."))
    async with page_site(tmp_path, model, tools=[tool]) as site, opened(chromium) as context:
        await context.route(site.url + "/shop/*", served)
        page = await context.new_page()
        await page.goto(site.url + "/shop/")
        await page.evaluate("talk.send('go')")
        await page.reload()
        await page.evaluate("talk.resume()")
        assert await page.evaluate("talk.state.approvals.length") == 1

        copy = await context.new_page()
        await copy.goto(site.url + "/shop/")
        kept = await page.evaluate("({ ...sessionStorage })")
        await copy.evaluate("kept => Object.assign(sessionStorage, kept)", kept)
        await copy.reload()
        await copy.evaluate("talk.resume()")
        assert await copy.evaluate("talk.state.messages.map(each => each.code)") == ["elsewhere"]

        await page.evaluate("talk.resolve(talk.state.approvals[0].id, 'approve_once')")
        assert await page.evaluate("talk.state.messages.map(each => each.content)") == ["go", "Sent."]
        assert (await page.evaluate("sessionStorage.executed"), len(tool.ran)) == ("1", 1)
        # A page that holds a lock cannot be kept for the back button.
        assert await page.evaluate("navigator.locks.query().then(({ held }) => held.length)") == 0
