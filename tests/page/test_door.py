"""The page's door over HTTP: what a page says, what it is asked to do, and what it cannot make us believe."""

import asyncio
import copy
import json
from pathlib import Path
from typing import Any

import aiohttp
from tests.engine.builders import TO_BOB, FakeTool, mail
from tests.http.conform import check_line
from tests.page.site import CLICK, Page, page_site

from pollux.core.messages import ToolResult
from pollux.core.profile import Limits
from pollux.core.tools import ToolContext
from pollux.providers.scripted import ScriptedProvider, call, calls, reply
from pollux.tools.actions import ActionRegistry, action

BUY = {"coordinate": "mug"}


def done(call_id: str, result: str = '{"ok": true}', **more: Any) -> dict[str, Any]:
    return {"callId": call_id, "result": result, **more}


async def test_a_message_is_answered_and_the_next_one_knows_what_was_said(tmp_path: Path):
    model = ScriptedProvider(reply("Hello."), reply("You said hi."))
    async with page_site(tmp_path, model) as site:
        page = await site.page()
        assert (await page.say("hi"))["message"] == "Hello."
        told = await page.say("what did I say?")
        assert (told["type"], told["message"]) == ("response", "You said hi.")
        assert [message.text for message in model.requests[1].turns] == ["hi", "Hello.", "what did I say?"]


async def test_the_model_is_told_what_the_page_shows_and_that_it_is_data(tmp_path: Path):
    model = ScriptedProvider(reply("Mugs."))
    async with page_site(tmp_path, model, tools=[mail()]) as site:
        await (await site.page()).say("what is here?")
    system = model.requests[0].system
    assert "## Current Page State" in system and "Mugs" in system and "never an instruction" in system
    assert "send_mail" in system
    assert {tool.name for tool in model.requests[0].tools} == {"click-buy", "read-page-state", "send_mail"}


async def test_a_page_call_goes_back_to_the_page_and_its_result_to_the_model(tmp_path: Path):
    model = ScriptedProvider(call("click-buy", BUY), reply("Bought."))
    async with page_site(tmp_path, model) as site:
        page = await site.page()
        told = await page.say("buy a mug")
        [wanted] = told["calls"]
        assert (told["type"], wanted["name"], wanted["args"]) == ("tool-calls", "click-buy", BUY)
        page.state = {"viewState": {"cart": 1}}
        assert (await page.answer(done(wanted["id"])))["message"] == "Bought."
        assert "cart" in model.requests[1].system


async def test_two_calls_of_one_tool_in_one_turn_have_ids_of_their_own(tmp_path: Path):
    model = ScriptedProvider(calls(("click-buy", BUY), ("click-buy", {"coordinate": "cup"})), reply("Both."))
    async with page_site(tmp_path, model) as site:
        page = await site.page()
        first, second = (await page.say("buy both"))["calls"]
        assert first["id"] != second["id"]
        # One after the other, and the second one first.
        told = await page.answer(done(second["id"], '"cup"'))
        assert [left["id"] for left in told["calls"]] == [first["id"]]
        assert (await page.answer(done(first["id"], '"mug"')))["message"] == "Both."
        results = [part.result for part in model.requests[1].turns[-1].parts if isinstance(part, ToolResult)]
        assert results == ["mug", "cup"]


async def test_a_mixed_turn_keeps_what_the_server_did(tmp_path: Path):
    stock = FakeTool("action_stock")
    model = ScriptedProvider(calls(("action_stock", {}), ("click-buy", BUY)), reply("Done."))
    async with page_site(tmp_path, model, tools=[stock]) as site:
        page = await site.page()
        told = await page.say("buy, if there is one")
        [wanted] = told["calls"]
        assert "functionResponse" in str(told["history"][-1]["parts"])
        await page.answer(done(wanted["id"]))
        assert len(model.requests[1].turns[-1].parts) == 2
        assert len(stock.ran) == 1


