"""The engine: the verbs that a door may call. They commit and return, or raise, at once; the work goes on behind."""

import asyncio
import logging
import secrets
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import count
from types import TracebackType
from typing import Any, Literal, Self

from pollux.core.errors import (
    Conflict,
    Draining,
    Misfit,
    NotFound,
    PolicyError,
    StoreError,
    ThreadBusy,
    ValidationError,
)
from pollux.core.events import (
    ActionCompleted,
    ActionDecided,
    ActionFailed,
    ActionSettled,
    ApprovalResolved,
    CancelRequested,
    Event,
    PageShown,
    RunClaimed,
    RunStarted,
)
from pollux.core.ids import ActionId, ApprovalId, GrantId, RunId, ThreadId, UserId
from pollux.core.machine import pending
from pollux.core.messages import JSON
from pollux.core.messages import user as user_message
from pollux.core.page import Page
from pollux.core.policy import SCOPES, Rule, Scope
from pollux.core.profile import Profile
from pollux.core.run import Action, CancelReason, Run, run_of, within_parents
from pollux.core.thread import MessagesImported, Thread, ThreadEvent, ThreadOpened, provenance_of, step_thread
from pollux.core.tools import Tool
from pollux.engine import gate, perform
from pollux.engine.driver import Means, just
from pollux.engine.feed import Item
from pollux.engine.ledger import Facts, Ledger, patiently
from pollux.engine.model import Providers
from pollux.engine.perform import plain
from pollux.engine.ports import NOTHING, AuditFact, Change, Clock, Dispatcher, Ids, Store
from pollux.engine.queries import Queries, failure_code, told_by
from pollux.engine.recovery import Recovery
from pollux.engine.start import Start
from pollux.engine.system import steadied
from pollux.engine.threads import Threads
from pollux.engine.watch import watch_feed

logger = logging.getLogger(__name__)

SUPERSEDE_SECONDS = 10.0
START_ATTEMPTS = 5


