"""What every store refuses, and how a change meets a thread that others change too.

A thread has two kinds of writers. Its open run moves `head`, `open_run`, `context_tokens` and `updated_at`; the
thread's own events change the rest, and are numbered. Neither overwrites what is the other's. A run that is no longer
the open one (its late truth arrives, or a person settles it) moves nothing of the thread.
"""

from dataclasses import replace
from typing import Protocol

from pollux.core.errors import Conflict, ThreadBusy, ValidationError
from pollux.core.events import RunStarted
from pollux.core.ids import ThreadId
from pollux.core.thread import Thread
from pollux.engine.ports import Change


def thread_of(change: Change) -> ThreadId | None:
    """The thread that a change is about."""
    if change.thread:
        return change.thread.id
    return change.run.thread_id if change.run else None


class Standing(Protocol):
    """As much of a stored thread as the rules look at."""

    @property
    def id(self) -> str: ...
    @property
    def version(self) -> int: ...
    @property
    def head(self) -> int: ...
    @property
    def open_run(self) -> str | None: ...
    @property
    def erased(self) -> bool: ...


def check(change: Change, *, events: int, thread: Standing | None) -> None:
    """Whether the change fits what is stored: `events` of its run, and its thread.

    Raises:
        Conflict: another writer was faster.
        ThreadBusy: the run is new, and another one is open in its thread.
    """
    if change.messages and change.thread is None:
        raise ValidationError("expected the thread whose messages are to be written")
    expected = change.run.version - len(change.events) if change.run else events
    if change.run and expected != events:
        raise Conflict(f"expected run {change.run.id!r} at version {expected}, found {events}")
    if thread is None:
        expected = change.thread.version - len(change.thread_events) if change.thread else 0
        if expected:
            raise Conflict(f"expected the thread at version {expected}, found none")
        return
    if is_start(change) and thread.open_run and change.run and thread.open_run != change.run.id:
        raise ThreadBusy(f"thread {thread.id!r} has an open run, {thread.open_run!r}", run_id=thread.open_run)
    if change.thread or change.run:
        _fits(change, thread)


def is_start(change: Change) -> bool:
    """Whether the change begins a run."""
    return bool(change.events) and isinstance(change.events[0], RunStarted)


def merged(change: Change, after: Thread, stored: Thread | None) -> Thread:
    """The thread as it is to be stored."""
    if stored is None or change.thread_events:
        return after
    if not holds(change, stored):
        return stored
    return replace(
        stored,
        head=after.head,
        open_run=after.open_run,
        context_tokens=after.context_tokens,
        updated_at=after.updated_at,
    )


def holds(change: Change, stored: Standing) -> bool:
    """Whether the thread is this run's to move: it is the open one, or becomes so."""
    if change.run is None:
        return False
    return stored.open_run == change.run.id or (stored.open_run is None and is_start(change))


def _fits(change: Change, stored: Standing) -> None:
    if stored.erased:
        raise Conflict(f"expected thread {stored.id!r} to be there, but it was erased")
    after = change.thread
    if after is None or not (change.thread_events or change.messages or holds(change, stored)):
        return
    version = after.version - len(change.thread_events)
    if change.thread_events and version != stored.version:
        raise Conflict(f"expected thread {stored.id!r} at version {version}, found {stored.version}")
    head = change.first_message - 1 if change.messages else after.head
    if head != stored.head:
        raise Conflict(f"expected thread {stored.id!r} with {head} messages, found {stored.head}")
    if after.open_run != stored.open_run and not holds(change, stored):
        raise Conflict(f"expected thread {stored.id!r} to have open run {after.open_run}, found {stored.open_run}")
