"""Whose conversation a page shows: one person's in one place, and nobody else's, also when they change at a page."""

import json
import time
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, Request, Route, expect
from tests.asgi import issuer as lab
from tests.asgi.issuer import Issuer
from tests.engine.builders import TO_BOB, mail
from tests.http.browsing import needs_chromium
from tests.page.site import page_site as site
from tests.web.bundles import needs_web
from tests.web.shared_browser import in_browser
from tests.web.widget_site import ask, shop

from pollux.engine.model import ModelRequest
from pollux.providers.scripted import ScriptedProvider, call, calls, reply

pytestmark = [needs_chromium, needs_web, pytest.mark.slow, in_browser]

PAGE = """<!doctype html><html lang="en"><head><title>Shop</title></head><body><main><h1>Mugs</h1></main>
<script src="/pollux.js" id="tag" data-mode="full"></script></body></html>"""
CHATS = '<pollux-chat id="left"></pollux-chat><pollux-chat></pollux-chat><pollux-chat></pollux-chat>'
SHELF = "() => JSON.stringify(Object.entries(sessionStorage))"


@pytest_asyncio.fixture(loop_scope="session")
async def issuer() -> AsyncGenerator[Issuer]:
    async with lab.serving() as server:
        # Visits are told by the real clock, so the issuer's has to be near it.
        server.clock.at = time.time()
        yield server


async def signs_in(page: Page, token: str, *, by: str = "#tag") -> None:
    """The site tells the chat who is there, as sites without reloads do."""
    await page.evaluate("([by, token]) => { document.querySelector(by).dataset.userToken = token }", [by, token])


async def answered(page: Page, text: str) -> None:
    await expect(page.locator("pollux-chat >> .assistant").last).to_contain_text(text)


def heard(request: ModelRequest) -> str:
    return " ".join(str(turn) for turn in request.turns)


def as_ada(issuer: Issuer, **claims: object) -> str:
    return issuer.token(claims={"sub": "ada", **claims})


def as_bob(issuer: Issuer) -> str:
    return issuer.token(claims={"sub": "bob"})


@pytest.mark.parametrize("by", ["#tag", "pollux-chat"])
async def test_a_renewed_token_goes_on_and_another_person_finds_nothing(
    chromium: Browser, tmp_path: Path, issuer: Issuer, by: str
):
    model = ScriptedProvider(reply("Hello Ada."), reply("Once more."), reply("Hello Bob."), reply("Back again."))
    async with (
        site(tmp_path, model, jwt=issuer.verifier()) as here,
        shop(chromium, here, host=PAGE) as (page, troubles),
    ):
        await signs_in(page, as_ada(issuer), by=by)
        await ask(page, "my secret is 42")
        await answered(page, "Hello Ada.")

        await page.locator("pollux-chat >> textarea").fill("half a thought")
        await signs_in(page, as_ada(issuer, jti="renewed"), by=by)
        await answered(page, "Hello Ada.")
        await expect(page.locator("pollux-chat >> textarea")).to_have_value("half a thought")
        await ask(page, "and now?")
        await answered(page, "Once more.")
        assert "my secret is 42" in heard(model.requests[1])

        # Between two tokens nobody is named, and nothing is shown.
        await page.evaluate("(by) => { delete document.querySelector(by).dataset.userToken }", by)
        await expect(page.locator("pollux-chat >> .message")).to_have_count(0)
        await signs_in(page, as_ada(issuer), by=by)
        await answered(page, "Once more.")

        await page.locator("pollux-chat >> textarea").fill("for nobody's eyes")
        await signs_in(page, as_bob(issuer), by=by)
        await expect(page.locator("pollux-chat >> .message")).to_have_count(0)
        await expect(page.locator("pollux-chat >> textarea")).to_have_value("")
        assert "42" not in await page.evaluate(SHELF)
        await ask(page, "hi")
        await answered(page, "Hello Bob.")
        assert "42" not in heard(model.requests[2])
        assert troubles == []


async def test_a_question_of_one_person_is_not_asked_of_another(chromium: Browser, tmp_path: Path, issuer: Issuer):
    tool, model = mail(), ScriptedProvider(call("send_mail", TO_BOB), reply("Hello Bob."))
    verifier = issuer.verifier()
    async with (
        site(tmp_path, model, tools=[tool], jwt=verifier) as here,
        shop(chromium, here, host=PAGE) as (page, troubles),
    ):
        await signs_in(page, as_ada(issuer))
        await ask(page, "tell Bob")
        await expect(page.locator("pollux-chat >> .approval")).to_be_visible()
        async with page.expect_request("**/cancel*"):
            await signs_in(page, as_bob(issuer))
        await expect(page.locator("pollux-chat >> .approval")).to_have_count(0)
        await ask(page, "hi")
        await answered(page, "Hello Bob.")
        await page.reload()
        await signs_in(page, as_ada(issuer))
        await expect(page.locator("pollux-chat >> .approval")).to_have_count(0)
        assert (tool.ran, troubles) == ([], [])


