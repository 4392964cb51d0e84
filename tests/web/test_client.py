"""The client against the real server: it talks, does what it is asked, asks back, stops, and bears with the network."""

import asyncio
import time
from pathlib import Path

import pytest
from tests.asgi import issuer as lab
from tests.engine.builders import TO_BOB, HeldTool, mail
from tests.page.site import page_site
from tests.page.test_door import BUY
from tests.waiting import HANG_SECONDS
from tests.web.bundles import WEB, needs_web
from tests.web.client_errands import errand, run_of, sent
from tests.web.client_pages import client_page, needs_node, said

from pollux.core.messages import Usage
from pollux.core.profile import Limits
from pollux.providers.scripted import ScriptedProvider, call, calls, chunks, fail, reply
from pollux.testing.clock import FakeClock

pytestmark = [needs_node, needs_web, pytest.mark.slow]

DAY = 24 * 3600.0


async def test_a_message_is_answered_as_it_is_said_and_the_next_one_knows_of_it(tmp_path: Path):
    model = ScriptedProvider(chunks(["Hel", "lo ", "👋."]), reply("You said hi."))
    async with page_site(tmp_path, model) as site, client_page(tmp_path / "page", site.url) as page:
        state = await page.do("send", "hi")
        assert [(each["role"], each["content"]) for each in state["messages"]] == [
            ("user", "hi"),
            ("assistant", "Hello 👋."),
        ]
        assert (state["isLoading"], state["error"]) == (False, None)
        assert any(each["messages"][-1].get("isStreaming") for each in page.shown if each["messages"])
        await page.do("send", "what did I say?")
        assert [message.text for message in model.requests[1].turns] == ["hi", "Hello 👋.", "what did I say?"]


async def test_calls_of_the_page_are_executed_in_order_each_once_and_the_answer_follows(tmp_path: Path):
    both = calls(("click-buy", BUY), ("click-buy", {"coordinate": "cup"}), text="I buy them.")
    model = ScriptedProvider(both, call("click-buy", {"coordinate": "jug"}), reply("Bought."))
    async with page_site(tmp_path, model) as site, client_page(tmp_path / "page", site.url) as page:
        state = await page.do("send", "buy all")
        assert [each["args"]["coordinate"] for each in page.executed] == ["mug", "cup", "jug"]
        assert said(state) == ["buy all", "I buy them.", "Bought."]
        assert [(each["tool"], each["status"], each["isOnPage"]) for each in state["activity"]] == [
            ("click-buy", "done", True)
        ] * 3


async def test_the_server_says_how_many_rounds_there_are(tmp_path: Path):
    model = ScriptedProvider(*[call("click-buy", BUY)] * 9)
    async with (
        page_site(tmp_path, model, limits=Limits(model_calls=3)) as site,
        client_page(tmp_path / "page", site.url) as page,
    ):
        state = await page.do("send", "buy for ever")
        assert "more rounds" in said(state)[-1]
        assert (len(page.executed), state["error"]) == (2, None)


async def test_what_needs_a_person_is_asked_with_its_arguments_and_goes_on_when_agreed_to(tmp_path: Path):
    tool, model = mail(), ScriptedProvider(call("send_mail", TO_BOB), reply("Sent."))
    async with page_site(tmp_path, model, tools=[tool]) as site, client_page(tmp_path / "page", site.url) as page:
        state = await page.do("send", "write to Bob")
        [question] = state["approvals"]
        assert (question["args"], state["isLoading"], tool.ran) == (TO_BOB, False, [])
        state = await page.do("resolve", question["id"], "approve_once")
        assert (said(state)[-1], state["approvals"], len(tool.ran)) == ("Sent.", [], 1)


