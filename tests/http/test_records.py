"""What stays: the audit with its nine fields, its head, and actions whose outcome a person has to settle."""

import asyncio
import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from tests.engine.builders import FakeTool, HeldTool
from tests.http.scenes import MAIL, left, mail, only_run, refused, settled, soon
from tests.http.site import TOKENS, Person, site

from pollux.core.conditions import Condition
from pollux.core.errors import ToolError
from pollux.core.messages import JSON
from pollux.core.policy import Rule
from pollux.core.tools import ToolContext
from pollux.stores.memory import MemoryStore
from pollux.stores.sqlite import SqliteStore
from pollux.testing import FakeClock, call, reply
from pollux.testing import scripted as model

AUDIT = "/api/agent/audit"
NINE = {
    "modelName",
    "toolName",
    "inputHash",
    "policyDecision",
    "approvalId",
    "executionStatus",
    "errorCode",
    "message",
    "at",
}


async def entries(person: Person, query: str = "") -> list[dict[str, Any]]:
    got = await person.get(f"{AUDIT}{query}")
    assert got.status == 200, got
    return got.body["items"]


async def test_an_approved_action_is_in_the_audit_with_the_nine_fields(tmp_path: Path):
    async with site(tmp_path, model(call("send_mail", MAIL), reply("Sent.")), tools=[mail()]) as here:
        run = await here.ada.run("email Bob")
        approval = run["approvals"][0]["id"]
        await here.ada.resolve(approval)
        done, started, approved, decided = await entries(here.ada)
    assert [each["kind"] for each in (decided, approved, started, done)] == [
        "decided",
        "approved",
        "started",
        "completed",
    ]
    for each in (decided, approved, started, done):
        assert each.keys() >= NINE
        assert (each["modelName"], each["toolName"]) == (run["model"], "send_mail")
        assert (each["runId"], each["actionId"]) == (run["runId"], run["actions"][0]["id"])
        assert (each["user"], each["approvalId"]) == ("ada", approval)
        assert each["policyDecision"].startswith("require_approval") and each["at"].endswith("Z")
    assert (done["executionStatus"], done["errorCode"], approved["by"]) == ("completed", "", "ada")
    # What an effect begins and ends with says who allowed it.
    assert started["by"] == done["by"] == f"approval:{approval} by ada"
    assert done["startedAt"] and done["endedAt"] >= done["startedAt"]
    assert len({each["inputHash"] for each in (decided, approved, started, done)}) == 1


async def test_what_ran_without_a_question_is_in_the_audit_with_the_rule_or_the_grant_that_allowed_it(tmp_path: Path):
    post = FakeTool("post", side_effect=True, schema={"type": "object"})
    allow = Rule("allow", tool="post", name="post freely")
    script = model(*(call("post"), reply("Done.")), *(call("send_mail", MAIL), reply("Sent.")) * 2)
    async with site(tmp_path, script, tools=[mail(), post], rules=[allow]) as here:
        await here.ada.run("post")
        run = await here.ada.run("email Bob")
        await here.ada.resolve(run["approvals"][0]["id"], "approve_and_always_allow_recipient")
        await here.ada.run("email Bob again")
        [grant] = (await here.ada.get("/api/agent/grants")).body["items"]
        found = [(each["kind"], each["by"]) for each in reversed(await entries(here.ada))]
        assert (await here.ada.get(f"{AUDIT}/verify")).body["valid"] is True
    for by in ("rule:post freely", f"grant:{grant['id']} by ada"):
        assert [kind for kind, allowed_by in found if allowed_by == by] == ["decided", "started", "completed"]


async def test_the_audit_holds_a_hash_of_the_arguments_and_nothing_of_what_they_say(tmp_path: Path):
    args: dict[str, JSON] = {"to": "bob@example.com", "body": "the-secret-of-the-mail"}
    tool = mail({"receipt": "the-secret-of-the-result"})
    async with site(tmp_path, model(call("send_mail", args), reply("Sent.")), tools=[tool]) as here:
        run = await here.ada.run("the-secret-of-the-prompt")
        await here.ada.resolve(run["approvals"][0]["id"], feedback="the-secret-of-the-feedback")
        found = await entries(here.ada)
    assert "the-secret" not in json.dumps(found) and "bob@example.com" not in json.dumps(found)
    assert len(found[0]["inputHash"]) >= 32 and found[0]["inputHash"] != run["approvals"][0]["argsHash"]