class Engine:
    """Runs models with tools under a policy. Use as `async with Engine(...) as engine`."""

    def __init__(
        self,
        *,
        store: Store,
        providers: Providers,
        tools: Iterable[Tool] = (),
        profiles: Mapping[str, Profile] | None = None,
        rules: Sequence[Rule] = (),
        instruct: perform.Instruct = perform.fixed_instructions,
        clock: Clock | None = None,
        ids: Ids | None = None,
        dispatcher: Dispatcher,
    ) -> None:
        self._store = store
        self._providers = providers
        self.toolbox = gate.Toolbox(tools)
        self.profiles = dict(profiles) if profiles is not None else {"default": _everything(self.toolbox)}
        self._rules = tuple(rules)
        self._instruct = instruct
        self.clock = steadied(clock)
        self._ids = ids or RandomIds()
        self._dispatcher = dispatcher
        self._is_open = False
        self._draining = False
        self.queries = Queries(store)
        self.threads = Threads(store, self.clock, self._ids)

    async def __aenter__(self) -> Self:
        await self._store.open()
        self.clock.not_before(await self._store.latest(is_live=self.clock.is_live))
        await self._dispatcher.open(self.profiles)
        self._ledger = Ledger(self._store)
        self._name = self._store.enlist()
        self._gate = gate.Gate(
            toolbox=self.toolbox,
            profiles=self.profiles,
            rules=self._rules,
            store=self._store,
            clock=self.clock,
            name=self._name,
        )
        means = Means(self._ledger, self._gate, self._providers, self._instruct)
        self._recovery = Recovery(means, self._dispatcher, self._answer_parent, self._drop)
        self._crew = self._recovery.crew
        self._is_open = True
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self, grace: float = 0) -> None:
        """Take no new work, let what is under way go on for `grace` seconds, then leave the rest to a recovery."""
        self._draining = True
        if self._is_open:
            await self._recovery.close(grace)
        await self._store.close()

    @property
    def is_draining(self) -> bool:
        """Whether it takes no new work any more."""
        return self._draining

    async def check_store(self, seconds: float, *users: UserId) -> None:
        """See that the store takes writes, and that these users' runs can be decided on. Raises StoreError."""
        try:
            async with asyncio.timeout(seconds):
                await asyncio.gather(self._store.commit(NOTHING), *map(self._store.grants, self._ledger.stuck(*users)))
        except TimeoutError:
            raise StoreError(f"the store did not serve within {seconds:g} seconds") from None

    # Verbs.

    async def start(self, start: Start) -> Run:
        """Accept a prompt into a thread and set the run going.

        Raises:
            NotFound: the thread is unknown or somebody else's; so is the profile.
            ThreadBusy: the thread has an open run, and `supersede` was not asked for, or that is this very run.
            Conflict: a run of this id began before. Nothing was changed.
        """
        if self._draining:
            raise Draining("this process is stopping; ask another, or try again soon")
        if not self._is_open:
            raise ValidationError("the engine is not open yet. Use it as `async with Engine(...) as engine`")
        for attempt in count(1):
            await self._refuse_repetition(start)
            try:
                return await self._crew.finish(self._start(start))
            except Conflict:
                # Another process's whole run came in between: the thread has moved on, and may be free again.
                if attempt == START_ATTEMPTS:
                    raise
        raise AssertionError("unreachable")

    async def resolve(
        self,
        approval_id: str,
        decision: Literal["approved", "rejected"],
        *,
        by: str,
        user: UserId | None = None,
        feedback: str = "",
        scope: Scope | None = None,
        args_hash: str | None = None,
    ) -> Run:
        """A person's answer to an approval, taken once.

        Raises:
            NotFound: there is no such approval for this user.
            Misfit: it cannot be answered any more, or an approval came to nothing (`policy_changed`).
        """
        # A word that is neither would close the question and leave the action without an answer for ever.
        _one_of("decision", decision, ("approved", "rejected"))
        _one_of("scope", scope, (None, *SCOPES))
        against: ActionDecided | str = ""

        async def facts(run: Run) -> Sequence[Event]:
            nonlocal against
            action = run.action_of_approval(approval_id)
            if action is None or action.approval is None or user not in (None, run.user):
                raise NotFound("")
            if args_hash is not None and args_hash != action.args_hash:
                raise Misfit("the arguments are not the ones you were shown", code="args_changed")
            against = await self._gate.reconsidered(run, action) if decision == "approved" else ""
            if isinstance(against, ActionDecided):
                return [against]
            given = action.approval.scope_for(scope) if scope else None
            about: Any = {"approval_id": ApprovalId(approval_id), "at": self.clock.now()}
            return [ApprovalResolved(decision=decision, by=by, feedback=feedback, scope=given, **about)]

        try:
            run = await self._tell(run_of(approval_id), facts, user)
        except NotFound:
            # Unknown, erased or somebody else's: in the same words.
            raise NotFound(f"there is no approval {approval_id!r}") from None
        except Misfit as problem:
            if problem.code == "expired":
                # Written down, so that it stays so whatever the clock shows to whoever asks next.
                await self._crew.finish(self._recovery.take_time(run_of(approval_id)))
            raise
        if isinstance(against, ActionDecided):
            asked = against.action.approval
            then = f"Review the new request {asked.id}" if asked else "The policy has decided about it again"
            against = f"the tool has changed since you were asked. {then}"
        if against:
            raise Misfit(f"nothing ran: {against}", code="policy_changed")
        return run

    async def edit(self, approval_id: str, args: dict[str, JSON], *, by: str, user: UserId | None = None) -> Action:
        """Other arguments for a call that waits: a new action with a new approval; the old one is superseded.

        Raises:
            ValidationError: the arguments do not fit the tool.
            PolicyError: the policy forbids them.
        """
        asked = await self.queries.run(run_of(approval_id), user)
        old = asked.action_of_approval(approval_id)
        if old is None:
            raise NotFound(f"there is no approval {approval_id!r}")
        if old.asker:
            raise ValidationError("what a tool asked for cannot be edited: approve it as it is, or reject it")
        prepared = self._gate.toolbox_of(asked).prepare(old.tool, args, old.call.facts)

        async def facts(run: Run) -> Sequence[Event]:
            decided = gate.revised(run, old, prepared, await self._gate.terms_for(run), by=by)
            new = decided.action
            if new.decision and new.decision.mode == "deny":
                raise PolicyError(f"the policy forbids these arguments: {new.decision.reason}")
            return [decided]

        run = await self._tell(run_of(approval_id), facts)
        return next(a for a in reversed(run.actions) if a.call.id == old.call.id and a.id != old.id)

    async def show(self, run_id: RunId, page: Page, *, user: UserId | None = None) -> Run:
        """The run's page shows something else now, or offers other tools.

        Raises:
            Misfit: the run has ended.
        """
        await self.queries.run(run_id, user)
        return await self._tell(run_id, just(PageShown(page=page, at=self.clock.now())))

    async def submit(
        self,
        action_id_: str,
        result: object,
        *,
        user: UserId | None = None,
        error: str | None = None,
        code: str = "tool_call_failure",
        sources: Iterable[str] = (),
    ) -> Run:
        """The answer of a page or a child run to its action, or what went wrong; and whose words a child has read."""
        action = await self._action(action_id_, user)
        if action.started is None or action.where == "here":
            raise Misfit(f"submit needs action {action_id_!r} to wait for an answer, but it is {action.status}")
        said = plain(result)

        async def facts(run: Run) -> Sequence[Event]:
            # Of the attempt that is the last when this is written: a recovery may have begun another one meanwhile.
            last = (run.action(action.id) or action).started
            assert last is not None
            about: Any = {"epoch": last.epoch, "action_id": action.id, "attempt": last.attempt, "at": self.clock.now()}
            about["sources"] = tuple(sorted(sources))
            if error is None:
                return [ActionCompleted(result=said, **about)]
            return [ActionFailed(code=code, message=error, **about)]

        return await self._tell(run_of(action_id_), facts)

    async def settle(
        self, action_id_: str, outcome: Literal["done", "not_done"], *, by: str, user: UserId | None = None
    ) -> Run:
        """A person found out what became of an action whose outcome was unknown."""
        _one_of("outcome", outcome, ("done", "not_done"))
        action = await self._action(action_id_, user)
        event = ActionSettled(action_id=action.id, outcome=outcome, by=by, at=self.clock.now())
        return await self._tell(run_of(action_id_), just(event))

    async def revoke(self, grant_id: str, *, user: UserId, by: str) -> None:
        """Take a grant back. Actions it allowed and that have not begun are stopped."""
        grant = next((g for g in await self._store.grants(user) if g.id == grant_id), None)
        if grant is None:
            raise NotFound(f"there is no grant {grant_id!r}")
        fact = AuditFact(at=self.clock.now(), kind="revoked", user=grant.user, tool_name=grant.tool, by=by)
        await self._store.commit(Change(revoked=(GrantId(grant.id),), audit=(fact,)))

    async def cancel(self, run_id: RunId, *, by: str, user: UserId | None = None, reason: CancelReason = "user") -> Run:
        """Stop the run and its children. Returns at once; what is in flight ends first."""
        await self.queries.run(run_id, user)
        return await self._crew.finish(self._cancel(run_id, by, reason))

    async def watch(self, run_id: RunId, *, after: int = 0, user: UserId | None = None) -> AsyncGenerator[Item]:
        """The journal from there on, the open turn's text so far, then what happens, until the run has ended."""
        if user is not None:
            await self.queries.run(run_id, user)
        feed = await self._ledger.acquire(run_id)
        try:
            async for item in watch_feed(feed, self._store, after):
                yield item
        finally:
            self._ledger.release(feed)

    async def wait_settled(
        self,
        run_id: RunId,
        *,
        seconds: float | None = None,
        user: UserId | None = None,
        through_retries: bool = True,
    ) -> Run:
        """The run once it has ended or waits for people. Or as it is after that time.

        A run that will ask the model again by itself, after a failed call, goes on, unless `through_retries` says not
        to wait for that.
        """
        if user is not None:
            await self.queries.run(run_id, user)
        feed = await self._ledger.acquire(run_id)
        try:
            async with asyncio.timeout(seconds) if seconds is not None else perform.UNLIMITED:
                while (
                    pending(feed.run)
                    or (through_retries and feed.run.retry_at is not None)
                    or (feed.driving and feed.run.is_open)
                ):
                    await feed.wait_left(feed.run.version)
        except TimeoutError:
            pass
        finally:
            self._ledger.release(feed)
        return feed.run

    async def recover(self, run_id: RunId | None = None) -> int:
        """Take on the runs that nobody alive is driving, and those whose time has come. Returns how many.

        Runs of a profile that this engine does not know are left to one that does. With `run_id`, that run alone.
        """
        return await (self._recovery.recover() if run_id is None else self._recovery.take(run_id))

    # Beginnings, children, and finding things.

    async def _refuse_repetition(self, start: Start) -> None:
        """A run that began before is not begun again; nor may asking for it twice stop it."""
        if start.run_id is None or not await self._store.versions([start.run_id]):
            return
        thread = await self._store.thread(start.thread_id) if start.thread_id else None
        if thread and thread.open_run == start.run_id:
            raise ThreadBusy("the thread has an open run", run_id=start.run_id)
        raise Conflict(f"expected the id of a new run, found {start.run_id!r}, which began before", code="run_exists")

    async def _start(self, start: Start) -> Run:
        profile = self.profiles.get(start.profile)
        if profile is None:
            raise NotFound(f"there is no profile {start.profile!r}")
        if start.run_id is not None and not start.run_id.startswith("run_"):
            # Actions and approvals are named after their run, and lead back to it.
            raise ValidationError(f"expected a run id that begins with 'run_', found {start.run_id!r}")
        thread, thread_events = await self._thread_for(start)
        now = self.clock.now()
        limits = start.limits or profile.limits
        run_id = start.run_id or self._ids.run_id()
        parent = await self.queries.parent(start.parent.run_id, start.user) if start.parent else None
        heard = provenance_of(parent) - {"user"} if parent else ()
        began = RunStarted(
            run_id=run_id,
            thread_id=thread.id,
            user=start.user,
            door=start.door,
            origin=start.origin,
            profile=profile.name,
            model=start.model or profile.model,
            prompt=user_message(start.prompt) if isinstance(start.prompt, str) else start.prompt,
            limits=limits,
            on_reject=profile.on_reject,
            interactive=start.interactive,
            deadline=within_parents(parent, now + limits.seconds if limits.seconds is not None else None),
            parent=start.parent,
            head=thread.head,
            compressed=thread.compressed,
            context_tokens=thread.context_tokens,
            instructions=start.instructions,
            rules=start.rules,
            document=start.document,
            sources=tuple(sorted({*thread.sources, *heard})),
            request=start.request,
            page=start.page,
            keep_seconds=start.keep_seconds,
            restored=start.restored or (parent is not None and parent.restored),
            at=now,
        )
        first: list[Event] = [began]
        if self._dispatcher.drives_here:
            first.append(RunClaimed(epoch=1, driver=self._name, at=now))
        feed = await self._ledger.begin(first, gate.Followed(self._gate), thread=thread, thread_events=thread_events)
        feed.live = start.live
        try:
            self._crew.attend(feed)
            return feed.run
        finally:
            self._ledger.release(feed)

    async def _tell(self, run_id: RunId, facts: Facts, user: UserId | None = None) -> Run:
        return await self._crew.finish(self._crew.tell(run_id, facts, user))

    async def _cancel(self, run_id: RunId, by: str, reason: CancelReason) -> Run:
        run = await self._crew.tell(run_id, just(CancelRequested(by=by, reason=reason, at=self.clock.now())))
        for child in await self._store.children(run_id):
            try:
                await self._cancel(child.run_id, by, "parent")
            except Misfit as misfit:
                logger.info("a child had ended, or was ending: %s", misfit)
        return run

    async def _answer_parent(self, run: Run) -> None:
        assert run.parent is not None and run.ending is not None
        action, failed = run.parent.action_id, run.ending.status != "completed"
        error, code = (run.ending.message, failure_code(run.ending)) if failed else (None, "")
        heard = provenance_of(run) - {"user"}
        try:
            await patiently(lambda: self.submit(action, told_by(run), error=error, code=code, sources=heard))
        except (Misfit, NotFound) as problem:
            logger.info("a child's end came too late for its parent: %s", problem)

    async def _drop(self, run: Run) -> None:
        """What was said in the run has been kept for as long as it was to be: its first fact says how long."""
        await self._store.erase(run.thread_id)

    async def _thread_for(self, start: Start) -> tuple[Thread, tuple[ThreadEvent, ...]]:
        # An id that a new thread is to have may be somebody else's: that is no new one.
        owner = None if start.create else start.user
        thread = await self._store.thread(start.thread_id, owner) if start.thread_id else None
        if thread is None and (start.thread_id is None or start.create):
            return self._new_thread(start)
        if thread is None or thread.user != start.user or thread.erased:
            raise NotFound(f"there is no thread {start.thread_id!r}")
        if thread.open_run is not None:
            if not start.supersede or thread.open_run == start.run_id:
                raise ThreadBusy("the thread has an open run", run_id=thread.open_run)
            await self._supersede(thread.open_run, start.user)
            thread = await self._store.thread(thread.id) or thread
        return thread, ()

    def _new_thread(self, start: Start) -> tuple[Thread, tuple[ThreadEvent, ...]]:
        opened = ThreadOpened(
            thread_id=start.thread_id or self._ids.thread_id(),
            user=start.user,
            title=start.title,
            project=start.project,
            at=self.clock.now(),
        )
        thread = step_thread(None, opened)
        if not start.history:
            return thread, (opened,)
        brought = MessagesImported(messages=start.history, at=opened.at)
        return step_thread(thread, brought), (opened, brought)

    async def _supersede(self, run_id: RunId, by: UserId) -> None:
        try:
            await self.cancel(run_id, by=by, reason="superseded")
        except Misfit:
            pass
        run = await self.wait_settled(run_id, seconds=SUPERSEDE_SECONDS)
        if run.is_open:
            raise ThreadBusy("the open run could not be stopped in time", run_id=run_id)

    async def _action(self, action_id_: str, user: UserId | None) -> Action:
        run = await self.queries.run(run_of(action_id_), user)
        action = run.action(ActionId(action_id_))
        if action is None:
            raise NotFound(f"there is no action {action_id_!r}")
        return action


def _one_of(what: str, found: str | None, expected: tuple[str | None, ...]) -> None:
    if found not in expected:
        known = " or ".join(repr(word) for word in expected)
        raise ValidationError(f"expected {what} to be {known}, found {found!r}")


def _everything(toolbox: gate.Toolbox) -> Profile:
    return replace(Profile(), tools=tuple(toolbox))


class RandomIds:
    """Ids that nobody can guess."""

    def run_id(self) -> RunId:
        return RunId("run_" + secrets.token_hex(16))

    def thread_id(self) -> ThreadId:
        return ThreadId("thr_" + secrets.token_hex(16))
