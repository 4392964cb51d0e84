"""The whole script in a page of a real server: it sees the page and uses it, asks first, and survives a reload."""

from pathlib import Path

import pytest
from playwright.async_api import Browser, expect
from tests.engine.builders import TO_BOB, mail
from tests.http.browsing import needs_chromium
from tests.page.site import page_site as site
from tests.web.bundles import built, needs_web
from tests.web.shared_browser import in_browser
from tests.web.widget_site import HOST, ask, shop

from pollux.providers.scripted import ScriptedProvider, call, reply

pytestmark = [needs_chromium, needs_web, pytest.mark.slow, in_browser]


async def test_the_script_sees_and_uses_the_page_and_tells_of_it(chromium: Browser, tmp_path: Path):
    model = ScriptedProvider(call("click", {"ref": "e1"}), reply("There is **one** mug in your cart."))
    async with site(tmp_path, model) as here, shop(chromium, here) as (page, troubles):
        assert await page.locator("pollux-chat").count() == 1
        await page.locator("pollux-chat >> role=button[name='Open the assistant']").click()
        await ask(page, "buy a mug")
        await expect(page.locator("pollux-chat >> strong")).to_have_text("one")
        await expect(page.locator("#cart")).to_have_text("1 in the cart")
        assert 'e1 button "Take a mug"' in model.requests[0].system
        assert "Open the assistant" not in model.requests[0].system
        await expect(page.locator("pollux-chat >> .steps .done")).to_have_count(1)
        assert await page.evaluate("document.querySelector('pollux-chat').isLoading") is False
        assert troubles == []


async def test_what_has_consequences_is_asked_about_in_the_pages_own_words(chromium: Browser, tmp_path: Path):
    model = ScriptedProvider(call("click", {"ref": "e1"}), reply("It is paid."))
    host = HOST.replace("Take a mug", "Pay 24.00")
    async with site(tmp_path, model) as here, shop(chromium, here, host=host) as (page, troubles):
        await page.locator("pollux-chat >> role=button[name='Open the assistant']").click()
        await ask(page, "pay for it")
        card = page.locator("pollux-chat >> .approval")
        await expect(card.locator(".about")).to_have_text("Press “Pay 24.00”")
        assert "e1" not in (await card.text_content() or "")
        # A frame shows which one is meant.
        frame, button = page.locator("pollux-chat >> .frame"), page.locator("#buy")
        await expect(frame).to_be_visible()
        assert abs((await frame.bounding_box() or {})["y"] - (await button.bounding_box() or {})["y"]) < 12
        await expect(page.locator("#cart")).to_have_text("0 in the cart")
        await expect(card.locator(".approve")).to_have_attribute("aria-disabled", "false")
        await card.locator(".approve").click()
        await expect(page.locator("#cart")).to_have_text("1 in the cart")
        await expect(page.locator("pollux-chat >> .assistant").last).to_contain_text("It is paid.")
        await expect(frame).to_be_hidden()
        assert troubles == []


async def test_two_messages_in_one_moment_are_both_answered(chromium: Browser, tmp_path: Path):
    async with (
        site(tmp_path, ScriptedProvider(reply("One."), reply("Two."))) as here,
        shop(chromium, here) as (page, _),
    ):
        busy = await page.evaluate("""() => {
            const chat = document.querySelector("pollux-chat");
            window.said = Promise.all([chat.sendMessage("first"), chat.sendMessage("second")]);
            return chat.isLoading;
        }""")
        told = await page.evaluate(
            "said.then(() => document.querySelector('pollux-chat').messages.map((m) => m.content))"
        )
        assert (busy, told) == (True, ["first", "One.", "second", "Two."])


@pytest.mark.story
async def test_a_question_is_there_again_after_a_reload_and_what_it_asks_for_is_done_once(
    chromium: Browser, tmp_path: Path
):
    tool = mail()
    model = ScriptedProvider(call("send_mail", TO_BOB), reply("Sent to Bob."))
    async with site(tmp_path, model, tools=[tool]) as here, shop(chromium, here) as (page, troubles):
        await page.locator("pollux-chat >> role=button[name='Open the assistant']").click()
        await ask(page, "tell Bob")
        card = page.locator("pollux-chat >> .approval")
        await expect(card).to_be_visible()
        before = await card.locator("tbody").inner_text()
        assert TO_BOB["to"] in before and tool.ran == []

        await page.reload()
        await expect(card).to_be_visible()
        assert await card.locator("tbody").inner_text() == before
        assert await page.evaluate("document.querySelector('pollux-chat').lastUserMessage") == "tell Bob"
        await expect(card.locator(".approve")).to_have_attribute("aria-disabled", "false")
        await card.locator(".approve").click()
        await expect(page.locator("pollux-chat >> .assistant").last).to_contain_text("Sent to Bob.")
        assert len(tool.ran) == 1
        await expect(card).to_have_count(0)

        await page.reload()
        await page.locator("pollux-chat >> role=button[name='Open the assistant']").click()
        await expect(page.locator("pollux-chat >> .assistant").last).to_contain_text("Sent to Bob.")
        assert len(tool.ran) == 1 and troubles == []


async def test_a_page_that_the_browser_kept_goes_on_with_what_was_said_since(chromium: Browser, tmp_path: Path):
    async with site(tmp_path, ScriptedProvider(reply("Hello."))) as here, shop(chromium, here) as (page, _):
        await page.locator("pollux-chat >> role=button[name='Open the assistant']").click()
        await ask(page, "hi")
        await expect(page.locator("pollux-chat >> .assistant").last).to_contain_text("Hello.")
        # As if this had been said on the page that the visitor comes back from.
        await page.evaluate("""() => {
            const kept = Object.entries(sessionStorage);
            document.querySelector("pollux-chat").clear();
            for (const [key, value] of kept) sessionStorage.setItem(key, value);
            window.dispatchEvent(new PageTransitionEvent("pageshow", { persisted: true }));
        }""")
        await expect(page.locator("pollux-chat >> .assistant").last).to_contain_text("Hello.")


async def test_what_is_too_long_to_send_stays_in_the_field(chromium: Browser, tmp_path: Path):
    async with site(tmp_path, ScriptedProvider()) as here, shop(chromium, here) as (page, _):
        await page.locator("pollux-chat >> role=button[name='Open the assistant']").click()
        await ask(page, "x" * 100_001)
        await expect(page.locator("pollux-chat >> text=Say it in parts")).to_be_visible()
        assert await page.evaluate("document.querySelector('pollux-chat').messageInput.length") == 100_001


async def test_what_was_sent_leaves_the_field_however_its_signs_are_counted(chromium: Browser, tmp_path: Path):
    async with site(tmp_path, ScriptedProvider(reply("Hello."))) as here, shop(chromium, here) as (page, troubles):
        await page.locator("pollux-chat >> role=button[name='Open the assistant']").click()
        await ask(page, "\N{GRINNING FACE}" * 60_000)
        await expect(page.locator("pollux-chat >> .assistant")).to_contain_text("Hello.")
        await expect(page.locator("pollux-chat >> textarea")).to_have_value("")
        assert troubles == []


async def test_a_page_that_is_written_anew_has_a_chat_again(chromium: Browser, tmp_path: Path):
    async with site(tmp_path, ScriptedProvider()) as here, shop(chromium, here) as (page, _):
        await page.evaluate("document.open(); document.append(document.createElement('html')); document.close()")
        await expect(page.locator("pollux-chat")).to_have_count(0)
        await page.evaluate((built() / "pollux.js").read_text())
        await expect(page.locator("pollux-chat >> textarea")).to_be_visible()