async def test_two_questions_are_answered_one_by_one_and_a_no_reaches_the_model_with_its_reason(tmp_path: Path):
    tool = mail()
    to_ann = {**TO_BOB, "to": "ann@example.com"}
    model = ScriptedProvider(calls(("send_mail", TO_BOB), ("send_mail", to_ann)), reply("One of two."))
    async with page_site(tmp_path, model, tools=[tool]) as site, client_page(tmp_path / "page", site.url) as page:
        first, second = (await page.do("send", "write to both"))["approvals"]
        state = await page.do("resolve", first["id"], "approve_once")
        assert [each["id"] for each in state["approvals"]] == [second["id"]]
        state = await page.do("resolve", second["id"], "reject", "she is away")
        assert (said(state)[-1], len(tool.ran)) == ("One of two.", 1)
        assert "she is away" in str(model.requests[-1].turns[-1])


async def test_a_question_that_nobody_answers_in_time_counts_as_a_no(tmp_path: Path):
    tool, model = mail(), ScriptedProvider(call("send_mail", TO_BOB), reply("Then not."))
    async with page_site(tmp_path, model, tools=[tool]) as site, client_page(tmp_path / "page", site.url) as page:
        await page.do("send", "write to Bob")
        await page.do("shift", 25 * 3_600_000)
        state = await page.until(lambda state: said(state)[-1:] == ["Then not."])
        assert (state["approvals"], tool.ran) == ([], [])
        assert "Nobody answered in time" in said(state, "system")[0]


async def test_stop_ends_the_run_at_the_server_and_the_next_message_is_answered(tmp_path: Path):
    tool = HeldTool("action_slow")
    model = ScriptedProvider(call("action_slow", {}), reply("Yes?"))
    async with page_site(tmp_path, model, tools=[tool]) as site, client_page(tmp_path / "page", site.url) as page:
        asked = page.start("send", "do something long")
        await asyncio.wait_for(tool.began.wait(), HANG_SECONDS)
        state = await page.do("stop")
        await asked
        assert (state["isLoading"], said(state, "system")) == (False, ["Stopped."])
        assert (await site.engine.queries.run(run_of(page.folder))).status == "cancelled"
        assert said(await page.do("send", "hello?"))[-1] == "Yes?"
        # What was begun before is not forgotten.
        assert "do something long" in [message.text for message in model.requests[-1].turns]


async def test_stop_ends_what_the_page_is_doing(tmp_path: Path):
    model = ScriptedProvider(call("click-buy", BUY), reply("Yes?"))
    async with page_site(tmp_path, model) as site, client_page(tmp_path / "page", site.url, hold=True) as page:
        asked = page.start("send", "buy")
        await page.until(lambda state: any(each["isOnPage"] for each in state["activity"]))
        await page.do("stop")
        await asked
        state = await page.do("send", "hello?")
        assert (said(state)[-1], len(page.executed)) == ("Yes?", 1)


async def test_a_message_said_while_another_is_answered_stops_that_one(tmp_path: Path):
    tool = HeldTool("action_slow")
    model = ScriptedProvider(call("action_slow", {}), reply("Better."))
    async with page_site(tmp_path, model, tools=[tool]) as site, client_page(tmp_path / "page", site.url) as page:
        first = page.start("send", "do something long")
        await asyncio.wait_for(tool.began.wait(), HANG_SECONDS)
        assert said(await page.do("send", "something short"))[-1] == "Better."
        await first


async def test_after_a_failure_of_the_model_a_retry_says_it_again(tmp_path: Path):
    model = ScriptedProvider(fail("bad_request"), reply("Hello."))
    async with page_site(tmp_path, model) as site, client_page(tmp_path / "page", site.url) as page:
        state = await page.do("send", "hi")
        assert (state["error"]["code"], state["error"]["canRetry"]) == ("model_error", True)
        state = await page.do("retry")
        assert (said(state), state["error"]) == (["hi", "Hello."], None)


