"""What takes all of a page for itself: while a dialog or something on the whole screen does, the chat goes with it."""

from collections.abc import AsyncGenerator
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Locator, expect
from tests.http.browsing import needs_chromium
from tests.web.bundles import bundle, needs_web
from tests.web.shared_browser import in_browser
from tests.web.widget_pages import HOST, ChatPage, chat_page
from tests.web.widget_scenes import question, said, talk

pytestmark = [needs_chromium, needs_web, pytest.mark.slow, in_browser]

DIALOGS = (
    HOST
    + """<dialog id="one"><form method="dialog"><p>First</p><input id="name" aria-label="Name">
<button id="ok">OK</button></form></dialog>
<dialog id="two"><p>Second</p><button id="close">Close</button></dialog><div id="host"></div>
<div id="player"><p>Film</p></div>"""
)
# One that closes when somebody clicks beside its content, as many do, and one in a shadow.
SCRIPT = """addEventListener('DOMContentLoaded', () => {
    const $ = (id) => document.getElementById(id)
    window.heard = []
    for (const type of ['submit', 'close', 'cancel']) $('one').addEventListener(type, () => heard.push(type))
    for (const type of ['click', 'pointerdown', 'mousedown'])
        $('one').addEventListener(type, (event) => { if (!event.target.closest('form')) $('one').close() })
    $('host').attachShadow({mode: 'open'}).innerHTML = '<dialog id="deep"><button id="in">In</button></dialog>'
    window.deep = $('host').shadowRoot.getElementById('deep')
})"""
OLDER = "delete Element.prototype.moveBefore; delete ShadowRoot.prototype.moveBefore;" + (
    "delete DocumentFragment.prototype.moveBefore;"
)
FOCUSED = """() => {
    let at = document.activeElement
    while (at.shadowRoot?.activeElement) at = at.shadowRoot.activeElement
    return at.getAttribute('aria-label') || at.className || at.id || at.tagName
}"""


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def opened(chromium: Browser) -> AsyncGenerator[ChatPage]:
    async with chat_page(chromium, host=DIALOGS, first=SCRIPT, csp="", tag='data-mode="full"') as page:
        yield page


@pytest_asyncio.fixture(loop_scope="session")
async def there(opened: ChatPage) -> AsyncGenerator[ChatPage]:
    yield await opened.again()
    assert opened.troubles == []


def guest(there: ChatPage, selector: str, *, within: str = "dialog") -> Locator:
    """A part of the chat, drawn in something of the page."""
    return there.page.locator(f"{within} > [data-pollux-chat] >> {selector}")


async def focused(there: ChatPage) -> Any:
    return await there.page.evaluate(FOCUSED)


async def test_a_question_can_be_answered_while_the_page_shows_a_modal_dialog(there: ChatPage):
    await there.show(messages=talk("Done."), approvals=[question()], isLoading=True)
    await there.page.evaluate("one.showModal()")
    await expect(guest(there, ".approve")).to_have_attribute("aria-disabled", "false")
    await guest(there, ".approve").click()
    await guest(there, ".stop").click()
    assert await there.asked() == [["resolve", "a1", "approve_once"], ["stop"]]
    assert await there.page.evaluate("[one.open, heard]") == [True, []]
    # The dialog is as it was, for those who use it and for those who look at it.
    await there.page.locator("#ok").click()
    await expect(there.part(".panel")).to_be_visible()
    await there.page.wait_for_function("heard.length > 1")
    assert await there.page.evaluate("[one.open, heard, one.children.length]") == [False, ["submit", "close"], 1]
    await there.part("textarea").fill("and here again")
    assert await there.get("messageInput") == "and here again"


@pytest.mark.parametrize("engine", ["newer", "older"])
async def test_nothing_is_lost_on_the_way_into_a_dialog_and_back(chromium: Browser, engine: str):
    first = (OLDER if engine == "older" else "") + SCRIPT
    many = [said("assistant", f"Message {n}\n\n- a\n- b", n) for n in range(60)]
    async with chat_page(chromium, host=DIALOGS, first=first, csp="", tag='data-mode="full"') as there:
        page = there.page
        await there.show(messages=many, approvals=[question()], isLoading=True)
        await there.part("textarea").fill("half a thought")
        await there.part("textarea").evaluate("field => field.setSelectionRange(2, 6)")
        await there.part("summary").click()
        await there.part(".log").evaluate("log => { log.scrollTop = 300 }")
        await there.part("role=button[name='Go to the latest message']").wait_for()
        await there.part("textarea").focus()
        await there.part(".approval").evaluate("card => { window.card = card }")

        for act, within in (("one.showModal()", "#one"), ("two.showModal()", "#two"), ("two.close()", "#one")):
            await page.evaluate(act)
            await expect(guest(there, "textarea", within=within)).to_have_value("half a thought")
            assert await focused(there) == "Your message"
            assert await guest(there, ".log").evaluate("log => log.scrollTop") == 300
        assert await guest(there, "textarea").evaluate("f => [f.selectionStart, f.selectionEnd]") == [2, 6]
        await page.keyboard.type("x")
        await there.show(messages=[*many, said("assistant", "What is still", 99, isStreaming=True)])
        await expect(guest(there, ".streaming")).to_contain_text("What is still")

        await page.evaluate("one.close()")
        await expect(there.part("textarea")).to_have_value("hax thought")
        assert await focused(there) == "Your message"
        assert await there.part(".log").evaluate("log => log.scrollTop") == 300
        assert await there.part(".approval").evaluate("card => card === window.card && !!card.querySelector('[open]')")
        assert await page.evaluate("conversation.listeners") == 1
        assert there.troubles == []


