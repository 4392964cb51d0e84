"""What must be true after any number of kills, found by holding the store against the world outside."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields

from tests.crash.lab import Place
from tests.crash.outside import Outside
from tests.crash.worker import USER

from pollux.core.events import ActionStarted, Event
from pollux.core.ids import RunId
from pollux.core.machine import fold, key_of, pending
from pollux.core.run import Action, Run
from pollux.engine.ports import Store

COUNTS = ("kills", "runs", "actions", "repeats", "losses", "cancelled", "unknowns", "late_truths")


@dataclass
class Findings:
    """Counts over one place or many. `problems` are the promises that were broken, in words."""

    kills: int = 0
    runs: int = 0
    actions: int = 0
    repeats: int = 0
    losses: int = 0
    cancelled: int = 0
    unknowns: int = 0
    """Runs that ended because nobody can know what became of a `once` action."""
    late_truths: int = 0
    """Those of them whose action's outcome became known afterwards."""
    slowest_recovery: float = 0.0
    problems: list[str] = field(default_factory=list[str])

    def add(self, other: "Findings") -> None:
        for name in COUNTS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.slowest_recovery = max(self.slowest_recovery, other.slowest_recovery)
        self.problems += other.problems

    def repeated(self, problem: str) -> None:
        self.repeats += 1
        self.problems.append(problem)

    def lost(self, problem: str) -> None:
        self.losses += 1
        self.problems.append(problem)

    def __str__(self) -> str:
        return ", ".join(f"{f.name.replace('_', ' ')} {getattr(self, f.name)}" for f in fields(self)[:-1])


@dataclass(frozen=True)
class World:
    """How often each action was attempted, and how often it happened, as its tool wrote down."""

    attempts: Counter[str]
    effects: Counter[str]

    @classmethod
    def of(cls, outside: Outside) -> "World":
        return cls(*(Counter(note["key"] for note in outside.notes(name)) for name in ("attempts", "effects")))


async def judge(place: Place) -> Findings:
    """Look at everything that was planned in this place. Nothing may be under way any more."""
    findings = Findings()
    world = World.of(place.outside)
    store = place.store()
    await store.open()
    try:
        runs: list[Run] = []
        starts: Counter[str] = Counter()
        for run_id, story in place.runs.items():
            events = [record.event for record in await store.journal(RunId(run_id))]
            if not events:
                findings.lost(f"{run_id}: was never begun")
                continue
            runs.append(fold(events))
            starts.update(event.action_id for event in events if isinstance(event, ActionStarted))
            _judge_run(runs[-1], story, findings)
            findings.problems += await _compare(store, runs[-1], events)
        for run in runs:
            for action in run.actions:
                _judge_action(run, action, starts[action.id], world, findings)
        actions = [action for run in runs for action in run.actions]
        for key in world.attempts.keys() - {action.id for action in actions}:
            findings.problems.append(f"{key}: was attempted, but there is no such action")
        _judge_acknowledged(runs, place.outside, findings)
        announced = sum(starts[action.id] for action in actions if action.side_effect or action.approval)
        findings.problems += await _judge_audit(store, announced)
        findings.actions = len(actions)
    finally:
        await store.close()
    findings.problems += [line for line in place.log.splitlines() if line.startswith(("ERROR", "CRITICAL"))]
    return findings


def _judge_run(run: Run, story: str, findings: Findings) -> None:
    findings.runs += 1
    planned = Counter(name for turn in story.split(";") for name in turn.split("+"))
    if run.ending is None:
        owed = [key_of(effect).kind for effect in pending(run)]
        findings.problems.append(f"{run.id}: is {run.status} and owed {owed}, but should have ended")
    elif run.status == "completed":
        if Counter(action.tool for action in run.actions) != planned:
            findings.lost(f"{run.id}: completed without all of {story}")
    elif run.status == "cancelled" and run.cancel and run.cancel.by == "tester":
        findings.cancelled += 1
    elif run.ending.code == "outcome_unknown" and "once" in planned:
        findings.unknowns += 1
        findings.late_truths += not any(map(_is_unknown, run.actions))
    else:
        findings.problems.append(f"{run.id}: failed with {run.ending.code}: {run.ending.message}")