async def test_the_same_words_of_the_same_user_in_a_new_conversation_are_meant_anew(tmp_path: Path):
    model = ScriptedProvider(call("click-buy", BUY), reply("One."), call("click-buy", BUY), reply("Two."))
    async with lab.serving() as issuer:
        issuer.clock.at = time.time()
        async with (
            page_site(tmp_path, model, jwt=issuer.verifier()) as site,
            client_page(tmp_path / "page", site.url, userToken=issuer.token()) as page,
        ):
            await page.do("send", "buy a mug")
            assert (await page.do("clear"))["messages"] == []
            assert said(await page.do("send", "buy a mug"))[-1] == "Two."
            assert len(page.executed) == 2


# What comes over the wire.


@pytest.mark.parametrize("options", [{"chunk": 1}, {"chunk": 7}, {"junk": True}, {"junk": True, "chunk": 3}])
async def test_chunks_may_end_anywhere_and_what_is_not_known_is_passed_over(tmp_path: Path, options: dict[str, int]):
    model = ScriptedProvider(call("click-buy", BUY, text="Grüße 👋"), chunks(["Ge", "kauft: ☕"]))
    async with page_site(tmp_path, model) as site, client_page(tmp_path / "page", site.url, **options) as page:
        state = await page.do("send", "kauf 👍")
        assert said(state) == ["kauf 👍", "Grüße 👋", "Gekauft: ☕"]


async def test_a_page_that_has_changed_how_arrays_are_written_keeps_its_history(tmp_path: Path):
    model = ScriptedProvider(call("click-buy", BUY), reply("Bought."), reply("Yes."))
    async with page_site(tmp_path, model) as site, client_page(tmp_path / "page", site.url, spoilt=True) as page:
        await page.do("send", "buy")
        state = await page.do("send", "really?")
        assert (said(state, "system"), said(state)[-1], len(page.executed)) == ([], "Yes.", 1)


async def test_a_connection_that_breaks_at_any_line_is_made_again_and_nothing_happens_twice(tmp_path: Path):
    tool, model = mail(), ScriptedProvider(*[errand] * 200)
    async with page_site(tmp_path, model, tools=[tool]) as site:
        async with client_page(tmp_path / "whole", site.url) as page:
            await page.do("play", "errand whole")
            whole, lines = said(page.told["state"])[1:], page.told["lines"]

        async def broken(at: int, before: int) -> None:
            name = f"cut-{at}-{before}"
            async with client_page(tmp_path / name, site.url, cutAt=at, cutBefore=before) as page:
                state = await page.do("play", f"errand {name}")
                assert (said(state)[1:], state["error"]) == (whole, None), name
                assert (len(page.executed), sent(tool, name)) == (1, 1), name

        assert lines >= 8
        for at in range(1, lines + 1, 2):
            await asyncio.gather(broken(at, 0), broken(at + 1, 5))


async def test_who_is_told_to_come_later_comes_later(tmp_path: Path):
    busy = [{"status": 429, "headers": {"retry-after": "7"}}, {"status": 503, "headers": {"retry-after": "2"}}]
    answers = [None, *busy, "cut", {"status": 502}]
    async with (
        page_site(tmp_path, ScriptedProvider(reply("Hello."))) as site,
        client_page(tmp_path / "page", site.url, answers=answers) as page,
    ):
        assert said(await page.do("send", "hi"))[-1] == "Hello."
        assert page.told["waits"][:2] == [7000, 2000]
        assert len(page.told["waits"]) == 4
        assert next(state["error"]["code"] for state in page.shown if state["error"]) == "waiting"


async def test_who_would_have_to_wait_too_long_is_told_so(tmp_path: Path):
    model = ScriptedProvider(reply("Hello.", usage=Usage(input=6_000, output=4_000)))
    async with (
        page_site(tmp_path, model, tokens_per_day=10_000) as site,
        client_page(tmp_path / "page", site.url) as page,
    ):
        await page.do("send", "hi")
        state = await page.do("send", "more")
        assert (state["error"]["code"], state["error"]["canRetry"], page.told["waits"]) == ("budget", True, [])


