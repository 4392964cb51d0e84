"""The driver keeps the set of effects in flight equal to what is owed, after every commit, whoever made it.

Late approvals, cancellation, stricter decisions and other writers need no code of their own. The crew owns the drivers
of one engine: the work goes on in its tasks, so a caller who leaves stops nothing.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from contextlib import suppress
from dataclasses import field
from functools import reduce
from typing import Any, TypeVar, assert_never

from pollux.core.effects import Authorize, CallModel, Compress, Effect, Key, Reconcile, RunTool
from pollux.core.errors import Draining, Misfit, StoreError, TooNew, ValidationError
from pollux.core.events import Event, RunClaimed
from pollux.core.frozen import frozen
from pollux.core.ids import RunId, UserId
from pollux.core.machine import key_of, pending, step, wake_at
from pollux.core.messages import NO_USAGE
from pollux.core.run import Action, Run
from pollux.engine import perform
from pollux.engine.compress import compress, refused
from pollux.engine.feed import Feed, do_nothing
from pollux.engine.gate import Followed, Gate
from pollux.engine.introduction import Introductions, of_accounts
from pollux.engine.ledger import Facts, Ledger, patiently, pause
from pollux.engine.logs import log_of
from pollux.engine.model import ModelRequest, Provider, Providers, Turns
from pollux.engine.ports import Dispatcher
from pollux.engine.reach import AtWork

logger = log_of(__name__)

STOP_SECONDS = 2.0
"""How long a stopped tool has to end by itself."""
CLOSE_SECONDS = 0.5
"""How long a closing engine waits for those it has told to stop."""
CATCH_UP = Key(0, "catch-up", "", 0)

Work = Coroutine[Any, Any, None]
OnEnd = Callable[[Run], Awaitable[None]]
HearChildren = Callable[[RunId], Awaitable[None]]
T = TypeVar("T")


@frozen
class Means:
    """What effects are performed with."""

    ledger: Ledger
    gate: Gate
    providers: Providers
    instruct: perform.Instruct
    introductions: Introductions = field(default_factory=Introductions)


class Driver:
    """One run's effects in flight. `keep_up` is called after every commit; `on_idle` when nothing is left to do."""

    __slots__ = ("_everything", "_means", "_on_idle", "_reporting", "_stopping", "_tasks", "feed")

    def __init__(
        self, means: Means, feed: Feed, everything: set[asyncio.Task[None]], on_idle: Callable[["Driver", bool], None]
    ) -> None:
        self.feed = feed
        self._means = means
        self._everything = everything
        """The owner's list of all tasks, of tools that were abandoned too: none is out of reach when it closes."""
        self._on_idle = on_idle
        self._tasks: dict[Key, asyncio.Task[None]] = {}
        self._stopping: set[Key] = set()
        self._reporting: set[Key] = set()

    def keep_up(self) -> None:
        """Stop what is no longer owed, start what is."""
        run = self.feed.run
        if run.driver != self._means.gate.name:
            self._lose()
            return
        owed = {key_of(effect): effect for effect in pending(run)}
        for key in self._tasks.keys() - owed.keys():
            # What is being reported has happened: it is past stopping.
            if key not in self._stopping and key not in self._reporting:
                self._stop(key)
        for key, effect in owed.items():
            if not _is_begun(effect):
                self._launch(CATCH_UP, self._catch_up)
            elif key not in self._tasks:
                self._launch(key, lambda key=key, effect=effect: self._perform(key, effect))
        self._rest()

    # Tasks: one for each effect, and one for each stopped tool.

    def _launch(self, key: Key, work: Callable[[], Work]) -> None:
        if key in self._tasks:
            return
        task = self._tasks[key] = asyncio.create_task(work())
        self._everything.add(task)
        task.add_done_callback(lambda task: self._over(key, task))

    def _over(self, key: Key, task: asyncio.Task[None]) -> None:
        self._everything.discard(task)
        problem = None if task.cancelled() else task.exception()
        if isinstance(problem, Draining):
            logger.warning("an abandoned tool ended after its engine: %s", problem)
        elif isinstance(problem, TooNew):
            # As after a crash: whoever can read what was written goes on from what the journal knows.
            logger.warning("run %s is left to a newer process: %s", self.feed.run.id, problem)
            self._on_idle(self, True)
        elif problem is not None:
            # The run stays as the journal has it, and is taken up again after a while.
            logger.error("an effect failed in a way it should not", exc_info=problem)
            self._on_idle(self, True)
        if self._tasks.get(key) is task:
            del self._tasks[key]
            self._stopping.discard(key)
            self._reporting.discard(key)
            self._rest()

    def _rest(self) -> None:
        if (
            not self._tasks
            and not self.feed.told
            and (self.feed.run.driver != self._means.gate.name or not pending(self.feed.run))
        ):
            self._on_idle(self, False)

    def _stop(self, key: Key) -> None:
        self._stopping.add(key)
        task = self._tasks[key]
        task.cancel()
        if key.kind == "tool":
            burial = key._replace(kind="burial")
            self._reporting.add(burial)
            self._launch(burial, lambda: self._bury(key, task))

    def _lose(self) -> None:
        """Another driver has the run. Tools under way may finish and tell the truth; the rest stops."""
        for key, task in self._tasks.items():
            if key.kind != "tool" and key not in self._reporting:
                task.cancel()
        self._rest()

    # What the tasks do.

    async def _perform(self, key: Key, effect: Effect) -> None:
        run, now = self.feed.run, self._means.gate.clock.now
        try:
            event = await self._event_of(run, effect)
        except Misfit as problem:
            logger.info("while a tool waited for the store, another driver has taken it over: %s", problem)
            return
        except asyncio.CancelledError:
            if key not in self._stopping or not isinstance(effect, RunTool):
                raise
            # As it is now: what the tool noted before it was stopped tells where to look.
            action = _action(self.feed.run, effect)
            event = await perform.stopped(self.feed.run, action, self._means.gate.toolbox.get(action.tool), now)
        self._reporting.add(key)
        try:
            await self._means.ledger.append(self.feed, just(event), Followed(self._means.gate), patient=True)
        except (Misfit, ValidationError) as problem:
            # The run went on without it: superseded, cancelled, or claimed and started again elsewhere. Or the model's
            # words are none that can be written down.
            logger.info("an effect's report did not fit", exc_info=problem)
            if any(key_of(owed) == key for owed in pending(self.feed.run)):
                match effect:
                    case CallModel():
                        await self._record(perform.unfit(run, now()))
                    case Compress():
                        await self._record(refused(run, "failed", NO_USAGE, now()))
                    case _:
                        raise

    async def _bury(self, key: Key, task: asyncio.Task[None]) -> None:
        """A stopped tool gets two seconds; then it is recorded as stopped, and its late result as what it is."""
        await asyncio.wait({task}, timeout=STOP_SECONDS)
        action = self.feed.run.action(key.call)
        if action is None or not action.is_in_flight:
            return
        if not task.done():
            # It goes on without a driver; the feed stays for its late result.
            self._tasks.pop(key, None)
            self._means.ledger.keep(self.feed)
            task.add_done_callback(lambda _: self._means.ledger.release(self.feed))
        try:
            await self._record(await perform.stopped(self.feed.run, action, None, self._means.gate.clock.now))
        except Misfit as misfit:
            logger.info("a stopped tool reported after all: %s", misfit)

    async def _catch_up(self) -> None:
        """Decide and announce what became owed through somebody else's commit."""
        self._reporting.add(CATCH_UP)
        await self._record()

    async def _event_of(self, run: Run, effect: Effect) -> Event:
        gate, now = self._means.gate, self._means.gate.clock.now
        match effect:
            case CallModel():
                return await perform.call_model(run, lambda: self._patient_request(run), self.feed, now)
            case RunTool():
                action = _action(run, effect)
                reach = AtWork(self._means.ledger, gate, self.feed, action)
                tool = gate.toolbox.informed(action.tool, action.call.facts)
                return await perform.run_tool(run, action, tool, reach, now, lambda: self.feed.run)
            case Reconcile():
                action = _action(run, effect)
                return await perform.reconcile(run, action, gate.toolbox.get(action.tool), now)
            case Compress():
                return await compress(run, lambda: self._means.providers(run.model), await self._turns(run), now)
            case Authorize():
                raise AssertionError("decisions are made before the commit, not as work")
            case _:
                assert_never(effect)

    async def _patient_request(self, run: Run) -> tuple[Provider, ModelRequest]:
        """The request, once the store serves. Raises StoreError where this alone goes on failing."""
        for tries in range(perform.MOST_AGAIN):
            try:
                return await self._request(run)
            except StoreError as problem:
                await pause(tries, problem)
                await patiently(lambda: self._means.ledger.store.versions([run.id]))
        return await self._request(run)

    async def _request(self, run: Run) -> tuple[Provider, ModelRequest]:
        means, feed = self._means, self.feed
        profile = means.gate.profile_of(run)
        system, tools = await perform.instructions(means.instruct(run, profile)), await means.gate.tools_for(run)
        if profile.persona and not (run.page or run.instructions):
            rules = means.gate.offer_of(run)[1]
            system = means.introductions.before(system, run=run, tools=tools, rules=rules)
        if len(tools) < len(offered := means.gate.offer_of(run)[0]):
            hidden = {spec.name for spec in offered} - {spec.name for spec in tools}
            system += await of_accounts(means.gate.toolbox.personal, hidden, run.user)
        request = perform.request_for(
            run,
            profile,
            system=system,
            turns=await self._turns(run),
            tools=tools,
            stream=feed.live or means.ledger.is_watched(feed),
        )
        return means.providers(run.model), request

    async def _turns(self, run: Run) -> Turns:
        if self.feed.turns is None:
            self.feed.turns = await patiently(lambda: perform.load_turns(run, self._means.ledger.store))
        return self.feed.turns

    async def _record(self, *events: Event) -> None:
        """Write what happened. A store in trouble is waited for: the fact exists whether or not it can be written."""
        await self._means.ledger.append(self.feed, just(*events), Followed(self._means.gate), patient=True)


