"""The driver keeps the set of effects in flight equal to what is owed, after every commit, whoever made it.

Late approvals, cancellation, stricter decisions and other writers need no code of their own.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Sequence
from typing import assert_never

from pollux.core.effects import Authorize, CallModel, Compress, Effect, Key, Reconcile, RunTool
from pollux.core.errors import Draining, Misfit
from pollux.core.events import Event
from pollux.core.machine import key_of, pending
from pollux.core.run import Action, Run
from pollux.engine import perform, prompt
from pollux.engine.compress import compress
from pollux.engine.feed import Feed
from pollux.engine.model import ModelRequest, Provider, Turns
from pollux.engine.patience import patiently
from pollux.engine.world import Followed, World

logger = logging.getLogger(__name__)

STOP_SECONDS = 2.0
CATCH_UP = Key(0, "catch-up", "", 0)

Work = Coroutine[None, None, None]


class Driver:
    """One run's effects in flight. `keep_up` is called after every commit; `on_idle` when nothing is left to do."""

    __slots__ = ("_everything", "_on_idle", "_reporting", "_stopping", "_tasks", "_world", "feed")

    def __init__(
        self, world: World, feed: Feed, everything: set[asyncio.Task[None]], on_idle: Callable[["Driver", bool], None]
    ) -> None:
        self.feed = feed
        self._everything = everything
        """The owner's list of all tasks, of tools that were abandoned too: none is out of reach when it closes."""
        self._world = world
        self._on_idle = on_idle
        self._tasks: dict[Key, asyncio.Task[None]] = {}
        self._stopping: set[Key] = set()
        self._reporting: set[Key] = set()

    def keep_up(self) -> None:
        """Stop what is no longer owed, start what is."""
        run = self.feed.run
        if run.driver != self._world.name:
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
        task = self._tasks[key] = asyncio.create_task(self._run(key, work))
        self._everything.add(task)
        task.add_done_callback(lambda task: self._over(key, task))

    async def _run(self, key: Key, work: Callable[[], Work]) -> None:
        try:
            await work()
        except Draining as problem:
            logger.warning("an abandoned tool ended after its engine: %s", problem)
        except Exception:
            # The run stays as the journal has it, and is taken up again after a while.
            logger.exception("an effect failed in a way it should not")
            self._on_idle(self, True)
        self._forget(key)

    def _over(self, key: Key, task: asyncio.Task[None]) -> None:
        # Also for a task that was stopped before it took its first step.
        self._everything.discard(task)
        if self._tasks.get(key) is task:
            self._forget(key)

    def _forget(self, key: Key) -> None:
        self._tasks.pop(key, None)
        self._stopping.discard(key)
        self._reporting.discard(key)
        self._rest()

    def _rest(self) -> None:
        if not self._tasks and (self.feed.run.driver != self._world.name or not pending(self.feed.run)):
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
        run, now = self.feed.run, self._world.clock.now
        try:
            event = await self._event_of(run, effect)
        except asyncio.CancelledError:
            if key not in self._stopping or not isinstance(effect, RunTool):
                raise
            action = _action(run, effect)
            event = await perform.stopped(run, action, self._world.toolbox.get(action.tool), now)
        self._reporting.add(key)
        try:
            await self._record(event)
        except Misfit as misfit:
            # The run went on without it: superseded, cancelled, or claimed and started again elsewhere.
            logger.info("an effect's report did not fit: %s", misfit)
            if isinstance(effect, CallModel) and any(key_of(owed) == key for owed in pending(self.feed.run)):
                await self._record(perform.unfit(run, now()))

    async def _bury(self, key: Key, task: asyncio.Task[None]) -> None:
        """A stopped tool gets two seconds; then it is recorded as stopped, and its late result as what it is."""
        await asyncio.wait({task}, timeout=STOP_SECONDS)
        action = self.feed.run.action(key.call)
        if action is None or not action.is_in_flight:
            return
        if not task.done():
            # It goes on without a driver; the feed stays for its late result.
            self._tasks.pop(key, None)
            self._world.ledger.keep(self.feed)
            task.add_done_callback(lambda _: self._world.ledger.release(self.feed))
        try:
            await self._record(await perform.stopped(self.feed.run, action, None, self._world.clock.now))
        except Misfit as misfit:
            logger.info("a stopped tool reported after all: %s", misfit)

    async def _catch_up(self) -> None:
        """Decide and announce what became owed through somebody else's commit."""
        self._reporting.add(CATCH_UP)
        await self._record()

    async def _event_of(self, run: Run, effect: Effect) -> Event:
        world, now = self._world, self._world.clock.now
        match effect:
            case CallModel():
                return await perform.call_model(run, lambda: self._request(run), self.feed, now)
            case RunTool():
                action = _action(run, effect)
                return await perform.run_tool(run, action, world.toolbox[action.tool], now)
            case Reconcile():
                action = _action(run, effect)
                return await perform.reconcile(run, action, world.toolbox.get(action.tool), now)
            case Compress():
                return await compress(run, lambda: world.providers(run.model), await self._turns(run), now)
            case Authorize():
                raise AssertionError("decisions are made before the commit, not as work")
            case _:
                assert_never(effect)

    async def _request(self, run: Run) -> tuple[Provider, ModelRequest]:
        world, feed = self._world, self.feed
        profile = world.profile_of(run)
        request = prompt.request_for(
            run,
            profile,
            system=await perform.instructions(world.instruct(run, profile)),
            turns=await self._turns(run),
            tools=world.offer_of(run)[0],
            stream=feed.live or bool(feed.watchers),
        )
        return world.providers(run.model), request

    async def _turns(self, run: Run) -> Turns:
        feed = self.feed
        if feed.turns is None:
            feed.turns = await patiently(lambda: prompt.load_turns(run, self._world.ledger.store))
        return feed.turns

    async def _record(self, *events: Event) -> None:
        """Write what happened. A store in trouble is waited for: the fact exists whether or not it can be written."""

        async def facts(_: Run) -> Sequence[Event]:
            return events

        await patiently(lambda: self._world.ledger.append(self.feed, facts, Followed(self._world)))


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
