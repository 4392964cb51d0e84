"""Conversations in a real browser: said once, followed through troubles, stopped, approved, with files, by keyboard."""

import json
import struct
import zlib
from collections.abc import AsyncGenerator

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Locator, Page, Request, Route, expect
from tests.console.lab import CONFIG, MAIL, PATIENT, Desk, Lab, lab
from tests.http.browsing import needs_chromium
from tests.http.site import TOKENS, Person
from tests.waiting import until
from tests.web.bundles import needs_web
from tests.web.shared_browser import in_browser

pytestmark = [needs_chromium, needs_web, pytest.mark.slow, in_browser]

SLOW = """
[profiles.slow]
model = "gemini-3.8-flash--slow-every60"
"""
COUNTED = "\n".join(str(number) for number in range(1, 31))
WORTH_SEARCHING = 6
"""So many conversations can be searched."""
EVENTS = "**/api/agent/runs/*/events*"
BEGIN = "**/api/agent/run/stream"


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def place(chromium: Browser, tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Lab]:
    async with lab(chromium, tmp_path_factory.mktemp("threads"), config=CONFIG + SLOW) as opened:
        yield opened


async def test_a_newcomer_tries_a_prompt_and_has_a_conversation(place: Lab):
    async with place.desk(name="bob") as desk:
        await desk.sees("Welcome to Pollux")
        assert await desk.page.locator(".welcome button").count() == 3
        await desk.page.get_by_role("button", name="Ask what it can do").click()
        await expect(_said(desk.page, "Agent")).to_contain_text("demo model, rule-based", timeout=PATIENT)
        await expect(desk.page).to_have_url(f"{place.url}/console#/threads/{await _last_thread(place, 'bob')}")
        await expect(_row(desk, "What can you do?")).to_have_attribute("aria-current", "true")
        spent = desk.page.locator(".spent")
        await expect(spent).to_contain_text("tokens")
        await expect(spent).to_contain_text("$")
        await expect(spent.get_by_role("link", name="Timeline")).to_be_visible()
        await expect(_field(desk)).to_be_focused()
        # It is the same after a reload, and nobody else sees it.
        await desk.page.reload()
        await expect(_said(desk.page, "You")).to_have_text("What can you do?", timeout=PATIENT)
        await expect(_said(desk.page, "Agent")).to_have_count(1)
    async with place.desk() as other:
        await other.open(f"threads/{await _last_thread(place, 'bob')}")
        await other.sees("There is no such conversation.")
        other.troubles.clear()


async def test_an_answer_is_shown_as_it_comes_and_can_be_stopped(place: Lab):
    async with place.desk() as desk:
        await _begin(desk, "count to 900", profile="slow")
        await expect(_said(desk.page, "Agent")).to_contain_text("3", timeout=PATIENT)
        await expect(desk.page.get_by_role("log")).to_have_attribute("aria-busy", "true")
        await expect(_row(desk, "count to 900").locator(".badge")).to_have_text("at work", timeout=PATIENT)
        await desk.page.get_by_role("button", name="Stop").click()
        await desk.sees("It was stopped.")
        await expect(desk.page.get_by_role("log")).to_have_attribute("aria-busy", "false")
        await expect(desk.page.get_by_role("button", name="Stop")).to_have_count(0)
        await expect(_field(desk)).to_be_focused()


async def test_a_question_is_answered_where_it_came_up_and_done_once(place: Lab):
    async with place.desk() as desk:
        await _begin(desk, MAIL.format("carol@example.com"))
        await expect(desk.page.get_by_role("group", name="E-mail to carol@example.com")).to_be_visible(timeout=PATIENT)
        await expect(_row(desk, "carol").locator(".badge")).to_have_text("waits for you", timeout=PATIENT)
        assert await desk.problems() == []
        await _press(desk.page.get_by_role("button", name="Approve once"))
        deed = desk.page.locator(".deed")
        await expect(deed).to_contain_text("done", timeout=PATIENT)
        await expect(_said(desk.page, "Agent")).to_contain_text("demo_mail returned", timeout=PATIENT)
        await deed.locator("summary").first.click()
        await expect(deed.locator("table")).to_contain_text("carol@example.com")
        await expect(deed.get_by_label("Result")).to_contain_text('"sent": true')
        assert await desk.problems() == []
        # As messages tell it, once it is not the last run any more.
        await _say(desk, "say thanks")
        await expect(_said(desk.page, "Agent").last).to_have_text("thanks", timeout=PATIENT)
        await desk.page.reload()
        await expect(_said(desk.page, "You")).to_have_text(
            [MAIL.format("carol@example.com"), "say thanks"], timeout=PATIENT
        )
        await expect(deed).to_contain_text("done")
        await expect(_said(desk.page, "Note")).to_contain_text("Approval needed")
    assert _sent(place).count("carol@example.com") == 1