class Crew:
    """The drivers and tasks of one engine. `on_end` is told of every child run that ended here, `again` of failures."""

    def __init__(
        self, means: Means, dispatcher: Dispatcher, on_end: OnEnd, again: Callable[[RunId], Awaitable[None]]
    ) -> None:
        self._means = means
        self._again = again
        self._ledger = means.ledger
        self._drivers: set[Driver] = set()
        self._effects: set[asyncio.Task[None]] = set()
        self._dispatcher = dispatcher
        self._on_end = on_end
        self._tasks: set[asyncio.Future[Any]] = set()
        self._beginning: set[asyncio.Task[Any]] = set()
        self._leaving = False
        self.go(self._ledger.follow_others())

    async def close(self, grace: float) -> None:
        """Let what is under way go on for a while, then leave the rest to a recovery."""
        self._leaving = True
        self._dispatcher.stop()
        if grace:
            with suppress(TimeoutError):
                async with asyncio.timeout(grace):
                    await self._wait_idle()
        # As a crash would, without a word: the journal knows what was begun. What does not listen is left behind, and
        # nothing is begun any more, whatever is still being written.
        for driver in self._drivers:
            driver.feed.on_move = do_nothing
        tasks = [*self._tasks, *self._effects]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=CLOSE_SECONDS)
        self._ledger.close()

    async def _wait_idle(self) -> None:
        """Return when nothing is driven here. Who has taken a run counts before it has announced anything."""
        while self._beginning or any(feed.driving for feed in self._ledger.feeds):
            if self._beginning:
                await asyncio.wait([*self._beginning])
            for feed in self._ledger.feeds:
                while feed.driving:
                    await feed.wait_moved(feed.run.version)

    async def finish(self, work: Coroutine[None, None, T]) -> T:
        """The work's answer. It goes on to its end, also when the caller leaves before: a commit is never half told."""
        if self._ledger.store.is_instant:
            return await work
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            if task.cancelled() and self._leaving:
                raise Draining("this process stopped before the answer was known; ask again") from None
            raise

    async def tell(self, run_id: RunId, facts: Facts, user: UserId | None = None) -> Run:
        """Record facts from outside: people, pages, clocks. Whatever they leave owed is taken care of.

        With a `user`, NotFound is raised for somebody else's run.
        """
        feed = await self._ledger.acquire(run_id, is_fresh=True, user=user)
        try:
            run = await self._told(feed, facts)
            self.attend(feed)
            return run
        finally:
            self._ledger.release(feed)

    async def _told(self, feed: Feed, facts: Facts) -> Run:
        # A driver that is here stays until we are through: what is announced for it, it begins.
        feed.told += 1
        try:
            follow = Followed(self._means.gate, is_driven=self._dispatcher.drives_here or feed.driving)
            return await self._ledger.append(feed, self._claiming(feed, facts), follow)
        finally:
            feed.told -= 1
            feed.on_move()

    async def drive(self, run_id: RunId, facts: Facts, hear_children: HearChildren) -> Run:
        """Record facts, drive the run here, and return when it needs us no more. Nobody else is at it.

        Raises Draining once this process is stopping.
        """
        if self._leaving:
            raise Draining("this process is stopping; another drives the run")
        task = asyncio.current_task()
        assert task is not None
        self._beginning.add(task)
        try:
            return await self._drive(run_id, facts, hear_children)
        finally:
            self._beginning.discard(task)

    async def _drive(self, run_id: RunId, facts: Facts, hear_children: HearChildren) -> Run:
        feed = await self._ledger.acquire(run_id, is_fresh=True)
        try:
            if any(action.where == "child" for action in feed.run.open):
                await hear_children(run_id)
            claimed = self._claiming(feed, facts, is_alone=True)
            # Whoever watches does so from elsewhere, and may come late: the text so far is there for them.
            feed.live = True
            run = await self._ledger.append(feed, claimed, Followed(self._means.gate))
            if not pending(run):
                self.attend(feed)
            elif run.driver == self._means.gate.name and not feed.driving:
                self._spawn(feed)
            # A tool of a run that another has claimed may go on here for long.
            while feed.driving and feed.run.driver == self._means.gate.name:
                await feed.wait_moved(feed.run.version)
            if run.driver == self._means.gate.name and _needs_driver(feed.run):
                # Its driver gave up. Where the reason is that others wrote what is too new for us, this says so.
                await self._ledger.catch_up(feed)
            return feed.run
        except Draining:
            if not self._ledger.is_closed:
                await self._ledger.catch_up(feed)
            raise
        finally:
            self._ledger.release(feed)

    def attend(self, feed: Feed) -> None:
        """Whatever the run needs now: a driver here, a driver elsewhere, a look at the clock, or its parent told."""
        run = feed.run
        if pending(run) and not feed.driving:
            if not self._dispatcher.drives_here:
                # Also where the last driver was ours: whoever drives next is for the dispatcher to say.
                self._dispatcher.wake(run.id)
                self._ledger.linger(feed)
            elif run.driver == self._means.gate.name:
                self._spawn(feed)
        self._note_time(run)
        if run.ending and run.parent and not feed.driving:
            self.go(self._on_end(run))

    def _note_time(self, run: Run) -> None:
        if (moment := wake_at(run)) is not None:
            self._dispatcher.wake_at(run.id, moment)

    def go(self, work: Coroutine[None, None, None] | Awaitable[None]) -> None:
        """Let it run on after the caller has left."""
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._over)

    def _over(self, task: asyncio.Future[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (problem := task.exception()):
            logger.error("a task of the engine failed", exc_info=problem)

    def _claiming(self, feed: Feed, facts: Facts, *, is_alone: bool = False) -> Facts:
        """The facts, behind a claim when they leave work that nobody alive would do."""

        async def claimed(run: Run) -> Iterable[Event]:
            events = list(await facts(run))
            after = reduce(step, events, run)
            if not _needs_driver(after) or not self._drives(run, is_alone) or await self._is_held(feed, run, is_alone):
                return events
            if feed.turns is None:
                # Before the claim: whoever cannot read what was said before takes nothing on.
                feed.turns = await perform.load_turns(run, self._ledger.store)
            claim = RunClaimed(epoch=run.epoch + 1, driver=self._means.gate.name, at=self._means.gate.clock.now())
            return [claim, *events]

        return claimed

    def _drives(self, run: Run, is_alone: bool) -> bool:
        """Whether its work may be done here: what another agent owes is left to a process that has its tools."""
        return (is_alone or self._dispatcher.drives_here) and self._means.gate.knows(run.profile)

    async def _is_held(self, feed: Feed, run: Run, is_alone: bool) -> bool:
        if is_alone:
            return feed.driving and run.driver == self._means.gate.name
        if not _needs_driver(run):
            # A driver leaves when nothing is owed. Its name is still good for what comes, if it is ours.
            return run.driver == self._means.gate.name
        is_ours = run.driver == self._means.gate.name
        return feed.driving if is_ours else run.epoch > 0 and await self._ledger.store.is_alive(run.driver)

    def _spawn(self, feed: Feed) -> None:
        driver = Driver(self._means, feed, self._effects, self._left)
        self._drivers.add(driver)
        self._ledger.keep(feed)
        feed.driving = True

        def keep_up() -> None:
            driver.keep_up()
            # A question may run out, or a page go away, long before a slow tool beside it has ended.
            self._note_time(feed.run)

        feed.on_move = keep_up
        keep_up()

    def _left(self, driver: Driver, failed: bool) -> None:
        """A driver has nothing left to do, or cannot do it."""
        if driver not in self._drivers:
            return
        self._drivers.discard(driver)
        feed = driver.feed
        feed.on_move = do_nothing
        feed.driving = False
        feed.nudge()
        if failed:
            self.go(self._again(feed.run.id))
        elif not self._leaving:
            self.attend(feed)
        self._ledger.release(feed)


def just(*events: Event) -> Facts:
    """These facts, whatever the run is."""

    async def facts(_: Run) -> Sequence[Event]:
        return events

    return facts


def _is_begun(effect: Effect) -> bool:
    match effect:
        case CallModel(begun=begun) | RunTool(begun=begun):
            return begun
        case Authorize():
            return False
        case Reconcile() | Compress():
            return True
        case _:
            assert_never(effect)


def _action(run: Run, effect: RunTool | Reconcile) -> Action:
    action = run.action(effect.action_id)
    assert action is not None
    return action


def _needs_driver(run: Run) -> bool:
    """Whether it takes a driver to bring the run on: also when all that is left is to end what was in flight."""
    return bool(pending(run)) or (run.is_open and any(action.is_in_flight for action in run.open))
