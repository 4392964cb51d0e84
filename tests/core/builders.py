"""Builders for the machine's tests: a run's history told in a few words, and a run shown at a glance."""

from dataclasses import replace
from typing import Any, Self

from pollux.core.canonical import digest
from pollux.core.effects import Authorize, CallModel, Compress, Effect, Reconcile, RunTool
from pollux.core.events import (
    ActionCompleted,
    ActionDecided,
    ActionFailed,
    ActionHandedOver,
    ActionNoted,
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
    RunClaimed,
    RunFailed,
    RunStarted,
    Stop,
    TimeReached,
    ToolObserved,
)
from pollux.core.ids import ActionId, RunId, ThreadId, UserId
from pollux.core.machine import conclude, fold, pending, step, wake_at
from pollux.core.messages import JSON, NO_USAGE, Message, Text, ToolCall, Usage, user
from pollux.core.policy import Decision, Mode
from pollux.core.profile import Limits
from pollux.core.run import (
    Action,
    Approval,
    ApprovalStatus,
    CancelReason,
    Compressed,
    Outcome,
    Run,
    action_id,
    approval_id,
    asked_id,
)

RUN = RunId("run_1")
NOON = 1000.0
"""When every run of these tests begins. Times at a glance are counted from here."""
LIFE = 300.0
"""How long an approval waits."""
SPENT = Usage(input=10, output=5)
SUMMARY = Compressed(upto=3, summary=user("summary"), tokens=40)


def opened(**changes: Any) -> RunStarted:
    """The fact that begins a run."""
    plain = RunStarted(
        run_id=RUN,
        thread_id=ThreadId("thr_1"),
        user=UserId("ada"),
        door="http",
        origin="test",
        profile="default",
        model="scripted",
        prompt=user("hello"),
        limits=Limits(),
        at=NOON,
    )
    return replace(plain, **changes)


def call(name: str, **args: JSON) -> ToolCall:
    """A call whose id is its name."""
    return ToolCall(name, f"tool_{name}", args)


def said(text: str = "", *calls: ToolCall) -> Message:
    """A message of the model."""
    return Message("assistant", (*((Text(text),) if text else ()), *calls))


def action_for(run: Run, wanted: ToolCall, mode: Mode = "allow", *, at: float = NOON, **changes: Any) -> Action:
    """The action that a gate makes of a call."""
    index = next((i for i, known in enumerate(run.calls) if known.id == wanted.id), 9)
    name = changes.pop("id", None) or action_id(run.id, run.turn, index, changes.pop("revision", 0))
    args: dict[str, JSON] = changes.pop("args", wanted.args)
    life: float = changes.pop("life", LIFE)
    action = Action(
        id=name,
        call=wanted,
        turn=run.turn,
        tool=wanted.name,
        args=args,
        args_hash=digest(args),
        schema_hash="schema",
        decided_at=at,
        side_effect=True,
        decision=Decision(mode, "because"),
    )
    if mode == "require_approval":
        asked = Approval(approval_id(name), digest(args), "schema", "because", "", at, at + life)
        action = replace(action, approval=asked)
    return replace(action, **changes)


def asked_of(run: Run, asker: Action, mode: Mode = "allow", /, *, at: float = NOON, **changes: Any) -> Action:
    """The next action that one at work asks for. Its call is named after the asker's, and numbered."""
    number = asker.asked + 1
    wanted = ToolCall(f"{asker.call.id}-{number}", "tool_asked", {"n": number})
    changes = {"id": asked_id(asker.id, number), "asker": asker.id, **changes}
    return action_for(run, changes.pop("call", wanted), mode, at=at, **changes)


