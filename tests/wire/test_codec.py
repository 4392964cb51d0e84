"""The stored form of events: facts stay, content can go, and other versions can be read."""

import json
from dataclasses import fields, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pollux.core.errors import NotFound, StoreError, TooNew, ValidationError
from pollux.core.events import ActionCompleted, ActionFailed, Event, RunClaimed, RunStarted, ToolObserved
from pollux.core.ids import ActionId
from pollux.core.messages import Message, ToolCall, ToolResult, user
from pollux.core.thread import MessagesImported, ThreadEvent
from pollux.testing.store_lab import EVERY_EVENT, EVERY_THREAD_EVENT
from pollux.wire.codec import CONTENT, VERSION, Codec, Erased, Stored, decode, decode_message, references

CODEC = Codec(b"key")
EVERY: tuple[Event | ThreadEvent, ...] = (*EVERY_EVENT, *EVERY_THREAD_EVENT)
STARTED = next(event for event in EVERY_EVENT if isinstance(event, RunStarted))
texts = st.text(st.characters(exclude_categories=["Cs"]))
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=10,
)


@pytest.mark.parametrize("event", EVERY, ids=lambda event: type(event).__name__)
def test_every_event_comes_back_as_it_was(event: Event | ThreadEvent):
    assert _decoded(CODEC.encode("thr_1", event)) == event


@pytest.mark.parametrize("event", EVERY, ids=lambda event: type(event).__name__)
def test_facts_hold_nothing_of_the_content(event: Event | ThreadEvent):
    stored = CODEC.encode("thr_1", event)
    facts = json.loads(stored.facts)
    for name in CONTENT.get(stored.kind, ()):
        assert _is_reference_or_empty(facts[name])
    assert set(references(stored.facts)) == {digest for digest, _ in stored.contents}


def test_the_table_of_content_names_fields_that_exist():
    by_name = {type(event).__name__: {field.name for field in fields(event)} for event in EVERY}
    for kind, names in CONTENT.items():
        assert set(names) <= by_name[kind]


def test_what_an_agent_did_unasked_can_be_erased_and_that_it_did_something_cannot():
    observed = next(event for event in EVERY_EVENT if isinstance(event, ToolObserved))
    facts = json.loads(CODEC.encode("thr_1", observed).facts)
    assert observed.title not in str(facts)
    assert (facts["tool"], facts["status"]) == (observed.tool, observed.status)


@given(values)
def test_any_result_comes_back_as_it_was(result: Any):
    event = ActionCompleted(epoch=1, action_id=ActionId("act_1"), attempt=1, result=result, at=1.0)
    assert _decoded(CODEC.encode("thr_1", event)) == event


@given(texts, values)
def test_any_message_comes_back_as_it_was(text: str, value: Any):
    message = Message("tool", (*user(text).parts, ToolCall("c", "t", {"v": value}), ToolResult("c", "t", value)))
    assert decode_message(CODEC.encode_message("thr_1", message)[1]) == message


def test_a_reply_and_its_message_are_one_content():
    imported = MessagesImported(messages=(user("a"), user("b")), at=1.0)
    stored = CODEC.encode("thr_1", imported)
    assert stored.contents == [CODEC.encode_message("thr_1", message) for message in imported.messages]


def test_a_digest_says_nothing_without_the_key_and_nothing_across_threads():
    event = ActionFailed(epoch=1, action_id=ActionId("act_1"), attempt=1, code="x", message="yes", at=1.0)
    digests = {
        stored.contents[0][0]
        for stored in (
            CODEC.encode("thr_1", event),
            CODEC.encode("thr_2", event),
            Codec(b"another").encode("thr_1", event),
        )
    }
    assert len(digests) == 3


def test_an_event_whose_content_is_gone_says_so():
    stored = CODEC.encode("thr_1", STARTED)
    with pytest.raises(Erased, match="erased") as gone:
        decode(stored.kind, VERSION, stored.facts, {})
    assert isinstance(gone.value, NotFound)


def test_what_a_door_was_asked_for_is_a_fact_that_outlives_the_words():
    facts = json.loads(CODEC.encode("thr_1", STARTED).facts)
    assert facts["request"] == STARTED.request != ""


def test_what_an_older_version_did_not_write_takes_its_default():
    stored = CODEC.encode("thr_1", STARTED)
    facts = json.loads(stored.facts)
    for name in ("on_reject", "interactive", "compressed", "context_tokens", "request"):
        del facts[name]
    del facts["limits"]["compress_at"]
    read = decode(stored.kind, VERSION, json.dumps(facts), dict(stored.contents))
    assert read == replace(
        STARTED,
        on_reject="answer",
        interactive=True,
        compressed=None,
        context_tokens=0,
        request="",
        limits=replace(STARTED.limits, compress_at=None),
    )


def test_what_a_newer_version_added_is_passed_over():
    claimed = RunClaimed(epoch=1, driver="drv_1", at=1.0)
    facts = {**json.loads(CODEC.encode("thr_1", claimed).facts), "host": "elsewhere"}
    assert decode("RunClaimed", VERSION, json.dumps(facts), {}) == claimed


@pytest.mark.parametrize(
    ("kind", "version", "facts"),
    [
        ("RunClaimed", VERSION, "{}"),
        ("RunClaimed", VERSION, "not json"),
        ("RunClaimed", VERSION, '{"epoch": 1, "driver": "d", "at": "noon"}'),
    ],
)
def test_what_is_damaged_is_a_store_error(kind: str, version: int, facts: str):
    with pytest.raises(StoreError, match="expected"):
        decode(kind, version, facts, {})


@pytest.mark.parametrize(("kind", "version"), [("RunClaimed", VERSION + 1), ("RunTeleported", VERSION)])
def test_what_a_newer_version_marked_or_invented_is_too_new(kind: str, version: int):
    with pytest.raises(TooNew, match=f"found '{kind}' of version {version}. Update Pollux"):
        decode(kind, version, '{"epoch": 1, "driver": "d", "at": 1.0}', {})


def test_a_part_of_a_kind_that_is_unknown_here_is_too_new():
    body = b'{"role":"user","parts":[{"type":"text","text":"hi"},{"type":"hologram","depth":3}]}'
    with pytest.raises(TooNew, match="found 'hologram'"):
        decode_message(body)


@pytest.mark.parametrize("result", ["\ud800", {"a": object()}, {1: {2, object()}}])
def test_what_is_not_json_is_refused(result: Any):
    event = ActionCompleted(epoch=1, action_id=ActionId("act_1"), attempt=1, result=result, at=1.0)
    with pytest.raises(ValidationError, match="JSON"):
        CODEC.encode("thr_1", event)


def _decoded(stored: Stored) -> Event | ThreadEvent:
    return decode(stored.kind, VERSION, stored.facts, dict(stored.contents))


def _is_reference_or_empty(value: Any) -> bool:
    if isinstance(value, list):
        return all(_is_reference_or_empty(item) for item in value)  # pyright: ignore[reportUnknownVariableType]
    return value in (None, "") or list(value) == ["$"]
