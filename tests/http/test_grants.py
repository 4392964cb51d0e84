"""Grants over HTTP: what "always allow this recipient" leaves behind, until it is taken back."""

from pathlib import Path

from tests.engine.builders import FakeTool
from tests.http.scenes import MAIL, mail, refused, to
from tests.http.site import site

from pollux.core.messages import JSON
from pollux.core.policy import Rule
from pollux.testing import FakeClock, call, reply
from pollux.testing import scripted as model

ASK = call("send_mail", MAIL)


async def test_always_allowing_a_recipient_ends_the_questions_about_them_alone(tmp_path: Path):
    tool = mail()
    script = model(ASK, reply("Sent."), ASK, reply("Again."), call("send_mail", {"to": "eve@example.com"}))
    async with site(tmp_path, script, tools=[tool]) as here:
        run = await here.ada.run("email Bob")
        got = await here.ada.resolve(run["approvals"][0]["id"], "approve_and_always_allow_recipient")
        assert (got.body["status"], got.body["decision"]) == ("approved", "approve_and_always_allow_recipient")
        (grant,) = (await here.ada.get("/api/agent/grants")).body["items"]
        assert (grant["tool"], grant["subject"], grant["scope"]) == ("send_mail", "bob@example.com", "always")
        assert grant["approvalId"] == run["approvals"][0]["id"]

        again = await here.ada.run("email Bob again")
        assert (again["status"], again["actions"][0]["requiresApproval"]) == ("completed", False)
        assert (await here.ada.run("email Eve"))["status"] == "awaiting_confirmation"
    assert len(tool.ran) == 2


async def test_what_one_always_allows_another_is_still_asked_about(tmp_path: Path):
    async with site(tmp_path, model(ASK, reply("Sent."), ASK), tools=[mail()]) as here:
        run = await here.ada.run("email Bob")
        await here.ada.resolve(run["approvals"][0]["id"], "approve_and_always_allow_recipient")
        assert (await here.bob.get("/api/agent/grants")).body["items"] == []
        assert (await here.bob.run("email me"))["status"] == "awaiting_confirmation"


async def test_a_grant_taken_back_means_being_asked_again(tmp_path: Path):
    tool = mail()
    async with site(tmp_path, model(ASK, reply("Sent."), ASK), tools=[tool]) as here:
        run = await here.ada.run("email Bob")
        await here.ada.resolve(run["approvals"][0]["id"], "approve_and_always_allow_recipient")
        (grant,) = (await here.ada.get("/api/agent/grants")).body["items"]
        path = f"/api/agent/grants/{grant['id']}"
        refused(await here.bob.send("DELETE", path), 404, "not_found")
        got = await here.ada.send("DELETE", path)
        assert (got.status, got.body) == (200, {"ok": True})
        refused(await here.ada.send("DELETE", path), 404, "not_found")
        assert (await here.ada.get("/api/agent/grants")).body["items"] == []
        assert (await here.ada.run("email Bob again"))["status"] == "awaiting_confirmation"
    assert len(tool.ran) == 1


async def test_where_there_is_no_recipient_none_can_be_allowed_for_good(tmp_path: Path):
    tool = FakeTool("wipe", side_effect=True)
    async with site(tmp_path, model(call("wipe"), reply("Wiped.")), tools=[tool]) as here:
        approval = (await here.ada.run("wipe"))["approvals"][0]["id"]
        refused(await here.ada.resolve(approval, "approve_and_always_allow_recipient"), 400, "no_recipient")
        assert tool.ran == []
        assert (await here.ada.resolve(approval)).body["run"]["summary"] == "Wiped."


async def test_a_rule_that_forbids_is_stronger_than_a_grant(tmp_path: Path):
    args: dict[str, JSON] = {"to": "bob@example.com", "body": "secret plans"}
    forbid = Rule("deny", tool="send_mail", args="secret", reason="no secrets")
    script = model(ASK, reply("Sent."), call("send_mail", args), reply("I may not."))
    async with site(tmp_path, script, tools=[mail()], rules=[forbid]) as here:
        run = await here.ada.run("email Bob")
        await here.ada.resolve(run["approvals"][0]["id"], "approve_and_always_allow_recipient")
        after = await here.ada.run("email Bob the plans")
    assert after["actions"][0]["errorCode"] == "policy_denied"


async def test_grants_are_listed_newest_first_page_by_page(tmp_path: Path):
    clock = FakeClock()
    steps = [step for n in range(3) for step in (call(*to(f"n{n}")), reply("Sent."))]
    async with site(tmp_path, model(*steps), tools=[mail()], clock=clock) as here:
        for n in range(3):
            run = await here.ada.run(f"email {n}")
            await here.ada.resolve(run["approvals"][0]["id"], "approve_and_always_allow_recipient")
            clock.advance(1)
        page = (await here.ada.get("/api/agent/grants?limit=2")).body
        rest = (await here.ada.get(f"/api/agent/grants?limit=2&before={page['next']}")).body
    subjects = [each["subject"] for each in page["items"] + rest["items"]]
    assert subjects == ["n2@example.com", "n1@example.com", "n0@example.com"] and rest["next"] is None
