"""The runs: a list of them, and one from its first event to its last, also while it goes on."""

import json
from collections.abc import AsyncGenerator
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Locator, Route, expect
from tests.console.lab import CONFIG, MAIL, PATIENT, Desk, Lab, lab
from tests.console.line import line_to
from tests.http.browsing import needs_chromium, opens_link
from tests.http.site import TOKENS
from tests.runbooks.http.site import begun, ended
from tests.runbooks.lab import block, document, script
from tests.web.bundles import needs_web
from tests.web.shared_browser import in_browser

pytestmark = [needs_chromium, needs_web, pytest.mark.slow, in_browser]

# A tool that is lost midway, a rule that forbids, and a model that says a little and then nothing more.
MORE = """
[tools.launch]
use = "tests.console.acting:launch"

[profiles.default]
[profiles.stuck]
model = "gemini-3.8-flash--idle-after2"

[[rules]]
decision = "deny"
tool = "demo_mail"
subjects = ["*@rival.example"]
reason = "we do not write to rivals"
"""


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def place(chromium: Browser, tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Lab]:
    async with lab(chromium, tmp_path_factory.mktemp("runs"), config=CONFIG + MORE) as opened:
        yield opened


async def _mailed(place: Lab, recipient: str, decision: str = "approve_once", **more: Any) -> dict[str, Any]:
    got = await place.ada.resolve(await place.asks(recipient), decision, **more)
    return got.body["run"]


def _events(desk: Desk) -> Locator:
    return desk.page.locator(".event:not(.live) h3")


async def test_the_list_says_what_was_asked_and_what_became_of_it(place: Lab):
    run = await _mailed(place, "list@example.com")
    await place.ada.run("send an email to list@rival.example saying hello")
    async with place.desk() as desk:
        await desk.open("runs")
        row = desk.page.get_by_role("row").filter(has_text="list@example.com")
        await expect(row).to_contain_text(f"completedgemini-3.8-flash{run['usage']['total']:,}$0.00")
        await expect(desk.page.get_by_role("row").filter(has_text="list@rival.example")).to_be_visible()
        await desk.page.get_by_label("Show").select_option("Waiting for a person")
        await expect(desk.page).to_have_url(f"{place.url}/console#/runs?state=awaiting_confirmation")
        await expect(row).to_have_count(0)
        assert await desk.problems() == []
        await desk.page.go_back()
        await desk.open("runs")
        await desk.page.get_by_role("link", name="list@example.com").click()
        await expect(desk.page).to_have_url(f"{place.url}/console#/runs/{run['runId']}")


async def test_a_run_is_told_event_by_event_in_words(place: Lab):
    run = await _mailed(place, "told@example.com", "approve_and_always_allow_recipient")
    async with place.desk() as desk:
        await desk.open(f"runs/{run['runId']}")
        await expect(_events(desk)).to_have_text(
            [
                "ada asked", "Work begins", "The model is asked", "The model wants to call demo_mail",
                "demo_mail needs a person's approval", "ada approved demo_mail", "demo_mail begins",
                "demo_mail is done", "The model is asked", "The model answered", "The run is completed",
            ],
            timeout=PATIENT,
        )  # fmt: skip
        events = desk.page.locator(".event")
        await expect(events.nth(3)).to_contain_text("Tokens in")
        await expect(events.nth(3)).to_contain_text("$0.00")
        await expect(events.nth(4)).to_contain_text("The policy: side effects need a person's approval.")
        await expect(events.nth(4)).to_contain_text("Words came fromthe user")
        await expect(events.nth(5)).to_contain_text("Also always for these recipients.")
        await expect(desk.page.get_by_role("img", name="Where")).to_have_count(1)
        assert "RunStarted" not in await desk.page.inner_text("main") and "ModelCalled" not in await desk.page.content()
        arguments = events.nth(4).get_by_text("Exact arguments")
        await arguments.press("Enter")
        await expect(events.nth(4).get_by_role("row", name="to told@example.com")).to_be_visible()
        await events.nth(7).get_by_text("Result").click()
        await expect(events.nth(7)).to_contain_text('"sent": true')
        assert await desk.problems() == []
        await desk.page.get_by_role("link", name="Audit of this run").click()
        await expect(desk.page.get_by_label("Run")).to_have_value(run["runId"], timeout=PATIENT)