async def test_a_server_that_cannot_be_reached_is_tried_a_few_times_and_then_said_to_be(tmp_path: Path):
    async with (
        page_site(tmp_path, ScriptedProvider(reply("Hello."))) as site,
        client_page(tmp_path / "page", site.url, answers=["cut"] * 6) as page,
    ):
        state = await page.do("send", "hi")
        assert (state["error"]["code"], state["error"]["canRetry"]) == ("unreachable", True)
        assert len(page.told["waits"]) == 5
        state = await page.do("retry")
        assert (said(state), state["error"]) == (["hi", "Hello."], None)


async def test_a_history_that_is_too_old_is_left_and_the_message_is_said_again_once(tmp_path: Path):
    clock, model = FakeClock(), ScriptedProvider(reply("Hello."), reply("Hello again."))
    async with page_site(tmp_path, model, clock=clock) as site, client_page(tmp_path / "page", site.url) as page:
        await page.do("send", "hi")
        clock.advance(DAY + 1)
        state = await page.do("send", "hi again")
        assert (said(state)[-1], state["error"]) == ("Hello again.", None)
        assert "a new one begins" in said(state, "system")[0]
        assert [message.text for message in model.requests[-1].turns] == ["hi again"]


async def test_a_token_that_does_not_count_any_more_is_renewed_once(tmp_path: Path):
    refused = {
        "status": 401,
        "body": {"ok": False, "error": {"code": "auth_error", "message": "", "correlationId": ""}},
    }
    async with (
        page_site(tmp_path, ScriptedProvider(reply("Hello."))) as site,
        client_page(tmp_path / "page", site.url, answers=[None, refused]) as page,
    ):
        assert said(await page.do("send", "hi"))[-1] == "Hello."
        assert page.told["requests"] == 4


async def test_a_user_token_that_does_not_count_is_said_and_not_tried_again(tmp_path: Path):
    async with (
        page_site(tmp_path, ScriptedProvider()) as site,
        client_page(tmp_path / "page", site.url, userToken="a.b.c") as page,
    ):
        state = await page.do("send", "hi")
        assert (state["error"]["code"], state["error"]["canRetry"]) == ("auth_error", False)
        assert "sign in" in state["error"]["message"]


async def test_a_page_that_may_not_talk_here_is_told_what_its_owner_can_do(tmp_path: Path):
    said = 'add [page] origins = ["https://shop.example"]'
    error = {"code": "bad_origin", "message": said, "correlationId": ""}
    answers = [{"status": 403, "body": {"ok": False, "error": error}}]
    async with (
        page_site(tmp_path, ScriptedProvider()) as site,
        client_page(tmp_path / "page", site.url, answers=answers) as page,
    ):
        error = (await page.do("send", "hi"))["error"]
        # The visitor can do nothing about it: what the owner can do is said to the owner.
        assert (error["code"], error["canRetry"], "origins" in error["message"]) == ("bad_origin", False, False)
        assert (page.told["warned"], page.told["waits"], page.told["requests"]) == ([f"pollux: {said}"], [], 1)


async def test_what_is_too_much_to_send_is_said_before_it_is_sent(tmp_path: Path):
    async with (
        page_site(tmp_path, ScriptedProvider()) as site,
        client_page(tmp_path / "page", site.url, large=1 << 20) as page,
    ):
        assert (await page.do("send", "x" * 100_001))["error"]["code"] == "too_long"
        assert (await page.do("send", "hi"))["error"]["code"] == "too_large"
        assert page.told["requests"] == 0


def test_the_client_knows_nothing_of_a_document():
    for path in (WEB / "packages/client/src").glob("*.ts"):
        text = path.read_text()
        assert not [word for word in ("document", "window", "HTMLElement", "innerHTML", "eval(") if word in text], path
