"""What a page is told beside the answer: how long a call may take, and which of its tools nobody hears of."""

from pathlib import Path
from typing import Any

from tests.engine.builders import TO_BOB, mail
from tests.page.site import CLICK, page_site
from tests.page.test_door import BUY

from pollux.core.profile import Limits
from pollux.providers.scripted import ScriptedProvider, call, calls, chunks, reply
from pollux.testing.clock import FakeClock

BAD: dict[str, Any] = {"name": "look", "description": "Look.", "inputSchema": {"type": "array"}}


async def test_a_call_says_how_long_the_server_waits_for_it(tmp_path: Path):
    clock, limits = FakeClock(), Limits(model_calls=8, page_seconds=200)
    async with page_site(tmp_path, ScriptedProvider(call("click-buy", BUY)), clock=clock, limits=limits) as site:
        page = await site.page()
        sending = page.sending("buy")
        _, told = await page.post("/api/page/send-message", sending)
        assert [each["expiresIn"] for each in told["calls"]] == [200]
        clock.advance(150)
        # Whoever asks again later is told what is left.
        _, told = await page.post("/api/page/send-message", sending)
        assert [each["expiresIn"] for each in told["calls"]] == [50]


async def test_a_call_beside_a_question_has_its_own_time(tmp_path: Path):
    model = ScriptedProvider(calls(("click-buy", BUY), ("send_mail", TO_BOB)))
    limits = Limits(model_calls=8, page_seconds=30, approval_seconds=600)
    async with page_site(tmp_path, model, tools=[mail()], clock=FakeClock(), limits=limits) as site:
        told = await (await site.page()).say("buy and write")
        times = [told[name][0]["expiresIn"] for name in ("calls", "approvals")]
        assert (told["type"], times) == ("approval-required", [30, 600])


async def test_an_answer_at_the_output_limit_is_marked_and_a_whole_one_is_not(tmp_path: Path):
    model = ScriptedProvider(chunks(["Half of it"], stop="length"), reply("All of it."))
    async with page_site(tmp_path, model) as site:
        page = await site.page()
        half, whole = await page.say("all of it"), await page.say("again")
    assert (half["message"], half["finishReason"], half["incomplete"]) == ("Half of it", "length", True)
    assert not {"finishReason", "incomplete", "cut"} & whole.keys()


async def test_who_builds_the_page_is_told_which_tools_nobody_hears_of(tmp_path: Path):
    model = ScriptedProvider(call("click-buy", BUY), reply("Bought."))
    async with page_site(tmp_path, model) as site:
        page = await site.page()
        page.tools = [CLICK, BAD, {"name": ""}]
        for told in (await page.say("buy"), await page.answer()):
            assert told["leftOut"]["count"] == 2
            assert [each["name"] for each in told["leftOut"]["tools"]] == ["look", ""]
            assert 'type "object"' in told["leftOut"]["tools"][0]["why"]


async def test_of_very_many_the_first_are_told_and_how_many_there_are(tmp_path: Path):
    async with page_site(tmp_path, ScriptedProvider(reply("Hello."))) as site:
        page = await site.page()
        page.tools = [{**BAD, "name": f"look-{number}" + "x" * 400} for number in range(900)]
        left_out = (await page.say("hi"))["leftOut"]
        assert (left_out["count"], len(left_out["tools"]), len(str(left_out)) < 10_000) == (900, 20, True)


async def test_what_a_page_does_not_miss_is_not_told(tmp_path: Path):
    # Jay's pages bring these, and are right to: what they tell is told already, and the chat is not to be pressed.
    async with page_site(tmp_path, ScriptedProvider(reply("Hello."))) as site:
        page = await site.page()
        page.tools = [CLICK, *({**CLICK, "name": name} for name in ("get-page-state", "click-send-message"))]
        assert "leftOut" not in await page.say("hi")
