"""An answer that is not whole says so to those who write programs."""

import pytest
from tests.sdk.conftest import Bench

from pollux.core.errors import ValidationError
from pollux.sdk.events import Finished
from pollux.testing import chunks, reply

HALF = chunks(['{"total": ', "1"], stop="length")


async def test_a_result_and_the_last_event_say_that_the_answer_is_incomplete(bench: Bench):
    async with bench.agent(HALF, HALF) as agent:
        result = await agent.send("all of it")
        assert (result.reason, result.finish_reason, result.incomplete, result.cut) == (
            "completed",
            "length",
            True,
            False,
        )
        last = [event async for event in agent.send_stream("all of it")][-1]
    assert isinstance(last, Finished)
    assert (last.reason, last.finish_reason, last.incomplete) == ("completed", "length", True)
    assert last.note == "The answer reached the output limit and is incomplete."


async def test_an_agent_s_limits_go_before_the_configured_ones(bench: Bench, monkeypatch: pytest.MonkeyPatch):
    config = bench.home / "config.toml"
    config.write_text("[models]\nidle_seconds = 7\ntries = 2\n")
    config.chmod(0o600)
    monkeypatch.setenv("POLLUX_CONFIG", str(config))
    async with bench.agent(reply("one")) as agent:
        await agent.send("?")
    assert (bench.model.requests[0].idle_seconds, bench.model.requests[0].total_seconds) == (7, 600)
    async with bench.agent(reply("two"), limits={"idle_seconds": 3.5, "answer_seconds": 9}) as agent:
        await agent.send("?")
    assert (bench.model.requests[0].idle_seconds, bench.model.requests[0].total_seconds) == (3.5, 9)
    with pytest.raises(ValidationError, match="tries must be a number above 0 without a fraction"):
        bench.agent(limits={"tries": 1.5})


async def test_a_whole_answer_is_not_marked(bench: Bench):
    async with bench.agent(reply("all of it")) as agent:
        result = await agent.send("all of it")
    assert (result.finish_reason, result.incomplete, result.cut) == ("", False, False)


async def test_output_that_cannot_be_read_for_that_says_so(bench: Bench):
    async with bench.agent(HALF) as agent:
        with pytest.raises(ValidationError, match=r"not JSON\. The answer reached the output limit and is incomplete"):
            await agent.send("all of it", output_type=dict[str, int])