async def test_whoever_is_named_after_the_page_has_loaded_finds_what_they_said(
    chromium: Browser, tmp_path: Path, issuer: Issuer
):
    model = ScriptedProvider(reply("Hello Ada."), reply("More."))
    async with site(tmp_path, model, jwt=issuer.verifier()) as here, shop(chromium, here, host=PAGE) as (page, _):
        await signs_in(page, as_ada(issuer))
        await ask(page, "my secret is 42")
        await answered(page, "Hello Ada.")
        await page.reload()
        await expect(page.locator("pollux-chat >> textarea")).to_be_visible()
        assert await page.locator("pollux-chat >> .message").count() == 0
        await signs_in(page, as_ada(issuer))
        await answered(page, "Hello Ada.")
        # Somebody else at the same page, in the same tab.
        await page.reload()
        await signs_in(page, as_bob(issuer))
        await expect(page.locator("pollux-chat >> .message")).to_have_count(0)
        assert "42" not in await page.evaluate(SHELF)


async def test_the_next_session_is_asked_for_with_the_token_that_the_page_gave_last(
    chromium: Browser, tmp_path: Path, issuer: Issuer
):
    model = ScriptedProvider(reply("Hello Ada."), reply("More."))
    async with site(tmp_path, model, jwt=issuer.verifier()) as here, shop(chromium, here, host=PAGE) as (page, _):
        sessions: list[str] = []

        def note(request: Request) -> None:
            if request.url.endswith("/api/page/session"):
                sessions.append(json.loads(request.post_data or "{}").get("userToken", ""))

        page.on("request", note)
        first, second = as_ada(issuer), as_ada(issuer, jti="renewed")
        await signs_in(page, first)
        await ask(page, "hi")
        await answered(page, "Hello Ada.")

        refused: list[str] = []

        async def refuse(route: Route) -> None:
            """As when the visit has come to its end."""
            if refused:
                await route.fallback()
            else:
                refused.append(route.request.url)
                await route.fulfill(status=401, json={"error": {"code": "auth_error", "message": "over"}})

        await page.route("**/send-message/stream", refuse)
        await signs_in(page, second)
        await ask(page, "more")
        await answered(page, "More.")
        assert (sessions, len(refused)) == ([first, second], 1)


async def test_chats_for_one_agent_on_one_page_have_conversations_of_their_own(chromium: Browser, tmp_path: Path):
    model = ScriptedProvider(reply("To the first."), reply("To the second."), reply("To the third."))
    async with (
        site(tmp_path, model) as here,
        shop(chromium, here, host=PAGE.replace("<script", f"{CHATS}<script")) as (page, troubles),
    ):
        chats = page.locator("pollux-chat")
        for place, said in enumerate(["one", "two", "three"]):
            await chats.nth(place).evaluate("(chat, said) => chat.sendMessage(said)", said)
        expected = [["one", "To the first."], ["two", "To the second."], ["three", "To the third."]]
        seen = "() => [...document.querySelectorAll('pollux-chat')].map((c) => c.messages.map((m) => m.content))"
        assert await page.evaluate(seen) == expected
        await page.reload()
        await expect(chats).to_have_count(3)
        assert await page.evaluate(seen) == expected
        # One that takes another's place goes on where that was.
        await page.evaluate(
            """() => {
                const old = document.querySelectorAll('pollux-chat')[1]
                old.replaceWith(document.createElement('pollux-chat'))
            }"""
        )
        assert await page.evaluate(seen) == expected
        assert troubles == []


async def test_of_several_questions_in_one_turn_each_has_its_own_answer(chromium: Browser, tmp_path: Path):
    tool = mail()
    to_eve = {**TO_BOB, "to": "eve@example.com"}
    model = ScriptedProvider(calls(("send_mail", TO_BOB), ("send_mail", to_eve)), reply("Bob has it, Eve has not."))
    async with (
        site(tmp_path, model, tools=[tool]) as here,
        shop(chromium, here, host=PAGE) as (page, troubles),
    ):
        await ask(page, "tell both")
        cards = page.locator("pollux-chat >> .approval")
        await expect(cards).to_have_count(2)
        eve = cards.filter(has_text="eve@example.com")
        bob = cards.filter(has_text="bob@example.com")
        await eve.locator(".deny").click()
        await expect(cards).to_have_count(1)
        await expect(bob.locator(".approve")).to_have_attribute("aria-disabled", "false")
        await bob.locator(".approve").click()
        await answered(page, "Bob has it, Eve has not.")
        await expect(cards).to_have_count(0)
        assert [args for _, args in tool.ran] == [TO_BOB]
        assert troubles == []
