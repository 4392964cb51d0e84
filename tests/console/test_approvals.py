"""The approvals inbox in a real browser: what is shown, every answer, several at once, keys, and what goes wrong."""

import asyncio
import json
from collections.abc import AsyncGenerator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Locator, Page, Route, expect
from tests.console.acting import CONFIG
from tests.console.lab import MAIL, PATIENT, Desk, Lab, lab
from tests.http.browsing import needs_chromium
from tests.http.site import TOKENS, Person
from tests.runbooks.http.site import asked, begun, ended, put
from tests.runbooks.lab import document
from tests.runbooks.test_foreign_agents import worker
from tests.web.bundles import needs_web
from tests.web.shared_browser import in_browser

pytestmark = [needs_chromium, needs_web, pytest.mark.slow, in_browser]

PENDING = "/api/agent/approvals/pending"
BOOK = (
    'call book {"room": "Blue room", "people": 3, "breakfast": true, "guests": ["ann@example.com", "bo@example.com"],'
    ' "wishes": {"floor": 2}}'
)


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def shared(chromium: Browser, tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Lab]:
    async with lab(chromium, tmp_path_factory.mktemp("approvals"), config=CONFIG) as opened:
        yield opened


@pytest_asyncio.fixture(loop_scope="session")
async def place(shared: Lab) -> AsyncGenerator[Lab]:
    """The same lab for each test, with nothing left to answer."""
    yield shared
    for question in (await shared.ada.get(f"{PENDING}?limit=25")).body["items"]:
        await shared.ada.resolve(question["id"], "reject", query="?wait=0")


def sent_to(place: Lab, recipient: str) -> int:
    outbox = place.home / "home" / "outbox.jsonl"
    lines = outbox.read_text().splitlines() if outbox.exists() else []
    return sum(json.loads(line)["to"] == recipient for line in lines)


def asks(page: Page) -> Locator:
    return page.locator(".ask")


def button(page: Page, name: str) -> Locator:
    return page.get_by_role("button", name=name, exact=True)


async def opens(desk: Desk, approval: str) -> None:
    """Open this question, and look at it for long enough to be believed."""
    await desk.open(f"approvals/{approval}")
    await armed(desk.page)


async def armed(page: Page) -> None:
    await expect(button(page, "Approve once")).to_have_attribute("aria-disabled", "false", timeout=PATIENT)


async def frozen(desk: Desk) -> None:
    """The inbox hears of nothing new from here on: what happens elsewhere comes as a surprise."""
    answer = await desk.page.request.get(desk.url + PENDING + "?limit=25")
    body = await answer.body()

    async def old(route: Route) -> None:
        await route.fulfill(status=200, content_type="application/json", body=body)

    await desk.page.route(f"**{PENDING}*", old)


@pytest.mark.story
async def test_a_question_shows_all_there_is_to_judge_and_is_done_once_when_approved(place: Lab):
    approval = await place.asks("bob@example.com")
    async with place.desk() as desk:
        sent: list[Any] = []
        desk.page.on(
            "request", lambda request: sent.append(request.post_data_json) if "resolve" in request.url else None
        )
        await desk.open("approvals")
        # It is the only one: it is open.
        await armed(desk.page)
        card = desk.page.get_by_role("group", name="E-mail to bob@example.com: Hello")
        for text in ("bodythe report is ready", "Recipientsbob@example.com", "Tooldemo_mail", "only what was asked"):
            await expect(card).to_contain_text(text)
        for text in ("side effects need a person's approval", "the agent “default”", MAIL.format("bob@example.com")):
            await expect(card).to_contain_text(text)
        await expect(asks(desk.page)).to_contain_text("23:59:")
        await expect(card.get_by_role("link", name="Run")).to_have_attribute("href", "#/runs/" + approval_run(approval))
        await button(desk.page, "Approve once").click()
        await desk.sees("Approved, and done.")
        (answer,) = sent
        assert answer["argsHash"] and (answer["approvalId"], answer["decision"]) == (approval, "approve_once")
    assert sent_to(place, "bob@example.com") == 1


