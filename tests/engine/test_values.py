"""Small parts: results as JSON, arguments checked, a clock for tests, the real clock and ids."""

import asyncio
import json
import math
from dataclasses import dataclass
from datetime import UTC, date, datetime
from enum import Enum
from pathlib import Path
from typing import cast

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.engine.builders import MAIL, FakeTool, Lab, answer

from pollux.core.errors import ValidationError
from pollux.core.messages import JSON
from pollux.core.tools import ToolContext
from pollux.engine.engine import RandomIds
from pollux.engine.gate import Toolbox
from pollux.engine.perform import MAX_DEPTH, MAX_MEMBERS, MAX_TEXT, NoForm, json_of, plain
from pollux.engine.system import SystemClock
from pollux.providers.scripted import call, reply
from pollux.testing.clock import FakeClock


class Colour(Enum):
    RED = "red"


@dataclass
class Point:
    x: int
    at: date


class Model:
    def model_dump(self, mode: str) -> JSON:
        return {"mode": mode}


class Odd:
    def __str__(self) -> str:
        return "odd \ud800"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        (True, True),
        (7, 7),
        (2**60, str(2**60)),
        (1.5, 1.5),
        (float("nan"), "nan"),
        ("é", "é"),
        ("\ud800", "?"),
        (b"ab", "YWI="),
        (Colour.RED, "red"),
        ({1: (2, {3})}, {"1": [2, [3]]}),
        (Point(1, date(2026, 1, 2)), {"x": 1, "at": "2026-01-02"}),
        (datetime(2026, 1, 2, tzinfo=UTC), "2026-01-02T00:00:00+00:00"),
        (Path("a/b"), "a/b"),
        (Model(), {"mode": "json"}),
        (Odd(), "odd ?"),
        (Point, str(Point)),
    ],
)
def test_whatever_a_tool_returns_becomes_json(value: object, expected: JSON):
    assert plain(value) == expected


class Formless:
    pass


@pytest.mark.parametrize("value", [Formless(), [Formless()], lambda: None])
def test_a_result_without_a_json_form_says_so_instead_of_an_address(value: object):
    with pytest.raises(NoForm, match="which has no JSON form"):
        json_of(value)
    assert "has no JSON form" in str(plain(value)) and "0x" not in str(plain(value))


@pytest.mark.parametrize(
    ("side_effect", "expected"),
    [(False, "failed: the tool returned a Formless"), (True, "completed: (done; the tool returned a Formless")],
)
async def test_a_call_whose_result_has_no_json_form_fails_unless_it_had_an_effect(
    lab: Lab, side_effect: bool, expected: str
):
    tool = FakeTool(result=Formless(), side_effect=side_effect, default_approval="not_required")
    engine = await lab.engine(call("look"), reply("Sorry."), tools=[tool])
    run = await answer(engine)
    outcome = run.actions[0].outcome
    assert outcome and f"{outcome.status}: {outcome.message or outcome.result}".startswith(expected)


def test_a_result_without_end_is_cut():
    endless: list[object] = []
    endless.append(endless)
    assert "nested too deeply" in str(plain(endless))
    assert plain("x" * (MAX_TEXT + 1)).endswith(f"(cut: {MAX_TEXT + 1} characters)")


def test_the_guide_names_the_size_of_a_result_and_the_mark_of_a_longer_one():
    guide = " ".join((Path(__file__).parents[2] / "docs/guides/write-a-tool.md").read_text().split())
    assert f"at most {MAX_TEXT:,} characters" in guide and f"more than {MAX_MEMBERS:,} objects" in guide
    assert f"more than {MAX_DEPTH} deep" in guide and "(nested too deeply)" in guide
    *_, mark = str(plain("x" * 12_345_678)).splitlines()
    assert f"`{mark}`" in guide
    texts = plain(["x" * MAX_TEXT, "more"])
    assert isinstance(texts, list) and cast("list[JSON]", texts)[1:] == ["\n(cut: 4 characters)"]
    assert plain([["x"]] * (MAX_MEMBERS + 1)) == "(a list that cannot be shown: OverflowError)"


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.dates(),
    lambda inner: st.lists(inner) | st.dictionaries(st.integers() | st.text(), inner) | st.sets(st.integers()),
    max_leaves=10,
)


@given(value=anything)
def test_every_plain_value_can_be_written(value: object):
    json.dumps(plain(value), allow_nan=False).encode()


def test_two_tools_of_one_name_are_refused():
    with pytest.raises(ValidationError, match="two tools are called 'look'"):
        Toolbox([FakeTool(), FakeTool()])


