"""Named states of a run, and for each kind of event the specimen that fits a state best.

The tables say what becomes of every state when it meets every specimen.
"""

from collections.abc import Callable, Iterable
from typing import Any

from tests.core.builders import NOON, SPENT, SUMMARY, Tale, action_for, asked_of, call, opened, ran, said

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
    PageShown,
    RunCancelled,
    RunClaimed,
    RunCompleted,
    RunFailed,
    RunRestored,
    TimeReached,
    ToolObserved,
)
from pollux.core.ids import ApprovalId
from pollux.core.machine import conclude, wake_at
from pollux.core.page import Page
from pollux.core.profile import Limits
from pollux.core.run import Action, Run

Specimen = Callable[[Run], Event]


def _loose(*names: str, **changes: Any) -> Tale:
    """A run that does not end by itself, so that the moment before its end can be looked at."""
    return ran(*names, concluding=False, **changes)


STATES: dict[str, Callable[[], Tale]] = {
    # The model's side.
    "fresh": lambda: Tale(),
    "claimed": lambda: Tale().claim(),
    "asked": lambda: Tale(deadline=NOON + 900).claim().ask(),
    "retry wait": lambda: Tale().claim().ask().fail(retry_after=20),
    "summary due": lambda: Tale(limits=Limits(compress_at=100), context_tokens=120).claim(),
    # The gate's side.
    "one call undecided": lambda: ran("a"),
    "allowed": lambda: ran("a").allow("a"),
    "awaiting approval": lambda: ran("a").hold("a"),
    "approved, not started": lambda: ran("a").hold("a").resolve("a"),
    # The tools' side.
    "executing": lambda: ran("a").allow("a").start("a"),
    "interrupted, repeatable": lambda: ran("a").allow("a", repeat="repeatable").start("a").claim(),
    "interrupted, keyed": lambda: ran("a").allow("a", repeat="keyed").start("a").claim(),
    "interrupted, checkable": lambda: ran("a").allow("a", repeat="checkable").start("a").claim(),
    "interrupted, once, beside another": lambda: ran("a", "b").allow("a").hold("b").start("a").claim(),
    "looked up, not done": lambda: ran("a").allow("a", repeat="checkable").start("a").claim().look("a", "not_done"),
    "page call open": lambda: ran("a").allow("a", where="page").start("a", seconds=60),
    "child starting": lambda: ran("a").allow("a", where="child").start("a"),
    "child handed over": lambda: ran("a").allow("a", where="child").start("a").hand_over("a"),
    "executing, and asks": lambda: ran("a").allow("a").start("a").request("a", "require_approval"),
    "executing, asked one in flight": lambda: ran("a").allow("a").start("a").request("a").start("a-1"),
    "one executing, one waiting": lambda: ran("a", "b").allow("a").hold("b").start("a"),
    # Ends.
    "closing": lambda: Tale(concluding=False).claim().reply("hi"),
    "closing, outcome unknown": lambda: _loose("a").allow("a").start("a").claim(),
    "cancelling, one in flight": lambda: ran("a", "b").allow("a").hold("b").start("a").cancel(),
    "cancelling, one to look up": lambda: ran("a").allow("a", repeat="checkable").start("a").cancel().claim(),
    "cancelled, not yet ended": lambda: Tale(concluding=False).claim().cancel(),
    "completed": lambda: ran("a").hold("a").resolve("a").start("a").complete("a").reply("hi"),
    "failed": lambda: Tale().claim().ask().fail(),
    "cancelled": lambda: ran("a").hold("a").cancel(),
    "ended, outcome unknown": lambda: ran("a").allow("a").start("a").claim(),
}

GHOST = Tale().claim().want("ghost").allow("ghost").action("ghost")
"""An action that no run of the tables knows."""


def _model(run: Run) -> dict[str, Any]:
    return {"epoch": run.epoch, "turn": run.turn, "attempt": run.attempt, "at": _now(run)}


def _now(run: Run) -> float:
    return run.created_at + 1


def _first(run: Run, *fitting: Callable[[Action], Any]) -> Action:
    """The first action that fits the first of these wishes that any action fits."""
    for wish in fitting:
        for action in (*run.open, *reversed(run.done)):
            if wish(action):
                return action
    return next(iter(run.open), GHOST)


