"""A chat in somebody else's page: neither harms the other, whatever the page's style, policy and scripts are like."""

from typing import Any

import pytest
from playwright.async_api import Browser, expect
from tests.http.browsing import needs_chromium
from tests.web.bundles import WEB, needs_web
from tests.web.shared_browser import in_browser
from tests.web.widget_pages import HOST, STRICT, ChatPage, chat_page
from tests.web.widget_scenes import EVERYTHING, STEPS, TROUBLE, question, said

pytestmark = [needs_chromium, needs_web, pytest.mark.slow, in_browser]

HOSTILE = """
* { all: unset !important; display: block !important; font-size: 60px !important; color: red !important;
    visibility: hidden !important; letter-spacing: 9px !important; position: static !important; }
pollux-chat, pollux-chat * { display: none !important; opacity: 0 !important; transform: scale(3) !important;
    float: left !important; z-index: -1 !important; pointer-events: none !important; direction: rtl !important }
html { zoom: 1; text-transform: uppercase !important; line-height: 4 !important; font: italic 40px serif !important }
body { transform: translateX(50px) !important; overflow: hidden !important; filter: blur(1px) !important }
.panel, .log, .message, .send, button, textarea, table { background: red !important; border: 9px solid red !important }
.over { position: fixed !important; inset: 0 !important; z-index: 2147483647 !important; background: lime !important;
    visibility: visible !important }
"""
OVERLAY = HOST + '<div class="over"></div>'
# Where everything is, and how it looks.
LOOK = """() => [...document.querySelector('pollux-chat').shadowRoot.querySelectorAll('*')].map((e) => {
    const style = getComputedStyle(e)
    const {x, y, width, height} = e.getBoundingClientRect()
    const names = ['fontSize', 'color', 'backgroundColor', 'display', 'visibility', 'lineHeight', 'letterSpacing',
        'textTransform', 'fontStyle', 'borderTopWidth', 'direction', 'opacity', 'pointerEvents', 'float', 'position']
    return [e.tagName, e.className?.baseVal ?? e.className, ...[x, y, width, height].map(Math.round),
        ...names.map((name) => style[name])].join(' ')
})"""
STYLES = """() => [...document.querySelectorAll('*')].filter((e) => !e.matches('pollux-chat, script')).map((e) => {
    const style = getComputedStyle(e)
    const {x, y, width, height} = e.getBoundingClientRect()
    return [e.tagName, x, y, width, height, ...[...style].map((name) => style.getPropertyValue(name))].join(';')
})"""
AXE = """async () => {
    const {violations} = await axe.run(document, {resultTypes: ['violations']})
    return violations.map(({id, nodes}) => [id, ...nodes.map((node) => node.html)])
}"""


async def looks(there: ChatPage) -> Any:
    await there.show(**EVERYTHING, error=TROUBLE, approvals=[question()])
    await expect(there.part(".approve")).to_have_attribute("aria-disabled", "false")
    return await there.page.evaluate(LOOK)


async def test_hostile_style_changes_nothing_of_the_chat(chromium: Browser):
    async with chat_page(chromium, tag='data-mode="full"') as plain:
        usual = await looks(plain)
    async with chat_page(chromium, host=OVERLAY, style=HOSTILE, tag='data-mode="full"') as there:
        assert await looks(there) == usual
        # Above what covers the whole page: a person reaches it with the mouse.
        await there.part(".deny").click()
        assert await there.asked() == [["resolve", "a1", "reject"]]
        assert there.troubles == []


async def test_the_page_looks_and_works_as_without_us(chromium: Browser):
    style = """body { display: grid; gap: 20px; font-family: serif } body > :last-child { color: green }
        body > * + * { margin-top: 30px } :root { --accent: red; --text: blue } .panel, .root { color: pink }"""
    host = HOST + '<div class="panel root">Panel</div>'
    async with chat_page(chromium, host=host, style=style) as there:
        await there.show(**EVERYTHING)
        with_us = await there.page.evaluate(STYLES)
        names = await there.page.evaluate("Object.keys(window)")
        await there.page.evaluate("document.querySelector('pollux-chat').remove()")
        assert await there.page.evaluate(STYLES) == with_us
        assert await there.page.evaluate("document.adoptedStyleSheets.length + document.styleSheets.length") == 1
        assert [name for name in names if "pollux" in name.lower() or "preact" in name.lower()] == []


async def test_a_strict_policy_is_kept_without_a_complaint(chromium: Browser):
    none = STRICT.replace("style-src 'self'; ", "")
    async with chat_page(chromium, csp=none, tag='data-mode="full"') as there:
        await there.show(**EVERYTHING, error=TROUBLE, approvals=[question()], isLoading=True)
        await there.show(activity=STEPS)
        await there.part("textarea").fill("x")
        assert await there.part(".frame").is_visible()
        assert await there.part(".panel").evaluate("e => getComputedStyle(e).display") == "flex"
        assert there.troubles == []


