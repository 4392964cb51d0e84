"""An engine that runs documents on this machine, with what the settings say."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from pollux.bootstrap import Registry, open_store, running_engine
from pollux.config import Settings, load_project
from pollux.engine.engine import Engine
from pollux.runbooks.place import runbooks_of
from pollux.runbooks.runtime import Runbooks


@asynccontextmanager
async def running(settings: Settings, directory: Path) -> AsyncGenerator[tuple[Engine, Runbooks]]:
    """The engine, open, and its runbooks."""
    runbooks = runbooks_of(settings, directory)
    async with running_engine(
        settings,
        tools=runbooks.tools,
        profiles=runbooks.profiles,
        rules=load_project(settings).rights.rules,
        store=open_store(settings),
        providers=runbooks.providers(Registry(settings)),
    ) as engine:
        runbooks.host.serve(engine)
        yield engine, runbooks
