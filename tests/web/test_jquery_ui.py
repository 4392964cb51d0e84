"""Controls as jQuery UI makes them: its check boxes are hidden behind labels, its sliders and lists are spans."""

from collections.abc import AsyncGenerator
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page
from tests.http.browsing import needs_chromium
from tests.web.bundles import needs_web
from tests.web.see import outline, shown
from tests.web.shared_browser import in_browser

pytestmark = [needs_chromium, needs_web, pytest.mark.slow, in_browser]

# The markup that jQuery UI 1.14 leaves behind, and what of its behaviour counts here.
WIDGETS = """<style>
.ui-helper-hidden-accessible { border: 0; clip: rect(0 0 0 0); height: 1px; width: 1px; margin: -1px; overflow: hidden;
  padding: 0; position: absolute }
.ui-slider { position: relative; width: 200px; height: 10px } .ui-slider-handle { position: absolute; width: 12px;
  height: 12px }
</style>
<label for=gift class="ui-checkboxradio-label ui-button"><span class=ui-icon></span>Gift</label>
<input type=checkbox id=gift class="ui-checkboxradio ui-helper-hidden-accessible">
<p id=loud>Volume</p>
<div class=ui-slider aria-labelledby=loud><span tabindex=0 class=ui-slider-handle></span></div>
<div role=slider tabindex=0 aria-label=Size aria-valuenow=4 aria-valuemin=0 aria-valuemax=8>x</div>
<label for=speed-button>Speed</label>
<span tabindex=0 id=speed-button role=combobox aria-expanded=false aria-owns=speed-menu aria-haspopup=true
  class=ui-selectmenu-button><span class=ui-selectmenu-text>Slow</span></span>
<ul role=listbox id=speed-menu hidden><li><div role=option>Slow</div><li><div role=option>Fast</div></ul>
<script>
  const volume = { min: 0, max: 50, value: 10 }, [list] = document.querySelectorAll("ul");
  const by = { ArrowRight: 1, ArrowLeft: -1 };
  window.jQuery = () => ({ slider: (_, name) => volume[name] });
  document.querySelector(".ui-slider-handle").onkeydown = ({ key }) => { volume.value += 2 * (by[key] ?? 0) };
  document.querySelector("[role=slider]").onkeydown = (event) => {
    event.target.ariaValueNow = Number(event.target.ariaValueNow) + (by[event.key] ?? 0);
  };
  const button = document.getElementById("speed-button");
  button.onclick = () => { list.hidden = false; button.ariaExpanded = "true" };
  list.onclick = ({ target }) => {
    button.firstChild.textContent = target.textContent; list.hidden = true; button.ariaExpanded = "false";
  };
</script>"""


@pytest_asyncio.fixture(loop_scope="session")
async def page(chromium: Browser) -> AsyncGenerator[Page]:
    async with shown(chromium, WIDGETS) as page:
        yield page


async def act(page: Page, name: str, what: str, **args: str) -> dict[str, Any]:
    """Do this to the control whose line has these words."""
    ref = next(line.split()[0] for line in await outline(page) if what in line and line[0] == "e")
    call = {"id": "1", "name": name, "args": {"ref": ref, **args}}
    return await page.evaluate("(call) => automation.execute(call)", call)


async def test_each_is_told_by_its_name_and_what_it_stands_at(page: Page) -> None:
    lines = [line for line in await outline(page) if line.startswith("e")]
    assert lines == [
        'e1 checkbox "Gift"',
        'e2 slider "Volume" = "10" (0 to 50)',
        'e3 slider "Size" = "4" (0 to 8)',
        'e4 combobox "Speed" = "Slow" collapsed',
    ]


async def test_a_box_behind_its_label_is_switched(page: Page) -> None:
    for name, args, is_on in (
        ("click", {}, True),
        ("fill", {"value": "false"}, False),
        ("fill", {"value": "true"}, True),
    ):
        assert (await act(page, name, "Gift", **args))["ok"]
        assert await page.evaluate("gift.checked") is is_on


async def test_a_slider_is_moved_by_its_keys_as_far_as_its_steps_lead(page: Page) -> None:
    moved = await act(page, "fill", "Volume", value="30")
    assert moved["ok"], moved
    assert (await act(page, "fill", "Size", value="1"))["ok"]
    assert await page.evaluate("[volume.value, document.querySelector('[role=slider]').ariaValueNow]") == [30, "1"]
    between = await act(page, "fill", "Volume", value="25")
    assert not between["ok"] and "it stands at" in between["error"]
    beyond = await act(page, "fill", "Volume", value="51")
    assert not beyond["ok"] and "from 0 to 50" in beyond["error"]


@pytest.mark.parametrize("name", ["select", "fill"])
async def test_a_list_is_chosen_from(page: Page, name: str) -> None:
    chosen = await act(page, name, "Speed", value="Fast")
    assert chosen["ok"], chosen
    assert 'e4 combobox "Speed" = "Fast" collapsed' in await outline(page)
