"""The one way a fact reaches a run: judged by the machine, written by the store, told to those who watch.

On a conflict the run is read again and the machine judges anew. A conflict is not "somebody else owns it": a finished
tool's result must find its place behind whatever came first.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator
from functools import reduce
from typing import TypeVar

from pollux.core import machine
from pollux.core.canonical import form_of
from pollux.core.errors import Conflict, Draining, NotFound, PolluxError, StoreError
from pollux.core.events import (
    ActionCompleted,
    ActionDecided,
    ActionFailed,
    ActionHandedOver,
    ActionReconciled,
    ActionSettled,
    ActionStarted,
    ApprovalResolved,
    CallRefused,
    CancelRequested,
    Event,
    HistoryCompressed,
    RunClaimed,
    RunRestored,
    TimeReached,
    ToolObserved,
)
from pollux.core.ids import ActionId, Instant, RunId, ThreadId, UserId
from pollux.core.machine import step
from pollux.core.policy import Grant
from pollux.core.run import Action, Run, evolve, touched_since
from pollux.core.thread import MessagesImported, Thread, ThreadCompressed, ThreadEvent, sources_of, step_thread
from pollux.engine.feed import Feed
from pollux.engine.logs import log_of
from pollux.engine.model import Turns
from pollux.engine.ports import ApprovalRow, AuditFact, Change, News, RunRow, Store
from pollux.engine.relay import Relay

logger = log_of(__name__)

Facts = Callable[[Run], Awaitable[Iterable[Event]]]
"""The facts to record, given the run as it is. Asked again after a conflict."""

Follow = Callable[[Run], Awaitable[Event | None]]
"""What follows at once from a run's state, one fact at a time, to be written in the same transaction."""

REMEMBERED_THREADS = 256
REMEMBERED_BYTES = 1 << 20
"""Of one thread. A longer one is read again from the store."""
REMEMBERED_RUNS = 1_000
LINGER_SECONDS = 1.0
DELAYS = (0.05, 0.2, 0.5, 1.0, 2.0)
"""Seconds between tries at a store in trouble."""

T = TypeVar("T")


