"""An engine that runs documents on this machine, with what the settings say."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from pollux.bootstrap import Registry, open_store, running_engine
from pollux.cli.profile import configured_tools
from pollux.config import Settings, load_project
from pollux.core.errors import NotFound, ValidationError
from pollux.core.ids import RunId
from pollux.engine.engine import Engine
from pollux.runbooks.opening import last_opening
from pollux.runbooks.place import runbooks_of, secrets_of
from pollux.runbooks.runtime import Runbooks


@asynccontextmanager
async def running(settings: Settings, directory: Path) -> AsyncGenerator[tuple[Engine, Runbooks]]:
    """The engine, open, and its runbooks."""
    runbooks, rights = runbooks_of(settings, directory), load_project(settings).rights
    brought = [tool.spec.name for tool in runbooks.tools]
    configured = configured_tools(rights, secrets_of(settings), own=brought) if rights.tools or rights.profiles else {}
    async with running_engine(
        settings,
        tools=(*runbooks.tools, *configured.values()),
        profiles=runbooks.profiles,
        rules=rights.rules,
        store=open_store(settings),
        providers=runbooks.providers(Registry(settings)),
    ) as engine:
        runbooks.host.serve(engine)
        yield engine, runbooks


async def directory_of(settings: Settings, run_id: RunId) -> Path | None:
    """Where a run of a document began; None if it is none, or that is no directory any more."""
    store = open_store(settings)
    await store.open()
    try:
        run = await store.run(run_id)
        directory = Path(last_opening(run.messages).directory) if run else None
    except (NotFound, ValidationError):
        return None
    finally:
        await store.close()
    return directory if directory and directory.is_dir() else None
