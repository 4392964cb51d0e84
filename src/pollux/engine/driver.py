"""The driver keeps the set of effects in flight equal to what is owed, after every commit, whoever made it.

Late approvals, cancellation, stricter decisions and other writers need no code of their own.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import assert_never

from pollux.core.effects import Authorize, CallModel, Compress, Effect, Key, Reconcile, RunTool
from pollux.core.errors import Misfit, StoreError
from pollux.core.events import Event, ModelCalled
from pollux.core.machine import conclude, pending
from pollux.core.policy import Rule
from pollux.core.profile import Profile
from pollux.core.run import Action, Run
from pollux.core.tools import ToolSpec
from pollux.engine import gate, perform, prompt
from pollux.engine.compress import compress
from pollux.engine.feed import Feed
from pollux.engine.ledger import Ledger
from pollux.engine.model import ModelRequest, Provider, Providers, Turns
from pollux.engine.ports import Clock
from pollux.engine.toolbox import Toolbox

logger = logging.getLogger(__name__)

STOP_SECONDS = 2.0
STORE_PATIENCE = (0.05, 0.2, 0.5, 1.0, 2.0)


@dataclass(frozen=True, slots=True)
class World:
    """Everything an effect may need."""

    ledger: Ledger
    providers: Providers
    toolbox: Toolbox
    profiles: Mapping[str, Profile]
    rules: Sequence[Rule]
    instruct: prompt.Instruct
    clock: Clock
    name: str
    """Under which name this process claims runs."""

    def profile_of(self, run: Run) -> Profile:
        """The run's profile. One that is gone offers nothing and allows nothing: default to refusing."""
        return self.profiles.get(run.profile) or Profile(run.profile, rules=(Rule("deny", reason="no such profile"),))

    def offer_of(self, run: Run) -> tuple[tuple[ToolSpec, ...], tuple[Rule, ...]]:
        """The tools that the model hears of, and the rules it is under."""
        profile = self.profile_of(run)
        rules = (*self.rules, *profile.rules)
        return prompt.offered_tools(run, profile, self.toolbox, rules), rules

    async def terms_for(self, run: Run) -> gate.Terms:
        specs, rules = self.offer_of(run)
        return gate.Terms(
            toolbox=self.toolbox,
            offered=frozenset(spec.name for spec in specs),
            rules=rules,
            grants=await self.ledger.store.grants(run.user),
            now=self.clock.now(),
        )


class Followed:
    """What follows at once from a state: endings for everybody; decisions and announcements for the driver."""

    __slots__ = ("_now", "_terms", "_world")

    def __init__(self, world: World) -> None:
        self._world = world
        self._terms: gate.Terms | None = None
        self._now = world.clock.now()

    async def __call__(self, run: Run) -> Event | None:
        ending = conclude(run, self._now)
        if ending is not None or run.driver != self._world.name:
            return ending
        for effect in pending(run):
            match effect:
                case CallModel(begun=False):
                    return ModelCalled(epoch=run.epoch, turn=run.turn, attempt=run.attempt, at=self._now)
                case Authorize(call=call):
                    return gate.authorize(run, call, await self._get_terms(run))
                case RunTool(begun=False):
                    return gate.begin(run, _action(run, effect), await self._get_terms(run))
                case _:
                    pass
        return None

    async def _get_terms(self, run: Run) -> gate.Terms:
        if self._terms is None:
            self._terms = await self._world.terms_for(run)
        return self._terms


class Work:
    """The effects of one run that are in flight here."""

    __slots__ = ("ended", "stopping", "tasks")

    def __init__(self) -> None:
        self.tasks: dict[Key, asyncio.Task[None]] = {}
        self.stopping: set[Key] = set()
        self.ended = asyncio.Event()