async def test_what_was_rejected_denied_or_failed_is_in_the_audit_with_its_code(tmp_path: Path):
    async def fall(context: ToolContext, args: dict[str, JSON]) -> object:
        raise ToolError("the-secret-of-the-error")

    post = FakeTool("post", body=fall, side_effect=True, default_approval="not_required", schema={"type": "object"})
    forbid = Rule("deny", tool="send_mail", subjects=("*@rival.example",))
    script = model(
        *(call("send_mail", MAIL), reply("No.")),
        *(call("send_mail", {"to": "eve@rival.example"}), reply("No.")),
        *(call("post"), reply("No.")),
    )
    async with site(tmp_path, script, tools=[mail(), post], rules=[forbid]) as here:
        run = await here.ada.run("email Bob")
        await here.ada.resolve(run["approvals"][0]["id"], "reject")
        await here.ada.run("email Eve")
        await here.ada.run("post")
        found = await entries(here.ada)
    told = [(each["kind"], each["executionStatus"], each["errorCode"]) for each in reversed(found)]
    assert ("rejected", "rejected", "rejected") in told
    assert any(code == "policy_denied" for _, _, code in told)
    assert ("failed", "failed", "tool_call_failure") in told
    assert "the-secret" not in json.dumps(found)


async def test_what_a_person_was_asked_about_or_was_refused_is_in_the_audit_without_a_side_effect(tmp_path: Path):
    asked = [FakeTool(name, default_approval="required") for name in ("look", "peek")]
    script = model(
        *(call("look"), reply("Seen.")),
        *(call("peek"), reply("Not seen.")),
        *(call("pry", {"at": "eve"}), reply("No.")),
        *(call("read", {"page": "one"}), reply("No.")),
        *(call("the-secret-name"), reply("No.")),
        *(call("free"), reply("Done.")),
    )
    bounded = {"type": "object", "properties": {"page": {"type": "integer"}}}
    tools = [*asked, FakeTool("pry"), FakeTool("read", schema=bounded), FakeTool("free")]
    forbid = Rule("deny", tool="pry", where=(Condition("at", "equals", "eve"),))
    async with site(tmp_path, script, tools=tools, rules=[forbid]) as here:
        for prompt, decision in (("look", "approve_once"), ("peek", "reject")):
            run = await here.ada.run(prompt)
            await here.ada.resolve(run["approvals"][0]["id"], decision)
        for prompt in ("pry", "read", "invent", "free"):
            await here.ada.run(prompt)
        found = await entries(here.ada)
    told = [(each["toolName"], each["kind"], each["errorCode"]) for each in reversed(found)]
    assert told == [
        *(("look", kind, "") for kind in ("decided", "approved", "started", "completed")),
        *(("peek", "decided", ""), ("peek", "rejected", "rejected")),
        *(("pry", "decided", "policy_denied"), ("read", "refused", "invalid_args")),
        # A name that no tool has is the model's own text.
        ("unknown", "refused", "unknown_tool"),
    ]


async def test_the_audit_is_listed_newest_first_page_by_page_and_everyone_sees_their_own(tmp_path: Path):
    script = model(*[call("send_mail", MAIL), reply("Sent.")] * 2)
    async with site(tmp_path, script, tools=[mail()]) as here:
        for person in (here.ada, here.bob):
            run = await person.run("email Bob")
            await person.resolve(run["approvals"][0]["id"])
        whole = await entries(here.ada)
        assert {each["user"] for each in whole} == {"ada"}
        assert [each["seq"] for each in whole] == sorted((each["seq"] for each in whole), reverse=True)
        found: list[dict[str, Any]] = []
        page = (await here.ada.get(f"{AUDIT}?limit=3")).body
        while True:
            found += page["items"]
            if page["next"] is None:
                break
            page = (await here.ada.get(f"{AUDIT}?limit=3&before={page['next']}")).body
        assert found == whole
        assert {each["user"] for each in await entries(here.bob)} == {"bob"}
        for before in ("abc", "-1", "9" * 30):
            refused(await here.ada.get(f"{AUDIT}?before={before}"), 400, "invalid")