def approval_run(approval: str) -> str:
    return "run_" + approval.removeprefix("apr_").rpartition("_")[0]


async def test_a_large_question_can_be_approved_only_once_all_of_it_is_there(place: Lab):
    run = await place.ada.run('call book {"room": "Hall", "people": 3, "breakfast": true, "guests": [], "wishes": '
                              '{"first": "' + "w" * 20_000 + 'the end", "last": "quiet"}}')  # fmt: skip
    approval = run["approvals"][0]["id"]
    (listed,) = (await place.ada.get(PENDING)).body["items"]
    assert listed["truncated"] and "the end" not in str(listed["args"])
    async with place.desk() as desk:
        let_go = asyncio.Event()

        async def held(route: Route) -> None:
            await let_go.wait()
            await route.continue_()

        await desk.page.route(f"**/api/agent/approvals/{approval}", held)
        await desk.open(f"approvals/{approval}")
        await desk.sees("Loading the whole request…")
        for name in ("Approve once", "Edit"):
            await expect(button(desk.page, name)).to_have_count(0)
        await expect(button(desk.page, "Reject")).to_have_count(1)
        await desk.page.keyboard.press("a")
        await desk.page.keyboard.press("a")
        await desk.page.get_by_role("checkbox", name="Select all").or_(desk.page.get_by_role("checkbox").first).check()
        await button(desk.page, "Approve 1…").click()
        dialog = desk.page.get_by_role("dialog")
        await expect(dialog).to_contain_text("Loading the whole request…")
        await expect(dialog.get_by_role("button", name="Approve one question")).to_have_count(0)
        await desk.page.keyboard.press("Escape")
        let_go.set()
        await armed(desk.page)
        await expect(asks(desk.page)).to_contain_text("wwwthe end")
        await button(desk.page, "Approve once").click()
        await desk.sees("Approved, and done.")


async def test_new_questions_are_announced_and_neither_move_anything_nor_take_the_focus(place: Lab):
    async with place.desk() as desk:
        await desk.open("approvals")
        await desk.sees("Nothing waits for you.")
        await opens(desk, await place.asks("first@example.com"))
        approve = button(desk.page, "Approve once")
        await approve.focus()
        before = await approve.bounding_box()
        await place.asks("second@example.com")
        await expect(asks(desk.page)).to_have_count(2, timeout=PATIENT)
        await expect(desk.page.locator(".remark")).to_have_text(
            "A new question waits for you: E-mail to second@example.com: Hello"
        )
        await expect(approve).to_be_focused()
        after = await approve.bounding_box()
        assert before and after
        assert (before["x"], before["y"]) == (after["x"], after["y"])


async def test_always_for_a_recipient_asks_no_more_until_it_is_taken_back(place: Lab):
    approval = await place.asks("carol@example.com")
    async with place.desk() as desk:
        await opens(desk, approval)
        await button(desk.page, "Always for carol@example.com").click()
        await desk.sees("Approved, and done.")
        run = await place.ada.run(MAIL.format("carol@example.com"))
        assert run["status"] == "completed"
        await desk.open("grants")
        await button(desk.page, "Take back demo_mail for carol@example.com").click()
        await desk.sees("Nothing is always allowed.")
    assert await place.asks("carol@example.com")


async def test_edited_arguments_take_the_place_of_the_question(place: Lab):
    await place.ada.run("call read_letter {} then " + BOOK)
    async with place.desk() as desk:
        await desk.open("approvals")
        await desk.sees("the agent had also read what read_letter answered")
        # It is for nobody in particular.
        await expect(desk.page.get_by_role("button", name="Always")).to_have_count(0)
        await button(desk.page, "Edit").click()
        form = desk.page.get_by_role("form", name="Other arguments")
        await expect(form.get_by_label("room")).to_be_focused()
        await form.get_by_label("people").fill("many")
        await button(desk.page, "Ask about these instead").click()
        await expect(form.get_by_role("alert")).to_have_text("This has to be a number.")
        await form.get_by_label("people").fill("4")
        await form.get_by_label("breakfast").uncheck()
        await form.get_by_label("guests").fill("zoe@example.com")
        await form.get_by_label("wishes").fill('{"floor": 7}')
        assert await desk.problems() == []
        await button(desk.page, "Ask about these instead").click()
        await expect(asks(desk.page)).to_have_count(1)
        await armed(desk.page)
        rows = desk.page.locator(".arguments td")
        assert await rows.all_inner_texts() == ["Blue room", "4", "false", "zoe@example.com", "7"]
        await button(desk.page, "Approve once").click()
        await desk.sees("Approved, and done.")
        await expect(asks(desk.page)).to_have_count(1)


