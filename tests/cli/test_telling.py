"""One last line and the right exit code, whatever the work does. In this process: no program gets into all of it."""

import asyncio
import json
from typing import Any

import pytest
from tests.waiting import HANG_SECONDS

from pollux.cli.masking import Mask
from pollux.cli.outlet import Closed, Outlet
from pollux.cli.telling import Telling, Work
from pollux.cli.writers import writer_for
from pollux.config import ConfigError
from pollux.core.errors import PolluxError
from pollux.core.messages import Usage
from pollux.sdk import events

BEGUN = events.ModelInfo("gemini-3.8-flash", "thr_1", "run_1")
FINISHED = events.Finished("completed", Usage())


class Kept(Outlet):
    """Keeps what would have left. Its reader may have gone."""

    def __init__(self, *, is_closed: bool = False) -> None:
        self.is_terminal = False
        self.content = b""
        self._is_closed = is_closed

    def write(self, data: bytes) -> None:
        if self._is_closed:
            raise Closed
        self.content += data

    async def drained(self) -> None:
        await asyncio.sleep(0)

    def flush(self, seconds: float) -> None:
        pass


async def ended(work: Work, *, timeout: float = HANG_SECONDS, outlet: Kept | None = None) -> tuple[int, list[Any]]:
    """The exit code, and the lines."""
    outlet, mask = outlet or Kept(), Mask([])
    telling = Telling(writer_for("stream-json", outlet, mask), outlet, mask, timeout)
    code = await telling.run(work)
    return code, [json.loads(line) for line in outlet.content.splitlines()]


def telling_of(*told: events.AgentEvent) -> Work:
    async def work(telling: Telling) -> None:
        for event in told:
            await telling.read(event)

    return work


async def test_an_outcome_that_nobody_knows_needs_a_person():
    failure = events.Failure("outcome_unknown", "it may or may not have happened")
    code, lines = await ended(telling_of(BEGUN, failure, events.Finished("failed", Usage())))
    assert (code, [line["code"] for line in lines]) == (4, ["outcome_unknown"])


async def test_nothing_is_told_after_the_last_line():
    code, lines = await ended(telling_of(BEGUN, FINISHED, events.Content("more"), events.Failure("late", "late")))
    assert (code, [line["type"] for line in lines]) == (0, ["result"])


async def test_what_goes_wrong_after_the_last_line_changes_nothing():
    async def work(telling: Telling) -> None:
        await telling_of(BEGUN, FINISHED)(telling)
        raise PolluxError("too late", code="store_error")

    code, lines = await ended(work)
    assert (code, [line["type"] for line in lines]) == (0, ["result"])


async def test_work_that_is_slow_to_stop_does_not_hold_up_the_last_line():
    outlet, seen = Kept(), list[bytes]()

    async def work(telling: Telling) -> None:
        try:
            await asyncio.sleep(1000)
        finally:
            seen.append(outlet.content)

    code, [line] = await ended(work, timeout=0.05, outlet=outlet)
    assert (code, line["code"]) == (1, "timeout")
    assert seen == [outlet.content]


async def test_a_run_that_was_cancelled_elsewhere_is_an_error():
    code, lines = await ended(telling_of(BEGUN, events.Finished("cancelled", Usage())))
    assert (code, [line["code"] for line in lines]) == (1, ["cancelled"])


@pytest.mark.parametrize("problem", [ConfigError("no such thing"), PolluxError("no", code="usage")])
async def test_settings_that_do_not_fit_are_no_line(problem: PolluxError, capsys: pytest.CaptureFixture[str]):
    async def work(telling: Telling) -> None:
        raise problem

    assert await ended(work) == (2, [])
    assert str(problem) in capsys.readouterr().err


@pytest.mark.parametrize("problem", [KeyError("x"), asyncio.CancelledError(), None])
async def test_a_mistake_of_ours_is_a_line_too(problem: BaseException | None, capsys: pytest.CaptureFixture[str]):
    async def work(telling: Telling) -> None:
        if problem is not None:
            raise problem

    code, [line] = await ended(work)
    assert (code, line["code"]) == (1, "internal")
    assert "internal: " in capsys.readouterr().err


async def test_a_reader_who_has_gone_ends_the_work():
    stopped = asyncio.Event()

    async def work(telling: Telling) -> None:
        try:
            await telling_of(BEGUN, events.Content("hello"))(telling)
        finally:
            stopped.set()

    with pytest.raises(Closed):
        await ended(work, outlet=Kept(is_closed=True))
    assert stopped.is_set()


async def test_a_call_is_told_when_it_begins_and_a_time_out_shows_which_one_ran():
    async def work(telling: Telling) -> None:
        for event in (
            BEGUN,
            events.ToolCallRequest("a", "add", {"x": 1}),
            events.ToolCallRequest("b", "wait", {}),
            events.ToolCallStarted("a", "add"),
            events.ToolCallStarted("b", "wait"),
            events.ToolCallResponse("a", "add", 2),
        ):
            await telling.read(event)
        await asyncio.Event().wait()

    code, lines = await ended(work, timeout=0.2)
    assert (code, lines[-1]["code"]) == (1, "timeout")
    assert [(line["type"], line["id"]) for line in lines[:-1]] == [
        ("tool_code", "a"), ("tool_code", "b"), ("tool_result", "a"), ("tool_result", "b"),
    ]  # fmt: skip
    assert (lines[0]["args"], lines[2]["result"]) == ({"x": 1}, 2)
    assert "no result is known" in lines[3]["result"]["error"]
