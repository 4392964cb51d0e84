"""A form answers with its fields where they are called like its properties, and so does a document."""

import re
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page
from tests.http.browsing import needs_chromium
from tests.web.act_scenes import execute, load
from tests.web.bundles import WEB, needs_web
from tests.web.shared_browser import in_browser

pytestmark = [needs_chromium, needs_web, pytest.mark.slow]

SOURCES = WEB / "packages/automation/src"
BEGIN = "window.automation = PolluxAutomation.createAutomation(document)"
# Every property that a form has, itself or from what it is, and some that others have.
PROPERTIES = """() => {
  const names = new Set();
  for (let at = document.createElement("form"); at; at = Object.getPrototypeOf(at))
    for (const name of Object.getOwnPropertyNames(at)) names.add(name);
  const others = ["labels", "value", "type", "control", "form", "checked", "options", "open", "select", "href", "host"];
  for (const name of others) names.add(name);
  return [...names];
}"""
OF_DOCUMENT = """() => {
  const names = new Set();
  for (let at = Document.prototype; at; at = Object.getPrototypeOf(at))
    for (const name of Object.getOwnPropertyNames(at)) names.add(name);
  return [...names];
}"""
# What stands at the end of these is asked of an element or a document itself.
ASKED = re.compile(
    r"\.(localName|tagName|nodeType|getAttribute|hasAttribute|attributes|children|childNodes|firstChild|nextSibling"
    r"|firstElementChild|parentElement|parentNode|ownerDocument|isConnected|getRootNode|shadowRoot|assignedSlot"
    r"|querySelector(All)?|closest|matches|compareDocumentPosition|contains|textContent|innerText|getBoundingClientRect"
    r"|getClientRects|checkVisibility|isContentEditable|classList|className|scrollTop|scrollIntoView|cloneNode|tabIndex"
    r"|focus|blur|defaultView|activeElement|elementsFromPoint|getElementById|styleSheets|createElement|documentElement"
    r"|body|designMode|execCommand)\b"
)
# The recorder of listeners is a script of its own, and asks only whether something is a node at all.
APART = ("dom.ts", "listeners.ts")


@pytest_asyncio.fixture(loop_scope="session", scope="module")
async def page(chromium: Browser) -> AsyncGenerator[Page]:
    page = await chromium.new_page()
    yield page
    await page.close()


def form(names: list[str]) -> str:
    """In a cell, whose name is made of what it holds, and in a label of somebody else's."""
    fields = "".join(
        f'<p><label for=f{at}>Field {at}</label><input id=f{at} name="{name}" value=v{at}></p>'
        for at, name in enumerate(names)
    )
    return f"""<title>Trip</title><h1>Where to</h1>
      <table><tr><th>Trip</th><td>
      <form id=trip aria-label=Trip onsubmit="window.sent = (window.sent ?? 0) + 1; return false">
        <button id=go>Go</button>{fields}<select aria-label=Class><option>First<option>Second</select>
      </form></td></tr></table><button id=y aria-labelledby=trip>Book</button>"""


async def told(page: Page, html: str) -> dict[str, Any]:
    await load(page, html)
    await page.evaluate(BEGIN)
    state = await page.evaluate("automation.getPageState()")
    return {**state, "whole": (await execute(page, "read"))["value"]}


@in_browser
async def test_a_form_is_seen_the_same_whatever_its_fields_are_called(page: Page):
    names: list[str] = await page.evaluate(PROPERTIES)
    assert len(names) > 300 and {"localName", "getAttribute", "nodeType", "labels", "elements"} <= set(names)
    harmless = await told(page, form([f"harmless{at}" for at in range(len(names))]))
    assert any('form "Trip"' in line for line in harmless["outline"])
    assert await told(page, form(names)) == harmless


@in_browser
async def test_a_form_is_used_whatever_its_fields_are_called(page: Page):
    await load(page, form(await page.evaluate(PROPERTIES)))
    calls: list[dict[str, str]] = [
        {"tool": "click", "ref": "go"},
        {"tool": "fill", "ref": "f3", "value": "Paris"},
        {"tool": "press", "ref": "f3", "key": "Tab"},
        {"tool": "press", "ref": "f3", "key": "Enter"},
        {"tool": "scroll", "ref": "f9"},
        {"tool": "scroll", "ref": "trip", "to": "bottom"},
        {"tool": "click", "ref": "y"},
    ]
    for call in calls:
        outcome = await execute(page, call.pop("tool"), **call)
        assert outcome["ok"], (call, outcome)
    assert await page.evaluate("[window.sent, f3.value]") == [2, "Paris"]


@in_browser
async def test_a_document_is_seen_the_same_whatever_its_pictures_are_called(page: Page):
    names: list[str] = await page.evaluate(OF_DOCUMENT)
    assert {"body", "querySelector", "defaultView", "createElement"} <= set(names)
    pictures = "".join(f'<img alt="" name="{name}">' for name in names)
    plain = await told(page, form(["a", "b"]) + pictures.replace("name=", "class="))
    assert await told(page, form(["a", "b"]) + pictures) == plain
    await load(page, form(["a", "b"]) + pictures)
    assert (await execute(page, "click", ref="go"))["ok"]
    assert (await execute(page, "press", key="Tab"))["ok"]


def test_nobody_but_one_file_asks_an_element_itself():
    sources = [path for path in SOURCES.rglob("*.ts") if path.name not in APART]
    assert len(sources) > 40
    assert {path.name: found for path in sources if (found := asked(path))} == {}


def asked(path: Path) -> list[str]:
    """What is left where comments and texts are taken away."""
    code = re.sub(r'/\*.*?\*/|//[^\n]*|`[^`]*`|"[^"\n]*"', "", path.read_text(), flags=re.DOTALL)
    return [found[0] for found in ASKED.finditer(code)]
