"""A question in the chat: the tool, whom it reaches and the answers are in view, however long the rest is."""

from typing import Any

import pytest
from playwright.async_api import Browser, expect
from tests.http.browsing import needs_chromium
from tests.web.bundles import needs_web
from tests.web.shared_browser import in_browser
from tests.web.widget_pages import chat_page
from tests.web.widget_scenes import EVERYTHING, question

pytestmark = [needs_chromium, needs_web, pytest.mark.slow, in_browser]

LINES = "\n".join(f"line {number}" for number in range(5_000))
LONG: dict[str, dict[str, Any]] = {
    "5,000 lines": {"preview": LINES[:2_000], "args": {"to": "bob@example.com", "body": LINES}},
    "one long line": {"preview": "word " * 400, "args": {"to": "bob@example.com", "body": "word " * 20_000}},
    "many arguments": {"args": {f"name{number}": "value" for number in range(500)}},
    "a long reason": {"reason": "because " * 500},
    "many recipients": {"subjects": [f"person{number}@example.com" for number in range(300)]},
}


@pytest.mark.parametrize("mode", ["compact", "full"])
@pytest.mark.parametrize("long", LONG)
async def test_the_tool_whom_it_reaches_and_the_answers_stay_in_view(chromium: Browser, mode: str, long: str):
    given: dict[str, Any] = {"tool": "gmail_send", "subjects": ["bob@example.com"], **LONG[long]}
    asked = question(**given)
    for view in ({"width": 1000, "height": 720}, {"width": 360, "height": 500}):
        async with chat_page(chromium, tag=f'data-mode="{mode}"', viewport=view) as there:
            await there.show(**EVERYTHING, approvals=[asked])
            for part in (".approval-title", ".about", ".deny", ".approve"):
                await expect(there.part(part)).to_be_in_viewport(ratio=0.95)
            await expect(there.part(".about")).to_contain_text("gmail_send for ")
            await expect(there.part(".approve")).to_have_attribute("aria-disabled", "false")
            await there.part(".approve").click()
            await expect(there.part(".approval")).to_have_count(0)