class Tale:
    """A run and its journal. Each verb adds the fact that fits; with `concluding`, endings follow by themselves."""

    def __init__(self, *, concluding: bool = True, **changes: Any) -> None:
        self.concluding = concluding
        self.now = NOON
        self.journal: list[Event] = []
        self.told: Run | None = None
        self.tell(opened(**changes))

    @property
    def run(self) -> Run:
        assert self.told is not None
        return self.told

    def tell(self, event: Event) -> Self:
        self.told = step(self.told, event)
        self.journal.append(event)
        if self.concluding and (ending := conclude(self.run, event.at)):
            self.told = step(self.told, ending)
            self.journal.append(ending)
        return self

    def action(self, name: str) -> Action:
        """The newest action for a call, by the call's id."""
        return next(action for action in reversed(self.run.actions) if action.call.id == name)

    def result(self, name: str) -> JSON:
        """What the model reads as the answer to a call."""
        return results(self.run)[name]

    def outcome(self, name: str) -> Outcome:
        """How the action for a call ended."""
        outcome = self.action(name).outcome
        assert outcome is not None
        return outcome

    def question(self, name: str) -> ApprovalStatus:
        """What became of the question about a call."""
        approval = self.action(name).approval
        assert approval is not None
        return approval.status

    # A driver and the model.

    def claim(self) -> Self:
        return self.tell(RunClaimed(epoch=self.run.epoch + 1, driver="d", at=self.now))

    def ask(self) -> Self:
        run = self.run
        return self.tell(ModelCalled(epoch=run.epoch, turn=run.turn, attempt=run.attempt, at=self.now))

    def reply(self, message: Message | str, stop: Stop | None = None, usage: Usage = SPENT) -> Self:
        """The model's answer, asked for first if it was not."""
        if not self.run.asked:
            self.ask()
        run, message = self.run, said(message) if isinstance(message, str) else message
        stop = stop or ("tool_calls" if message.calls else "end")
        known: dict[str, Any] = {"epoch": run.epoch, "turn": run.turn, "attempt": run.attempt, "at": self.now}
        return self.tell(ModelReplied(message=message, stop=stop, usage=usage, **known))

    def want(self, *names: str) -> Self:
        """The model asks for these calls."""
        return self.reply(said("", *(call(name, to=name) for name in names)))

    def fail(self, kind: Any = "server", *, retry_after: float | None = None) -> Self:
        run, retry_at = self.run, None if retry_after is None else self.now + retry_after
        known: dict[str, Any] = {"epoch": run.epoch, "turn": run.turn, "attempt": run.attempt, "at": self.now}
        return self.tell(ModelFailed(kind=kind, message="it broke", retry_at=retry_at, **known))

    def compress(
        self, tokens_after: int = 40, compressed: Compressed | None = SUMMARY, usage: Usage = NO_USAGE
    ) -> Self:
        run = self.run
        fact = HistoryCompressed(
            epoch=run.epoch,
            turn=run.turn,
            status="compressed" if compressed else "refused_larger",
            tokens_before=run.context_tokens,
            tokens_after=tokens_after,
            compressed=compressed,
            usage=usage,
            at=self.now,
        )
        return self.tell(fact)

    # The gate.

    def decide(self, name: str, mode: Mode, **changes: Any) -> Self:
        wanted = next(known for known in self.run.calls if known.id == name)
        action = action_for(self.run, wanted, mode, at=self.now, **changes)
        return self.tell(ActionDecided(epoch=self.run.epoch, action=action, at=self.now))

    def allow(self, name: str, **changes: Any) -> Self:
        return self.decide(name, "allow", **changes)

    def hold(self, name: str, **changes: Any) -> Self:
        return self.decide(name, "require_approval", **changes)

    def deny(self, name: str) -> Self:
        return self.decide(name, "deny")

    def refuse(self, name: str) -> Self:
        fact = CallRefused(epoch=self.run.epoch, call_id=name, code="unknown_tool", message="no such", at=self.now)
        return self.tell(fact)

    def edit(self, name: str, mode: Mode = "require_approval", **args: JSON) -> Self:
        old = self.action(name)
        revision = sum(known.call.id == name for known in self.run.actions)
        action = action_for(self.run, old.call, mode, at=self.now, args=args, revision=revision, edited_by="ada")
        return self.tell(ActionDecided(epoch=self.run.epoch, action=action, supersedes=old.id, at=self.now))

    def resolve(self, name: str, decision: Any = "approved", **more: Any) -> Self:
        asked = self.action(name).approval
        assert asked is not None
        return self.tell(ApprovalResolved(approval_id=asked.id, decision=decision, by="ada", at=self.now, **more))

    # Tools.

    def start(self, name: str, *, seconds: float | None = None) -> Self:
        before = self.action(name).started
        fact = ActionStarted(
            epoch=self.run.epoch,
            action_id=self.action(name).id,
            attempt=before.attempt + 1 if before else 1,
            deadline=None if seconds is None else self.now + seconds,
            at=self.now,
        )
        return self.tell(fact)

    def note(self, name: str, note: JSON = "halfway") -> Self:
        return self.tell(ActionNoted(note=note, **self.attempt(name)))

    def request(self, name: str, mode: Mode = "allow", **changes: Any) -> Self:
        """The tool at work on this call asks for another one: `a` for `a-1`, then `a-2`."""
        action = asked_of(self.run, self.action(name), mode, at=self.now, **changes)
        return self.tell(ActionDecided(epoch=self.run.epoch, action=action, at=self.now))

    def observe(self, name: str) -> Self:
        """Somebody whom the tool has set to work did something by himself."""
        known: dict[str, Any] = {"epoch": self.run.epoch, "action_id": self.action(name).id, "at": self.now}
        return self.tell(ToolObserved(tool="agent:read", title="notes.txt", status="completed", **known))

    def hand_over(self, name: str) -> Self:
        return self.tell(ActionHandedOver(**self.attempt(name)))

    def complete(self, name: str, result: JSON = "done") -> Self:
        return self.tell(ActionCompleted(result=result, **self.attempt(name)))

    def break_(self, name: str, code: str = "tool_call_failure") -> Self:
        return self.tell(ActionFailed(code=code, message="it broke", **self.attempt(name)))

    def stop(self, name: str, code: str = "policy_changed") -> Self:
        """The gate changed its mind before the action began."""
        known: dict[str, Any] = {**self.attempt(name), "epoch": self.run.epoch, "attempt": 0}
        return self.tell(ActionFailed(code=code, message="changed", **known))

    def look(self, name: str, outcome: Any, result: JSON = "found") -> Self:
        known: dict[str, Any] = {"epoch": self.run.epoch, "action_id": self.action(name).id, "at": self.now}
        return self.tell(ActionReconciled(outcome=outcome, result=result, **known))

    def settle(self, name: str, outcome: Any) -> Self:
        fact = ActionSettled(action_id=self.action(name).id, outcome=outcome, by="ada", at=self.now)
        return self.tell(fact)

    def attempt(self, name: str) -> dict[str, Any]:
        """Which attempt at an action is the last one: what a result must name."""
        action = self.action(name)
        epoch, number = (action.started.epoch, action.started.attempt) if action.started else (self.run.epoch, 1)
        return {"epoch": epoch, "action_id": action.id, "attempt": number, "at": self.now}

    # People and clocks.

    def cancel(self, reason: CancelReason = "user") -> Self:
        return self.tell(CancelRequested(by="ada", reason=reason, at=self.now))

    def wait(self, seconds: float) -> Self:
        """Time passes, and the run hears of it."""
        self.now += seconds
        return self.tell(TimeReached(at=self.now))