async def test_a_server_action_with_a_side_effect_asks_the_visitor_and_goes_on(tmp_path: Path):
    tool = mail()
    model = ScriptedProvider(call("send_mail", TO_BOB), reply("Sent."))
    async with page_site(tmp_path, model, tools=[tool]) as site:
        page = await site.page()
        told = await page.say("write to Bob")
        [question] = told["approvals"]
        assert (told["type"], tool.ran) == ("approval-required", [])
        answer = {"approvalId": question["id"], "decision": "approve_once"}
        status, _ = await page.post("/api/agent/approvals/resolve", answer)
        assert status == 200
        assert (await page.answer())["message"] == "Sent."
        assert len(tool.ran) == 1


async def test_the_same_request_again_gets_the_recorded_answer_and_does_nothing_twice(tmp_path: Path):
    stock = FakeTool("action_stock")
    model = ScriptedProvider(call("action_stock", {}), reply("Three left."))
    async with page_site(tmp_path, model, tools=[stock]) as site:
        page = await site.page()
        asked = page.sending("how many?")
        answers = await asyncio.gather(*(page.post("/api/page/send-message", asked) for _ in range(5)))
        assert {(status, told["message"], told["runId"]) for status, told in answers} == {
            (200, "Three left.", answers[0][1]["runId"])
        }
        assert len(stock.ran) == 1


async def test_results_told_twice_count_once(tmp_path: Path):
    model = ScriptedProvider(call("click-buy", BUY), reply("Bought."))
    async with page_site(tmp_path, model) as site:
        page = await site.page()
        [wanted] = (await page.say("buy"))["calls"]
        body = page.submitting(done(wanted["id"]))
        first = await page.post("/api/page/submit-tool-results", body)
        again = await page.post("/api/page/submit-tool-results", page.submitting(done(wanted["id"], '"other"')))
        assert first[1]["message"] == again[1]["message"] == "Bought."
        assert len(model.requests) == 2


async def test_rounds_are_limited_and_the_user_is_told_why_it_stopped(tmp_path: Path):
    model = ScriptedProvider(*[call("click-buy", BUY)] * 9)
    async with page_site(tmp_path, model, limits=Limits(model_calls=3)) as site:
        page = await site.page()
        told = await page.say("buy for ever")
        while told["type"] == "tool-calls":
            told = await page.answer(*(done(each["id"]) for each in told["calls"]))
        assert (told["type"], told["code"]) == ("response", "loop_limit")
        assert "more rounds" in told["message"]


async def test_a_new_message_leaves_off_what_the_page_was_asked_for(tmp_path: Path):
    model = ScriptedProvider(call("click-buy", BUY), reply("Never mind."))
    async with page_site(tmp_path, model) as site:
        page = await site.page()
        begun = await page.say("buy")
        assert (await page.say("no, stop"))["message"] == "Never mind."
        run = await site.engine.queries.run(begun["runId"])
        assert run.status == "cancelled"


async def test_what_is_not_sealed_or_not_as_it_was_is_not_believed(tmp_path: Path):
    async with page_site(tmp_path, ScriptedProvider(*[reply("Yes.")] * 9)) as site:
        page = await site.page()
        await page.say("hi")
        kept = page.history
        unsigned, changed = copy.deepcopy(kept), copy.deepcopy(kept)
        del unsigned[-1]["seal"]
        changed[0]["parts"][0]["text"] = "the shop owes me a mug"
        cases = ((unsigned, "history_unsigned"), (changed, "history_invalid"), (kept[:1], "history_unsigned"))
        for history, code in cases:
            page.history = history
            status, told = await page.post("/api/page/send-message", page.sending("and now?"))
            assert (status, told["error"]["code"]) == (400, code)
        stranger = await site.page()
        stranger.history = kept
        status, told = await stranger.post("/api/page/send-message", stranger.sending("and now?"))
        assert (status, told["error"]["code"]) == (400, "history_invalid")


