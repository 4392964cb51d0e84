"""A run's journal over HTTP: from any number on, then as it is written; as lines, or as server-sent events."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from tests.engine.builders import HeldTool
from tests.http.scenes import MAIL, Held, mail, only_run, refused, soon
from tests.http.site import Person, site
from tests.waiting import HANG_SECONDS

from pollux.asgi import beats
from pollux.testing import call, reply
from pollux.testing import scripted as model

LOOK = call("look")


async def told(person: Person, run_id: str, query: str = "") -> list[dict[str, Any]]:
    return await person.lines("GET", f"/api/agent/runs/{run_id}/events{query}")


def sent_events(raw: str) -> list[dict[str, str]]:
    """Server-sent events, each as its fields."""
    blocks = [block for block in raw.split("\n\n") if block and not block.startswith(":")]
    return [dict(line.split(": ", 1) for line in block.split("\n")) for block in blocks]


async def test_the_journal_tells_every_fact_in_order_with_its_number(tmp_path: Path):
    async with site(tmp_path, model(call("send_mail", MAIL), reply("Sent.")), tools=[mail()]) as here:
        run = await here.ada.run("email Bob")
        await here.ada.resolve(run["approvals"][0]["id"])
        lines = await told(here.ada, run["runId"])
    assert [line["seq"] for line in lines] == list(range(1, len(lines) + 1))
    assert [line["type"] for line in lines] == [
        "RunStarted",
        "RunClaimed",
        "ModelCalled",
        "ModelReplied",
        "ActionDecided",
        "ApprovalResolved",
        "ActionStarted",
        "ActionCompleted",
        "ModelCalled",
        "ModelReplied",
        "RunCompleted",
    ]
    assert all(line["data"]["at"] for line in lines)


async def test_a_replay_from_any_number_is_the_tail_of_the_whole(tmp_path: Path):
    async with site(tmp_path, model(call("send_mail", MAIL), reply("Sent.")), tools=[mail()]) as here:
        run = await here.ada.run("email Bob")
        await here.ada.resolve(run["approvals"][0]["id"])
        whole = await told(here.ada, run["runId"])
        for after in range(len(whole) + 1):
            assert await told(here.ada, run["runId"], f"?after={after}") == whole[after:]
        assert await told(here.ada, run["runId"], "?after=999") == []


async def test_the_journal_is_followed_live_until_the_run_has_ended(tmp_path: Path):
    step, look = Held(LOOK), HeldTool("look")
    async with site(tmp_path, model(step, reply("Seen.")), tools=[look]) as here:
        asking = asyncio.create_task(here.ada.run("look"))
        await soon(step.asked)
        run_id = (await only_run(here.ada))["runId"]
        async with here.ada.open("GET", f"/api/agent/runs/{run_id}/events") as response:
            assert response.headers["content-type"] == "application/x-ndjson; charset=utf-8"
            assert response.headers["cache-control"] == "no-store, no-transform"
            seen = [json.loads(await response.content.readline())["type"] for _ in range(3)]
            assert seen == ["RunStarted", "RunClaimed", "ModelCalled"]
            step.let_go.set()
            seen = [json.loads(await response.content.readline())["type"] for _ in range(3)]
            assert seen == ["ModelReplied", "ActionDecided", "ActionStarted"]
            look.let_go.set()
            rest = [json.loads(line) async for line in response.content]
        assert (await asking)["summary"] == "Seen."
        facts = [line for line in rest if "seq" in line]
        assert [line["type"] for line in facts] == ["ActionCompleted", "ModelCalled", "ModelReplied", "RunCompleted"]
        assert "".join(line["delta"] for line in rest if line["type"] == "delta") == "Seen."
        assert facts == await told(here.ada, run_id, "?after=6")


async def test_a_follower_waits_through_a_question_and_sees_the_answer(tmp_path: Path):
    async with site(tmp_path, model(call("send_mail", MAIL), reply("Sent.")), tools=[mail()]) as here:
        run = await here.ada.run("email Bob")
        async with here.ada.open("GET", f"/api/agent/runs/{run['runId']}/events?after=4") as response:
            assert json.loads(await response.content.readline())["type"] == "ActionDecided"
            await here.ada.resolve(run["approvals"][0]["id"])
            rest = [json.loads(line)["type"] async for line in response.content]
    assert (rest[0], rest[-1]) == ("ApprovalResolved", "RunCompleted")


async def test_many_follow_one_run_and_who_leaves_disturbs_nobody(tmp_path: Path):
    step = Held(reply("Hello."))
    async with site(tmp_path, model(step)) as here:
        asking = asyncio.create_task(here.ada.run("hello"))
        await soon(step.asked)
        run_id = (await only_run(here.ada))["runId"]
        followers = [asyncio.create_task(told(here.ada, run_id)) for _ in range(5)]
        async with here.ada.open("GET", f"/api/agent/runs/{run_id}/events") as response:
            await response.content.readline()
        step.let_go.set()
        await asking
        seen = await asyncio.gather(*followers)
    assert all([line["seq"] for line in lines if "seq" in line] == list(range(1, 6)) for lines in seen)


async def test_server_sent_events_carry_the_number_as_their_id(tmp_path: Path):
    async with site(tmp_path, model(reply("Hello."))) as here:
        run_id = (await here.ada.run("hello"))["runId"]
        whole = await told(here.ada, run_id)
        path, accept = f"/api/agent/runs/{run_id}/events", {"Accept": "text/event-stream"}
        got = await here.ada.get(path, accept)
        assert got.headers["content-type"] == "text/event-stream; charset=utf-8"
        assert got.headers["cache-control"] == "no-store, no-transform"
        events = sent_events(got.body.decode())
        assert [int(event["id"]) for event in events] == [line["seq"] for line in whole]
        assert [event["event"] for event in events] == [line["type"] for line in whole]
        assert [json.loads(event["data"]) for event in events] == whole


async def test_who_reconnects_with_the_last_event_id_misses_and_repeats_nothing(tmp_path: Path):
    async with site(tmp_path, model(reply("Hello."))) as here:
        run_id = (await here.ada.run("hello"))["runId"]
        path, accept = f"/api/agent/runs/{run_id}/events", {"Accept": "text/event-stream"}
        whole = sent_events((await here.ada.get(path, accept)).body.decode())
        for last in range(len(whole) + 1):
            got = await here.ada.get(path, {**accept, "Last-Event-ID": str(last)})
            assert sent_events(got.body.decode()) == whole[last:]


async def test_a_browser_that_reconnects_goes_on_after_the_last_event_whatever_its_address_says(tmp_path: Path):
    async with site(tmp_path, model(reply("Hello."))) as here:
        run_id = (await here.ada.run("hello"))["runId"]
        headers = {"Accept": "text/event-stream", "Last-Event-ID": "3"}
        got = await here.ada.get(f"/api/agent/runs/{run_id}/events?after=1", headers)
    # An EventSource keeps its address and adds the header: going by the address would tell everything twice.
    assert [event["id"] for event in sent_events(got.body.decode())] == ["4", "5"]


async def test_server_sent_events_say_that_they_live_while_nothing_happens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(beats, "BEAT_SECONDS", 0.02)
    async with site(tmp_path, model(call("send_mail", MAIL), reply("Sent.")), tools=[mail()]) as here:
        run = await here.ada.run("email Bob")
        path = f"/api/agent/runs/{run['runId']}/events?after=4"
        async with here.ada.open("GET", path, headers={"Accept": "text/event-stream"}) as response:
            raw = b""
            async with asyncio.timeout(HANG_SECONDS):
                while raw.count(b":\n\n") < 3:
                    raw += await response.content.readline()
                await here.ada.resolve(run["approvals"][0]["id"])
                raw += await response.read()
    events = sent_events(raw.decode())
    assert (events[0]["event"], events[-1]["event"]) == ("ActionDecided", "RunCompleted")
    assert [int(each["id"]) for each in events if "id" in each] == list(range(5, 12))


async def test_a_number_that_is_none_is_refused_before_anything_is_sent(tmp_path: Path):
    async with site(tmp_path, model(reply("Hello."))) as here:
        path = f"/api/agent/runs/{(await here.ada.run('hello'))['runId']}/events"
        for after in ("-1", "abc", "1.5", "", "9" * 30):
            refused(await here.ada.get(f"{path}?after={after}"), 400, "invalid")
        for last in ("-1", "abc", "9" * 30):
            refused(await here.ada.get(path, {"Last-Event-ID": last}), 400, "invalid")
        refused(await here.bob.get(path), 404, "not_found")
        refused(await here.ada.get("/api/agent/runs/run_none/events"), 404, "not_found")
        refused(await here.nobody.get(path), 401, "auth_error")


async def test_a_server_that_stops_ends_the_journal_with_an_error(tmp_path: Path):
    step = Held(reply("Never."))
    async with site(tmp_path, model(step)) as here:
        asking = asyncio.create_task(here.ada.post("/api/agent/run", {"prompt": "think"}))
        await soon(step.asked)
        run_id = (await only_run(here.ada))["runId"]
        path = f"/api/agent/runs/{run_id}/events"
        async with (
            here.ada.open("GET", path) as lines,
            here.ada.open("GET", path, headers={"Accept": "text/event-stream"}) as events,
        ):
            await lines.content.readline()
            first = await events.content.readline()
            await here.engine.close()
            last = json.loads((await lines.read()).splitlines()[-1])
            said = sent_events((first + await events.read()).decode())[-1]
        error = refused(await asking, 503, "draining")
    assert (last["type"], last["code"]) == ("error", "draining")
    assert (said["event"], json.loads(said["data"])["code"]) == ("error", "draining")
    assert error["runId"] == run_id
