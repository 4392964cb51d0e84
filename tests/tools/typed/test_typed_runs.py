"""Typed tools at work in an engine: overlapping calls, failures, and results of every kind."""

import asyncio
import threading
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel
from tests.engine.builders import Lab, answer, approve, journal, question, sent
from tests.waiting import HANG_SECONDS

from pollux.core.errors import ToolError
from pollux.core.events import ActionCompleted, ActionFailed
from pollux.core.messages import JSON
from pollux.core.run import Run
from pollux.engine.engine import Engine
from pollux.engine.perform import MAX_TEXT
from pollux.providers.scripted import call, calls, reply
from pollux.tools.typed.tools import define_tool, tool


@dataclass
class Point:
    x: int
    at: date


class City(BaseModel):
    name: str
    founded: date


@pytest.fixture
async def lab(tmp_path: Path) -> AsyncIterator[Lab]:
    lab = Lab("memory", tmp_path)
    yield lab
    await lab.close()


async def end_of(engine: Engine, run: Run) -> ActionCompleted | ActionFailed:
    """How the run's only call ended."""
    (end,) = [fact for fact in await journal(engine, run) if isinstance(fact, ActionCompleted | ActionFailed)]
    return end


async def kept_of(engine: Engine) -> JSON:
    """What was kept of the result of the only call."""
    run = await answer(engine)
    end = await end_of(engine, run)
    assert run.text == "Kept." and isinstance(end, ActionCompleted)
    return end.result


async def test_sync_calls_of_one_turn_run_at_the_same_time(lab: Lab):
    both = threading.Barrier(2, timeout=HANG_SECONDS)

    @tool
    def meet(name: str) -> str:
        """Meet the other."""
        both.wait()
        return f"{name} came"

    engine = await lab.engine(calls(("meet", {"name": "ada"}), ("meet", {"name": "bob"})), reply("Met."), tools=[meet])
    await answer(engine)
    assert sent(lab.model)[-1] == "tool: ada came bob came"


async def test_async_calls_of_one_turn_run_at_the_same_time(lab: Lab):
    both = asyncio.Barrier(2)

    @tool
    async def meet(name: str) -> str:
        """Meet the other."""
        async with asyncio.timeout(HANG_SECONDS):
            await both.wait()
        return f"{name} came"

    engine = await lab.engine(calls(("meet", {"name": "ada"}), ("meet", {"name": "bob"})), reply("Met."), tools=[meet])
    await answer(engine)
    assert sent(lab.model)[-1] == "tool: ada came bob came"


async def test_what_a_person_approves_is_what_runs_defaults_included(lab: Lab):
    ran: list[tuple[str, int]] = []

    @tool(side_effect=True, subjects=lambda args: args["to"])
    def send(to: str, copies: int = 2) -> str:
        """Send."""
        ran.append((to, copies))
        return "sent"

    engine = await lab.engine(call("send", {"to": "bob"}), reply("Done."), tools=[send])
    run = await answer(engine)
    assert question(run).preview == "send(to='bob', copies=2)" and ran == []
    run = await approve(engine, run)
    assert (run.text, ran) == ("Done.", [("bob", 2)])


async def test_arguments_that_only_the_conversion_refuses_are_refused_before_anybody_is_asked(lab: Lab):
    @tool(side_effect=True)
    def remind(day: date) -> None:
        """Remind."""

    engine = await lab.engine(call("remind", {"day": "soon"}), reply("Sorry."), tools=[remind])
    run = await answer(engine)
    assert run.text == "Sorry." and not run.approvals
    assert "day: invalid RFC3339 encoded date" in sent(lab.model)[-1]


@pytest.mark.parametrize(
    ("problem", "options", "told"),
    [
        (ToolError("no such city"), {}, "no such city"),
        (ValueError("the moon is full"), {}, "the tool failed (ValueError)"),
        (ValueError("the moon is full"), {"send_errors_to_model": True}, "the moon is full"),
    ],
)
async def test_the_model_reads_what_the_author_meant_for_it(
    lab: Lab, problem: Exception, options: dict[str, Any], told: str
):
    def act(params: Any) -> None:
        raise problem

    made = define_tool("act", "Act.", {"type": "object"}, act, **options)
    engine = await lab.engine(call("act"), reply("I see."), tools=[made])
    run = await answer(engine)
    assert run.text == "I see." and told in sent(lab.model)[-1]


async def test_an_error_of_a_side_effect_leaves_open_whether_it_happened(lab: Lab):
    @tool(side_effect=True, default_approval="not_required", send_errors_to_model=True)
    def send(to: str) -> None:
        """Send."""
        raise ConnectionError("lost after the last byte")

    engine = await lab.engine(call("send", {"to": "bob"}), reply("Hm."), tools=[send])
    run = await answer(engine)
    end = await end_of(engine, run)
    assert isinstance(end, ActionFailed) and end.code == "outcome_unknown"


def endless() -> list[Any]:
    ring: list[Any] = []
    ring.append(ring)
    return ring


@pytest.mark.parametrize(
    ("result", "kept"),
    [
        (None, None),
        (b"\x00\xff", "AP8="),
        ([float("nan"), float("-inf")], ["nan", "-inf"]),
        (Point(1, date(2026, 1, 2)), {"x": 1, "at": "2026-01-02"}),
        ([City(name="Rome", founded=date(1, 4, 21))], [{"name": "Rome", "founded": "0001-04-21"}]),
        ({"city": {Path("a/b")}}, {"city": ["a/b"]}),
        (2**70, str(2**70)),
    ],
)
async def test_a_result_is_kept_as_json(lab: Lab, result: object, kept: JSON):
    made = define_tool("act", "Act.", {"type": "object"}, lambda params: result)
    engine = await lab.engine(call("act"), reply("Kept."), tools=[made])
    assert await kept_of(engine) == kept


async def test_a_result_that_holds_itself_ends_somewhere(lab: Lab):
    made = define_tool("act", "Act.", {"type": "object"}, lambda params: endless())
    engine = await lab.engine(call("act"), reply("Kept."), tools=[made])
    assert "nested too deeply" in str(await kept_of(engine))


@pytest.mark.parametrize("large", ["x" * (MAX_TEXT + 5), b"x" * MAX_TEXT, ["x" * 1_000_000] * 12], ids=type)
async def test_a_result_of_more_than_ten_megabytes_does_not_stop_the_run(lab: Lab, large: object):
    made = define_tool("act", "Act.", {"type": "object"}, lambda params: large)
    engine = await lab.engine(call("act"), reply("Kept."), tools=[made])
    assert len(str(await kept_of(engine))) < 3 * MAX_TEXT
