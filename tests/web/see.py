"""Pages to look at, and what the automation and the browser itself say about them."""

import asyncio
import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast
from weakref import WeakKeyDictionary

from playwright.async_api import Browser, CDPSession, ConsoleMessage, Error, Page
from tests.web.bundles import bundle

PAGES = Path(__file__).parent / "pages/see"
BEGIN = "window.automation = PolluxAutomation.createAutomation(document)"
_pages = WeakKeyDictionary[Browser, Page]()
NOT_ELEMENTS = {"StaticText", "InlineTextBox", "RootWebArea", "generic", "none", "LineBreak", "ListMarker"}
# What the browser itself puts into a field (the parts of a date, say) is out of reach of any script.
ASK = """function () {
  const root = this.getRootNode();
  if (this.nodeType !== 1 || (root.host && root.host.shadowRoot !== root)) return null;
  return [seeing.nameOf(this), this.outerHTML.slice(0, 120)];
}"""


@dataclass(frozen=True)
class Named:
    """One element: what Chromium calls it, what we do, and how it begins."""

    theirs: str
    ours: str
    markup: str


@asynccontextmanager
async def shown(chromium: Browser, html: str, *, script: str = "automation") -> AsyncGenerator[Page]:
    """A page with this content and our script in it; whatever it logs or throws fails the test."""
    # One for all that are shown: to begin anew in it takes a fraction of what a new one takes.
    if chromium not in _pages:
        _pages[chromium] = await chromium.new_page()
    page = _pages[chromium]
    await page.goto("about:blank")
    trouble: list[str] = []

    def threw(error: Error) -> None:
        trouble.append(str(error))

    def logged(message: ConsoleMessage) -> None:
        trouble.append(message.text)

    page.on("pageerror", threw)
    page.on("console", logged)
    try:
        await page.set_content(html)
        await page.add_script_tag(path=bundle(script))
        if script == "automation":
            await page.evaluate(BEGIN)
        yield page
        assert trouble == [], trouble
    finally:
        page.remove_listener("pageerror", threw)
        page.remove_listener("console", logged)


async def state(page: Page) -> dict[str, Any]:
    return await page.evaluate("automation.getPageState()")


async def outline(page: Page) -> list[str]:
    return (await state(page))["outline"]


async def named(page: Page) -> list[Named]:
    """Every element for which Chromium has something to say, with both names."""
    devtools = await page.context.new_cdp_session(page)
    await _send(devtools, "Accessibility.enable")
    tree = await _send(devtools, "Accessibility.getFullAXTree")
    nodes: list[dict[str, Any]] = tree["nodes"]
    told = [node for node in nodes if not node.get("ignored") and node["role"]["value"] not in NOT_ELEMENTS]
    answers = await asyncio.gather(*(_ours(devtools, node["backendDOMNodeId"]) for node in told))
    await devtools.detach()
    return [
        Named(_folded(node.get("name", {}).get("value", "")), answer[0], _folded(answer[1]))
        for node, answer in zip(told, answers, strict=True)
        if answer
    ]


@asynccontextmanager
async def counted(page: Page) -> AsyncGenerator[CDPSession]:
    """Whoever holds this can ask what the page has `spent`."""
    clock = await page.context.new_cdp_session(page)
    await _send(clock, "Performance.enable", timeDomain="threadTicks")
    try:
        yield clock
    finally:
        await clock.detach()


async def spent(clock: CDPSession) -> float:
    """Seconds of the processor's time that the page's own thread has had. The machine may be busy with other things."""
    answer = await _send(clock, "Performance.getMetrics")
    return next(each["value"] for each in answer["metrics"] if each["name"] == "ThreadTime")


async def _ours(devtools: CDPSession, node: int) -> list[str] | None:
    found = await _send(devtools, "DOM.resolveNode", backendNodeId=node)
    which = found["object"]["objectId"]
    answer = await _send(
        devtools, "Runtime.callFunctionOn", objectId=which, functionDeclaration=ASK, returnByValue=True
    )
    return answer["result"].get("value")


async def _send(devtools: CDPSession, method: str, **params: object) -> dict[str, Any]:
    answer = await devtools.send(method, params)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    return cast("dict[str, Any]", answer)


def _folded(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()
