"""The console in a real browser, over the real server with the demo model: a module has a server of its own."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import urlsplit

import aiohttp
from playwright.async_api import Browser, BrowserContext, ConsoleMessage, Error, Page, Request, expect
from tests.http.browsing import opens_link
from tests.http.site import TOKENS, Person
from tests.web.bundles import WEB, built
from tests.web.shared_browser import PATIENT

from pollux.asgi.credentials import credentials_of
from pollux.asgi.listening import listening
from pollux.config import read_settings
from pollux.emulator import run_emulator
from pollux.engine.engine import Engine
from pollux.serve import running_app

AXE = WEB / "node_modules/axe-core/axe.min.js"
CHECK = "async () => (await axe.run(document, {resultTypes: ['violations']})).violations"
MAIL = "send an email to {} saying the report is ready"


@dataclass
class Desk:
    """One person's console, and what went wrong in their browser."""

    page: Page
    url: str
    troubles: list[str] = field(default_factory=list[str])

    async def open(self, place: str = "threads") -> None:
        """Go to a page of the console by its path, and wait until it stands."""
        await self.page.goto(f"{self.url}/console#/{place}")
        await expect(self.page.locator("main h1").first).to_be_visible(timeout=PATIENT)

    async def sees(self, text: str) -> None:
        await expect(self.page.locator("main")).to_contain_text(text, timeout=PATIENT)

    async def problems(self) -> list[str]:
        """What a check of accessibility finds on the page as it is now."""
        if not await self.page.evaluate("'axe' in window"):
            await self.page.evaluate(AXE.read_text())
        found = await self.page.evaluate(CHECK)
        return [f"{each['id']}: {node['html'][:200]}" for each in found for node in each["nodes"]]


@dataclass
class Lab:
    """A server, its people, and browsers for them."""

    url: str
    engine: Engine
    http: aiohttp.ClientSession
    chromium: Browser
    home: Path

    @property
    def ada(self) -> Person:
        """Ada, by her token: what she does elsewhere than in the console."""
        return Person(self.http, self.url, PEOPLE["ada"])

    async def asks(self, recipient: str) -> str:
        """A mail that waits for Ada's approval; the approval's id."""
        run = await self.ada.run(MAIL.format(recipient))
        return run["approvals"][0]["id"]

    @asynccontextmanager
    async def desk(self, *, name: str = "ada", **context: object) -> AsyncGenerator[Desk]:
        """A browser of its own in which this person is signed in. Nothing may go wrong in it unnoticed."""
        opened: BrowserContext = await self.chromium.new_context(**context)  # pyright: ignore[reportArgumentType]
        try:
            page = await opened.new_page()
            desk = Desk(page, self.url)
            _listen(desk)
            if name:
                await opens_link(page, self.url, PEOPLE[name])
                await expect(page.locator("main h1").first).to_be_visible(timeout=PATIENT)
            yield desk
            assert desk.troubles == []
        finally:
            await opened.close()


def _listen(desk: Desk) -> None:
    ours = urlsplit(desk.url).netloc

    def failed(problem: Error) -> None:
        desk.troubles.append(str(problem))

    def said(message: ConsoleMessage) -> None:
        if message.type == "error":
            desk.troubles.append(message.text)

    def asked(request: Request) -> None:
        address = urlsplit(request.url)
        if address.netloc and address.netloc != ours:
            desk.troubles.append(f"asked {request.url}")

    desk.page.on("pageerror", failed)
    desk.page.on("console", said)
    desk.page.on("request", asked)


PEOPLE = {**TOKENS, "local": "token-of-local-0123456789"}
"""Those of the API's tests, and who operates the server."""
CONFIG = """\
[runbooks]
folder = "{folder}"
users = ["ada"]
editable = true
"""


@asynccontextmanager
async def lab(chromium: Browser, path: Path, *, config: str = CONFIG, **environ: str) -> AsyncGenerator[Lab]:
    """The server over a fresh store. Its runbooks lie in `path / "runbooks"`."""
    (path / "runbooks").mkdir(exist_ok=True)
    (path / "config.toml").write_text(config.format(folder=path / "runbooks"))
    named = ",".join(f"{name}:{token}" for name, token in PEOPLE.items())
    async with run_emulator(port=0) as model, aiohttp.ClientSession() as http:
        given = {
            "HOME": str(path), "POLLUX_HOME": str(path / "home"), "POLLUX_CONFIG": str(path / "config.toml"),
            "POLLUX_TOKENS": named, "GEMINI_API_KEY": "demo", "GOOGLE_GEMINI_BASE_URL": model.url,
            **environ,
        }  # fmt: skip
        settings = replace(read_settings(given, cwd=path), port=0)
        async with (
            running_app(settings, credentials_of(settings), assets=built()) as (app, engine),
            listening(app, settings) as server,
        ):
            yield Lab(server.url, engine, http, chromium, path)
            await engine.close()
            await http.close()
