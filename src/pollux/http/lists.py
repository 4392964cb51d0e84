"""What there is: runs, and the questions that wait for people."""

from pollux.asgi.bodies import moment
from pollux.asgi.door import identity_of
from pollux.asgi.endpoint import Call
from pollux.core.errors import NotFound
from pollux.core.ids import RunId, ThreadId
from pollux.core.run import run_of
from pollux.engine.glance import Glance
from pollux.engine.ports import RunRow
from pollux.engine.queries import Question
from pollux.http.runtime import Runtime
from pollux.http.shapes import PendingAnswer, PendingPage, RunPage, RunRowView, RunView
from pollux.http.views import listed_view, pending_view, question_of, run_view


async def pending(runtime: Runtime, call: Call) -> PendingPage:
    """What waits for this user, newest first."""
    limit: int = call.query.limit
    visit = identity_of(call.scope).visit
    found: list[Question] = []
    before = call.query.before
    while len(found) <= limit:
        asked = await runtime.engine.queries.approvals(call.user, limit=limit + 1, before=before)
        # What a page's token does not reach is not counted either: the id to go on after would tell of it.
        found += [question for question in asked if visit is None or visit.reaches(question.run)]
        if len(asked) <= limit:
            break
        before = question_of(asked[-1].action).id
    items = [listed_view(question.run, question.action) for question in found[:limit]]
    return PendingPage(items=items, next=items[-1].id if len(found) > limit else None)


async def approval(runtime: Runtime, call: Call) -> PendingAnswer:
    """One question that waits, whole."""
    approval_id = call.path["id"]
    found = await runtime.engine.queries.run(RunId(run_of(approval_id)), call.user)
    action = found.action_of_approval(approval_id)
    if action is None or not action.is_asked:
        raise NotFound(f"no approval {approval_id!r} waits for an answer")
    return PendingAnswer(approval=pending_view(found, action))


async def runs(runtime: Runtime, call: Call) -> RunPage:
    """Runs, newest first."""
    query, queries = call.query, runtime.engine.queries
    rows = await queries.runs(
        call.user,
        thread_id=ThreadId(query.thread_id) if query.thread_id else None,
        states=(query.state,) if query.state else (),
        limit=query.limit + 1,
        before=query.before,
    )
    prompts = await queries.prompts(rows[: query.limit])
    items = [_row(row, prompts.get(row.run_id, "")) for row in rows[: query.limit]]
    return RunPage(items=items, next=items[-1].run_id if len(rows) > query.limit else None)


async def run(runtime: Runtime, call: Call) -> RunView:
    """One run."""
    return run_view(await runtime.engine.queries.run(RunId(call.path["id"]), call.user))


def _row(row: RunRow, prompt: str) -> RunRowView:
    glance = row.glance or Glance()
    has_failed = row.glance is not None and row.status in ("failed", "cancelled")
    return RunRowView(
        run_id=row.run_id,
        thread_id=row.thread_id,
        profile=row.profile,
        state=row.status,
        created_at=moment(row.created_at),
        updated_at=moment(row.updated_at),
        prompt=prompt,
        model=glance.model,
        tokens=row.tokens,
        cost=glance.cost,
        error_code=(glance.code or row.status) if has_failed else None,
        parent_run_id=row.parent,
        refused=glance.code if row.status == "completed" else "",
    )
