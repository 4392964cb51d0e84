"""After an action: the page comes to rest, what was done is verified, and what changed is told in a few lines."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest
import pytest_asyncio
from aiohttp import web
from playwright.async_api import Browser, Page
from tests.http.browsing import needs_chromium
from tests.waiting import until
from tests.web.act_scenes import execute, load
from tests.web.bundles import bundle, needs_web
from tests.web.shared_browser import in_browser

pytestmark = [needs_chromium, needs_web, pytest.mark.slow, in_browser]

STRICT = (
    "default-src 'none'; script-src 'nonce-a'; connect-src 'self';"
    " require-trusted-types-for 'script'; trusted-types 'none'"
)
EXECUTE_ALL = """async (...elements) => {
    const it = PolluxAutomation.createAutomation(document)
    const call = element => ({id: element.id, name: "click", args: {ref: it.refs.know(element).ref}})
    return Promise.all(elements.map(element => it.execute(call(element))))
}"""


@pytest_asyncio.fixture(loop_scope="session", scope="module")
async def page(chromium: Browser) -> AsyncGenerator[Page]:
    page = await chromium.new_page()
    yield page
    await page.close()


@dataclass
class Site:
    """A page of ours under an address, and whatever it asks for."""

    url: str = ""
    html: str = ""
    policy: str = ""
    goes_on: asyncio.Event = field(default_factory=asyncio.Event)


@asynccontextmanager
async def site(html: str, *, policy: str = "") -> AsyncGenerator[Site]:
    here = Site(html=html, policy=policy)

    async def answer(request: web.Request) -> web.StreamResponse:
        if request.path == "/automation.js":
            return web.FileResponse(bundle("automation"), headers={"Content-Type": "text/javascript"})
        headers = {"Content-Security-Policy": here.policy} if here.policy else {}
        text = "<!doctype html><title>Shop</title><script nonce=a src=/automation.js></script>" + here.html
        if request.path == "/stock":
            return web.json_response({"left": 3})
        if request.path == "/go":
            here.goes_on.set()
        if request.path == "/slow":
            response = web.StreamResponse(headers={"Content-Type": "application/json"})
            await response.prepare(request)
            await here.goes_on.wait()
            await response.write(b'{"left": 3}')
            return response
        return web.Response(text=text, content_type="text/html", headers=headers)

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        here.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        yield here
    finally:
        await runner.cleanup()


async def test_what_comes_over_the_network_is_waited_for_and_told(page: Page):
    html = """<button id=x>Check</button><p id=out>Unknown</p><script nonce=a>
        x.onclick = async () => {
            const {left} = await (await fetch("/stock")).json()
            out.textContent = `${left} left`
        }
    </script>"""
    async with site(html) as here:
        await page.goto(here.url)
        await page.evaluate("window.before = fetch")
        outcome = await execute(page, "click", ref="x")
        assert outcome["changed"] == ['+ text "3 left"', '- text "Unknown"']
        assert await page.evaluate("fetch === before")


async def test_an_answer_of_which_only_the_head_has_come_is_waited_for(page: Page):
    html = """<button id=x>Check</button><p id=out>Unknown</p><script nonce=a>
        const later = n => n ? requestAnimationFrame(() => later(n - 1)) : fetch("/go")
        x.onclick = async () => {
            const body = (await fetch("/slow")).json()
            later(20)
            out.textContent = `${(await body).left} left`
        }
    </script>"""
    async with site(html) as here:
        await page.goto(here.url)
        await page.evaluate("void (window.before = Response.prototype.json)")
        outcome = await execute(page, "click", ref="x")
        assert outcome["changed"] == ['+ text "3 left"', '- text "Unknown"']
        assert await page.evaluate("Response.prototype.json === before")


async def test_what_comes_in_steps_is_waited_for(page: Page):
    html = """<button id=x>Go</button><p id=out>0</p><script>
        let step = 0
        const tick = () => { out.textContent = ++step; if (step < 6) setTimeout(tick, 25) }
        x.onclick = tick
    </script>"""
    await load(page, html)
    assert (await execute(page, "click", ref="x"))["changed"] == ['+ text "6"', '- text "0"']


async def test_a_page_that_never_rests_is_waited_for_two_seconds(page: Page):
    html = """<button id=x>Go</button><p id=out></p><script>
        setInterval(() => { out.textContent = Math.random() }, 10)
    </script>"""
    await load(page, html)
    start = "const start = performance.now()"

    async def is_told_in_time() -> bool:
        took = await page.evaluate(
            f"async () => {{ {start}; await ({EXECUTE_ALL})(x); return performance.now() - start }}"
        )
        assert took > 1_500
        return took < 10_000

    # Who waits for longer is never told in time. A slow machine is, sooner or later.
    await until(is_told_in_time)


async def test_leaving_the_page_is_an_outcome_too(page: Page):
    async with site("<a id=x href='/orders?token=secret'>Orders</a>") as here:
        await page.goto(here.url)
        async with page.expect_navigation():
            keep = "([outcome]) => sessionStorage.setItem('outcome', JSON.stringify(outcome))"
            await page.evaluate(f"() => {{ ({EXECUTE_ALL})(x).then({keep}) }}")
        outcome = await page.evaluate("JSON.parse(sessionStorage.getItem('outcome'))")
        assert outcome == {
            "ok": True,
            "did": 'clicked link "Orders"',
            "changed": [f"the page is left for {here.url}/orders"],
        }


@pytest.mark.parametrize("address", ["mailto:ada@example.com?subject=Hello", "tel:+49123", "sms:+49123"])
async def test_a_link_for_another_program_does_not_leave_the_page(page: Page, address: str):
    async with site(f"<a id=x href='{address}'>Write to us</a>") as here:
        await page.goto(here.url)
        outcome = await execute(page, "click", ref="x")
        program = address.partition(":")[0]
        assert outcome == {
            "ok": True,
            "did": 'clicked link "Write to us"',
            "changed": [f"it is for another program ({program}:), which the browser may have opened"],
        }


BROKEN = {
    "timers": "window.setTimeout = () => 0",
    "frames": "window.requestAnimationFrame = () => 0",
    "throwing timers": "window.setTimeout = window.requestAnimationFrame = () => { throw new Error('no') }",
    "clocks": "Performance.prototype.now = performance.now = Date.now = () => 0",
    "observers": "window.MutationObserver = class { observe() { throw new Error('no') } }",
    "promises": "window.Promise = function () { throw new Error('no') }",
    "no promises": "window.Promise = undefined",
    "races": "Promise.race = () => new Promise(() => {}); Promise.resolve = () => ({ then() {} })",
    "then": "Promise.prototype.then = () => { throw new Error('no') }",
    "requests": "window.fetch = () => 5",
}
# Without a promise of the page's: it may be one of those that never come.
CLICKED = """() => {
  window.told = null
  const automation = PolluxAutomation.createAutomation(document)
  const call = { id: "1", name: "click", args: { ref: automation.refs.know(document.querySelector("#x")).ref } };
  (async () => { told = await automation.execute(call) })()
}"""


@pytest.mark.parametrize("is_early", [True, False], ids=["before us", "after us"])
@pytest.mark.parametrize("broken", BROKEN)
async def test_what_a_page_broke_keeps_nobody_waiting(chromium: Browser, broken: str, is_early: bool):
    page = await (await chromium.new_context()).new_page()
    ours, theirs = bundle("automation").read_text(), f"{BROKEN[broken]}; 0"
    await page.set_content("<button id=x>Go</button><p id=out>0</p>")
    for script in (theirs, ours) if is_early else (ours, theirs):
        await page.evaluate(script)
    await page.evaluate("() => { x.onclick = () => { fetch('data:,'); out.textContent = '1' } }")
    await page.evaluate(CLICKED)
    # Nor by a wait of the page's own.
    told: object = await until(lambda: page.evaluate("told"))
    await page.context.close()
    assert told == {"ok": True, "did": 'clicked button "Go"', "changed": ['+ text "1"', '- text "0"']}


async def test_a_page_that_draws_its_other_pages_itself_is_not_left(page: Page):
    html = """<a id=x href=/orders>Orders</a><h1 id=out>Shop</h1><script nonce=a>
        const handler = async () => { out.textContent = "Orders" }
        navigation.addEventListener("navigate", event => event.intercept({handler}))
    </script>"""
    async with site(html) as here:
        await page.goto(here.url)
        outcome = await execute(page, "click", ref="x")
        assert outcome["changed"] == [
            f"the address is now {here.url}/orders",
            '+ heading 1 "Orders"',
            '- heading 1 "Shop"',
        ]


@pytest.mark.parametrize(
    ("html", "tool", "args", "error"),
    [
        (
            "<input id=x aria-label=Code><script>x.oninput = () => { x.value = 'no' }</script>",
            "fill",
            {"value": "yes"},
            'filled textbox "Code" with "yes", but it holds "no"',
        ),
        (
            "<input id=x type=checkbox aria-label=Terms><script>x.onclick = event => event.preventDefault()</script>",
            "click",
            {},
            'clicked checkbox "Terms", but it is still not checked',
        ),
        (
            "<input id=x type=checkbox aria-label=Terms><script>x.onclick = event => event.preventDefault()</script>",
            "fill",
            {"value": "true"},
            'filled checkbox "Terms" with "true", but it is still not checked',
        ),
        (
            "<select id=x aria-label=Size><option>S<option>M</select>"
            "<script>x.onchange = () => setTimeout(() => { x.value = 'S' })</script>",
            "select",
            {"value": "M"},
            'selected "M" in combobox "Size", but selected is "S"',
        ),
    ],
)
async def test_what_did_not_come_true_is_not_called_done(
    page: Page, html: str, tool: str, args: dict[str, str], error: str
):
    await load(page, html)
    assert await execute(page, tool, ref="x", **args) == {"ok": False, "error": error}


async def test_a_dialog_that_opens_is_told_first(page: Page):
    html = """<button id=x>Delete</button><p>Much text</p>
        <dialog id=d aria-label="Are you sure?"><button>Yes</button></dialog>
        <script>x.onclick = () => d.showModal()</script>"""
    await load(page, html)
    changed = (await execute(page, "click", ref="x"))["changed"]
    assert changed[0] == '+ dialog "Are you sure?"'
    assert any('button "Yes"' in line for line in changed)


async def test_at_most_ten_lines_tell_what_changed(page: Page):
    html = """<button id=x>More</button><div id=out></div><script>
        x.onclick = () => {
            for (let n = 0; n < 50; n++) {
                const item = document.createElement("p")
                item.append(`Item ${n} ${"x".repeat(300)}`)
                out.append(item)
            }
        }
    </script>"""
    await load(page, html)
    changed = (await execute(page, "click", ref="x"))["changed"]
    assert len(changed) == 10
    assert "41 more changes" in changed[-1]
    assert max(map(len, changed)) <= 160


async def test_a_list_that_is_drawn_anew_and_says_the_same_did_not_change(page: Page):
    html = """<button id=x>Again</button><ul id=out></ul><template id=row><li><button></button></li></template><script>
        const drawn = text => {
            const item = row.content.cloneNode(true)
            item.querySelector("button").textContent = `Open ${text}`
            return item
        }
        x.onclick = () => out.replaceChildren(drawn("a"), drawn("b"))
        x.onclick()
    </script>"""
    await load(page, html)
    await execute(page, "read")
    assert (await execute(page, "click", ref="x"))["changed"] == []


async def test_scrolling_says_where_one_is(page: Page):
    await load(page, "<div style='height: 5000px'>Tall</div><button id=x>Last</button>")
    assert (await execute(page, "scroll", to="bottom"))["did"] == "scrolled bottom, now at the bottom"
    assert (await execute(page, "scroll", to="down"))["did"] == "nothing moved: now at the bottom"
    assert (await execute(page, "scroll", to="top"))["did"] == "scrolled top, now at the top"
    assert (await execute(page, "scroll", ref="x"))["did"] == 'brought into view: button "Last"'
    assert await page.evaluate("x.getBoundingClientRect().bottom <= innerHeight")


async def test_two_calls_at_once_are_done_one_after_the_other(page: Page):
    html = """<button id=x>One</button><button id=y>Two</button><script>
        window.seen = []
        for (const button of [x, y])
            for (const kind of ["pointerdown", "click"])
                button.addEventListener(kind, () => seen.push(`${kind} ${button.id}`))
        x.addEventListener("click", () => fetch("data:,").then(() => seen.push("loaded")))
    </script>"""
    await load(page, html)
    await page.evaluate(f"() => ({EXECUTE_ALL})(x, y)")
    assert await page.evaluate("seen") == ["pointerdown x", "click x", "loaded", "pointerdown y", "click y"]


HOSTILE = """
Object.defineProperty(HTMLInputElement.prototype, "value", {get() { return "stolen" }, set() {}, configurable: true})
EventTarget.prototype.dispatchEvent = () => { throw new Error("no events here") }
class Mine { constructor() { this.type = "mine" } }
window.Event = window.MouseEvent = window.PointerEvent = window.KeyboardEvent = Mine
Array.prototype.toJSON = () => "no"
HTMLFormElement.prototype.requestSubmit = () => {}
"""


async def test_a_page_that_replaced_the_browsers_own_functions_is_driven_all_the_same(page: Page):
    html = f"""<form><input id=x name=requestSubmit aria-label=Name><input type=hidden name=elements></form>
    <button id=y>Go</button><script>
        window.log = []; x.addEventListener("input", e => log.push(`input ${{e.inputType}}`))
        document.forms[0].addEventListener("submit", e => {{ e.preventDefault(); log.push("submit") }})
        y.addEventListener("click", e => log.push(`click ${{e.detail}}`))
        window.real = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value").get
    </script><script>{HOSTILE}</script>"""
    await load(page, html)
    outcomes = [
        await execute(page, "fill", ref="x", value="Ada"),
        await execute(page, "press", key="Enter"),
        await execute(page, "click", ref="y"),
    ]
    assert [outcome["ok"] for outcome in outcomes] == [True, True, True], outcomes
    assert await page.evaluate("delete Array.prototype.toJSON && real.call(x)") == "Ada"
    assert await page.evaluate("log") == ["input insertText", "submit", "click 1"]


async def test_a_strict_policy_is_kept_and_the_console_stays_quiet(chromium: Browser):
    html = "<input id=x aria-label=Name><button id=y>Go</button><div id=z contenteditable aria-label=Notes></div>"
    async with site(html, policy=STRICT) as here:
        page = await chromium.new_page()
        said: list[str] = []
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        await page.goto(here.url)
        for tool, args in (
            ("fill", {"ref": "x", "value": "Ada"}),
            ("fill", {"ref": "z", "value": "Words"}),
            ("click", {"ref": "y"}),
            ("press", {"ref": "x", "key": "End"}),
        ):
            assert (await execute(page, tool, **args))["ok"]
        assert await page.input_value("#x") == "Ada"
        assert [text for text in said if "favicon" not in text] == []
        assert await page.locator("iframe").count() == 0
        await page.close()