async def test_whoever_was_with_the_page_stays_with_the_page(there: ChatPage):
    await there.part("textarea").fill("a draft")
    await there.page.locator("#mail").focus()
    await there.page.evaluate("one.showModal()")
    await expect(guest(there, "textarea")).to_have_value("a draft")
    assert await focused(there) == "Name"
    await there.page.evaluate("one.close()")
    await expect(there.part("textarea")).to_have_value("a draft")
    assert await focused(there) == "Mail"


async def test_a_click_or_a_key_in_the_chat_does_nothing_to_the_dialog(there: ChatPage):
    page = there.page
    await page.evaluate("one.closedBy = 'any'; one.showModal()")
    await guest(there, ".log").click()
    await guest(there, "textarea").click()
    await page.keyboard.type("hello")
    await page.keyboard.press("Enter")
    assert await there.asked() == [["send", "hello"]]
    # Stops what is under way, then closes the chat; only then it is the dialog's.
    await page.keyboard.press("Escape")
    assert (await there.asked())[-1] == ["stop"]
    await page.keyboard.press("Escape")
    assert [await there.get("isOpen"), await page.evaluate("[one.open, heard]")] == [False, [True, []]]
    await page.keyboard.press("Escape")
    await page.wait_for_function("heard.length > 1")
    assert await page.evaluate("[one.open, heard]") == [False, ["cancel", "close"]]
    await expect(there.part(".launcher")).to_be_visible()


async def test_the_keys_go_round_within_the_dialog_and_the_chat(there: ChatPage):
    await there.page.evaluate("two.showModal()")
    await expect(guest(there, "textarea")).to_be_visible()
    seen: list[str] = []
    for _ in range(6):
        seen.append(await focused(there))
        await there.page.keyboard.press("Tab")
    assert seen[:4] == ["close", "Show the last answer only", "Close", "Conversation"]
    assert "Your message" in seen and "Mail" not in seen


async def test_a_dialog_in_a_shadow_is_one_like_any_other(there: ChatPage):
    # Nobody has touched anything in there before.
    await there.page.evaluate("deep.showModal()")
    await guest(there, "textarea").fill("in the shadow")
    await there.page.evaluate("deep.close()")
    await expect(there.part("textarea")).to_have_value("in the shadow")
    # And now without a focus that would tell of it.
    await there.page.evaluate("deep.firstElementChild.remove(); deep.showModal()")
    await expect(guest(there, "textarea")).to_have_value("in the shadow")


@pytest.mark.parametrize(
    "act",
    [
        "one.remove()",
        "one.close(); one.replaceChildren()",
        "one.onclose = () => { one.textContent = '' }; one.close()",
        "document.body.replaceChildren()",
        "one.outerHTML = '<p>gone</p>'",
    ],
)
async def test_the_chat_comes_back_however_its_dialog_goes(there: ChatPage, act: str):
    await there.show(approvals=[question()], isLoading=True)
    await there.part("textarea").fill("a draft")
    await there.page.evaluate("one.showModal()")
    await expect(guest(there, "textarea")).to_have_value("a draft")
    await there.page.evaluate(act)
    await expect(there.part("textarea")).to_have_value("a draft")
    await there.part(".deny").click()
    assert await there.asked() == [["resolve", "a1", "reject"]]


async def test_a_dialog_that_is_drawn_again_has_the_chat_again(there: ChatPage):
    await there.part("textarea").fill("a draft")
    await there.page.evaluate("one.showModal()")
    await expect(guest(there, "textarea")).to_be_visible()
    await there.page.evaluate("one.innerHTML = '<p>Drawn again</p>'")
    await expect(guest(there, "textarea")).to_have_value("a draft")
    # A dialog that wants none of it is left alone, and the page goes on.
    await there.page.evaluate(
        """() => new MutationObserver(() => { one.querySelector('[data-pollux-chat]')?.remove() })
            .observe(one, {childList: true})"""
    )
    await there.page.evaluate("one.append('more')")
    await expect(guest(there, "textarea")).to_have_count(0)
    await expect(there.part("textarea")).to_have_value("a draft")


