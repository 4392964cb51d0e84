"""What a page is told when something goes wrong, and what the model still knows afterwards."""

from pathlib import Path
from typing import Any

from tests.engine.builders import TO_BOB, mail
from tests.page.site import Page, page_site
from tests.page.test_door import BUY

from pollux.core.messages import ToolResult
from pollux.engine.model import ModelRequest
from pollux.providers.scripted import ScriptedProvider, call, calls, fail, reply

SIGN_IN = {
    "name": "fill-input",
    "description": "Fill in a field",
    "inputSchema": {"type": "object", "properties": {"coordinate": {"type": "string"}, "value": {"type": "string"}}},
    "category": "page-automation",
}


def results(request: ModelRequest) -> list[ToolResult]:
    return [part for turn in request.turns for part in turn.parts if isinstance(part, ToolResult)]


async def approve(page: Page, told: dict[str, Any]) -> None:
    [question] = told["approvals"]
    answer = {"approvalId": question["id"], "decision": "approve_once"}
    assert (await page.post("/api/agent/approvals/resolve?wait=5", answer))[0] == 200


async def test_a_model_that_fails_is_an_answer_and_what_was_done_before_is_not_forgotten(tmp_path: Path):
    model = ScriptedProvider(call("send_mail", TO_BOB), fail("bad_request"), reply("It is sent."))
    async with page_site(tmp_path, model, tools=[mail()]) as site:
        page = await site.page()
        await approve(page, await page.say("write to bob"))
        told = await page.answer()
        assert (told["type"], told["code"]) == ("response", "model_error")
        assert "Ask me again" in told["message"]
        assert (await page.say("did you?"))["message"] == "It is sent."
        assert [result.result for result in results(model.requests[-1])] == ["sent"]


async def test_who_says_something_new_after_approving_does_not_make_the_model_forget_what_was_done(tmp_path: Path):
    model = ScriptedProvider(calls(("click-buy", BUY), ("send_mail", TO_BOB)), reply("Both are settled."))
    async with page_site(tmp_path, model, tools=[mail()]) as site:
        page = await site.page()
        await approve(page, await page.say("buy and write"))
        await page.say("and now?")
        assert [result.result for result in results(model.requests[-1])] == [
            {"error": "the run was cancelled while this was done elsewhere; it may or may not have happened"},
            "sent",
        ]


async def test_an_answer_that_is_too_long_to_keep_is_told_whole_and_kept_in_part(tmp_path: Path):
    model = ScriptedProvider(reply("x" * 600_000), reply("More."))
    async with page_site(tmp_path, model) as site:
        page = await site.page()
        told = await page.say("tell me everything")
        assert len(told["message"]) == 600_000
        assert len(str(told["history"])) < 100_000
        assert (await page.say("more"))["message"] == "More."


async def test_half_a_character_of_a_model_reaches_the_page_as_a_mark(tmp_path: Path):
    async with page_site(tmp_path, ScriptedProvider(reply("hi \ud83d"))) as site:
        assert (await (await site.page()).say("hi"))["message"].startswith("hi ")


async def test_a_private_field_is_filled_in_only_when_the_visitor_agrees(tmp_path: Path):
    args = {"coordinate": "e7", "value": "hunter2"}
    model = ScriptedProvider(call("fill-input", args), reply("Filled in."))
    async with page_site(tmp_path, model) as site:
        page = await site.page()
        page.tools = [SIGN_IN]
        page.state = {"fields": [{"ref": "e7", "name": "Your word", "private": True}]}
        told = await page.say("sign me in")
        assert (told["type"], told["calls"]) == ("approval-required", [])
        assert told["approvals"][0]["args"] == args
        await approve(page, told)
        told = await page.answer()
        assert [(each["name"], each["args"]) for each in told["calls"]] == [("fill-input", args)]


async def test_a_run_of_the_conversation_is_not_begun_without_what_was_said_before(tmp_path: Path):
    # One transaction: a conversation whose run never began would be kept for ever.
    model = ScriptedProvider(reply("Hello."), reply("You said hi."))
    async with page_site(tmp_path, model) as site:
        page = await site.page()
        await page.say("hi")
        await page.say("what did I say?")
        threads = await site.engine.queries.threads((await site.engine.queries.run(page.history[-1]["runId"])).user)
        runs = [await site.engine.queries.messages(thread.id) for thread in threads]
        assert sorted(map(len, runs)) == [2, 4]
