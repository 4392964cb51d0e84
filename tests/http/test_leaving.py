"""Threads with an open run, and callers who hang up: neither stops anything by itself."""

import asyncio
from pathlib import Path

import pytest
from tests.engine.builders import HeldTool
from tests.http.scenes import MAIL, Held, left, mail, only_run, refused, settled, soon
from tests.http.site import site
from tests.waiting import until

from pollux.testing import call, reply
from pollux.testing import scripted as model

RUN = "/api/agent/run"
LOOK = call("look")


# Threads with an open run.


@pytest.mark.parametrize("path", [RUN, f"{RUN}/stream"])
async def test_a_thread_with_an_open_run_is_busy_and_says_with_what(tmp_path: Path, path: str):
    async with site(tmp_path, model(call("send_mail", MAIL)), tools=[mail()]) as here:
        run = await here.ada.run("email Bob")
        got = await here.ada.post(path, {"prompt": "and Carl", "threadId": run["threadId"]})
        error = refused(got, 409, "thread_busy")
        assert (error["runId"], error["approvals"]) == (run["runId"], run["approvals"])
        # Nothing of the refused prompt is left behind.
        messages = (await here.ada.get(f"/api/agent/threads/{run['threadId']}/messages")).body["items"]
        assert "and Carl" not in [each["text"] for each in messages]


@pytest.mark.parametrize("streams", [False, True])
async def test_superseding_cancels_the_open_run_and_withdraws_its_questions(tmp_path: Path, streams: bool):
    tool, script = mail(), model(call("send_mail", MAIL), reply("Never mind."))
    async with site(tmp_path, script, tools=[tool]) as here:
        old = await here.ada.run("email Bob")
        again = {"threadId": old["threadId"], "supersede": True}
        if streams:
            new = (await here.ada.stream("forget it", **again))[-1]["result"]
        else:
            new = await here.ada.run("forget it", **again)
        assert (new["status"], new["summary"], new["threadId"]) == ("completed", "Never mind.", old["threadId"])
        before = (await here.ada.get(f"/api/agent/runs/{old['runId']}")).body
        assert (before["state"], before["errorCode"], before["approvals"]) == ("cancelled", "cancelled", [])
        refused(await here.ada.resolve(old["approvals"][0]["id"]), 409, "withdrawn")
    assert tool.ran == []


async def test_superseding_stops_a_run_at_work(tmp_path: Path):
    step = Held(reply("Too late."))
    async with site(tmp_path, model(step, reply("New."))) as here:
        asking = asyncio.create_task(here.ada.run("think"))
        await soon(step.asked)
        thread_id = (await only_run(here.ada))["threadId"]
        assert (await here.ada.run("stop", threadId=thread_id, supersede=True))["summary"] == "New."
        assert (await asking)["state"] == "cancelled"


async def test_superseding_where_nothing_is_open_changes_nothing(tmp_path: Path):
    async with site(tmp_path, model(reply("One."), reply("Two."))) as here:
        thread_id = (await here.ada.run("one"))["threadId"]
        assert (await here.ada.run("two", threadId=thread_id, supersede=True))["summary"] == "Two."


# Hanging up stops nothing.


async def test_who_hangs_up_while_the_model_thinks_finds_the_answer_later(tmp_path: Path):
    step = Held(reply("Hello."))
    async with site(tmp_path, model(step)) as here:
        asking = asyncio.create_task(here.ada.run("hello"))
        await soon(step.asked)
        await left(asking)
        step.let_go.set()
        await settled(here, (await only_run(here.ada))["runId"])
        run = await only_run(here.ada)
    assert (run["status"], run["summary"]) == ("completed", "Hello.")


async def test_who_hung_up_is_waited_for_no_longer(tmp_path: Path):
    async def nobody_is_served() -> bool:
        return not any("run_asgi" in repr(task.get_coro()) for task in asyncio.all_tasks())

    step = Held(reply("Hello."))
    async with site(tmp_path, model(step)) as here:
        asking = asyncio.create_task(here.ada.run("hello"))
        await soon(step.asked)
        assert not await nobody_is_served()
        await left(asking)
        await until(nobody_is_served)
        step.let_go.set()


async def test_who_hangs_up_while_a_tool_works_finds_it_done_once(tmp_path: Path):
    look = HeldTool("look")
    async with site(tmp_path, model(LOOK, reply("Seen.")), tools=[look]) as here:
        asking = asyncio.create_task(here.ada.run("look"))
        await soon(look.began)
        await left(asking)
        look.let_go.set()
        await settled(here, (await only_run(here.ada))["runId"])
        run = await only_run(here.ada)
    assert (run["summary"], len(look.ran), look.stops) == ("Seen.", 1, 0)


async def test_who_hangs_up_while_an_approved_tool_works_finds_it_done_once(tmp_path: Path):
    slow = HeldTool("slow", side_effect=True)
    async with site(tmp_path, model(call("slow"), reply("Done.")), tools=[slow]) as here:
        run = await here.ada.run("go")
        answering = asyncio.create_task(here.ada.resolve(run["approvals"][0]["id"]))
        await soon(slow.began)
        await left(answering)
        slow.let_go.set()
        await settled(here, run["runId"])
        run = await only_run(here.ada)
    assert (run["summary"], len(slow.ran), slow.stops) == ("Done.", 1, 0)


async def test_who_hangs_up_while_cancelling_has_cancelled(tmp_path: Path):
    look = HeldTool("look", stubborn=True)
    async with site(tmp_path, model(LOOK), tools=[look]) as here:
        asking = asyncio.create_task(here.ada.run("look"))
        await soon(look.began)
        run_id = (await only_run(here.ada))["runId"]
        stopping = asyncio.create_task(here.ada.post(f"/api/agent/runs/{run_id}/cancel"))
        await until(lambda: look.stops)
        await left(stopping)
        look.let_go.set()
        await left(asking)
        assert (await settled(here, run_id)).status == "cancelled"
