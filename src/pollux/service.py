"""What a server and a worker have in common: an engine on the configured store, with its tools, profiles and accounts.

With SQLite the process drives its own runs, and takes up what others left when they died. With PostgreSQL runs are
handed out by a queue, which sees to that by itself.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from pollux.bootstrap import google_of, running_engine, shared_store
from pollux.config import Settings, load_project
from pollux.config.profiles import profiles_of, tools_named
from pollux.core.errors import PolluxError
from pollux.core.frozen import frozen
from pollux.core.profile import DEFAULT_MODEL, Limits, Profile
from pollux.core.redact import Secret
from pollux.core.tools import Tool
from pollux.engine.engine import Engine
from pollux.tools.demo_mail import demo_mail
from pollux.tools.masked import MaskedTool
from pollux.tools.registered import registered_tools

if TYPE_CHECKING:
    from pollux.tools.google.account import Google

logger = logging.getLogger(__name__)

MODEL_CALLS = 3
RECOVER_SECONDS = 5.0
GRACE_SECONDS = 10.0
"""How long a process that stops lets go on what is under way."""


@frozen
class Service:
    """A running engine, and the accounts that its tools act for."""

    engine: Engine
    google: "Google | None" = None


@asynccontextmanager
async def running_service(
    settings: Settings, secrets: tuple[Secret, ...], *, stands_in: bool = False
) -> AsyncGenerator[Service]:
    """An engine that does its part of what is owed, closed at the end.

    `secrets` are kept out of what registered tools say. With PostgreSQL, one that `stands_in` takes on runs only while
    no worker is alive.
    """
    project = load_project(settings)
    async with AsyncExitStack() as stack:
        store, dispatcher = shared_store(settings, stands_in=stands_in)
        google = await stack.enter_async_context(google_of(settings, store))
        tools: dict[str, Tool] = {"demo_mail": demo_mail(settings.home / "outbox.jsonl")}
        tools |= {tool.spec.name: tool for tool in (google.tools if google else ())}
        registered = registered_tools(project.rights.tools, wanted=tools_named(project.rights), own=tuple(tools))
        profiles = profiles_of(
            project.rights,
            model=settings.model or DEFAULT_MODEL,
            defaults=Limits(model_calls=MODEL_CALLS),
            # An installed package offers nothing by being there: its tools are had by those who name them.
            tools=(*tools, *project.rights.tools),
            known=tuple(registered),
        )
        # Code of others: what it says goes to models and callers, and may hold what it was called with.
        tools |= {name: MaskedTool(tool, secrets) for name, tool in registered.items()}
        engine = await stack.enter_async_context(
            running_engine(
                settings,
                tools=tools.values(),
                profiles={name: _told_first(profile, settings) for name, profile in profiles.items()},
                rules=project.rights.rules,
                store=store,
                dispatcher=dispatcher,
            )
        )
        if dispatcher is None:
            await engine.recover()
            recovering = asyncio.create_task(_recover(engine))
            stack.push_async_callback(_stopped, recovering)
        yield Service(engine, google)


async def _recover(engine: Engine) -> None:
    """What other processes left when they died is taken up soon."""
    while True:
        await asyncio.sleep(RECOVER_SECONDS)
        try:
            await engine.recover()
        except PolluxError as problem:
            logger.warning("runs could not be looked for: %s", problem)


async def _stopped(task: "asyncio.Task[None]") -> None:
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


def _told_first(profile: Profile, settings: Settings) -> Profile:
    """The configured instructions come before the profile's own."""
    told = [text for text in (settings.system_prompt, profile.instructions) if text]
    return replace(profile, instructions="\n\n".join(told))