async def test_a_run_that_waits_keeps_no_connection_and_goes_on_when_answered_elsewhere(place: Lab):
    async with place.desk() as desk:
        open_streams = _streams(desk.page)
        await _begin(desk, MAIL.format("dave@example.com"))
        await expect(desk.page.get_by_role("button", name="Approve once")).to_be_visible(timeout=PATIENT)
        await until(lambda: not open_streams)
        run = (await place.ada.get("/api/agent/runs?limit=1")).body["items"][0]
        approval = (await place.ada.get(f"/api/agent/runs/{run['runId']}")).body["approvals"][0]["id"]
        await place.ada.resolve(approval, "reject", feedback="not today")
        await expect(desk.page.locator(".deed")).to_contain_text("not allowed", timeout=PATIENT)
        await expect(desk.page.get_by_role("button", name="Approve once")).to_have_count(0)


async def test_who_speaks_while_the_agent_is_at_work_may_stop_it_and_send(place: Lab):
    async with place.desk() as desk:
        await _begin(desk, MAIL.format("erin@example.com"))
        await expect(desk.page.get_by_role("button", name="Approve once")).to_be_visible(timeout=PATIENT)
        await _say(desk, "say never mind")
        alert = desk.page.get_by_role("alert")
        await expect(alert).to_contain_text("waits for your answer to 1 question", timeout=PATIENT)
        await expect(_field(desk)).to_have_value("say never mind")
        await alert.get_by_role("button", name="Not now").click()
        await expect(alert).to_have_count(0)
        await _field(desk).press("Enter")
        await alert.get_by_role("button", name="Stop it and send").click()
        await expect(_said(desk.page, "Agent")).to_have_text("never mind", timeout=PATIENT)
        await expect(desk.page.locator(".deed")).to_contain_text("not done")
        await expect(_field(desk)).to_have_value("")
        assert _sent(place).count("erin@example.com") == 0
        assert all("409" in trouble for trouble in desk.troubles)
        desk.troubles.clear()


async def test_a_run_goes_on_after_a_reload_and_one_begun_elsewhere_comes_up(place: Lab):
    async with place.desk() as desk:
        await _begin(desk, "count to 30", profile="slow")
        await expect(_said(desk.page, "Agent")).to_contain_text("2", timeout=PATIENT)
        await desk.page.reload()
        await expect(_said(desk.page, "Agent")).to_have_text(COUNTED, timeout=PATIENT, use_inner_text=True)
        await expect(desk.page.locator(".spent")).to_contain_text("tokens", timeout=PATIENT)
        thread = desk.page.url.rsplit("/", 1)[1]
        await place.ada.run("say from elsewhere", threadId=thread)
        await expect(_said(desk.page, "Agent").last).to_have_text("from elsewhere", timeout=PATIENT)
        await expect(_said(desk.page, "You")).to_have_text(["count to 30", "say from elsewhere"])


