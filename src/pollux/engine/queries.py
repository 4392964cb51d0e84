"""Questions about what is stored. Every one carries the owner; somebody else's things look like unknown ones."""

from collections.abc import AsyncGenerator, Collection, Sequence
from dataclasses import replace
from typing import Final

from pollux.core.errors import Misfit, NotFound, TooNew
from pollux.core.frozen import frozen
from pollux.core.ids import ActionId, Instant, RunId, ThreadId, UserId
from pollux.core.messages import JSON, Blob, Message
from pollux.core.policy import Grant
from pollux.core.run import Action, ApprovalStatus, Ending, Run, RunStatus, run_of
from pollux.core.thread import Thread
from pollux.engine.glance import DayUsage, Spending, unknown_in
from pollux.engine.ports import EVERYTHING, ApprovalRow, AuditEntry, AuditFilter, AuditReport, Recorded, RunRow, Store
from pollux.engine.verification import Verification

PAGE: Final = 200
MOST_RUNS: Final = 10_000
"""How many runs are looked through for what no index knows: some 0.2 ms each, where their rows do not tell."""


@frozen
class Question:
    """What a person is asked: an approval, or what became of an action. The action, and the run it belongs to.

    Without the files that came with the prompt: a list of questions would hold all of them at once.
    """

    run: Run
    action: Action


