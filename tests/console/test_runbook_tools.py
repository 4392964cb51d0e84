"""A tool of an own agent that a person always allows in its session, from the page of the run."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, expect
from tests.cli.test_offered_scopes import TWO_FILES
from tests.console.lab import PATIENT, Lab, lab
from tests.console.test_runbooks import runs
from tests.http.browsing import needs_chromium
from tests.runbooks.http.site import put
from tests.web.bundles import needs_web
from tests.web.shared_browser import in_browser

pytestmark = [needs_chromium, needs_web, pytest.mark.slow, in_browser]


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def place(chromium: Browser, tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Lab]:
    path: Path = tmp_path_factory.mktemp("runbooks")
    put(path / "runbooks", "two.atrb", TWO_FILES)
    async with lab(chromium, path) as opened:
        yield opened


async def test_a_tool_of_an_own_agent_is_always_allowed_in_its_session(place: Lab):
    async with place.desk() as desk:
        await runs(desk, "two.atrb")
        dialog = desk.page.get_by_role("dialog")
        await expect(dialog).to_contain_text("a.txt", timeout=PATIENT)
        whole = dialog.get_by_label("Always allow write_file in this session")
        these = dialog.get_by_label("Always allow write_file for a.txt in this session")
        await these.check()
        await whole.check()
        await expect(these).not_to_be_checked()
        assert await desk.problems() == []
        await dialog.get_by_role("button", name="Allow").click()
        await desk.sees("1 block done.")
        (grant,) = (await place.ada.get("/api/agent/grants")).body["items"]
        assert (grant["subject"], grant["scope"]) == ("any arguments", "session")
        await desk.page.goto(desk.page.url.split("#")[0] + "#/grants")
        await expect(desk.page.get_by_role("cell", name="any arguments", exact=True)).to_be_visible()
    assert (place.home / "runbooks/b.txt").read_text().strip() == "milk"
