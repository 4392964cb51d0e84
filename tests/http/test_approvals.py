"""Approvals over HTTP: listed, answered once, in any order, edited, expired, withdrawn; and the grants they leave."""

import asyncio
import json
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from tests.engine.builders import FakeTool, HeldTool, sent
from tests.http.scenes import MAIL, mail, refused, settled, soon, to
from tests.http.site import Person, Site, site
from tests.waiting import until

from pollux.core.policy import Rule
from pollux.core.profile import Limits, Profile
from pollux.stores.memory import MemoryStore
from pollux.testing import FakeClock, call, calls, reply
from pollux.testing import scripted as model

PENDING = "/api/agent/approvals/pending"
RESOLVE = "/api/agent/approvals/resolve"
ASK = call("send_mail", MAIL)


async def edit(person: Person, approval_id: str, args: object) -> Any:
    return await person.post(f"/api/agent/approvals/{approval_id}/edit", {"args": args})


async def waiting(person: Person, query: str = "") -> list[dict[str, Any]]:
    got = await person.get(f"{PENDING}{query}")
    assert got.status == 200, got
    return got.body["items"]


# The list.


async def test_what_waits_is_listed_with_everything_that_a_person_decides_by(tmp_path: Path):
    async with site(tmp_path, model(ASK), tools=[mail()]) as here:
        run = await here.ada.run("email Bob")
        got = await here.ada.get(PENDING)
    assert (got.body["ok"], got.body["next"]) == (True, None)
    (item,) = got.body["items"]
    assert {"id", "tool", "reason", "preview", "args", "argsHash", "expiresAt", "createdAt"} <= set(item)
    assert (item["runId"], item["threadId"], item["prompt"]) == (run["runId"], run["threadId"], "email Bob")
    assert item["actionId"] == run["actions"][0]["id"]
    assert {name: item[name] for name in run["approvals"][0]} == run["approvals"][0]


async def test_a_list_of_large_questions_is_small_and_each_is_told_whole_by_itself(tmp_path: Path):
    large = {"body": "x" * 60_000, "to": "bob@example.com"}
    parts = {"first": "a" * 60_000, "parts": ["y" * 3_000] * 300, "last": {"deep": [{"note": "end"}]}}
    tool = FakeTool("store", {"type": "object"}, side_effect=True)
    steps = [call("send_mail", large), call("store", parts), *[call("store", parts)] * 23]
    async with site(tmp_path, model(*steps), tools=[mail(), tool]) as here:
        made = [await here.ada.run("please " + "do it " * 5_000) for _ in steps]
        got = await here.ada.get(f"{PENDING}?limit=25")
        assert len(got.body["items"]) == 25 and len(json.dumps(got.body)) < 25 * 20_000
        *_, second, first = got.body["items"]
        assert first["truncated"] and first["args"]["body"] == "x" * 2_048 + "…"
        assert first["args"]["to"] == "bob@example.com" and first["subjects"] == ["bob@example.com"]
        assert first["argsHash"] == made[0]["approvals"][0]["argsHash"]
        assert second["truncated"] and "last" not in second["args"] and len(second["args"]["parts"]) < 10
        for item, args in ((first, large), (second, parts)):
            whole = (await here.ada.get(f"/api/agent/approvals/{item['id']}")).body["approval"]
            assert whole["args"] == args and not whole["truncated"] and whole["prompt"].count("do it") == 5_000
            assert {name: whole[name] for name in made[0]["approvals"][0]} in [run["approvals"][0] for run in made]
        await here.ada.resolve(first["id"], "reject")
        refused(await here.ada.get(f"/api/agent/approvals/{first['id']}"), 404, "not_found")
        refused(await here.ada.get("/api/agent/approvals/apr_none"), 404, "not_found")


