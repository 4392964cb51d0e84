"""Runs over HTTP: what is asked, what is answered, and how each way to end is told."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from tests.engine.builders import FakeTool, HeldTool, sent
from tests.http.scenes import MAIL, Held, mail, only_run, refused, soon, to
from tests.http.site import site

from pollux.core.errors import AuthError, PolicyError, ToolError
from pollux.core.messages import JSON
from pollux.core.policy import Rule
from pollux.core.profile import Limits, Profile
from pollux.core.tools import ToolContext, ToolSpec
from pollux.testing import FakeClock, call, calls, chunks, fail, reply
from pollux.testing import scripted as model
from pollux.tools.define import FunctionTool
from pollux.tools.demo_mail import demo_mail

LOOK = call("look")


# The answer.


async def test_the_answer_has_every_field_of_the_contract(tmp_path: Path):
    async with site(tmp_path, model(call("send_mail", MAIL)), tools=[mail()]) as here:
        run = await here.ada.run("email Bob")
    assert {"ok", "runId", "threadId", "status", "summary", "actions"} <= set(run)
    assert {"state", "errorCode", "approvals", "usage"} <= set(run)
    (action,) = run["actions"]
    assert {"tool", "status", "requiresApproval", "id", "state", "errorCode"} <= set(action)
    (approval,) = run["approvals"]
    assert {"id", "tool", "reason", "preview", "args", "argsHash", "expiresAt"} <= set(approval)
    assert (action["tool"], action["requiresApproval"], approval["tool"]) == ("send_mail", True, "send_mail")
    assert approval["args"] == MAIL and approval["reason"] and approval["preview"]


async def test_a_run_says_when_it_last_changed_and_when_it_ended(tmp_path: Path):
    clock = FakeClock()
    async with site(tmp_path, model(call("send_mail", MAIL), reply("Sent.")), tools=[mail()], clock=clock) as here:
        waiting = await here.ada.run("email Bob")
        clock.advance(60)
        resolved = await here.ada.resolve(waiting["approvals"][0]["id"])
        ended = (await here.ada.get(f"/api/agent/runs/{waiting['runId']}")).body
    assert waiting["createdAt"] <= waiting["updatedAt"] < ended["updatedAt"] and waiting["endedAt"] is None
    assert ended["endedAt"] == ended["updatedAt"] == resolved.body["run"]["endedAt"]


async def test_an_answer_without_calls_completes_the_run(tmp_path: Path):
    async with site(tmp_path, model(reply("Hello."))) as here:
        run = await here.ada.run("say hello")
    assert (run["ok"], run["status"], run["state"], run["summary"]) == (True, "completed", "completed", "Hello.")
    assert (run["actions"], run["approvals"], run["errorCode"]) == ([], [], None)
    assert run["usage"] == {"input": 10, "output": 5, "thoughts": 0, "cached": 0, "total": 15}


async def test_a_call_that_needs_no_approval_is_executed_at_once(tmp_path: Path):
    look = FakeTool("look", {"seen": 3})
    script = model(LOOK, reply("I saw three."))
    async with site(tmp_path, script, tools=[look]) as here:
        run = await here.ada.run("look around")
    (action,) = run["actions"]
    assert (action["status"], action["state"], action["requiresApproval"]) == ("completed", "completed", False)
    assert (run["summary"], len(look.ran)) == ("I saw three.", 1)
    assert sent(script)[-1] == "tool: {'seen': 3}"


async def test_the_model_is_given_instructions_history_prompt_and_tools(tmp_path: Path):
    script = model(reply("Hello Ada."), reply("You said hello."))
    profile = Profile(instructions="Be brief.", tools=("look",))
    async with site(tmp_path, script, tools=[FakeTool("look")], profiles={"default": profile}) as here:
        first = await here.ada.run("hello")
        second = await here.ada.run("what did I say?", threadId=first["threadId"])
    assert second["threadId"] == first["threadId"]
    assert sent(script) == ["user: hello", "assistant: Hello Ada.", "user: what did I say?"]
    assert "Be brief." in script.requests[-1].system
    assert [tool.name for tool in script.requests[-1].tools] == ["look"]


async def test_the_prompt_and_the_answer_become_messages_of_the_thread(tmp_path: Path):
    async with site(tmp_path, model(reply("Hello."))) as here:
        run = await here.ada.run("hi")
        messages = (await here.ada.get(f"/api/agent/threads/{run['threadId']}/messages")).body["items"]
    assert [(each["kind"], each["text"]) for each in messages] == [("user", "hi"), ("assistant", "Hello.")]


async def test_a_tool_is_told_for_whom_and_for_which_action_it_runs(tmp_path: Path):
    seen: list[ToolContext] = []

    async def keep(context: ToolContext, args: dict[str, JSON]) -> object:
        seen.append(context)
        return "seen"

    async with site(tmp_path, model(LOOK, reply("Done.")), tools=[FakeTool("look", body=keep)]) as here:
        run = await here.ada.run("look")
    (context,) = seen
    assert (context.user, context.origin, context.run_id) == ("ada", here.url, run["runId"])
    assert context.action_id == run["actions"][0]["id"]


async def test_a_run_that_waits_for_a_person_says_so_and_has_done_nothing(tmp_path: Path):
    tool = mail()
    async with site(tmp_path, model(call("send_mail", MAIL)), tools=[tool]) as here:
        run = await here.ada.run("email Bob")
        messages = (await here.ada.get(f"/api/agent/threads/{run['threadId']}/messages")).body["items"]
    assert (run["status"], run["state"], tool.ran) == ("awaiting_confirmation", "awaiting_confirmation", [])
    assert (run["actions"][0]["status"], run["actions"][0]["state"]) == ("awaiting_confirmation",) * 2
    assert "bob@example.com" in run["summary"]
    assert [each["kind"] for each in messages] == ["user", "assistant", "notice"]


@pytest.mark.parametrize("preview", ["Write to Bob", ""])
async def test_the_summary_of_a_waiting_run_is_the_text_that_asks(tmp_path: Path, preview: str):
    spec = ToolSpec("send_mail", "Send a mail.", {"type": "object"}, side_effect=True)
    tool = FunctionTool(spec, lambda context, args: "sent", preview=lambda args: preview)
    async with site(tmp_path, model(call("send_mail")), tools=[tool]) as here:
        run = await here.ada.run("email Bob")
        *_, notice = (await here.ada.get(f"/api/agent/threads/{run['threadId']}/messages")).body["items"]
    assert run["summary"] == notice["text"] == f"Approval needed: {preview or 'send_mail'}"


async def test_the_summary_of_a_run_with_several_questions_names_them_all(tmp_path: Path):
    async with site(tmp_path, model(calls(to("ann"), to("ben"))), tools=[mail()]) as here:
        summary = (await here.ada.run("email both"))["summary"]
    assert "ann@example.com" in summary and "ben@example.com" in summary


async def test_the_sync_route_answers_only_when_nothing_is_owed(tmp_path: Path):
    look, tool = HeldTool("look"), mail()
    async with site(tmp_path, model(calls(to("bob"), ("look", {}))), tools=[look, tool]) as here:
        asking = asyncio.create_task(here.ada.run("both"))
        await soon(look.began)
        # One call waits for Ada already, but the other is still at work.
        assert len((await here.ada.get("/api/agent/approvals/pending")).body["items"]) == 1
        assert not asking.done()
        assert (await only_run(here.ada))["state"] == "executing"
        look.let_go.set()
        run = await asking
    assert run["state"] == "awaiting_confirmation"
    assert sorted(each["state"] for each in run["actions"]) == ["awaiting_confirmation", "completed"]


async def test_while_the_model_thinks_the_run_is_planning_and_has_not_failed(tmp_path: Path):
    step = Held(reply("Hello."))
    async with site(tmp_path, model(step)) as here:
        asking = asyncio.create_task(here.ada.run("hello"))
        await soon(step.asked)
        run = await only_run(here.ada)
        assert (run["state"], run["status"], run["ok"]) == ("planning", "awaiting_confirmation", True)
        assert run["summary"] and run["errorCode"] is None
        step.let_go.set()
        assert (await asking)["state"] == "completed"


# Ends that are no success: still 200, with a code.


@pytest.mark.parametrize(
    ("kind", "code"),
    [("bad_request", "model_error"), ("not_found", "model_error"), ("protocol", "model_error"), ("auth", "auth_error")],
)
async def test_a_model_that_fails_is_a_failed_run_and_no_http_error(tmp_path: Path, kind: Any, code: str):
    async with site(tmp_path, model(fail(kind, "the model said no"))) as here:
        run = await here.ada.run("hello")
    assert (run["ok"], run["status"], run["state"], run["errorCode"]) == (True, "failed", "failed", code)
    assert run["summary"] == "the model said no"


@pytest.mark.parametrize("stop", ["blocked", "truncated"])
async def test_an_answer_that_cannot_be_used_fails_the_run(tmp_path: Path, stop: Any):
    async with site(tmp_path, model(chunks(["I"], stop=stop))) as here:
        run = await here.ada.run("hello")
    assert run["status"] == "failed" and run["summary"]
    assert run["errorCode"] == ("stream_interrupted" if stop == "truncated" else "model_error")


async def test_a_provider_that_breaks_tells_nothing_of_its_inside(tmp_path: Path):
    async def break_down(request: Any) -> Any:
        raise RuntimeError("secret-of-the-inside")

    async with site(tmp_path, model(break_down)) as here:
        run = await here.ada.run("hello")
    assert (run["status"], run["errorCode"]) == ("failed", "model_error")
    assert "secret-of-the-inside" not in json.dumps(run)


@pytest.mark.parametrize(
    ("problem", "code", "told"),
    [
        (ToolError("no room is free"), "tool_call_failure", "no room is free"),
        (PolicyError("not on Sundays"), "policy_denied", "not on Sundays"),
        (RuntimeError("secret-of-the-inside"), "tool_call_failure", ""),
    ],
)
async def test_a_tool_that_fails_is_a_failed_action_and_the_run_goes_on(
    tmp_path: Path, problem: Exception, code: str, told: str
):
    async def break_down(context: ToolContext, args: dict[str, JSON]) -> object:
        raise problem

    script = model(LOOK, reply("I could not look."))
    async with site(tmp_path, script, tools=[FakeTool("look", body=break_down)]) as here:
        run = await here.ada.run("look")
    (action,) = run["actions"]
    assert (action["status"], action["state"], action["errorCode"]) == ("failed", "failed", code)
    assert (run["status"], run["errorCode"], run["summary"]) == ("completed", None, "I could not look.")
    assert told in sent(script)[-1] and "secret-of-the-inside" not in json.dumps(run)


async def test_a_tool_that_nobody_has_is_answered_to_the_model(tmp_path: Path):
    script = model(call("fly"), reply("I cannot fly."))
    async with site(tmp_path, script, tools=[FakeTool("look")]) as here:
        run = await here.ada.run("fly")
    (action,) = run["actions"]
    assert (action["tool"], action["state"], action["errorCode"]) == ("fly", "failed", "unknown_tool")
    assert run["summary"] == "I cannot fly." and "there is no tool 'fly'" in sent(script)[-1]


async def test_arguments_that_do_not_fit_are_answered_to_the_model_and_nobody_is_asked(tmp_path: Path):
    tool = mail()
    script = model(call("send_mail", {"to": 5}), reply("I need an address."))
    async with site(tmp_path, script, tools=[tool]) as here:
        run = await here.ada.run("email five")
        assert (await here.ada.get("/api/agent/approvals/pending")).body["items"] == []
    assert (run["actions"][0]["errorCode"], run["status"], tool.ran) == ("invalid_args", "completed", [])


async def test_an_unsafe_address_is_refused_before_anybody_is_asked(tmp_path: Path):
    outbox = tmp_path / "outbox.jsonl"
    unsafe = ("bob@x.example, eve@x.example", "bob@x.example\nBcc: eve@x.example", "bob", "Bob <bob@x.example>")
    mails = [("demo_mail", {"to": to, "subject": "Report", "body": "Ready."}) for to in unsafe]
    async with site(tmp_path, model(calls(*mails), reply("No.")), tools=[demo_mail(outbox)]) as here:
        run = await here.ada.run("email them")
    assert [action["errorCode"] for action in run["actions"]] == ["invalid_args"] * 4
    assert (run["approvals"], run["status"], outbox.exists()) == ([], "completed", False)


async def test_a_tool_without_leave_at_its_service_is_a_failed_action_with_auth_error(tmp_path: Path):
    async def refuse(context: ToolContext, args: dict[str, JSON]) -> object:
        raise AuthError("connect your account first", connect_url="https://example.com/connect")

    async with site(tmp_path, model(LOOK, reply("Connect first.")), tools=[FakeTool("look", body=refuse)]) as here:
        run = await here.ada.run("look")
    assert (run["actions"][0]["status"], run["actions"][0]["errorCode"]) == ("failed", "auth_error")


async def test_a_model_that_is_busy_for_a_moment_is_asked_again(tmp_path: Path):
    script = model(fail("overloaded", "busy", retry_after=0.01), reply("Hello."))
    async with site(tmp_path, script) as here:
        run = await here.ada.run("hello")
    assert (run["status"], run["summary"], len(script.requests)) == ("completed", "Hello.", 2)


async def test_a_call_that_the_policy_forbids_is_rejected_without_a_question(tmp_path: Path):
    tool = mail()
    forbid = Rule("deny", tool="send_mail", subjects=("*@rival.example",), reason="not to rivals")
    script = model(call("send_mail", {"to": "eve@rival.example"}), reply("I may not."))
    async with site(tmp_path, script, tools=[tool], rules=[forbid]) as here:
        run = await here.ada.run("email Eve")
    (action,) = run["actions"]
    assert (action["status"], action["state"], action["errorCode"]) == ("failed", "rejected", "policy_denied")
    assert (run["status"], run["approvals"], tool.ran) == ("completed", [], [])
    assert "not to rivals" in sent(script)[-1]


async def test_three_model_calls_are_the_most_and_the_third_call_runs_nothing(tmp_path: Path):
    look = FakeTool("look")
    script = model(LOOK, LOOK, LOOK)
    async with site(tmp_path, script, tools=[look]) as here:
        run = await here.ada.run("look for ever")
    assert (run["status"], run["errorCode"], len(script.requests)) == ("failed", "loop_limit", 3)
    assert len(look.ran) == 2 and "3 model calls" in run["summary"]


async def test_an_answer_in_the_third_call_is_still_an_answer(tmp_path: Path):
    async with site(tmp_path, model(LOOK, LOOK, reply("Enough.")), tools=[FakeTool("look")]) as here:
        assert (await here.ada.run("look"))["summary"] == "Enough."


async def test_model_calls_are_counted_across_approvals(tmp_path: Path):
    tool, script = mail(), model(call("send_mail", MAIL), call("send_mail", MAIL), call("send_mail", MAIL))
    async with site(tmp_path, script, tools=[tool]) as here:
        run = await here.ada.run("email Bob for ever")
        for _ in range(2):
            run = (await here.ada.resolve(run["approvals"][0]["id"])).body["run"]
    assert (run["status"], run["errorCode"]) == ("failed", "loop_limit")
    assert (len(script.requests), len(tool.ran), run["approvals"]) == (3, 2, [])


async def test_a_run_that_spent_its_tokens_fails_with_budget(tmp_path: Path):
    profile = Profile(tools=("look",), limits=Limits(model_calls=3, tokens=10))
    async with site(tmp_path, model(LOOK), tools=[FakeTool("look")], profiles={"default": profile}) as here:
        run = await here.ada.run("look")
    assert (run["status"], run["errorCode"]) == ("failed", "budget")


async def test_a_rejection_is_told_to_the_model_with_its_feedback(tmp_path: Path):
    tool, script = mail(), model(call("send_mail", MAIL), reply("I will wait."))
    async with site(tmp_path, script, tools=[tool]) as here:
        run = await here.ada.run("email Bob")
        got = await here.ada.resolve(run["approvals"][0]["id"], "reject", feedback="wait until Monday")
    after = got.body["run"]
    assert (got.body["status"], after["status"], after["summary"]) == ("rejected", "completed", "I will wait.")
    (action,) = after["actions"]
    assert (action["status"], action["state"], action["errorCode"], tool.ran) == ("failed", "rejected", "rejected", [])
    assert "wait until Monday" in sent(script)[-1]


async def test_a_rejection_fails_the_run_where_the_profile_says_so(tmp_path: Path):
    profile = Profile(tools=("send_mail",), on_reject="fail")
    script = model(call("send_mail", MAIL))
    async with site(tmp_path, script, tools=[mail()], profiles={"default": profile}) as here:
        run = await here.ada.run("email Bob")
        after = (await here.ada.resolve(run["approvals"][0]["id"], "reject")).body["run"]
    assert (after["status"], after["state"], after["errorCode"]) == ("failed", "failed", "rejected")
    assert after["summary"] and len(script.requests) == 1


async def test_a_model_that_says_nothing_but_blanks_still_leaves_a_summary(tmp_path: Path):
    async with site(tmp_path, model(reply("  \n"))) as here:
        run = await here.ada.run("say nothing")
    assert run["status"] in ("completed", "failed") and run["summary"].strip()


# Cancelling.


async def test_a_cancelled_run_is_failed_with_the_code_cancelled(tmp_path: Path):
    step = Held(reply("Too late."))
    async with site(tmp_path, model(step)) as here:
        asking = asyncio.create_task(here.ada.run("think"))
        await soon(step.asked)
        run = await only_run(here.ada)
        got = await here.ada.post(f"/api/agent/runs/{run['runId']}/cancel")
        assert (got.status, got.body["state"]) == (200, "cancelled")
        run = await asking
    assert (run["status"], run["state"], run["errorCode"]) == ("failed", "cancelled", "cancelled")
    assert run["summary"]


async def test_cancelling_stops_a_tool_at_work_and_waits_until_it_has_ended(tmp_path: Path):
    look = HeldTool("look")
    async with site(tmp_path, model(LOOK), tools=[look]) as here:
        asking = asyncio.create_task(here.ada.run("look"))
        await soon(look.began)
        run_id = (await only_run(here.ada))["runId"]
        got = await here.ada.post(f"/api/agent/runs/{run_id}/cancel")
        await asking
    assert (got.body["state"], look.stops) == ("cancelled", 1)
    assert got.body["actions"][0]["errorCode"] == "cancelled"


async def test_cancelling_withdraws_the_questions(tmp_path: Path):
    async with site(tmp_path, model(call("send_mail", MAIL)), tools=[mail()]) as here:
        run = await here.ada.run("email Bob")
        approval = run["approvals"][0]["id"]
        assert (await here.ada.post(f"/api/agent/runs/{run['runId']}/cancel")).body["approvals"] == []
        error = refused(await here.ada.resolve(approval), 409, "withdrawn")
        assert error["outcome"]["status"] == "withdrawn"
        assert (await here.ada.get("/api/agent/approvals/pending")).body["items"] == []


async def test_a_run_that_has_ended_cannot_be_cancelled(tmp_path: Path):
    async with site(tmp_path, model(reply("Hello."))) as here:
        run = await here.ada.run("hello")
        refused(await here.ada.post(f"/api/agent/runs/{run['runId']}/cancel"), 409, "run_ended")
        refused(await here.ada.post("/api/agent/runs/run_none/cancel"), 404, "not_found")


async def test_a_run_that_completed_without_its_calls_says_so_in_every_list(tmp_path: Path):
    deny = Rule("deny", tool="send_mail", subjects=("eve@example.com",))
    steps = [calls(to("bob"), to("eve")), reply("Neither was sent."), reply("Hello.")]
    async with site(tmp_path, model(*steps), tools=[mail()], rules=[deny]) as here:
        run = await here.ada.run("write to both")
        rejected = (await here.ada.resolve(run["approvals"][0]["id"], "reject")).body["run"]
        assert (rejected["state"], rejected["refused"]) == ("completed", "1 rejected, 1 denied")
        assert (await here.ada.run("hello"))["refused"] == ""
        rows = (await here.ada.get("/api/agent/runs")).body["items"]
        assert [(row["state"], row["refused"], row["errorCode"]) for row in rows] == [
            ("completed", "", None), ("completed", "1 rejected, 1 denied", None),
        ]  # fmt: skip
