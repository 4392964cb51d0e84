"""Approving takes a person who sees what is asked and means it, whatever the page does meanwhile."""

from collections.abc import AsyncGenerator
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Locator, expect
from tests.http.browsing import needs_chromium
from tests.waiting import until
from tests.web.bundles import needs_web
from tests.web.shared_browser import in_browser
from tests.web.widget_pages import HOST, ChatPage, chat_page
from tests.web.widget_scenes import EVERYTHING, question

pytestmark = [needs_chromium, needs_web, pytest.mark.slow, in_browser]

YES = [["resolve", "a1", "approve_once"]]
COVERED = "Something of the page lies over this question, so it cannot be approved."
# A picture of something else, laid over our button: clicks go through it.
COVER = """([part, again]) => {
    const {x, y, width, height} = part.getBoundingClientRect()
    const cover = document.body.appendChild(document.createElement('div'))
    cover.id = 'cover'
    cover.popover = 'manual'
    cover.textContent = 'Play'
    cover.style.cssText = `position: fixed; margin: 0; padding: 0; border: 0; inset: auto; left: ${x}px; top: ${y}px;
        width: ${width}px; height: ${height}px; pointer-events: none; background: white`
    cover.showPopover()
    if (again) cover.tick = setInterval(() => { cover.hidePopover(); cover.showPopover() }, 50)
}"""
INLINE = '<main><div id="box"><pollux-chat data-placement="inline"></pollux-chat></div>'
SCENES: dict[str, dict[str, Any]] = {
    "compact": {},
    "full": {"tag": 'data-mode="full"'},
    "dark": {"color_scheme": "dark"},
    "still": {"reduced_motion": "reduce"},
    "from right to left": {"host": HOST.replace('lang="en"', 'lang="he" dir="rtl"')},
    "320 pixels": {"viewport": {"width": 320, "height": 480}},
    "320 pixels and low": {"viewport": {"width": 320, "height": 256}},
    "fine pixels": {"device_scale_factor": 1.5},
    "enlarged": {"style": "html { zoom: 1.7 }"},
    "a page of effects": {"style": "html { filter: grayscale(1); opacity: .9 } body { transform: rotate(2deg) }"},
    "in the page": {"host": HOST.replace("<main>", INLINE), "csp": ""},
    "in a page that moves": {"host": HOST.replace("<main>", INLINE), "style": "#box { transform: translateX(9px) }"},
}


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def opened(chromium: Browser) -> AsyncGenerator[ChatPage]:
    async with chat_page(chromium, tag='data-mode="full"', csp="") as page:
        yield page


@pytest_asyncio.fixture(loop_scope="session")
async def there(opened: ChatPage) -> AsyncGenerator[ChatPage]:
    yield await opened.again()
    assert opened.troubles == []


async def ready(there: ChatPage) -> Locator:
    """The button, when it can be pressed."""
    button = there.part(".approve").first
    await expect(button).to_have_attribute("aria-disabled", "false")
    return button


async def settled(there: ChatPage) -> None:
    """Let the focus rest where it is for longer than is asked for."""
    await there.page.evaluate("() => new Promise((done) => setTimeout(done, 400))")


@pytest.mark.parametrize("scene", SCENES)
async def test_in_an_honest_page_nobody_is_stuck(chromium: Browser, scene: str):
    async with chat_page(chromium, **SCENES[scene]) as there:
        await there.show(**EVERYTHING, approvals=[question()])
        button = await ready(there)
        assert await there.part(".covered").inner_text() == ""
        await button.click()
        await expect(there.part(".approval")).to_have_count(0)
        assert await there.asked() == YES


async def test_a_key_counts_when_it_goes_down_and_up_on_a_button_that_has_the_focus(there: ChatPage):
    page = there.page
    for number, key in ((1, "Enter"), (2, "Space")):
        await there.show(approvals=[question(number)])
        button = await ready(there)
        await button.focus()
        await settled(there)
        await page.keyboard.down(key)
        assert len(await there.asked()) == number - 1
        await page.keyboard.up(key)
        assert (await there.asked())[-1] == ["resolve", f"a{number}", "approve_once"]