class Ledger:
    """Every run that is driven or watched in this process, and the way to record facts about them."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._feeds: dict[RunId, Feed] = {}
        self._turns: dict[ThreadId, tuple[int, Turns]] = {}
        self._in_use = asyncio.Event()
        self._looks = 0
        """How often there was news without names."""
        self._unfollowed: dict[RunId, int] = {}
        """The last that was heard of runs that nobody here followed."""
        self._relay = Relay(store.airwaves, self._feeds.get) if store.airwaves else None
        self.is_closed = False

    @property
    def feeds(self) -> list[Feed]:
        """The runs that somebody here drives or watches."""
        return list(self._feeds.values())

    def stuck(self, *users: UserId) -> set[UserId]:
        """These, those whose runs wait for the store, and one that is nobody."""
        return {UserId(""), *users, *(feed.run.user for feed in self.feeds if feed.trouble)}

    def close(self) -> None:
        """The engine is gone: what an abandoned tool still says cannot be written here, and nobody waits in vain."""
        self.is_closed = True
        if self._relay:
            self._relay.close()
        for feed in self.feeds:
            feed.close()

    def is_driven(self, run_id: RunId) -> bool:
        """Whether a driver is at it here."""
        return run_id in self._feeds and self._feeds[run_id].driving

    def is_watched(self, feed: Feed) -> bool:
        """Whether somebody wants to see its text as it arrives, here or in another process."""
        return bool(feed.watchers) or (self._relay is not None and self._relay.is_watched(feed.run.id))

    async def begin(
        self, first: Iterable[Event], follow: Follow, *, thread: Thread, thread_events: tuple[ThreadEvent, ...]
    ) -> Feed:
        """A new run. Raises ThreadBusy or Conflict when its thread has moved on."""
        run, events = await _compose(None, first, follow)
        change = change_of(None, run, events, thread=thread, thread_events=thread_events)
        looks = self._looks
        await self.store.commit(change)
        # Somebody may have read it from the store and be waiting already: there is only one feed.
        feed = self._feeds.get(run.id) or Feed(run, change.thread or thread)
        if feed.turns is None and feed.run.version == run.version:
            feed.turns = self._take_turns(run)
        self.keep(feed)
        if self._has_missed(feed, looks):
            await patiently(lambda: self.catch_up(feed))
        return feed

    async def acquire(self, run_id: RunId, *, is_fresh: bool = False, user: UserId | None = None) -> Feed:
        """The run's feed, kept until `release`. Raises NotFound; with a `user`, for somebody else's run as well.

        With `is_fresh`, nothing that was written before is missing: whoever tells us something may know more than we.
        """
        feed, looks = self._feeds.get(run_id), self._looks
        is_behind = is_fresh and feed is not None
        if feed is not None and user not in (None, feed.run.user):
            raise NotFound(f"there is no run {run_id!r}")
        if feed is None:
            run = await self.store.run(run_id, user)
            if run is None:
                raise NotFound(f"there is no run {run_id!r}")
            # While it was being read, another task may have made the feed: there is only one.
            feed = self._feeds.get(run_id) or Feed(run, None)
        self.keep(feed)
        if is_behind or self._has_missed(feed, looks):
            try:
                await self.catch_up(feed)
            except BaseException:
                self.release(feed)
                raise
        return feed

    def _has_missed(self, feed: Feed, looks: int) -> bool:
        """Whether there was news of the run after it was read or written and before anybody here followed it."""
        return looks != self._looks or self._unfollowed.get(feed.run.id, 0) > feed.run.version

    def keep(self, feed: Feed) -> None:
        """One more who needs the feed, until `release`."""
        feed.users += 1
        feed.elsewhere = self._relay
        self._feeds[feed.run.id] = feed
        self._in_use.set()
        if self.is_closed:
            # Whoever comes now would wait for news that nobody brings any more.
            feed.close()

    def release(self, feed: Feed) -> None:
        """The counterpart of `acquire`, `begin` and `keep`."""
        feed.users -= 1
        if feed.users > 0:
            return
        self._feeds.pop(feed.run.id, None)
        if feed.turns is not None and feed.run.compressed is None and _weight(feed.run, feed.turns) <= REMEMBERED_BYTES:
            self._turns[feed.run.thread_id] = (feed.run.head + len(feed.run.messages), feed.turns)
            while len(self._turns) > REMEMBERED_THREADS:
                self._turns.pop(next(iter(self._turns)))
        if not self._feeds:
            self._in_use.clear()

    def linger(self, feed: Feed) -> None:
        """Keep the feed a moment longer: whoever left work to another process is about to look what became of it."""
        self.keep(feed)
        asyncio.get_running_loop().call_later(LINGER_SECONDS, self.release, feed)

    async def catch_up(self, feed: Feed) -> None:
        """Bring in what other processes wrote about this run."""
        versions = await self.store.versions([feed.run.id])
        if versions.get(feed.run.id, 0) > feed.run.version:
            async with feed.lock:
                await self._refresh(feed)

    async def append(self, feed: Feed, facts: Facts, follow: Follow, *, patient: bool = False) -> Run:
        """Record facts and what follows from them. Raises Misfit where they do not fit, StoreError when not written.

        `patient` waits for a store in trouble: what happened has happened, whether or not it can be written down yet.
        """
        tries = 0
        while not self.is_closed:
            try:
                async with feed.lock:
                    before = feed.run
                    run, events = await _compose(before, await facts(before), follow)
                    if not events:
                        return before
                    thread = feed.thread or await self._thread_of(run)
                    change = change_of(before, run, events, thread=thread)
                    try:
                        await self.store.commit(change)
                    except Conflict:
                        await self._refresh(feed)
                        continue
                    feed.trouble = None
                    feed.advance(run, events, change.thread or thread)
                    return run
            except StoreError as problem:
                if not patient:
                    raise
                feed.trouble = problem
                tries = await pause(tries, problem)
        raise Draining("this process has stopped; the fact can only be told to another")

    async def follow_others(self) -> None:
        """Bring in what other processes write and tell, as long as anybody here cares. Runs until cancelled."""
        async with asyncio.TaskGroup() as both:
            both.create_task(self._follow_commits())
            if self._relay:
                both.create_task(self._relay.serve())

    async def _follow_commits(self) -> None:
        while True:
            await self._in_use.wait()
            news = await patiently(self.store.changed_elsewhere)
            self._looks += not news.is_whole
            await patiently(lambda news=news: self._bring_in(news))

    async def _bring_in(self, news: News) -> None:
        versions = news.versions if news.is_whole else await self.store.versions(list(self._feeds))
        behind: list[Feed] = []
        for run_id, version in versions.items():
            feed = self._feeds.get(run_id)
            if feed is None:
                self._unfollowed[run_id] = version
            elif version > feed.run.version:
                behind.append(feed)
        # All of them: one that fails must not keep the news from the others.
        for problem in await asyncio.gather(*map(self._bring_up, behind), return_exceptions=True):
            if problem is not None:
                raise problem
        while len(self._unfollowed) > REMEMBERED_RUNS:
            self._unfollowed.pop(next(iter(self._unfollowed)))

    async def _bring_up(self, feed: Feed) -> None:
        try:
            async with feed.lock:
                await self._refresh(feed)
        except StoreError:
            raise
        except PolluxError:
            # It was erased, say. The others here must still hear of theirs.
            logger.exception("a run cannot be followed any more")
            feed.close()

    async def _refresh(self, feed: Feed) -> None:
        records = await self.store.journal(feed.run.id, feed.run.version)
        run = reduce(step, (record.event for record in records), feed.run)
        # The thread has moved too. It is read when somebody here writes.
        feed.advance(run, [record.event for record in records], None)

    async def _thread_of(self, run: Run) -> Thread:
        thread = await self.store.thread(run.thread_id)
        if thread is None:
            raise NotFound(f"there is no thread {run.thread_id!r}")
        return thread

    def _take_turns(self, run: Run) -> Turns | None:
        """The thread's turns as its last run left them, if nothing was said since."""
        known = self._turns.pop(run.thread_id, None)
        if run.head == 0:
            return Turns(run.messages)
        if known is None or known[0] != run.head or run.compressed is not None:
            return None
        known[1].extend(run.messages)
        return known[1]