class Driver:
    """Drives runs: one call of `drive` for each, in a task that the engine owns."""

    def __init__(self, world: World) -> None:
        self._world = world

    async def drive(self, feed: Feed) -> None:
        """Until the run has ended, waits for people or clocks, or belongs to somebody else."""
        work = Work()
        try:
            while True:
                run = feed.run
                if run.driver != self._world.name:
                    await self._lose(work)
                    return
                owed = {effect.key: effect for effect in pending(run)}
                for key in work.tasks.keys() - owed.keys() - work.stopping:
                    self._stop(feed, work, key)
                if any(not _is_begun(effect) for effect in owed.values()):
                    await self._record(feed)
                    continue
                for key, effect in owed.items():
                    if key not in work.tasks:
                        self._launch(feed, work, key, effect)
                if not owed and not work.tasks:
                    return
                await _either(feed, run.version, work)
        finally:
            for task in work.tasks.values():
                task.cancel()

    def _launch(self, feed: Feed, work: Work, key: Key, effect: Effect) -> None:
        task = asyncio.create_task(self._perform(feed, work, key, effect))
        work.tasks[key] = task
        task.add_done_callback(lambda _: _forget(work, key))

    def _stop(self, feed: Feed, work: Work, key: Key) -> None:
        work.stopping.add(key)
        task = work.tasks[key]
        task.cancel()
        if key.kind == "tool":
            burial = asyncio.create_task(self._bury(feed, work, key, task))
            work.tasks[Key(key.turn, "burial", key.call, key.attempt)] = burial
            burial.add_done_callback(lambda _: _forget(work, Key(key.turn, "burial", key.call, key.attempt)))

    async def _bury(self, feed: Feed, work: Work, key: Key, task: asyncio.Task[None]) -> None:
        """A stopped tool gets two seconds; then it is recorded as stopped, and its late result as what it is."""
        done, _ = await asyncio.wait({task}, timeout=STOP_SECONDS)
        if done:
            return
        work.tasks.pop(key, None)
        action = feed.run.action(key.call)
        if action is not None:
            await self._record(feed, await perform.stopped(feed.run, action, None, self._world.clock.now))

    async def _lose(self, work: Work) -> None:
        """Another driver has the run. Tools under way may finish and tell the truth; the rest stops."""
        for key, task in list(work.tasks.items()):
            if key.kind != "tool":
                task.cancel()
        tools = [task for key, task in work.tasks.items() if key.kind == "tool"]
        if tools:
            await asyncio.wait(tools)

    async def _perform(self, feed: Feed, work: Work, key: Key, effect: Effect) -> None:
        run, now = feed.run, self._world.clock.now
        try:
            event = await self._event_of(feed, run, effect)
        except asyncio.CancelledError:
            if key not in work.stopping or not isinstance(effect, RunTool):
                raise
            action = _action(run, effect)
            event = await perform.stopped(run, action, self._world.toolbox.get(action.tool), now)
        try:
            await self._record(feed, event)
        except Misfit as misfit:
            # The run went on without it: superseded, cancelled, or claimed and started again elsewhere.
            logger.info("an effect's report came too late: %s", misfit)
        # Before the loop looks again: what has been reported is not to be stopped.
        work.tasks.pop(key, None)

    async def _event_of(self, feed: Feed, run: Run, effect: Effect) -> Event:
        world, now = self._world, self._world.clock.now
        match effect:
            case CallModel():
                return await perform.call_model(run, lambda: self._request(feed, run), feed, now)
            case RunTool():
                action = _action(run, effect)
                return await perform.run_tool(run, action, world.toolbox[action.tool], now)
            case Reconcile():
                action = _action(run, effect)
                return await perform.reconcile(run, action, world.toolbox.get(action.tool), now)
            case Compress():
                return await compress(run, lambda: world.providers(run.model), await self._turns(feed, run), now)
            case Authorize():
                raise AssertionError("decisions are made before the commit, not as work")
            case _:
                assert_never(effect)

    async def _request(self, feed: Feed, run: Run) -> tuple[Provider, ModelRequest]:
        world = self._world
        profile = world.profile_of(run)
        request = prompt.request_for(
            run,
            profile,
            system=await world.instruct(run, profile),
            turns=await self._turns(feed, run),
            tools=world.offer_of(run)[0],
            stream=feed.live or bool(feed.watchers),
        )
        return world.providers(run.model), request

    async def _turns(self, feed: Feed, run: Run) -> Turns:
        if feed.turns is None:
            feed.turns = await prompt.load_turns(run, self._world.ledger.store)
        return feed.turns

    async def _record(self, feed: Feed, *events: Event) -> None:
        """Write what happened. A store in trouble is waited for: the fact exists whether or not it can be written."""

        async def facts(_: Run) -> Sequence[Event]:
            return events

        tries = 0
        while True:
            try:
                await self._world.ledger.append(feed, facts, Followed(self._world))
                return
            except StoreError:
                logger.warning("the store did not take a fact; trying again", exc_info=tries == 0)
                await asyncio.sleep(STORE_PATIENCE[min(tries, len(STORE_PATIENCE) - 1)])
                tries += 1


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


def _forget(work: Work, key: Key) -> None:
    work.tasks.pop(key, None)
    work.stopping.discard(key)
    work.ended.set()


async def _either(feed: Feed, version: int, work: Work) -> None:
    """Wait until the head moves or some work ends."""
    work.ended.clear()
    feed.on_move = work.ended.set
    if feed.run.version == version:
        await work.ended.wait()
