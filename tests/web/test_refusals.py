"""What the tools will not do in a page, and what they say instead. Nothing has happened then."""

from collections.abc import AsyncGenerator

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page
from tests.http.browsing import needs_chromium
from tests.web.act_scenes import execute, load
from tests.web.bundles import needs_web
from tests.web.shared_browser import in_browser

pytestmark = [needs_chromium, needs_web, pytest.mark.slow, in_browser]

# What Playwright evaluates counts as the visitor's own doing, which opens choosers of files.
SPIES = """<script>
Object.defineProperty(navigator, "userActivation", {value: {isActive: false}, configurable: true})
window.seen = []
for (const kind of ["pointerdown", "mousedown", "click", "keydown", "beforeinput", "input", "change"])
    document.addEventListener(kind, event => seen.push(`${kind} ${event.target.id}`), true)
</script>"""


@pytest_asyncio.fixture(loop_scope="session", scope="module")
async def page(chromium: Browser) -> AsyncGenerator[Page]:
    page = await chromium.new_page()
    yield page
    await page.close()


async def refused(page: Page, html: str, tool: str, /, **args: object) -> str:
    """Why it was not done; and nothing was."""
    await load(page, SPIES + html)
    outcome = await execute(page, tool, **args)
    assert not outcome["ok"], outcome
    assert await page.evaluate("seen") == []
    return outcome["error"]


@pytest.mark.parametrize(
    ("html", "reason"),
    [
        ("<button id=x disabled>Buy</button>", "it is disabled"),
        ("<fieldset disabled><button id=x>Buy</button></fieldset>", "it is disabled"),
        ("<button id=x aria-disabled=true>Buy</button>", "it is disabled"),
        ("<section inert aria-label=Shop><button id=x>Buy</button></section>", 'the region "Shop" around it is inert'),
        ("<button id=x style='visibility: hidden'>Buy</button>", "it is hidden"),
        ("<div hidden><button id=x>Buy</button></div>", "it is hidden"),
        (
            "<button id=x>Buy</button><div role=dialog aria-label=Cookies style='position: fixed; inset: 0'>Yum</div>",
            'it is covered by dialog "Cookies"',
        ),
        (
            "<button id=x>Buy</button><dialog id=d>Wait</dialog><script>d.showModal()</script>",
            "covered by dialog",
        ),
        ("<button id=x style='position: absolute; left: -500px'>Buy</button>", "it cannot be brought into view"),
        ("<button id=x style='pointer-events: none'>Buy</button>", "the page lets no pointer reach it"),
        ("<div style='pointer-events: none'><button id=x>Buy</button></div>", "the page lets no pointer reach it"),
        ("<pollux-chat><button id=x>Send</button></pollux-chat>", "belongs to the chat"),
        ("<input id=x type=file>", "files are chosen by the visitor alone"),
        (
            "<div data-agent-private><input id=x type=checkbox></div>",
            "Use fill with true or false, so that the visitor",
        ),
    ],
)
async def test_what_the_visitor_could_not_click_is_not_clicked(page: Page, html: str, reason: str):
    assert reason in await refused(page, html, "click", ref="x")


@pytest.mark.parametrize(
    ("html", "value", "reason"),
    [
        ("<input id=x readonly>", "a", "it is read-only"),
        ("<input id=x disabled>", "a", "it is disabled"),
        ("<input id=x type=date>", "9 April", "it takes a date such as 2031-04-09, found"),
        ("<input id=x type=date max=2031-01-01>", "2031-04-09", "to 2031-01-01, found"),
        ("<input id=x type=number>", "many", "it takes a number, found"),
        ("<input id=x type=number min=1 max=9>", "10", "it takes a number from 1 to 9, found"),
        ("<input id=x type=range min=0 max=10 step=5>", "7", "in steps of 5, found"),
        ("<input id=x type=color>", "red", "it takes a colour such as #3366cc, found"),
        ("<input id=x maxlength=3>", "four", "it takes at most 3 characters, found 4"),
        ("<input id=x type=checkbox>", "maybe", "takes true or false, found"),
        ("<input id=x type=radio>", "false", "turning on another one"),
        ("<input id=x type=file>", "a.txt", "files are chosen by the visitor alone"),
        ("<select id=x><option>S<option>M</select>", "XL", 'there is no "XL". There is "S", "M"'),
        ("<select id=x><option>S<option disabled>M</select>", "M", '"M" is disabled'),
        ("<button id=x>Buy</button>", "a", "it is no field"),
        ("<div id=x onclick='1'><input><input></div>", "a", "it holds 2 fields: name one of them"),
    ],
)
async def test_what_does_not_fit_a_field_does_not_go_into_it(page: Page, html: str, value: str, reason: str):
    assert reason in await refused(page, html, "fill", ref="x", value=value)


async def test_a_choice_that_two_have_the_name_of_is_nobodys(page: Page):
    html = "<select id=x><option value=1>Tea<option value=2>Tea</select>"
    assert '2 choices are called "Tea"' in await refused(page, html, "select", ref="x", value="Tea")


async def test_a_list_with_one_choice_takes_one(page: Page):
    html = "<select id=x><option>S<option>M</select>"
    assert "it takes one value, found 2" in await refused(page, html, "select", ref="x", values=["S", "M"])


