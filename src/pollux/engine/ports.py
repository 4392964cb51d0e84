"""What the engine needs of the world: a store that remembers, a clock, a source of ids."""

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from pollux.core.events import Event
from pollux.core.frozen import frozen
from pollux.core.ids import ApprovalId, GrantId, Instant, RunId, ThreadId, UserId
from pollux.core.messages import Message
from pollux.core.policy import Grant
from pollux.core.profile import Profile
from pollux.core.run import ApprovalStatus, Run, RunStatus
from pollux.core.thread import Thread, ThreadEvent
from pollux.engine.airwaves import Airwaves
from pollux.engine.browser_session import BrowserSession
from pollux.engine.glance import DayUsage, Glance, Spending


@frozen
class Recorded:
    """An event in a stream, with its number. The first has 1."""

    seq: int
    event: Event


@frozen(slots=False)
class RunRow:
    """What a store keeps of a run beside its journal, to find it by."""

    run_id: RunId
    thread_id: ThreadId
    user: UserId
    profile: str
    status: RunStatus
    created_at: Instant
    updated_at: Instant
    wake_at: Instant | None
    owed: bool
    """Whether a driver has work to do: what `recover` looks for."""
    epoch: int
    driver: str
    parent: RunId | None = None
    root: RunId | None = None
    tokens: int = 0
    """What the run has spent so far: in and out, summaries included."""
    glance: Glance | None = None
    """For lists. A store takes it from the run itself; None where a process that does not know of it was there last."""


@frozen
class ApprovalRow:
    """What a store keeps of an approval, to find it by. What it is about stays in the run."""

    approval_id: ApprovalId
    run_id: RunId
    root: RunId
    user: UserId
    status: ApprovalStatus
    requested_at: Instant
    expires_at: Instant


@frozen
class AuditFact:
    """One line of the audit: ids and the nine fields, no content. The store chains and signs it."""

    at: Instant
    kind: str
    """What happened: decided, refused, approved, rejected, started, completed, failed, settled, granted, …"""
    user: str
    run_id: str = ""
    thread_id: str = ""
    action_id: str = ""
    model_name: str = ""
    tool_name: str = ""
    input: bytes = b""
    """The canonical arguments. Only their keyed digest is kept: the store has the key."""
    policy_decision: str = ""
    approval_id: str = ""
    execution_status: str = ""
    error_code: str = ""
    message: str = ""
    by: str = ""
    started_at: Instant | None = None
    ended_at: Instant | None = None


@frozen(slots=False)
class Change:
    """One transaction: events with everything derived from them, all or nothing.

    `run.version` is the version after; a store refuses with Conflict unless the stream holds exactly
    `run.version - len(events)` events, and likewise for the thread's own stream. One that holds nothing shows whether
    the store takes writes.
    """

    run: Run | None = None
    events: tuple[Event, ...] = ()
    row: RunRow | None = None
    thread: Thread | None = None
    thread_events: tuple[ThreadEvent, ...] = ()
    first_message: int = 0
    """The number of the first of `messages` in its thread."""
    messages: tuple[Message, ...] = ()
    approvals: tuple[ApprovalRow, ...] = ()
    grants: tuple[Grant, ...] = ()
    revoked: tuple[GrantId, ...] = ()
    audit: tuple[AuditFact, ...] = ()
    secrets: tuple[tuple[UserId, str, bytes | None], ...] = ()
    """What users entrust, by name, sealed; None takes it back."""
    sessions: tuple[BrowserSession, ...] = ()
    sweep_sessions: Instant | None = None
    """Sessions that had expired by this moment are removed. It also notes the time."""
    adopts: bool = False
    """Part of the adoption of a restored store, which takes no other change."""


NOTHING = Change()
GENESIS = "0" * 64
"""What the first entry of an audit names as the one before it."""


@frozen
class AuditEntry:
    """A line of the audit as it is kept."""

    seq: int
    at: Instant
    kind: str
    user: str
    run_id: str
    thread_id: str
    action_id: str
    model_name: str
    tool_name: str
    input_hash: str
    policy_decision: str
    approval_id: str
    execution_status: str
    error_code: str
    message: str
    by: str
    started_at: Instant | None
    ended_at: Instant | None
    previous: str
    hash: str


@frozen
class AuditFilter:
    """Which entries are wanted: all that fit every member that is given."""

    kind: str | None = None
    tool_name: str | None = None
    execution_status: str | None = None
    run_id: str | None = None
    since: Instant | None = None
    until: Instant | None = None
    """Before this moment."""

    def fits(self, entry: AuditEntry) -> bool:
        """Whether this is one of them."""
        names = ("kind", "tool_name", "execution_status", "run_id")
        return (
            all(getattr(self, name) in (None, getattr(entry, name)) for name in names)
            and (self.since is None or entry.at >= self.since)
            and (self.until is None or entry.at < self.until)
        )


