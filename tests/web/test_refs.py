"""A ref leads to what was shown, or nowhere: never to something else."""

from typing import Any

import pytest
from playwright.async_api import Browser, Page
from tests.http.browsing import needs_chromium
from tests.web.bundles import bundle, needs_web
from tests.web.see import BEGIN, PAGES, outline, shown
from tests.web.shared_browser import in_browser

pytestmark = [needs_chromium, needs_web, pytest.mark.slow, in_browser]

LIST = """<ul aria-label=Cart>
  <li><b>Blue mug</b> <button>Remove</button></li>
  <li><b>Red mug</b> <button>Remove</button></li>
  <li><b>Plate</b> <button>Remove</button></li>
</ul><button id=pay>Pay</button>"""

ROUNDS = """(rounds) => {
  const told = { wrong: [], led: 0, refused: 0, still: 0, stillRefused: 0 };
  for (let round = 1; round <= rounds; round++) {
    begin(round);
    automation.getPageState();
    const buttons = [...document.querySelectorAll("button")].filter((_, at) => (at + round) % 9 === 0);
    const before = buttons.map((each) => [automation.refs.know(each).ref, each.item]);
    const move = reshuffle();
    for (const [ref, item] of before) {
      const found = automation.refs.find(ref);
      const isThere = [...document.querySelectorAll("button")].some((each) => each.item === item);
      const led = found.known?.element.item ?? item;
      if (led !== item) told.wrong.push([round, move, ref, item, led]);
      found.ok ? told.led++ : told.refused++;
      if (move === "nothing" && isThere) { told.still++; if (!found.ok) told.stillRefused++; }
    }
  }
  return told;
}"""


async def ref_of(page: Page, part: str) -> str:
    return next(line.split()[0] for line in await outline(page) if part in line)


async def find(page: Page, ref: str) -> dict[str, Any]:
    return await page.evaluate(
        """(ref) => {
          const { ok, known, reason, candidates } = automation.refs.find(ref);
          const tell = ({ ref, role, name, coordinate }) => ({ ref, role, name, coordinate });
          return { ok, reason, known: known && tell(known), candidates: candidates?.map(tell) };
        }""",
        ref,
    )


async def test_of_500_reshuffled_pages_no_ref_leads_to_another_item(chromium: Browser) -> None:
    async with shown(chromium, (PAGES / "reshuffle.html").read_text()) as page:
        told = await page.evaluate(ROUNDS, 500)
    print(
        f"\n{told['led']} refs led to what was shown, {told['refused']} were refused, {len(told['wrong'])} led astray"
    )
    assert told["wrong"] == []
    # Refusing everything would be safe, and of no use.
    assert told["led"] > 1_000
    assert told["stillRefused"] < 0.3 * told["still"]


async def test_a_ref_belongs_to_one_element_for_as_long_as_it_lives(chromium: Browser) -> None:
    async with shown(chromium, LIST) as page:
        first = await outline(page)
        await page.evaluate("document.querySelector('ul').append(document.querySelector('li'))")
        moved = await outline(page)
        assert sorted(first) == sorted(moved)
        assert first != moved


async def test_an_element_that_left_the_page_is_refused_with_what_is_like_it(chromium: Browser) -> None:
    async with shown(chromium, LIST) as page:
        ref = await ref_of(page, "[Red mug]")
        await page.evaluate("document.querySelectorAll('li')[1].remove()")
        found = await find(page, ref)
        assert not found["ok"]
        assert "no longer on the page" in found["reason"]
        assert [each["name"] for each in found["candidates"]][:2] == ["Remove", "Remove"]


async def test_an_element_that_now_stands_for_another_item_is_refused(chromium: Browser) -> None:
    async with shown(chromium, LIST) as page:
        ref = await ref_of(page, "[Red mug]")
        await page.evaluate("document.querySelectorAll('b')[1].textContent = 'Green mug'")
        found = await find(page, ref)
        assert not found["ok"]
        assert "Red mug" in found["reason"]
        assert "Green mug" in found["reason"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("pay.textContent = 'Cancel'", "now called"),
        ("pay.setAttribute('role', 'link')", "is now a link"),
        ("pay.setAttribute('data-product-id', '7')", "something else"),
        ("document.querySelector('li').append(pay)", "stands now at"),
        ("pay.replaceWith(pay.cloneNode(true))", "no longer on the page"),
    ],
)
async def test_a_control_that_is_not_what_it_was_is_refused(chromium: Browser, change: str, said: str) -> None:
    async with shown(chromium, LIST) as page:
        ref = await ref_of(page, '"Pay"')
        await page.evaluate(change)
        found = await find(page, ref)
        assert not found["ok"]
        assert said in found["reason"]


@pytest.mark.parametrize(
    "change", ["x.type = 'password'", "x.autocomplete = 'cc-number'", "document.body.dataset.agentPrivate = ''"]
)
async def test_a_field_that_became_private_is_refused_until_it_is_shown_so(chromium: Browser, change: str) -> None:
    async with shown(chromium, "<input id=x aria-label=Note>") as page:
        ref = await ref_of(page, '"Note"')
        await page.evaluate(change)
        found = await find(page, ref)
        assert not found["ok"]
        assert "private now" in found["reason"]
        told = await page.evaluate("automation.getPageState().private")
        assert told == [{"ref": ref, "private": True}]
        assert (await find(page, ref))["ok"]


