"""What there is: runs, and the questions that wait for people."""

from pollux.asgi.bodies import moment
from pollux.asgi.door import identity_of
from pollux.asgi.endpoint import Call
from pollux.core.ids import RunId, ThreadId
from pollux.engine.glance import Glance
from pollux.engine.ports import RunRow
from pollux.http.runtime import Runtime
from pollux.http.shapes import PendingPage, RunPage, RunRowView, RunView
from pollux.http.views import pending_view, question_of, run_view


async def pending(runtime: Runtime, call: Call) -> PendingPage:
    """What waits for this user, newest first."""
    limit: int = call.query.limit
    found = await runtime.engine.queries.approvals(call.user, limit=limit + 1, before=call.query.before)
    visit = identity_of(call.scope).visit
    reached = [question for question in found[:limit] if visit is None or visit.reaches(question.run)]
    items = [pending_view(question.run, question.action) for question in reached]
    return PendingPage(items=items, next=question_of(found[limit - 1].action).id if len(found) > limit else None)


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
    )