async def test_what_was_refused_or_rejected_says_by_whom_and_why(place: Lab):
    refused = await place.ada.run("send an email to sales@rival.example saying hello")
    rejected = await _mailed(place, "no@example.com", "reject", feedback="Not <b>now</b>")
    async with place.desk(color_scheme="dark") as desk:
        await desk.open(f"runs/{refused['runId']}")
        await desk.sees("demo_mail is refused by the policy")
        await desk.sees("The policy: we do not write to rivals.")
        await desk.open(f"runs/{rejected['runId']}")
        await desk.sees("ada rejected demo_mail")
        await desk.sees("Not <b>now</b>")
        assert await desk.problems() == []


async def test_a_run_that_goes_on_is_followed_and_its_end_is_said(place: Lab):
    run = await place.ada.run(MAIL.format("live@example.com"))
    async with place.desk() as desk:
        await desk.open(f"runs/{run['runId']}")
        await expect(desk.page.get_by_role("link", name="demo_mail waits for you")).to_be_visible(timeout=PATIENT)
        await place.ada.resolve(run["approvals"][0]["id"])
        await expect(_events(desk).last).to_have_text("The run is completed", timeout=PATIENT)
        await expect(desk.page.get_by_role("status").filter(has_text="The run is completed.")).to_be_visible()
        await expect(desk.page.get_by_role("button", name="Stop")).to_have_count(0)


async def test_text_is_shown_as_it_comes_and_the_run_can_be_stopped(place: Lab):
    async with place.ada.open(
        "POST", "/api/agent/run/stream", {"prompt": "tell me a long story", "profile": "stuck"}
    ) as lines:
        told = json.loads(await lines.content.readline())
        async with place.desk() as desk:
            await desk.open(f"runs/{told['runId']}")
            await expect(desk.page.locator(".live .quote")).not_to_be_empty(timeout=PATIENT)
            assert await desk.problems() == []
            await desk.page.get_by_role("button", name="Stop", exact=True).click()
            await desk.page.get_by_role("button", name="Let it go on").click()
            await expect(desk.page.get_by_role("dialog")).to_have_count(0)
            await desk.page.get_by_role("button", name="Stop", exact=True).click()
            await desk.page.get_by_role("button", name="Stop the run").click()
            await expect(_events(desk).last).to_have_text("The run has stopped", timeout=PATIENT)
            await desk.sees("ada asked it to stop")
            await expect(desk.page.locator(".live")).to_have_count(0)


async def test_a_line_that_was_cut_is_taken_up_where_it_broke(place: Lab):
    run = await place.ada.run(MAIL.format("cut@example.com"))
    async with line_to(place.url) as line, place.desk(name="") as desk:
        desk.url = line.url
        await opens_link(desk.page, line.url, TOKENS["ada"])
        await desk.open(f"runs/{run['runId']}")
        await expect(_events(desk)).to_have_count(5, timeout=PATIENT)
        await line.cut()
        await desk.sees("The connection broke. It is tried again")
        await place.ada.resolve(run["approvals"][0]["id"])
        await line.mend()
        await expect(_events(desk).last).to_have_text("The run is completed", timeout=PATIENT)
        await expect(_events(desk)).to_have_count(11)
        await expect(desk.page.get_by_text("The connection broke")).to_have_count(0)
        # The browser itself reports each request that came to nothing, and each to another port.
        desk.troubles.clear()


async def test_who_asked_too_often_is_told_of_the_run_all_the_same(place: Lab):
    run = await place.ada.run("say hello")
    refused: list[str] = []

    async def takes_few(route: Route) -> None:
        refused.append(route.request.url)
        if len(refused) > 1:
            return await route.continue_()
        return await route.fulfill(status=429, content_type="application/json", body="{}")

    async with place.desk() as desk:
        await desk.page.route("**/events?*", takes_few)
        await desk.open(f"runs/{run['runId']}")
        await expect(_events(desk).last).to_have_text("The run is completed", timeout=PATIENT)
        # The browser itself reports the refusal.
        desk.troubles.clear()


