"""Pages to act on, and acting on them: with the tools inside, or with input that the browser itself trusts."""

from pathlib import Path
from typing import Any

from playwright.async_api import Page
from tests.web.bundles import bundle

PAGES = Path(__file__).parent / "pages/act"
EXECUTE = """async ([name, args]) => {
    window.automation ??= PolluxAutomation.createAutomation(document)
    const at = args.ref && (window.locate ? locate(args.ref)
        : Document.prototype.getElementById.call(document, args.ref))
    if (at) args = {...args, ref: automation.refs.know(at).ref}
    return automation.execute({id: "1", name, args})
}"""


async def load(page: Page, html: str) -> None:
    """A page with the automation in it before anything of its own."""
    await page.goto("about:blank")
    await page.evaluate(bundle("automation").read_text())
    await page.set_content(html)


async def execute(page: Page, tool: str, /, **args: Any) -> dict[str, Any]:
    """What came of one call. `ref` is an element's id, and becomes its ref as if the page had just been shown."""
    return await page.evaluate(EXECUTE, [tool, args])