def _weight(run: Run, turns: Turns) -> int:
    """About how many bytes a conversation takes: as it was sent, and what was said since."""
    sent: Iterable[list[bytes]] = vars(turns).values()
    return sum(sum(map(len, known)) for known in sent) + sum(len(message.text) for message in run.messages)


async def _compose(before: Run | None, facts: Iterable[Event], follow: Follow) -> tuple[Run, tuple[Event, ...]]:
    run, events = before, list[Event]()
    for fact in facts:
        run = step(run, fact)
        events.append(fact)
    assert run is not None
    while (fact := await follow(run)) is not None:
        run = step(run, fact)
        events.append(fact)
    return run, tuple(events)


async def patiently(work: Callable[[], Awaitable[T]]) -> T:
    """The work's answer, asked for until the store gives one."""
    tries = 0
    while True:
        try:
            return await work()
        except StoreError as problem:
            tries = await pause(tries, problem)


async def pause(tries: int, problem: StoreError) -> int:
    """Give a store in trouble some time. How often it was given some."""
    logger.warning("the store is in trouble; trying again", exc_info=problem)
    await asyncio.sleep(DELAYS[min(tries, len(DELAYS) - 1)])
    return tries + 1


# What is written together with the events.


def change_of(
    before: Run | None,
    after: Run,
    events: tuple[Event, ...],
    *,
    thread: Thread,
    thread_events: tuple[ThreadEvent, ...] = (),
) -> Change:
    """Everything that is written together with these events. `thread` is the thread before them."""
    said = len(before.messages) if before else 0
    brought = sum((event.messages for event in thread_events if isinstance(event, MessagesImported)), ())
    at = events[-1].at
    for event in events:
        if isinstance(event, HistoryCompressed) and event.compressed:
            note = ThreadCompressed(run_id=after.id, compressed=event.compressed, at=event.at)
            thread, thread_events = step_thread(thread, note), (*thread_events, note)
    touched = touched_since(before, after)
    audited = [action for action in touched if action.is_audited]
    return Change(
        run=after,
        events=events,
        row=row_of(after, at),
        thread=evolve(
            thread,
            head=after.head + len(after.messages),
            open_run=None if after.ending else after.id,
            context_tokens=after.context_tokens,
            # Threads are listed by this: to write it with every fact would cost an index page each time.
            updated_at=at if before is None or after.ending else thread.updated_at,
            sources=_sources(before, after, thread),
        ),
        thread_events=thread_events,
        first_message=after.head + said + 1 - len(brought),
        messages=(*brought, *after.messages[said:]),
        approvals=tuple(_approval_rows(after, touched)) if touched else (),
        grants=tuple(grant for event in events for grant in _grants(after, event)) if touched else (),
        audit=tuple(_audit(before, after, events, audited)) if audited else (),
    )


def _sources(before: Run | None, after: Run, thread: Thread) -> tuple[str, ...]:
    """Whose words are in the thread, the run's own among them."""
    new = set(after.sources).difference(thread.sources) if after.sources else set[str]()
    if before is None:
        new |= sources_of(after.messages)
    elif len(after.done) > len(before.done):
        # What was refused or never began has said nothing, whatever a text has made the model call.
        new |= {f"tool:{action.tool}" for action in after.done[len(before.done) :] if action.started}
    return tuple(sorted({*thread.sources, *new})) if new else thread.sources


def row_of(run: Run, at: Instant) -> RunRow:
    """The line by which a store finds the run."""
    return RunRow(
        run_id=run.id,
        thread_id=run.thread_id,
        user=run.user,
        profile=run.profile,
        status=run.status,
        created_at=run.created_at,
        updated_at=at,
        wake_at=machine.wake_at(run),
        owed=is_owed(run),
        epoch=run.epoch,
        driver=run.driver,
        parent=run.parent.run_id if run.parent else None,
        root=run.parent.root if run.parent else None,
        tokens=run.usage.total,
    )