async def test_scripts_that_changed_the_language_do_no_harm(chromium: Browser):
    spoilt = """
        Array.prototype.extra = function () {}; Object.prototype.more = 'x'; Array.prototype.toJSON = () => 'spoilt'
        String.prototype.toJSON = () => 'spoilt'; window.h = window.render = window.React = 1
        Element.prototype.remove = Element.prototype.append = function () {}
        window.name = 'x'; window.status = 'y'
    """
    async with chat_page(chromium, first=spoilt, csp="", tag='data-mode="full"') as there:
        await there.show(**EVERYTHING, approvals=[question()])
        assert await there.part(".message").count() == 4
        assert await there.part(".approval tbody tr").count() >= 4
        assert '"blue mug"' in str(await there.part(".approval pre").text_content())
        await there.part("textarea").fill("still here")
        assert await there.get("messageInput") == "still here"
        assert there.troubles == []


async def test_keys_in_the_chat_are_no_shortcuts_of_the_page(chromium: Browser):
    first = "window.heard = []; for (const type of ['keydown', 'keyup', 'input', 'focusin']) " + (
        "document.addEventListener(type, (event) => heard.push(type + event.key))"
    )
    async with chat_page(chromium, first=first) as there:
        await there.part("textarea").press_sequentially("/sq?")
        await there.part("textarea").press("Escape")
        assert await there.page.evaluate("heard") == []
        assert await there.get("isOpen") is False


async def test_an_inline_chat_lies_where_the_page_put_it(chromium: Browser):
    host = HOST.replace(
        "<main>", '<main><div id="box"><pollux-chat data-placement="inline" data-mode="full"></pollux-chat></div>'
    )
    style = "#box { width: 500px; height: 400px; transform: rotate(0deg) } pollux-chat { --pollux-height: 400px }"
    async with chat_page(chromium, host=host, style=style) as there:
        await there.show(messages=[said("assistant", "word " * 2000)])
        box, panel = await there.page.locator("#box").bounding_box(), await there.part(".panel").bounding_box()
        assert box and panel and (panel["width"], panel["height"]) == (500, 400) and panel["y"] == box["y"]
        assert await there.part("role=button[name='Close']").count() == 0


async def test_a_page_chooses_colours_and_theme(chromium: Browser):
    style = "pollux-chat { --pollux-accent: rgb(1, 2, 3) }"
    async with chat_page(chromium, style=style, tag='data-theme="dark"', color_scheme="light") as there:
        await there.part("textarea").fill("x")
        background = "e => getComputedStyle(e).backgroundColor"
        await expect(there.part(".send")).to_be_enabled()
        assert await there.part(".send").evaluate(background) == "rgb(1, 2, 3)"
        assert await there.part(".panel").evaluate(background) == "rgb(26, 28, 34)"
        await there.chat.evaluate("chat => { chat.dataset.theme = 'light' }")
        await there.show()
        assert await there.part(".panel").evaluate(background) == "rgb(255, 255, 255)"


async def test_motion_is_reduced_for_who_asks(chromium: Browser):
    async with chat_page(chromium, reduced_motion="reduce") as there:
        await there.show(isLoading=True, activity=STEPS, messages=[said("assistant", "Wor", isStreaming=True)])
        running = "() => document.querySelector('pollux-chat').shadowRoot.getAnimations().length"
        assert await there.page.evaluate(running) == 0


@pytest.mark.parametrize("mode", ["compact", "full"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_nothing_stands_in_the_way_of_anybody(chromium: Browser, mode: str, scheme: Any):
    # A page that is in order itself, in both schemes, so that everything found is ours.
    style = ":root { color-scheme: light dark; background: light-dark(#fff, #111) } a { color: light-dark(#00e, #9bf) }"
    async with chat_page(chromium, style=style, csp="", tag=f'data-mode="{mode}"', color_scheme=scheme) as there:
        await there.page.add_script_tag(path=WEB / "node_modules/axe-core/axe.min.js")
        found: dict[str, list[Any]] = {"empty": await there.page.evaluate(AXE)}
        await there.show(**EVERYTHING, isLoading=True, error=TROUBLE)
        found["failed"] = await there.page.evaluate(AXE)
        await there.show(approvals=[question(), question(2, subjects=["bob@example.com"])], error=None)
        await expect(there.part(".approve").last).to_have_attribute("aria-disabled", "false")
        await there.part("summary").first.click()
        found["asked"] = await there.page.evaluate(AXE)
        await there.show(approvals=[], isLoading=False)
        await there.chat.evaluate("chat => chat.close()")
        found["closed"] = await there.page.evaluate(AXE)
        assert found == {scene: [] for scene in found}