EVERYTHING = AuditFilter()


@frozen
class AuditReport:
    """What a verification found. `problems` name the kind of tampering and the place."""

    valid: bool
    entries: int
    head: str
    problems: tuple[str, ...] = ()


@frozen
class AuditPart:
    """How far a piece of the audit was walked, and whether all of it is as it was written."""

    seq: int
    hash: str
    is_sound: bool = True
    is_last: bool = False
    """There is nothing after it, and what speaks of the end agrees."""


@frozen
class News:
    """What other processes have committed: the runs, and how many events each has now.

    Where it is not whole, others may have moved too: look at every run.
    """

    versions: Mapping[RunId, int]
    is_whole: bool = True


ANYTHING = News({}, is_whole=False)
"""Something was committed; nobody knows what."""


class Store(Protocol):
    """Remembers. Every method is safe to call from many tasks; a commit is one transaction or nothing.

    Methods that take a `user` answer only for that owner: an unknown id and somebody else's look alike.
    """

    @property
    def is_instant(self) -> bool:
        """Whether a commit never waits, so that a caller cannot leave in the middle of one."""
        ...

    @property
    def kind(self) -> str:
        """What it is, for people: sqlite, postgres, memory."""
        ...

    @property
    def airwaves(self) -> Airwaves | None:
        """How this process and others tell one another of text on its way, once it is open; None where they cannot."""
        ...

    async def open(self) -> None: ...

    async def close(self) -> None: ...

    async def commit(self, change: Change) -> None:
        """Write it all or nothing.

        Raises:
            Conflict: the stream, or the thread's, has moved on since it was read; or a run of this id began before.
            ThreadBusy: the run is new and its thread has another open run.
            StoreError: it could not be written; nothing was.
        """
        ...

    async def run(self, run_id: RunId, user: UserId | None = None) -> Run | None:
        """The run as its journal tells it.

        With a `user`, None for a run of somebody else's, before a word of it is read: how long an answer takes must
        not tell whether there is such a run.
        """
        ...

    async def journal(self, run_id: RunId, after: int = 0) -> Sequence[Recorded]: ...

    async def thread(self, thread_id: ThreadId, user: UserId | None = None) -> Thread | None:
        """The thread; with a `user`, None for somebody else's."""
        ...

    async def thread_journal(self, thread_id: ThreadId) -> Sequence[ThreadEvent]: ...

    async def messages(self, thread_id: ThreadId, after: int = 0, limit: int | None = None) -> Sequence[Message]:
        """The thread's messages with a higher number, in order, notices included; the first so many, or all."""
        ...

    async def threads(self, user: UserId, *, limit: int = 25, before: str | None = None) -> Sequence[Thread]:
        """Last updated first; `before` is the id of the last one seen."""
        ...

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
        """Newest first; `before` is the id of the last one seen. With `states`, those that are in one of them.

        With `unsure`, those alone that may hold an action whose outcome is unknown.
        """
        ...

    async def prompts(self, rows: Sequence[RunRow]) -> dict[RunId, str]:
        """The beginnings of what these runs were asked. Of those whose words were erased there is none."""
        ...

    async def children(self, run_id: RunId) -> Sequence[RunRow]: ...

    async def spent(self, user: UserId, since: Instant, *, is_prefix: bool = False) -> Spending:
        """The tokens of this user's runs that changed at that moment or later, and what open ones may still use.

        Erasing what was said gives none back. With `is_prefix`, of all users whose names begin so.
        """
        ...

    async def usage(self, user: UserId, since: Instant) -> Sequence[DayUsage]:
        """What this user's runs used that began on the day of that moment or later, by day and model, in this order."""
        ...

    async def approvals(
        self,
        user: UserId,
        *,
        status: ApprovalStatus | None = "pending",
        limit: int = 25,
        before: str | None = None,
    ) -> Sequence[ApprovalRow]:
        """Newest first; `before` is the id of the last one seen."""
        ...

    async def grants(self, user: UserId | None) -> Sequence[Grant]:
        """What a user has granted, oldest first. None: everybody's, for an adoption."""
        ...

    async def secret(self, user: UserId, name: str) -> bytes | None:
        """What the user has entrusted under this name, sealed: a store cannot read it."""
        ...

    async def keep_secret(self, user: UserId, name: str, sealed: bytes, *, fact: AuditFact | None = None) -> None:
        """Keep it, in one step with the line of the audit that tells of it."""
        ...

    async def drop_secret(self, user: UserId, name: str, *, fact: AuditFact | None = None) -> None: ...

    async def secrets(self, name: str) -> Sequence[tuple[UserId, bytes]]:
        """Everybody's of this name: what a change of keys has to seal anew."""
        ...

    async def session(self, digest: str) -> BrowserSession | None:
        """The session whose cookie has this digest, ended and expired ones included."""
        ...

    async def sessions(self, user: UserId) -> Sequence[BrowserSession]:
        """A user's sessions, newest first, ended and expired ones included."""
        ...

    async def owed(self) -> Sequence[RunRow]:
        """Open runs that a driver has work for, oldest first."""
        ...

    async def due(self, now: Instant) -> Sequence[RunId]:
        """Open runs whose wake_at has come."""
        ...

    async def next_wake(self) -> Instant | None: ...

    async def erase(self, thread_id: ThreadId) -> None:
        """Drop the content of a thread and its runs. The ThreadErased event is committed before; this is repeatable."""
        ...

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
        """Entries numbered above `after` and below `before`, from the low end, or with `newest_first` from the high."""
        ...

    async def verify_audit(self) -> AuditReport:
        """Walk all of it, and name whatever is wrong."""
        ...

    async def sign_head(self) -> str:
        """The chain's end as a signed line of JSON, to be kept elsewhere. Empty where there is nothing to sign."""
        ...

    async def verify_part(self, seq: int, own: str, limit: int) -> AuditPart:
        """Walk so many entries after this one, which must still be there with this hash.

        Where that is the end, the last heads must agree.
        """
        ...

    async def latest(self, *, is_live: bool) -> Instant:
        """The latest moment that was written down, give or take a second; if it `is_live`, at least its server's time,
        and where there is no server, with the time that this machine has been up since.

        No clock of a process that writes may be behind it.
        """
        ...

    def digest(self, text: str) -> str:
        """64 hexadecimal digits that stand for a text: the same for everybody who has the store's key, and no other."""
        ...

    async def restored(self) -> str:
        """Why the store takes no writes: it is an older state of itself, or a copy. Empty where it is neither."""
        ...

    async def begin_lineage(self) -> None:
        """Let the chain of a restored store go on from its last entry under a new name. Still it takes no writes."""
        ...

    async def trust(self) -> None:
        """The store is adopted: it is the one to go on with, here and as it is."""
        ...

    async def open_runs(self) -> Sequence[RunRow]:
        """Every run that has not ended, oldest first."""
        ...

    async def workers(self) -> int | None:
        """How many processes do nothing but drive runs; None where every process drives its own."""
        ...

    def enlist(self) -> str:
        """A driver's name, alive until this process ends."""
        ...

    async def is_alive(self, driver: str) -> bool:
        """Whether the process behind a driver's name still lives."""
        ...

    async def changed_elsewhere(self) -> News:
        """What other processes have committed to runs since the last time, waiting for the first.

        Never returns where no other process can.
        """
        ...

    async def versions(self, run_ids: Sequence[RunId]) -> dict[RunId, int]:
        """How many events each of these runs has now."""
        ...


