"""The pages of runbooks: a document is read, changed and run; its agents ask; what stopped is gone on with."""

import asyncio
import re
from collections.abc import AsyncGenerator, Callable, Generator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Locator, Route, expect
from tests.console.lab import CONFIG, PATIENT, Desk, Lab, lab
from tests.console.runbook_folder import fill
from tests.http.browsing import needs_chromium
from tests.runbooks.http.site import RUNS, asked, begun, ended, seen, shown
from tests.waiting import until
from tests.web.bundles import needs_web
from tests.web.shared_browser import in_browser

pytest.importorskip("acp")
pytestmark = [needs_chromium, needs_web, pytest.mark.slow, in_browser]


WHOLE = re.compile(r"^(tick\n)+last\n$")
VALUES = {"where": "prod", "who": "ada"}


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def place(chromium: Browser, tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Lab]:
    path = tmp_path_factory.mktemp("runbooks")
    fill(path / "runbooks")
    async with lab(chromium, path) as opened:
        yield opened


def folder(place: Lab) -> Path:
    return place.home / "runbooks"


@pytest.fixture
def kept(place: Lab) -> Generator[Callable[[str], Path]]:
    """Gives a file to change: whatever becomes of the test, the next one finds it as it was."""
    before: dict[Path, str] = {}

    def give(name: str) -> Path:
        file = folder(place) / name
        before[file] = file.read_text()
        return file

    yield give
    for file, text in before.items():
        file.write_text(text)


@pytest.fixture(autouse=True)
def tidied(place: Lab) -> None:
    """Nothing is left of what earlier runs have made."""
    for name in ("go", "log", "first", "second", "one.txt", "two.txt"):
        (folder(place) / name).unlink(missing_ok=True)


def card(desk: Desk, name: str) -> Locator:
    return desk.page.get_by_role("article", name=name, exact=True)


async def saved(desk: Desk) -> None:
    await expect(desk.page.get_by_role("status").filter(has_text="Saved.")).to_be_visible(timeout=PATIENT)


async def runs(desk: Desk, path: str, *, trust: bool = True) -> None:
    """Run a document from its page."""
    await desk.open(f"runbooks/{path}")
    await desk.page.get_by_role("button", name="Run", exact=True).click()
    if trust and await desk.page.get_by_role("radio").count():
        await desk.page.get_by_label(re.compile("^Yes: I have read")).check()
    await desk.page.get_by_role("dialog").get_by_role("button", name=re.compile("[Rr]un$")).click()
    await expect(desk.page).to_have_url(re.compile("runs%2Frun_"), timeout=PATIENT)


async def test_documents_are_listed_with_what_is_wrong_with_them_and_how_they_ran(place: Lab):
    run = await begun(place.ada, "fails.atrb")
    await ended(place.ada, run["runId"])
    (folder(place) / "look\u202egnp.atrb").write_text("id: x")
    async with place.desk() as desk:
        await desk.open("runbooks")
        await desk.sees("look\\u202egnp.atrb")
        await desk.sees("What is left to do")
        await desk.sees("It cannot be read: the runbook is not valid YAML")
        await desk.sees("1 remark")
        last = desk.page.get_by_role("link", name=re.compile("^The last run of Fails: stopped"))
        await expect(last).to_be_visible(timeout=PATIENT)
        await last.click()
        await desk.sees("two did not succeed")


async def test_a_document_that_would_go_elsewhere_or_cannot_be_read_is_not_run(place: Lab):
    async with place.desk() as desk:
        for path, words in (("odd.atrb", "It is not run"), ("broken.atrb", "It cannot be read")):
            await desk.open(f"runbooks/{path}")
            await desk.sees(words)
            await expect(desk.page.get_by_role("button", name="Run", exact=True)).to_be_disabled()
        await expect(desk.page.get_by_label("Source")).to_have_value("id: x\ncontent: [")


async def test_it_runs_with_the_values_it_asks_for_and_shows_what_they_did(place: Lab):
    async with place.desk() as desk:
        await desk.open("runbooks/deploy.atrb")
        await desk.page.get_by_role("button", name="Run", exact=True).click()
        dialog = desk.page.get_by_role("dialog")
        await expect(dialog.get_by_role("button", name="Run")).to_be_disabled()
        await dialog.get_by_label("where", exact=True).select_option("prod")
        await dialog.get_by_label("who", exact=True).fill("ada")
        await expect(dialog).to_contain_text("echo to {{ var.where }} by {{ var.who }}")
        assert await desk.problems() == []
        await dialog.get_by_label(re.compile("^Yes")).check()
        await dialog.get_by_role("button", name="Trust and run").click()
        await expect(card(desk, "go")).to_contain_text("to prod by ada", timeout=PATIENT)
        await desk.sees("Deploy: 2 blocks done.")
        await desk.open("runbooks/deploy.atrb")
        await desk.sees("trusted as it stands")
        await desk.page.get_by_role("button", name="Run", exact=True).click()
        await expect(desk.page.get_by_role("radio")).to_have_count(0)


