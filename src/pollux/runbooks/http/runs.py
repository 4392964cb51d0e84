"""Documents are run, gone on with and answered. Who hangs up stops nothing; a run is cancelled like any other."""

from contextlib import suppress
from typing import Any

from pollux.asgi.bodies import moment
from pollux.asgi.endpoint import Answer, Call
from pollux.asgi.errors import HttpError
from pollux.config import ConfigError, model_ref
from pollux.core.errors import Misfit, NotFound, TooNew, ValidationError
from pollux.core.ids import UserId
from pollux.core.policy import Scope
from pollux.core.run import Action, Run, run_of
from pollux.engine.ports import RunRow
from pollux.engine.start import Start
from pollux.runbooks.http.documents import changed_meanwhile, path_of, programs_at, volume_at, workspace_of
from pollux.runbooks.http.runtime import RunbookRuntime
from pollux.runbooks.http.shapes import (
    ResumeBody,
    RunbookRunItem,
    RunbookRunPage,
    RunbookRunView,
    RunbookStartBody,
    ToolApprovalAnswer,
    ToolApprovalBody,
)
from pollux.runbooks.http.views import run_view
from pollux.runbooks.opening import Opening
from pollux.runbooks.rules import PROFILE
from pollux.runbooks.runtime import opening_for
from pollux.tools.threads import in_thread

LOOKED_AT = 200
MOST_LOOKED_AT = 5_000
"""How many runs are looked through for those of runbooks. `next` leads on from there."""
MOST_PATHS = 5_000


async def started(runtime: RunbookRuntime, call: Call) -> Answer:
    """Run a document. Answers at once: the stream tells what happens."""

    async def fresh() -> Start:
        await _check_budget(runtime, call)
        opening = await in_thread(_opening, runtime, call.body, call.user)
        return runtime.runbooks.beginning(opening, user=call.user)

    if runtime.once is not None and "idempotency-key" in call.headers:
        run = await runtime.once(runtime.engine, fresh, call)
    else:
        run = await runtime.engine.start(await fresh())
    return Answer(await run_view(runtime, run), 201)


async def resumed(runtime: RunbookRuntime, call: Call) -> RunbookRunView:
    """Go on: where it was, or, after a block that did not succeed, with that block again or without it."""
    body: ResumeBody = call.body
    if body.retry and body.skip:
        raise ValidationError("expected `retry` or `skip`, found both")
    run = await runtime.run(call.path["id"], call.user)
    await _check_budget(runtime, call)
    gone_on = await runtime.runbooks.resume(
        run.id, user=call.user, retry=body.retry or "", skip=body.skip or "", variables=body.variables
    )
    return await run_view(runtime, gone_on)


async def shown(runtime: RunbookRuntime, call: Call) -> RunbookRunView:
    """One run, block by block."""
    return await run_view(runtime, await runtime.run(call.path["id"], call.user))


async def listed(runtime: RunbookRuntime, call: Call) -> RunbookRunPage:
    """Runs of runbooks, newest first. Those that are a part of another are not listed."""
    limit: int = call.query.limit
    before: str | None = call.query.before
    found: list[RunRow] = []
    looked, is_end = 0, False
    while len(found) <= limit and looked < MOST_LOOKED_AT and not is_end:
        rows = await runtime.engine.queries.runs(call.user, limit=LOOKED_AT, before=before)
        found += [row for row in rows if row.profile == PROFILE and row.parent is None]
        looked, is_end = looked + len(rows), len(rows) < LOOKED_AT
        before = rows[-1].run_id if rows else before
    items = [await _item(runtime, row) for row in found[:limit]]
    following = items[-1].run_id if len(found) > limit else None if is_end else before
    return RunbookRunPage(items=items, next=following)


async def answered(runtime: RunbookRuntime, call: Call) -> ToolApprovalAnswer:
    """Take a person's answer to a question of this run, of its agents or of its parts."""
    body: ToolApprovalBody = call.body
    root = await runtime.run(call.path["id"], call.user)
    asked = await _asked(runtime, call, root)
    status = "approved" if body.approved else "rejected"
    try:
        await runtime.engine.resolve(
            body.approval_id,
            status,
            by=call.user,
            user=call.user,
            feedback=body.feedback,
            scope=_scope_of(body, asked),
            args_hash=body.args_hash,
        )
    except Misfit as problem:
        raise await _refusal(runtime, asked, body.approval_id, problem) from None
    view = await run_view(runtime, await runtime.run(root.id, call.user))
    return ToolApprovalAnswer(
        approval_id=body.approval_id, approved=body.approved, remember=body.remember, status=status, run=view
    )