async def test_a_question_that_is_not_large_is_listed_as_it_is(tmp_path: Path):
    args = {"body": "x" * 7_000, "to": "bob@example.com"}
    async with site(tmp_path, model(call("send_mail", args)), tools=[mail()]) as here:
        await here.ada.run("email Bob")
        (item,) = await waiting(here.ada)
        assert (item["args"], item["truncated"]) == (args, False)
        assert (await here.ada.get(f"/api/agent/approvals/{item['id']}")).body["approval"] == item


async def test_what_waits_is_listed_newest_first_page_by_page(tmp_path: Path):
    clock = FakeClock()
    async with site(tmp_path, model(*[ASK] * 12), tools=[mail()], clock=clock) as here:
        made: list[str] = []
        for n in range(12):
            made.append((await here.ada.run(f"number {n}"))["approvals"][0]["id"])
            clock.advance(1)
        newest = made[::-1]
        assert [item["id"] for item in await waiting(here.ada)] == newest[:10]
        for limit in (1, 5, 25):
            found: list[str] = []
            query = f"?limit={limit}"
            while True:
                page = (await here.ada.get(f"{PENDING}{query}")).body
                assert len(page["items"]) <= limit
                found += [item["id"] for item in page["items"]]
                if page["next"] is None:
                    break
                query = f"?limit={limit}&before={page['next']}"
            assert found == newest
        # The list goes on where it was, also when what it names has been answered meanwhile.
        await here.ada.resolve(newest[4], "reject", query="?wait=0")
        rest = await waiting(here.ada, f"?limit=25&before={newest[4]}")
        assert [item["id"] for item in rest] == newest[5:]


async def test_a_limit_below_one_above_twenty_five_or_no_number_is_refused(tmp_path: Path):
    async with site(tmp_path, model()) as here:
        for limit in ("0", "26", "abc", "-1", "1.5", "", "٣"):
            refused(await here.ada.get(f"{PENDING}?limit={limit}"), 400, "invalid")


async def test_nobody_sees_what_waits_for_another(tmp_path: Path):
    async with site(tmp_path, model(ASK), tools=[mail()]) as here:
        approval = (await here.ada.run("email Bob"))["approvals"][0]["id"]
        assert await waiting(here.bob) == []
        assert await waiting(here.bob, f"?before={approval}") == []
        refused(await here.nobody.get(PENDING), 401, "auth_error")


async def test_what_was_answered_waits_no_longer(tmp_path: Path):
    async with site(tmp_path, model(ASK, reply("Sent.")), tools=[mail()]) as here:
        run = await here.ada.run("email Bob")
        await here.ada.resolve(run["approvals"][0]["id"])
        assert await waiting(here.ada) == []


# The answer.


async def test_an_approval_runs_exactly_what_was_shown_and_tells_how_it_came_out(tmp_path: Path):
    tool = mail()
    async with site(tmp_path, model(ASK, reply("Sent.")), tools=[tool]) as here:
        run = await here.ada.run("email Bob")
        approval = run["approvals"][0]
        got = await here.ada.resolve(approval["id"], argsHash=approval["argsHash"])
    assert got.status == 200
    assert {name: got.body[name] for name in ("ok", "approvalId", "decision", "status")} == {
        "ok": True,
        "approvalId": approval["id"],
        "decision": "approve_once",
        "status": "approved",
    }
    after = got.body["run"]
    assert (after["runId"], after["status"], after["summary"]) == (run["runId"], "completed", "Sent.")
    (action,) = after["actions"]
    assert (action["id"], action["state"], action["requiresApproval"]) == (run["actions"][0]["id"], "completed", True)
    assert [args for _, args in tool.ran] == [approval["args"]]


async def test_without_waiting_the_answer_comes_at_once(tmp_path: Path):
    slow = HeldTool("slow", side_effect=True)
    async with site(tmp_path, model(call("slow"), reply("Done.")), tools=[slow]) as here:
        run = await here.ada.run("go")
        got = await here.ada.resolve(run["approvals"][0]["id"], query="?wait=0")
        assert (got.status, got.body["status"], got.body["run"]["state"]) == (200, "approved", "executing")
        await soon(slow.began)
        slow.let_go.set()
        assert (await settled(here, run["runId"])).status == "completed"