async def test_before_it_is_trusted_everything_is_shown_and_an_agent_that_would_ask_nothing_is_named(place: Lab):
    async with place.desk() as desk:
        await desk.open("runbooks/rights.atrb")
        await desk.page.get_by_role("button", name="Run", exact=True).click()
        await desk.page.get_by_label(re.compile("^Yes")).check()
        dialog = desk.page.get_by_role("dialog")
        await expect(dialog).to_contain_text("free would be asked about nothing")
        # Nothing of what is trusted hides: neither a character nor a property.
        await expect(dialog.get_by_label("What free would run")).to_have_text("Do\\u202e it.")
        await dialog.get_by_text("All of free").click()
        await expect(dialog.get_by_label("Everything that free is told")).to_contain_text('"workingDirectory": "/srv"')


async def test_output_is_shown_as_it_comes_without_colours_and_the_run_can_be_cancelled(place: Lab):
    async with place.desk() as desk:
        await runs(desk, "slow.atrb")
        await expect(card(desk, "wait").get_by_label("Output of wait")).to_have_text(
            re.compile(r"^(tick\n)+$"), timeout=PATIENT
        )
        await expect(card(desk, "wait")).to_contain_text("is running")
        await desk.page.get_by_role("button", name="Cancel the run").click()
        await desk.sees("It was cancelled.")
        await expect(desk.page.get_by_role("button", name="Cancel the run")).to_have_count(0)


async def test_whoever_comes_late_sees_what_was_shown_and_since_when_it_runs(place: Lab):
    run = await begun(place.ada, "slow.atrb")
    async with place.desk() as desk:
        await seen(place.ada, run["runId"], lambda run: run["blocks"][0]["startedAt"] is not None)
        await desk.open(f"runbooks/runs/{run['runId']}")
        await expect(card(desk, "wait").get_by_label("Output of wait")).to_have_text(
            re.compile(r"^(tick\n)+$"), timeout=PATIENT
        )
        await expect(card(desk, "wait")).to_contain_text(re.compile(r"\d+ s"), timeout=PATIENT)
        await place.ada.post(f"/api/agent/runs/{run['runId']}/cancel")


async def test_a_value_that_was_missing_is_asked_for_where_the_run_stopped(place: Lab):
    run = await ended(place.ada, (await begun(place.ada, "trusted.atrb", variables={"where": "prod"}))["runId"])
    async with place.desk() as desk:
        await desk.open(f"runbooks/runs/{run['runId']}")
        form = desk.page.get_by_role("form", name="Values to go on with")
        await expect(form.get_by_role("button", name="Go on")).to_be_disabled(timeout=PATIENT)
        assert await desk.problems() == []
        await form.get_by_label("who", exact=True).fill("grace")
        await form.get_by_role("button", name="Go on").click()
        await expect(card(desk, "go")).to_contain_text("to prod by grace", timeout=PATIENT)
        await desk.sees("Trusted: 2 blocks done.")


async def test_a_broken_stream_is_taken_up_again_and_nothing_shown_is_lost(place: Lab):
    broken: list[str] = []

    async def once(route: Route) -> None:
        broken.append(route.request.url)
        await (route.abort() if len(broken) == 1 else route.continue_())

    async with place.desk() as desk:
        await desk.page.route("**/events", once)
        await runs(desk, "slow.atrb")
        # What was put out meanwhile was told to nobody. What counts is in the result.
        await expect(card(desk, "wait")).to_contain_text("is running", timeout=PATIENT)
        await until(lambda: len(broken) >= 2)
        (folder(place) / "go").touch()
        await expect(card(desk, "wait").get_by_label("Output of wait")).to_have_text(WHOLE, timeout=PATIENT)
        await desk.sees("Slow: 1 block done.")
        assert all("ERR_FAILED" in trouble for trouble in desk.troubles)
        desk.troubles.clear()


