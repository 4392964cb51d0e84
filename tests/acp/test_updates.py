"""Updates in words of ours, whatever an agent leaves out, nulls or invents."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pollux.acp import AgentFailed, AgentUsage, ContextUsed, Diff, Limits, TextContent, ToolCall, ToolCallSeen
from pollux.acp.client import Decision, OptionKind, chosen
from pollux.acp.toolcalls import ToolCalls
from pollux.acp.updates import OtherUpdate, TextChunk, ToolCallEnded, ToolCallStarted, shallow, simple_update
from pollux.acp.usage import usage_of

GOLDEN = Path(__file__).parents[2].with_name("shared") / "samples/acp-golden"
EXAMPLES = "agent_message_chunk agent_thought_chunk plan tool_call tool_call_update".split()
KINDS = [*EXAMPLES, "usage_update", "current_mode_update", "", "new"]
FIELDS = (
    "toolCallId title kind status content locations rawInput rawOutput entries used size cost currentModeId".split()
)
ODD: list[Any] = [
    None, True, -1, 0, 3, 1.5, 2**70, "", "x", "completed", "y" * 2000, [], [1, None], {}, {"a": [{"b": {}}]},
    {"type": "text"}, {"type": "text", "text": 3}, {"type": "resource", "resource": []}, {"amount": "much"},
    [{"type": "diff"}, {"type": "content", "content": []}, {"type": "terminal", "terminalId": 3}, {"path": 1}],
]  # fmt: skip


@given(st.lists(st.tuples(st.sampled_from(KINDS), st.dictionaries(st.sampled_from(FIELDS), st.sampled_from(ODD)))))
def test_no_update_is_an_exception(updates: list[tuple[str, dict[str, Any]]]):
    calls = ToolCalls(Limits())
    for kind, fields in updates:
        update = {"sessionUpdate": kind, **fields}
        simple_update(update)
        calls.told(update, 10)
        calls.asked(update, 10)


@pytest.mark.parametrize("kind", EXAMPLES)
def test_the_protocol_s_own_examples_are_understood(kind: str):
    paths = sorted(GOLDEN.glob(f"session_update_{kind}*.json"))
    if not paths:
        pytest.skip(f"{GOLDEN} is not there")
    for path in paths:
        told = json.loads(path.read_text())
        assert told["sessionUpdate"].startswith(kind)
        calls = ToolCalls(Limits())
        update = calls.told(told, 100) if kind.startswith("tool") else simple_update(told)
        assert not isinstance(update, OtherUpdate)


def test_an_update_of_a_call_says_only_what_is_new():
    calls = ToolCalls(Limits())
    calls.told({"toolCallId": "c", "title": "Edit", "kind": "edit", "rawInput": {"a": 1}}, 10)
    diff = {"type": "diff", "path": "/a", "oldText": "x", "newText": "y"}
    calls.told({"toolCallId": "c", "title": None, "status": None, "content": [diff]}, 10)
    call = calls.asked({"toolCallId": "c", "locations": [{"path": "/a"}]}, 10)
    assert call == ToolCall(
        id="c",
        title="Edit",
        kind="edit",
        raw_input={"a": 1},
        locations=("/a",),
        content=(Diff("/a", "x", "y"),),
        asked=True,
    )
    calls.told({"toolCallId": "c", "status": "completed"}, 10)
    assert calls.seen == (ToolCallSeen("c", "Edit", "edit", "completed", True),)


def test_a_call_is_started_once_and_ended_once():
    calls = ToolCalls(Limits())
    steps = [calls.told({"toolCallId": "c", "status": status}, 1) for status in ("pending", None, "failed", "failed")]
    assert [type(step).__name__ for step in steps] == [
        "ToolCallStarted", "ToolCallChanged", "ToolCallEnded", "ToolCallChanged",
    ]  # fmt: skip
    assert isinstance(calls.told({"toolCallId": "d", "status": "completed"}, 1), ToolCallEnded)


def test_a_call_asked_about_before_it_is_told_of_was_asked():
    calls = ToolCalls(Limits())
    calls.asked({"toolCallId": "c", "title": "rm"}, 1)
    calls.told({"toolCallId": "c", "status": "completed"}, 1)
    assert calls.seen == (ToolCallSeen("c", "rm", "other", "completed", True),)


def test_of_calls_at_work_only_so_much_is_kept_in_full():
    calls = ToolCalls(Limits(line_bytes=100))
    for number in range(10):
        assert isinstance(calls.told({"toolCallId": str(number), "title": "t", "rawInput": "x"}, 60), ToolCallStarted)
    first, last = calls.asked({"toolCallId": "0"}, 1), calls.asked({"toolCallId": "9"}, 1)
    assert first and last and (first.title, first.raw_input, last.raw_input) == ("t", None, "x")


def test_more_calls_than_anybody_makes_are_a_flood():
    calls = ToolCalls(Limits(tool_calls=3))
    for number in range(3):
        calls.told({"toolCallId": str(number)}, 1)
    with pytest.raises(AgentFailed, match="more than 3 tool calls"):
        calls.told({"toolCallId": "3"}, 1)


def test_what_lies_too_deep_is_left_out():
    assert shallow({"a": [{"b": 1}], "c": 2}, 2) == {"a": ["[too deep]"], "c": 2}


def test_text_of_a_resource_is_text_and_an_image_is_none():
    chunk: dict[str, Any] = {"sessionUpdate": "agent_message_chunk"}
    assert simple_update(chunk | {"content": {"type": "resource", "resource": {"text": "x"}}}) == TextChunk("x")
    assert simple_update(chunk | {"content": {"type": "image", "data": ""}}) == OtherUpdate("agent_message_chunk")
    call = ToolCalls(Limits()).asked({"toolCallId": "c", "content": [{"type": "content", "content": 3}]}, 1)
    assert call and call.content == (TextContent(""),)


ALL: dict[OptionKind, str] = {"allow_always": "AA", "allow_once": "A", "reject_once": "R", "reject_always": "RR"}


@pytest.mark.parametrize(
    ("decision", "missing", "choice"),
    [
        ("allow_once", "", "A"),
        ("allow_always", "", "AA"),
        ("reject_once", "", "R"),
        ("cancelled", "", None),
        ("allow_always", "allow_always", "A"),
        # To allow for ever is more than was allowed.
        ("allow_once", "allow_once", "R"),
        ("reject_once", "reject_once", "RR"),
        ("allow_once", "allow_once reject_once reject_always", None),
        ("reject_once", "reject_once reject_always", None),
    ],
)
def test_an_option_is_chosen_by_its_kind_and_never_allows_more(decision: Decision, missing: str, choice: str | None):
    assert chosen(decision, {kind: id for kind, id in ALL.items() if kind not in missing.split()}) == choice


@pytest.mark.parametrize(
    ("result", "context", "usage"),
    [
        ({"_meta": {"quota": {"token_count": {"input_tokens": 11, "output_tokens": 6}}}}, None, (11, 6, None, None)),
        ({"usage": {"inputTokens": 3, "outputTokens": 4, "totalTokens": 7}}, None, (3, 4, None, None)),
        ({}, ContextUsed(15, 258400), (None, None, 15, 258400)),
        ({"usage": {"inputTokens": -1, "outputTokens": "4"}, "_meta": []}, None, None),
        ({}, None, None),
    ],
    ids=["gemini", "claude and opencode", "codex", "nonsense", "qwen"],
)
def test_usage_is_read_wherever_an_agent_tells_it(result: Any, context: ContextUsed | None, usage: Any):
    told = usage_of(result, context)
    if usage is None:
        assert told is None
    else:
        keys = ("input_tokens", "output_tokens", "context_used", "context_size")
        assert told == AgentUsage(**dict(zip(keys, usage, strict=True)))