async def test_an_answer_waits_only_so_long_for_what_follows(tmp_path: Path):
    slow = HeldTool("slow", side_effect=True)
    async with site(tmp_path, model(call("slow"), reply("Done.")), tools=[slow]) as here:
        run = await here.ada.run("go")
        got = await here.ada.resolve(run["approvals"][0]["id"], query="?wait=0.05")
        assert (got.body["status"], got.body["run"]["state"]) == ("approved", "executing")
        slow.let_go.set()
        await settled(here, run["runId"])


async def test_a_time_to_wait_that_is_none_is_refused(tmp_path: Path):
    async with site(tmp_path, model(ASK), tools=[mail()]) as here:
        approval = (await here.ada.run("email Bob"))["approvals"][0]["id"]
        for seconds in ("-1", "31", "abc", "nan", "inf", ""):
            refused(await here.ada.resolve(approval, query=f"?wait={seconds}"), 400, "invalid")
        assert len(await waiting(here.ada)) == 1


async def test_a_decision_that_is_none_is_refused_and_changes_nothing(tmp_path: Path):
    async with site(tmp_path, model(ASK), tools=[mail()]) as here:
        approval = (await here.ada.run("email Bob"))["approvals"][0]["id"]
        for decision in ("approve", "", "APPROVE_ONCE", None, 1, ["reject"]):
            refused(await here.ada.post(RESOLVE, {"approvalId": approval, "decision": decision}), 400, "invalid")
        bodies: list[object] = [
            {},
            {"approvalId": approval},
            {"decision": "reject"},
            {"approvalId": approval, "decision": "reject", "args": {"to": "eve@example.com"}},
            {"approvalId": approval, "decision": "reject", "feedback": 5},
            {"approvalId": approval, "decision": "reject", "feedback": "x" * 10_001},
        ]
        for body in bodies:
            refused(await here.ada.post(RESOLVE, body), 400, "invalid")
        assert len(await waiting(here.ada)) == 1


async def test_an_unknown_approval_and_somebody_elses_look_alike(tmp_path: Path):
    tool = mail()
    async with site(tmp_path, model(ASK), tools=[tool]) as here:
        approval = (await here.ada.run("email Bob"))["approvals"][0]["id"]
        for unknown in (approval, "apr_none", "nothing", "apr_" + "x" * 150, approval + "9"):
            refused(await here.bob.resolve(unknown), 404, "not_found")
            refused(await edit(here.bob, unknown, MAIL), 404, "not_found")
        refused(await here.ada.resolve(approval + "9"), 404, "not_found")
        assert len(await waiting(here.ada)) == 1
    assert tool.ran == []


@pytest.mark.parametrize("first", ["approve_once", "reject"])
@pytest.mark.parametrize("second", ["approve_once", "reject", "approve_and_always_allow_recipient"])
async def test_a_second_answer_is_refused_and_told_the_first(tmp_path: Path, first: str, second: str):
    tool = mail()
    async with site(tmp_path, model(ASK, reply("Done.")), tools=[tool]) as here:
        approval = (await here.ada.run("email Bob"))["approvals"][0]["id"]
        await here.ada.resolve(approval, first)
        error = refused(await here.ada.resolve(approval, second), 409, "already_resolved")
        assert error["outcome"]["status"] == ("approved" if first == "approve_once" else "rejected")
        assert error["outcome"]["by"] == "ada"
        refused(await edit(here.ada, approval, MAIL), 409, "already_resolved")
        assert (await here.ada.get("/api/agent/grants")).body["items"] == []
    assert len(tool.ran) == (1 if first == "approve_once" else 0)


