"""What somebody else switched after the model saw the page is not switched back by a press that was meant before."""

import pytest
from playwright.async_api import Browser
from tests.http.browsing import needs_chromium
from tests.web.bundles import needs_web
from tests.web.see import shown, state
from tests.web.shared_browser import in_browser

pytestmark = [needs_chromium, needs_web, pytest.mark.slow, in_browser]

SWITCHES = {
    "a check box": ("<label><input type=checkbox> Gift</label>", "it.checked = true"),
    "one whose label is seen": ("<label><input type=checkbox hidden> Gift</label>", "it.checked = true"),
    "a pressed button": ("<button aria-pressed=false>Mute</button>", "it.ariaPressed = 'true'"),
    "a switch": ("<div role=switch tabindex=0 aria-checked=false>Wifi</div>", "it.ariaChecked = 'true'"),
    "details": ("<details><summary>More</summary>Text</details>", "it.parentElement.open = true"),
    "a menu": ("<button aria-expanded=false>Menu</button>", "it.ariaExpanded = 'true'"),
}
PRESS = "automation.execute({id: '1', name: 'click', args: {ref: 'e1'}})"


@pytest.mark.parametrize("switch", SWITCHES)
async def test_what_was_switched_meanwhile_is_not_switched_back(chromium: Browser, switch: str) -> None:
    markup, meanwhile = SWITCHES[switch]
    async with shown(chromium, markup) as page:
        await state(page)
        await page.evaluate(
            "window.clicks = 0; document.addEventListener('click', () => clicks++);"
            f"const it = document.querySelector('input, button, [role=switch], summary'); {meanwhile}; 0"
        )
        outcome = await page.evaluate(PRESS)
        assert not outcome["ok"] and "meanwhile" in outcome["error"]
        assert await page.evaluate("clicks") == 0
        # Once the model saw it as it is, a press is meant.
        await state(page)
        await page.evaluate(PRESS)
        assert await page.evaluate("clicks") > 0
