"""One app with every kind of field that React controls, built with React itself or with what stands in for it."""

import functools
import os
import shutil
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import pytest
from playwright.async_api import Page
from tests.web.act_scenes import PAGES, execute
from tests.web.bundles import ESBUILD, WEB, bundle

REACT: Final = "19.2.0"
INSTALL_SECONDS: Final = 300
ROOT: Final = "<!doctype html><div id=root></div>"
PREACT: Final = {
    "react": "preact/compat",
    "react-dom": "preact/compat",
    "react-dom/client": "preact/compat/client",
    "react/jsx-runtime": "preact/jsx-runtime",
}

Step = tuple[dict[str, Any], Callable[[Page], Awaitable[None]]]


def installed() -> Path:
    """The folder with React in it, installed once into the virtual environment. Skips where it cannot be had."""
    place = Path(sys.prefix) / "interop" / f"react-{REACT}"
    if place.exists():
        return place
    npm = shutil.which("npm") or pytest.skip("npm is not installed (apt-get install npm)")
    place.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=place.parent) as draft:
        command = [npm, "install", "--no-fund", "--no-audit", "--ignore-scripts", "--prefix", draft]
        packages = [f"react@{REACT}", f"react-dom@{REACT}"]
        made = subprocess.run([*command, *packages], capture_output=True, timeout=INSTALL_SECONDS, check=False)
        if made.returncode:
            pytest.skip(f"npm could not install react ({made.returncode})")
        shutil.copytree(draft, place, symlinks=True, dirs_exist_ok=True)
    return place


@functools.cache
def built(modules: Path, aliases: tuple[tuple[str, str], ...] = ()) -> str:
    """The app as one script."""
    command = [
        ESBUILD, PAGES / "react.jsx", "--bundle", "--format=iife", "--target=es2022", "--jsx=automatic",
        "--define:process.env.NODE_ENV=\"production\"", "--log-level=warning",
        *(f"--alias:{name}={other}" for name, other in aliases),
    ]  # fmt: skip
    environment = {**os.environ, "NODE_PATH": str(modules)}
    return subprocess.run(
        command, cwd=WEB, env=environment, capture_output=True, text=True, check=True, timeout=60
    ).stdout


async def start(page: Page, app: str) -> None:
    await page.goto("about:blank")
    await page.evaluate(bundle("automation").read_text())
    await page.set_content(ROOT)
    await page.evaluate(app)
    await page.locator("#text").wait_for()


async def told(page: Page) -> dict[str, Any]:
    """What the app thinks, once it has drawn it."""
    await page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    return await page.evaluate("window.told()")


async def ours(page: Page, call: dict[str, Any]) -> None:
    args = dict(call)
    outcome = await execute(page, args.pop("tool"), **args)
    assert outcome["ok"], (call, outcome)


def typed(name: str, text: str) -> Callable[[Page], Awaitable[None]]:
    async def act(page: Page) -> None:
        await page.locator(f"#{name}").click()
        await page.keyboard.press("ControlOrMeta+a")
        await page.keyboard.type(text)

    return act


def pressed(name: str, *keys: str) -> Callable[[Page], Awaitable[None]]:
    async def act(page: Page) -> None:
        await page.locator(f"#{name}").focus()
        for key in keys:
            await page.keyboard.press(key)

    return act


def clicked(name: str) -> Callable[[Page], Awaitable[None]]:
    async def act(page: Page) -> None:
        await page.locator(f"#{name}").click()

    return act


def filled(name: str, text: str) -> Step:
    return {"tool": "fill", "ref": name, "value": text}, typed(name, text)


def click(name: str) -> Step:
    return {"tool": "click", "ref": name}, clicked(name)


async def several(page: Page) -> None:
    await page.locator("#several").select_option(["Red", "Blue"])


# The same, by our tools and by a hand.
STEPS: Final[tuple[Step, ...]] = (
    filled("text", "Ada"),
    filled("text", "Grace"),
    filled("upper", "shout"),
    filled("amount", "12345"),
    filled("area", "some words"),
    ({"tool": "select", "ref": "select", "value": "Big"}, pressed("select", "ArrowDown")),
    ({"tool": "select", "ref": "several", "values": ["Red", "Blue"]}, several),
    click("agreed"),
    ({"tool": "fill", "ref": "agreed", "value": False}, clicked("agreed")),
    ({"tool": "fill", "ref": "agreed", "value": True}, clicked("agreed")),
    click("Tall"),
    ({"tool": "press", "ref": "Tall", "key": "ArrowUp"}, pressed("Tall", "ArrowUp")),
    ({"tool": "fill", "ref": "day", "value": "2031-04-09"}, pressed("day", *"04092031")),
    ({"tool": "fill", "ref": "loud", "value": 8}, pressed("loud", *["ArrowRight"] * 3)),
    ({"tool": "press", "ref": "loud", "key": "ArrowLeft"}, pressed("loud", "ArrowLeft")),
    filled("note", "a note"),
    filled("note", "another"),
    ({"tool": "press", "ref": "text", "key": "Enter"}, pressed("text", "Enter")),
    click("send"),
    click("open"),
    filled("dialog", "within"),
    click("close"),
    click("first-Three"),
    click("first-Two"),
    click("drop-Three"),
    ({"tool": "press", "ref": "text", "key": "Backspace"}, pressed("text", "End", "Backspace")),
)
