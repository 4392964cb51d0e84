"""`pollux sessions resume`: go on with a run of the command line whose process is gone.

It is told whole: of what that process told, nobody knows how much has been read. What was done is not done again.
"""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from pollux.bootstrap import open_store
from pollux.cli.finish import DOOR, Fate, go_on, heir, is_held
from pollux.cli.kept import here
from pollux.cli.masking import Mask
from pollux.cli.outlet import Outlet
from pollux.cli.rest import Rest
from pollux.cli.telling import Telling, tell
from pollux.config import Settings
from pollux.core.errors import NotFound, PolluxError, SessionNotFound, ThreadBusy
from pollux.core.ids import ThreadId
from pollux.core.run import Run
from pollux.core.thread import Thread
from pollux.engine.ports import Store
from pollux.engine.queries import Queries
from pollux.sdk.events import AgentEvent, ApprovalRequired
from pollux.sdk.setup import USER

PAGE = 100


def resume(session_id: str, *, rest: Rest, outlet: Outlet) -> int:
    """Go on with the session's open run and tell it on standard output; the exit code is as of `pollux run`."""

    async def work(telling: Telling) -> None:
        try:
            run = await _interrupted(session_id, rest.settings)
            await go_on(run, rest, telling, lambda event: _fate_of(event, run))
        except ThreadBusy as busy:
            # In its own words: the usual ones advise what was just tried.
            telling.fail(busy.code, str(busy))
        except NotFound as nothing:
            if nothing.code != "nothing_open":
                raise
            telling.fail("not_found", "there is nothing left to go on with: another process was faster")

    mask = Mask(rest.settings.secrets())
    return tell(work, format_=rest.format, outlet=outlet, mask=mask, timeout=rest.timeout)


def _fate_of(event: AgentEvent, run: Run) -> Fate:
    """A question of the past that was answered is not put again."""
    if not isinstance(event, ApprovalRequired):
        return "now"
    action = run.action_of_approval(event.id)
    return "noted" if action and action.approval and not action.approval.is_open else "now"


async def _interrupted(session_id: str, settings: Settings) -> Run:
    """The run to go on with. Raises NotFound where there is none, ThreadBusy where somebody else is at it."""
    async with _opened(settings) as store:
        queries = Queries(store)
        if session_id == "latest":
            return await _latest(queries, store)
        try:
            thread = await queries.thread(ThreadId(session_id), USER)
        except NotFound:
            raise SessionNotFound(f"there is no session {session_id!r}") from None
        return await _ours(thread, queries, store)


async def _latest(queries: Queries, store: Store) -> Run:
    """That of the last updated session of this directory that has one."""
    problem: PolluxError | None = None
    async for thread in _open_threads(queries, here()):
        try:
            return await _ours(thread, queries, store)
        except (NotFound, ThreadBusy) as refusal:
            problem = problem or refusal
    raise problem or NotFound(
        f"no session of {here()} was interrupted. `pollux sessions resume ID` goes on with one of another directory"
    )


async def _open_threads(queries: Queries, project: Path) -> AsyncGenerator[Thread]:
    before: str | None = None
    while page := await queries.threads(USER, limit=PAGE, before=before):
        for thread in page:
            if thread.project == str(project) and thread.open_run is not None:
                yield thread
        before = page[-1].id


async def _ours(thread: Thread, queries: Queries, store: Store) -> Run:
    if thread.open_run is None:
        raise NotFound(
            f"session {thread.id!r} was not interrupted: it has no open run."
            f' `pollux run "…" --session {thread.id}` asks it something new'
        )
    run = await queries.run(thread.open_run, USER)
    if await is_held(run, store):
        raise ThreadBusy(
            f"session {thread.id!r} was not interrupted: the process that holds {run.id} is alive and goes on with it."
            f" Wait for it, or stop the run with `pollux sessions cancel {thread.id}`",
            run_id=run.id,
        )
    if run.door != DOOR:
        raise NotFound(f"session {thread.id!r} is not the command line's to go on with. {heir(run, held=False)}")
    return run


@asynccontextmanager
async def _opened(settings: Settings) -> AsyncGenerator[Store]:
    """The store, to look into. No engine: who only looks is nobody's driver."""
    store = open_store(settings)
    await store.open()
    try:
        yield store
    finally:
        await store.close()