async def test_a_script_that_moves_the_focus_under_a_key_gets_nothing(there: ChatPage):
    page = there.page
    await there.show(approvals=[question()])
    button = await ready(there)
    thief = """(button, swallow) => {
        document.querySelector('#mail').focus()
        for (const type of ['keydown', 'keypress', 'keyup']) addEventListener(type, (event) => {
            button.focus()
            if (swallow) event.stopImmediatePropagation()
        }, true)
    }"""
    for swallow in (False, True):
        for key in ("Enter", "Space"):
            await button.evaluate(thief, swallow)
            await page.keyboard.press(key)
            # Held down, and moved to while it is.
            await page.locator("#mail").focus()
            await page.keyboard.down(key)
            await button.focus()
            await page.keyboard.down(key)
            await page.keyboard.up(key)
    await settled(there)
    assert await there.asked() == []


async def test_a_key_that_comes_too_soon_says_so_and_counts_the_next_time(there: ChatPage):
    async def is_pressed_too_soon() -> bool:
        await there.again()
        await there.show(approvals=[question()])
        button = await ready(there)
        await button.focus()
        await there.page.keyboard.press("Enter")
        return not await there.asked()

    # On a slow machine the key may come late enough to count.
    await until(is_pressed_too_soon)
    await expect(there.part(".soon")).to_have_text("That was too soon to be sure. Press again.")
    assert await there.asked() == []
    await settled(there)
    await there.page.keyboard.press("Enter")
    assert await there.asked() == YES


async def test_who_presses_by_way_of_a_screen_reader_is_heard(there: ChatPage):
    """Browsers press for them as with a pointer: nothing has the focus for long, and no key goes down."""
    await there.show(approvals=[question()])
    box = await (await ready(there)).bounding_box()
    assert box
    await there.page.mouse.move(box["x"] + 5, box["y"] + 5)
    await there.page.mouse.down()
    await there.page.mouse.up()
    assert await there.asked() == YES


@pytest.mark.parametrize("part", [".approve", ".preview", ".arguments"])
async def test_what_lies_over_a_question_is_told_and_nothing_is_approved_below_it(there: ChatPage, part: str):
    await there.show(approvals=[question()])
    box = await (await ready(there)).bounding_box()
    assert box
    await there.part(part).evaluate(f"(part) => ({COVER})([part, true])")
    await expect(there.part(".covered")).to_have_text(COVERED)
    await expect(there.part(".approve")).to_have_attribute("aria-disabled", "true")
    await there.page.mouse.click(box["x"] + 10, box["y"] + 10)
    assert await there.asked() == []
    # A no needs no such care.
    await there.part(".deny").click(force=True)
    assert await there.asked() == [["resolve", "a1", "reject"]]


async def test_a_question_comes_before_what_lies_over_it_by_itself(there: ChatPage):
    await there.show(approvals=[question()])
    await there.part(".approve").evaluate(f"(part) => ({COVER})([part, false])")
    await (await ready(there)).click()
    assert await there.asked() == YES


async def test_what_was_covered_until_just_now_is_not_approved_by_the_same_click(there: ChatPage):
    await there.show(approvals=[question()])
    box = await (await ready(there)).bounding_box()
    assert box
    await there.part(".approve").evaluate(f"(part) => ({COVER})([part, true])")
    await expect(there.part(".covered")).to_have_text(COVERED)
    await there.page.evaluate(
        """addEventListener('pointerdown', () => {
            const cover = document.getElementById('cover')
            clearInterval(cover.tick)
            cover.remove()
        }, {capture: true, once: true})"""
    )
    await there.page.mouse.click(box["x"] + 10, box["y"] + 10)
    assert await there.asked() == []
    await (await ready(there)).click()
    assert await there.asked() == YES