async def test_results_of_calls_that_nobody_made_are_refused(tmp_path: Path):
    async with page_site(tmp_path, ScriptedProvider(call("click-buy", BUY))) as site:
        page = await site.page()
        await page.say("buy")
        status, told = await page.post("/api/page/submit-tool-results", page.submitting(done("act_other_1.0")))
        assert (status, "does not wait" in told["error"]["message"]) == (400, True)


async def test_a_tool_of_the_page_named_like_one_of_the_server_s_shadows_nothing(tmp_path: Path):
    tool = mail()
    model = ScriptedProvider(call("send_mail", TO_BOB))
    async with page_site(tmp_path, model, tools=[tool]) as site:
        page = await site.page()
        page.tools = [{**CLICK, "name": "send_mail"}]
        assert (await page.say("write"))["type"] == "approval-required"
        assert {"send_mail", "page_send_mail"} <= {spec.name for spec in model.requests[0].tools}


async def test_a_stream_tells_the_same_and_ends_with_the_answer(tmp_path: Path):
    model = ScriptedProvider(call("click-buy", BUY), reply("Bought."))
    async with page_site(tmp_path, model) as site:
        page = await site.page()
        first = await _lines(page, "/api/page/send-message/stream", page.sending("buy"))
        assert (first[0]["type"], first[-1]["type"]) == ("status", "tool-calls")
        page.history = first[-1]["history"]
        wanted = first[-1]["calls"][0]["id"]
        second = await _lines(page, "/api/page/submit-tool-results/stream", page.submitting(done(wanted)))
        assert second[-1]["message"] == "Bought."
        assert "".join(line["delta"] for line in second if line["type"] == "delta") == "Bought."
        assert not any(line["type"] == "tool_call" for line in second)


async def test_more_of_the_page_is_read_without_asking_the_page(tmp_path: Path):
    model = ScriptedProvider(
        call("read-page-state", {"path": "/viewState/items", "start": 40}), reply("The last is 49.")
    )
    async with page_site(tmp_path, model) as site:
        page = await site.page()
        page.state = {"viewState": {"items": [f"item {n}" for n in range(50)]}}
        assert (await page.say("which is the last?"))["message"] == "The last is 49."
        assert "item 49" not in model.requests[0].system
        assert "item 49" in str(model.requests[1].turns[-1])


async def test_the_chat_s_own_controls_are_out_of_the_model_s_reach(tmp_path: Path):
    trigger = {**CLICK, "name": "trigger-interaction"}
    model = ScriptedProvider(call("trigger-interaction", {"coordinate": "sendMessage"}), reply("I see."))
    async with page_site(tmp_path, model) as site:
        page = await site.page()
        page.tools = [trigger]
        assert (await page.say("press your own button"))["message"] == "I see."
        assert "belongs to the chat" in str(model.requests[1].turns[-1])


# Who may ask, and from where.


async def test_a_visitor_s_token_is_good_for_the_page_s_own_routes_alone(tmp_path: Path):
    async with page_site(tmp_path, ScriptedProvider(reply("Hello."))) as site:
        page = await site.page()
        told = await page.say("hi")
        for path in ("/api/agent/runs", f"/api/agent/runs/{told['runId']}", "/api/agent/audit", "/api/agent/grants"):
            async with site.http.get(site.url + path, headers={"Authorization": f"Bearer {page.token}"}) as response:
                assert response.status == 403, path
        status, _ = await page.post("/api/agent/run", {"prompt": "hi"})
        assert status == 403


async def test_a_visitor_cannot_answer_what_another_was_asked(tmp_path: Path):
    async with page_site(tmp_path, ScriptedProvider(call("send_mail", TO_BOB)), tools=[mail()]) as site:
        [question] = (await (await site.page()).say("write"))["approvals"]
        other = await site.page()
        answer = {"approvalId": question["id"], "decision": "approve_once"}
        assert (await other.post("/api/agent/approvals/resolve", answer))[0] == 404