def ran(*names: str, **changes: Any) -> Tale:
    """A claimed run whose model asked for these calls."""
    return Tale(**changes).claim().want(*names)


def at_work(*more: str, **changes: Any) -> Tale:
    """A run whose tool for call `a` is at work."""
    return ran("a", *more).allow("a", **changes).start("a")


def results(run: Run) -> dict[str, JSON]:
    """The answers to calls as the model reads them, by call."""
    parts = (part for message in run.messages for part in message.parts)
    return {part.call_id: part.result for part in parts if part.type == "tool_result"}


def glance(run: Run) -> str:
    """A run in one line: its status, what is owed, when time moves it, and the ending that is due."""
    owed = ", ".join(_word(effect) for effect in pending(run)) or "nothing"
    wake, due = wake_at(run), conclude(run, run.created_at)
    line = f"{run.status}: {owed}"
    if wake is not None:
        line += f", wakes at {wake - NOON:g}"
    if due:
        line += f", then {type(due).__name__}"
        line += f" {due.code}" if isinstance(due, RunFailed) else ""
    return line


def _word(effect: Effect) -> str:
    match effect:
        case CallModel():
            return f"model {effect.turn}.{effect.attempt}{' begun' if effect.begun else ''}"
        case Authorize():
            return f"authorize {effect.call.id}"
        case RunTool():
            return f"run {_short(effect.action_id)} #{effect.attempt}{' begun' if effect.begun else ''}"
        case Reconcile():
            return f"look {_short(effect.action_id)} #{effect.attempt}"
        case Compress():
            return f"compress {effect.turn}"


def _short(name: ActionId) -> str:
    return name.removeprefix("act_1_")


def refolded(tale: Tale) -> Run:
    """The run that the journal alone tells of."""
    return fold(tale.journal)