def _running(run: Run) -> Action:
    return _first(
        run,
        lambda a: a.started and not a.outcome,
        lambda a: a.outcome and a.outcome.code == "outcome_unknown",
        lambda a: a.outcome and a.started,
    )


def _undecided(run: Run) -> Any:
    taken = {action.call.id for action in run.open}
    return next((known for known in run.calls if known.id not in taken), call("ghost"))


def _attempt(run: Run) -> dict[str, Any]:
    action = _running(run)
    epoch, number = (action.started.epoch, action.started.attempt) if action.started else (run.epoch, 1)
    return {"epoch": epoch, "action_id": action.id, "attempt": number, "at": _now(run)}


def _decided(run: Run, mode: Any) -> Event:
    action = action_for(run, _undecided(run), mode, at=_now(run))
    return ActionDecided(epoch=run.epoch, action=action, at=_now(run))


def _asked_for(run: Run) -> Event:
    action = asked_of(run, _running(run), at=_now(run))
    return ActionDecided(epoch=run.epoch, action=action, at=_now(run))


def _observed(run: Run) -> Event:
    known: dict[str, Any] = {"epoch": run.epoch, "action_id": _running(run).id, "at": _now(run)}
    return ToolObserved(tool="agent:read", title="notes.txt", status="completed", **known)


def _edited(run: Run) -> Event:
    old = _asked(run)
    action = action_for(run, old.call, "require_approval", at=_now(run), args={"to": "b"}, revision=1, edited_by="ada")
    return ActionDecided(epoch=run.epoch, action=action, supersedes=old.id, at=_now(run))


def _asked(run: Run) -> Action:
    return _first(run, lambda a: a.approval and a.approval.is_open, lambda a: a.approval)


def _resolved(run: Run, decision: Any) -> Event:
    approval = _asked(run).approval
    name = approval.id if approval else ApprovalId("apr_unknown")
    return ApprovalResolved(approval_id=name, decision=decision, by="ada", at=_now(run))


def _started(run: Run) -> Event:
    action = _first(run, lambda a: a.has_leave and (a.interrupted or not a.started), lambda a: not a.outcome)
    number = action.started.attempt + 1 if action.started else 1
    return ActionStarted(epoch=run.epoch, action_id=action.id, attempt=number, at=_now(run))


def _stopped(run: Run) -> Event:
    action = _first(run, lambda a: a.has_leave and not a.is_in_flight, lambda a: not a.outcome)
    return ActionFailed(
        epoch=run.epoch, action_id=action.id, attempt=0, code="policy_changed", message="changed", at=_now(run)
    )


def _looked(run: Run, outcome: Any) -> Event:
    action = _first(run, lambda a: a.interrupted and not a.outcome, lambda a: a.started)
    return ActionReconciled(epoch=run.epoch, action_id=action.id, outcome=outcome, at=_now(run))


def _settled(run: Run, outcome: Any) -> Event:
    return ActionSettled(action_id=_running(run).id, outcome=outcome, by="ada", at=_now(run))


def _compressed(run: Run, *, refused: bool) -> Event:
    return HistoryCompressed(
        epoch=run.epoch,
        turn=run.turn,
        status="refused_larger" if refused else "compressed",
        tokens_before=run.context_tokens,
        tokens_after=40,
        compressed=None if refused else SUMMARY,
        at=_now(run),
    )


def _failure(run: Run) -> Event:
    due = conclude(run, _now(run))
    return due if isinstance(due, RunFailed) else RunFailed(code="any", message="any", at=_now(run))


def _replied(run: Run, *names: str) -> Event:
    message = said("" if names else "hi", *(call(name) for name in names))
    return ModelReplied(message=message, stop="end", usage=SPENT, **_model(run))


