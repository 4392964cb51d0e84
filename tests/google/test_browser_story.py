"""A new user with a real browser: what the guides say to do is done here, and each page says what happened.

The workspace is another site for the browser, as Google is: cookies that are for this site alone stay at home.
"""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import aiohttp
import pytest
from playwright.async_api import BrowserContext, Page
from tests.google.adversary import begun, den
from tests.http.browsing import browser, elsewhere, needs_chromium, opens_link
from tests.http.google_site import connect
from tests.http.site import TOKENS, Person

from pollux.emulator.workspace import run_workspace

pytestmark = [needs_chromium, pytest.mark.slow]

PATIENCE = 60.0
MAIL = "send an email to bob@example.com saying the report is ready"
CONFIG = '[profiles.default]\ntools = ["gmail_send", "calendar_event_create"]\n'


@dataclass
class Told:
    """What a program said when it was ready."""

    lines: list[dict[str, str]]
    talk: Path

    def link(self) -> str:
        """The link to sign in with, made of what the ready line names: a log does not show it."""
        [ready] = self.lines
        return f"{ready['url']}/login?token={Path(ready['tokenFile']).read_text()}"


@asynccontextmanager
async def program(
    path: Path, *words: str, lines: int = 1, environ: Mapping[str, str] | None = None
) -> AsyncGenerator[Told]:
    """`pollux WORDS` until the block ends."""
    env = {"PATH": os.environ["PATH"], "HOME": str(path), "POLLUX_HOME": str(path / "home"), **(environ or {})}
    talk = path / f"{words[0]}.err"
    with talk.open("ab") as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", "pollux.cli", *words, "--port", "0"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors, cwd=path, env=env,
        )  # fmt: skip
    assert process.stdout is not None
    try:
        said = [await asyncio.wait_for(asyncio.to_thread(process.stdout.readline), PATIENCE) for _ in range(lines)]
        yield Told([json.loads(line) for line in said], talk)
    finally:
        process.terminate()
        await asyncio.to_thread(process.wait, PATIENCE)
        process.stdout.close()


@dataclass
class Scene:
    """A server, the emulated Google, and a person with a browser and a token."""

    url: str
    google: str
    context: BrowserContext
    page: Page
    person: Person
    path: Path

    async def shown(self) -> str:
        """What the page says. How it looks lies beside the test's files, for whoever wants to see it."""
        number = len(list(self.path.glob("*.png")))
        await self.page.screenshot(path=self.path / f"page-{number}.png")
        return await self.page.inner_text("body")

    async def to_consent(self, query: str = "") -> str:
        await self.page.goto(f"{self.url}/api/google/connect{query}")
        return await self.shown()

    async def press(self, button: str) -> str:
        await self.page.get_by_role("button", name=button).click()
        await self.page.get_by_text("Back to Pollux").wait_for()
        assert self.page.url.startswith(self.url)
        return await self.shown()


@pytest.fixture
async def scene(tmp_path: Path) -> AsyncGenerator[Scene]:
    (tmp_path / "agents.toml").write_text(CONFIG)
    async with program(tmp_path, "emulator", "all", lines=2) as emulators:
        urls = {line["service"]: line["url"].replace("127.0.0.1", "localhost") for line in emulators.lines}
        google = urls["workspace"]
        environ = {
            **{f"POLLUX_{name}_BASE_URL": google for name in ("GMAIL", "CALENDAR", "GOOGLE_OAUTH")},
            "POLLUX_GOOGLE_CLIENT_ID": "demo",
            "POLLUX_GOOGLE_CLIENT_SECRET": "demo",
            "POLLUX_CONFIG": "agents.toml",
            "GEMINI_API_KEY": "any",
            "GOOGLE_GEMINI_BASE_URL": urls["gemini"],
        }
        async with (
            program(tmp_path, "serve", environ=environ) as serve,
            browser() as chromium,
            aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as http,
        ):
            context = await chromium.new_context(viewport={"width": 800, "height": 700})
            page = await context.new_page()
            await page.goto(serve.link())
            person = Person(http, serve.lines[0]["url"], (tmp_path / "home" / "token").read_text())
            yield Scene(person.url, google, context, page, person, tmp_path)


async def test_somebody_connects_asks_approves_finds_the_mail_and_disconnects(scene: Scene):
    asked = await scene.to_consent()
    assert scene.page.url.startswith(f"{scene.google}/o/oauth2/v2/auth?")
    assert "demo" in asked and "gmail.metadata" in asked and "calendar.events" in asked
    assert f"{scene.url}/api/google/callback" in asked

    await scene.page.fill("#account", "ada@example.com")
    came = await scene.press("Allow")
    assert "ada@example.com is connected" in came
    assert "calendar_event_create, gmail_send" in came
    status = (await scene.person.get("/api/google/status")).body
    assert (status["connected"], status["email"]) == (True, "ada@example.com")

    run = await scene.person.run(MAIL)
    (approval,) = run["approvals"]
    assert approval["subjects"] == ["bob@example.com"]
    await scene.page.goto(f"{scene.url}/api/agent/approvals/pending")
    assert "bob@example.com" in await scene.shown()
    got = await scene.person.resolve(approval["id"])
    assert got.body["run"]["status"] == "completed", got
    await scene.page.goto(f"{scene.google}/outbox")
    assert "bob@example.com" in await scene.shown()

    given_back = (await scene.person.post("/api/google/disconnect")).body
    assert (given_back["wasConnected"], given_back["atGoogle"]) == (True, True)
    await scene.page.goto(f"{scene.url}/api/google/status")
    assert '"connected":false' in await scene.shown()