async def test_arguments_other_than_those_shown_are_refused_and_the_question_stays(tmp_path: Path):
    tool = mail()
    async with site(tmp_path, model(ASK, reply("Sent.")), tools=[tool]) as here:
        approval = (await here.ada.run("email Bob"))["approvals"][0]
        error = refused(await here.ada.resolve(approval["id"], argsHash="0" * 64), 409, "args_changed")
        assert error["outcome"]["status"] == "pending"
        assert tool.ran == []
        assert (await here.ada.resolve(approval["id"], argsHash=approval["argsHash"])).status == 200


# Several at once.


@pytest.mark.parametrize("order", list(permutations(range(3))))
async def test_three_questions_of_one_turn_are_answered_in_any_order_and_each_way(
    tmp_path: Path, order: tuple[int, ...]
):
    tool = mail()
    script = model(calls(to("ann"), to("ben"), to("cid")), reply("As you say."))
    async with site(tmp_path, script, tools=[tool]) as here:
        run = await here.ada.run("email them")
        ids = [each["id"] for each in run["approvals"]]
        assert len(ids) == 3 and {item["id"] for item in await waiting(here.ada)} == set(ids)
        for place, which in enumerate(order):
            after = await _answer(here, which, ids[which])
            # The model is asked again only when all of them have an answer.
            assert after["state"] == ("completed" if place == 2 else "awaiting_confirmation")
            assert len(after["approvals"]) == 2 - place
            assert len(script.requests) == (2 if place == 2 else 1)
    assert sorted(str(args["to"]) for _, args in tool.ran) == ["ann@example.com", "zoe@example.com"]
    results = sent(script)[-1]
    # In the order of the calls, whoever was answered first.
    assert results.index("sent") < results.index("rejected") < results.index("zoe@example.com")


async def _answer(here: Site, which: int, approval: str) -> dict[str, Any]:
    """The first is approved, the second rejected, the third goes to somebody else."""
    if which == 1:
        return (await here.ada.resolve(approval, "reject")).body["run"]
    if which == 2:
        approval = (await edit(here.ada, approval, {"to": "zoe@example.com"})).body["approval"]["id"]
    return (await here.ada.resolve(approval)).body["run"]


async def test_an_answer_does_not_wait_for_a_question_beside_it(tmp_path: Path):
    tool = mail()
    async with site(tmp_path, model(calls(to("ann"), to("ben"))), tools=[tool]) as here:
        run = await here.ada.run("email both")
        first, second = run["approvals"]
        after = (await here.ada.resolve(first["id"])).body["run"]
    assert [each["id"] for each in after["approvals"]] == [second["id"]]
    assert (after["status"], len(tool.ran)) == ("awaiting_confirmation", 1)


async def test_three_answers_at_the_same_time_are_all_taken(tmp_path: Path):
    tool = mail()
    async with site(tmp_path, model(calls(to("ann"), to("ben"), to("cid")), reply("Sent.")), tools=[tool]) as here:
        run = await here.ada.run("email them")
        got = await asyncio.gather(*(here.ada.resolve(each["id"]) for each in run["approvals"]))
        assert [each.status for each in got] == [200] * 3
        assert (await settled(here, run["runId"])).text == "Sent."
    assert len(tool.ran) == 3


# Edited.


async def test_edited_arguments_are_a_new_question_and_the_old_one_is_superseded(tmp_path: Path):
    tool, script = mail(), model(ASK, reply("Sent to Carl."))
    async with site(tmp_path, script, tools=[tool]) as here:
        old = (await here.ada.run("email Bob"))["approvals"][0]
        got = await edit(here.ada, old["id"], {"to": "carl@example.com"})
        assert (got.status, got.body["ok"], got.body["superseded"]) == (201, True, old["id"])
        new = got.body["approval"]
        assert new["id"] != old["id"] and new["argsHash"] != old["argsHash"]
        assert (new["args"], got.body["action"]["state"]) == ({"to": "carl@example.com"}, "awaiting_confirmation")
        assert [item["id"] for item in await waiting(here.ada)] == [new["id"]]

        error = refused(await here.ada.resolve(old["id"]), 409, "superseded")
        assert error["outcome"]["status"] == "superseded"
        refused(await here.ada.resolve(new["id"], argsHash=old["argsHash"]), 409, "args_changed")
        refused(await edit(here.ada, old["id"], MAIL), 409, "superseded")
        after = (await here.ada.resolve(new["id"], argsHash=new["argsHash"])).body["run"]
    assert after["status"] == "completed"
    assert [args for _, args in tool.ran] == [{"to": "carl@example.com"}]
    assert "'edited_by': 'the user'" in sent(script)[-1] and "carl@example.com" in sent(script)[-1]