def _scope_of(body: ToolApprovalBody, asked: Run) -> Scope | None:
    """For how long the answer counts: the tool in this session where the question offers that, unless it says less."""
    if not (body.approved and body.remember):
        if body.scope is not None:
            raise ValidationError("`scope` needs `approved` and `remember`")
        return None
    action = asked.action_of_approval(body.approval_id)
    offered = action.approval.scopes if action and action.approval else ()
    return body.scope or ("tool" if "tool" in offered else "session")


def _opening(runtime: RunbookRuntime, body: RunbookStartBody, user: str) -> Opening:
    document = volume_at(runtime, body.path)
    if body.digest is not None and body.digest != document.digest:
        raise changed_meanwhile()
    document.read()
    directory = document.path.parent.resolve()
    workspace = workspace_of(directory)
    if body.trust:
        if body.digest is None:
            raise ValidationError("trust needs the digest of the document that you have read")
        programs = programs_at(runtime, document)
        if body.programs_digest not in (None, programs.digest):
            raise changed_meanwhile("what the document starts is")
        runtime.runbooks.accept(document, programs, by=UserId(user))
    return opening_for(
        document,
        directory=directory,
        workspace=str(workspace),
        variables=body.variables,
        model=_model(body.model) if body.model else "",
    )


def _model(name: str) -> str:
    """The model, if it has a name that can be asked for. Raises ValidationError."""
    try:
        ref = model_ref(name)
    except ConfigError as problem:
        raise ValidationError(str(problem)) from None
    if ref.base_url is not None:
        # Where this server's own key is sent is for its operator to say, and for documents that somebody trusts.
        raise ValidationError("expected a model by its name alone, found one with an address")
    return name


async def _check_budget(runtime: RunbookRuntime, call: Call) -> None:
    """Raises HttpError where what the user may spend in a day is spent: agents spend it too."""
    if runtime.budget is not None:
        await runtime.budget.check(call.user)


async def _item(runtime: RunbookRuntime, row: RunRow) -> RunbookRunItem:
    title = path = ""
    # It was erased meanwhile, or a newer process has written what only that one can read.
    with suppress(NotFound, TooNew):
        title = (await runtime.engine.queries.thread(row.thread_id, row.user)).title
        path = await _path(runtime, row)
    return RunbookRunItem(
        run_id=row.run_id,
        thread_id=row.thread_id,
        name=title,
        path=path,
        state=row.status,
        created_at=moment(row.created_at),
        updated_at=moment(row.updated_at),
    )


async def _path(runtime: RunbookRuntime, row: RunRow) -> str:
    """The document of a run. Raises NotFound and TooNew."""
    known = runtime.paths
    if row.thread_id not in known:
        run = await runtime.engine.queries.run(row.run_id, row.user)
        if len(known) >= MOST_PATHS:
            known.clear()
        known[row.thread_id] = path_of(runtime, run.origin)
    return known[row.thread_id]


async def _asked(runtime: RunbookRuntime, call: Call, root: Run) -> Run:
    """The run that asks: this one, or one beneath it. Raises NotFound for a question of any other."""
    approval_id: str = call.body.approval_id
    unknown = NotFound(f"there is no approval {approval_id!r}")
    try:
        run = await runtime.engine.queries.run(run_of(approval_id), call.user)
    except NotFound:
        raise unknown from None
    if root.id not in (run.id, run.parent.root if run.parent else ""):
        raise unknown
    return run


async def _refusal(runtime: RunbookRuntime, asked: Run, approval_id: str, problem: Misfit) -> HttpError:
    """Why it cannot be answered any more, and what became of it instead: as approvals/resolve tells it."""
    run = await runtime.engine.queries.run(asked.id, asked.user)
    action = run.action_of_approval(approval_id)
    approval = action.approval if action else None
    if action is None or approval is None:
        return HttpError(409, problem.code, str(problem))
    outcome: dict[str, Any] = {"status": approval.status, "action": _action(action)}
    if approval.resolution:
        outcome |= {"by": approval.resolution.by, "at": moment(approval.resolution.at)}
    return HttpError(409, problem.code, str(problem), more={"outcome": outcome, "runId": run.id})


def _action(action: Action) -> dict[str, Any]:
    outcome = action.outcome
    failed = outcome if outcome is not None and outcome.status != "completed" else None
    ended = {"completed": "completed", "failed": "failed", "rejected": "failed"}
    return {
        "id": action.id,
        "tool": action.tool,
        "status": ended.get(action.status, "awaiting_confirmation"),
        "state": action.status,
        "requiresApproval": action.approval is not None,
        "errorCode": (failed.code or failed.status) if failed else None,
        "message": (failed.message or None) if failed else None,
        "approvalId": action.approval.id if action.approval else None,
    }
