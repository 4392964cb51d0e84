"""Conversations over HTTP: listed, read, renamed, erased."""

import asyncio
from pathlib import Path
from typing import Any

from tests.engine.builders import FakeTool
from tests.http.scenes import MAIL, Held, mail, only_run, refused, soon
from tests.http.site import Person, site

from pollux.testing import FakeClock, call, reply
from pollux.testing import scripted as model

THREADS = "/api/agent/threads"


async def messages(person: Person, thread_id: str, query: str = "") -> list[dict[str, Any]]:
    got = await person.get(f"{THREADS}/{thread_id}/messages{query}")
    assert got.status == 200, got
    return got.body["items"]


async def test_a_thread_is_named_after_what_was_asked_first(tmp_path: Path):
    async with site(tmp_path, model(reply("Hello."))) as here:
        run = await here.ada.run("  say\n hello " + "x" * 200)
        got = await here.ada.get(f"{THREADS}/{run['threadId']}")
    thread = got.body["thread"]
    assert got.body["ok"] is True and thread["id"] == run["threadId"]
    assert thread["title"].startswith("say hello xxx") and len(thread["title"]) == 80
    assert (thread["messages"], thread["openRun"]) == (2, None)
    assert thread["createdAt"].endswith("Z") and thread["updatedAt"] >= thread["createdAt"]


async def test_the_request_for_approval_is_a_message_of_the_assistant(tmp_path: Path):
    async with site(tmp_path, model(call("send_mail", MAIL)), tools=[mail()]) as here:
        run = await here.ada.run("email Bob")
        said = await messages(here.ada, run["threadId"])
    asked = said[-1]
    assert (asked["role"], asked["kind"]) == ("assistant", "notice")
    assert asked["text"].startswith("Approval needed: ")


async def test_threads_are_listed_last_changed_first_page_by_page(tmp_path: Path):
    clock = FakeClock()
    async with site(tmp_path, model(*[reply("Hello.")] * 6), clock=clock) as here:
        made: list[str] = []
        for n in range(5):
            made.append((await here.ada.run(f"number {n}"))["threadId"])
            clock.advance(1)
        await here.ada.run("once more", threadId=made[0])
        found: list[str] = []
        page = (await here.ada.get(f"{THREADS}?limit=2")).body
        while True:
            found += [each["id"] for each in page["items"]]
            if page["next"] is None:
                break
            page = (await here.ada.get(f"{THREADS}?limit=2&before={page['next']}")).body
        assert found == [made[0], *made[:0:-1]]
        assert (await here.bob.get(THREADS)).body["items"] == []


async def test_a_thread_says_which_run_is_open(tmp_path: Path):
    async with site(tmp_path, model(call("send_mail", MAIL)), tools=[mail()]) as here:
        run = await here.ada.run("email Bob")
        assert (await here.ada.get(f"{THREADS}/{run['threadId']}")).body["thread"]["openRun"] == run["runId"]


async def test_a_thread_can_be_given_another_title(tmp_path: Path):
    async with site(tmp_path, model(reply("Hello."))) as here:
        path = f"{THREADS}/{(await here.ada.run('hello'))['threadId']}"
        got = await here.ada.send("PATCH", path, {"title": "Greetings, ü"})
        assert (got.status, got.body["thread"]["title"]) == (200, "Greetings, ü")
        assert (await here.ada.get(path)).body["thread"]["title"] == "Greetings, ü"
        bodies: list[object] = [{}, {"title": 5}, {"title": "x" * 201}, {"title": "two\nlines"}, {"name": "x"}]
        for body in bodies:
            refused(await here.ada.send("PATCH", path, body), 400, "invalid")
        refused(await here.bob.send("PATCH", path, {"title": "mine"}), 404, "not_found")
        assert (await here.ada.get(path)).body["thread"]["title"] == "Greetings, ü"


async def test_a_thread_can_be_renamed_while_a_run_is_open(tmp_path: Path):
    step = Held(reply("Hello."))
    async with site(tmp_path, model(step)) as here:
        asking = asyncio.create_task(here.ada.run("hello"))
        await soon(step.asked)
        thread_id = (await only_run(here.ada))["threadId"]
        assert (await here.ada.send("PATCH", f"{THREADS}/{thread_id}", {"title": "New"})).status == 200
        step.let_go.set()
        assert (await asking)["summary"] == "Hello."
        thread = (await here.ada.get(f"{THREADS}/{thread_id}")).body["thread"]
    assert (thread["title"], thread["messages"]) == ("New", 2)


