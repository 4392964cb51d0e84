"""Everything an effect may need, and what follows at once from a run's state."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pollux.core.effects import Authorize, CallModel, RunTool
from pollux.core.events import ActionDecided, Event, ModelCalled
from pollux.core.ids import ActionId
from pollux.core.machine import conclude, pending
from pollux.core.policy import Rule
from pollux.core.profile import Profile
from pollux.core.run import Action, Run
from pollux.core.tools import ToolSpec
from pollux.engine import gate, prompt
from pollux.engine.ledger import Ledger
from pollux.engine.model import Providers
from pollux.engine.ports import Clock
from pollux.engine.toolbox import Toolbox

MAX_OFFERS = 1_000

Offer = tuple[tuple[ToolSpec, ...], tuple[Rule, ...]]


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
    offers: dict[tuple[str, str, str], Offer] = field(default_factory=dict[tuple[str, str, str], Offer])

    def profile_of(self, run: Run) -> Profile:
        """The run's profile. One that is gone offers nothing and allows nothing: default to refusing."""
        return self.profiles.get(run.profile) or Profile(run.profile, rules=(Rule("deny", reason="no such profile"),))

    def offer_of(self, run: Run) -> Offer:
        """The tools that the model hears of, and the rules it is under."""
        # Rules and profiles do not change while an engine lives; working this out is a good part of a short turn.
        key = (run.profile, run.door, run.user)
        known = self.offers.get(key)
        if known is None:
            profile = self.profile_of(run)
            rules = (*self.rules, *profile.rules)
            if len(self.offers) >= MAX_OFFERS:
                self.offers.clear()
            known = self.offers[key] = prompt.offered_tools(run, profile, self.toolbox, rules), rules
        return known

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

    __slots__ = ("_decided", "_now", "_terms", "_world")

    def __init__(self, world: World) -> None:
        self._world = world
        self._terms: gate.Terms | None = None
        self._now = world.clock.now()
        self._decided: set[ActionId] = set()

    async def __call__(self, run: Run) -> Event | None:
        ending = conclude(run, self._now)
        if ending is not None or run.driver != self._world.name:
            return ending
        for effect in pending(run):
            match effect:
                case CallModel(begun=False):
                    return ModelCalled(epoch=run.epoch, turn=run.turn, attempt=run.attempt, at=self._now)
                case Authorize(call=call):
                    decision = gate.authorize(run, call, await self._get_terms(run))
                    if isinstance(decision, ActionDecided):
                        self._decided.add(decision.action.id)
                    return decision
                case RunTool(begun=False, action_id=action_id):
                    # Decided in this very transaction: asking again could only repeat the answer.
                    is_fresh = action_id in self._decided
                    return gate.begin(run, _known(run, action_id), await self._get_terms(run), is_fresh=is_fresh)
                case _:
                    pass
        return None

    async def _get_terms(self, run: Run) -> gate.Terms:
        if self._terms is None:
            self._terms = await self._world.terms_for(run)
        return self._terms


def _known(run: Run, action_id: ActionId) -> Action:
    action = run.action(action_id)
    assert action is not None
    return action