async def test_a_connection_that_breaks_midway_costs_nothing_and_says_nothing_twice(place: Lab):
    async with place.desk() as desk:
        asked: list[str] = []

        async def cut(route: Route) -> None:
            asked.append(route.request.url)
            if len(asked) > 2:
                await route.continue_()
                return
            # So much of it as there is after a while, and never its end: a busy browser may ask when the run is over.
            path = route.request.url.removeprefix(place.url)
            told = b""
            async with place.ada.open("GET", path) as answer:
                async for line in answer.content:
                    kind = json.loads(line)["type"]
                    if kind == "RunCompleted":
                        break
                    told += line
                    if kind == "delta" and len(told) > 600 * len(asked):
                        break
            await route.fulfill(body=told, content_type="application/x-ndjson")

        await desk.page.route(EVENTS, cut)
        await _begin(desk, "count to 30", profile="slow")
        await desk.sees("The connection broke.")
        await expect(_said(desk.page, "Agent")).to_have_text(COUNTED, timeout=PATIENT, use_inner_text=True)
        await expect(desk.page.get_by_text("The connection broke.")).to_have_count(0)
        assert len(asked) == 3 and "after=0" in asked[0] and "after=0" not in asked[2]


async def test_a_prompt_whose_answer_was_lost_is_not_sent_twice(place: Lab):
    async with place.desk() as desk:
        keys: list[str] = []

        async def lose(route: Route) -> None:
            keys.append(route.request.headers["idempotency-key"])
            if len(keys) > 1:
                await route.continue_()
                return
            await route.fetch()
            await route.abort()

        await desk.page.route(BEGIN, lose)
        before = len(await _runs(place))
        await _begin(desk, "say it once")
        await expect(_said(desk.page, "Agent")).to_have_text("it once", timeout=PATIENT)
        await expect(_said(desk.page, "You")).to_have_count(1)
        assert len(keys) == 2 and len(set(keys)) == 1 and len(await _runs(place)) == before + 1
        desk.troubles.clear()


async def test_files_are_picked_pasted_and_dropped_and_come_back(place: Lab):
    async with place.desk() as desk:
        await desk.open("threads/new")
        chosen = [("chart.png", "image/png", _png()), ("notes.md", "", b"# Notes"), ("a.exe", "", b"MZ")]
        await desk.page.get_by_label("Files", exact=True).set_input_files(
            [{"name": name, "mimeType": kind, "buffer": data} for name, kind, data in chosen]
        )
        files = desk.page.get_by_role("list", name="Files to send")
        await expect(files.get_by_role("listitem")).to_have_count(2)
        assert (await files.locator("img").get_attribute("src") or "").startswith("blob:")
        await expect(desk.page.get_by_role("alert")).to_have_text("a.exe is of a type that models do not take.")
        await desk.page.evaluate(GIVE, ["paste", "pasted.csv"])
        await desk.page.evaluate(GIVE, ["drop", "dropped.json"])
        await expect(files.get_by_role("listitem")).to_have_count(4)
        await desk.page.get_by_role("button", name="Remove notes.md").click()
        await expect(files.get_by_role("listitem")).to_have_count(3)
        await desk.sees("Say what to do with it.")
        assert await desk.problems() == []
        await _say(desk, "What is this?")
        await expect(files).to_have_count(0)
        sent = desk.page.get_by_role("list", name="Attached")
        for _ in range(2):
            await expect(sent.get_by_role("link")).to_have_text(
                [f"chart.png{len(_png())} B", "pasted.csv3 B", "dropped.json3 B"], timeout=PATIENT
            )
            await expect(sent.locator("img")).to_have_js_property("naturalWidth", 16)
            await expect(_said(desk.page, "Agent")).to_contain_text("image/png")
            await desk.page.reload()


async def test_keys_drafts_and_words_that_are_still_being_composed(place: Lab):
    async with place.desk() as desk:
        run = await place.ada.run("say hello")
        await desk.open(f"threads/{run['threadId']}")
        field = _field(desk)
        await field.fill("one")
        await field.press("Shift+Enter")
        await field.press_sequentially("two")
        await expect(field).to_have_value("one\ntwo")
        await field.dispatch_event("keydown", {"key": "Enter", "isComposing": True})
        # What was about to be said stays where it was about to be said, also after a reload.
        await desk.page.get_by_role("link", name="New conversation").click()
        await expect(field).to_have_value("")
        await desk.page.go_back()
        await expect(field).to_have_value("one\ntwo")
        await desk.page.reload()
        await expect(field).to_have_value("one\ntwo", timeout=PATIENT)
        await expect(_said(desk.page, "You")).to_have_count(1, timeout=PATIENT)
        await field.press("Enter")
        await expect(_said(desk.page, "You")).to_have_count(2, timeout=PATIENT)
        await expect(field).to_have_value("")
        await field.press("Enter")
        await expect(_said(desk.page, "Agent")).to_have_count(2, timeout=PATIENT)