def test_a_schema_that_is_none_is_refused():
    with pytest.raises(ValidationError, match="is not JSON Schema"):
        Toolbox([FakeTool(schema={"type": "nonsense"})])


@pytest.mark.parametrize("args", [None, [], "text", {"to": 7}, {"body": "x"}, {"to": "\ud800"}, {"to": float("nan")}])
def test_arguments_that_do_not_fit_are_refused(args: object):
    with pytest.raises(ValidationError):
        Toolbox([FakeTool(schema=MAIL)]).prepare("look", args)


def test_arguments_are_prepared_in_one_form():
    box = Toolbox([FakeTool(schema=MAIL)])
    assert box.prepare("look", {"to": "e\u0301"}) == {"to": "\u00e9"}
    assert (list(box), len(box)) == (["look"], 1)


async def test_a_fake_clock_wakes_sleepers_in_the_order_of_their_moments():
    clock, woken = FakeClock(100), list[str]()

    async def sleeper(name: str, moment: float) -> None:
        await clock.sleep_until(moment)
        woken.append(name)

    async with asyncio.TaskGroup() as group:
        for name, moment in (("late", 130), ("early", 110), ("early too", 110), ("past", 90)):
            group.create_task(sleeper(name, moment))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert (woken, clock.waiting) == (["past"], (110, 110, 130))
        clock.advance(9)
        await asyncio.sleep(0)
        assert woken == ["past"]
        clock.advance(21)
    assert woken == ["past", "early", "early too", "late"]
    assert (clock.now(), clock.waiting) == (130, ())


async def test_a_sleeper_that_leaves_is_forgotten():
    clock = FakeClock()
    sleeper = asyncio.create_task(clock.sleep_until(clock.now() + 1))
    await asyncio.sleep(0)
    sleeper.cancel()
    clock.advance(1)
    with pytest.raises(asyncio.CancelledError):
        await sleeper
    assert clock.waiting == ()


def test_time_does_not_go_back():
    with pytest.raises(ValueError, match="forward"):
        FakeClock().advance(-1)


async def test_the_real_clock_sleeps_until_its_moment():
    clock = SystemClock()
    moment = clock.now() + 0.001
    await clock.sleep_until(moment)
    assert clock.now() >= moment


def test_real_ids_differ_and_say_what_they_name():
    ids = RandomIds()
    assert ids.run_id() != ids.run_id()
    assert ids.run_id().startswith("run_") and ids.thread_id().startswith("thr_")


def test_a_result_is_bounded_as_a_whole():
    kept = plain(["x" * 1_000_000] * 12)
    assert sum(len(text) for text in kept) < MAX_TEXT + 1_000 and kept[11].endswith("(cut: 1000000 characters)")


def test_structs_of_other_makers_are_read_by_their_fields():
    class Point(msgspec.Struct):
        x: int
        y: float

    assert plain([Point(1, math.inf)]) == [{"x": 1, "y": "inf"}]


async def test_a_tools_own_time_out_is_not_told_as_ours(lab: Lab):
    async def body(context: ToolContext, args: dict[str, JSON]) -> object:
        raise TimeoutError("the database")

    engine = await lab.engine(call("look"), reply("Sorry."), tools=[FakeTool(body=body, timeout=60)])
    run = await answer(engine)
    assert run.actions[0].outcome is not None and run.actions[0].outcome.message == "the tool failed (TimeoutError)"


def test_a_schema_makes_nobody_ask_another_address():
    schema = {"type": "object", "properties": {"a": {"$ref": "http://127.0.0.1:9/schema.json"}}}
    with pytest.raises(ValidationError, match=r"not fetched; put what it refers to under \$defs"):
        Toolbox([FakeTool("look", schema=schema)])


def test_of_a_union_the_member_that_was_meant_is_explained():
    schema = {"anyOf": [{"type": "integer"}, {"type": "object", "required": ["name"]}]}
    tool = FakeTool("look", schema={"type": "object", "properties": {"who": schema}})
    with pytest.raises(ValidationError, match='who: "name" is a required property'):
        Toolbox([tool]).prepare("look", {"who": {}})


def test_a_tool_that_acts_without_a_question_is_named_when_it_is_registered(caplog: pytest.LogCaptureFixture):
    Toolbox(
        [
            FakeTool("post", side_effect=True, default_approval="not_required"),
            FakeTool("send", side_effect=True),
            FakeTool("look"),
        ]
    )
    (warning,) = caplog.messages
    assert warning == "tool post has a side effect and asks for no approval, unless a rule asks for it"
