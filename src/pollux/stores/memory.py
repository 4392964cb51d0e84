"""The reference store: what a store means, without a disk. What it refuses, every store refuses, in the same words.

Nothing is encoded here, so a commit costs microseconds; runs that need not outlive the process go through it.

A thread has two kinds of writers. Its open run moves `head`, `open_run`, `context_tokens` and `updated_at`; the
thread's own events change the rest, and are numbered. Neither overwrites what is the other's. A run that is no longer
the open one (its late truth arrives, or a person settles it) moves nothing of the thread.
"""

import asyncio
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from secrets import token_bytes, token_hex
from typing import Protocol, TypeVar

from pollux.core.errors import Conflict, StoreError, ThreadBusy, ValidationError
from pollux.core.events import ActionDecided, ActionStarted, Event, RunStarted
from pollux.core.ids import ApprovalId, GrantId, Instant, RunId, ThreadId, UserId
from pollux.core.messages import Message
from pollux.core.policy import Grant
from pollux.core.run import ApprovalStatus, Run, RunStatus, evolve
from pollux.core.thread import Thread, ThreadEvent
from pollux.engine.browser_session import BrowserSession
from pollux.engine.glance import DayUsage, Spending, glance_of
from pollux.engine.ports import (
    EVERYTHING,
    ApprovalRow,
    AuditEntry,
    AuditFact,
    AuditFilter,
    AuditPart,
    AuditReport,
    Change,
    News,
    Recorded,
    RunRow,
)
from pollux.stores.audit import Kept, Tip, chained, digest_of
from pollux.stores.glances import LONGEST_PROMPT
from pollux.stores.head_lines import NO_HEADS
from pollux.stores.heads import Heads
from pollux.stores.usage import Sums
from pollux.stores.verify import Evidence, part_of, verify
from pollux.wire.codec import Erased