async def test_arguments_that_are_refused_are_said_at_the_form_and_the_question_still_waits(place: Lab):
    approval = await place.asks("dora@example.com")
    async with place.desk() as desk:
        await opens(desk, approval)
        await button(desk.page, "Edit").click()
        for address, problem in (("dora", "expected one address"), ("eve@rival.example", "we do not write to rivals")):
            await desk.page.get_by_label("to", exact=True).fill(address)
            await button(desk.page, "Ask about these instead").click()
            await expect(desk.page.get_by_role("form").get_by_role("alert")).to_contain_text(problem)
        desk.troubles.clear()
        await desk.page.keyboard.press("Escape")
        await armed(desk.page)
        await expect(desk.page.locator(".arguments td").first).to_have_text("dora@example.com")


async def test_who_rejects_may_say_why_and_the_agent_reads_it(place: Lab):
    approval = await place.asks("frank@example.com")
    async with place.desk() as desk:
        await opens(desk, approval)
        await button(desk.page, "Reject").click()
        await desk.page.get_by_label("Why not?").fill("Frank has left.")
        await button(desk.page, "Reject").click()
        await desk.sees("Rejected. Nothing was done.")
    journal = await place.ada.lines("GET", f"/api/agent/runs/{approval_run(approval)}/events")
    assert any(line.get("data", {}).get("feedback") == "Frank has left." for line in journal)
    assert sent_to(place, "frank@example.com") == 0


async def test_a_foreign_agent_in_a_runbook_is_named_and_answered_like_any_other(place: Lab):
    put(place.home / "runbooks", "a.atrb", document(worker("work", "append log.txt 1", "say done")))
    run = await asked(place.ada, (await begun(place.ada, "a.atrb"))["runId"])
    async with place.desk() as desk:
        await desk.open("approvals")
        await armed(desk.page)
        await desk.sees("in the block “work” of the runbook “Test”")
        # It goes on as if what it named was judged.
        await expect(button(desk.page, "Edit")).to_have_count(0)
        link = desk.page.get_by_role("link", name="Runbook", exact=True)
        await expect(link).to_have_attribute("href", f"#/runbooks/runs%2F{run['runId']}")
        await button(desk.page, "Approve once").click()
        await desk.sees("Approved, and done.")
    assert (await ended(place.ada, run["runId"]))["state"] == "completed"


# Several at once.


async def test_several_are_approved_after_one_question_and_each_has_its_own_outcome(place: Lab):
    names = [f"{name}@many.example" for name in ("a", "b", "c")]
    approvals = [await place.asks(name) for name in names]
    async with place.desk() as desk:
        await desk.open("approvals")
        await desk.page.get_by_label("Select all 3 that are shown").check()
        await desk.page.get_by_label("Select: E-mail to a@many.example").uncheck()
        await frozen(desk)
        await place.ada.resolve(approvals[2], "reject")
        await place.asks("late@many.example")
        await button(desk.page, "Approve 2…").click()
        dialog = desk.page.get_by_role("dialog")
        await expect(dialog.get_by_role("listitem")).to_have_count(2)
        await dialog.get_by_text("E-mail to b@many.example").click()
        await expect(dialog).to_contain_text("the report is ready")
        assert await desk.problems() == []
        approve = dialog.get_by_role("button", name="Approve 2 questions")
        await expect(approve).to_have_attribute("aria-disabled", "false")
        await approve.click()
        await expect(asks(desk.page).nth(1)).to_contain_text("approved, done", timeout=PATIENT)
        await expect(asks(desk.page).nth(2)).to_contain_text("rejected")
        await expect(asks(desk.page).nth(0)).to_contain_text("left")
        await expect(desk.page.locator(".remark")).to_have_text("1 approved. 1 could not be answered: see there why.")
        desk.troubles.clear()
    assert [sent_to(place, name) for name in (*names, "late@many.example")] == [0, 1, 0, 0]


