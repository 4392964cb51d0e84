"""Idempotency-Key: the same request sent twice begins one run."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.http.scenes import MAIL, Held, left, mail, only_run, refused, settled, soon
from tests.http.site import Got, Person, site

from pollux.stores.sqlite import SqliteStore
from pollux.testing import FakeClock, call, reply
from pollux.testing import scripted as model

RUN = "/api/agent/run"
DAY = 24 * 3600


async def ask(person: Person, prompt: str, key: str = "key-1", **more: Any) -> Got:
    return await person.post(RUN, {"prompt": prompt, **more}, {"Idempotency-Key": key})


async def told(person: Person, prompt: str, key: str = "key-1", **more: Any) -> list[dict[str, Any]]:
    return await person.lines("POST", f"{RUN}/stream", {"prompt": prompt, **more}, {"Idempotency-Key": key})


async def test_the_same_key_and_body_lead_to_the_same_run(tmp_path: Path):
    script = model(reply("Hello."))
    async with site(tmp_path, script) as here:
        first, second = await ask(here.ada, "hello"), await ask(here.ada, "hello")
        assert (first.status, second.status) == (200, 200)
        assert first.body == second.body
        assert len((await here.ada.get("/api/agent/runs")).body["items"]) == 1
    assert len(script.requests) == 1


async def test_members_in_another_order_and_defaults_spelt_out_are_the_same_body(tmp_path: Path):
    async with site(tmp_path, model(reply("Hello."))) as here:
        headers = {"Idempotency-Key": "key-1"}
        first = await here.ada.send("POST", RUN, raw=b'{"prompt":"hello","profile":"default"}', headers=headers)
        second = await here.ada.send("POST", RUN, raw=b'{ "supersede": false, "prompt": "hello" }', headers=headers)
        assert first.body["runId"] == second.body["runId"]


async def test_the_same_key_with_another_body_is_refused(tmp_path: Path):
    async with site(tmp_path, model(reply("Hello."))) as here:
        run = (await ask(here.ada, "hello")).body
        error = refused(await ask(here.ada, "good day"), 409, "idempotency_mismatch")
        assert error["runId"] == run["runId"]
        refused(await ask(here.ada, "hello", threadId=run["threadId"]), 409, "idempotency_mismatch")
        assert len((await here.ada.get("/api/agent/runs")).body["items"]) == 1


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
async def test_sixteen_at_once_with_one_key_begin_one_run(tmp_path: Path, kind: str):
    tool, script = mail(), model(call("send_mail", MAIL))
    store = SqliteStore(tmp_path / "pollux.db", key=b"k" * 32) if kind == "sqlite" else None
    async with site(tmp_path, script, tools=[tool], store=store) as here:
        got = await asyncio.gather(*(ask(here.ada, "email Bob") for _ in range(16)))
        assert [each.status for each in got] == [200] * 16, [each.body for each in got]
        assert len({each.body["runId"] for each in got}) == 1
        assert len((await here.ada.get("/api/agent/approvals/pending")).body["items"]) == 1
        assert len((await here.ada.get("/api/agent/threads")).body["items"]) == 1
    assert len(script.requests) == 1


async def test_sixteen_at_once_in_one_thread_that_supersede_do_not_stop_one_another(tmp_path: Path):
    step = Held(reply("New."))
    script = model(call("send_mail", MAIL), step)
    async with site(tmp_path, script, tools=[mail()]) as here:
        old = await here.ada.run("email Bob")
        again: dict[str, Any] = {"threadId": old["threadId"], "supersede": True}
        asking = [asyncio.create_task(ask(here.ada, "forget it", **again)) for _ in range(16)]
        await soon(step.asked)
        step.let_go.set()
        got = await asyncio.gather(*asking)
    assert {(each.status, each.body["state"], each.body["summary"]) for each in got} == {(200, "completed", "New.")}


async def test_of_two_bodies_at_once_with_one_key_one_is_refused(tmp_path: Path):
    async with site(tmp_path, model(reply("Hello."))) as here:
        got = await asyncio.gather(*(ask(here.ada, f"number {n % 2}") for n in range(8)))
        assert sorted(each.status for each in got) == [200] * 4 + [409] * 4
        assert len({each.body["runId"] for each in got if each.status == 200}) == 1


async def test_who_asks_again_while_the_run_is_under_way_waits_for_the_same_answer(tmp_path: Path):
    step = Held(reply("Hello."))
    async with site(tmp_path, model(step)) as here:
        first = asyncio.create_task(ask(here.ada, "hello"))
        await soon(step.asked)
        await left(first)
        second = asyncio.create_task(ask(here.ada, "hello"))
        await settled_request(here.ada)
        step.let_go.set()
        assert (await second).body["summary"] == "Hello."
        assert len((await here.ada.get("/api/agent/runs")).body["items"]) == 1


async def settled_request(person: Person) -> None:
    """Let requests that were sent before this one arrive."""
    await only_run(person)


async def test_who_asks_again_hears_how_the_run_stands_now(tmp_path: Path):
    async with site(tmp_path, model(call("send_mail", MAIL), reply("Sent.")), tools=[mail()]) as here:
        run = (await ask(here.ada, "email Bob")).body
        assert (await ask(here.ada, "email Bob")).body["approvals"] == run["approvals"]
        await here.ada.resolve(run["approvals"][0]["id"])
        again = (await ask(here.ada, "email Bob")).body
    assert (again["runId"], again["status"], again["summary"]) == (run["runId"], "completed", "Sent.")


async def test_a_stream_asked_for_again_tells_the_same_run_to_where_it_stands_now(tmp_path: Path):
    script = model(call("send_mail", MAIL, text="One moment. "), reply("Sent."))
    async with site(tmp_path, script, tools=[mail()]) as here:
        first = await told(here.ada, "email Bob")
        assert first[-1]["result"]["status"] == "awaiting_confirmation"
        await here.ada.resolve(first[-1]["result"]["approvals"][0]["id"])
        again = await told(here.ada, "email Bob")
    assert [line["type"] for line in again] == ["status", "delta", "tool_call", "delta", "result"]
    result = again[-1]["result"]
    assert (result["runId"], result["status"], result["summary"]) == (first[0]["runId"], "completed", "Sent.")
    assert result["approvals"] == [] and len(script.requests) == 2


async def test_a_key_belongs_to_one_user_and_one_route(tmp_path: Path):
    async with site(tmp_path, model(*[reply("Hello.")] * 3)) as here:
        runs = [
            (await ask(here.ada, "hello")).body["runId"],
            (await ask(here.bob, "hello")).body["runId"],
            (await told(here.ada, "hello"))[-1]["result"]["runId"],
        ]
    assert len(set(runs)) == 3


async def test_a_key_is_forgotten_after_a_day_and_can_be_used_again_and_again(tmp_path: Path):
    clock = FakeClock()
    async with site(tmp_path, model(*[reply("Hello.")] * 3), clock=clock) as here:
        seen: list[str] = []
        for day in range(3):
            run = (await ask(here.ada, f"day {day}")).body["runId"]
            clock.advance(DAY - 1)
            assert (await ask(here.ada, f"day {day}")).body["runId"] == run
            refused(await ask(here.ada, "something else"), 409, "idempotency_mismatch")
            clock.advance(1)
            seen.append(run)
    assert len(set(seen)) == 3


async def test_another_key_is_another_run(tmp_path: Path):
    async with site(tmp_path, model(*[reply("Hello.")] * 2)) as here:
        first, second = await ask(here.ada, "hello", "key-1"), await ask(here.ada, "hello", "key-2")
    assert first.body["runId"] != second.body["runId"]


async def test_a_key_that_is_none_is_refused(tmp_path: Path):
    async with site(tmp_path, model(reply("Hello."))) as here:
        for key in ("", "x" * 256, "tab\there"):
            refused(await ask(here.ada, "hello", key), 400, "invalid")
        assert (await here.ada.get("/api/agent/runs")).body["items"] == []
        assert (await ask(here.ada, "hello", "x" * 255)).status == 200


async def test_a_refused_request_leaves_its_key_free(tmp_path: Path):
    async with site(tmp_path, model(reply("Hello."))) as here:
        refused(await ask(here.ada, "hello", threadId="thr_none"), 404, "not_found")
        refused(await ask(here.ada, "  "), 400, "invalid")
        assert (await ask(here.ada, "hello")).status == 200


async def test_a_busy_thread_is_busy_for_another_key_and_known_for_the_same(tmp_path: Path):
    async with site(tmp_path, model(reply("Hello."), call("send_mail", MAIL)), tools=[mail()]) as here:
        thread_id = (await here.ada.run("hello"))["threadId"]
        run = (await ask(here.ada, "email Bob", threadId=thread_id)).body
        assert (await ask(here.ada, "email Bob", threadId=thread_id)).body["runId"] == run["runId"]
        error = refused(await ask(here.ada, "email Bob", "key-2", threadId=thread_id), 409, "thread_busy")
        assert error["runId"] == run["runId"]


async def test_a_key_whose_run_was_erased_does_not_begin_it_again(tmp_path: Path):
    script = model(reply("Hello."))
    async with site(tmp_path, script) as here:
        run = (await ask(here.ada, "hello")).body
        await here.ada.send("DELETE", f"/api/agent/threads/{run['threadId']}")
        assert (await ask(here.ada, "hello")).status == 409
    assert len(script.requests) == 1


async def test_a_key_is_kept_across_a_restart(tmp_path: Path):
    def store() -> SqliteStore:
        return SqliteStore(tmp_path / "pollux.db", key=b"k" * 32)

    async with site(tmp_path, model(reply("Hello.")), store=store()) as here:
        run = (await ask(here.ada, "hello")).body
    async with site(tmp_path, model(), store=store()) as here:
        again = (await ask(here.ada, "hello")).body
        await settled(here, run["runId"])
    assert again == run
