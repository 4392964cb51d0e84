"""Agents in a run over HTTP: their statuses, their questions, and what a person's answer does."""

import asyncio
from pathlib import Path

import pytest
from tests.http.site import Site
from tests.runbooks.http.site import (
    RUNS,
    answered,
    asked,
    begun,
    ended,
    events,
    put,
    runbook_site,
    seen,
    states,
)
from tests.runbooks.lab import agent, block, document, id_of, script
from tests.runbooks.test_foreign_agents import worker

from pollux.core.ids import UserId
from pollux.core.profile import DEFAULT_MODEL
from pollux.core.run import Run
from pollux.testing import call, reply
from pollux.testing import scripted as model

pytest.importorskip("acp")


async def test_a_foreign_agents_request_is_a_question_of_the_run_and_remembering_is_a_grant_for_it(tmp_path: Path):
    async with runbook_site(tmp_path) as here:
        orders = "append log.txt 1", "append log.txt 2", "say done"
        put(tmp_path / "runbooks", "a.atrb", document(worker("work", *orders)))
        run = await asked(here.ada, (await begun(here.ada, "a.atrb"))["runId"])
        (question,) = run["approvals"]
        assert (question["tool"], question["byAgent"], question["blockId"]) == ("agent_permission", True, id_of("work"))
        agent_now = run["blocks"][0]["agent"]
        assert agent_now["status"] == "pendingToolApproval" and run["state"] == "executing"
        assert agent_now["pendingToolCall"]["summary"] == question["preview"] and agent_now["tokenUsage"] is None
        (pending,) = (await here.ada.get("/api/agent/approvals/pending")).body["items"]
        assert pending["id"] == question["id"] and pending["args"] == question["args"]
        assert not (tmp_path / "runbooks/log.txt").exists()

        got = await answered(here.ada, run, remember=True, argsHash=question["argsHash"])
        assert (got.status, got.body["remember"], got.body["status"]) == (200, True, "approved")
        over = await ended(here.ada, run["runId"])
        told = await events(here.ada, run["runId"])
        (grant,) = (await here.ada.get("/api/agent/grants")).body["items"]
    assert over["state"] == "completed" and over["blocks"][0]["agent"] == {
        "status": "completed", "inputTokens": 3, "outputTokens": 4, "pendingToolCall": None,
        "tokenUsage": {"inputTokens": 3, "outputTokens": 4},
    }  # fmt: skip
    assert "text" in over["blocks"][0]["outputs"] and "duration_seconds" in over["blocks"][0]["outputs"]
    assert (tmp_path / "runbooks/log.txt").read_text() == "1\n2\n"
    assert (grant["tool"], grant["scope"], grant["threadId"]) == ("agent_permission", "session", run["threadId"])
    assert [line["data"]["remember"] for line in told if line["type"] == "agentToolApprovalResponse"] == [True]


async def test_an_answer_is_taken_once_and_the_second_hears_what_became_of_it(tmp_path: Path):
    async with runbook_site(tmp_path) as here:
        put(tmp_path / "runbooks", "a.atrb", document(worker("work", "append log.txt 1", "say done")))
        run = await asked(here.ada, (await begun(here.ada, "a.atrb"))["runId"])
        changed = await answered(here.ada, run, argsHash="sha256:other")
        assert (changed.status, changed.code) == (409, "args_changed")
        answers = await asyncio.gather(*(answered(here.ada, run) for _ in range(8)))
        assert sorted(got.status for got in answers) == [200, *[409] * 7]
        late = await answered(here.ada, run, approved=False)
        assert (late.status, late.code) == (409, "already_resolved")
        assert late.body["error"]["outcome"]["status"] == "approved" and late.body["error"]["runId"] == run["runId"]
        await ended(here.ada, run["runId"])
    assert (tmp_path / "runbooks/log.txt").read_text() == "1\n"


async def test_an_agent_that_is_gone_takes_its_question_along(tmp_path: Path):
    async with runbook_site(tmp_path) as here:
        put(
            tmp_path / "runbooks",
            "a.atrb",
            document(worker("work", "append log.txt 1"), script("after", "touch after")),
        )
        run = await asked(here.ada, (await begun(here.ada, "a.atrb"))["runId"])
        assert (await here.ada.post(f"/api/agent/runs/{run['runId']}/cancel")).status == 200
        over = await ended(here.ada, run["runId"])
        late = await answered(here.ada, run)
        assert (await here.ada.get("/api/agent/approvals/pending")).body["items"] == []
    assert (over["state"], over["blocks"][0]["code"]) == ("cancelled", "outcome_unknown")
    assert over["blocks"][0]["agent"]["status"] == "cancelled"
    assert (late.status, late.code) == (409, "withdrawn")
    assert not (tmp_path / "runbooks/log.txt").exists() and not (tmp_path / "runbooks/after").exists()