def _judge_action(run: Run, action: Action, starts: int, world: World, findings: Findings) -> None:
    name = f"{action.id} ({action.tool})"
    attempts, effects = world.attempts[action.id], world.effects[action.id]
    if action.tool not in ("slow", "child"):
        _judge_effects(name, action, (starts, attempts, effects), findings)
        if action.status == "completed" and not effects:
            findings.lost(f"{name}: is completed, but never happened")
    if action.status == "completed":
        return
    if _is_unknown(action):
        # What has our key is only tried again where the run goes on.
        if action.repeat != "once" and not (run.cancel and action.repeat == "keyed"):
            findings.problems.append(f"{name}: its outcome is unknown, though it could be found out")
    elif effects and action.repeat != "repeatable":
        findings.lost(f"{name}: happened, but is {action.status}")
    elif not run.cancel:
        findings.problems.append(f"{name}: is {action.status} ({action.outcome.code if action.outcome else 'open'})")


def _judge_effects(name: str, action: Action, counts: tuple[int, int, int], findings: Findings) -> None:
    starts, attempts, effects = counts
    if effects > 1 and action.repeat != "repeatable":
        findings.repeated(f"{name}: happened {effects} times")
    if action.repeat == "once" and max(starts, attempts) > 1:
        findings.repeated(f"{name}: was announced {starts} and attempted {attempts} times")
    if attempts > starts:
        findings.problems.append(f"{name}: was attempted {attempts}, but announced only {starts} times")
    if attempts and not (action.approval and action.approval.status == "approved"):
        findings.problems.append(f"{name}: was attempted without leave")


def _judge_acknowledged(runs: Sequence[Run], outside: Outside, findings: Findings) -> None:
    begun = {run.id for run in runs}
    cancelled = {run.id for run in runs if run.cancel}
    approved = {
        action.approval.id
        for run in runs
        for action in run.actions
        if action.approval and action.approval.status == "approved"
    }
    for note in outside.notes("acknowledged"):
        if note["name"] not in {"started": begun, "cancelled": cancelled, "approved": approved}[note["what"]]:
            findings.lost(f"{note['name']}: acknowledged as {note['what']}, but it is not")


async def _compare(store: Store, run: Run, events: Sequence[Event]) -> Iterable[str]:
    """What is kept beside the journal must be what the journal tells."""
    row = next(row for row in await store.runs(USER, thread_id=run.thread_id) if row.run_id == run.id)
    thread = await store.thread(run.thread_id)
    messages = tuple(await store.messages(run.thread_id))
    versions = await store.versions([run.id])
    return list(
        _differences(
            run.id,
            status=(row.status, run.status),
            owed=(row.owed, bool(pending(run))),
            driver=((row.epoch, row.driver), (run.epoch, run.driver)),
            version=(versions[run.id], len(events)),
            messages=(messages, run.messages),
            open_run=(thread.open_run if thread else "no thread", run.id if run.is_open else None),
        )
    )


def _differences(run_id: str, **pairs: tuple[object, object]) -> Iterator[str]:
    for name, (kept, told) in pairs.items():
        if kept != told:
            yield f"{run_id}: its {name} is kept as {kept!r}, but the journal tells {told!r}"


async def _judge_audit(store: Store, announced: int) -> Iterable[str]:
    report = await store.verify_audit()
    entries = await store.audit(limit=1_000_000)
    told = sum(entry.kind == "started" for entry in entries)
    problems = [f"audit: {problem}" for problem in report.problems]
    if told != announced:
        problems.append(f"audit: tells of {told} starts, but there were {announced}")
    return problems


def _is_unknown(action: Action) -> bool:
    return action.outcome is not None and action.outcome.code == "outcome_unknown"
