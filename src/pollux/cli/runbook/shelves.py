"""`pollux runbook list` and `show`: the documents here, the runs of documents, and how far each has come."""

import argparse
from pathlib import Path
from typing import Any

from pollux.cli.kept import Teller, complete, looking, moment
from pollux.config import Settings
from pollux.core.errors import NotFound, PolluxError, ValidationError
from pollux.core.frozen import frozen
from pollux.core.ids import RunId
from pollux.core.run import Run
from pollux.engine.glance import state_of
from pollux.engine.queries import Queries
from pollux.runbooks.progress import progress_of
from pollux.runbooks.rules import PROFILE
from pollux.runbooks.shelf import Shelf, volume
from pollux.sdk.setup import USER

MOST_LOOKED_AT = 1_000


@frozen
class Told:
    """A run of a runbook, and what to say of it."""

    run: Run
    name: str


def list_runs(arguments: argparse.Namespace, settings: Settings) -> int:
    """The documents in this folder, then the newest runs."""
    teller = Teller(settings)
    documents = [_document(path) for path in Shelf(Path.cwd()).paths()]
    runs = complete(_runs(settings, arguments.limit))
    if arguments.json:
        teller.document({"documents": documents, "runs": [_run(each) for each in runs]})
        return 0
    if not documents and not runs:
        teller.talk("there is no runbook in this folder, and none was run. `pollux runbook new FILE` writes one")
    teller.lines([f"{teller.line(each['file'])}  {teller.line(each['error'] or each['name'])}" for each in documents])
    teller.lines(
        [
            f"{each.run.id}  {state_of(each.run)}  {teller.line(each.name)}  {moment(each.run.created_at)}"
            for each in runs
        ]
    )
    return 0


def show(arguments: argparse.Namespace, settings: Settings) -> int:
    """One document, or one run."""
    teller = Teller(settings)
    what: str = arguments.what
    told = complete(_shown(what, settings)) if what.startswith("run_") else _whole(Path(what))
    if arguments.json:
        teller.document(told)
        return 0
    state = ", ".join(word for word in (told.get("status"), told.get("refused")) if word)
    lines = [f"{teller.line(told['name'])}  {state}".rstrip()]
    for block in told["blocks"]:
        mark = {"done": "✓", "failed": "✗", "skipped": "-", "next": "▶"}.get(block["state"], " ")
        tail = f": {teller.line(block['error'])}" if block.get("error") else ""
        lines.append(f"  {mark} {teller.line(block['name'] or block['type'])} ({block['type']})  {block['id']}{tail}")
    teller.lines(lines)
    return 0


async def _runs(settings: Settings, limit: int) -> list[Told]:
    async with looking(settings) as queries:
        rows = await queries.runs(USER, limit=MOST_LOOKED_AT)
        found = [row.run_id for row in rows if row.profile == PROFILE and row.parent is None]
        return [await _told(queries, run_id) for run_id in found[:limit]]


async def _told(queries: Queries, run_id: RunId) -> Told:
    run = await queries.run(run_id, USER)
    return Told(run, (await queries.thread(run.thread_id, USER)).title)


async def _shown(run_id: str, settings: Settings) -> dict[str, Any]:
    from pollux.cli.runbook.place import runbooks_of

    async with looking(settings) as queries:
        run = await queries.run(RunId(run_id), USER)
        if run.profile != PROFILE:
            raise NotFound(f"{run_id} is no run of a runbook")
        messages = await queries.messages(run.thread_id, USER)
    types = runbooks_of(settings, Path.cwd()).types
    # A run that waits has said less than its thread will hold.
    progress = progress_of([*messages, *run.messages] if run.is_open else messages, types)
    steps = {step.block.id: step for step in progress.steps}
    blocks: list[dict[str, Any]] = []
    for block in progress.runbook.blocks:
        if block.type not in types:
            continue
        step = steps.get(block.id)
        state = "" if step is None else "skipped" if step.passed_over else "failed" if step.failed else "done"
        if progress.following is not None and block.id == progress.following.id:
            state = "next"
        error = step.problem if step is not None and step.failed else ""
        blocks.append({"id": block.id, "name": block.name, "type": block.type, "state": state, "error": error})
    code = run.ending.code if run.ending else ""
    return {
        "runId": run.id,
        "name": progress.runbook.name,
        "status": run.status,
        "code": code,
        "blocks": blocks,
        "refused": run.refused,
    }


def _run(told: Told) -> dict[str, Any]:
    return {"runId": told.run.id, "name": told.name, "status": told.run.status, "createdAt": told.run.created_at}


def _document(path: Path) -> dict[str, Any]:
    try:
        runbook = volume(path).read()
    except PolluxError as problem:
        return {"file": str(path), "name": "", "error": str(problem)}
    return {"file": str(path), "name": runbook.name, "error": ""}


def _whole(path: Path) -> dict[str, Any]:
    try:
        runbook = volume(path.absolute()).read()
    except ValidationError as problem:
        raise ValidationError(f"{path}: {problem}") from None
    blocks = [
        {"id": block.id, "name": block.name, "type": block.type, "state": "", "line": block.line}
        for block in runbook.blocks
    ]
    return {"id": runbook.id, "name": runbook.name, "blocks": blocks}
