"""What changes a run: it is begun, its questions are answered, it is stopped. Who hangs up stops nothing.

An answer names an approval and a decision, nothing else: what runs is what was stored when the question was asked.
"""

import asyncio
from contextlib import AsyncExitStack, suppress
from dataclasses import replace
from typing import Literal

from pollux.asgi.bodies import moment
from pollux.asgi.budget import size_of
from pollux.asgi.door import identity_of
from pollux.asgi.endpoint import Answer, Call
from pollux.asgi.errors import HttpError
from pollux.asgi.ndjson import Lines
from pollux.core.errors import (
    Draining,
    Misfit,
    NotFound,
    PolicyError,
    StoreError,
    ThreadBusy,
    ValidationError,
    public_text,
)
from pollux.core.ids import RunId, ThreadId
from pollux.core.messages import user
from pollux.core.run import Run, run_of
from pollux.core.thread import title_of
from pollux.engine.engine import Start
from pollux.http.attachments import blobs_of, check_room
from pollux.http.follow import told
from pollux.http.idempotency import begin_once
from pollux.http.runtime import LOOK_SECONDS, Looks, Runtime
from pollux.http.shapes import Edited, ResolveBody, Resolved, RunBody, RunView
from pollux.http.views import action_view, approval_view, run_view

DOOR = "http"
STATUSES: dict[str, Literal["approved", "rejected"]] = {
    "reject": "rejected",
    "approve_once": "approved",
    "approve_and_always_allow_recipient": "approved",
}


async def run(runtime: Runtime, call: Call) -> RunView:
    """Begin a run, and answer when nothing is owed: it has ended, or people have to say something."""
    begun = await begin(runtime, call)
    try:
        settled = await call.unless_gone(_settled(runtime, begun))
    except (Draining, StoreError) as problem:
        raise HttpError(503, problem.code, public_text(problem), more={"runId": begun.id}) from None
    return run_view(settled)


async def _settled(runtime: Runtime, run: Run) -> Run:
    """The run when nothing is owed. Raises StoreError where it waits for the store, and has for a while."""
    looks = None
    while True:
        try:
            async with asyncio.timeout(LOOK_SECONDS):
                return await runtime.engine.wait_settled(run.id)
        except TimeoutError:
            looks = looks or Looks(runtime, run)
            await looks.look()


async def stream(runtime: Runtime, call: Call) -> Lines:
    """The same, told as it happens."""
    begun = await begin(runtime, call)
    return Lines(told(runtime, begun))


async def cancelled(runtime: Runtime, call: Call) -> Answer:
    """Stop a run. Answers when nothing of it is in flight any more, or after a while."""
    run_id = RunId(call.path["id"])
    await _check_reach(runtime, call, run_id)
    await runtime.engine.cancel(run_id, by=call.user, user=call.user)
    return Answer(run_view(await call.unless_gone(runtime.engine.wait_settled(run_id, seconds=call.query.wait))))


async def resolve(runtime: Runtime, call: Call) -> Resolved:
    """Take an answer, and tell what came of it, if that comes soon."""
    body: ResolveBody = call.body
    status = STATUSES[body.decision]
    run_id = RunId(run_of(body.approval_id))
    await _check_reach(runtime, call, run_id)
    if status == "approved":
        await _check_leave(runtime, call, body.approval_id)
    try:
        run = await runtime.engine.resolve(
            body.approval_id,
            status,
            by=call.user,
            user=call.user,
            feedback=body.feedback,
            scope="always" if body.decision == "approve_and_always_allow_recipient" else None,
            args_hash=body.args_hash,
        )
    except Misfit as problem:
        if problem.code == "policy_changed" and call.query.wait:
            with suppress(Draining):
                await call.unless_gone(runtime.engine.wait_settled(run_id, seconds=call.query.wait))
        raise await _refusal(runtime, call, body.approval_id, problem) from None
    if call.query.wait and run.profile in runtime.engine.profiles:
        # The answer is taken whatever comes now. A run of the command line is gone on with there.
        with suppress(Draining):
            run = await call.unless_gone(runtime.engine.wait_settled(run.id, seconds=call.query.wait))
    action = run.action_of_approval(body.approval_id)
    if action and action.outcome and action.outcome.code == "policy_changed":
        changed = Misfit(f"nothing ran: {action.outcome.message}", code="policy_changed")
        raise await _refusal(runtime, call, body.approval_id, changed)
    return Resolved(approval_id=body.approval_id, decision=body.decision, status=status, run=run_view(run))


async def edit(runtime: Runtime, call: Call) -> Answer:
    """Other arguments: prepared, decided and hashed anew, and asked about anew."""
    approval_id = call.path["id"]
    await _check_leave(runtime, call, approval_id)
    await _check_editable(runtime, call, approval_id)
    try:
        action = await runtime.engine.edit(approval_id, call.body.args, by=call.user, user=call.user)
    except Misfit as problem:
        raise await _refusal(runtime, call, approval_id, problem) from None
    approval = approval_view(action) if action.is_asked else None
    return Answer(Edited(approval=approval, action=action_view(action), superseded=approval_id), 201)