async def test_arguments_can_be_edited_again_and_again(tmp_path: Path):
    tool = mail()
    async with site(tmp_path, model(ASK, reply("Sent.")), tools=[tool]) as here:
        approval = (await here.ada.run("email Bob"))["approvals"][0]["id"]
        for name in ("carl", "dora", "emil"):
            approval = (await edit(here.ada, approval, {"to": f"{name}@example.com"})).body["approval"]["id"]
        await here.ada.resolve(approval)
    assert [args["to"] for _, args in tool.ran] == ["emil@example.com"]


async def test_the_same_arguments_edited_are_asked_about_anew(tmp_path: Path):
    async with site(tmp_path, model(ASK), tools=[mail()]) as here:
        old = (await here.ada.run("email Bob"))["approvals"][0]
        new = (await edit(here.ada, old["id"], MAIL)).body["approval"]
    assert new["id"] != old["id"] and new["argsHash"] == old["argsHash"]


async def test_edited_arguments_that_do_not_fit_are_refused_and_the_question_stays(tmp_path: Path):
    tool = mail()
    async with site(tmp_path, model(ASK, reply("Sent.")), tools=[tool]) as here:
        approval = (await here.ada.run("email Bob"))["approvals"][0]["id"]
        for args in ({}, {"to": 5}, {"to": "carl@example.com", "bcc": "eve@example.com"}):
            refused(await edit(here.ada, approval, args), 400, "invalid")
        nothing: list[object] = [None, [], "carl@example.com"]
        for args in nothing:
            refused(await edit(here.ada, approval, args), 400, "invalid")
        assert [item["id"] for item in await waiting(here.ada)] == [approval]
        assert (await here.ada.resolve(approval)).status == 200


async def test_edited_arguments_that_the_policy_forbids_are_refused_and_the_question_stays(tmp_path: Path):
    tool = mail()
    forbid = Rule("deny", tool="send_mail", subjects=("*@rival.example",), reason="not to rivals")
    async with site(tmp_path, model(ASK, reply("Sent.")), tools=[tool], rules=[forbid]) as here:
        approval = (await here.ada.run("email Bob"))["approvals"][0]["id"]
        error = refused(await edit(here.ada, approval, {"to": "eve@rival.example"}), 403, "policy_denied")
        assert "not to rivals" in error["message"]
        assert [item["id"] for item in await waiting(here.ada)] == [approval]
    assert tool.ran == []


async def test_edited_arguments_that_need_no_question_run_at_once(tmp_path: Path):
    tool = mail()
    allow = Rule("allow", tool="send_mail", subjects=("*@house.example",))
    async with site(tmp_path, model(ASK, reply("Sent.")), tools=[tool], rules=[allow]) as here:
        run = await here.ada.run("email Bob")
        got = await edit(here.ada, run["approvals"][0]["id"], {"to": "ann@house.example"})
        assert (got.status, got.body["approval"]) == (201, None)
        assert (await settled(here, run["runId"])).text == "Sent."
    assert [args["to"] for _, args in tool.ran] == ["ann@house.example"]