def is_owed(run: Run) -> bool:
    """Whether somebody must see to the run: work, something in flight that must end, or a child that may have ended."""
    if run.ending:
        return False
    # Not everything that is started is pending: what is being cancelled is not, nor what a child works on.
    return bool(machine.pending(run)) or any(a.started and not a.outcome and a.where != "page" for a in run.open)


def _approval_rows(run: Run, touched: list[Action]) -> Iterator[ApprovalRow]:
    root = run.parent.root if run.parent else run.id
    for action in touched:
        approval = action.approval
        if approval:
            yield ApprovalRow(
                approval_id=approval.id,
                run_id=run.id,
                root=root,
                user=run.user,
                status=approval.status,
                requested_at=approval.requested_at,
                expires_at=approval.expires_at,
            )


def _grants(run: Run, event: Event) -> Iterator[Grant]:
    if isinstance(event, ApprovalResolved) and event.scope is not None and event.decision == "approved":
        action = run.action_of_approval(event.approval_id)
        yield from run.grants_of(action) if action else ()


def _audit(before: Run | None, after: Run, events: tuple[Event, ...], audited: list[Action]) -> Iterator[AuditFact]:
    """One line for each change of an audited action."""
    effects = {action.id: action for action in audited}
    for event in events:
        match event:
            case ActionDecided():
                if old := effects.get(event.supersedes) if event.supersedes else None:
                    yield _fact(after, old, "superseded", event.at, by=event.action.edited_by)
                if action := effects.get(event.action.id):
                    by = action.decision.decider if action.decision else ""
                    yield _fact(after, action, "decided", event.at, status=event.action.status, by=by)
            case CallRefused():
                for action in effects.values():
                    if action.call.id == event.call_id:
                        # A name that no tool has is the model's own text, which an erasure must reach.
                        tool = "unknown" if event.code == "unknown_tool" else ""
                        yield _fact(after, action, "refused", event.at, tool=tool)
            case ApprovalResolved():
                for action in effects.values():
                    if action.approval and action.approval.id == event.approval_id:
                        yield _fact(after, action, event.decision, event.at, by=event.by)
                        if event.scope:
                            yield _fact(after, action, "granted", event.at, by=event.by)
            case ActionStarted():
                if action := effects.get(event.action_id):
                    yield _fact(after, action, "started", event.at, status="executing")
            case ActionCompleted() | ActionFailed() | ActionReconciled() | ActionHandedOver():
                if (action := effects.get(event.action_id)) and not isinstance(event, ActionHandedOver):
                    yield _fact(after, action, action.outcome.status if action.outcome else "not_done", event.at)
                yield from _outcomes_by_default(before, after, effects, event.at, asker=event.action_id)
            case ToolObserved():
                if action := effects.get(event.action_id):
                    yield _fact(after, action, "observed", event.at, tool=event.tool, is_decided=False)
            case ActionSettled():
                if action := effects.get(event.action_id):
                    yield _fact(after, action, "settled", event.at, by=event.by)
            case RunClaimed() | TimeReached() | CancelRequested() | RunRestored():
                yield from _outcomes_by_default(before, after, effects, event.at)
            case _:
                pass


def _outcomes_by_default(
    before: Run | None, after: Run, effects: dict[ActionId, Action], at: Instant, asker: str | None = None
) -> Iterator[AuditFact]:
    """Actions that ended because a driver died, a clock ran out or their asker left, not by anybody's report."""
    for action in effects.values():
        earlier, outcome = before.action(action.id) if before else None, action.outcome
        if outcome and outcome.at == at and earlier and not earlier.outcome and asker in (None, action.asker):
            yield _fact(after, action, outcome.status, at)


def _fact(
    run: Run,
    action: Action,
    kind: str,
    at: Instant,
    *,
    by: str = "",
    status: str = "",
    tool: str = "",
    is_decided: bool = True,
) -> AuditFact:
    outcome, approval, decision = action.outcome, action.approval, action.decision
    return AuditFact(
        at=at,
        kind=kind,
        user=run.user,
        run_id=run.id,
        thread_id=run.thread_id,
        action_id=action.id,
        model_name=run.model,
        tool_name=tool or action.tool,
        input=form_of(action.args_hash, action.args) if action.args_hash else b"",
        # What was only seen was never decided about.
        policy_decision=decision.mode if decision and is_decided else "",
        approval_id=approval.id if approval else "",
        execution_status=status or action.status,
        error_code=outcome.code if outcome else "",
        # A tool's own words may quote its arguments; the audit outlives an erasure, so it keeps none of them.
        message=outcome.code.replace("_", " ") if outcome else "",
        by=by or (action.allowed_by if is_decided else ""),
        started_at=action.started.at if action.started else None,
        ended_at=outcome.at if outcome else None,
    )