async def test_an_item_may_change_by_what_was_done_to_it_but_not_otherwise(chromium: Browser) -> None:
    html = "<ul><li>Mug <b>1</b> <button>More</button><li>Plate <i>1</i> <button>More</button></ul>"
    async with shown(chromium, html) as page:
        mug, plate = await ref_of(page, "[Mug]"), await ref_of(page, "[Plate]")
        assert (await find(page, mug))["ok"]
        await page.evaluate("document.querySelector('b').textContent = document.querySelector('i').textContent = '2'")
        assert (await find(page, mug))["ok"]
        assert not (await find(page, plate))["ok"]


async def test_a_change_of_something_else_keeps_a_ref_good(chromium: Browser) -> None:
    async with shown(chromium, LIST) as page:
        ref = await ref_of(page, "[Red mug]")
        await page.evaluate("document.querySelector('li').remove(); pay.textContent = 'Pay 12.00'")
        assert (await find(page, ref))["ok"]


async def test_what_is_told_between_two_states_does_not_make_an_old_ref_good_again(chromium: Browser) -> None:
    async with shown(chromium, LIST) as page:
        ref = await ref_of(page, '"Pay"')
        await page.evaluate("pay.textContent = 'Delete everything'")
        # As a refusal or a diff would: the model has not read it yet, and may have asked for the old one already.
        await page.evaluate("automation.refs.know(pay)")
        assert not (await find(page, ref))["ok"]
        await page.evaluate("automation.getPageState()")
        assert (await find(page, ref))["ok"]


async def test_a_ref_that_never_was_is_refused(chromium: Browser) -> None:
    async with shown(chromium, LIST) as page:
        assert not (await find(page, "e99"))["ok"]
        asked_by_name = await find(page, "Pay")
        assert not asked_by_name["ok"]
        assert asked_by_name["candidates"][0]["name"] == "Pay"


async def test_a_coordinate_leads_to_the_one_control_that_has_it(chromium: Browser) -> None:
    async with shown(chromium, LIST) as page:
        led = (
            "automation.getInteraction(['Red mug', 'Remove']).known?.element === document.querySelectorAll('button')[1]"
        )
        assert await page.evaluate(led)
        assert await page.evaluate("automation.getInteraction(['Cart', 'Red mug', 'Remove']).ok")
        several = await page.evaluate("automation.getInteraction(['Remove'])")
        assert not several["ok"]
        assert "3 controls" in several["reason"]
        unknown = await page.evaluate("automation.getInteraction(['Green mug', 'Remove'])")
        assert not unknown["ok"]
        assert unknown["candidates"]


async def test_namesakes_are_numbered(chromium: Browser) -> None:
    html = "<ul><li>Mug <button>Add</button><li>Mug <button>Add</button></ul><p><button>Go</button><button>Go</button>"
    async with shown(chromium, html) as page:
        place = "[...document.querySelectorAll('button')].map((each) => automation.refs.know(each).coordinate)"
        assert await page.evaluate(place) == [["Mug (1)", "Add"], ["Mug (2)", "Add"], ["Go (1)"], ["Go (2)"]]


async def test_a_ref_of_before_a_reload_leads_nowhere_after_it(chromium: Browser) -> None:
    async with await chromium.new_context() as context:
        page = await context.new_page()
        await page.route("http://shop.test/", lambda route: route.fulfill(body=LIST, content_type="text/html"))
        refs: list[set[str]] = []
        for _ in range(2):
            await page.goto("http://shop.test/")
            await page.add_script_tag(path=bundle("automation"))
            await page.evaluate(BEGIN)
            refs.append({line.split()[0] for line in await outline(page) if "button" in line})
        before, after = refs
        assert len(before) == len(after) == 4 and not before & after
        assert not (await find(page, min(before)))["ok"]


async def test_a_frame_of_the_same_site_counts_on_from_where_its_page_came_to(chromium: Browser) -> None:
    async with await chromium.new_context() as context:
        page = await context.new_page()
        inner = LIST.replace("mug", "cup")
        await page.route("http://shop.test/", lambda route: route.fulfill(body=LIST, content_type="text/html"))
        await page.route("http://shop.test/in", lambda route: route.fulfill(body=inner, content_type="text/html"))
        await page.goto("http://shop.test/")
        await page.add_script_tag(path=bundle("automation"))
        await page.evaluate(BEGIN)
        await page.evaluate("document.body.append(Object.assign(document.createElement('iframe'), { src: '/in' }))")
        await page.frame_locator("iframe").locator("ul").wait_for()
        frame = page.frames[1]
        await frame.add_script_tag(path=bundle("automation"))
        await frame.evaluate(BEGIN)
        told = "JSON.stringify(automation.getPageState().outline).match(/\\be\\d+/g)"
        seen: list[set[str]] = []
        for each in (frame, page, frame):
            await each.evaluate(
                "document.body.append(Object.assign(document.createElement('button'), { textContent: 'x' }))"
            )
            seen.append(set(await each.evaluate(told)) - set().union(*seen))
        counted = [{int(ref[1:]) for ref in refs} for refs in seen]
        assert max(counted[0]) < min(counted[1]) and max(counted[1]) < min(counted[2])