async def test_of_two_who_edit_at_once_one_is_told_that_it_was_superseded(tmp_path: Path):
    async with site(tmp_path, model(ASK), tools=[mail()]) as here:
        approval = (await here.ada.run("email Bob"))["approvals"][0]["id"]
        got = await asyncio.gather(*(edit(here.ada, approval, {"to": f"n{n}@example.com"}) for n in range(8)))
        assert sorted(each.status for each in got) == [201] + [409] * 7
        assert {each.code for each in got if each.status == 409} == {"superseded"}
        assert len(await waiting(here.ada)) == 1


# Expired and withdrawn.


@pytest.mark.parametrize("on_reject", ["answer", "fail"])
async def test_a_question_that_nobody_answers_in_a_day_is_rejected_as_expired(tmp_path: Path, on_reject: Any):
    tool, clock, script = mail(), FakeClock(), model(ASK, reply("Nobody answered."))
    profiles = {"default": Profile(tools=("send_mail",), on_reject=on_reject, limits=Limits(model_calls=3))}
    async with site(tmp_path, script, tools=[tool], clock=clock, profiles=profiles) as here:
        run = await here.ada.run("email Bob")
        approval = run["approvals"][0]["id"]
        clock.advance(24 * 3600 - 1)
        assert len(await waiting(here.ada)) == 1
        clock.advance(1)
        await until(lambda: _is_over(here, run["runId"]))
        after = (await here.ada.get(f"/api/agent/runs/{run['runId']}")).body
        (action,) = after["actions"]
        assert (action["status"], action["state"], action["errorCode"]) == ("failed", "rejected", "expired")
        expected = ("completed", None) if on_reject == "answer" else ("failed", "expired")
        assert (after["status"], after["errorCode"]) == expected and after["summary"]
        error = refused(await here.ada.resolve(approval), 409, "expired")
        assert error["outcome"]["status"] == "expired"
        refused(await edit(here.ada, approval, MAIL), 409, "expired")
        assert await waiting(here.ada) == []
    assert tool.ran == []


async def _is_over(here: Site, run_id: str) -> bool:
    return (await here.ada.get(f"/api/agent/runs/{run_id}")).body["state"] in ("completed", "failed")


async def test_a_question_says_when_it_expires(tmp_path: Path):
    clock = FakeClock(0.0)
    async with site(tmp_path, model(ASK), tools=[mail()], clock=clock) as here:
        assert (await here.ada.run("email Bob"))["approvals"][0]["expiresAt"] == "1970-01-02T00:00:00.000Z"


async def test_a_withdrawn_question_cannot_be_edited_either(tmp_path: Path):
    async with site(tmp_path, model(ASK), tools=[mail()]) as here:
        run = await here.ada.run("email Bob")
        await here.ada.post(f"/api/agent/runs/{run['runId']}/cancel")
        refused(await edit(here.ada, run["approvals"][0]["id"], MAIL), 409, "withdrawn")


async def test_an_answer_taken_while_the_server_stops_counts_and_is_carried_out_by_the_next(tmp_path: Path):
    store, script = MemoryStore(), model(call("slow"))
    slow = HeldTool("slow", side_effect=True, repeat="keyed")
    async with site(tmp_path, script, tools=[slow], store=store) as here:
        run = await here.ada.run("go")
        approval = run["approvals"][0]["id"]
        answering = asyncio.create_task(here.ada.resolve(approval))
        await soon(slow.began)
        await here.engine.close()
        got = await answering
        # It was taken: what follows is not for this process to tell.
        assert (got.status, got.body["status"], got.body["run"]["state"]) == (200, "approved", "executing")
    # The same tool: another one would have another effect than the one that was approved.
    tool = HeldTool("slow", side_effect=True, repeat="keyed")
    tool.let_go.set()
    async with site(tmp_path, model(reply("Done.")), tools=[tool], store=store) as here:
        error = refused(await here.ada.resolve(approval), 409, "already_resolved")
        assert error["outcome"]["status"] == "approved"
        await here.engine.recover()
        assert (await settled(here, run["runId"])).text == "Done."
    # The second attempt has the key of the first.
    assert [key for key, _ in slow.ran] == [key for key, _ in tool.ran]