async def test_a_dialog_looks_as_without_us(chromium: Browser):
    style = """dialog[open] { display: grid; gap: 20px; padding: 7px; overflow: hidden; transform: scale(.9) }
        dialog > * { margin: 11px; border: 3px solid red; width: 50px } #two { display: flex; opacity: .5 }"""
    boxes = """(id) => [...document.getElementById(id).querySelectorAll('*'), document.getElementById(id)]
        .filter((e) => !e.matches('[data-pollux-chat]'))
        .map((e) => { const {x, y, width, height} = e.getBoundingClientRect(); return [e.id, x, y, width, height] })"""
    async with chat_page(chromium, host=DIALOGS, style=style, tag='data-mode="full"') as there:
        at_home = await there.part(".panel").bounding_box()
        for name in ("one", "two"):
            await there.page.evaluate(f"{name}.showModal()")
            await expect(guest(there, ".panel")).to_be_visible()
            assert await guest(there, ".panel").bounding_box() == at_home
            with_us = await there.page.evaluate(boxes, name)
            await there.page.evaluate("document.querySelector('pollux-chat').remove()")
            await expect(there.page.locator("[data-pollux-chat]")).to_have_count(0)
            assert await there.page.evaluate(boxes, name) == with_us
            await there.again()


async def test_colours_of_the_page_and_its_wish_to_hide_the_chat_hold_in_a_dialog(chromium: Browser):
    style = "pollux-chat { --pollux-background: rgb(1, 2, 3); --pollux-width: 300px }"
    async with chat_page(chromium, host=DIALOGS, first=SCRIPT, csp="", style=style) as there:
        await there.page.evaluate("deep.showModal()")
        panel = guest(there, ".panel")
        await expect(panel).to_have_css("background-color", "rgb(1, 2, 3)")
        await expect(panel).to_have_css("width", "300px")
        await there.chat.evaluate("chat => { chat.hidden = true }")
        await expect(panel).to_be_hidden()


async def test_the_agent_sees_the_dialog_and_not_the_chat_in_it(there: ChatPage):
    await there.page.add_script_tag(path=bundle("automation"))
    await there.page.evaluate("one.showModal()")
    state = "() => JSON.stringify(PolluxAutomation.createAutomation(document).getPageState())"
    await expect(guest(there, "textarea")).to_be_visible()
    told = await there.page.evaluate(state)
    assert "First" in told and "OK" in told
    assert "Your message" not in told and "Assistant" not in told


async def test_a_chat_that_lies_in_the_page_comes_into_a_dialog_only_when_it_is_needed(chromium: Browser):
    host = DIALOGS.replace("<main>", '<main><pollux-chat data-placement="inline"></pollux-chat>')
    async with chat_page(chromium, host=host, first=SCRIPT, csp="") as there:
        await there.page.evaluate("one.showModal()")
        await there.show(messages=talk("Done."))
        assert await there.page.locator("[data-pollux-chat]").count() == 0
        # The page behind it does not move.
        place = await there.page.locator("#buy").bounding_box()
        await there.show(approvals=[question()])
        await expect(guest(there, ".deny")).to_be_visible()
        assert await there.page.locator("#buy").bounding_box() == place
        await guest(there, ".deny").click()
        assert await there.asked() == [["resolve", "a1", "reject"]]
        await there.page.evaluate("one.close()")
        await expect(there.part(".panel")).to_be_visible()
        assert await there.part(".root").get_attribute("data-placement") == "inline"
        assert there.troubles == []


async def test_a_chat_that_the_page_put_into_its_dialog_stays_there(chromium: Browser):
    host = HOST + '<dialog id="one"><p>First</p><pollux-chat></pollux-chat></dialog>'
    async with chat_page(chromium, host=host) as there:
        await there.page.evaluate("one.showModal()")
        await there.part("textarea").fill("here")
        assert await there.page.locator("[data-pollux-chat]").count() == 0
        assert await there.get("messageInput") == "here"


async def test_what_fills_the_screen_has_the_chat_with_it(there: ChatPage):
    await there.show(approvals=[question()], isLoading=True)
    await there.page.evaluate("player.requestFullscreen()")
    await expect(guest(there, ".approve", within="#player")).to_have_attribute("aria-disabled", "false")
    await guest(there, ".approve", within="#player").click()
    await guest(there, "textarea", within="#player").fill("a draft")
    await there.page.evaluate("document.exitFullscreen()")
    await expect(there.part("textarea")).to_have_value("a draft")
    assert await there.asked() == [["resolve", "a1", "approve_once"]]
    # The page itself: the chat is in it already.
    await there.page.evaluate("document.documentElement.requestFullscreen()")
    await there.part("textarea").fill("still here")
    assert await there.page.locator("[data-pollux-chat]").count() == 0
    await there.page.evaluate("document.exitFullscreen()")
    # Nothing can be shown in a picture; the chat is there again when it is left.
    await there.page.evaluate("document.body.appendChild(document.createElement('canvas')).requestFullscreen()")
    await there.page.evaluate("document.exitFullscreen()")
    await there.part("textarea").fill("again")
    assert await there.get("messageInput") == "again"