async def test_several_are_rejected_with_one_reason(place: Lab):
    for name in ("a", "b"):
        await place.asks(f"{name}@not.example")
    async with place.desk() as desk:
        await desk.open("approvals")
        await desk.page.get_by_label("Select all 2 that are shown").check()
        await button(desk.page, "Reject 2…").click()
        dialog = desk.page.get_by_role("dialog")
        await dialog.get_by_label("Why not?").fill("Not today.")
        await dialog.get_by_role("button", name="Reject 2 questions").click()
        for number in (0, 1):
            await expect(asks(desk.page).nth(number)).to_contain_text("rejected", timeout=PATIENT)
        await desk.sees("All that is shown has its answer")


async def test_more_than_a_page_of_questions_is_had_by_and_by(place: Lab):
    bob = Person(place.http, place.url, TOKENS["bob"])
    for number in range(27):
        await bob.run(MAIL.format(f"n{number:02}@example.com"))
    async with place.desk(name="bob") as desk:
        await desk.open("approvals")
        await expect(asks(desk.page)).to_have_count(25, timeout=PATIENT)
        await expect(asks(desk.page).first).to_contain_text("n02@example.com")
        await button(desk.page, "Show older ones").click()
        await expect(asks(desk.page)).to_have_count(27)
        await expect(asks(desk.page).first).to_contain_text("n00@example.com")
        await expect(button(desk.page, "Show older ones")).to_have_count(0)


# Keys.


async def test_everything_can_be_done_by_keys(place: Lab):
    for name in ("one", "two", "three"):
        await place.asks(f"{name}@keys.example")
    async with place.desk() as desk:
        await desk.open("approvals")
        await expect(asks(desk.page)).to_have_count(3, timeout=PATIENT)
        press = desk.page.keyboard.press
        await press("j")
        await press("ArrowDown")
        await expect(asks(desk.page).nth(1).get_by_role("button")).to_be_focused()
        await press("k")
        await press("Enter")
        await armed(desk.page)
        await press("a")
        await desk.sees("Press a once more to approve")
        assert sent_to(place, "one@keys.example") == 0
        await desk.page.wait_for_timeout(300)
        await press("a")
        await desk.sees("Approved, and done.")
        await press("j")
        await press("Enter")
        await armed(desk.page)
        await press("Shift+A")
        await expect(asks(desk.page).nth(1)).to_contain_text("approved, done", timeout=PATIENT)
        await press("j")
        await press("Enter")
        await armed(desk.page)
        await press("e")
        await expect(desk.page.get_by_label("to", exact=True)).to_be_focused()
        await expect(desk.page.get_by_label("to", exact=True)).to_have_value("three@keys.example")
        await press("Escape")
        await press("r")
        await expect(desk.page.get_by_label("Why not?")).to_be_focused()
        # While somebody types, letters are letters.
        await desk.page.keyboard.type("raj?")
        await expect(desk.page.get_by_label("Why not?")).to_have_value("raj?")
        await expect(desk.page.get_by_role("dialog")).to_have_count(0)
        await press("Control+Enter")
        await expect(asks(desk.page).nth(2)).to_contain_text("rejected")
        await press("?")
        await expect(desk.page.get_by_role("dialog", name="Keys")).to_be_visible()
        assert await desk.problems() == []
    assert [sent_to(place, f"{name}@keys.example") for name in ("one", "two", "three")] == [1, 1, 0]


