"""A document run over HTTP: told block by block, asked about, gone on with."""

import asyncio
from pathlib import Path

import msgspec
from tests.http.site import settings_in
from tests.runbooks.http.site import (
    RUNS,
    answered,
    asked,
    begun,
    config,
    ended,
    events,
    put,
    runbook_site,
    seen,
    shown,
    states,
)
from tests.runbooks.lab import document, id_of, script

from pollux.asgi.bodies import moment
from pollux.core.ids import RunId
from pollux.runbooks.http.runtime import runtime_of
from pollux.runbooks.http.views import run_view
from pollux.runbooks.place import served_runbooks


async def test_a_trusted_document_runs_to_its_end_and_every_block_tells_what_it_gave_out(tmp_path: Path):
    async with runbook_site(tmp_path) as here:
        put(tmp_path / "runbooks", "a.atrb", document(script("one", "echo one"), script("two", "pwd")))
        run = await begun(here.ada, "a.atrb")
        told = await events(here.ada, run["runId"])
        over = await ended(here.ada, run["runId"])
    assert (over["state"], states(over)) == ("completed", {"one": "done", "two": "done"})
    assert over["blocks"][0]["outputs"] == ["combined", "exit_code", "stderr", "stdout"]
    assert over["trusted"] and over["path"] == "a.atrb" and over["summary"] == "Test: 2 blocks done."
    assert [line["type"] for line in told if line["type"] != "blockOutput"] == [
        "runbookStarted", "blockStarted", "blockFinished", "blockStarted", "blockFinished", "runbookFinished",
    ]  # fmt: skip
    results = [line["data"]["object"]["stdout"] for line in told if line["type"] == "blockFinished"]
    assert results == ["one\n", f"{(tmp_path / 'runbooks').resolve()}\n"]


async def test_a_document_that_nobody_trusts_asks_about_every_block(tmp_path: Path):
    async with runbook_site(tmp_path) as here:
        put(tmp_path / "runbooks", "a.atrb", document(script("one", "echo one > one"), script("two", "echo two > two")))
        run = await asked(here.ada, (await begun(here.ada, "a.atrb", trust=False))["runId"])
        (question,) = run["approvals"]
        assert (question["tool"], question["blockId"], question["byAgent"]) == ("runbook_script", id_of("one"), False)
        assert states(run) == {"one": "waiting", "two": "pending"}
        assert not (tmp_path / "runbooks/one").exists()
        assert (await answered(here.ada, run)).body["status"] == "approved"
        second = await asked(here.ada, run["runId"])
        assert (await answered(here.ada, second, approved=False, feedback="not today")).body["status"] == "rejected"
        over = await ended(here.ada, run["runId"])
    assert (over["state"], over["code"]) == ("failed", "rejected")
    assert (tmp_path / "runbooks/one").exists() and not (tmp_path / "runbooks/two").exists()


async def test_after_a_failure_the_block_is_tried_again_or_passed_over(tmp_path: Path):
    async with runbook_site(tmp_path) as here:
        blocks = script("one", "echo x >> log"), script("two", "test -f there"), script("three", "echo y >> log")
        put(tmp_path / "runbooks", "a.atrb", document(*blocks))
        run = await ended(here.ada, (await begun(here.ada, "a.atrb"))["runId"])
        assert states(run) == {"one": "done", "two": "failed", "three": "pending"}
        assert "two" in run["error"]

        undecided = await here.ada.post(f"{RUNS}/{run['runId']}/resume", {})
        assert (undecided.status, undecided.code) == (409, "needs_decision")
        wrong = await here.ada.post(f"{RUNS}/{run['runId']}/resume", {"retry": id_of("one")})
        assert wrong.status == 400
        both = await here.ada.post(f"{RUNS}/{run['runId']}/resume", {"retry": id_of("two"), "skip": id_of("two")})
        assert both.status == 400

        again = await here.ada.post(f"{RUNS}/{run['runId']}/resume", {"retry": id_of("two")})
        failed = await ended(here.ada, again.body["runId"])
        assert (failed["state"], states(failed)["two"]) == ("failed", "failed")
        skipped = await here.ada.post(f"{RUNS}/{failed['runId']}/resume", {"skip": id_of("two")})
        over = await ended(here.ada, skipped.body["runId"])
        first = await shown(here.ada, run["runId"])
        at_end = await here.ada.post(f"{RUNS}/{over['runId']}/resume", {})
    assert (over["state"], states(over)) == ("completed", {"one": "done", "two": "skipped", "three": "done"})
    assert (tmp_path / "runbooks/log").read_text() == "x\ny\n"
    assert states(first) == {"one": "done", "two": "failed", "three": "pending"}, "what came later is not its own"
    assert at_end.status == 409