SPECIMENS: dict[str, Specimen] = {
    "RunStarted": lambda run: opened(),
    "RunClaimed": lambda run: RunClaimed(epoch=run.epoch + 1, driver="e", at=_now(run)),
    "RunClaimed, stale": lambda run: RunClaimed(epoch=run.epoch, driver="e", at=_now(run)),
    "PageShown": lambda run: PageShown(page=Page("another"), at=_now(run)),
    "ModelCalled": lambda run: ModelCalled(**_model(run)),
    "ModelReplied, text": lambda run: _replied(run),
    "ModelReplied, calls": lambda run: _replied(run, "x", "y"),
    "ModelFailed": lambda run: ModelFailed(kind="server", message="it broke", **_model(run)),
    "ModelFailed, retry": lambda run: ModelFailed(kind="server", message="", retry_at=NOON + 20, **_model(run)),
    "HistoryCompressed": lambda run: _compressed(run, refused=False),
    "HistoryCompressed, refused": lambda run: _compressed(run, refused=True),
    "ActionDecided, allow": lambda run: _decided(run, "allow"),
    "ActionDecided, ask": lambda run: _decided(run, "require_approval"),
    "ActionDecided, deny": lambda run: _decided(run, "deny"),
    "ActionDecided, edited": _edited,
    "ActionDecided, asked for": _asked_for,
    "CallRefused": lambda run: CallRefused(
        epoch=run.epoch, call_id=_undecided(run).id, code="invalid_args", message="no", at=_now(run)
    ),
    "ActionStarted": _started,
    "ActionNoted": lambda run: ActionNoted(note="halfway", **_attempt(run)),
    "ToolObserved": _observed,
    "ActionHandedOver": lambda run: ActionHandedOver(**_attempt(run)),
    "ActionCompleted": lambda run: ActionCompleted(result="done", **_attempt(run)),
    "ActionFailed": lambda run: ActionFailed(code="tool_call_failure", message="it broke", **_attempt(run)),
    "ActionFailed, before its start": _stopped,
    "ActionReconciled, done": lambda run: _looked(run, "done"),
    "ActionReconciled, not_done": lambda run: _looked(run, "not_done"),
    "ActionReconciled, unknown": lambda run: _looked(run, "unknown"),
    "ActionSettled, done": lambda run: _settled(run, "done"),
    "ActionSettled, not_done": lambda run: _settled(run, "not_done"),
    "ApprovalResolved, approved": lambda run: _resolved(run, "approved"),
    "ApprovalResolved, rejected": lambda run: _resolved(run, "rejected"),
    "TimeReached": lambda run: TimeReached(at=wake_at(run) or _now(run)),
    "TimeReached, too early": lambda run: TimeReached(at=(wake_at(run) or _now(run)) - 0.5),
    "CancelRequested": lambda run: CancelRequested(by="ada", at=_now(run)),
    "RunRestored": lambda run: RunRestored(by="ada", at=_now(run)),
    "RunCompleted": lambda run: RunCompleted(at=_now(run)),
    "RunFailed": _failure,
    "RunCancelled": lambda run: RunCancelled(at=_now(run)),
}


def rows(*, now: str, **by_code: str | dict[str, str]) -> dict[str, str]:
    """One state's table: how it looks `now`, what becomes of it (`fits`), and by code what it refuses."""
    # What a page shows decides nothing: in every open state it leaves the run where it was.
    has_ended = now.startswith(("completed", "failed", "cancelled"))
    table = {"now": now, "PageShown": "refused: run_ended" if has_ended else now}
    for code, entries in by_code.items():
        told = entries.items() if isinstance(entries, dict) else _refusals(code, entries)
        for specimen, outcome in told:
            assert specimen not in table, f"{specimen!r} has two rows"
            table[specimen] = outcome
    # What cannot have had an effect stays as it is when a store was put back.
    table.setdefault("RunRestored", "refused: run_ended" if has_ended else now)
    return table


def _refusals(code: str, listing: str) -> Iterable[tuple[str, str]]:
    """`ActionDecided (allow, ask)` stands for two specimens, `ActionDecided (*)` for all of its kind."""
    for line in filter(None, (part.strip() for part in listing.replace("\n", ";").split(";"))):
        kind, _, variants = line.rstrip(")").partition(" (")
        if variants == "*":
            names = [name for name in SPECIMENS if name.partition(",")[0] == kind]
        elif variants:
            names = [kind if variant == "-" else f"{kind}, {variant}" for variant in variants.split(" | ")]
        else:
            names = [kind]
        for name in names:
            yield name, f"refused: {code}"