async def test_keys_that_were_meant_for_something_else_approve_nothing(place: Lab):
    approvals = [await place.asks(f"{name}@meant.example") for name in ("one", "two")]
    async with place.desk() as desk:
        await desk.page.clock.install()
        await desk.page.reload()
        await desk.open("approvals")
        await asks(desk.page).first.locator("[data-question]").focus()
        # From here on, time passes only when we say so.
        await desk.page.clock.pause_at(datetime.now(UTC) + timedelta(hours=1))
        press, later = desk.page.keyboard.press, desk.page.clock.run_for
        await press("Enter")
        await later(100)
        approve = button(desk.page, "Approve once")
        await approve.focus()
        for key in ("Enter", "Space", "Shift+A"):
            await press(key)
        await approve.click(force=True)
        await desk.sees("That came too soon to be meant.")
        await later(800)
        await armed(desk.page)
        # The focus has just come to it by itself.
        await asks(desk.page).last.locator("[data-question]").focus()
        await approve.focus()
        await press("Enter")
        await desk.sees("That came too soon to be meant.")
        # One press; one that is held down; two at once; another key between.
        await desk.page.keyboard.down("a")
        await later(500)
        await desk.page.keyboard.down("a")
        await desk.page.keyboard.up("a")
        await press("z")
        await later(500)
        await press("a")
        await press("a")
        await later(50)
        await desk.sees("Press a once more")
        await later(6_000)
        await press("a")
        # A script's click, and a key of the browser's.
        await approve.evaluate("button => button.click()")
        await press("Control+a")
        await later(500)
        pending = (await place.ada.get(PENDING)).body["items"]
        assert sorted(each["id"] for each in pending) == sorted(approvals)
        # So does one that was meant.
        await press("a")
        await later(3_000)
        await desk.sees("Approved")
    assert [sent_to(place, f"{name}@meant.example") for name in ("one", "two")] == [1, 0]


async def test_single_letters_can_be_turned_off(place: Lab):
    await place.asks("ivan@example.com")
    async with place.desk() as desk:
        await desk.open("approvals")
        await armed(desk.page)
        await desk.page.keyboard.press("?")
        await desk.page.get_by_label("Single letters do these things").uncheck()
        await desk.page.keyboard.press("Escape")
        await desk.page.reload()
        await armed(desk.page)
        for key in ("r", "e", "Shift+A", "?"):
            await desk.page.keyboard.press(key)
        await expect(button(desk.page, "Approve once")).to_be_visible()
        await expect(desk.page.get_by_role("dialog")).to_have_count(0)
    assert sent_to(place, "ivan@example.com") == 0


# What happens elsewhere.


async def test_a_question_that_is_answered_elsewhere_says_so_by_itself(place: Lab):
    approval = await place.asks("judy@example.com")
    async with place.desk() as desk:
        await opens(desk, approval)
        await place.ada.resolve(approval)
        await desk.sees("Already approved, and done.")
        await expect(button(desk.page, "Approve once")).to_have_count(0)


LATE = {
    "approve": "Already approved by ada, and done.",
    "reject": "Already rejected by ada. Nothing was done.",
    "cancel": "Withdrawn: its run was stopped. Nothing was done.",
    "edit": "Other arguments took its place by ada. They ask anew.",
}


async def test_an_answer_that_comes_too_late_is_told_what_became_of_the_question(place: Lab):
    approvals = {how: await place.asks(f"{how}@late.example") for how in LATE}
    async with place.desk() as desk:
        await desk.open("approvals")
        await frozen(desk)
        await place.ada.resolve(approvals["approve"])
        await place.ada.resolve(approvals["reject"], "reject")
        await place.ada.post(f"/api/agent/runs/{approval_run(approvals['cancel'])}/cancel")
        args = {"to": "other@late.example", "subject": "Hello", "body": "Hello"}
        await place.ada.post(f"/api/agent/approvals/{approvals['edit']}/edit", {"args": args})
        for how, words in LATE.items():
            await opens(desk, approvals[how])
            await button(desk.page, "Approve once").click()
            await desk.sees(words)
            await expect(button(desk.page, "Approve once")).to_have_count(0)
        assert all("409" in trouble for trouble in desk.troubles)
        desk.troubles.clear()
    assert [sent_to(place, f"{how}@late.example") for how in (*LATE, "other")] == [1, 0, 0, 0, 0]


