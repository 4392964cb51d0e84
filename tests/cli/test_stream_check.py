"""A captured output against V1 to V5: what keeps them passes, and each way of breaking one is named, with its line."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pollux.cli.doctor.stream import Format, Violation, check

CAPTURED = Path(__file__).parent.parent.parent.parent / "shared/samples/captured"

USAGE = {"input": 1, "output": 2, "total": 3}
STAMP = {"timestamp": "2026-11-15T05:57:01.616Z"}
KEYLESS = {"type": "error", "error": "GEMINI_API_KEY is not set.", "code": "missing_credential"}
INIT = {"type": "init", **STAMP, "session_id": "s", "model": "gemini-3.8-flash"}
DONE = {"type": "result", **STAMP, "status": "success"}


def said(text: str) -> dict[str, Any]:
    return {"type": "assistant", "message": {"content": [{"type": "text", "text": text}]}}


def called(id_: str, name: str = "add") -> dict[str, Any]:
    return {"type": "tool_code", "id": id_, "name": name, "args": {}}


def answered(id_: str, name: str = "add") -> dict[str, Any]:
    return {"type": "tool_result", "id": id_, "name": name, "result": {"error": "no"}}


def ended(text: str, **more: Any) -> dict[str, Any]:
    whole = {"result": text, "status": "completed", "runId": "r", "sessionId": "s", "usage": USAGE}
    return {"type": "result", **whole, **more}


def failed(code: str = "timeout") -> dict[str, Any]:
    return {"type": "error", "error": "too late", "code": code, "runId": "r"}


def violations(*lines: dict[str, Any] | str, format_: Format = "stream-json") -> list[Violation]:
    raw = [(line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines]
    count, found = check([line.encode() for line in raw], format_)
    assert count == len(lines)
    return found


def named(found: list[Violation]) -> list[tuple[str, int]]:
    return [(violation.invariant, violation.line) for violation in found]


@pytest.mark.parametrize(
    "lines",
    [
        [said("Hel"), said("lo"), ended("Hello")],
        [ended("")],
        [called("a"), answered("a"), said("Done."), ended("Done.")],
        [called("a"), called("b"), answered("b"), answered("a"), ended("")],
        [said("Hm"), failed()],
        [KEYLESS],
        [said("\ud83d\ude00 \u2028"), ended("\ud83d\ude00 \u2028")],
    ],
)
def test_an_output_that_keeps_its_word_passes(lines: list[dict[str, Any]]):
    assert violations(*lines) == []


BROKEN: list[tuple[list[Any], tuple[str, int]]] = [
    ([{"error": "no key"}], ("V1", 1)),
    ([{"type": "error", "error": "no key"}], ("V1", 1)),
    ([said("Hm"), KEYLESS], ("V1", 2)),
    ([], ("V2", 1)),
    ([said("Hello")], ("V2", 1)),
    ([said("Hello"), ended("Hell")], ("V2", 2)),
    ([said("Hello"), ended("")], ("V2", 2)),
    ([said(""), ended("")], ("V2", 1)),
    ([{"type": "assistant", "message": {"content": "Hello"}}, ended("")], ("V2", 1)),
    ([{"type": "assistant", "message": {"content": []}}, ended("")], ("V2", 1)),
    ([{"type": "thought", "text": "Hm"}, ended("")], ("V2", 1)),
    ([{"text": "Hello"}, ended("")], ("V2", 1)),
    ([{"type": ["assistant"]}, ended("")], ("V2", 1)),
    ([{"type": "result", "result": ""}], ("V2", 1)),
    ([ended("", status="failed")], ("V2", 1)),
    ([ended(""), said("more")], ("V2", 2)),
    ([ended(""), ended("")], ("V2", 2)),
    ([failed(), ended("")], ("V2", 2)),
    (["Available models:", ended("")], ("V4", 1)),
    (["", ended("")], ("V4", 1)),
    (["[]", ended("")], ("V4", 1)),
    (['{"type": NaN}', ended("")], ("V4", 1)),
    (["[" * 100_000, ended("")], ("V4", 1)),
    (['{"type":"assis', ended("")], ("V4", 1)),
    ([called("a"), ended("")], ("V5", 1)),
    ([called("a"), failed()], ("V5", 1)),
    ([answered("a"), ended("")], ("V5", 1)),
    ([answered("a"), called("a"), ended("")], ("V5", 1)),
    ([called("a"), answered("a"), answered("a"), ended("")], ("V5", 3)),
    ([called("a"), called("a"), answered("a"), ended("")], ("V5", 2)),
    ([called("a", "add"), answered("a", "sub"), ended("")], ("V5", 2)),
    ([{"type": "tool_code", "name": "add", "args": {}}, ended("")], ("V5", 1)),
    ([called("a"), {"type": "tool_result", "id": "a", "name": "add"}, ended("")], ("V5", 2)),
]


@pytest.mark.parametrize(("lines", "expected"), BROKEN)
def test_each_way_to_break_it_is_named_with_its_line(lines: list[dict[str, Any] | str], expected: tuple[str, int]):
    assert named(violations(*lines))[0] == expected


def test_every_flaw_of_an_output_is_told_in_order():
    found = violations(said(""), "Traceback (most recent call last):", called("a"), said("x"), ended("y"), "bye")
    assert named(found) == [("V2", 1), ("V4", 2), ("V5", 3), ("V2", 5), ("V4", 6)]


def test_a_reason_says_where_the_text_differs_and_quotes_none_of_it():
    told = " ".join(violation.why for violation in violations(said("my canary"), ended("my parrot"), "canary"))
    assert "differs from character 4 on" in told
    assert "canary" not in told and "parrot" not in told


FORMATS: tuple[Format, ...] = ("stream-json", "gemini-stream-json", "json", "text")
WORDS = st.sampled_from(
    ["type", "id", "name", "message", "content", "text", "result", "error", "code", "tool_id", "severity", "assistant",
     "tool_code", "tool_use", "tool_result", "init", "missing_credential", ""]
)  # fmt: skip
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=4),
    max_leaves=8,
)


@given(
    st.lists(VALUES.map(lambda value: json.dumps(value).encode()) | st.binary(max_size=20)), st.sampled_from(FORMATS)
)
def test_whatever_was_captured_is_judged_and_never_an_exception(lines: list[bytes], format_: Format):
    count, found = check(lines, format_)
    assert count == len(lines)
    assert all(1 <= violation.line <= max(count, 1) and violation.why for violation in found)


def test_bytes_that_are_no_text_are_no_line():
    assert named(check([b"\xff\xfe\n"], "stream-json")[1]) == [("V4", 1), ("V2", 1)]


GEMINI: list[tuple[list[Any], list[tuple[str, int]]]] = [
    ([INIT, DONE], []),
    ([KEYLESS], []),
    ([INIT, {"type": "error", **STAMP, "severity": "warning", "message": "slow"}, DONE], []),
    ([DONE], [("V2", 1)]),
    ([INIT], [("V2", 1)]),
    ([INIT, said("Hello"), DONE], [("V2", 2)]),
    ([INIT, DONE, DONE], [("V2", 3)]),
    ([INIT, {"type": "tool_use", **STAMP, "tool_name": "a", "tool_id": "1", "parameters": {}}, DONE], [("V5", 2)]),
    ([INIT, {"type": "tool_result", **STAMP, "tool_id": "1", "status": "success"}, DONE], [("V5", 2)]),
]


@pytest.mark.parametrize(("lines", "expected"), GEMINI)
def test_gemini_clis_dialect_has_rules_of_its_own(lines: list[dict[str, Any]], expected: list[tuple[str, int]]):
    assert named(violations(*lines, format_="gemini-stream-json")) == expected


def test_what_gemini_cli_wrote_keeps_them():
    samples = sorted(CAPTURED.glob("*.stream-json.jsonl"))
    if not samples:
        pytest.skip(f"no captured streams in {CAPTURED}")
    for sample in samples:
        with sample.open("rb") as file:
            assert check(file, "gemini-stream-json")[1] == [], sample.name


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([ended("Hello", toolCalls=[])], []),
        ([KEYLESS], []),
        ([ended("Hello")], [("V2", 1)]),
        ([ended("Hello", toolCalls=[]), failed()], [("V2", 2)]),
        ([], [("V2", 1)]),
    ],
)
def test_json_is_one_object(lines: list[dict[str, Any]], expected: list[tuple[str, int]]):
    assert named(violations(*lines, format_="json")) == expected


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["Hello", "", '{"a": 1}', "NaN"], []),
        ([], []),
        ([KEYLESS], []),
        (["Hello", failed()], [("V3", 2)]),
        (["Hello", called("a")], [("V3", 2)]),
        ([said("Hello")], [("V3", 1)]),
    ],
)
def test_text_is_the_text_alone(lines: list[dict[str, Any] | str], expected: list[tuple[str, int]]):
    assert named(violations(*lines, format_="text")) == expected