class Drivers(Protocol):
    """What a dispatcher may ask of a process that drives."""

    async def wake(self, run_id: RunId) -> None:
        """Drive the run, if it has work and no live driver."""
        ...

    async def drive(self, run_id: RunId) -> None:
        """Tell the run the time, drive it, and return when it needs no driver any more.

        For a dispatcher that knows that nobody else is at it: whoever drove it before, alive or not, has left it.
        """
        ...

    async def tick(self, run_id: RunId) -> None:
        """Tell the run what time it is, if it cares."""
        ...

    async def tick_due(self) -> int:
        """Tell every run whose time has come."""
        ...


class Dispatcher(Protocol):
    """Decides where a run is driven, and remembers when the clock must look at it again."""

    @property
    def drives_here(self) -> bool:
        """Whether the process that leaves work owed takes it on itself."""
        ...

    async def open(self, profiles: Mapping[str, Profile]) -> None:
        """Be ready for wakes of runs of these profiles. Raises StoreError."""
        ...

    async def serve(self, drivers: "Drivers") -> None:
        """Bring wakes to this process's drivers, until cancelled."""
        ...

    def wake(self, run_id: RunId) -> None:
        """The run has work owed and nobody here is at it."""
        ...

    def wake_at(self, run_id: RunId, moment: Instant) -> None:
        """The clock moves this run at that moment, if nothing else did before."""
        ...

    def stop(self) -> None:
        """Bring no more wakes here. What is being driven goes on."""
        ...


class Clock(Protocol):
    """Time and waiting, so that tests need neither."""

    def now(self) -> Instant: ...

    async def sleep_until(self, moment: Instant) -> None: ...


class Ids(Protocol):
    """Where fresh ids come from."""

    def run_id(self) -> RunId: ...

    def thread_id(self) -> ThreadId: ...
