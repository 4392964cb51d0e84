"""What lies on top, in drawings and in frames that are scaled or turned: found where a pointer would find it."""

import pytest
from playwright.async_api import Browser, Page
from tests.http.browsing import needs_chromium
from tests.web.act_scenes import execute
from tests.web.bundles import needs_web
from tests.web.see import outline, shown
from tests.web.shared_browser import in_browser

pytestmark = [needs_chromium, needs_web, pytest.mark.slow, in_browser]

INSIDE = """<body style="margin: 0"><div style="height: 200px"></div>
  <button style="width: 60px; height: 20px" onclick="parent.pressed = 1">Go</button>"""
MODAL = "role=dialog aria-modal=true"
CLICK = "async (ref) => [await automation.execute({ id: '1', name: 'click', args: { ref } }), window.pressed ?? 0]"


async def pressed(page: Page) -> tuple[str, int]:
    """What came of a click on what is called Go: why it was refused, and whether the page noticed."""
    (line,) = (line for line in await outline(page) if '"Go"' in line)
    outcome, count = await page.evaluate(CLICK, line.split()[0])
    return outcome.get("error", ""), count


@pytest.mark.parametrize(
    "style",
    [
        "transform: scale(.5); transform-origin: 0 0; border: 5px solid",
        "transform: scale(2) translate(30px, 40px); transform-origin: 0 0; padding: 20px",
        "transform: rotate(90deg); border: 5px solid; padding: 20px",
        "rotate: 30deg; scale: .7 .5; transform: skewX(20deg)",
        "zoom: .5; border: 5px solid",
        "zoom: 1.5",
        "transform: perspective(500px) rotateY(30deg)",
        "padding: 60px",
    ],
)
async def test_a_control_in_a_frame_is_reached_however_the_frame_is_drawn(chromium: Browser, style: str):
    frame = f"<iframe style='width: 300px; height: 300px; {style}' srcdoc='{INSIDE}'></iframe>"
    async with shown(chromium, f"<!doctype html><div style='padding: 200px; rotate: 10deg'>{frame}</div>") as page:
        await page.frames[1].wait_for_selector("button")
        assert await pressed(page) == ("", 1)


async def test_a_part_of_a_frame_that_is_out_of_view_is_not_called_covered(chromium: Browser):
    frame = f"<iframe style='position: absolute; top: -500px; height: 300px' srcdoc='{INSIDE}'></iframe>"
    async with shown(chromium, f"<!doctype html>{frame}") as page:
        await page.frames[1].wait_for_selector("button")
        assert await pressed(page) == (
            "e1: it cannot be brought into view. Scroll to it, or open what it lies in",
            0,
        )


async def test_what_lies_over_a_scaled_frame_is_found_where_it_is(chromium: Browser):
    frame = f"<iframe style='width: 300px; height: 300px; scale: .5; transform-origin: 0 0' srcdoc='{INSIDE}'></iframe>"
    # Half of it in the frame: over the button as it is drawn, or over where it would be without the scale.
    veil = "<div role=alert style='position: fixed; left: 0; top: {top}px; width: 200px; height: 40px'>Veil</div>"
    for top, error in ((95, "e1: it is covered by alert. Deal with that first"), (205, "")):
        async with shown(chromium, f"<!doctype html><body style='margin: 0'>{frame}{veil.format(top=top)}") as page:
            await page.frames[1].wait_for_selector("button")
            assert await pressed(page) == (error, 0 if error else 1)


@pytest.mark.parametrize(
    "link",
    [
        "<a href='#' onclick='window.pressed = 1'><text y=20>Go</text></a>",
        "<title>Map</title>"
        "<a xlink:href='#' onclick='window.pressed = 1'><title>Go</title><rect width=50 height=50 /></a>",
        "<text y=9>Words</text><g><a href='#' onclick='window.pressed = 1' aria-label=Go>"
        "<path d='M0 0 L200 200' stroke=black stroke-width=4 fill=none /></a></g>",
    ],
)
async def test_a_link_in_a_drawing_is_seen_and_pressed(chromium: Browser, link: str):
    async with shown(chromium, f"<svg width=200 height=200>{link}</svg>") as page:
        assert await pressed(page) == ("", 1)
        assert "Words" not in str(await outline(page))


@pytest.mark.parametrize(
    ("html", "script"),
    [
        ("<dialog id=a><button>Top</button></dialog><dialog id=b><button>Below</button></dialog>", "b, a"),
        ("<dialog id=b><button>Below</button></dialog><dialog id=a><button>Top</button></dialog>", "b, a"),
        (
            f"<div {MODAL} style='position: fixed; inset: 50px; z-index: 9'><button>Top</button></div>"
            f"<div {MODAL} style='position: fixed; inset: 40px; z-index: 1'><button>Below</button></div>",
            "",
        ),
        (
            "<dialog id=a><button>Top</button></dialog>"
            f"<div {MODAL} style='position: fixed; inset: 0; z-index: 9'><button>Below</button></div>",
            "a",
        ),
    ],
)
async def test_of_several_dialogs_the_one_on_top_is_told(chromium: Browser, html: str, script: str):
    async with shown(chromium, html) as page:
        await page.evaluate(f"for (const each of [{script}]) each.showModal()")
        told = "\n".join(await outline(page))
    assert 'button "Top"' in told
    assert "Below" not in told


async def test_escape_closes_the_dialog_on_top(chromium: Browser):
    async with shown(chromium, "<dialog id=a><button id=x>A</button></dialog><dialog id=b><p>B</dialog>") as page:
        await page.evaluate("b.showModal(); a.showModal()")
        assert (await execute(page, "press", key="Escape"))["ok"]
        assert await page.evaluate("[a.open, b.open]") == [False, True]
