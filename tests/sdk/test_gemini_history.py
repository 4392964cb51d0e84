"""Recorded messages become a conversation that the API accepts: every call answered, once, in the next content."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.sdk.recorded import HEAD, SESSIONS, SIGNATURE, call, entry, gemini, message, response, user, written

from pollux.emulator.gemini.request import Target, read_ask
from pollux.sdk.gemini_cli.history import INTERRUPTED, message_records_to_history
from pollux.sdk.gemini_cli.sessions import MessageRecord, load_session

PICTURE = {"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo="}}
ASKED = {"role": "user", "parts": [{"text": "q"}]}


def history_of(folder: Path, *said: dict[str, Any]) -> list[dict[str, Any]]:
    """The history of a session in which this was recorded, which the API would accept with one more prompt."""
    history = message_records_to_history(load_session(written(folder, HEAD, *said)).records)
    accept(history)
    return history


def accept(history: list[dict[str, Any]]) -> None:
    body = {"contents": [*history, {"role": "user", "parts": [{"text": "go on"}]}]}
    read_ask(json.dumps(body).encode(), Target("v1beta", "gemini-3.8-flash", "generateContent"))


@pytest.mark.parametrize("path", SESSIONS, ids=lambda path: path.name)
def test_a_real_session_has_a_history_that_the_api_accepts(path: Path):
    history = message_records_to_history(load_session(path).records)
    accept(history)
    assert [content["role"] for content in history[:2]] == ["user", "model"]


def test_what_a_program_put_in_and_what_it_told_its_user_is_not_conversation(tmp_path: Path):
    context = user("s", "<session_context>\nToday is …")
    commands = [user("c1", "/help"), user("c2", " ?"), user("c3", "  "), message("c4", "user", [])]
    notes = [message("i", "info", "compressed"), message("w", "warning", "x"), message("e", "error", "y")]
    asked = message("u", "user", [{"text": "q"}, {"text": "<hook_context>x</hook_context>"}])
    assert history_of(tmp_path, context, *commands, *notes, asked, gemini("g", "a")) == [
        ASKED,
        {"role": "model", "parts": [{"text": "a"}]},
    ]


def test_thoughts_are_dropped_and_a_turn_of_nothing_else_with_them(tmp_path: Path):
    thought = {"text": "hidden", "thought": True}
    said = [gemini("g1", [thought]), gemini("g2", [thought, {"text": "seen"}], thoughts=[{"subject": "hidden"}])]
    assert history_of(tmp_path, user("u", "q"), *said)[1:] == [{"role": "model", "parts": [{"text": "seen"}]}]


def test_contents_of_one_role_that_follow_one_another_are_one(tmp_path: Path):
    history = history_of(tmp_path, user("u1", "a"), user("u2", "b"), gemini("g1", "c"), gemini("g2", "d"))
    assert [(content["role"], len(content["parts"])) for content in history] == [("user", 2), ("model", 2)]


def test_a_picture_without_words_is_said_too(tmp_path: Path):
    assert history_of(tmp_path, message("u", "user", [PICTURE])) == [{"role": "user", "parts": [PICTURE]}]


def test_a_result_that_stands_twice_is_told_once(tmp_path: Path):
    said = [
        gemini("g1", "", toolCalls=[entry("c1", result=[response("c1", output="x")], at="here")]),
        message("r1", "user", [response("c1", output="x")]),
        gemini("g2", "done"),
    ]
    assert history_of(tmp_path, user("u", "q"), *said) == [
        ASKED,
        {"role": "model", "parts": [call("c1", at="here")]},
        {"role": "user", "parts": [response("c1", output="x")]},
        {"role": "model", "parts": [{"text": "done"}]},
    ]


@pytest.mark.parametrize("where", ["beside", "after", "beside in words", "in a later record"])
def test_a_result_is_found_wherever_it_stands(tmp_path: Path, where: str):
    result = [response("c1", output="x")]
    said = {
        "beside": [gemini("g1", [call("c1")], toolCalls=[entry("c1", result=result)])],
        "after": [gemini("g1", [call("c1")]), message("i", "info", "…"), message("r1", "user", result)],
        "beside in words": [gemini("g1", "", toolCalls=[entry("c1", result="x")])],
        "in a later record": [gemini("g1", [call("c1")]), gemini("g2", "", toolCalls=[entry("c1", result=result)])],
    }[where]
    assert history_of(tmp_path, user("u", "q"), *said) == [
        ASKED,
        {"role": "model", "parts": [call("c1")]},
        {"role": "user", "parts": result},
    ]


def test_the_calls_of_a_turn_are_answered_together_in_their_order(tmp_path: Path):
    everything = [response("b", output=2), response("a", output=1)]
    both = gemini("g1", "look", toolCalls=[entry("a", result=everything), entry("b", result=everything)])
    assert history_of(tmp_path, user("u", "q"), both)[1:] == [
        {"role": "model", "parts": [{"text": "look"}, call("a"), call("b")]},
        {"role": "user", "parts": [response("a", output=1), response("b", output=2)]},
    ]


def test_a_call_without_a_result_was_interrupted(tmp_path: Path):
    said = [gemini("g1", "", toolCalls=[entry("a", result=[response("a", output=1)]), entry("b")]), user("u2", "so?")]
    history = history_of(tmp_path, user("u", "q"), *said)
    assert history[2]["parts"] == [response("a", output=1), response("b", error=INTERRUPTED)]
    assert history[3] == {"role": "user", "parts": [{"text": "so?"}]}


def test_a_response_that_nobody_asked_for_is_dropped(tmp_path: Path):
    orphan = message("r", "user", [response("gone", output="x"), {"text": "and this"}])
    assert history_of(tmp_path, user("u", "q"), gemini("g", "a"), orphan)[2:] == [
        {"role": "user", "parts": [{"text": "and this"}]}
    ]


def test_signatures_stay_where_they_were(tmp_path: Path):
    signed = call("c1") | {"thoughtSignature": SIGNATURE}
    said = [{"text": "", "thoughtSignature": SIGNATURE}, signed, call("c2")]
    history = history_of(tmp_path, user("u", "q"), gemini("g", said, toolCalls=[entry("c1"), entry("c2")]))
    assert history[1]["parts"] == said


def test_calls_without_ids_are_paired_by_name_and_order(tmp_path: Path):
    made = gemini("g1", [call(None, n=1), call(None, n=1), call(None, "other")])
    answers = [response("other-1", "other", output=3), response("look-1", output=1), response("look-2", output=2)]
    history = history_of(tmp_path, user("u", "q"), made, message("r", "user", answers))
    assert history[2]["parts"] == [
        response(None, output=1),
        response(None, output=2),
        response(None, "other", output=3),
    ]


def test_a_call_that_was_given_an_id_only_when_recorded_is_the_same_call(tmp_path: Path):
    recorded = entry("look-1", result=[response("look-1", output=1)], n=1)
    history = history_of(tmp_path, user("u", "q"), gemini("g1", [call(None, n=1)], toolCalls=[recorded]))
    assert [content["parts"] for content in history[1:]] == [[call(None, n=1)], [response(None, output=1)]]


def test_an_id_that_is_used_again_for_another_call_is_another_call(tmp_path: Path):
    turns = [
        step
        for n in (1, 2)
        for step in (gemini(f"g{n}", [call("call_0", n=n)]), message(f"r{n}", "user", [response("call_0", output=n)]))
    ]
    history = history_of(tmp_path, user("u", "q"), *turns)
    assert [content["parts"][0] for content in history[1:]] == [
        call("call_0", n=1),
        response("call_0", output=1),
        call("call_0", n=2),
        response("call_0", output=2),
    ]


def test_a_picture_that_came_with_a_result_is_shown_once(tmp_path: Path):
    result = [response("c1", output="see"), PICTURE]
    made = gemini("g1", "", toolCalls=[entry("c1", result=result)])
    history = history_of(tmp_path, user("u", "q"), made, message("r", "user", result))
    assert history[2:] == [{"role": "user", "parts": result}]


def test_a_conversation_whose_beginning_is_lost_says_so(tmp_path: Path):
    history = history_of(tmp_path, user("u", "/init"), gemini("g1", [call("c1")]))
    assert history[0] == {"role": "user", "parts": [{"text": "[The beginning of this conversation is not kept.]"}]}
    assert [content["role"] for content in history] == ["user", "model", "user"]


IDS = st.sampled_from([None, "a", "b", 7, ""])
NAMES = st.sampled_from(["look", "other", "", None])
JUNK: st.SearchStrategy[Any] = st.sampled_from([None, 7, "x", "", [], {}, [{}], {"text": 7}, {"functionCall": None}])


def shaped(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.fixed_dictionaries(fields)


CALLS = shaped(id=IDS, name=NAMES, args=st.sampled_from([{}, {"n": 1}, None, 7]))
RESPONSES = shaped(id=IDS, name=NAMES, response=st.sampled_from([{"output": 1}, "x", None]), parts=JUNK)
PARTS = st.one_of(
    JUNK,
    st.sampled_from([PICTURE, {"inlineData": {"mimeType": "image/png", "data": "!"}}, {"inlineData": {"data": ""}}]),
    st.sampled_from([{"fileData": {"fileUri": "files/1"}}, {"fileData": {"fileUri": "files/1", "mimeType": "a/b"}}]),
    shaped(text=st.sampled_from(["", "hi", "/x"]), thoughtSignature=st.sampled_from([SIGNATURE, "!", None])),
    shaped(functionCall=CALLS, thoughtSignature=st.sampled_from([SIGNATURE, "!", 7]), unknownField=JUNK),
    shaped(functionResponse=RESPONSES),
)
ENTRIES = JUNK | shaped(id=IDS, name=NAMES, args=JUNK, result=JUNK | st.lists(PARTS, max_size=3))
RECORDED = st.builds(
    MessageRecord,
    id=st.just("m"),
    type=st.sampled_from(["user", "gemini", "info"]),
    content=st.sampled_from(["", "hi"]) | st.lists(PARTS, max_size=4),
    tool_calls=st.lists(ENTRIES, max_size=3).map(tuple),
)


@given(st.lists(RECORDED, max_size=6))
def test_whatever_was_recorded_makes_a_history_that_the_api_accepts(records: list[MessageRecord]):
    accept(message_records_to_history(records))


@pytest.mark.slow
def test_a_very_long_conversation_is_put_together():
    recorded = (entry("c", result="x"),)
    records = [MessageRecord(f"u{n}", "user", "hi") for n in range(30_000)]
    records += [MessageRecord(f"g{n}", "gemini", "", tool_calls=recorded) for n in range(30_000)]
    # One call told over and over is one call.
    assert len(message_records_to_history(records)) == 3