async def test_without_trust_every_block_is_asked_about_in_the_page(place: Lab):
    async with place.desk() as desk:
        await runs(desk, "careful.atrb", trust=False)
        question = desk.page.get_by_role("article", name="Question of first")
        await expect(question).to_contain_text("touch first", timeout=PATIENT)
        await expect(question).to_contain_text(re.compile(r"Denied by itself in \d:\d\d"))
        await expect(card(desk, "first")).to_contain_text("waits for you")
        await question.get_by_role("button", name="Allow").click()
        second = desk.page.get_by_role("article", name="Question of second")
        await second.get_by_role("button", name="Deny").click(timeout=PATIENT)
        await desk.sees("second was not allowed, and has not run.")
    assert (folder(place) / "first").exists() and not (folder(place) / "second").exists()


async def test_what_failed_is_tried_again_or_passed_over_and_the_goes_are_kept_apart(place: Lab):
    log = folder(place) / "log"
    async with place.desk() as desk:
        await runs(desk, "fails.atrb")
        await desk.page.get_by_role("button", name="Try two again").click(timeout=PATIENT)
        await expect(desk.page.get_by_role("list").filter(has_text="stopped").get_by_role("listitem")).to_have_count(2)
        await desk.page.get_by_role("button", name="Go on without it").click(timeout=PATIENT)
        await desk.sees("Fails: 2 blocks done, 1 passed over.")
        await expect(card(desk, "two")).to_contain_text("passed over")
        await expect(card(desk, "two")).to_contain_text("it ended with exit code 1")
        await expect(card(desk, "three")).to_contain_text("done")
        assert await desk.problems() == []
        # An earlier go shows its own blocks, and is not gone on with.
        await desk.page.get_by_role("link", name=re.compile("stopped")).last.click()
        await expect(card(desk, "two")).to_contain_text("failed", timeout=PATIENT)
        await expect(card(desk, "three")).to_contain_text("to come")
        await expect(desk.page.get_by_role("button", name="Try two again")).to_have_count(0)
    assert log.read_text() == "one\nthree\n"


async def test_agents_questions_come_forward_and_escape_puts_one_back_unanswered(place: Lab):
    async with place.desk() as desk:
        await runs(desk, "asks.atrb")
        dialog = desk.page.get_by_role("dialog")
        await expect(dialog).to_contain_text("Append to one.txt", timeout=PATIENT)
        await expect(dialog).to_contain_text("The agent of work wants to edit")
        await expect(dialog).to_contain_text(re.compile(r"Denied by itself in [45]:\d\d"))
        await expect(dialog.get_by_role("button", name="Allow")).not_to_be_focused()
        assert await desk.problems() == []
        await desk.page.keyboard.press("Escape")
        await expect(dialog).to_have_count(0)
        assert not (folder(place) / "one.txt").exists()
        await expect(card(desk, "work")).to_contain_text("waits for you")
        question = desk.page.get_by_role("article", name="Question of work")
        await question.get_by_role("button", name="Allow").click()
        # The next one comes forward again, and is denied by the keyboard.
        await expect(dialog).to_contain_text("Append to two.txt", timeout=PATIENT)
        await dialog.get_by_role("button", name="Deny").focus()
        await desk.page.keyboard.press("Enter")
        await desk.sees("Asks: 1 block done.")
        work = card(desk, "work")
        await expect(work.locator("strong", has_text="done")).to_be_visible()
        await expect(work).to_contain_text("7 tokens")
        await expect(work).to_contain_text("allowed by ada")
        await expect(work).to_contain_text("denied by ada")
        await expect(work.get_by_role("region").or_(work.locator("section")).last).to_contain_text("Read x.txt")
    assert (folder(place) / "one.txt").exists() and not (folder(place) / "two.txt").exists()


async def test_a_tool_is_allowed_from_now_on_and_a_double_click_answers_one_question(place: Lab):
    async with place.desk() as desk:
        await runs(desk, "asks.atrb")
        dialog = desk.page.get_by_role("dialog")
        await expect(dialog).to_contain_text("Append to one.txt", timeout=PATIENT)
        await dialog.get_by_label(re.compile("^Always allow this tool")).check()
        await dialog.get_by_role("button", name="Allow").dblclick()
        await desk.sees("Asks: 1 block done.")
        await expect(card(desk, "work")).to_contain_text("allowed by ada, from now on")
        assert [grant["scope"] for grant in (await place.ada.get("/api/agent/grants")).body["items"]] == ["session"]
    assert (folder(place) / "two.txt").exists()