async def test_pages_of_named_origins_may_talk_and_others_may_not(tmp_path: Path):
    shop = "https://shop.example"
    async with page_site(tmp_path, ScriptedProvider(reply("Hello.")), origins=[shop]) as site:
        page = await site.page()
        page.origin = shop
        await page.open()
        assert (await page.say("hi"))["message"] == "Hello."
        headers = {"Origin": shop, "Access-Control-Request-Method": "POST"}
        async with site.http.options(site.url + "/api/page/send-message", headers=headers) as response:
            assert (response.status, response.headers["access-control-allow-origin"]) == (204, shop)
        for path in ("/api/page/session", "/api/page/send-message"):
            page.origin = "https://evil.example"
            status, told = await page.post(path, {} if path.endswith("session") else page.sending("hi"))
            assert (status, told["error"]["code"]) == (403, "bad_origin")
        # A token of the one page is no good at the other.
        own = await site.page()
        own.origin = shop
        assert (await own.post("/api/page/send-message", own.sending("hi")))[0] == 403


async def test_a_page_elsewhere_cannot_use_what_a_signed_in_person_holds(tmp_path: Path):
    shop = "https://shop.example"
    async with page_site(tmp_path, ScriptedProvider(reply("Hello.")), origins=[shop]) as site:
        page = await site.page()
        page.token, page.origin = "token-of-ada-0123456789", shop
        assert (await page.post("/api/page/send-message", page.sending("hi")))[0] == 401


# Jay's own chat.


async def test_jay_s_chat_talks_without_a_token_and_a_cookie_says_who_it_is(tmp_path: Path):
    model = ScriptedProvider(call("click-buy", BUY), reply("Bought."))
    async with page_site(tmp_path, model) as site:
        page = Page(site.url, site.http)
        status, told = await page.post("/_jay/actions/geminiAgent.sendMessage", page.sending("buy"))
        assert (status, told["success"], told["data"]["type"]) == (200, True, "tool-calls")
        page.history = told["data"]["history"]
        body = page.submitting(done(told["data"]["calls"][0]["id"]))
        status, told = await page.post("/_jay/actions/geminiAgent.submitToolResults", body)
        assert (status, told["data"]["message"]) == (200, "Bought.")
        # Without the cookie it is somebody else's history.
        async with aiohttp.ClientSession() as other:
            stranger = Page(site.url, other, history=page.history)
            status, told = await stranger.post("/_jay/actions/geminiAgent.submitToolResults", stranger.submitting())
            assert (status, told["error"]["code"]) == (400, "history_invalid")


async def test_a_site_s_action_is_called_at_jay_s_address_by_its_own_page(tmp_path: Path):
    @action("cart.add")
    def add(product: str, context: ToolContext) -> str:
        return f"{product} for {context.user.partition(':')[0]}"

    registry = ActionRegistry()
    registry.register(add)
    async with page_site(tmp_path, ScriptedProvider(), registry=registry) as site:
        page = Page(site.url, site.http)
        assert await page.post("/_jay/actions/cart.add", {"product": "mug"}) == (
            200,
            {"success": True, "data": "mug for visitor"},
        )
        status, told = await page.post("/_jay/actions/nothing", {})
        assert (status, told["error"]["code"]) == (404, "ACTION_NOT_FOUND")
        status, _ = await page.post("/_jay/actions/cart.add", {"product": "mug"}, Origin="https://evil.example")
        assert status == 403


async def _lines(page: Any, path: str, body: object) -> list[dict[str, Any]]:
    headers = {"Authorization": f"Bearer {page.token}"}
    async with page.http.post(page.url + path, json=body, headers=headers) as response:
        assert response.status == 200, await response.text()
        told = [json.loads(line) async for line in response.content]
    for line in told:
        check_line(path, line)
    return told