async def test_the_visitor_can_call_a_question_to_the_front(there: ChatPage):
    await there.show(approvals=[question()])
    await ready(there)
    await there.part(".approve").evaluate(f"(part) => ({COVER})([part, true])")
    # It covers us as often as we come before it by ourselves; not any more when somebody wants it.
    await there.page.evaluate("addEventListener('pointerdown', () => clearInterval(cover.tick), true)")
    await there.part(".raise").click()
    assert await there.focused() == "deny"
    await (await ready(there)).click()
    assert await there.asked() == YES


async def test_a_chat_in_a_see_through_part_of_the_page_is_shown_above_it(chromium: Browser):
    host, style = HOST.replace("<main>", INLINE), "#box { opacity: .9 }"
    async with chat_page(chromium, host=host, style=style) as there:
        await there.show(approvals=[question()])
        await expect(there.part(".covered")).to_have_text(COVERED)
        place = await there.page.locator("#buy").bounding_box()
        await there.part(".raise").click()
        button = await ready(there)
        assert await there.page.locator("#buy").bounding_box() == place
        await button.click()
        await expect(there.part(".root")).to_have_attribute("data-placement", "inline")
        assert (await there.asked(), there.troubles) == (YES, [])


@pytest.mark.parametrize("scene", ["compact", "320 pixels", "320 pixels and low", "in the page"])
async def test_a_browser_that_does_not_tell_is_asked_what_a_click_would_reach(chromium: Browser, scene: str):
    first = "delete IntersectionObserver.prototype.trackVisibility"
    async with chat_page(chromium, **{**SCENES[scene], "first": first}) as there:
        await there.show(**EVERYTHING, approvals=[question(), question(2)])
        await (await ready(there)).click()
        assert await there.asked() == YES
        await expect(there.part(".approve")).to_have_count(1)
        await there.part(".approve").scroll_into_view_if_needed()
        await there.page.evaluate(
            """() => {
                const over = document.body.appendChild(document.createElement('dialog'))
                over.style.cssText = 'position: fixed; inset: 0; width: 100vw; height: 100vh; z-index: 9'
                over.popover = 'manual'
                setInterval(() => { if (over.matches(':popover-open')) over.hidePopover(); over.showPopover() }, 20)
            }"""
        )
        await expect(there.part(".covered")).to_have_text(COVERED)
        assert there.troubles == []


async def test_a_question_that_does_not_say_what_it_is_about_can_only_be_denied(there: ChatPage):
    junk: list[dict[str, Any]] = [
        question(1, args=None),
        question(2, args=["x"], preview=5, reason={"a": 1}),
        question(3, args="all of it", subjects="nobody", preview=None),
        question(4, expiresAt="soon"),
        question(5, expiresAt=None, args={"deep": {"er": [None, {}]}}),
    ]
    await there.show(approvals=junk)
    await settled(there)
    await settled(there)
    for button in await there.part(".approve").all():
        assert await button.get_attribute("aria-disabled") == "true"
        await button.click(force=True)
    assert await there.asked() == []
    await there.part(".deny").first.click()
    assert await there.asked() == [["resolve", "a1", "reject"]]


async def test_a_control_that_the_page_calls_otherwise_by_now_is_read_again_before_it_is_approved(there: ChatPage):
    await there.page.evaluate("Object.assign(buy.dataset, { control: '' }); buy.textContent = 'Pay 24'")
    await there.show(**EVERYTHING, approvals=[question(tool="click", args={"ref": "e1"}, onPage=True)])
    await expect(there.part(".about")).to_have_text("Press “Pay 24”")
    await expect(there.part(".approve")).to_have_attribute("aria-disabled", "false")
    # In the same moment.
    await there.page.evaluate(
        "addEventListener('pointerdown', () => { buy.textContent = 'Pay 500' }, { once: true, capture: true })"
    )
    await there.part(".approve").click()
    await expect(there.part(".about")).to_have_text("Press “Pay 500”")
    assert await there.asked() == []
    await expect(there.part(".approve")).to_have_attribute("aria-disabled", "false")
    await there.part(".approve").click()
    await expect(there.part(".approval")).to_have_count(0)
    assert await there.asked() == YES
