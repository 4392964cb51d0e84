"""An engine that runs documents on this machine, with what the settings say."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from pollux.bootstrap import Registry, open_store, running_engine
from pollux.config import Settings, load_project
from pollux.engine.engine import Engine
from pollux.runbooks.runtime import Runbooks, make_runbooks
from pollux.runbooks.settings import agent_settings
from pollux.runbooks.trust import Trust
from pollux.tools.files.root import Root
from pollux.tools.shell.agent_shell import Runner


def runbooks_of(settings: Settings, directory: Path) -> Runbooks:
    """What runs documents in this directory. Where we keep our own keys and journals, nothing is read or written."""
    kept = [settings.home, *([settings.store] if isinstance(settings.store, Path) else [])]
    return make_runbooks(
        root=Root(directory, protected=kept),
        runner=Runner(directory, hidden=kept),
        roots=lambda path: Root(Path(path), protected=kept),
        agents=agent_settings(load_project(settings).rights).agents,
        model=settings.model or "",
        trust=Trust(settings.home),
    )


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