async def test_who_says_no_or_agrees_to_less_is_told_what_follows(scene: Scene):
    await scene.to_consent()
    assert "Nothing was connected" in await scene.press("Deny")
    await scene.to_consent()
    for tick in await scene.page.get_by_role("checkbox").all():
        await tick.uncheck()
    assert "Nothing was connected" in await scene.press("Allow")
    assert (await scene.person.get("/api/google/status")).body["connected"] is False

    await scene.to_consent()
    for tick in await scene.page.get_by_role("checkbox").all():
        if "gmail" in (await tick.get_attribute("value") or ""):
            await tick.uncheck()
    came = await scene.press("Allow")
    assert "may ask to use: calendar_event_create" in came
    assert "You did not agree to all that gmail_send would need" in came
    status = (await scene.person.get("/api/google/status")).body
    assert status["tools"] == ["calendar_event_create"]

    run = await scene.person.run(MAIL)
    assert (run["status"], run["connectUrl"]) == ("failed", "/api/google/connect?tools=gmail_send"), run
    asked = await scene.to_consent("?tools=gmail_send")
    assert "gmail.send" in asked and "calendar.events" not in asked
    assert "calendar_event_create, gmail_send" in await scene.press("Allow")


# What other people's pages can do with these routes in a browser that is signed in.

ATTACKS = {
    "fetch": "fetch(at, {mode: 'no-cors', credentials: 'include'}).then(() => 'sent', () => 'refused')",
    "fetch and read": "fetch(at, {credentials: 'include'}).then(got => got.text(), () => 'refused')",
    "a picture": "load('img', {src: at})",
    "a script": "load('script', {src: at})",
    "a frame": "load('iframe', {src: at})",
    "an object": "load('object', {data: at})",
    "a form": "form(at)",
}
TOOLS = """
    const load = (tag, fields) => new Promise(done => {
        const made = Object.assign(document.createElement(tag), fields)
        made.onload = made.onerror = () => done('over'); document.body.append(made)
        setTimeout(() => done('late'), 2000)
    })
    const form = at => {
        const made = Object.assign(document.createElement('form'), {action: at, method: 'POST', target: '_blank'})
        document.body.append(made); made.submit(); return 'sent'
    }
"""


@pytest.mark.parametrize("place", ["127.0.0.1", "evil.example"])
async def test_another_page_neither_connects_nor_disconnects_anything(tmp_path: Path, place: str):
    async with run_workspace() as workspace, den(tmp_path, workspace) as here, elsewhere() as other:
        await connect(here.ada, workspace)
        before = await here.connected(here.ada)
        async with browser() as chromium:
            context = await chromium.new_context()
            page = await context.new_page()
            await opens_link(page, here.site.url, TOKENS["ada"])
            await page.goto(f"{other.origin(place)}/page")
            links = [(await begun(here, here.bob, account="victim@example.com")).target for _ in ATTACKS]
            for (name, attack), link in zip(ATTACKS.items(), links, strict=True):
                for path in (link, "/api/google/disconnect"):
                    told = await page.evaluate(f"async at => {{ {TOOLS} return {attack} }}", here.site.url + path)
                    assert told in ("sent", "refused", "over", "late"), (name, path, told)
            # A window that follows the attacker's link is a page like any other, and refused as theirs.
            window = await context.new_page()
            await window.goto(f"{other.origin(place)}/page")
            await window.evaluate("at => { location.href = at }", here.site.url + links[0])
            await window.wait_for_url(f"{here.site.url}/**")
            await window.get_by_text("Nothing was connected").wait_for()
        assert await here.connected(here.ada) == before
        assert (await here.connected(here.bob))["connected"] is False


async def test_a_cookie_that_another_port_has_planted_connects_no_victims_account(tmp_path: Path):
    async with run_workspace() as workspace, den(tmp_path, workspace) as here, elsewhere() as other:
        link = await begun(here, here.bob, account="victim@example.com")
        async with browser() as chromium:
            page = await chromium.new_page()
            await opens_link(page, here.site.url, TOKENS["ada"])
            await page.goto(f"{other.origin('127.0.0.1')}/page")
            await page.evaluate("own => { document.cookie = own + '; path=/api/google/callback' }", link.cookie)
            # As from Google's page, which is another site.
            await page.goto(f"{other.origin('localhost')}/page")
            await page.evaluate("at => { location.href = at }", here.site.url + link.target)
            await page.get_by_text("another user began").wait_for()
        assert (await here.connected(here.bob))["connected"] is False