async def test_a_click_that_was_on_its_way_when_a_question_came_forward_allows_nothing(place: Lab):
    async with place.desk() as desk:
        await desk.page.clock.install()
        await desk.page.reload()
        await runs(desk, "asks.atrb")
        dialog = desk.page.get_by_role("dialog")
        # From here on, time passes only when we say so.
        await desk.page.clock.pause_at(datetime.now(UTC) + timedelta(minutes=1))
        await _comes(desk, dialog)
        allow = dialog.get_by_role("button", name="Allow")
        await allow.click(force=True)
        await expect(dialog).to_contain_text("That came too soon to be meant.")
        assert not (folder(place) / "one.txt").exists()
        await desk.page.clock.run_for(1_000)
        await expect(dialog).not_to_contain_text("too soon")
        await desk.page.keyboard.press("Escape")
        await desk.page.clock.run_for(100)
        # Put back into the page it stands elsewhere, and nobody has aimed at it there.
        await (
            desk.page.get_by_role("article", name="Question of work")
            .get_by_role("button", name="Allow")
            .click(force=True)
        )
        await desk.sees("That came too soon to be meant.")
        assert len((await shown(place.ada, desk.page.url.split("%2F")[1]))["approvals"]) == 1
    assert not (folder(place) / "one.txt").exists()


async def _comes(desk: Desk, dialog: Locator) -> None:
    async with asyncio.timeout(PATIENT / 1000):
        while not await dialog.count():
            await desk.page.clock.run_for(50)


async def test_a_question_that_is_answered_elsewhere_goes_away(place: Lab):
    async with place.desk() as desk:
        await runs(desk, "careful.atrb", trust=False)
        question = desk.page.get_by_role("article", name="Question of first")
        await expect(question).to_be_visible(timeout=PATIENT)
        run = await asked(place.ada, desk.page.url.split("%2F")[1])
        await place.ada.post(f"{RUNS}/{run['runId']}/tool-approval", answer(run, approved=False))
        await expect(question).to_have_count(0, timeout=PATIENT)


def answer(run: dict[str, Any], *, approved: bool) -> dict[str, Any]:
    return {"approvalId": run["approvals"][0]["id"], "approved": approved}


async def test_an_agent_block_is_configured_and_every_other_line_stays(place: Lab, kept: Callable[[str], Path]):
    file = kept("todo.atrb")
    before = file.read_text()
    async with place.desk() as desk:
        await desk.open("runbooks/todo.atrb")
        await desk.page.get_by_role("button", name="Configure report").click()
        form = desk.page.get_by_role("form", name="Configuration of report")
        await expect(form.get_by_label("Name", exact=True)).to_be_focused()
        await expect(form.get_by_label(re.compile("^Command"))).to_have_value("python3")
        await expect(form.get_by_label("Argument 1", exact=True)).to_have_value("todo_agent.py")
        await form.get_by_role("button", name="Add argument").click()
        await expect(form.get_by_label("Argument 2", exact=True)).to_be_focused()
        await desk.page.keyboard.type("--quick")
        await form.get_by_role("button", name="Add variable").click()
        await form.get_by_label("Name of variable 1").fill("LANG")
        await form.get_by_label("Value of variable 1").fill("C")
        await form.get_by_label(re.compile("^Run commands")).check()
        await form.get_by_label(re.compile("^Time-out")).fill("x")
        await expect(form.get_by_role("button", name="Save report")).to_be_disabled()
        await desk.sees("The time-out is a whole number of seconds")
        await form.get_by_label(re.compile("^Time-out")).fill("90")
        await form.get_by_role("button", name="Save report").click()
        await saved(desk)
        await expect(form.get_by_label("Argument 2", exact=True)).to_have_value("--quick")
    (block,) = [each for each in await blocks(place, "todo.atrb") if each["type"] == "agent"]
    assert block["agent"]["source"] == {
        "type": "acp", "command": "python3", "args": ["todo_agent.py", "--quick"], "env": {"LANG": "C"}
    }  # fmt: skip
    assert (block["agent"]["timeoutSeconds"], block["agent"]["capabilities"]["executeCommands"]) == (90, True)
    head = before.index("  props:\n    name: report")
    assert file.read_text().startswith(before[:head]) and file.read_text().endswith(
        before[before.index("- id: 5b0f6d0e-2a55-4a4b-8f2b-3f6a7f0c1a05") :]
    )