async def test_a_value_that_was_missing_is_given_to_go_on(tmp_path: Path):
    async with runbook_site(tmp_path) as here:
        put(
            tmp_path / "runbooks", "a.atrb", document(script("one", "echo x >> log"), script("two", "echo {{ var.a }}"))
        )
        run = await ended(here.ada, (await begun(here.ada, "a.atrb"))["runId"])
        assert (run["code"], states(run)) == ("block_failed", {"one": "done", "two": "next"})
        assert "`var.a` is undefined" in run["error"]
        again = await here.ada.post(f"{RUNS}/{run['runId']}/resume", {"variables": {"a": "b"}})
        told = await events(here.ada, again.body["runId"])
    assert [line["data"]["object"]["stdout"] for line in told if line["type"] == "blockFinished"] == ["b\n"]
    assert (tmp_path / "runbooks/log").read_text() == "x\n"


async def test_a_run_that_has_not_ended_takes_no_other_values(tmp_path: Path):
    async with runbook_site(tmp_path) as here:
        put(tmp_path / "runbooks", "a.atrb", document(script("one", "true")))
        run = await asked(here.ada, (await begun(here.ada, "a.atrb", trust=False))["runId"])
        refused = await here.ada.post(f"{RUNS}/{run['runId']}/resume", {"variables": {"a": "b"}})
    assert (refused.status, refused.code) == (409, "misfit")


async def test_since_when_a_block_is_running_is_told_to_whoever_comes_later(tmp_path: Path):
    async with runbook_site(tmp_path) as here:
        slow = script("slow", "while ! test -e go; do sleep 0.02; done")
        put(tmp_path / "runbooks", "a.atrb", document(slow, script("next", "true")))
        run = await begun(here.ada, "a.atrb")
        running = await seen(here.ada, run["runId"], lambda run: states(run)["slow"] == "running")
        since, coming = (block["startedAt"] for block in running["blocks"])
        assert coming is None and since >= run["createdAt"]
        (tmp_path / "runbooks/go").touch()
        over = await ended(here.ada, run["runId"])
        told = await events(here.ada, run["runId"])
    assert over["blocks"][0]["startedAt"] == since
    began = next(line["data"]["startedAt"] for line in told if line["type"] == "blockStarted")
    assert moment(began) == since


async def test_what_is_shown_of_a_run_is_of_one_moment(tmp_path: Path):
    async with runbook_site(tmp_path) as here:
        put(tmp_path / "runbooks", "a.atrb", document(script("one", "true"), script("two", "true")))
        first = await asked(here.ada, (await begun(here.ada, "a.atrb", trust=False))["runId"])
        as_it_was = await here.engine.queries.run(RunId(first["runId"]))
        await answered(here.ada, first)
        await seen(here.ada, first["runId"], lambda run: states(run)["two"] == "waiting")
        settings = settings_in(tmp_path, config(tmp_path))
        runbooks = served_runbooks(settings)
        assert runbooks is not None
        # It went on while somebody looked: what has happened since is not told beside what was.
        view = await run_view(runtime_of(settings, here.engine, runbooks), as_it_was)
    assert msgspec.json.decode(msgspec.json.encode(view)) == first


async def test_the_same_request_sent_twice_runs_the_document_once(tmp_path: Path):
    async with runbook_site(tmp_path) as here:
        file = put(tmp_path / "runbooks", "a.atrb", document(script("one", "echo x >> log")))
        digest = (await here.ada.get("/api/runbooks/documents?path=a.atrb")).body["digest"]
        body, key = {"path": "a.atrb", "trust": True, "digest": digest}, {"Idempotency-Key": "deploy-1"}
        goes = await asyncio.gather(*(here.ada.post(RUNS, body, key) for _ in range(8)))
        assert {got.status for got in goes} == {201} and len({got.body["runId"] for got in goes}) == 1
        await ended(here.ada, goes[0].body["runId"])
        file.unlink()
        assert (await here.ada.post(RUNS, body, key)).body["runId"] == goes[0].body["runId"]
        other = await here.ada.post(RUNS, {**body, "variables": {"a": "b"}}, key)
        assert (other.status, other.code) == (409, "idempotency_mismatch")
    assert (tmp_path / "runbooks/log").read_text() == "x\n"
