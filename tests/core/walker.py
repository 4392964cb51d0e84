"""An adversarial world for the machine: at every step it offers facts that fit, facts of the past, and bent ones."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, replace
from typing import Any, TypeVar

from tests.core.builders import NOON, SUMMARY, action_for, asked_of, opened, said

from pollux.core.effects import Authorize, CallModel, Compress, Effect, Reconcile, RunTool
from pollux.core.errors import Misfit
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
    ModelCalled,
    ModelFailed,
    ModelReplied,
    RunCancelled,
    RunClaimed,
    RunCompleted,
    RunFailed,
    RunRestored,
    Stop,
    TimeReached,
    ToolObserved,
)
from pollux.core.ids import ActionId
from pollux.core.machine import conclude, pending, step, wake_at
from pollux.core.messages import NO_USAGE, Message, ToolCall, Usage
from pollux.core.policy import Mode
from pollux.core.run import Action, Run
from pollux.core.tools import Repeat, Where

T = TypeVar("T")
Pick = Callable[[int], int]
"""A number below the given one."""

MODES: Sequence[Mode] = ("allow", "allow", "require_approval", "require_approval", "deny")
REPEATS: Sequence[Repeat] = ("once", "repeatable", "keyed", "checkable")
PLACES: Sequence[Where] = ("here", "here", "here", "page", "child")
STOPS: Sequence[Stop] = ("end", "tool_calls", "length", "blocked", "bad_call", "empty", "truncated", "other")
CODES = ("tool_call_failure", "cancelled", "outcome_unknown")


class World:
    """A run in the hands of drivers, people, pages and clocks that do not know of one another."""

    def __init__(self, pick: Pick, **changes: Any) -> None:
        self.pick, self.now, self.serial = pick, NOON, 0
        self.journal: list[Event] = [opened(**changes)]
        self.run = step(None, self.journal[0])
        self._end_if_due()

    def choose(self, options: Sequence[T]) -> T:
        return options[self.pick(len(options))]

    def advance(self) -> tuple[Run, Event] | None:
        """One step. The run before it and the fact it took, or None where the fact was refused."""
        self.now += self.choose((0.0, 1.0, 10.0))
        event, before = self._next(), self.run
        return (before, event) if self._take(event) else None

    def _take(self, event: Event) -> bool:
        try:
            self.run = step(self.run, event)
        except Misfit:
            return False
        self.journal.append(event)
        self._end_if_due()
        return True

    def go_to_work(self) -> None:
        """The shortest way to a tool at work, as far as the run may go it. What asks for others comes up oftener."""
        known: dict[str, Any] = {"epoch": 1, "turn": 1, "attempt": 1, "at": self.now}
        self._take(RunClaimed(epoch=1, driver="d", at=self.now))
        self._take(ModelCalled(**known))
        self._take(ModelReplied(message=self._wish(), stop="tool_calls", usage=NO_USAGE, **known))
        if self.run.calls:
            kind: dict[str, Any] = {**self._kind(), "where": self.choose(("here", "here", "child"))}
            action = action_for(self.run, self.run.calls[0], at=self.now, **kind)
            self._take(ActionDecided(epoch=1, action=action, at=self.now))
            self._take(ActionStarted(epoch=1, action_id=action.id, attempt=1, at=self.now))

    def settle_down(self, bound: int) -> int:
        """Everybody answers what is open. How many facts it took; at most `bound`."""
        for count in range(bound):
            if self.run.ending:
                return count
            self.now += 1
            event = next(self._helpful())
            self.run = step(self.run, event)
            self.journal.append(event)
            self._end_if_due()
        return bound

    def _end_if_due(self) -> None:
        if due := conclude(self.run, self.now):
            self.run = step(self.run, due)
            self.journal.append(due)

    def _next(self) -> Event:
        """Mostly what is owed or open; now and then a clock, a new driver, a fact of the past, or a bent one."""
        kind = self.pick(20)
        if kind == 17:
            return self.choose(self.journal)
        if kind == 18:
            return self._bent(self.choose([*self._work(), *self._answers(), *self._intrusions()]))
        if kind == 19:
            return self.choose([*self._endings()])
        usual = [*self._work(), *self._answers()]
        # A driver dies oftenest where it hurts: with something in flight.
        calm = 11 if any(action.is_in_flight for action in self.run.open) else 16
        return self.choose(usual if usual and self.run.epoch and kind < calm else [*self._intrusions()])

    def _helpful(self) -> Iterator[Event]:
        if self.run.epoch == 0:
            yield RunClaimed(epoch=1, driver="d", at=self.now)
        for effect in pending(self.run):
            yield next(self._outcomes(effect))
        yield from self._answers()
        if moment := wake_at(self.run):
            self.now = max(self.now, moment)
            yield TimeReached(at=self.now)

    def _intrusions(self) -> Iterator[Event]:
        yield RunClaimed(epoch=self.run.epoch + 1, driver="d", at=self.now)
        moment = wake_at(self.run)
        if moment is not None:
            yield TimeReached(at=max(self.now, moment))
        if self.pick(10) == 9:
            yield CancelRequested(by="ada", reason=self.choose(("user", "superseded", "parent")), at=self.now)

        if self.pick(30) == 29:
            yield RunRestored(by="ada", at=self.now)

    def _endings(self) -> Iterator[Event]:
        yield RunCompleted(at=self.now)
        yield RunCancelled(at=self.now)
        yield RunFailed(code="model_error", message="", at=self.now)

    def _bent(self, event: Event) -> Event:
        """The same fact with one detail wrong."""
        names = [field.name for field in fields(event) if field.name in _BENDS]
        name = self.choose(names)
        return replace(event, **{name: self.choose(_BENDS[name](getattr(event, name)))})

    # What each party may say.

    def _work(self) -> Iterator[Event]:
        for effect in pending(self.run):
            yield from self._outcomes(effect)

    def _outcomes(self, effect: Effect) -> Iterator[Event]:
        run, at = self.run, self.now
        match effect:
            case CallModel():
                known: dict[str, Any] = {"epoch": run.epoch, "turn": effect.turn, "attempt": effect.attempt, "at": at}
                yield from self._model(known) if effect.begun else [ModelCalled(**known)]
            case Authorize():
                for _ in range(6):
                    yield ActionDecided(epoch=run.epoch, action=self._action(effect.call), at=at)
                yield CallRefused(epoch=run.epoch, call_id=effect.call.id, code="unknown_tool", message="", at=at)
            case RunTool():
                yield from self._tool(effect)
            case Reconcile():
                for outcome in ("done", "not_done", "unknown"):
                    yield ActionReconciled(epoch=run.epoch, action_id=effect.action_id, outcome=outcome, at=at)
            case Compress():
                for summary, tokens in ((SUMMARY, 5), (None, 0), (None, 500), (SUMMARY, 500)):
                    yield HistoryCompressed(
                        epoch=run.epoch,
                        turn=run.turn,
                        status="compressed" if summary else "failed",
                        tokens_before=run.context_tokens,
                        tokens_after=tokens,
                        compressed=summary,
                        at=at,
                    )

    def _model(self, known: dict[str, Any]) -> Iterator[Event]:
        usage = Usage(input=10 * self.pick(4), output=5)
        yield ModelReplied(message=said("hi"), stop="end", usage=usage, **known)
        for _ in range(8):
            yield ModelReplied(message=self._wish(), stop="tool_calls", usage=usage, **known)
        yield ModelReplied(message=self._wish(), stop=self.choose(STOPS), usage=usage, **known)
        yield ModelFailed(kind="server", message="", retry_at=self.now + 20, **known)
        yield ModelFailed(kind="auth", message="", **known)

    def _wish(self) -> Message:
        return said("", *(ToolCall(self._fresh(), f"tool_{n}", {"n": n}) for n in range(1 + self.pick(3))))

    def _fresh(self) -> str:
        self.serial += 1
        return f"c{self.serial}"

    def _action(self, call: ToolCall) -> Action:
        return action_for(self.run, call, self.choose(MODES), at=self.now, **self._kind())

    def _kind(self) -> dict[str, Any]:
        repeat, where = self.choose(REPEATS), self.choose(PLACES)
        return {"repeat": repeat, "where": where, "parallel": self.pick(3) < 2}

    def _tool(self, effect: RunTool) -> Iterator[Event]:
        known: dict[str, Any] = {"epoch": self.run.epoch, "action_id": effect.action_id, "at": self.now}
        if effect.begun:
            yield from _reports(known | {"attempt": effect.attempt})
            yield ActionHandedOver(attempt=effect.attempt, **known)
            yield ToolObserved(tool="agent:read", title="", status="completed", **known)
            yield from self._wishes_of(effect.action_id)
        else:
            asked = effect.action_id.count("-")
            for seconds in (60, 60, 5) * (4 if asked else 1):
                yield ActionStarted(attempt=effect.attempt, deadline=self.now + seconds, **known)
            yield ActionFailed(attempt=0, code="policy_changed", message="", **known)

    def _wishes_of(self, asker: ActionId) -> Iterator[Event]:
        """What a tool at work asks for: oftener while it has asked for little."""
        action = self.run.action(asker)
        assert action is not None
        for _ in range((16, 12, 6, 1)[min(action.asked, 3)]):
            wanted = asked_of(self.run, action, self.choose(MODES), at=self.now, **self._kind())
            yield ActionDecided(epoch=self.run.epoch, action=wanted, at=self.now)

    def _answers(self) -> Iterator[Event]:
        for action in self.run.actions:
            if action.outcome and action.outcome.code == "outcome_unknown":
                yield ActionSettled(action_id=action.id, outcome="done", by="ada", at=self.now)
                yield ActionSettled(action_id=action.id, outcome="not_done", by="ada", at=self.now)
                yield from _reports(_attempt(action, self.now))
            elif action.started and not action.outcome:
                yield from _reports(_attempt(action, self.now))
            elif action.approval and not action.outcome:
                yield from self._people(action)

    def _people(self, action: Action) -> Iterator[Event]:
        assert action.approval is not None
        for decision in ("approved", "rejected"):
            yield ApprovalResolved(approval_id=action.approval.id, decision=decision, by="ada", at=self.now)
        revision = sum(other.call == action.call for other in self.run.actions)
        edited = action_for(
            self.run,
            action.call,
            self.choose(MODES),
            at=self.now,
            args={"edited": True},
            revision=revision,
            edited_by="ada",
        )
        yield ActionDecided(epoch=self.run.epoch, action=edited, supersedes=action.id, at=self.now)


def _attempt(action: Action, at: float) -> dict[str, Any]:
    assert action.started is not None
    return {"epoch": action.started.epoch, "action_id": action.id, "attempt": action.started.attempt, "at": at}


def _reports(known: dict[str, Any]) -> Iterator[Event]:
    yield ActionCompleted(result="done", **known)
    for code in CODES:
        yield ActionFailed(code=code, message="", **known)


_BENDS: dict[str, Callable[[Any], Sequence[Any]]] = {
    "epoch": lambda value: (value - 1, value + 1, 0),
    "turn": lambda value: (value - 1, value + 1),
    "attempt": lambda value: (value - 1, value + 1, 0),
    "action_id": lambda value: ("act_1_1.0", "act_1_1.1", "act_1_2.0", "act_ghost_1.0", value + ".1"),
    "approval_id": lambda value: ("apr_1_1.0", "apr_1_1.1", "apr_ghost_1.0"),
    "call_id": lambda value: ("c1", "c2", "ghost"),
    "supersedes": lambda value: ("act_1_1.0", "act_1_1.1", None),
    "at": lambda value: (value - 100, value + 1000),
    "action": lambda value: [replace(value, **change) for change in (*_FOREIGN, *_MISNAMED[: 2 * bool(value.asker)])],
}
_FOREIGN: Sequence[dict[str, Any]] = ({"asker": "act_1_1.0"}, {"asker": "act_1_1.1"}, {"asker": "act_ghost_1.0"})
_MISNAMED: Sequence[dict[str, Any]] = ({"id": ActionId("act_1_1.0-1")}, {"id": ActionId("act_1_1.0-9")})