async def test_a_conversation_is_renamed_and_erased_with_a_question(place: Lab):
    async with place.desk() as desk:
        run = await place.ada.run("say the first title")
        await desk.open(f"threads/{run['threadId']}")
        await desk.page.get_by_role("button", name="Rename").click()
        await desk.page.get_by_label("Title", exact=True).fill("Another title")
        await desk.page.get_by_role("button", name="Save").click()
        await expect(desk.page.get_by_role("heading", level=2, name="Another title")).to_be_visible()
        await expect(_row(desk, "Another title")).to_be_visible()
        await desk.page.get_by_role("button", name="Erase").click()
        await desk.page.get_by_role("dialog").get_by_role("button", name="Keep it").click()
        assert (await place.ada.get(f"/api/agent/threads/{run['threadId']}")).status == 200
        await desk.page.get_by_role("button", name="Erase").click()
        assert await desk.problems() == []
        await desk.page.get_by_role("dialog").get_by_role("button", name="Erase").click()
        await expect(_row(desk, "Another title")).to_have_count(0)
        assert (await place.ada.get(f"/api/agent/threads/{run['threadId']}")).status == 404
        await expect(desk.page).to_have_url(f"{place.url}/console#/threads")


async def test_long_conversations_are_read_from_their_end_and_stay_where_the_reader_is(place: Lab):
    thread = (await place.ada.run("say number 0"))["threadId"]
    for number in range(1, 17):
        await place.ada.run(f"say number {number}", threadId=thread)
    async with place.desk(viewport={"width": 1200, "height": 500}) as desk:
        await desk.open(f"threads/{thread}")
        log = desk.page.get_by_role("log")
        await expect(_said(desk.page, "Agent").last).to_have_text("number 16", timeout=PATIENT)
        await expect(_said(desk.page, "Agent").last).to_be_in_viewport()
        await log.evaluate("log => log.scrollTo({top: 0})")
        await expect(desk.page.get_by_role("button", name="Latest")).to_be_visible()
        # Somebody says something elsewhere: who reads is left in peace.
        await place.ada.run("say number 17", threadId=thread)
        await expect(_said(desk.page, "Agent").last).to_have_text("number 17", timeout=PATIENT)
        first = _said(desk.page, "You").first
        await expect(first).to_be_in_viewport()
        shown = _said(desk.page, "You").filter(has_text=await first.inner_text()).first
        before = await shown.bounding_box()
        await desk.page.get_by_role("button", name="Show earlier").click()
        await expect(_said(desk.page, "You").first).to_have_text("say number 0", timeout=PATIENT)
        await expect(_said(desk.page, "You")).to_have_count(18)
        after = await shown.bounding_box()
        assert before and after and abs(after["y"] - before["y"]) < 5
        await desk.page.get_by_role("button", name="Latest").click()
        await expect(_said(desk.page, "Agent").last).to_be_in_viewport()
        await _say(desk, "say number 18")
        await expect(_said(desk.page, "Agent").last).to_have_text("number 18", timeout=PATIENT)
        await expect(_said(desk.page, "Agent").last).to_be_in_viewport()


async def test_a_failure_is_told_and_nothing_that_was_written_is_read_as_html(place: Lab):
    async with place.desk() as desk:
        await _begin(desk, 'say <img src=x onerror="alert(1)"> <b>bold</b>')
        await expect(_said(desk.page, "Agent")).to_contain_text("<b>bold</b>", timeout=PATIENT)
        assert await desk.page.locator(".said img, .said b").count() == 0
        await _say(desk, "call nothing_of_that_name {}")
        await expect(desk.page.locator(".ending .notice.bad")).to_be_visible(timeout=PATIENT)


