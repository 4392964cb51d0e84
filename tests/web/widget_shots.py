"""Pictures of the chat for the documentation: `python -m tests.web.widget_shots` writes docs/images/widget-*.png."""

import asyncio
from pathlib import Path
from typing import Literal

from playwright.async_api import Browser, expect
from tests.web.shared_browser import launched
from tests.web.widget_pages import chat_page
from tests.web.widget_scenes import question, said, step, talk

ROOT = Path(__file__).parents[2]
PAGES = Path(__file__).parent / "pages/widget"
ANSWER = """Two **blue mugs** are in your cart.

| Item | Count | Price |
| :-- | --: | --: |
| Blue mug | 2 | 24.00 € |
| Delivery | | 4.90 € |
| **Total** | | **28.90 €** |

Shall I fill in your address? I stop before anything is paid.
"""


async def shoot(chromium: Browser, mode: str, scheme: Literal["light", "dark"]) -> None:
    host, style = (PAGES / "shop.html").read_text(), (PAGES / "shop.css").read_text()
    tag, view = f'data-mode="{mode}"', {"width": 1100, "height": 720}
    async with chat_page(chromium, host=host, style=style, tag=tag, color_scheme=scheme, viewport=view) as there:
        done = [
            step(1, "done", "Clicked “Add to cart” [Blue mug]"),
            step(2, "done", "Clicked “Add to cart” [Blue mug]"),
        ]
        await there.show(messages=talk(ANSWER), activity=done)
        await there.page.screenshot(path=ROOT / f"docs/images/widget-{mode}-{scheme}.png")
        if mode == "full":
            messages = [*talk(ANSWER), said("user", "Yes, and place the order", 3)]
            await there.show(messages=messages, activity=[], approvals=[question()], isLoading=True)
            await expect(there.part(".approve")).to_have_attribute("aria-disabled", "false")
            await there.part(".deny").focus()
            await there.page.screenshot(path=ROOT / f"docs/images/widget-approval-{scheme}.png")
        else:
            running = step(1, "running", "Clicking “Add to cart” [Blue mug]", ref="buy")
            await there.show(messages=talk()[:3], activity=[running], isLoading=True)
            await expect(there.part(".frame")).to_be_visible()
            await there.page.screenshot(path=ROOT / f"docs/images/widget-acting-{scheme}.png", animations="disabled")


async def main() -> None:
    async with launched() as chromium:
        for scheme in ("light", "dark"):
            for mode in ("compact", "full"):
                await shoot(chromium, mode, scheme)


if __name__ == "__main__":
    asyncio.run(main())