class MemoryStore:
    """Keeps everything in this process, and nothing after it."""

    is_instant = True
    airwaves = None
    kind = "memory"

    def __init__(self, *, key: bytes | None = None, heads: Path | None = None) -> None:
        self._key = key or token_bytes(32)
        self._heads = Heads(heads, self._key) if heads else None
        self._runs: dict[RunId, Run] = {}
        self._journals: dict[RunId, list[Event]] = {}
        self._rows: dict[RunId, RunRow] = {}
        self._moving: dict[RunId, RunRow] = {}
        """The rows of runs that are owed something, or wait for a moment."""
        self._used = Sums()
        self._unsummed: set[RunId] = set()
        """Runs that were written since the sums were asked for: a commit costs microseconds, a glance too."""
        self._threads: dict[ThreadId, Thread] = {}
        self._thread_journals: dict[ThreadId, list[ThreadEvent]] = {}
        self._messages: dict[ThreadId, list[Message]] = {}
        self._approvals: dict[ApprovalId, ApprovalRow] = {}
        self._grants: dict[GrantId, Grant] = {}
        self._secrets: dict[tuple[UserId, str], bytes] = {}
        self._sessions: dict[str, BrowserSession] = {}
        self._audit: list[Kept] = []
        self._unchained: list[AuditFact] = []
        self._drivers: set[str] = set()
        self._is_open = False

    async def open(self) -> None:
        self._is_open = True

    async def close(self) -> None:
        self._is_open = False
        self._drivers.clear()

    async def commit(self, change: Change) -> None:
        if not self._is_open:
            raise StoreError("expected an open store, found a closed one; open it first")
        thread_id = thread_of(change)
        thread = self._threads.get(thread_id) if thread_id else None
        # By its version, not its journal: of an erased run there is none, and its id is still taken.
        known = self._runs.get(change.run.id) if change.run else None
        check(change, events=known.version if known else 0, thread=thread, granted=self._grants)
        # Nothing below can fail: the change is written as one.
        if change.run:
            self._runs[change.run.id] = change.run
            self._journals.setdefault(change.run.id, []).extend(change.events)
        if change.row:
            self._put(change.row)
            self._unsummed.add(change.row.run_id)
        if change.thread and thread_id:
            after = merged(change, change.thread, thread)
            if thread and after.updated_at != thread.updated_at:
                # Lists are in the order of commits: clocks may differ.
                del self._threads[thread_id]
            self._threads[thread_id] = after
            if change.thread_events:
                self._thread_journals.setdefault(thread_id, []).extend(change.thread_events)
            if change.messages:
                self._messages.setdefault(thread_id, []).extend(change.messages)
        for approval in change.approvals:
            self._approvals[approval.approval_id] = approval
        for grant in change.grants:
            self._grants[grant.id] = grant
        for user, name, sealed in change.secrets:
            self._secrets.pop((user, name), None)
            if sealed is not None:
                self._secrets[user, name] = sealed
        for grant_id in change.revoked:
            self._grants.pop(grant_id, None)
        if (moment := change.sweep_sessions) is not None:
            self._sessions = {key: kept for key, kept in self._sessions.items() if kept.expires_at > moment}
        self._sessions.update((session.id, session) for session in change.sessions)
        if change.audit:
            self._record(change.audit)

    async def run(self, run_id: RunId, user: UserId | None = None) -> Run | None:
        run = self._runs.get(run_id)
        if run is None or user not in (None, run.user):
            return None
        self._is_there(run.thread_id)
        return run

    async def journal(self, run_id: RunId, after: int = 0) -> Sequence[Recorded]:
        run = self._runs.get(run_id)
        if run is None:
            return ()
        self._is_there(run.thread_id)
        return [Recorded(seq, event) for seq, event in enumerate(self._journals[run_id][after:], after + 1)]

    async def thread(self, thread_id: ThreadId, user: UserId | None = None) -> Thread | None:
        thread = self._threads.get(thread_id)
        return thread if thread is not None and user in (None, thread.user) else None

    async def thread_journal(self, thread_id: ThreadId) -> Sequence[ThreadEvent]:
        self._is_there(thread_id)
        return tuple(self._thread_journals.get(thread_id, ()))

    async def messages(self, thread_id: ThreadId, after: int = 0, limit: int | None = None) -> Sequence[Message]:
        return self._messages.get(thread_id, [])[after : None if limit is None else after + limit]

    async def threads(self, user: UserId, *, limit: int = 25, before: str | None = None) -> Sequence[Thread]:
        own = (thread for thread in self._threads.values() if thread.user == user and not thread.erased)
        return _page(own, lambda thread: thread.id, limit, before)

    async def runs(
        self,
        user: UserId,
        *,
        thread_id: ThreadId | None = None,
        states: Collection[RunStatus] = (),
        unsure: bool = False,
        limit: int = 25,
        before: str | None = None,
    ) -> Sequence[RunRow]:
        own = (row for row in self._rows.values() if row.user == user)
        page = _page(own, lambda row: row.run_id, None, before)
        fit = (row for row in page if thread_id in (None, row.thread_id) and (not states or row.status in states))
        told = (self._told(row) for row in fit)
        return list(islice((row for row in told if not unsure or (row.glance and row.glance.unknown)), limit))

    async def prompts(self, rows: Sequence[RunRow]) -> dict[RunId, str]:
        asked = (
            (row.run_id, [each for each in self._runs[row.run_id].messages if each.role == "user"]) for row in rows
        )
        return {run_id: messages[-1].text[:LONGEST_PROMPT] for run_id, messages in asked if messages}

    async def children(self, run_id: RunId) -> Sequence[RunRow]:
        return sorted((row for row in self._rows.values() if row.parent == run_id), key=_age)

    async def spent(self, user: UserId, since: Instant, *, is_prefix: bool = False) -> Spending:
        whose = [row for row in self._rows.values() if row.user == user or (is_prefix and row.user.startswith(user))]
        used = sum(row.tokens for row in whose if row.updated_at >= since)
        return Spending(used, sum(_promised(self._runs[row.run_id]) for row in whose))

    async def usage(self, user: UserId, since: Instant) -> Sequence[DayUsage]:
        for run_id in self._unsummed:
            self._used.note(self._rows[run_id], glance_of(self._runs[run_id]))
        self._unsummed.clear()
        return self._used.since(user, since)

    async def approvals(
        self,
        user: UserId,
        *,
        status: ApprovalStatus | None = "pending",
        limit: int = 25,
        before: str | None = None,
    ) -> Sequence[ApprovalRow]:
        own = (row for row in self._approvals.values() if row.user == user)
        page = _page(own, lambda row: row.approval_id, None, before)
        return [row for row in page if status in (None, row.status)][:limit]

    async def grants(self, user: UserId | None) -> Sequence[Grant]:
        own = (grant for grant in self._grants.values() if user in (None, grant.user))
        return sorted(own, key=lambda grant: (grant.granted_at, grant.id))

    async def secret(self, user: UserId, name: str) -> bytes | None:
        return self._secrets.get((user, name))

    async def keep_secret(self, user: UserId, name: str, sealed: bytes, *, fact: AuditFact | None = None) -> None:
        await self.commit(Change(secrets=((user, name, sealed),), audit=(fact,) if fact else ()))

    async def drop_secret(self, user: UserId, name: str, *, fact: AuditFact | None = None) -> None:
        await self.commit(Change(secrets=((user, name, None),), audit=(fact,) if fact else ()))

    async def secrets(self, name: str) -> Sequence[tuple[UserId, bytes]]:
        return sorted((user, sealed) for (user, called), sealed in self._secrets.items() if called == name)

    async def session(self, digest: str) -> BrowserSession | None:
        return next((session for session in self._sessions.values() if session.digest == digest), None)

    async def sessions(self, user: UserId) -> Sequence[BrowserSession]:
        own = (session for session in self._sessions.values() if session.user == user)
        return sorted(own, key=lambda session: (session.created_at, session.id), reverse=True)

    async def owed(self) -> Sequence[RunRow]:
        return sorted((row for row in self._moving.values() if row.owed), key=_age)

    async def due(self, now: Instant) -> Sequence[RunId]:
        waiting = ((row.wake_at, row.run_id) for row in self._moving.values() if row.wake_at is not None)
        return [run_id for moment, run_id in sorted(waiting) if moment <= now]

    async def next_wake(self) -> Instant | None:
        return min((row.wake_at for row in self._moving.values() if row.wake_at is not None), default=None)

    async def erase(self, thread_id: ThreadId) -> None:
        thread = self._threads.get(thread_id)
        if thread is None:
            return
        self._threads[thread_id] = replace(thread, title="", compressed=None, erased=True)
        self._messages.pop(thread_id, None)
        self._thread_journals.pop(thread_id, None)
        for run_id, run in list(self._runs.items()):
            if run.thread_id == thread_id:
                self._journals[run_id] = []
                self._runs[run_id] = replace(run, messages=(), calls=(), open=(), done=(), compressed=None, page=None)
                # Nothing is due any more, also where the end of its keeping was.
                self._put(replace(self._rows[run_id], wake_at=None))
        kept = (grant for grant in self._grants.values() if grant.scope != "session" or grant.thread_id != thread_id)
        self._grants = {grant.id: grant for grant in kept}

    async def audit(
        self,
        *,
        user: UserId | None = None,
        after: int = 0,
        before: int | None = None,
        limit: int = 100,
        newest_first: bool = False,
        only: AuditFilter = EVERYTHING,
    ) -> Sequence[AuditEntry]:
        chain = self._chain()
        numbered = range(max(after, 0) + 1, len(chain) + 1 if before is None else min(before, len(chain) + 1))
        entries = (chain[seq - 1].entry for seq in (reversed(numbered) if newest_first else numbered))
        return list(islice((entry for entry in entries if user in (None, entry.user) and only.fits(entry)), limit))

    async def verify_audit(self) -> AuditReport:
        chain = self._chain()
        heads = self._heads.read() if self._heads else NO_HEADS
        return verify(lambda: chain, self._key, Evidence(heads, highest=len(chain)))

    async def sign_head(self) -> str:
        # What nobody can put back needs no witness.
        return ""

    async def verify_part(self, seq: int, own: str, limit: int) -> AuditPart:
        chain = self._chain()
        heads = self._heads.newest() if self._heads else NO_HEADS
        found = chain[max(0, seq - 1) : seq + limit]
        return part_of(found, Tip(seq, own), limit, self._key, lambda: Evidence(heads, highest=len(chain)))

    async def latest(self, *, is_live: bool) -> Instant:
        facts = [*(kept.entry.at for kept in self._audit[-1:]), *(fact.at for fact in self._unchained[-1:])]
        return max([*facts, *(row.updated_at for row in self._rows.values())], default=0.0)

    def digest(self, text: str) -> str:
        return digest_of(text, self._key)

    async def restored(self) -> str:
        # What is in this memory was never anywhere else.
        return ""

    async def begin_lineage(self) -> None:
        raise StoreError("expected a store that was restored, but this one is only in memory")

    async def trust(self) -> None:
        pass

    async def open_runs(self) -> Sequence[RunRow]:
        return sorted((row for row in self._rows.values() if self._runs[row.run_id].is_open), key=_age)

    async def workers(self) -> int | None:
        return None

    def enlist(self) -> str:
        name = f"drv_{token_hex(8)}"
        self._drivers.add(name)
        return name

    async def is_alive(self, driver: str) -> bool:
        return driver in self._drivers

    async def changed_elsewhere(self) -> News:
        # No other process can reach this memory.
        return await asyncio.get_running_loop().create_future()

    async def versions(self, run_ids: Sequence[RunId]) -> dict[RunId, int]:
        return {run_id: self._runs[run_id].version for run_id in run_ids if run_id in self._runs}

    def _is_there(self, thread_id: ThreadId) -> None:
        thread = self._threads.get(thread_id)
        if thread and thread.erased:
            raise Erased(f"expected the content of thread {thread_id!r}, but it was erased")

    def _told(self, row: RunRow) -> RunRow:
        return replace(row, glance=glance_of(self._runs[row.run_id]))

    def _put(self, row: RunRow) -> None:
        self._rows[row.run_id] = row
        if row.owed or row.wake_at is not None:
            self._moving[row.run_id] = row
        else:
            self._moving.pop(row.run_id, None)

    def _record(self, facts: tuple[AuditFact, ...]) -> None:
        self._unchained.extend(facts)
        if self._heads:
            last = self._chain()[-1].entry
            self._heads.append(Tip(last.seq, last.hash), last.at)

    def _chain(self) -> list[Kept]:
        # Hashing waits until somebody looks: nobody but this process could have changed the facts meanwhile.
        if self._unchained:
            tip = Tip(len(self._audit), self._audit[-1].entry.hash) if self._audit else Tip()
            self._audit.extend(chained(self._unchained, tip, self._key))
            self._unchained.clear()
        return self._audit


