"""The TodoMVC apps: the same small list in some sixty frameworks, each with its own way with events."""

import shutil
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final
from urllib.parse import urlsplit

import pytest
from aiohttp import web
from playwright.async_api import Browser, Error, Page, Route
from tests.web.bundles import bundle
from tests.web.shared_browser import PATIENT

VERSION: Final = "0.1.1"
INSTALL_SECONDS: Final = 300

NEW: Final = "#new-todo, .new-todo"
TOGGLE: Final = ":is(#todo-list, .todo-list) li .toggle"
DESTROY: Final = ":is(#todo-list, .todo-list) li .destroy"
ITEMS: Final = """() => [...document.querySelectorAll("#todo-list li, .todo-list li")]
    .filter(item => item.checkVisibility()).map(item => ({
        text: item.innerText.trim(), isDone: item.querySelector(".toggle")?.checked ?? false}))"""
ACT: Final = """async ([name, selector, args]) => {
    window.automation ??= PolluxAutomation.createAutomation(document)
    const at = selector && document.querySelector(selector)
    if (at) args = {...args, ref: automation.refs.know(at).ref}
    return automation.execute({id: "1", name, args})
}"""


def installed() -> Path:
    """The folder of all apps, installed once into the virtual environment. Skips where it cannot be had."""
    place = Path(sys.prefix) / "interop" / f"todomvc-{VERSION}"
    apps = place / "node_modules/todomvc"
    if apps.exists():
        return apps
    npm = shutil.which("npm") or pytest.skip("npm is not installed (apt-get install npm)")
    place.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=place.parent) as draft:
        command = [npm, "install", "--no-fund", "--no-audit", "--ignore-scripts", "--prefix", draft]
        made = subprocess.run(
            [*command, f"todomvc@{VERSION}"], capture_output=True, timeout=INSTALL_SECONDS, check=False
        )
        if made.returncode:
            pytest.skip(f"npm could not install todomvc ({made.returncode})")
        shutil.copytree(draft, place, symlinks=True, dirs_exist_ok=True)
    return apps


def starts(apps: Path) -> list[str]:
    """Where each app begins, by its path: its own index, or the one it was built into."""
    found: list[str] = []
    for app in sorted((apps / "examples").iterdir()):
        inside = [
            app / "index.html",
            *(app / each / "index.html" for each in ("dist", "public", "web", "out", "build")),
        ]
        found += [str(index.relative_to(apps)) for index in inside if index.exists()][:1]
    return found


@asynccontextmanager
async def served(apps: Path) -> AsyncGenerator[str]:
    app = web.Application()
    app.router.add_static("/", apps, follow_symlinks=True)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


@dataclass(frozen=True)
class Hand:
    """Input that the browser trusts."""

    page: Page

    async def add(self, text: str) -> None:
        await self.page.locator(NEW).first.click()
        await self.page.keyboard.type(text)
        await self.page.keyboard.press("Enter")

    async def toggle(self) -> None:
        await self.page.locator(TOGGLE).first.click()

    async def destroy(self) -> None:
        await self.page.locator(":is(#todo-list, .todo-list) li").first.hover()
        await self.page.locator(DESTROY).first.click()


@dataclass(frozen=True)
class Tools:
    """The tools in the page."""

    page: Page

    async def add(self, text: str) -> None:
        await self._act("fill", NEW, value=text)
        await self._act("press", "", key="Enter")

    async def toggle(self) -> None:
        await self._act("click", TOGGLE)

    async def destroy(self) -> None:
        await self._act("click", DESTROY)

    async def _act(self, name: str, selector: str, **args: Any) -> None:
        try:
            outcome = await self.page.evaluate(ACT, [name, selector, args])
        except Error as problem:
            # Some of them send their form for real and begin anew: nobody is left there to tell.
            if "context was destroyed" not in str(problem):
                raise
            await self.page.locator(NEW).first.wait_for(state="visible")
            return
        if not outcome["ok"]:
            raise Error(outcome["error"])


async def lived(chromium: Browser, url: str, kind: type[Hand] | type[Tools]) -> str:
    """Add two, tick one off, destroy it. What went wrong; empty where nothing did."""
    context = await chromium.new_context()
    try:
        await context.route("**", _stay_here)
        page = await context.new_page()
        page.set_default_timeout(PATIENT)
        await page.add_init_script(path=bundle("automation"))
        await page.goto(url, timeout=PATIENT)
        await page.locator(NEW).first.wait_for(state="visible")
        # Those that load themselves in parts show the field before they listen to it.
        await page.wait_for_load_state("networkidle")
        driver = kind(page)
        for count, text in enumerate(("buy milk", "call Ada"), start=1):
            await driver.add(text)
            await _until(page, f"items => items.length === {count} && items.some(each => each.text.includes('{text}'))")
        await driver.toggle()
        await _until(page, "items => items.filter(each => each.isDone).length === 1")
        await driver.destroy()
        await _until(page, "items => items.length === 1 && !items[0].isDone")
    except Error as problem:
        return str(problem).splitlines()[0]
    finally:
        await context.close()
    return ""


async def _until(page: Page, condition: str) -> None:
    await page.wait_for_function(f"() => ({condition})(({ITEMS})())")


async def _stay_here(route: Route) -> None:
    is_here = urlsplit(route.request.url).hostname in {"127.0.0.1", None}
    await (route.continue_() if is_here else route.abort())
