"""The thread's own stream as a table: every state, every kind of event."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from pollux.core.errors import Misfit
from pollux.core.ids import RunId, ThreadId, UserId
from pollux.core.messages import Blob, Message, ToolResult, user
from pollux.core.run import Compressed
from pollux.core.thread import (
    THREAD_EVENT_TYPES,
    MessagesImported,
    Thread,
    ThreadCompressed,
    ThreadErased,
    ThreadEvent,
    ThreadOpened,
    ThreadRenamed,
    sources_of,
    step_thread,
    title_of,
)

OPENED = ThreadOpened(thread_id=ThreadId("thr_1"), user=UserId("ada"), title="First", at=1.0)
SUMMARY = Compressed(upto=2, summary=user("so far"), tokens=40)
NEW = step_thread(None, OPENED)

STATES: dict[str, Thread | None] = {
    "no thread": None,
    "idle": replace(NEW, head=3),
    "busy": replace(NEW, head=3, open_run=RunId("run_1")),
    "erased": step_thread(NEW, ThreadErased(by="ada", at=2.0)),
}
EVENTS: dict[str, ThreadEvent] = {
    "ThreadOpened": OPENED,
    "MessagesImported": MessagesImported(messages=(user("a"), user("b")), at=9.0),
    "ThreadRenamed": ThreadRenamed(title="Second", at=9.0),
    "ThreadCompressed": ThreadCompressed(run_id=RunId("run_1"), compressed=SUMMARY, at=9.0),
    "ThreadErased": ThreadErased(by="ada", at=9.0),
}
Change = Callable[[Thread], Thread]
RENAMED: Change = lambda thread: replace(thread, title="Second")  # noqa: E731
SHORTENED: Change = lambda thread: replace(thread, compressed=SUMMARY, context_tokens=40)  # noqa: E731

TABLE: dict[tuple[str, str], Change | str] = {
    ("no thread", "MessagesImported"): "misfit",
    ("no thread", "ThreadRenamed"): "misfit",
    ("no thread", "ThreadCompressed"): "misfit",
    ("no thread", "ThreadErased"): "misfit",
    ("idle", "ThreadOpened"): "misfit",
    ("idle", "MessagesImported"): lambda thread: replace(thread, head=5),
    ("idle", "ThreadRenamed"): RENAMED,
    ("idle", "ThreadCompressed"): SHORTENED,
    ("idle", "ThreadErased"): lambda thread: replace(thread, erased=True, title="", compressed=None),
    ("busy", "ThreadOpened"): "misfit",
    ("busy", "MessagesImported"): "thread_busy",
    ("busy", "ThreadRenamed"): RENAMED,
    ("busy", "ThreadCompressed"): SHORTENED,
    ("busy", "ThreadErased"): "thread_busy",
    ("erased", "ThreadOpened"): "misfit",
    ("erased", "MessagesImported"): "misfit",
    ("erased", "ThreadRenamed"): "misfit",
    ("erased", "ThreadCompressed"): "misfit",
    ("erased", "ThreadErased"): "misfit",
}


@pytest.mark.parametrize(("state", "event"), TABLE)
def test_every_event_does_to_a_thread_what_the_table_says(state: str, event: str):
    thread, expected = STATES[state], TABLE[state, event]

    if isinstance(expected, str):
        with pytest.raises(Misfit) as refusal:
            step_thread(thread, EVENTS[event])
        assert refusal.value.code == expected
    else:
        assert thread is not None
        changed = replace(expected(thread), version=thread.version + 1, updated_at=9.0)
        assert step_thread(thread, EVENTS[event]) == changed


@pytest.mark.parametrize(
    ("state", "event", "said"),
    [
        (
            "busy",
            "ThreadErased",
            "the thread cannot be deleted while run 'run_1' is open. Cancel the run, or wait until it ends",
        ),
        (
            "busy",
            "MessagesImported",
            "messages cannot be imported while run 'run_1' is open. Cancel the run, or wait until it ends",
        ),
        ("erased", "ThreadRenamed", "the thread does not exist, or it was deleted"),
    ],
)
def test_what_does_not_fit_is_said_in_words_for_people(state: str, event: str, said: str):
    with pytest.raises(Misfit) as refusal:
        step_thread(STATES[state], EVENTS[event])
    assert str(refusal.value) == said


def test_every_pair_of_state_and_event_has_a_row():
    assert set(EVENTS) == set(THREAD_EVENT_TYPES)
    assert set(TABLE) | {("no thread", "ThreadOpened")} == {(state, event) for state in STATES for event in EVENTS}


def test_a_thread_begins_empty_and_belongs_to_one_user():
    assert Thread(ThreadId("thr_1"), UserId("ada"), 1.0, 1.0, title="First") == NEW


def test_a_fork_knows_where_it_came_from():
    fork = step_thread(None, replace(OPENED, thread_id=ThreadId("thr_2"), forked_from=ThreadId("thr_1")))

    assert fork.forked_from == "thr_1"


def test_a_title_is_the_beginning_of_the_prompt_on_one_line():
    assert title_of("  say\n\thello ") == "say hello"
    assert title_of("x" * 80) == "x" * 80
    assert title_of("x" * 81) == "x" * 79 + "…"


def test_the_words_of_messages_come_from_the_tools_that_answered_and_the_files_that_came_along():
    answered = Message("tool", (ToolResult("call_1", "gmail_read", {"text": "hi"}), ToolResult("call_2", "a\nb", None)))
    attached = Message("user", (Blob("image/png", b"x"),))
    assert sources_of([user("hello")]) == set()
    assert sources_of([answered, attached]) == {"tool:gmail_read", "tool:?", "attachment"}
