"""`pollux serve` killed under a runbook, and started again: nothing is lost, nothing done twice, and people decide."""

import asyncio
from pathlib import Path

import pytest
from tests.http.site import TOKENS, process
from tests.http.test_serve import caller
from tests.runbooks.http.site import (
    PATIENCE,
    RUNS,
    answered,
    asked,
    begun,
    checked,
    config,
    ended,
    events,
    put,
    seen,
    shown,
    states,
)
from tests.runbooks.lab import document, id_of, script
from tests.runbooks.test_foreign_agents import worker
from tests.waiting import until

pytestmark = pytest.mark.slow

HELD = "echo two >> log; test -e again || { touch held; while :; do sleep 0.05; done; }"


async def test_killed_in_the_middle_of_a_block_it_stops_there_and_is_gone_on_with_as_a_person_says(tmp_path: Path):
    environ, folder = config(tmp_path, 'users = ["ada"]'), tmp_path / "runbooks"
    blocks = script("one", "echo one >> log"), script("two", HELD), script("three", "echo three >> log")
    put(folder, "a.atrb", document(*blocks))
    async with process(tmp_path, **environ) as first:
        async with caller(first) as ada:
            run = await begun(ada, "a.atrb")
            await until((folder / "held").exists)
            assert states(await shown(ada, run["runId"])) == {"one": "done", "two": "running", "three": "pending"}
        first.kill()
    (folder / "again").touch()
    async with process(tmp_path, **environ) as second, caller(second) as ada:
        stopped = await ended(ada, run["runId"])
        assert (stopped["state"], stopped["code"]) == ("failed", "outcome_unknown")
        assert states(stopped) == {"one": "done", "two": "failed", "three": "pending"}
        undecided = await ada.post(f"{RUNS}/{run['runId']}/resume", {})
        assert (undecided.status, undecided.code) == (409, "needs_decision")
        assert (folder / "log").read_text() == "one\ntwo\n", "nobody tries again by themselves"
        told = await events(ada, run["runId"])
        assert told[-1]["data"]["code"] == "outcome_unknown"

        again = await ada.post(f"{RUNS}/{run['runId']}/resume", {"retry": id_of("two")})
        assert again.status == 200
        over = await ended(ada, again.body["runId"])
        assert (over["state"], states(over)) == ("completed", {"one": "done", "two": "done", "three": "done"})
        assert (await ada.get("/api/agent/audit/verify")).body["valid"] is True
        assert await second.stop() == 0
    assert (folder / "log").read_text() == "one\ntwo\ntwo\nthree\n"


async def test_killed_while_a_person_is_asked_it_still_asks_and_goes_on_once(tmp_path: Path):
    environ, folder = config(tmp_path, 'users = ["ada"]'), tmp_path / "runbooks"
    put(folder, "a.atrb", document(script("one", "echo one >> log"), script("two", "echo two >> log")))
    async with process(tmp_path, **environ) as first:
        async with caller(first) as ada:
            run = await asked(ada, (await begun(ada, "a.atrb", trust=False))["runId"])
            assert (await answered(ada, run)).status == 200
            second_question = await seen(ada, run["runId"], lambda run: states(run)["two"] == "waiting")
        first.kill()
    async with process(tmp_path, **environ) as second, caller(second) as ada:
        waiting = await asked(ada, run["runId"])
        assert waiting["approvals"] == second_question["approvals"] and states(waiting)["one"] == "done"
        goes = await asyncio.gather(*(answered(ada, waiting) for _ in range(4)))
        assert sorted(got.status for got in goes) == [200, 409, 409, 409]
        over = await ended(ada, run["runId"])
        assert over["state"] == "completed"
    assert (folder / "log").read_text() == "one\ntwo\n"


async def test_killed_while_a_foreign_agent_waits_its_question_is_withdrawn_and_it_may_be_asked_again(tmp_path: Path):
    environ, folder = config(tmp_path, 'users = ["ada"]'), tmp_path / "runbooks"
    put(folder, "a.atrb", document(worker("work", "append log.txt 1", "say done")))
    async with process(tmp_path, **environ) as first:
        async with caller(first) as ada:
            run = await asked(ada, (await begun(ada, "a.atrb"))["runId"])
        first.kill()
    async with process(tmp_path, **environ) as second, caller(second) as ada:
        stopped = await ended(ada, run["runId"])
        assert (stopped["code"], stopped["approvals"]) == ("outcome_unknown", [])
        late = await answered(ada, run)
        assert (late.status, late.code) == (409, "withdrawn")
        assert (await ada.get("/api/agent/approvals/pending")).body["items"] == []
        again = await ada.post(f"{RUNS}/{run['runId']}/resume", {"retry": id_of("work")})
        asks = await asked(ada, again.body["runId"])
        assert (await answered(ada, asks)).status == 200
        assert (await ended(ada, asks["runId"]))["state"] == "completed"
    assert (folder / "log.txt").read_text() == "1\n"


async def test_told_to_stop_the_stream_ends_with_a_last_line_and_what_waits_is_kept(tmp_path: Path):
    environ, folder = config(tmp_path, 'users = ["ada"]'), tmp_path / "runbooks"
    put(folder, "a.atrb", document(script("one", "echo one >> log")))
    async with process(tmp_path, **environ) as first, caller(first) as ada, asyncio.timeout(PATIENCE):
        run = await asked(ada, (await begun(ada, "a.atrb", trust=False))["runId"])
        async with ada.open("GET", f"{RUNS}/{run['runId']}/events") as answer:
            told = [checked(await answer.content.readline())]
            while told[-1]["type"] != "blockApprovalRequired":
                told.append(checked(await answer.content.readline()))
            stopping = asyncio.create_task(first.stop())
            told += [checked(line) async for line in answer.content]
            assert await stopping == 0
    assert (told[-1]["type"], told[-1]["code"]) == ("error", "draining")
    async with process(tmp_path, **environ) as second, caller(second, TOKENS["ada"]) as ada:
        assert (await shown(ada, run["runId"]))["approvals"] == run["approvals"]
