"""What model and policy may know of a tool."""

from collections.abc import Collection
from dataclasses import replace
from typing import Any

import pytest

from pollux.core.ids import ActionId, RunId, ThreadId, UserId
from pollux.core.messages import JSON
from pollux.core.tools import Answered, Approval, Repeat, ToolContext, ToolSpec

SCHEMA: dict[str, Any] = {"type": "object", "properties": {"to": {"type": "string"}}}

DEFAULTS: list[tuple[bool, Approval, Repeat]] = [
    (False, "not_required", "repeatable"),
    (True, "required", "once"),
]


@pytest.mark.parametrize(("side_effect", "approval", "repeat"), DEFAULTS)
def test_a_tool_that_says_nothing_is_treated_with_care(side_effect: bool, approval: Approval, repeat: Repeat):
    spec = ToolSpec("mail", "", SCHEMA, side_effect=side_effect)

    assert (spec.default_approval, spec.repeat) == (approval, repeat)


def test_what_a_tool_says_of_itself_is_kept():
    spec = ToolSpec("mail", "", SCHEMA, side_effect=True, default_approval="not_required", repeat="keyed")

    assert (spec.default_approval, spec.repeat) == ("not_required", "keyed")


CONTEXT = ToolContext(UserId("ada"), "", RunId("run_1"), ActionId("act_1_1.0"), ThreadId("thr_1"))


class Heard:
    """A reach that keeps what it was told, and has everything rejected."""

    def __init__(self) -> None:
        self.heard: list[Any] = []

    async def note(self, value: JSON) -> None:
        self.heard.append(value)

    def tell(self, text: str, *, stream: str = "stdout") -> None:
        self.heard.append((text, stream))

    async def ask(self, tool: str, args: dict[str, JSON], capabilities: Collection[str]) -> Answered:
        self.heard.append((tool, args))
        return Answered("rejected", code="rejected")

    async def observe(self, tool: str, title: str, status: str) -> None:
        self.heard.append(tool)


CHANGES: list[tuple[dict[str, Any], bool]] = [
    ({}, False),
    ({"description": "other words"}, False),
    ({"input_schema": {"properties": {"to": {"type": "string"}}, "type": "object"}}, False),
    ({"input_schema": {"type": "object"}}, True),
    ({"name": "post"}, True),
    ({"side_effect": True}, True),
    ({"where": "page"}, True),
]


@pytest.mark.parametrize(("change", "differs"), CHANGES)
def test_the_hash_changes_with_what_a_call_would_mean(change: dict[str, Any], differs: bool):
    plain: dict[str, Any] = {"name": "mail", "description": "", "input_schema": SCHEMA}

    assert (ToolSpec(**plain).schema_hash != ToolSpec(**(plain | change)).schema_hash) == differs


def test_a_schema_may_hold_numbers_that_have_no_canonical_form():
    wide = ToolSpec("mail", "", {"maximum": 2**63 - 1})

    assert wide.schema_hash != ToolSpec("mail", "", {"maximum": 2**63}).schema_hash


def test_the_key_of_an_action_is_the_same_for_every_attempt():
    assert CONTEXT.key == "act_1_1.0"


async def test_what_a_tool_does_beside_returning_goes_through_its_reach():
    reach = Heard()
    context = replace(CONTEXT, reach=reach)

    await context.note({"draft": 1})
    context.tell("half way", stream="stderr")
    assert await context.ask("send_mail", {"to": "bob"}) == Answered("rejected", code="rejected")
    await context.observe("agent:read", "notes.txt", "completed")

    assert reach.heard == [{"draft": 1}, ("half way", "stderr"), ("send_mail", {"to": "bob"}), "agent:read"]


async def test_a_tool_that_is_called_without_an_action_may_talk_and_nothing_else():
    CONTEXT.tell("half way")
    for refused in (
        lambda: CONTEXT.note(1),
        lambda: CONTEXT.ask("send_mail", {}),
        lambda: CONTEXT.reach.objection("send_mail", {}),
        lambda: CONTEXT.observe("agent:read", "", ""),
    ):
        with pytest.raises(RuntimeError, match="there is no action here"):
            await refused()
