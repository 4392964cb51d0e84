"""One wish in a world in which something goes wrong, and what everybody is told of it in the end."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from tests.google.crash import Deed
from tests.http.google_site import connect, environ_for, google_site
from tests.http.site import Person

from pollux.emulator.workspace import Workspace, run_workspace

PATIENCE = 240.0
LOOK_SECONDS = 0.1

Outcome = Literal["completed", "tool_call_failure", "auth_error", "outcome_unknown"]


@dataclass(frozen=True)
class Fault:
    """What goes wrong: with which method of Google's, or at which path, and how often."""

    text: str
    at: str
    times: int | None = 1

    def given_to(self, workspace: Workspace) -> None:
        is_path = self.at.startswith("/")
        workspace.fault(self.text, path=self.at if is_path else "", method="" if is_path else self.at, times=self.times)


@dataclass(frozen=True)
class Case:
    """What goes wrong from the approval on, and what is to become of the action then."""

    deed: Deed
    faults: Sequence[Fault]
    outcome: Outcome = "completed"

    def __str__(self) -> str:
        often = [f"{each.text} at {each.at}" + ("" if each.times else " always") for each in self.faults]
        return f"{self.deed.tool}: {', '.join(often)}"


async def problems_of(case: Case, path: Path, model: str) -> list[str]:
    """Connect an account, ask, approve, wait for the end; what was not as it should be, in words."""
    path.mkdir(parents=True)
    async with run_workspace(ledger=path / "ledger.jsonl") as workspace, asyncio.timeout(PATIENCE):
        environ = environ_for(path, workspace.url, model, tools=(case.deed.tool,))
        async with google_site(path, environ) as site:
            await connect(site.ada, workspace)
            asked = await site.ada.run(case.deed.wish.prompt)
            (approval,) = asked["approvals"]
            for fault in case.faults:
                fault.given_to(workspace)
            await site.ada.resolve(approval["id"])
            run = await _ended(site.ada, asked["runId"])
            found = [*_not_met(case, workspace), *_told_wrongly(case, run, workspace)]
            # From here on everything is well again.
            workspace.faults.clear()
            found += await _settled_wrongly(run, site.ada, workspace)
            audit = (await site.ada.get("/api/agent/audit/verify")).body
            return [f"{case}: {each}" for each in [*found, *audit["problems"]]]


def _not_met(case: Case, workspace: Workspace) -> list[str]:
    """Faults that nothing came across show nothing."""
    met = workspace.faults.seen
    return [f"{fault.text} at {fault.at} was not met" for n, fault in enumerate(case.faults) if not met[f"rule {n}"]]


def _told_wrongly(case: Case, run: dict[str, Any], workspace: Workspace) -> list[str]:
    (action,) = run["actions"]
    outcome = "completed" if action["state"] == "completed" else action["errorCode"]
    said = str(action["message"])
    done = [(entry.method, list(entry.to), entry.subject, entry.sha256) for entry in workspace.ledger]
    line = case.deed.line(action["id"])
    right = (line["method"], line["to"], line["subject"], line["sha256"])
    found: list[str] = []
    if outcome != case.outcome:
        found.append(f"it is {outcome} ({said}), not {case.outcome}")
    if done not in ([], [right]):
        found.append(f"the ledger has {done}")
    if outcome != "outcome_unknown" and (outcome == "completed") != bool(done):
        found.append(f"it is told as {outcome} ({said}), and was done {len(done)} times")
    if outcome == "outcome_unknown" and f"pollux actions settle {action['id']} --done" not in said:
        found.append(f"nobody is told what to do: {said}")
    if outcome == "auth_error" and run["connectUrl"] != f"/api/google/connect?tools={case.deed.tool}":
        found.append(f"nobody is told where to go: {run['connectUrl']}")
    if outcome == "completed" and any(box.drafts for box in workspace.accounts.mailboxes.values()):
        found.append("a draft is left over")
    if run["state"] != ("failed" if outcome in ("auth_error", "outcome_unknown") else "completed"):
        found.append(f"the run is {run['state']}")
    return found


async def _settled_wrongly(run: dict[str, Any], person: Person, workspace: Workspace) -> list[str]:
    """A person looks, and says what they found: that is taken once, and is in the audit."""
    (action,) = run["actions"]
    path = f"/api/agent/actions/{action['id']}/settle"
    is_done = bool(workspace.ledger)
    got = await person.post(path, {"outcome": "done" if is_done else "not_done"})
    if action["errorCode"] != "outcome_unknown":
        return [] if (got.status, got.code) == (409, "already_resolved") else [f"what is known can be settled: {got}"]
    states = [action["state"] for action in got.body["actions"]] if got.status == 200 else []
    if states != ["completed" if is_done else "failed"]:
        return [f"it cannot be settled: {got}"]
    again = await person.post(path, {"outcome": "done"})
    kinds = [entry["kind"] for entry in (await person.get("/api/agent/audit")).body["items"]]
    found = [] if (again.status, again.code) == (409, "already_resolved") else [f"it can be settled twice: {again}"]
    return found if kinds.count("settled") == 1 else [*found, f"the audit has {kinds}"]


async def _ended(person: Person, run_id: str) -> dict[str, Any]:
    while True:
        run = (await person.get(f"/api/agent/runs/{run_id}")).body
        if run["state"] in ("completed", "failed", "cancelled"):
            return run
        await asyncio.sleep(LOOK_SECONDS)
