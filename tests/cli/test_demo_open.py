"""What is behind the demo's three links: a console with something in it, a shop, an outbox, and a runbook."""

import re
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import pytest_asyncio
from playwright.async_api import expect
from tests.cli.demos import PATIENCE, Running, running
from tests.http.browsing import browser, needs_chromium
from tests.waiting import HANG_SECONDS, until

from pollux.cli.demo.opened import IN_THE_SHOP
from pollux.cli.demo.place import RUNBOOKS
from pollux.cli.demo_shop import PROMPTS, is_built

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]
PATIENT = HANG_SECONDS * 1000
EXAMPLES = Path(__file__).parents[2] / "examples/runbooks"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def demo(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Running]:
    """One for all of them: none of them changes what another looks at."""
    async with running(tmp_path_factory.mktemp("demo")) as opened:
        await opened.hears("you> ")
        yield opened


async def test_what_is_there_to_begin_with_was_made_by_the_real_server(demo: Running):
    threads = (await demo.call("GET", "/api/agent/threads"))["items"]
    runs = (await demo.call("GET", "/api/agent/runs"))["items"]
    pending = (await demo.call("GET", "/api/agent/approvals/pending"))["items"]
    grants = (await demo.call("GET", "/api/agent/grants"))["items"]
    assert len(threads) == 5
    assert sorted(run["state"] for run in runs) == ["awaiting_confirmation", *["completed"] * 4]
    assert [item["subjects"] for item in pending] == [["carol@example.com"]]
    assert [(grant["tool"], grant["subject"]) for grant in grants] == [("gmail_send", "team@example.com")]
    assert (await demo.call("GET", "/api/agent/audit/verify"))["valid"]
    assert (await demo.call("GET", "/api/google/status"))["connected"]


async def test_the_link_to_the_console_signs_in(demo: Running):
    async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as http:
        async with http.get(demo.links["console"], allow_redirects=False) as answer:
            assert (answer.status, answer.headers["location"]) == (303, "/console")
        async with http.get(f"{demo.url}/api/session") as answer:
            assert (await answer.json())["user"] == "local"


async def test_the_outbox_shows_what_was_sent_and_nothing_else(demo: Running):
    async with aiohttp.ClientSession() as http, http.get(demo.links["outbox"]) as answer:
        page = await answer.text()
    assert answer.status == 200
    assert re.findall(r"\w+@example\.com", page) == ["dora@example.com", "team@example.com"]


async def test_the_link_to_the_shop_leads_there_and_what_to_ask_is_said(demo: Running):
    async with aiohttp.ClientSession() as http:
        async with http.get(demo.links["shop"]) as answer:
            assert answer.status == 200 and "The Tea Cupboard" in await answer.text()
        async with http.get(demo.url + "/pollux.js") as answer:
            assert answer.status in (200, 404)
    assert all(f"  {prompt}\n" in demo.told for prompt in IN_THE_SHOP)
    assert set(IN_THE_SHOP) <= set(PROMPTS)


@needs_chromium
@pytest.mark.skipif(not is_built(), reason="the browser side is not built; make web")
async def test_somebody_who_came_from_the_console_orders_what_the_demo_suggests(demo: Running):
    async with browser() as chromium:
        page = await chromium.new_page()
        await page.goto(demo.links["console"])
        assert page.url.startswith(f"{demo.url}/console")
        await page.goto(demo.links["shop"])
        chat, box = page.locator("pollux-chat"), page.locator("pollux-chat textarea")
        for prompt, answer in zip(IN_THE_SHOP, ("for Blue mug twice", "order the cart for £19.00"), strict=True):
            await box.fill(prompt)
            await box.press("Enter")
            await expect(chat).to_contain_text(answer, timeout=PATIENT)
        await page.get_by_role("button", name="Approve", exact=True).click(timeout=PATIENT)
        await expect(chat).to_contain_text("The order is placed: number 1", timeout=PATIENT)


async def test_the_runbook_runs_to_its_end(demo: Running):
    [document] = (await demo.call("GET", "/api/runbooks"))["items"]
    assert document["name"] == "What is left to do"
    body = {"path": document["path"], "digest": document["digest"]}
    run = await demo.call("POST", "/api/runbooks/runs", body)
    answered: set[str] = set()

    async def ended() -> Any:
        now = await demo.call("GET", f"/api/runbooks/runs/{run['runId']}")
        for asked in now["approvals"]:
            if asked["id"] not in answered:
                answered.add(asked["id"])
                body = {"approvalId": asked["id"], "decision": "approve_once"}
                await demo.call("POST", "/api/agent/approvals/resolve?wait=0", body)
        return now if now["state"] in ("completed", "failed", "cancelled") else None

    run = await until(ended, seconds=PATIENCE)
    assert (run["state"], run["error"]) == ("completed", "")


async def test_the_runbook_is_that_of_the_examples():
    # What Python makes beside them is nobody's example.
    kept = [path for path in sorted(EXAMPLES.rglob("*")) if path.suffix in (".atrb", ".py", ".txt")]
    names = [path.relative_to(EXAMPLES) for path in kept]
    assert len(names) == 4
    assert [name for name in names if (RUNBOOKS / name).read_bytes() != (EXAMPLES / name).read_bytes()] == []
