"""Who is asked before something happens, what they may answer, and what happens when nobody is there."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.sdk.conftest import Bench
from tests.waiting import HANG_SECONDS

from pollux import Approve, Edit, Reject, Rule, RunFailed, ValidationError, tool
from pollux.core.errors import Misfit, NotFound, ThreadBusy
from pollux.core.ids import RunId
from pollux.sdk.events import ApprovalRequired
from pollux.testing import FakeClock, call, calls, reply

SENT: list[str] = []
DENIED = "the policy refused this call: it needs approval, and there is nobody to ask"
SEND = call("send", {"to": "bob@example.com"})


@tool(side_effect=True, subjects=lambda args: args["to"], preview=lambda args: f"Mail to {args['to']}")
def send(to: str) -> str:
    """Send a mail."""
    SENT.append(to)
    return "sent"


@pytest.fixture(autouse=True)
def nothing_sent():
    SENT.clear()


async def test_with_nobody_to_ask_a_side_effect_is_denied_with_a_reason_for_the_model(bench: Bench):
    async with bench.agent(SEND, reply("I may not."), tools=[send]) as agent:
        result = await agent.send("Mail Bob")
    assert (result.text, SENT) == ("I may not.", [])
    assert result.tool_calls[0].error == DENIED


async def test_the_host_is_asked_and_says_yes(bench: Bench):
    asked: list[ApprovalRequired] = []

    def on_approval(question: ApprovalRequired) -> bool:
        asked.append(question)
        return True

    async with bench.agent(SEND, reply("Sent."), tools=[send], on_approval=on_approval) as agent:
        result = await agent.send("Mail Bob")
    assert (result.text, SENT, result.approvals) == ("Sent.", ["bob@example.com"], ())
    (question,) = asked
    assert (question.tool, question.args, question.preview) == (
        "send", {"to": "bob@example.com"}, "Mail to bob@example.com",
    )  # fmt: skip


async def test_an_async_host_says_no_and_the_model_reads_why(bench: Bench):
    async def on_approval(question: ApprovalRequired) -> Reject:
        await asyncio.sleep(0)
        return Reject("not on Sundays")

    async with bench.agent(SEND, reply("Understood."), tools=[send], on_approval=on_approval) as agent:
        result = await agent.send("Mail Bob")
    assert (result.text, SENT) == ("Understood.", [])
    assert "not on Sundays" in str(result.tool_calls[0].result)


async def test_always_is_remembered_for_that_recipient_alone(bench: Bench):
    asked: list[str] = []

    def on_approval(question: ApprovalRequired) -> Approve:
        asked.append(str(question.args["to"]))
        return Approve(always=True)

    steps = [SEND, reply("1"), SEND, reply("2"), call("send", {"to": "eve@example.com"}), reply("3")]
    async with bench.agent(*steps, tools=[send], on_approval=on_approval) as agent:
        for _ in range(3):
            await agent.send("Mail")
    assert asked == ["bob@example.com", "eve@example.com"]
    assert SENT == ["bob@example.com", "bob@example.com", "eve@example.com"]


async def test_a_yes_for_always_counts_once_where_nobody_is_named(bench: Bench):
    @tool(side_effect=True)
    def restart() -> str:
        """Restart it."""
        SENT.append("restarted")
        return "ok"

    asked: list[str] = []

    def on_approval(question: ApprovalRequired) -> Approve:
        asked.append(question.id)
        return Approve(always=True)

    steps = [call("restart"), reply("1"), call("restart"), reply("2")]
    async with bench.agent(*steps, tools=[restart], on_approval=on_approval) as agent:
        await agent.send("Restart")
        await agent.send("Restart")
    assert (len(asked), len(SENT)) == (2, 2)
    with pytest.raises(ValidationError, match='"session"'):
        Approve(always="ever")  # pyright: ignore[reportArgumentType]


async def test_an_edit_that_does_not_fit_is_raised_to_whoever_made_it(bench: Bench):
    def on_approval(question: ApprovalRequired) -> Edit:
        return Edit({"too": "x"})

    async with bench.agent(SEND, tools=[send], on_approval=on_approval) as agent:
        with pytest.raises(ValidationError, match="Known: to"):
            await agent.send("Mail Bob")
    assert SENT == []


async def test_edited_arguments_are_asked_about_again_and_are_what_runs(bench: Bench):
    def on_approval(question: ApprovalRequired) -> Edit | bool:
        return True if question.args["to"] == "ada@example.com" else Edit({"to": "ada@example.com"})

    async with bench.agent(SEND, reply("Sent."), tools=[send], on_approval=on_approval) as agent:
        await agent.send("Mail Bob")
    assert SENT == ["ada@example.com"]


async def test_a_host_that_fails_has_not_said_yes(bench: Bench):
    def on_approval(question: ApprovalRequired) -> bool:
        raise OSError("no terminal")

    async with bench.agent(SEND, reply("Here."), tools=[send], on_approval=on_approval) as agent:
        with pytest.raises(OSError, match="no terminal"):
            await agent.send("Mail Bob")
        assert ((await agent.send("Still there?")).text, SENT) == ("Here.", [])


async def test_a_host_that_answers_nonsense_has_not_said_yes(bench: Bench):
    def nonsense(question: ApprovalRequired) -> str:
        return "yes"

    async with bench.agent(SEND, tools=[send], on_approval=nonsense) as agent:
        with pytest.raises(ValidationError, match="found str"):
            await agent.send("Mail Bob")
    assert SENT == []


async def test_a_deferred_question_waits_and_is_answered_later_by_another_agent(bench: Bench):
    asking = bench.agent(SEND, tools=[send], on_approval="defer")
    result = await asking.send("Mail Bob")
    assert (result.reason, SENT, len(result.approvals)) == ("awaiting_confirmation", [], 1)
    with pytest.raises(ThreadBusy, match="resume"):
        await asking.send("And?")
    await asking.aclose()
    later = bench.agent(reply("Sent."), tools=[send], on_approval="defer", session_id=asking.session_id)
    (question,) = await later.approvals()
    await later.answer(question, True)
    assert ((await later.resume()).text, SENT) == ("Sent.", ["bob@example.com"])
    with pytest.raises(Misfit):
        await later.answer(question.id, True)
    with pytest.raises(NotFound, match="no open run"):
        await later.resume()
    await later.aclose()


async def test_a_question_of_another_session_is_none_of_this_ones(bench: Bench):
    asking = bench.agent(SEND, tools=[send], on_approval="defer")
    await asking.send("Mail Bob")
    (question,) = await asking.approvals()
    async with bench.agent() as other:
        for unknown in (question, "apr_nothing", ""):
            with pytest.raises(NotFound, match="no question"):
                await other.answer(unknown, False)
    assert len(await asking.approvals()) == 1
    await asking.aclose()


async def test_the_reader_of_a_stream_may_answer_right_there(bench: Bench):
    async with bench.agent(SEND, reply("Sent."), tools=[send], on_approval="defer") as agent:
        types: list[str] = []
        async for event in agent.send_stream("Mail Bob"):
            types.append(event.type)
            if event.type == "approval_required":
                await agent.answer(event, True)
    assert SENT == ["bob@example.com"] and types[-1] == "finished" and "tool_call_response" in types


async def test_several_questions_of_one_turn_are_asked_side_by_side(bench: Bench):
    both = asyncio.Barrier(2)

    async def on_approval(question: ApprovalRequired) -> bool:
        await both.wait()
        return question.args["to"] == "a@example.com"

    step = calls(("send", {"to": "a@example.com"}), ("send", {"to": "b@example.com"}))
    async with bench.agent(step, reply("One of two."), tools=[send], on_approval=on_approval) as agent:
        async with asyncio.timeout(HANG_SECONDS):
            result = await agent.send("Mail both")
    assert (result.text, SENT) == ("One of two.", ["a@example.com"])


async def test_an_open_run_can_be_cancelled_and_the_session_goes_on(bench: Bench):
    async with bench.agent(SEND, reply("Fresh."), tools=[send], on_approval="defer") as agent:
        await agent.send("Mail Bob")
        assert await agent.cancel()
        assert not await agent.cancel()
        assert ((await agent.send("Something else")).text, SENT) == ("Fresh.", [])


async def test_allow_all_is_chosen_by_name_and_recorded(bench: Bench):
    async with bench.agent(SEND, reply("Sent."), tools=[send], policy="allow_all") as agent:
        result = await agent.send("Mail Bob")
        assert SENT == ["bob@example.com"]
        run = await (await agent._opened()).engine.queries.run(RunId(result.run_id))  # pyright: ignore[reportPrivateUsage]
    assert run.actions[0].decision is not None and run.actions[0].decision.rule == "allow_all"


async def test_rules_in_python_allow_and_forbid(bench: Bench):
    policy = [Rule("allow", "send", subjects=("*@example.com",)), Rule("deny", "send", subjects=("eve@*",))]
    step = calls(("send", {"to": "bob@example.com"}), ("send", {"to": "eve@example.com"}), ("send", {"to": "x@y.z"}))
    async with bench.agent(step, reply("ok"), tools=[send], policy=policy) as agent:
        result = await agent.send("Mail all")
    assert SENT == ["bob@example.com"]
    assert [use.error for use in result.tool_calls] == [
        None, "the policy refused this call: a rule forbids it", DENIED,
    ]  # fmt: skip


async def test_one_pattern_is_not_read_letter_by_letter(bench: Bench):
    """Read as a list of letters, this one would hold a `*` that allows everybody."""
    rule = Rule("allow", "send", subjects="*@example.com")  # pyright: ignore[reportArgumentType]
    async with bench.agent(call("send", {"to": "eve@evil.org"}), reply("ok"), tools=[send], policy=rule) as agent:
        await agent.send("Mail Eve")
    assert SENT == []


async def test_a_policy_file_speaks_for_its_author(bench: Bench):
    path = bench.path / "policy.toml"
    path.write_text('[[rules]]\ndecision = "allow"\ntool = "send"\nsubjects = ["*@example.com"]\n')
    async with bench.agent(SEND, reply("Sent."), tools=[send], policy=path) as agent:
        await agent.send("Mail Bob")
    assert SENT == ["bob@example.com"]


def test_a_policy_file_with_mistakes_is_refused_when_the_agent_is_made(bench: Bench):
    path = bench.path / "policy.toml"
    path.write_text("[[rules]]\nverdict = 1\n")
    with pytest.raises(ValidationError, match=r"policy\.toml"):
        bench.agent(policy=path)
    with pytest.raises(ValidationError, match="missing"):
        bench.agent(policy=bench.path / "missing.toml")


async def test_what_a_project_file_forbids_stays_forbidden_under_allow_all(bench: Bench):
    (bench.cwd / "pollux.toml").write_text('[[rules]]\ndecision = "deny"\ntool = "send"\n')
    async with bench.agent(reply("I have no such tool."), tools=[send], policy="allow_all") as agent:
        await agent.send("Mail Bob")
    assert bench.model.requests[0].tools == ()


async def test_what_a_run_may_spend_is_limited(bench: Bench):
    async with bench.agent(SEND, SEND, tools=[send], limits={"model_calls": 2}) as agent:
        with pytest.raises(RunFailed) as failed:
            await agent.send("Mail Bob for ever")
    assert failed.value.code == "loop_limit"


async def test_a_tool_with_a_side_effect_that_asks_for_no_approval_runs(bench: Bench):
    @tool(side_effect=True, default_approval="not_required")
    def log(line: str) -> str:
        """Write a line."""
        SENT.append(line)
        return "ok"

    async with bench.agent(call("log", {"line": "x"}), reply("ok"), tools=[log]) as agent:
        await agent.send("Log")
    assert SENT == ["x"]


async def test_nothing_is_sent_twice_when_the_process_is_killed_after_the_answer(bench: Bench):
    """The journal has the intent: another process goes on from there."""
    from tests.sdk.crash import run_and_kill

    outbox = bench.path / "outbox.jsonl"
    session_id = await asyncio.to_thread(run_and_kill, bench.cwd, Path(outbox))
    assert len(outbox.read_text().splitlines()) == 1
    from tests.sdk.crash import mail_tool

    later = bench.agent(reply("Sent."), tools=[mail_tool(outbox)], on_approval="defer", session_id=session_id)
    assert (await later.resume()).text == "Sent."
    assert len(outbox.read_text().splitlines()) == 1
    await later.aclose()


async def test_a_question_runs_out_when_its_time_has_come(bench: Bench):
    clock = FakeClock()
    options: dict[str, Any] = {"tools": [send], "on_approval": "defer", "clock": clock, "store": "memory"}
    async with bench.agent(SEND, reply("Too late."), **options) as agent:
        result = await agent.send("Mail Bob")
        clock.advance(24 * 3600 + 1)
        async with asyncio.timeout(HANG_SECONDS):
            assert ((await agent.resume()).text, SENT) == ("Too late.", [])
        with pytest.raises(Misfit, match="expired"):
            await agent.answer(result.approvals[0], True)


async def test_whoever_goes_on_without_instructions_says_those_of_the_run(bench: Bench):
    async with bench.agent(SEND, instructions="Speak like a pirate.", tools=[send], on_approval="defer") as asking:
        await asking.send("Mail Bob")
    options: dict[str, Any] = {"tools": [send], "on_approval": "defer", "session_id": asking.session_id}
    async with bench.agent(reply("Arr."), instructions="", **options) as later:
        await later.answer((await later.approvals())[0], True)
        assert (await later.resume()).text == "Arr."
    assert bench.system() == "Speak like a pirate."
