"""What must be true of a fleet afterwards: journal, world and what people were told agree."""

from collections.abc import AsyncGenerator, Sequence

from tests.crash.oracle import Findings
from tests.dispatch.queue_lab import rows
from tests.hosts.errands import Errand
from tests.hosts.fleet import USERS, Fleet, open_store, until

from pollux.core.events import ActionCompleted, ActionReconciled, ActionStarted, Event
from pollux.core.ids import RunId, UserId
from pollux.core.machine import fold
from pollux.core.run import Action, Run
from pollux.stores.postgres.store import PostgresStore

MOST = 1_000_000


async def judge(fleet: Fleet, errands: Sequence[Errand]) -> Findings:
    """Everything that these errands led to. Nothing may be under way any more."""
    findings = Findings(runs=len(errands))
    await until(lambda: not rows(fleet.store))
    effects = fleet.world.effects()
    announced = 0
    async with open_store(fleet) as store:
        kept = {row.run_id: row for user in USERS for row in await store.runs(UserId(user), limit=MOST)}
        if kept.keys() != {errand.run_id for errand in errands}:
            findings.repeated(f"{len(errands)} wishes led to {len(kept)} runs")
        for errand in errands:
            events = [record.event for record in await store.journal(RunId(errand.run_id))]
            if not events:
                findings.lost(f"{errand.wish}: its run is not there")
                continue
            run = fold(events)
            starts = sum(isinstance(event, ActionStarted) for event in events)
            announced += starts
            _judge_errand(errand, run, findings)
            if (outcomes := sum(map(_is_done, events))) > 1:
                findings.repeated(f"{errand.wish}: its journal tells {outcomes} times that it was done")
            if kept[run.id].status != run.status or kept[run.id].owed:
                findings.problems.append(f"{errand.wish}: kept as {kept[run.id]}, but the journal tells {run.status}")
            for action in run.actions:
                attempts = len(fleet.world.attempts(errand.wish))
                _judge_action(errand, action, (starts, attempts, effects[errand.wish]), findings)
        findings.problems += [problem async for problem in _audit(store, announced)]
    for wish in effects.keys() - {errand.wish for errand in errands}:
        findings.problems.append(f"{wish}: was done, but wanted by nobody")
    return findings


def _is_done(event: Event) -> bool:
    return isinstance(event, ActionCompleted) or (isinstance(event, ActionReconciled) and event.outcome == "done")


def _judge_errand(errand: Errand, run: Run, findings: Findings) -> None:
    findings.problems += errand.problems
    findings.actions += len(run.actions)
    if len(run.actions) != 1:
        findings.problems.append(f"{errand.wish}: has {len(run.actions)} actions")
    if errand.told["state"] != run.status:
        findings.problems.append(f"{errand.wish}: told as {errand.told['state']}, but it is {run.status}")
    if run.ending is None:
        findings.problems.append(f"{errand.wish}: has no end")
    elif run.status == "completed":
        return
    elif run.ending.code == "outcome_unknown" and errand.kind == "once":
        findings.unknowns += 1
        findings.late_truths += any(action.status == "completed" for action in run.actions)
    else:
        findings.problems.append(f"{errand.wish}: {run.status} with {run.ending.code}: {run.ending.message}")


def _judge_action(errand: Errand, action: Action, counts: tuple[int, int, int], findings: Findings) -> None:
    name, (starts, attempts, effects) = f"{errand.wish} ({errand.kind})", counts
    if effects > 1 or (errand.kind == "once" and max(starts, attempts) > 1):
        findings.repeated(f"{name}: announced {starts}, attempted {attempts}, done {effects} times")
    if attempts > starts:
        findings.problems.append(f"{name}: attempted {attempts}, but announced only {starts} times")
    decided = action.approval.status if action.approval else None
    if errand.is_acknowledged and decided != {"approve_once": "approved", "reject": "rejected"}[errand.decision]:
        findings.lost(f"{name}: its decision was acknowledged, but it is {decided}")
    if errand.decision == "reject":
        if attempts or action.status != "rejected":
            findings.problems.append(f"{name}: rejected, but {action.status} and attempted {attempts} times")
    elif action.status == "completed":
        if not effects:
            findings.lost(f"{name}: is completed, but was never done")
    elif not (errand.kind == "once" and action.outcome and action.outcome.code == "outcome_unknown"):
        findings.lost(f"{name}: is {action.status}, and was done {effects} times")


async def _audit(store: PostgresStore, announced: int) -> AsyncGenerator[str]:
    for problem in (await store.verify_audit()).problems:
        yield f"audit: {problem}"
    told = sum(entry.kind == "started" for entry in await store.audit(limit=MOST))
    if told != announced:
        yield f"audit: tells of {told} starts, but there were {announced}"
