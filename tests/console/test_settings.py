"""The page of settings: what the server was told, and the lines that would tell it otherwise."""

import re
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, expect
from tests.console.lab import Lab, lab
from tests.http.browsing import needs_chromium
from tests.web.bundles import needs_web
from tests.web.shared_browser import in_browser

from pollux.config import read_settings
from pollux.runbooks.documents import AgentCapabilities
from pollux.runbooks.place import agents_of
from pollux.runbooks.settings import AgentEntry

pytest.importorskip("acp")
pytestmark = [needs_chromium, needs_web, pytest.mark.slow, in_browser]


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def place(chromium: Browser, tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Lab]:
    async with lab(chromium, tmp_path_factory.mktemp("settings")) as opened:
        yield opened


async def test_the_settings_say_what_agents_there_are_and_how_to_change_that(place: Lab):
    async with place.desk() as desk:
        await desk.open("settings")
        await desk.sees("Claude Code (Anthropic)")
        await expect(desk.page.get_by_role("row", name=re.compile("^codex"))).to_contain_text("codex-acp")
        await desk.sees("300 seconds")
        await desk.page.get_by_text("Change it").click()
        await desk.sees('default_capabilities = ["readFiles"]')
        await desk.page.get_by_role("button", name="Copy: What new blocks begin with").click()
        await expect(desk.page.get_by_text(re.compile("^(Copied|The browser does not let us copy)"))).to_be_visible()


async def test_what_is_filled_in_on_the_settings_page_is_read_from_a_file_as_it_was_meant(place: Lab, tmp_path: Path):
    async with place.desk() as desk:
        await desk.open("settings")
        page = desk.page
        await page.get_by_text("Change it").click()
        await page.get_by_label("Time-out").fill("soon")
        await desk.sees("A time-out is a whole number of seconds")
        await page.get_by_label("Time-out").fill("90")
        await page.get_by_label("Run commands").check()
        await page.get_by_text("Add one").click()
        await page.get_by_label("Name", exact=True).fill("ours & theirs")
        await desk.sees("A name is up to 64 letters")
        await page.get_by_label("Name", exact=True).fill("ours.2")
        await page.get_by_label("Command", exact=True).fill('C:\\it "is"\x7f')
        await page.get_by_role("button", name="Add argument").click()
        await page.get_by_label("Argument 2", exact=True).fill("[x] = 'é'")
        assert await desk.problems() == []
        lines = [
            await page.get_by_label(label, exact=True).inner_text()
            for label in ("What new blocks begin with", "The new agent")
        ]

    config = tmp_path / "config.toml"
    config.write_text("\n".join(lines), "utf-8")
    settings = read_settings({"POLLUX_CONFIG": str(config), "POLLUX_HOME": str(tmp_path)}, cwd=tmp_path)
    meant = agents_of(settings)
    assert meant.default_timeout == 90
    assert meant.default_capabilities == AgentCapabilities(read_files=True, execute_commands=True)
    assert meant.agents["ours.2"] == AgentEntry('C:\\it "is"\x7f', ("--acp", "[x] = 'é'"), "An agent of our own")