async def test_our_own_agents_questions_are_the_runs_too(tmp_path: Path):
    may = {"readFiles": True, "writeFiles": True}
    steps = model(call("write_file", {"path": "made.txt", "content": "made"}), reply("It is made."))
    async with runbook_site(tmp_path, steps) as here:
        put(tmp_path / "runbooks", "a.atrb", document(agent("us", "Make it.", capabilities=may)))
        run = await asked(here.ada, (await begun(here.ada, "a.atrb"))["runId"])
        (question,) = run["approvals"]
        assert question["runId"] != run["runId"] and question["byAgent"] and question["blockId"] == id_of("us")
        agent_now = run["blocks"][0]["agent"]
        assert agent_now["status"] == "pendingToolApproval"
        assert (agent_now["pendingToolCall"]["name"], agent_now["pendingToolCall"]["summary"]) == (
            question["tool"], question["preview"],
        )  # fmt: skip
        assert (await answered(here.ada, run)).status == 200
        over = await ended(here.ada, run["runId"])
        rows = (await here.ada.get(RUNS)).body["items"]
    assert over["state"] == "completed" and over["blocks"][0]["agent"]["status"] == "completed"
    assert (tmp_path / "runbooks/made.txt").read_text() == "made"
    assert [row["runId"] for row in rows] == [run["runId"]], "a part is not listed"


async def test_a_part_asks_by_way_of_the_whole_and_is_gone_on_with_there(tmp_path: Path):
    async with runbook_site(tmp_path) as here:
        folder = tmp_path / "runbooks"
        inner = document(script("inner", "echo inner > inner.txt"), name="Inner")
        put(folder, "inner.atrb", inner)
        put(folder, "outer.atrb", document(block("sub-runbook", "part", runbookPath="inner.atrb"), name="Outer"))
        run = await asked(here.ada, (await begun(here.ada, "outer.atrb"))["runId"])
        (question,) = run["approvals"]
        assert (question["blockId"], question["byAgent"]) == (id_of("part"), False)
        part = await here.ada.post(f"{RUNS}/{question['runId']}/resume", {})
        assert part.status == 409 and run["runId"] in part.body["error"]["message"]
        assert (await answered(here.ada, run)).status == 200
        over = await ended(here.ada, run["runId"])
        told = await events(here.ada, run["runId"])
    assert (over["state"], states(over)) == ("completed", {"part": "done"})
    assert (
        (folder / "inner.txt").exists() and told[-1]["type"] == "runbookFinished" and "within" not in told[-1]["data"]
    )


async def test_an_agent_that_takes_too_long_has_timed_out(tmp_path: Path):
    async with runbook_site(tmp_path) as here:
        put(tmp_path / "runbooks", "a.atrb", document(worker("work", "append log.txt 1", timeoutSeconds=1)))
        run = await begun(here.ada, "a.atrb")
        assert run["blocks"][0]["agent"]["status"] in ("idle", "initializing")
        over = await seen(here.ada, run["runId"], lambda run: run["state"] == "failed")
    assert over["blocks"][0]["agent"]["status"] == "timedOut" and over["blocks"][0]["code"] == "timeout"
    assert over["blocks"][0]["seconds"] > 0.9


async def test_a_run_names_the_model_of_agents_that_name_none(tmp_path: Path):
    async with runbook_site(tmp_path, model(reply("Hello."), reply("Hello."))) as here:
        put(tmp_path / "runbooks", "a.atrb", document(agent("us", "Hello", source={"type": "internal"})))
        run = await ended(here.ada, (await begun(here.ada, "a.atrb"))["runId"])
        assert run["state"] == "completed" and (await child(here)).model == DEFAULT_MODEL
        run = await ended(here.ada, (await begun(here.ada, "a.atrb", model="gemini-other"))["runId"])
        assert run["state"] == "completed" and (await child(here)).model == "gemini-other"
        for name, said in (
            ("nothing-known", "has no known form"),
            ("openai:http://127.0.0.1:1/v1/model", "by its name alone"),
            ("", "model"),
            ("x" * 300, "model"),
        ):
            got = await here.ada.post(RUNS, {"path": "a.atrb", "model": name})
            assert got.status == 400 and said in got.body["error"]["message"], got


async def test_an_agent_works_beside_its_document_and_never_outside_the_folder(tmp_path: Path):
    may = {"readFiles": True}
    steps = model(call("read_file", {"path": "team/notes/a.txt"}), reply("Read."))
    async with runbook_site(tmp_path, steps) as here:
        folder = tmp_path / "runbooks"
        put(folder, "team/notes/a.txt", "a note")
        put(folder, "team/in.atrb", document(agent("us", "Read it.", capabilities=may, workingDirectory="notes")))
        put(folder, "team/out.atrb", document(agent("us", "Read it.", workingDirectory="../..")))
        run = await ended(here.ada, (await begun(here.ada, "team/in.atrb"))["runId"])
        reading = await child(here)
        assert run["state"] == "completed" and "Work in the folder team/notes" in reading.instructions
        assert reading.actions[0].outcome is not None and reading.actions[0].outcome.result == {"content": "a note"}
        out = await ended(here.ada, (await begun(here.ada, "team/out.atrb"))["runId"])
    assert out["code"] == "block_failed" and "workingDirectory must lie beneath" in out["error"]


async def child(here: Site) -> Run:
    """The last run of our own agent."""
    rows = await here.engine.queries.runs(UserId("ada"), limit=10)
    found, *_ = [row.run_id for row in rows if row.profile == "runbook-agent"]
    return await here.engine.queries.run(found)
