"""One process that serves: the doors mounted behind one guard, an engine behind them, and an orderly end.

A signal drains: no new work is taken, what is under way gets a while, streams end with a last line, the rest is left to
whoever recovers it.
"""

import asyncio
import gc
import logging
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from starlette.routing import Router
from starlette.types import ASGIApp

from pollux.asgi.auth import Authority, Verifier
from pollux.asgi.credentials import Credentials, authority_of, secrets_of
from pollux.asgi.door import LOOPBACK, Door, Rate
from pollux.asgi.endpoint import nothing_there, routes_of
from pollux.asgi.listening import is_loopback, listening
from pollux.bootstrap import google_of, open_store, running_engine
from pollux.config import Settings, load_project
from pollux.config.profiles import profiles_of, tools_named
from pollux.core.errors import PolluxError
from pollux.core.profile import DEFAULT_MODEL, Limits, Profile
from pollux.core.tools import Tool
from pollux.engine.engine import Engine
from pollux.http.openapi import DOCUMENT
from pollux.http.runtime import Runtime, as_it_is
from pollux.http.table import ENDPOINTS
from pollux.tools.demo_mail import demo_mail
from pollux.tools.masked import MaskedTool
from pollux.tools.registered import registered_tools

if TYPE_CHECKING:
    from pollux.tools.google.account import Google

logger = logging.getLogger(__name__)

MODEL_CALLS = 3
RECOVER_SECONDS = 5.0
GRACE_SECONDS = 10.0
COLLECT = (5_000, 20, 20)
"""How seldom garbage is looked for: hundreds of streams make much that is no garbage, and everybody waits meanwhile."""
PUBLIC = frozenset(endpoint.path for endpoint in (*ENDPOINTS, DOCUMENT) if endpoint.public)


@asynccontextmanager
async def running_app(settings: Settings, credentials: Credentials) -> AsyncGenerator[tuple[ASGIApp, Engine]]:
    """The application over an engine that recovers what others left, closed at the end."""
    project = load_project(settings)
    # Code of others: what it says goes to models and callers, and may hold what it was called with.
    known = secrets_of(settings, credentials)
    async with AsyncExitStack() as stack:
        store = open_store(settings)
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
        tools |= {name: MaskedTool(tool, known) for name, tool in registered.items()}
        jwt = await stack.enter_async_context(_verifier(settings))
        authority = authority_of(settings, credentials.tokens, jwt=jwt)
        engine = await stack.enter_async_context(
            running_engine(
                settings,
                tools=tools.values(),
                profiles={name: _told_first(profile, settings) for name, profile in profiles.items()},
                rules=project.rights.rules,
                store=store,
            )
        )
        await engine.recover()
        recovering = asyncio.create_task(_recover(engine))
        stack.push_async_callback(_stopped, recovering)
        yield application(settings, engine, authority, google=google), engine


def application(settings: Settings, engine: Engine, authority: Authority, *, google: "Google | None" = None) -> ASGIApp:
    """The doors behind their guard."""
    runtime = Runtime(
        engine,
        authority,
        secure_cookies=(settings.public_url or "").startswith("https:"),
        tokens_per_day=settings.tokens_per_day,
        public_url=settings.public_url,
        google=google,
    )
    router = Router(routes_of((*ENDPOINTS, DOCUMENT), runtime), redirect_slashes=False, default=nothing_there)
    return Door(
        router,
        authority=authority,
        rate=Rate(per_minute=settings.requests_per_minute, burst=settings.burst, now=time.monotonic),
        is_public=PUBLIC.__contains__,
        hosts=hosts_of(settings),
        public_url=settings.public_url,
        explain=lambda problem: as_it_is(engine, problem),
    )


def hosts_of(settings: Settings) -> frozenset[str] | None:
    """The names under which we may be reached; None for any."""
    named = set(settings.allowed_hosts)
    if not named and not is_loopback(settings.host):
        return None
    if is_loopback(settings.host):
        named |= {*LOOPBACK, f"[{settings.host}]" if ":" in settings.host else settings.host.lower()}
    if settings.public_url is not None:
        named.add(_host_of(settings.public_url))
    return frozenset(named)


def _host_of(url: str) -> str:
    name = urlsplit(url).hostname or ""
    return f"[{name}]" if ":" in name else name


async def serve(
    settings: Settings, credentials: Credentials, *, on_ready: Callable[[str], None], stop: asyncio.Event
) -> None:
    """Serve until told to stop, then drain. Raises ConfigError where the address cannot be had."""
    async with running_app(settings, credentials) as (app, engine), listening(app, settings) as server:
        # What was made to begin with stays to the end: it need not be looked at again and again.
        gc.collect()
        gc.freeze()
        gc.set_threshold(*COLLECT)
        on_ready(server.url)
        stopping = asyncio.create_task(stop.wait())
        await asyncio.wait({server.serving, stopping}, return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        # Runs first: their streams then have a last line to tell, and their connections end by themselves.
        await engine.close(GRACE_SECONDS)


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


@asynccontextmanager
async def _verifier(settings: Settings) -> AsyncGenerator[Verifier | None]:
    if settings.oidc_issuer is None or settings.oidc_audience is None:
        yield None
        return
    from pollux.asgi.jwt import JwtVerifier

    verifier = JwtVerifier(issuer=settings.oidc_issuer, audience=settings.oidc_audience, jwks=settings.oidc_jwks)
    try:
        yield verifier
    finally:
        await verifier.close()


def _told_first(profile: Profile, settings: Settings) -> Profile:
    """The configured instructions come before the profile's own."""
    told = [text for text in (settings.system_prompt, profile.instructions) if text]
    return replace(profile, instructions="\n\n".join(told))