async def settle(runtime: Runtime, call: Call) -> RunView:
    """A person found out what became of an action whose outcome was unknown."""
    return run_view(await runtime.engine.settle(call.path["id"], call.body.outcome, by=call.user, user=call.user))


async def _check_reach(runtime: Runtime, call: Call, run_id: RunId) -> None:
    """A page's token is for its own runs, whoever its visitor is elsewhere. Raises NotFound."""
    visit = identity_of(call.scope).visit
    if visit is not None and not visit.reaches(await runtime.engine.queries.run(run_id, call.user)):
        raise NotFound(f"there is no run {run_id!r}")


async def _check_leave(runtime: Runtime, call: Call, approval_id: str) -> None:
    """Whoever may not use a profile that is kept for some lets nothing of it happen either. Raises PolicyError."""
    if not runtime.kept or call.user in runtime.keepers:
        return
    # Unknown, or somebody else's: who takes the answer says so.
    with suppress(NotFound):
        run = await runtime.engine.queries.run(RunId(run_of(approval_id)), call.user)
        if run.profile in runtime.kept:
            raise PolicyError("you may not run runbooks here any more. Reject this, or cancel the run")


async def _check_editable(runtime: Runtime, call: Call, approval_id: str) -> None:
    """Raises PolicyError for a call of a document where documents cannot be changed."""
    with suppress(NotFound):
        run = await runtime.engine.queries.run(RunId(run_of(approval_id)), call.user)
        if run.profile in runtime.unedited:
            raise PolicyError(
                "what a runbook runs cannot be edited here. Approve it as it is, or reject it; `editable = true` in"
                " [runbooks] allows edits",
                code="not_editable",
            )


async def _refusal(runtime: Runtime, call: Call, approval_id: str, problem: Misfit) -> HttpError:
    """Why it cannot be answered any more, and what became of it instead."""
    run = await runtime.engine.queries.run(RunId(run_of(approval_id)), call.user)
    action = run.action_of_approval(approval_id)
    approval = action.approval if action else None
    if action is None or approval is None:
        return HttpError(409, problem.code, str(problem))
    outcome: dict[str, object] = {"status": approval.status, "action": action_view(action)}
    if approval.resolution:
        outcome |= {"by": approval.resolution.by, "at": moment(approval.resolution.at)}
    return HttpError(409, problem.code, str(problem), more={"outcome": outcome, "runId": run.id})


async def begin(runtime: Runtime, call: Call) -> Run:
    """The run that a prompt begins. Raises before anything is told: HTTP can still say what is wrong."""
    body: RunBody = call.body
    if not body.prompt.strip():
        raise ValidationError("prompt must hold more than blanks")
    if body.profile in runtime.kept:
        raise NotFound("there is no such profile")
    blobs = blobs_of(body.attachments) if body.attachments else []
    start = Start(
        user(body.prompt, *blobs) if blobs else body.prompt,
        user=call.user,
        thread_id=ThreadId(body.thread_id) if body.thread_id else None,
        profile=body.profile,
        door=DOOR,
        origin=call.origin,
        supersede=body.supersede,
        live=True,
        title=title_of(body.prompt),
    )

    async def fresh() -> Start:
        if blobs and start.thread_id is not None:
            await check_room(runtime.engine.queries, start.thread_id, call.user, blobs)
        if runtime.budget is None:
            return start
        size = await _size(runtime, call)
        limits = await promises.enter_async_context(runtime.budget.promise(call.user, body.profile, size=size))
        return replace(start, limits=limits)

    async with AsyncExitStack() as promises:
        try:
            if "idempotency-key" in call.headers:
                return await begin_once(runtime.engine, fresh, call)
            return await runtime.engine.start(await fresh())
        except ThreadBusy as problem:
            raise await _busy(runtime, call, problem) from None


async def _size(runtime: Runtime, call: Call) -> int:
    """About how many tokens the model reads first: what is asked, and what was said in the thread before."""
    body: RunBody = call.body
    thread = None
    with suppress(NotFound):
        thread = await runtime.engine.queries.thread(ThreadId(body.thread_id), call.user) if body.thread_id else None
    return size_of(body.prompt) + (thread.context_tokens if thread else 0)


async def _busy(runtime: Runtime, call: Call, problem: ThreadBusy) -> HttpError:
    try:
        open_run = await runtime.engine.queries.run(RunId(problem.run_id), call.user)
        waiting = [approval_view(action) for action in open_run.open if action.is_asked]
    except NotFound:
        waiting = []
    more = {"runId": problem.run_id, "approvals": waiting}
    return HttpError(409, problem.code, str(problem), more=more)