async def test_a_question_that_runs_out_while_somebody_looks_says_so(place: Lab):
    run = await place.ada.run(MAIL.format("kim@example.com"), profile="hasty")
    async with place.desk() as desk:
        await desk.open(f"approvals/{run['approvals'][0]['id']}")
        await desk.sees("It ran out before anybody answered. Nothing was done.")
        await expect(button(desk.page, "Approve once")).to_have_count(0)
        await expect(asks(desk.page)).to_contain_text("ran out")


async def test_other_arguments_than_those_shown_are_not_approved_but_shown(place: Lab):
    approval = await place.asks("lea@example.com")
    async with place.desk() as desk:

        async def tampered(route: Route) -> None:
            answer = await route.fetch()
            body = await answer.json()
            body["items"][0] |= {"argsHash": "another", "args": {"to": "mallory@example.com"}}
            await route.fulfill(response=answer, json=body)

        await desk.page.route(f"**{PENDING}*", tampered)
        await desk.page.reload()
        await opens(desk, approval)
        await expect(desk.page.locator(".arguments td").first).to_have_text("mallory@example.com")
        await button(desk.page, "Approve once").click()
        await desk.sees("the arguments were not the ones you were shown")
        await expect(desk.page.locator(".arguments td").first).to_have_text("lea@example.com")
        await desk.page.unroute_all(behavior="ignoreErrors")
        desk.troubles.clear()
    assert sent_to(place, "lea@example.com") == 0


async def test_a_server_that_is_away_loses_no_answer_and_takes_none_twice(place: Lab):
    approval = await place.asks("mia@example.com")
    async with place.desk() as desk:
        await opens(desk, approval)

        async def lost(route: Route) -> None:
            # It arrives; what the server says to it does not.
            await route.fetch()
            await route.abort()

        await frozen(desk)
        await desk.page.route("**/approvals/resolve*", lost)
        await button(desk.page, "Approve once").click()
        await desk.sees("nobody knows whether your answer arrived")
        await desk.page.unroute("**/approvals/resolve*")
        await button(desk.page, "Approve once").click()
        await desk.sees("Already approved by ada, and done.")
        desk.troubles.clear()
    assert sent_to(place, "mia@example.com") == 1


async def test_an_address_that_names_no_question_says_so(place: Lab):
    async with place.desk() as desk:
        await desk.open("approvals/apr_none_1.0")
        await desk.sees("That question does not wait any more")


# For everybody.


@pytest.mark.parametrize("colours", ["light", "dark"])
async def test_it_is_accessible_and_fits_a_narrow_screen_whatever_is_asked(place: Lab, colours: str):
    nasty = {
        "to": "x" * 60 + "@example.com",
        "subject": "שלום 🎉 " + "y" * 150,
        "body": "pay\u202eecilA\u200b\n" + "z" * 400,
    }
    await place.ada.run(f"call demo_mail {json.dumps(nasty)}")
    await place.asks("nina@example.com")
    async with place.desk(color_scheme=colours, viewport={"width": 360, "height": 740}) as desk:
        await desk.open("approvals")
        await asks(desk.page).first.locator("[data-question]").click()
        await armed(desk.page)
        await desk.sees("pay\\u202eecilA\\u200b")
        assert await desk.problems() == []
        for mode in ("Edit", "Reject"):
            await button(desk.page, mode).click()
            assert await desk.problems() == [], mode
            assert await desk.page.evaluate("document.documentElement.scrollWidth") <= 360, mode
            await desk.page.keyboard.press("Escape")
        await desk.page.get_by_label("Select all 2 that are shown").check()
        await button(desk.page, "Approve 2…").click()
        dialog = desk.page.get_by_role("dialog")
        await expect(dialog).to_be_visible()
        assert await dialog.evaluate("element => element.scrollWidth <= element.clientWidth")
