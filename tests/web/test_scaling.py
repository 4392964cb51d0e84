"""A page of four times the elements takes about four times as long to see."""

from statistics import median

import pytest
from playwright.async_api import Browser, CDPSession, Page
from tests.http.browsing import needs_chromium
from tests.web.bundles import needs_web
from tests.web.see import counted, shown, spent
from tests.web.shared_browser import in_browser

pytestmark = [needs_chromium, needs_web, pytest.mark.slow, in_browser]

SMALL, LARGE = 2_000, 8_000
MOST = 6
ROUNDS = 5

# Markup for each number, and of how many elements: in ways that once made a look quadratic.
KINDS = {
    "fields without labels": ("<p><input value=${n}></p>", 2),
    "fields with labels": ("<p><label for=f${n}>Field ${n}</label><input id=f${n}></p>", 3),
    "rows": ("<table><tr><td>Row ${n}</td><td><input></td><td><button>Edit</button></td></tr></table>", 8),
    "cards": ("<div class=card><h3>Mug ${n}</h3><p>Blue</p><button>Add</button></div>", 4),
    "namesakes": ("<span>Word</span><button>Add</button>", 2),
    "secrets": ("<p><input type=password value=secret${n}></p>", 2),
    "boxes": ("<label><input type=checkbox style='display: none'>Box ${n}</label>", 2),
}
OFTEN = ("rows", "fields with labels")
"""Looked at whenever the tests run; the others take longer than they tell."""


@pytest.mark.parametrize(
    "kind", [kind if kind in OFTEN else pytest.param(kind, marks=pytest.mark.soak) for kind in KINDS]
)
async def test_four_times_the_elements_take_about_four_times_as_long(chromium: Browser, kind: str):
    markup, elements = KINDS[kind]
    async with shown(chromium, "<!doctype html>") as page, counted(page) as clock:
        rounds = [
            [await looked(page, clock, markup, size // elements) for size in (SMALL, LARGE)] for _ in range(ROUNDS)
        ]
    ratio = median(large / small for small, large in rounds)
    print(f"\n{kind}: {ratio:.1f} ×")
    assert ratio < MOST


async def looked(page: Page, clock: CDPSession, markup: str, count: int) -> float:
    """What one look at such a page takes, of the processor's time: the machine may be busy with other things."""
    fill = f"(count) => {{ document.body.innerHTML = Array.from({{ length: count }}, (_, n) => `{markup}`).join('') }}"
    await page.evaluate(fill, count)
    await page.evaluate("automation.getPageState()")
    # Makes the browser forget what it found out about labels.
    await page.evaluate("() => { document.body.append(document.createElement('label')) }")
    before = await spent(clock)
    await page.evaluate("() => { automation.getPageState() }")
    return await spent(clock) - before