async def test_an_outcome_that_nobody_knows_is_shown_and_also_who_found_out(place: Lab):
    run = await place.ada.run("launch the probe Voyager")
    got = await place.ada.resolve(run["approvals"][0]["id"])
    action = got.body["run"]["actions"][0]["id"]
    async with place.desk() as desk:
        await desk.open(f"runs/{run['runId']}")
        await desk.sees("Nobody knows whether launch happened")
        assert await desk.problems() == []
        await place.ada.post(f"/api/agent/actions/{action}/settle", {"outcome": "done"})
        await desk.page.reload()
        await desk.sees("ada found out: launch happened")


async def test_a_run_of_somebody_else_looks_like_none(place: Lab):
    run = await place.ada.run("add 2 and 3")
    async with place.desk(name="bob") as desk:
        await desk.open(f"runs/{run['runId']}")
        await expect(desk.page.get_by_role("heading", name="No such run")).to_be_visible(timeout=PATIENT)
        # The browser itself reports the refusals.
        assert all("404" in trouble for trouble in desk.troubles)
        desk.troubles.clear()


async def test_a_long_journal_is_shown_in_parts(place: Lab):
    run = await place.ada.run("add 2 and 3")
    lines = await place.ada.lines("GET", f"/api/agent/runs/{run['runId']}/events")
    called = next(line for line in lines if line["type"] == "ModelCalled")
    many = [lines[0], *({**called, "seq": n} for n in range(2, 3_000)), {**lines[-1], "seq": 3_000}]

    async def answer(route: Route) -> None:
        after = int(route.request.url.rpartition("=")[2])
        told = [json.dumps(line) for line in many if line["seq"] > after]
        await route.fulfill(body="\n".join([*told, ""]), content_type="application/x-ndjson")

    async with place.desk() as desk:
        await desk.page.route("**/events?*", answer)
        await desk.open(f"runs/{run['runId']}")
        await expect(_events(desk)).to_have_count(200, timeout=PATIENT)
        await desk.page.get_by_role("button", name="Show 200 earlier of 2,800 more events").click()
        await expect(_events(desk)).to_have_count(400)


async def test_a_runbook_within_a_runbook_is_a_run_that_one_can_go_to_and_come_back_from(place: Lab):
    (place.home / "runbooks/inner.atrb").write_text(document(script("echo", "echo inner"), name="Inner"))
    part = block("sub-runbook", "part", runbookPath="inner.atrb")
    (place.home / "runbooks/outer.atrb").write_text(document(part, name="Outer"))
    # Each is trusted once it was run by itself.
    await ended(place.ada, (await begun(place.ada, "inner.atrb"))["runId"])
    run = await ended(place.ada, (await begun(place.ada, "outer.atrb"))["runId"])
    async with place.desk() as desk:
        await desk.open("runs")
        await desk.page.get_by_role("link", name="Run the runbook “Outer”").click()
        await desk.sees("ada ran the runbook “Outer”")
        await desk.page.get_by_role("link", name="The run that works on it").click()
        await desk.sees("ada ran the runbook “Inner”")
        await desk.page.get_by_role("link", name="Works for another run").click()
        await expect(desk.page).to_have_url(f"{place.url}/console#/runs/{run['runId']}")
        assert await desk.problems() == []


@pytest.mark.parametrize("width", [360, 760, 900, 1400])
async def test_long_words_and_other_scripts_fit_the_page(place: Lab, width: int):
    run = await place.ada.run("Donaudampfschifffahrt" * 8 + " مرحبا 👩‍👩‍👧‍👦")
    # The widest of all states, and many tokens.
    waits = await place.asks(f"{'x' * 20_000}@example.com")
    async with place.desk(viewport={"width": width, "height": 800}) as desk:
        for where in ("runs", f"runs/{run['runId']}"):
            await desk.open(where)
            await desk.sees("Donaudampfschifffahrt")
            assert await desk.page.evaluate("document.documentElement.scrollWidth") <= width
    await place.ada.resolve(waits, "reject", query="?wait=0")