async def blocks(place: Lab, path: str) -> list[dict[str, Any]]:
    return (await place.ada.get(f"/api/runbooks/documents?path={path}")).body["blocks"]


async def test_names_are_offered_in_a_prompt_and_taken_by_the_keyboard(place: Lab):
    async with place.desk() as desk:
        await desk.open("runbooks/todo.atrb")
        await desk.page.get_by_role("button", name="Configure report").click()
        prompt = desk.page.get_by_label("Prompt", exact=True)
        await prompt.fill("")
        await prompt.press_sequentially("See {{ look")
        names = desk.page.get_by_role("listbox", name="Names for prompt")
        await expect(names.get_by_role("option")).to_have_count(4)
        assert await desk.problems() == []
        await prompt.press("ArrowDown")
        await expect(names.get_by_role("option", selected=True)).to_contain_text("output.stderr")
        await prompt.press("ArrowUp")
        chosen = await names.get_by_role("option", selected=True).get_attribute("id")
        await expect(prompt).to_have_attribute("aria-activedescendant", chosen or "")
        await prompt.press("Enter")
        await expect(prompt).to_have_value("See {{ doc.named['look'].output.stdout }}")
        await expect(names).to_have_count(0)
        await prompt.press_sequentially(" {{")
        await expect(names).to_be_visible()
        await prompt.press("Escape")
        await expect(names).to_have_count(0)
        await prompt.press("Enter")
        await expect(prompt).to_have_value("See {{ doc.named['look'].output.stdout }} {{\n")
        await desk.page.get_by_role("button", name="Undo all").click()


async def test_typing_goes_on_behind_a_name_that_was_taken_however_late_the_page_paints(place: Lab):
    async with place.desk() as desk:
        await desk.open("runbooks/todo.atrb")
        await desk.page.get_by_role("button", name="Configure report").click()
        prompt = desk.page.get_by_label("Prompt", exact=True)
        await prompt.fill("")
        await prompt.press_sequentially("See  here")
        for _ in " here":
            await prompt.press("ArrowLeft")
        await prompt.press_sequentially("{{ look")
        await expect(desk.page.get_by_role("listbox", name="Names for prompt")).to_be_visible()
        await desk.page.evaluate("() => { window.requestAnimationFrame = (paint) => setTimeout(paint, 1000) }")
        await prompt.press("Enter")
        await prompt.press_sequentially(" and")
        await expect(prompt).to_have_value("See {{ doc.named['look'].output.stdout }} and here")


async def test_somebody_else_was_faster_and_nothing_typed_is_lost(place: Lab, kept: Callable[[str], Path]):
    file = kept("todo.atrb")
    before = file.read_text()
    async with place.desk() as desk:
        await desk.open("runbooks/todo.atrb")
        await desk.page.get_by_role("button", name="Configure report").click()
        form = desk.page.get_by_role("form", name="Configuration of report")
        await form.get_by_label("System prompt", exact=True).fill("Be long.")
        await form.get_by_label("Prompt", exact=True).fill("Mine")
        file.write_text(
            before.replace("Be brief.", "Be kind.")
            .replace("seconds: 60", "seconds: 61")
            .replace("Seconds: 60", "Seconds: 61")
        )
        await form.get_by_role("button", name="Save report").click()
        await desk.sees("somebody changed the document meanwhile. What you typed stays.")
        await form.get_by_role("button", name="Read theirs").click()
        await expect(form.get_by_label(re.compile("^Time-out"))).to_have_value("61")
        await expect(form.get_by_label("Prompt", exact=True)).to_have_value("Mine")
        await desk.sees("Somebody changed this meanwhile too: system prompt.")
        await form.get_by_role("button", name="Save report").click()
        await saved(desk)
        assert all("409" in trouble for trouble in desk.troubles)
        desk.troubles.clear()
    (block,) = [each for each in await blocks(place, "todo.atrb") if each["type"] == "agent"]
    assert block["agent"]["prompt"] == "Mine" and block["agent"]["systemPrompt"] == "Be long."
    assert block["agent"]["timeoutSeconds"] == 61