class Queries:
    """Reads. `user=None` is for those who act for everybody: recovery, the operator's own command line."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._verification = Verification(store)

    async def run(self, run_id: RunId, user: UserId | None = None) -> Run:
        try:
            run = await self._store.run(run_id, user)
        except NotFound:
            # Its content was erased. Nobody learns from that whether it was ever there.
            run = None
        if run is None:
            raise NotFound(f"there is no run {run_id!r}")
        return run

    async def journal(self, run_id: RunId, user: UserId | None = None, *, after: int = 0) -> Sequence[Recorded]:
        await self.run(run_id, user)
        return await self._store.journal(run_id, after)

    async def runs(
        self,
        user: UserId,
        *,
        thread_id: ThreadId | None = None,
        states: Collection[RunStatus] = (),
        limit: int = 25,
        before: str | None = None,
    ) -> Sequence[RunRow]:
        return await self._store.runs(user, thread_id=thread_id, states=states, limit=limit, before=before)

    async def prompts(self, rows: Sequence[RunRow]) -> dict[RunId, str]:
        """The beginnings of what these runs were asked, for whoever was given their rows."""
        return await self._store.prompts(rows)

    async def thread(self, thread_id: ThreadId, user: UserId | None = None) -> Thread:
        thread = await self._store.thread(thread_id, user)
        if thread is None or thread.erased:
            raise NotFound(f"there is no thread {thread_id!r}")
        return thread

    async def threads(self, user: UserId, *, limit: int = 25, before: str | None = None) -> Sequence[Thread]:
        return await self._store.threads(user, limit=limit, before=before)

    async def messages(
        self, thread_id: ThreadId, user: UserId | None = None, *, after: int = 0, limit: int | None = None
    ) -> Sequence[Message]:
        await self.thread(thread_id, user)
        return await self._store.messages(thread_id, after, limit)

    async def approvals(
        self,
        user: UserId,
        *,
        status: ApprovalStatus | None = "pending",
        limit: int = 10,
        before: str | None = None,
    ) -> Sequence[Question]:
        """Newest first. What is shown is read from the run itself: there is no second copy that could differ."""
        found: list[Question] = []
        # As many as were asked for, whatever is passed over: a short page means that there are no more.
        while len(found) < limit:
            rows = await self._store.approvals(user, status=status, limit=limit, before=before)
            found += [question for row in rows if (question := await self._question(row)) is not None]
            if len(rows) < limit:
                break
            before = rows[-1].approval_id
        return found[:limit]

    async def waiting(self, user: UserId, *, most: int) -> int:
        """How many questions wait for a person; there may be more than `most`."""
        return len(await self._store.approvals(user, limit=most))

    async def unknown(self, user: UserId, *, limit: int = 25, before: str | None = None) -> Sequence[Question]:
        """The actions of which nobody knows whether they happened, newest first.

        Of the last `MOST_RUNS` runs, that is, of those that may hold one. `before` is the id of the last one seen; one
        that is not there leads nowhere.
        """
        found: list[Question] = []
        last = None
        if before is not None:
            last = run_of(before)
            left = await self._unknown_after(ActionId(before), last, user)
            if left is None:
                return []
            found += left
        async for run_id in self._unsure(user, last):
            if len(found) >= limit:
                break
            found += await self._unknown_in(run_id)
        return found[:limit]

    async def grants(self, user: UserId) -> Sequence[Grant]:
        return await self._store.grants(user)

    async def spent(self, user: UserId, since: Instant, *, is_prefix: bool = False) -> Spending:
        """The tokens of the runs of this user, or of all whose names begin so, since that moment; see the port."""
        return await self._store.spent(user, since, is_prefix=is_prefix)

    async def usage(self, user: UserId, since: Instant) -> Sequence[DayUsage]:
        """What this user's runs used that began on the day of that moment or later, by day and model."""
        return await self._store.usage(user, since)

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
        return await self._store.audit(
            user=user, after=after, before=before, limit=limit, newest_first=newest_first, only=only
        )

    async def parent(self, run_id: RunId, user: UserId) -> Run:
        """The run that a child is to work for. Raises Misfit where it is to end."""
        found = await self.run(run_id, user)
        if found.ending or found.cancel:
            raise Misfit("expected an open parent run, but this one has ended or is being cancelled", code="run_ended")
        return found

    async def is_restored(self, run: Run) -> bool:
        """Whether what goes on where this run stopped may have been done already: the store was restored since.

        Told by the audit's order, not by clocks: the run's thread was there when a person adopted the store.
        """
        if run.restored:
            return True
        adopted = await self._store.audit(newest_first=True, limit=1, only=AuditFilter(kind="adopted"))
        if not adopted:
            return False
        for row in await self._store.runs(run.user, thread_id=run.thread_id, limit=MOST_RUNS):
            first = await self._store.audit(limit=1, only=AuditFilter(run_id=row.run_id))
            if first and first[0].seq < adopted[0].seq:
                return True
        return False

    def run_id_for(self, *parts: str) -> RunId:
        """The id that these words become: always the same, and nobody without the store's key can work it out."""
        return RunId(self._id_for("run", parts))

    def child_of(self, action_id: str) -> RunId:
        """The run that works on this action, whether or not it has begun."""
        return self.run_id_for("child", action_id)

    def thread_beneath(self, thread_id: ThreadId, block_id: str) -> ThreadId:
        """Where all goes at one block of a thread's document are, whether or not there was any."""
        return ThreadId(self._id_for("thr", (thread_id, block_id)))

    def _id_for(self, kind: str, parts: Sequence[str]) -> str:
        return f"{kind}_{self._store.digest(chr(0).join((kind, *parts)))[:32]}"

    async def verify_audit(self) -> AuditReport:
        """Walk the whole audit."""
        return await self._store.verify_audit()

    async def checked_audit(self) -> AuditReport:
        """The audit as far as it was walked, for whoever may ask as often as they like."""
        return await self._verification.report()

    async def workers(self) -> int | None:
        """How many processes do nothing but drive runs; None where every process drives its own."""
        return await self._store.workers()

    @property
    def store_kind(self) -> str:
        """What remembers, for people."""
        return self._store.kind

    async def _question(self, row: ApprovalRow) -> Question | None:
        try:
            run = await self._store.run(row.run_id)
        except (NotFound, TooNew):
            # Its thread was erased: that there was a question is for the audit alone to tell. Or a newer process asks
            # it: that one also knows what an answer would mean.
            return None
        action = run.action_of_approval(row.approval_id) if run else None
        return Question(_without_files(run), action) if run and action else None

    async def _unsure(self, user: UserId, before: str | None) -> AsyncGenerator[RunId]:
        """The runs that may hold an unknown outcome, newest first."""
        looked = 0
        # A run that was to stop may leave one behind as well. Those that go on may yet find out.
        while looked < MOST_RUNS and (
            page := await self._store.runs(user, states=("failed", "cancelled"), unsure=True, limit=PAGE, before=before)
        ):
            for row in page:
                yield row.run_id
            looked, before = looked + len(page), page[-1].run_id

    async def _unknown_after(self, seen: ActionId, run_id: RunId, user: UserId) -> list[Question] | None:
        """The older ones of the same run; None where there is no such action of this user's."""
        try:
            run = await self.run(run_id, user)
        except (NotFound, TooNew):
            return None
        ids = [action.id for action in run.actions]
        if seen not in ids:
            return None
        older = ids[: ids.index(seen)]
        return [Question(_without_files(run), action) for action in unknown_in(run) if action.id in older]

    async def _unknown_in(self, run_id: RunId) -> list[Question]:
        try:
            run = await self._store.run(run_id)
        except (NotFound, TooNew):
            # Its thread was erased: nobody can say any more what it was about. Or only a newer process can.
            return []
        return [Question(_without_files(run), action) for action in unknown_in(run)] if run else []


def _without_files(run: Run) -> Run:
    if not any(isinstance(part, Blob) for message in run.messages for part in message.parts):
        return run
    return replace(run, messages=tuple(_words(message) for message in run.messages))


def _words(message: Message) -> Message:
    return replace(message, parts=tuple(part for part in message.parts if not isinstance(part, Blob)), native=None)


def told_by(run: Run) -> dict[str, JSON]:
    """What a run that has ended tells the one whose action it answers."""
    assert run.ending is not None
    return {
        "text": run.text,
        "seconds": round(max(run.ending.at - run.created_at, 0), 3),
        "usage": {"input": run.usage.input, "output": run.usage.output},
        **run.finish,
        "actions": [
            {"tool": each.tool, "status": each.status, "approved": each.started is not None, "about": each.preview}
            for each in run.actions
        ],
    }


def failure_code(ending: Ending) -> str:
    """Why the parent's action failed: for the child's own reason, where that is a question to the parent too."""
    passed_on = ("outcome_unknown", "timeout", "cancelled", "auth_error")
    return ending.code if ending.code in passed_on else "tool_call_failure"