async def test_the_audit_verifies_and_tells_its_operator_that_its_head_is_that_of_the_last_entry(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setitem(TOKENS, "local", "token-of-local-0123456789")
    async with site(tmp_path, model(call("send_mail", MAIL), reply("Sent.")), tools=[mail()]) as here:
        operator = here.person("local")
        empty = (await operator.get(f"{AUDIT}/head")).body
        assert (empty["ok"], empty["entries"]) == (True, 0)
        run = await here.ada.run("email Bob")
        await here.ada.resolve(run["approvals"][0]["id"])
        head = (await operator.get(f"{AUDIT}/head")).body
        verified = (await operator.get(f"{AUDIT}/verify")).body
        last, *earlier = await entries(here.ada)
    assert verified == {"ok": True, "valid": True, "entries": 4, "head": last["hash"], "problems": []}
    assert (head["head"], head["entries"]) == (last["hash"], 4)
    chain = [last, *earlier]
    assert [each["previous"] for each in chain[:-1]] == [each["hash"] for each in chain[1:]]


@pytest.mark.parametrize("path", [f"{AUDIT}/head", f"{AUDIT}/verify"])
async def test_how_far_the_audit_of_all_users_goes_is_for_the_operator_alone(tmp_path: Path, path: str):
    async with site(tmp_path, model(call("send_mail", MAIL)), tools=[mail()]) as here:
        await here.ada.run("email Bob")
        for person in (here.ada, here.bob):
            told = (await person.get(path)).body
            assert (told["ok"], told["entries"], told["head"]) == (True, None, None)
            assert told.get("valid", True) and not told.get("problems")


async def test_a_tampered_audit_is_still_a_200_that_says_what_is_wrong(tmp_path: Path):
    def store() -> SqliteStore:
        return SqliteStore(tmp_path / "pollux.db", key=b"k" * 32)

    script = model(call("send_mail", MAIL), reply("Sent."))
    async with site(tmp_path, script, tools=[mail()], store=store()) as here:
        run = await here.ada.run("email Bob")
        await here.ada.resolve(run["approvals"][0]["id"])
    with sqlite3.connect(tmp_path / "pollux.db") as db:
        triggers = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'")]
        for name in triggers:
            db.execute(f"DROP TRIGGER {name}")
        assert db.execute("UPDATE audit SET tool_name = 'other' WHERE seq = 2").rowcount == 1
    db.close()
    async with site(tmp_path, model(), store=store()) as here:
        got = await here.ada.get(f"{AUDIT}/verify")
    assert (got.status, got.body["ok"], got.body["valid"]) == (200, True, False)
    assert got.body["problems"]


# Settling.


@pytest.mark.parametrize("outcome", ["done", "not_done"])
async def test_an_action_whose_outcome_is_unknown_is_settled_by_a_person(tmp_path: Path, outcome: str):
    store, clock = MemoryStore(), FakeClock()
    post = HeldTool("post", side_effect=True, default_approval="not_required", repeat="once")
    async with site(tmp_path, model(call("post")), tools=[post], store=store, clock=clock) as here:
        asking = asyncio.create_task(here.ada.post("/api/agent/run", {"prompt": "post"}))
        await soon(post.began)
        await here.engine.close()
        refused(await asking, 503, "draining")
    # The process ended in the middle of it, and nobody can tell whether it was posted.
    again = HeldTool("post", side_effect=True, default_approval="not_required", repeat="once")
    async with site(tmp_path, model(), tools=[again], store=store, clock=clock) as here:
        await here.engine.recover()
        run = await only_run(here.ada)
        await settled(here, run["runId"])
        run = await only_run(here.ada)
        (action,) = run["actions"]
        assert (run["status"], run["errorCode"]) == ("failed", "outcome_unknown")
        assert (action["state"], action["errorCode"]) == ("failed", "outcome_unknown")
        assert run["summary"] and again.ran == []

        path = f"/api/agent/actions/{action['id']}/settle"
        bodies: list[object] = [{}, {"outcome": "maybe"}, {"outcome": None}, {"outcome": "done", "by": "eve"}]
        for body in bodies:
            refused(await here.ada.post(path, body), 400, "invalid")
        refused(await here.bob.post(path, {"outcome": outcome}), 404, "not_found")
        refused(await here.ada.post("/api/agent/actions/act_none/settle", {"outcome": outcome}), 404, "not_found")

        got = await here.ada.post(path, {"outcome": outcome})
        assert (got.status, got.body["ok"], got.body["runId"]) == (200, True, run["runId"])
        (action,) = got.body["actions"]
        expected = ("completed", None) if outcome == "done" else ("failed", "not_done")
        assert (action["state"], action["errorCode"]) == expected
        refused(await here.ada.post(path, {"outcome": "done"}), 409, "already_resolved")
        last = (await entries(here.ada))[0]
        assert (last["kind"], last["by"], last["actionId"]) == ("settled", "ada", action["id"])
        assert (await here.ada.get(f"{AUDIT}/verify")).body["valid"] is True


async def test_what_ended_well_has_nothing_to_settle(tmp_path: Path):
    async with site(tmp_path, model(call("look"), reply("Seen.")), tools=[FakeTool("look")]) as here:
        run = await here.ada.run("look")
        got = await here.ada.post(f"/api/agent/actions/{run['actions'][0]['id']}/settle", {"outcome": "done"})
        refused(got, 409, "already_resolved")


async def test_who_cancels_a_tool_that_runs_once_learns_that_nobody_knows(tmp_path: Path):
    post = HeldTool("post", side_effect=True, default_approval="not_required", repeat="once")
    async with site(tmp_path, model(call("post")), tools=[post]) as here:
        asking = asyncio.create_task(here.ada.run("post"))
        await soon(post.began)
        run_id = (await only_run(here.ada))["runId"]
        got = await here.ada.post(f"/api/agent/runs/{run_id}/cancel")
        await left(asking)
    assert (got.body["status"], got.body["state"], got.body["errorCode"]) == ("failed", "cancelled", "cancelled")
    assert got.body["actions"][0]["errorCode"] == "outcome_unknown"
