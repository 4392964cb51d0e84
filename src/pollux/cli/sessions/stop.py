"""`pollux sessions cancel`: stop a session's open run, also one whose process is gone."""

from pollux.bootstrap import open_store, running_engine
from pollux.cli.finish import DOOR, is_held
from pollux.cli.kept import heard
from pollux.config import Settings
from pollux.core.errors import Misfit, NotFound, SessionNotFound
from pollux.core.ids import ThreadId
from pollux.core.profile import Profile
from pollux.core.run import Run
from pollux.engine.engine import Engine
from pollux.sdk.setup import USER

STOP_SECONDS = 10.0


async def stopped(session_id: str, settings: Settings) -> tuple[str, Run | None]:
    """The session, and its run that was asked to stop; None where it has no open one. Raises SessionNotFound."""
    with heard():
        async with running_engine(settings, profiles={}) as engine:
            run = await _open_run(engine, session_id)
        if run is None:
            return session_id, None
        store = open_store(settings)
        # What has to be done for a run that is to stop needs neither its model nor its tools; a script's own tools may
        # know how to look whether they acted, and are waited for.
        profiles = {run.profile: Profile(run.profile)} if run.door == DOOR else {}
        async with running_engine(settings, profiles=profiles, store=store) as engine:
            try:
                run = await engine.cancel(run.id, by=USER, user=USER)
            except Misfit:
                # It was asked to stop before, and nobody was there to do it; or it has just ended.
                pass
            if not await is_held(run, store):
                await engine.recover(run.id)
                run = await engine.wait_settled(run.id, seconds=STOP_SECONDS if profiles else 0.1)
            return session_id, await engine.queries.run(run.id, USER)


async def _open_run(engine: Engine, session_id: str) -> Run | None:
    try:
        thread = await engine.queries.thread(ThreadId(session_id), USER)
    except NotFound:
        raise SessionNotFound(
            f"there is no session {session_id!r}. `pollux sessions list --all` lists those that there are"
        ) from None
    return None if thread.open_run is None else await engine.queries.run(thread.open_run, USER)