async def test_a_server_that_is_gone_is_told_and_comes_back(place: Lab):
    async with place.desk() as desk:
        thread = (await place.ada.run("say I am back"))["threadId"]
        await desk.page.route("**/api/agent/**", lambda route: route.abort())
        await desk.open(f"threads/{thread}")
        await desk.sees("The server cannot be reached.")
        await desk.page.unroute("**/api/agent/**")
        await expect(_said(desk.page, "Agent")).to_have_text("I am back", timeout=PATIENT)
        await expect(desk.page.get_by_text("The server cannot be reached.")).to_have_count(0, timeout=PATIENT)
        desk.troubles.clear()


@pytest.mark.parametrize("colours", ["light", "dark"])
async def test_it_is_accessible_and_fits_narrow_screens(place: Lab, colours: str):
    for number in range(WORTH_SEARCHING):
        await place.ada.run(f"say {number}")
    thread = (await place.ada.run(f"say {'W' * 300} שלום 👋🏽"))["threadId"]
    await place.ada.run(MAIL.format(f"{'x' * 60}@example.com"), threadId=thread)
    async with place.desk(color_scheme=colours, viewport={"width": 360, "height": 700}) as desk:
        for where in ("threads", "threads/new", f"threads/{thread}"):
            await desk.open(where)
            if where.endswith(thread):
                # The question from its beginning, rather than its buttons.
                await expect(desk.page.locator(".asked h3")).to_be_in_viewport(timeout=PATIENT)
            assert await desk.problems() == [], where
            assert await desk.page.evaluate("document.documentElement.scrollWidth") <= 360, where
        await desk.page.get_by_role("link", name="Conversations", exact=True).click()
        await expect(desk.page.get_by_label("Search by title")).to_be_visible()
        await desk.page.get_by_label("Search by title").fill("never said")
        await desk.sees("has “never said” in its title")


GIVE = """([type, name]) => {
  const given = new DataTransfer();
  given.items.add(new File(["1,2"], name));
  const field = document.querySelector("textarea");
  const event = type === "paste"
    ? new ClipboardEvent("paste", {clipboardData: given, bubbles: true, cancelable: true})
    : new DragEvent("drop", {dataTransfer: given, bubbles: true, cancelable: true});
  field.dispatchEvent(event);
}"""


def _field(desk: Desk) -> Locator:
    return desk.page.get_by_label("Message", exact=True)


def _said(page: Page, who: str) -> Locator:
    return page.get_by_role("log").get_by_role("article", name=who, exact=True)


def _row(desk: Desk, title: str) -> Locator:
    return (
        desk.page.get_by_role("region", name="All conversations")
        .get_by_role("listitem")
        .get_by_role("link", name=title)
        .first
    )


async def _begin(desk: Desk, text: str, *, profile: str = "") -> None:
    """A new conversation that begins with this."""
    await desk.open("threads/new")
    if profile:
        await desk.page.get_by_label("Agent", exact=True).select_option(profile)
    await _say(desk, text)


async def _say(desk: Desk, text: str) -> None:
    await _field(desk).fill(text)
    await _field(desk).press("Enter")


async def _press(button: Locator) -> None:
    """Once it can be meant: a question that has just come up approves nothing."""
    await expect(button).not_to_have_attribute("aria-disabled", "true", timeout=PATIENT)
    await button.click()


def _streams(page: Page) -> set[Request]:
    """The requests for journals that are under way."""
    found: set[Request] = set()

    def began(request: Request) -> None:
        if "/events" in request.url:
            found.add(request)

    def ended(request: Request) -> None:
        found.discard(request)

    page.on("request", began)
    page.on("requestfinished", ended)
    page.on("requestfailed", ended)
    return found


async def _runs(place: Lab) -> list[object]:
    return (await place.ada.get("/api/agent/runs?limit=100")).body["items"]


async def _last_thread(place: Lab, name: str) -> str:
    return (await Person(place.http, place.url, TOKENS[name]).get("/api/agent/threads?limit=1")).body["items"][0]["id"]


def _sent(place: Lab) -> list[str]:
    outbox = place.home / "home/outbox.jsonl"
    return [json.loads(line)["to"] for line in outbox.read_text().splitlines()] if outbox.exists() else []


def _png() -> bytes:
    """A red picture."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + b"\xc0\x20\x30" * 16 for _ in range(16))
    head = struct.pack(">IIBBBBB", 16, 16, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
