"""A run of a document as its caller sees it. Everything is read from the runs themselves."""

from collections.abc import AsyncIterator, Mapping

from pollux.asgi.bodies import moment
from pollux.core.errors import NotFound
from pollux.core.ids import RunId
from pollux.core.run import Action, Run
from pollux.runbooks import rules
from pollux.runbooks.documents import Block
from pollux.runbooks.http.board import Board, Journals, Place, told_of
from pollux.runbooks.http.documents import path_of
from pollux.runbooks.http.runtime import RunbookRuntime
from pollux.runbooks.http.shapes import AgentProgress, BlockProgress, RunbookQuestion, RunbookRunView
from pollux.runbooks.progress import Progress
from pollux.runbooks.shelf import digest_of
from pollux.runbooks.told import answered_by
from pollux.wire.brief import brief_of

MOST_GOES = 100
"""How many goes at one document are looked at, for what the earlier ones have done."""
IDLE = AgentProgress(status="idle", token_usage=None, pending_tool_call=None, input_tokens=None, output_tokens=None)


async def run_view(runtime: RunbookRuntime, run: Run) -> RunbookRunView:
    """The run, with how far it and those before it in its thread have come."""
    # What the thread held when it began, then what it said itself: later goes are not its own.
    messages = await runtime.engine.queries.messages(run.thread_id, run.user)
    progress = runtime.runbooks.progress([*messages[: run.head], *run.messages])
    beneath = [each async for each in _beneath(runtime, run)]
    board = await _board(runtime, run, {child.id: child for child, _ in beneath})
    opening, ending = progress.opening, run.ending
    return RunbookRunView(
        run_id=run.id,
        thread_id=run.thread_id,
        runbook_id=progress.runbook.id,
        name=progress.runbook.name,
        path=path_of(runtime, opening.path),
        digest=digest_of(opening.source),
        trusted=run.document is not None and run.document.is_trusted,
        state=run.status,
        code=(ending.code or ending.status) if ending and ending.status != "completed" else "",
        error=ending.message if ending and ending.status != "completed" else "",
        summary=run.text if ending and ending.status == "completed" else "",
        blocks=[
            _block(block, board, progress) for block in progress.runbook.blocks if block.type in runtime.runbooks.types
        ],
        approvals=[
            _question(each, action, block_id) for each, block_id in beneath for action in each.open if action.is_asked
        ],
        created_at=moment(run.created_at),
    )


async def _board(runtime: RunbookRuntime, run: Run, seen: Mapping[RunId, Run]) -> Board:
    queries = runtime.engine.queries
    journals = Journals(queries, seen)
    rows = await queries.runs(run.user, thread_id=run.thread_id, limit=MOST_GOES)
    goes = [row.run_id for row in reversed(rows) if row.created_at <= run.created_at and row.run_id != run.id]
    board = Board()
    for run_id in (*goes, run.id):
        async for told in told_of(journals, runtime.runbooks.types, run_id):
            board.read(told)
    return board


def _block(block: Block, board: Board, progress: Progress) -> BlockProgress:
    place = board.places.get(block.id, Place())
    if any(step.block.id == block.id and step.passed_over for step in progress.steps):
        place.state = "skipped"
    elif progress.following is not None and progress.following.id == block.id:
        # As it came out the last time says nothing any more of a block that shall run again.
        place = place if place.state in ("waiting", "running") else Place("next")
    return BlockProgress(
        id=block.id,
        type=block.type,
        name=block.name,
        state=place.state,
        outputs=place.outputs,
        code=place.code,
        error=place.error,
        seconds=place.seconds,
        started_at=None if place.started_at is None else moment(place.started_at),
        agent=(place.agent or IDLE) if block.type == "agent" else None,
    )


async def _beneath(runtime: RunbookRuntime, run: Run, block_id: str = "") -> AsyncIterator[tuple[Run, str]]:
    """This run and those that it waits for, each with the block of the document that it is at work on."""
    yield run, block_id
    for action in run.open:
        if action.where == "child" and action.handed_over and not action.outcome:
            try:
                queries = runtime.engine.queries
                child = await queries.run(queries.child_of(action.id), run.user)
            except NotFound:
                continue
            async for each in _beneath(runtime, child, block_id or action.call.id):
                yield each


def _question(run: Run, action: Action, block_id: str) -> RunbookQuestion:
    approval = action.approval
    assert approval is not None
    asker = run.action(action.asker) if action.asker else None
    preview = approval.preview or action.preview
    brief = brief_of(preview=preview, subjects=sorted(action.subjects), args=action.args)
    return RunbookQuestion(
        id=approval.id,
        run_id=run.id,
        block_id=block_id or (asker or action).call.id,
        by_agent=bool(action.asker) or run.profile != rules.PROFILE,
        tool=action.tool,
        reason=approval.reason,
        preview=brief.preview,
        args=brief.args,
        args_hash=action.args_hash,
        expires_at=moment(answered_by(run, action)),
        subjects=list(brief.subjects),
        scopes=list(approval.scopes),
        truncated=brief.is_truncated,
    )
