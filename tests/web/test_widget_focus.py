"""The agent uses the page while a person types into the chat: what they type goes into the chat, and nowhere else."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from playwright.async_api import Browser, Page, expect
from tests.http.browsing import needs_chromium
from tests.page.site import page_site as site
from tests.web.bundles import needs_web
from tests.web.shared_browser import in_browser
from tests.web.widget_pages import HOST as PLAIN
from tests.web.widget_pages import chat_page
from tests.web.widget_site import HOST, ask, shop

from pollux.engine.model import ModelRequest
from pollux.providers.scripted import Answer, ScriptedProvider, Step, call, reply

pytestmark = [needs_chromium, needs_web, pytest.mark.slow, in_browser]

OPEN = HOST.replace(' data-launcher="closed"', "")
CHAT = ":is(pollux-chat, [data-pollux-chat]) >> "
FIELD = f"{CHAT}textarea"
FOCUSED = """() => {
    let at = document.activeElement
    while (at.shadowRoot?.activeElement) at = at.shadowRoot.activeElement
    return at.id || at.localName
}"""
# What else a button of a page may do when it is clicked. `other` and `sure` count as the first one does.
MORE = """
const $ = (id) => document.getElementById(id)
const also = (id) => { $(id).onclick = $(id).onkeydown = () => { $('cart').textContent = `${++count} in the cart` } }
also('other'); also('sure')
"""
DOES = {
    "nothing more": "",
    "moves the focus": "$('buy').addEventListener('click', () => $('other').focus())",
    "moves the focus a while later": "$('buy').addEventListener('click', () => setTimeout(moves, 700));"
    "function moves() { $('other').focus(); document.title = 'moved' }",
    "is taken away": "$('buy').addEventListener('click', () => $('buy').remove())",
    "is replaced": "$('buy').addEventListener('click', () => $('buy').replaceWith($('other')))",
    "loses the focus": "$('buy').addEventListener('click', () => setTimeout(() => document.activeElement.blur(), 0))",
    "opens a dialog": "$('buy').addEventListener('click', () => $('ask').showModal())",
    "holds on to the focus": "$('buy').addEventListener('click', () => document.addEventListener('focusin',"
    "(event) => { if (event.target !== $('other')) $('other').focus() }, true));"
    "$('buy').addEventListener('click', () => $('other').focus())",
}
BESIDE = """<button id="other">Other</button><input id="mail" aria-label="Mail">
<dialog id="ask"><button id="sure" autofocus>Sure</button></dialog>"""


@asynccontextmanager
async def shopping(
    chromium: Browser, path: Path, *steps: Step, script: str = "", host: str = OPEN
) -> AsyncGenerator[Page]:
    """The shop, with more in its script, and the chat open."""
    model = ScriptedProvider(*steps)
    host = host.replace("</main>", f"{BESIDE}</main>")
    async with site(path, model) as here, shop(chromium, here, host=host, more=MORE + script) as (page, _):
        yield page


async def cart(page: Page) -> str:
    return await page.locator("#cart").inner_text()


@pytest.mark.parametrize("does", DOES)
async def test_what_a_person_types_after_the_agent_clicked_presses_nothing(
    chromium: Browser, tmp_path: Path, does: str
):
    steps = call("click", {"ref": "e1"}), reply("It is in **your** cart."), reply("You are welcome.")
    async with shopping(chromium, tmp_path, *steps, script=DOES[does]) as page:
        await ask(page, "buy a mug")
        await expect(page.locator(f"{CHAT}strong")).to_have_text("your")
        if "later" in does:
            await expect(page).to_have_title("moved")
        assert await cart(page) == "1 in the cart"
        await page.keyboard.type("thank you so much")
        await expect(page.locator(FIELD)).to_have_value("thank you so much")
        await page.keyboard.press("Enter")
        if "holds" in does:
            # It has the focus again, and hears nothing: a press of Enter is lost, and no more.
            await page.evaluate("document.querySelector('pollux-chat').sendMessage()")
        await expect(page.locator(f"{CHAT}.user").last).to_contain_text("thank you so much")
        assert await cart(page) == "1 in the cart"


async def test_the_caret_is_where_it_was(chromium: Browser, tmp_path: Path):
    is_written = asyncio.Event()

    async def clicks(request: ModelRequest) -> Answer:
        await is_written.wait()
        return call("click", {"ref": "e1"})

    async with shopping(chromium, tmp_path, clicks, reply("It is in **your** cart.")) as page:
        await ask(page, "buy a mug")
        await page.keyboard.type("a thought")
        await page.locator(FIELD).evaluate("field => field.setSelectionRange(1, 4)")
        is_written.set()
        await expect(page.locator(f"{CHAT}strong")).to_have_text("your")
        assert await page.evaluate(FOCUSED) == "textarea"
        assert await page.locator(FIELD).evaluate("f => [f.selectionStart, f.selectionEnd]") == [1, 4]


async def test_what_a_person_types_while_the_agent_clicks_is_not_lost(chromium: Browser, tmp_path: Path):
    # The page is not at rest until then, and so the action is not over.
    script = """$('buy').addEventListener('click', () => { let n = 0
        const busy = setInterval(() => { $('other').textContent = n++ }, 50)
        $('mail').oninput = () => clearInterval(busy) })"""
    async with shopping(chromium, tmp_path, call("click", {"ref": "e1"}), reply("**Done.**"), script=script) as page:
        await ask(page, "buy a mug")
        await expect(page.locator("#cart")).to_have_text("1 in the cart")
        await page.keyboard.type("a b c")
        await expect(page.locator(FIELD)).to_have_value("a b c")
        await page.evaluate("document.getElementById('mail').oninput()")
        await expect(page.locator(f"{CHAT}strong")).to_have_text("Done.")
        assert await cart(page) == "1 in the cart"


async def test_who_writes_in_a_field_of_the_page_goes_on_there(chromium: Browser, tmp_path: Path):
    is_written = asyncio.Event()

    async def clicks(request: ModelRequest) -> Answer:
        await is_written.wait()
        return call("click", {"ref": "e1"})

    async with shopping(chromium, tmp_path, clicks, reply("It is in **your** cart.")) as page:
        await ask(page, "buy a mug")
        await page.locator("#mail").click()
        await page.keyboard.type("ada")
        is_written.set()
        await expect(page.locator(f"{CHAT}strong")).to_have_text("your")
        assert await page.evaluate(FOCUSED) == "mail"
        await page.keyboard.type(" b c")
        await expect(page.locator("#mail")).to_have_value("ada b c")
        assert await cart(page) == "1 in the cart"
        # What the page does with the focus because of what they type is their own doing.
        await page.evaluate(
            "() => { const $ = (id) => document.getElementById(id)\n$('mail').oninput = () => $('other').focus() }"
        )
        await page.keyboard.type("x")
        assert await page.evaluate(FOCUSED) == "other"


async def test_who_goes_to_the_page_stays_there(chromium: Browser, tmp_path: Path):
    async with shopping(chromium, tmp_path, call("click", {"ref": "e1"}), reply("It is in **your** cart.")) as page:
        await ask(page, "buy a mug")
        await expect(page.locator(f"{CHAT}strong")).to_have_text("your")
        await page.locator("#other").click()
        await page.keyboard.press("Enter")
        assert await page.evaluate(FOCUSED) == "other"
        assert await cart(page) != "1 in the cart"
        await page.locator(FIELD).focus()
        await page.keyboard.press("Shift+Tab")
        assert await page.evaluate(FOCUSED) != "textarea"


async def test_on_the_next_page_the_person_is_in_the_chat_as_well(chromium: Browser, tmp_path: Path):
    script = """
    $('buy').addEventListener('click', () => { location.search = 'next' })
    if (location.search) addEventListener('DOMContentLoaded', () => $('other').focus())"""
    steps = call("click", {"ref": "e1"}), reply("This is **another** page.")
    async with shopping(chromium, tmp_path, *steps, script=script, host=HOST) as page:
        await page.locator("pollux-chat >> role=button[name='Open the assistant']").click()
        await ask(page, "go on")
        await page.wait_for_url("**/shop?next")
        await expect(page.locator(f"{CHAT}strong")).to_have_text("another")
        assert await page.evaluate(FOCUSED) == "textarea"
        await page.keyboard.type("a b")
        assert await cart(page) == "0 in the cart"


async def test_no_listener_of_the_page_hears_a_key_that_is_pressed_in_the_chat(chromium: Browser):
    first = """window.heard = []; for (const type of ['keydown', 'keypress', 'keyup'])
        for (const capture of [true, false]) for (const node of [document, document.documentElement])
            node.addEventListener(type, (event) => heard.push(type + event.key), capture)"""
    async with chat_page(chromium, host=PLAIN, first=first) as there:
        await there.part("textarea").press_sequentially("/sq? 1")
        await there.part("textarea").press("Shift+Enter")
        await there.part("textarea").press("Enter")
        assert await there.asked() == [["send", "/sq? 1"]]
        await there.part("textarea").press("Escape")
        assert await there.asked() == [["send", "/sq? 1"], ["stop"]]
        assert await there.page.evaluate("heard") == []
        await there.page.locator("#mail").press("x")
        assert len(await there.page.evaluate("heard")) == 12


@pytest.mark.parametrize("key", ["Enter", "x", "Space"])
async def test_a_key_that_the_agent_presses_never_reaches_the_chat(chromium: Browser, tmp_path: Path, key: str):
    steps = call("press", {"key": key}), reply("I **pressed** it.")
    async with shopping(chromium, tmp_path, *steps) as page:
        await ask(page, "press it")
        await expect(page.locator(f"{CHAT}strong")).to_have_text("pressed")
        await expect(page.locator(FIELD)).to_have_value("")
        assert await page.locator(f"{CHAT}.user").count() == 1