async def test_a_ref_that_is_not_there_is_refused_with_what_is(page: Page):
    await load(page, "<button>Save</button><button>Save as</button>")
    outcome = await execute(page, "click", ref="e99")
    assert not outcome["ok"]
    assert "there is no e99 on this page" in outcome["error"]


async def test_a_control_that_became_another_is_refused_with_the_nearest(page: Page):
    await load(page, "<ul><li>Mug <button id=x>Buy mug</button></li><li>Cup <button id=y>Buy cup</button></li></ul>")
    ref = await page.evaluate(
        "() => { window.automation = PolluxAutomation.createAutomation(document); automation.getPageState();"
        " const ref = automation.refs.know(x).ref; x.textContent = 'Buy cup'; y.textContent = 'Buy mug'; return ref }"
    )
    outcome = await execute(page, "click", ref=ref)
    assert 'is now called "Buy cup"' in outcome["error"]
    assert any("Buy mug" in line for line in outcome["candidates"])


async def test_keys_go_into_a_private_field_only_by_its_name(page: Page):
    await load(page, "<input id=x type=password>")
    await page.focus("#x")
    outcome = await execute(page, "press", key="a")
    assert "Name the field itself, so that the visitor is asked" in outcome["error"]
    assert await page.input_value("#x") == ""
    assert (await execute(page, "press", key="a", ref="x"))["ok"]
    assert await page.input_value("#x") == "a"


@pytest.mark.parametrize("tool", [{"tool": "fill", "value": "a"}, {"tool": "press", "key": "a"}], ids=str)
async def test_a_private_field_is_not_reached_through_what_is_around_it(page: Page, tool: dict[str, str]):
    html = "<div id=x tabindex=0 onfocus='y.focus()' onclick='1'>Secret <input id=y type=password></div>"
    await load(page, html)
    args = dict(tool)
    assert not (await execute(page, args.pop("tool"), ref="x", **args))["ok"]
    assert await page.input_value("#y") == ""


async def test_what_is_private_is_not_told_by_reading_nor_by_filling(page: Page):
    await load(page, "<input id=x type=password value=hunter22 maxlength=20><p>So it is hunter22</p>")
    assert "is private" in (await execute(page, "read", ref="x"))["error"]
    everything = [await execute(page, "read"), await execute(page, "fill", ref="x", value="correct horse")]
    everything.append(await execute(page, "press", ref="x", key="Enter"))
    assert await page.input_value("#x") == "correct horse"
    assert "hunter22" not in str(everything)
    assert "correct horse" not in str(everything)


@pytest.mark.parametrize(
    ("tool", "args", "reason"),
    [
        ("click", {}, "expected `ref` to be a text, found nothing"),
        ("fill", {"ref": "x"}, "expected `value` to be a text, a number, true or false"),
        ("press", {"key": "Hyper"}, "expected one character, Space or one of Backspace, Tab, Enter"),
        ("scroll", {"to": "sideways"}, "expected `to` as one of top, bottom"),
        ("scroll", {}, "expected `ref`, or `to`"),
        ("paint", {}, 'this page has no tool "paint"'),
    ],
)
async def test_a_call_that_makes_no_sense_is_told_what_would(
    page: Page, tool: str, args: dict[str, object], reason: str
):
    assert reason in await refused(page, "<input id=x>", tool, **args)


async def test_what_was_stopped_before_it_began_is_not_done(page: Page):
    await load(page, SPIES + "<button id=x>Buy</button>")
    outcome = await page.evaluate(
        "() => { const it = PolluxAutomation.createAutomation(document);"
        " const call = {id: '1', name: 'click', args: {ref: it.refs.know(x).ref}};"
        " return it.execute(call, AbortSignal.abort()) }"
    )
    assert outcome == {"ok": False, "error": "e1: stopped before anything was done"}
    assert await page.evaluate("seen") == []


STOP = """({ name, args }) => {
    const control = new AbortController()
    window.automation ??= PolluxAutomation.createAutomation(document)
    const { ref } = automation.refs.know(document.getElementById("x"))
    addEventListener("scroll", () => control.abort(), { once: true })
    for (const each of document.querySelectorAll("[role=combobox]"))
        each.addEventListener("click", () => control.abort())
    return automation.execute({ id: "1", name, args: { ref, ...args } }, control.signal)
}"""


@pytest.mark.parametrize(
    ("html", "name", "args"),
    [
        ("<div style='height: 4000px'></div><button id=x>Buy</button>", "click", {}),
        ("<div style='height: 4000px'></div><input id=x aria-label=Mail>", "fill", {"value": "ada"}),
        (
            "<div id=x role=combobox tabindex=0 aria-expanded=true aria-label=Size onclick='l.hidden = false'>S</div>"
            "<div id=l role=listbox hidden><div role=option onclick='seen.push(this.id)' id=done>M</div></div>",
            "select",
            {"value": "M"},
        ),
    ],
)
async def test_what_is_stopped_on_the_way_is_not_done(page: Page, html: str, name: str, args: dict[str, str]):
    await load(page, SPIES + html)
    outcome = await page.evaluate(STOP, {"name": name, "args": args})
    assert not outcome["ok"] and "stopped before it was done" in outcome["error"]
    # A list that was opened stays open; nothing in it was chosen.
    opened = {"click x"} if name == "select" else set[str]()
    assert {"click x", "input x", "click done"} & set(await page.evaluate("seen")) == opened