async def test_an_agent_is_added_behind_a_block_as_the_settings_say(place: Lab, kept: Callable[[str], Path]):
    kept("todo.atrb")
    async with place.desk() as desk:
        await desk.open("runbooks/todo.atrb")
        await desk.page.get_by_role("button", name="Add an agent after look").click()
        form = desk.page.get_by_role("form", name="Configuration of agent")
        await expect(form.get_by_label(re.compile("^Agent"))).to_have_value("internal")
        await expect(form.get_by_label(re.compile("^Time-out"))).to_have_value("300")
        await expect(form.get_by_label(re.compile("^Read files"))).to_be_checked()
        await form.get_by_label(re.compile("^Agent")).select_option("agent:gemini")
        await expect(form).to_contain_text("Starts gemini --acp")
        await form.get_by_role("button", name="Save agent").click()
        await saved(desk)
        await desk.page.get_by_role("button", name="Add an agent", exact=True).click()
        await expect(desk.page.get_by_role("form", name="Configuration of agent 2")).to_be_visible()
    found = await blocks(place, "todo.atrb")
    assert [each["name"] for each in found if each["runs"]] == ["look", "agent", "report", "show", "agent 2"]
    assert found[3]["agent"]["source"]["command"] == "gemini"


async def test_the_source_is_changed_and_a_wrong_one_is_told_with_its_place(place: Lab, kept: Callable[[str], Path]):
    file = kept("slow.atrb")
    before = file.read_text()
    async with place.desk() as desk:
        await desk.open("runbooks/slow.atrb")
        await desk.page.get_by_role("link", name="Source").click()
        source = desk.page.get_by_label("Source")
        await source.fill(before.replace('"type": "script"', '"type": 7'))
        await desk.page.get_by_role("button", name="Save").click()
        await expect(desk.page.get_by_role("alert")).to_contain_text("line 1")
        await source.fill(before.replace('"Slow"', '"Slower"'))
        await desk.page.get_by_role("button", name="Save").click()
        await expect(desk.page.get_by_role("heading", level=1, name="Slower")).to_be_visible()
        # Typed and not saved, it is still there for whoever comes back.
        await source.fill("not yet")
        await desk.page.get_by_role("link", name="Blocks").click()
        await desk.page.get_by_role("link", name="Source").click()
        await expect(source).to_have_value("not yet")
        await desk.page.get_by_role("button", name="Undo all").click()
        assert all("400" in trouble for trouble in desk.troubles)
        desk.troubles.clear()


@pytest.mark.parametrize("colours", ["light", "dark"])
async def test_pages_are_accessible_and_fit_a_narrow_screen(place: Lab, colours: str):
    run = await ended(place.ada, (await begun(place.ada, "trusted.atrb", variables=VALUES))["runId"])
    async with place.desk(color_scheme=colours, viewport={"width": 360, "height": 700}) as desk:
        for path, words in {
            "runbooks": "What is left to do", "runbooks/odd.atrb": "a-name-without",
            "runbooks/odd.atrb?source": "a-name-without", "runbooks/todo.atrb": "grep -rn",
            f"runbooks/runs/{run['runId']}": "2 blocks done", "settings": "claude-agent-acp",
        }.items():  # fmt: skip
            await desk.open(path)
            await desk.sees(words)
            for button in await desk.page.get_by_role("button", name=re.compile("^Configure")).all():
                await button.click()
            assert await desk.problems() == [], path
            assert await desk.page.evaluate("document.documentElement.scrollWidth") <= 360, path


async def test_whoever_may_not_is_told_what_would_have_to_be_set(place: Lab):
    async with place.desk(name="bob") as desk:
        for path in ("runbooks", "settings"):
            await desk.open(path)
            await desk.sees("Runbooks are not served to you here")
            await desk.sees('users = ["bob"]')
        await desk.open("runbooks/todo.atrb")
        await desk.sees("There is no runbook “todo.atrb” for you here")
        assert all("404" in trouble for trouble in desk.troubles)
        desk.troubles.clear()


async def test_where_documents_are_not_changed_everything_is_only_shown(chromium: Browser, tmp_path: Path):
    fill(tmp_path / "runbooks")
    config = CONFIG.replace("editable = true", "editable = false")
    async with lab(chromium, tmp_path, config=config) as place, place.desk() as desk:
        await desk.open("runbooks/todo.atrb")
        await desk.sees("it cannot be changed here")
        await expect(desk.page.get_by_role("button", name="Add an agent")).to_have_count(0)
        await desk.page.get_by_role("button", name="Configure report").click()
        await expect(desk.page.get_by_label("Prompt", exact=True)).to_be_disabled()
        await expect(desk.page.get_by_role("button", name="Save report")).to_have_count(0)
        await desk.page.get_by_role("link", name="Source").click()
        await expect(desk.page.get_by_role("region", name="Source")).to_contain_text("grep -rn TODO notes")