async def test_an_erased_thread_is_gone_with_its_runs_and_the_audit_still_verifies(tmp_path: Path):
    script = model(call("send_mail", MAIL), reply("Sent."), reply("Hello."))
    async with site(tmp_path, script, tools=[mail()]) as here:
        run = await here.ada.run("email Bob")
        await here.ada.resolve(run["approvals"][0]["id"])
        kept = await here.ada.run("hello")
        path = f"{THREADS}/{run['threadId']}"
        refused(await here.bob.send("DELETE", path), 404, "not_found")
        got = await here.ada.send("DELETE", path)
        assert (got.status, got.body) == (200, {"ok": True})
        one = f"/api/agent/runs/{run['runId']}"
        for gone in (path, f"{path}/messages", one, f"{one}/events"):
            refused(await here.ada.get(gone), 404, "not_found")
        refused(await here.ada.send("DELETE", path), 404, "not_found")
        refused(await here.ada.resolve(run["approvals"][0]["id"]), 404, "not_found")
        refused(await here.ada.post("/api/agent/run", {"prompt": "hi", "threadId": run["threadId"]}), 404, "not_found")
        assert [each["id"] for each in (await here.ada.get(THREADS)).body["items"]] == [kept["threadId"]]
        verified = (await here.ada.get("/api/agent/audit/verify")).body
        assert (verified["valid"], verified["problems"]) == (True, [])


async def test_a_thread_with_an_open_run_is_not_erased(tmp_path: Path):
    async with site(tmp_path, model(call("send_mail", MAIL), reply("Sent.")), tools=[mail()]) as here:
        run = await here.ada.run("email Bob")
        refused(await here.ada.send("DELETE", f"{THREADS}/{run['threadId']}"), 409, "thread_busy")
        assert (await here.ada.resolve(run["approvals"][0]["id"])).body["run"]["summary"] == "Sent."


async def test_messages_tell_what_was_said_called_and_answered(tmp_path: Path):
    script = model(call("look", {"at": "sky"}, text="Let me see."), reply("It is blue."))
    async with site(tmp_path, script, tools=[FakeTool("look", {"colour": "blue"})]) as here:
        run = await here.ada.run("which colour?")
        prompt, asked, answered, said = await messages(here.ada, run["threadId"])
    assert (prompt["kind"], prompt["text"], prompt["number"]) == ("user", "which colour?", 1)
    assert (asked["kind"], asked["text"], asked["calls"][0]["tool"]) == ("assistant", "Let me see.", "look")
    assert asked["calls"][0]["args"] == {"at": "sky"}
    (result,) = answered["results"]
    assert (answered["kind"], result["result"], result["isError"]) == ("tool", {"colour": "blue"}, False)
    assert result["id"] == asked["calls"][0]["id"]
    assert (said["kind"], said["text"], said["number"]) == ("assistant", "It is blue.", 4)


async def test_a_question_to_a_person_is_a_notice_in_its_thread(tmp_path: Path):
    script = model(call("send_mail", MAIL), reply("Sent."), reply("You are welcome."))
    async with site(tmp_path, script, tools=[mail()]) as here:
        run = await here.ada.run("email Bob")
        (notice,) = [each for each in await messages(here.ada, run["threadId"]) if each["kind"] == "notice"]
        assert notice["text"].startswith("Approval needed") and "bob@example.com" in notice["text"]
        await here.ada.resolve(run["approvals"][0]["id"])
        await here.ada.run("thanks", threadId=run["threadId"])
        kinds = [each["kind"] for each in await messages(here.ada, run["threadId"])]
    assert kinds == ["user", "assistant", "notice", "tool", "assistant", "user", "assistant"]


async def test_messages_are_read_backwards_page_by_page(tmp_path: Path):
    async with site(tmp_path, model(*[reply("Hello.")] * 4)) as here:
        thread_id = (await here.ada.run("number 0"))["threadId"]
        for n in range(1, 4):
            await here.ada.run(f"number {n}", threadId=thread_id)
        path = f"{THREADS}/{thread_id}/messages"
        page = (await here.ada.get(f"{path}?limit=3")).body
        assert [each["number"] for each in page["items"]] == [6, 7, 8]
        page = (await here.ada.get(f"{path}?limit=3&before={page['next']}")).body
        assert [each["number"] for each in page["items"]] == [3, 4, 5]
        page = (await here.ada.get(f"{path}?limit=3&before={page['next']}")).body
        assert ([each["number"] for each in page["items"]], page["next"]) == ([1, 2], None)
        assert (await here.ada.get(f"{path}?before=1")).body["items"] == []
        assert len((await here.ada.get(f"{path}?before=999")).body["items"]) == 8
        for before in ("abc", "-1", "1.5", "9" * 30):
            refused(await here.ada.get(f"{path}?before={before}"), 400, "invalid")
        refused(await here.bob.get(path), 404, "not_found")
