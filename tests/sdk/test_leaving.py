"""Leaving early: by break, by closing, by cancellation, by another task. The run stops, and the session goes on."""

import asyncio
from collections.abc import Callable

import pytest
from tests.sdk.conftest import Bench
from tests.waiting import HANG_SECONDS

from pollux import Agent, RunFailed, ToolContext, tool
from pollux.core.errors import ThreadBusy
from pollux.engine.model import ModelRequest
from pollux.testing import Answer, call, chunks, reply


class Held:
    """A tool that runs until it is stopped, and says so."""

    def __init__(self) -> None:
        self.began = asyncio.Event()
        self.stopped = asyncio.Event()

    def tool(self):
        @tool
        async def wait() -> str:
            """Wait."""
            self.began.set()
            try:
                await asyncio.sleep(3600)
            finally:
                self.stopped.set()
            return "never"

        return wait


async def status_of_last(agent: Agent) -> str:
    session = await agent._opened()  # pyright: ignore[reportPrivateUsage]
    (row, *_) = await session.engine.queries.runs(session.user, thread_id=session.thread_id)
    return row.status


async def test_breaking_out_stops_the_tools_and_the_next_prompt_is_answered(bench: Bench):
    held = Held()
    async with bench.agent(call("wait"), reply("Here."), tools=[held.tool()]) as agent:
        async for event in agent.send_stream("Wait"):
            if event.type == "tool_call_request":
                break
        async with asyncio.timeout(HANG_SECONDS):
            assert (await agent.send("Still there?")).text == "Here."


async def test_closing_the_stream_returns_when_nothing_is_in_flight(bench: Bench):
    held = Held()
    async with bench.agent(call("wait"), reply("Here."), tools=[held.tool()]) as agent:
        stream = agent.send_stream("Wait")
        while (await anext(stream)).type != "tool_call_request":
            pass
        await held.began.wait()
        await stream.aclose()
        assert held.stopped.is_set()
        assert await status_of_last(agent) == "cancelled"


async def test_a_cancelled_task_stops_its_run(bench: Bench):
    held = Held()
    async with bench.agent(call("wait"), reply("Here."), tools=[held.tool()]) as agent:
        task = asyncio.create_task(agent.send("Wait"))
        await held.began.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert held.stopped.is_set()
        assert await status_of_last(agent) == "cancelled"
        assert (await agent.send("Still there?")).text == "Here."


async def test_a_task_cancelled_at_any_moment_leaves_a_session_that_goes_on(bench: Bench):
    async def answer(request: ModelRequest) -> Answer:
        return call("wait") if request.turns[-1].text == "Wait" else reply("Here.")

    for delay in range(0, 60, 2):
        async with bench.agent(answer, answer, tools=[Held().tool()], store="memory") as agent:
            task = asyncio.create_task(agent.send("Wait"))
            for _ in range(delay):
                await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            async with asyncio.timeout(HANG_SECONDS):
                assert (await agent.send("Still there?")).text == "Here."


async def test_another_task_may_cancel_what_is_under_way(bench: Bench):
    held = Held()
    async with bench.agent(call("wait"), reply("Here."), tools=[held.tool()]) as agent:
        task = asyncio.create_task(agent.send("Wait"))
        await held.began.wait()
        assert await agent.cancel()
        with pytest.raises(RunFailed) as stopped:
            await task
        assert stopped.value.code == "cancelled" and held.stopped.is_set()
        assert (await agent.send("Still there?")).text == "Here."


async def test_a_model_in_the_middle_of_its_answer_is_stopped(bench: Bench):
    began, stopped = asyncio.Event(), asyncio.Event()

    async def slow(request: ModelRequest) -> Answer:
        began.set()
        try:
            await asyncio.sleep(3600)
        finally:
            stopped.set()
        return reply("never")

    async with bench.agent(slow, reply("Here.")) as agent:
        stream = agent.send_stream("Wait")
        await anext(stream)
        await began.wait()
        await stream.aclose()
        assert stopped.is_set()
        assert (await agent.send("Still there?")).text == "Here."


async def test_a_stream_that_nobody_reads_any_more_gives_way_to_the_next_prompt(bench: Bench):
    async with bench.agent(chunks(["a", "b", "c"]), reply("New.")) as agent:
        paused = agent.send_stream("First")
        while (await anext(paused)).type != "content":
            pass
        assert (await agent.send("Second")).text == "New."
        await paused.aclose()


async def test_two_prompts_at_once_are_refused(bench: Bench):
    held = Held()
    async with bench.agent(call("wait"), reply("Here."), tools=[held.tool()]) as agent:
        task = asyncio.create_task(agent.send("Wait"))
        await held.began.wait()
        with pytest.raises(ThreadBusy, match="another prompt"):
            await agent.send("And me?")
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


async def test_closing_the_agent_stops_what_is_under_way(bench: Bench):
    held = Held()
    agent = bench.agent(call("wait"), tools=[held.tool()])
    task = asyncio.create_task(agent.send("Wait"))
    await held.began.wait()
    await agent.aclose()
    assert held.stopped.is_set()
    with pytest.raises(RunFailed):
        await task


async def test_a_side_effect_stopped_half_way_is_told_as_unknown(bench: Bench):
    began = asyncio.Event()

    @tool(side_effect=True)
    async def pay(context: ToolContext) -> str:
        """Pay."""
        began.set()
        await asyncio.sleep(3600)
        return "paid"

    yes: Callable[[object], bool] = lambda asked: True  # noqa: E731
    async with bench.agent(call("pay"), tools=[pay], on_approval=yes) as agent:
        task = asyncio.create_task(agent.send("Pay"))
        await began.wait()
        assert await agent.cancel()
        with pytest.raises(RunFailed) as stopped:
            await task
    assert stopped.value.result.tool_calls[0].error is not None
    assert "may or may not have happened" in stopped.value.result.tool_calls[0].error