Row = TypeVar("Row")


def _page(rows: Iterable[Row], key: Callable[[Row], str], limit: int | None, before: str | None) -> list[Row]:
    """Newest first, after the one with this id. An id that is not there leads nowhere."""
    ordered = [*rows][::-1]
    if before is not None:
        ids = [key(row) for row in ordered]
        ordered = ordered[ids.index(before) + 1 :] if before in ids else []
    return ordered[:limit]


def _age(row: RunRow) -> tuple[float, str]:
    return row.created_at, row.run_id


# What every store refuses, and how a change meets a thread that others change too.


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


def counted_on(change: Change) -> tuple[GrantId, ...]:
    """The grants without which what is in the change would not have been decided, or not begun."""
    found: tuple[GrantId, ...] = ()
    for event in change.events:
        if isinstance(event, ActionDecided | ActionStarted) and change.run:
            id_ = event.action.id if isinstance(event, ActionDecided) else event.action_id
            action = change.run.action(id_)
            found += action.decision.grants if action and action.decision else ()
    return found


def check(change: Change, *, events: int, thread: Standing | None, granted: Collection[str]) -> None:
    """Whether the change fits what is stored: `events` of its run, its thread, and the grants that it counts on.

    Raises:
        Conflict: another writer was faster, or somebody has revoked a grant.
        ThreadBusy: the run is new, and another one is open in its thread.
    """
    if change.messages and change.thread is None:
        raise ValidationError("expected the thread whose messages are to be written")
    expected = change.run.version - len(change.events) if change.run else events
    if change.run and expected != events:
        raise Conflict(f"expected run {change.run.id!r} at version {expected}, found {events}")
    if gone := [grant for grant in counted_on(change) if grant not in granted]:
        raise Conflict(f"expected grant {gone[0]!r}, which the decision counts on, but it was revoked")
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
    if after.version == stored.version:
        # All that is not the run's to move is numbered, and so the same.
        return after
    return evolve(
        stored,
        head=after.head,
        open_run=after.open_run,
        context_tokens=after.context_tokens,
        updated_at=after.updated_at,
        sources=after.sources,
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


def _promised(run: Run) -> int:
    """What it may still use. Without a limit it is taken to have one that it has just reached."""
    used = run.usage.total
    limit = used if run.limits.tokens is None else run.limits.tokens
    return max(0, 2 * limit - used) if run.is_open else 0
