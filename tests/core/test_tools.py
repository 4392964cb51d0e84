"""What model and policy may know of a tool."""

from typing import Any

import pytest

from pollux.core.ids import ActionId, RunId, ThreadId, UserId
from pollux.core.tools import Approval, Repeat, ToolContext, ToolSpec

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
    context = ToolContext(UserId("ada"), "", RunId("run_1"), ActionId("act_1_1.0"), ThreadId("thr_1"))

    assert context.key == "act_1_1.0"
