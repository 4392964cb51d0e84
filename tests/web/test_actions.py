"""What the tools do in a page is what a visitor's own hand would have done."""

import asyncio
import re
from collections.abc import AsyncGenerator
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page
from tests.http.browsing import needs_chromium
from tests.web.act_cases import CASES, Case, chains, leave
from tests.web.act_scenes import PAGES, execute, load
from tests.web.bundles import needs_web
from tests.web.shared_browser import in_browser

pytestmark = [needs_chromium, needs_web, pytest.mark.slow]

MATRIX = (PAGES / "matrix.html").read_text()


AT_ONCE = 3


@pytest_asyncio.fixture(loop_scope="session", scope="module")
async def pairs(chromium: Browser) -> AsyncGenerator[asyncio.Queue[tuple[Page, Page]]]:
    """Pages to work on, two for each case. Each in a window of its own: what lies behind another draws no frames."""
    free = asyncio.Queue[tuple[Page, Page]]()
    for _ in range(AT_ONCE):
        free.put_nowait((await chromium.new_page(), await chromium.new_page()))
    yield free
    for _ in range(AT_ONCE):
        for page in await free.get():
            await page.close()


async def ours(page: Page, case: Case) -> dict[str, Any]:
    for call in case.calls:
        args = dict(call)
        outcome = await execute(page, args.pop("tool"), **args)
        assert outcome["ok"], (case.name, outcome)
    return await ended(page)


async def trusted(page: Page, case: Case) -> dict[str, Any]:
    for act in case.trusted:
        await act(page)
    return await ended(page)


async def ended(page: Page) -> dict[str, Any]:
    """What became of the page and what it heard, once the field is left. The next case begins with nothing heard."""
    # Some events come with the next frame only: `toggle`, `close`.
    await page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    await leave(page)
    return await page.evaluate("({...state(), events: events.splice(0)})")


def kinds(events: list[str], *, is_first: bool) -> list[str]:
    """The events in order; a key pressed many times counts once. The real pointer says so whenever something else
    comes up below it, so what it is over counts only until the first click in a page."""
    first = next((at for at, event in enumerate(events) if event.startswith("click")), len(events)) if is_first else 0
    later = [event for event in events[first:] if not re.match(r"(pointer|mouse)(over|enter|move)", event)]
    told = "\n".join(events[:first] + later) + "\n"
    while (once := re.sub(r"((?:key\w+ .*\n|beforeinput .*\n|input .*\n)+?)\1+", r"\1", told)) != told:
        told = once
    return told.splitlines()


def different(got: dict[str, Any], wanted: dict[str, Any], case: Case, *, is_first: bool) -> dict[str, Any]:
    """What is not the same, by its name: ours first."""
    for told in (got, wanted):
        told["events"] = kinds(told["events"], is_first=is_first)
    names = [name for name in wanted if name != "events" or case.has_same_events]
    return {name: (got[name], wanted[name]) for name in names if got[name] != wanted[name]}


@in_browser
@pytest.mark.parametrize("tool", ["click", "fill", "select", "press"])
async def test_a_tool_leaves_the_page_as_trusted_input_does(pairs: asyncio.Queue[tuple[Page, Page]], tool: str):
    problems: dict[str, Any] = {}

    async def tried(chain: list[Case]) -> None:
        pair = await pairs.get()
        try:
            await asyncio.gather(*(load(page, MATRIX) for page in pair))
            await pair[1].mouse.move(0, 0)
            await pair[1].evaluate("events.length = 0")
            for case in chain:
                got, wanted = await asyncio.gather(ours(pair[0], case), trusted(pair[1], case))
                if found := different(got, wanted, case, is_first=case is chain[0]):
                    problems[case.name] = found
        finally:
            pairs.put_nowait(pair)

    await asyncio.gather(*map(tried, chains([case for case in CASES if case.calls[0]["tool"] == tool])))
    assert problems == {}


def test_the_matrix_has_what_was_promised():
    assert len(CASES) >= 40
    assert sum(case.has_same_events for case in CASES) >= 40
