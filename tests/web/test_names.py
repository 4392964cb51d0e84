"""What things are called: held against Chromium's own opinion, and against what must never be part of a name."""

import pytest
from playwright.async_api import Browser
from tests.http.browsing import needs_chromium
from tests.web.bundles import needs_web
from tests.web.see import PAGES, Named, named, shown
from tests.web.shared_browser import in_browser

pytestmark = [needs_chromium, needs_web, pytest.mark.slow, in_browser]

OF_NAMES = ("aria", "catalogue", "forms", "media", "nested", "tables")


async def test_names_are_those_that_chromium_computes(chromium: Browser) -> None:
    seen: list[Named] = []
    for name in OF_NAMES:
        async with shown(chromium, (PAGES / f"{name}.html").read_text(), script="seeing") as page:
            seen += await named(page)
    differing = [each for each in seen if each.ours != each.theirs]
    print(f"\n{len(seen) - len(differing)} of {len(seen)} names as Chromium computes them")
    for each in differing:
        print(f"  {each.theirs!r} is {each.ours!r}: {each.markup}")
    assert len(seen) >= 500
    assert len(differing) <= 0.05 * len(seen)


@pytest.mark.parametrize(
    ("markup", "name"),
    [
        ("<input id=x placeholder='Find mugs'>", "Find mugs"),
        ("<div id=x onclick='0'>Add <b>one</b></div>", "Add one"),
        ("<div id=x onclick='0'>Add <b hidden>never</b></div>", "Add"),
        ("<button id=x>Two\n  lines</button>", "Two lines"),
        ("<button id=x>a\u200bb\u202ec</button>", "abc"),
        ("<a id=x href=# title=Titled></a>", "Titled"),
        ("<p id=x>Just text</p>", ""),
    ],
)
async def test_a_name_is_on_one_line_and_found_where_there_is_one(chromium: Browser, markup: str, name: str) -> None:
    async with shown(chromium, markup, script="seeing") as page:
        assert await page.evaluate("seeing.nameOf(x)") == name


async def test_a_long_name_is_cut(chromium: Browser) -> None:
    async with shown(chromium, f"<button id=x>{'word ' * 100}</button>", script="seeing") as page:
        name = await page.evaluate("seeing.nameOf(x)")
        assert len(name) <= 120
        assert name.endswith("…")


async def test_a_name_never_quotes_a_private_field(chromium: Browser) -> None:
    html = """<div id=words>Pay with <input autocomplete=cc-number value=4111111111111111></div>
      <button id=x aria-labelledby=words>Pay</button>
      <label>Code <input type=password value=hunter22> and <input type=checkbox id=y></label>"""
    async with shown(chromium, html, script="seeing") as page:
        assert "4111" not in await page.evaluate("seeing.nameOf(x)")
        assert "hunter22" not in await page.evaluate("seeing.nameOf(y)")


async def test_an_element_of_a_frame_that_is_gone_has_no_name(chromium: Browser) -> None:
    async with shown(chromium, "<iframe id=f srcdoc='<button>In</button>'></iframe>", script="seeing") as page:
        await page.frames[1].wait_for_selector("button")
        read = """() => {
          const button = f.contentDocument.querySelector("button");
          const before = seeing.nameOf(button);
          f.remove();
          return [before, seeing.nameOf(button)];
        }"""
        assert await page.evaluate(read) == ["In", ""]
