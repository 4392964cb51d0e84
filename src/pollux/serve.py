"""One process that serves: the doors mounted behind one guard, an engine behind them, and an orderly end.

A signal drains: no new work is taken, what is under way gets a while, streams end with a last line, the rest is left to
whoever recovers it.
"""

import asyncio
import gc
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from starlette.responses import Response
from starlette.routing import Router
from starlette.types import ASGIApp

from pollux.asgi import static
from pollux.asgi.auth import Authority, Verifier
from pollux.asgi.budget import Budget
from pollux.asgi.credentials import Credentials, authority_of, is_secure, secrets_of
from pollux.asgi.door import LOOPBACK, Door, Pages, Rate, public
from pollux.asgi.endpoint import Call, Endpoint, nothing_there, routes_of
from pollux.asgi.listening import is_loopback, listening
from pollux.asgi.openapi import document_of
from pollux.asgi.visits import Visits
from pollux.bootstrap import seal_keys
from pollux.config import ConfigError, Settings, load_project, missing_key
from pollux.core.frozen import frozen
from pollux.engine.engine import Engine
from pollux.engine.logs import log_of
from pollux.http import table as http_table
from pollux.http.idempotency import begin_once
from pollux.http.runtime import Runtime, as_it_is
from pollux.http.shapes import ErrorAnswer
from pollux.page import table as page_table
from pollux.page.jay import JayActions
from pollux.page.jay_route import PREFIX as JAY
from pollux.page.runtime import PageRuntime
from pollux.page.table import PageDoor
from pollux.service import GRACE_SECONDS, Service, running_service

logger = log_of(__name__)

if TYPE_CHECKING:
    from pollux.runbooks.http.runtime import RunbookRuntime
    from pollux.runbooks.runtime import Runbooks
    from pollux.tools.google.account import Google

COLLECT = (5_000, 20, 20)
"""How seldom garbage is looked for: hundreds of streams make much that is no garbage, and everybody waits meanwhile."""
OPEN = (*http_table.ENDPOINTS, *page_table.ENDPOINTS)
"""Every route of the doors that are there without being asked for."""


def endpoints() -> tuple[Endpoint, ...]:
    """Every route of every door, also of those that are closed here: the document is the same everywhere."""
    # Where no runbooks are served, nothing of them is loaded until somebody wants to know of every route.
    from pollux.runbooks.http import table as runbook_table

    return (*OPEN, *runbook_table.ENDPOINTS)


@cache
def document() -> str:
    """What there is, as OpenAPI. `schema/openapi.json` is that text."""
    return document_of(endpoints(), ErrorAnswer)


async def _answer_document(runtime: object, call: Call) -> Response:
    return Response(document(), media_type="application/json")


DOCUMENT = Endpoint(
    method="GET", path="/openapi.json", handler=_answer_document, public=True, summary="What there is, as OpenAPI"
)
PUBLIC = frozenset(endpoint.path for endpoint in (*OPEN, DOCUMENT) if endpoint.public)


SHARED_KEY = (
    "POLLUX_SEAL_KEY is set, and the store is a file of this host. A page's next request may go to any server only"
    " where all of them share one store: set POLLUX_STORE to a PostgreSQL before you start a second server"
)


@frozen
class Site:
    """Pages of our own beside the doors: what is public of them, and what answers or passes on."""

    paths: frozenset[str]
    app: Callable[[ASGIApp, Visits], ASGIApp]


@asynccontextmanager
async def running_app(
    settings: Settings, credentials: Credentials, *, site: Site | None = None, assets: Path = static.FOLDER
) -> AsyncGenerator[tuple[ASGIApp, Engine]]:
    """The application over a running engine, closed at the end. `assets` is where what browsers get was built."""
    known = secrets_of(settings, credentials)
    async with _verifier(settings) as jwt:
        # Before the engine: every key there is has been made by the time anything is written.
        seal_keys(settings)
        documents = _documents(settings)
        async with running_service(settings, known, stands_in=True, documents=documents) as service:
            # A site of our own is there for its pages.
            has_pages = service.serves_pages or site is not None
            if has_pages and settings.seal_key is not None and service.store.kind == "sqlite":
                logger.warning("%s", SHARED_KEY)
            authority = authority_of(
                settings, credentials, service.store, clock=service.engine.clock, jwt=jwt, pages=has_pages
            )
            app = application(
                settings,
                service.engine,
                authority,
                google=service.google,
                page=page_of(settings, service, authority) if has_pages else None,
                runbooks=runbooks_of(settings, service.engine, documents) if documents else None,
                site=site,
                assets=assets,
            )
            yield app, service.engine


def _documents(settings: Settings) -> "Runbooks | None":
    """What runs documents, where a folder of them is served."""
    if load_project(settings).rights.runbooks.served is None:
        return None
    from pollux.runbooks.place import served_runbooks

    return served_runbooks(settings)


def runbooks_of(settings: Settings, engine: Engine, documents: "Runbooks") -> "RunbookRuntime":
    """The door to documents. It is there only for those whom the settings name."""
    from pollux.runbooks.http.runtime import runtime_of

    return runtime_of(settings, engine, documents, budget=budget_of(settings, engine), once=begin_once)


def page_of(settings: Settings, service: Service, authority: Authority) -> PageDoor:
    """What visitors of pages may do. Raises ValidationError where the site has an action of the agent's own name."""
    assert authority.visits is not None
    runtime = PageRuntime(
        service.engine,
        authority,
        authority.visits,
        seal_keys(settings),
        service.page_origins,
        service.page_profiles,
        {name: tool.spec for name, tool in service.actions.items()},
        budget=budget_of(settings, service.engine, has_visitors=True),
        secure_cookies=is_secure(settings),
    )
    return PageDoor(runtime, JayActions(service.registry, service.controls))


def application(
    settings: Settings,
    engine: Engine,
    authority: Authority,
    *,
    google: "Google | None" = None,
    page: PageDoor | None = None,
    runbooks: "RunbookRuntime | None" = None,
    site: Site | None = None,
    assets: Path = static.FOLDER,
) -> ASGIApp:
    """The doors behind their guard, and beside it what anybody may load."""
    runtime = Runtime(
        engine,
        authority,
        secure_cookies=is_secure(settings),
        budget=budget_of(settings, engine),
        public_url=settings.public_url,
        google=google,
        missing_key=_missing_key(settings, engine),
        kept=frozenset(runbooks.runbooks.profiles) if runbooks else frozenset(),
        keepers=runbooks.users if runbooks else frozenset(),
        unedited=frozenset(runbooks.runbooks.profiles) if runbooks and not runbooks.editable else frozenset(),
    )
    routes = routes_of((*http_table.ENDPOINTS, DOCUMENT), runtime)
    routes += page_table.routes(page) if page else page_table.closed_routes()
    if runbooks is not None:
        from pollux.runbooks.http import table as runbook_table

        routes += runbook_table.routes(runbooks)
    app: ASGIApp = Router(routes, redirect_slashes=False, default=nothing_there)
    if site is not None and authority.visits is not None:
        app = site.app(app, authority.visits)
    return Door(
        app,
        authority=authority,
        rate=Rate(per_minute=settings.requests_per_minute, burst=settings.burst, now=time.monotonic),
        # Who calls a site's action is found out there: its own pages have no token.
        is_public=public(_public_paths(site, has_pages=page is not None) - _hidden(settings), JAY),
        hosts=hosts_of(settings),
        public_url=settings.public_url,
        explain=lambda problem: as_it_is(engine, problem),
        # Without a page's door, what a site's owner is told of a missing origin is still true.
        pages=Pages(page.runtime.origins if page else frozenset(), page_table.is_open),
        proxies=frozenset(name.strip("[]") for name in settings.trusted_proxies),
        beside=dict.fromkeys(static.PATHS, static.Assets(assets)),
    )


def _missing_key(settings: Settings, engine: Engine) -> str:
    profile = engine.profiles.get("default")
    try:
        return missing_key(profile.model, settings) if profile else ""
    except ConfigError:
        # A model that only the one who started this server knows.
        return ""


def _hidden(settings: Settings) -> frozenset[str]:
    """What anybody may ask on this machine alone: elsewhere, what there is, is told to those who may call it."""
    return frozenset() if is_loopback(settings.host) else frozenset({DOCUMENT.path})


def _public_paths(site: Site | None, *, has_pages: bool) -> frozenset[str]:
    """Where anybody may ask. Without pages, anybody is told that there are none."""
    paths = PUBLIC | site.paths if site else PUBLIC
    return paths if has_pages else paths | page_table.PATHS


def budget_of(settings: Settings, engine: Engine, *, has_visitors: bool = False) -> Budget | None:
    """What users may spend here; None for no bound. Visitors always have one: anybody who opens a page is one."""
    if settings.tokens_per_day is None and not has_visitors:
        return None
    return Budget(engine, tokens_per_day=settings.tokens_per_day, for_strangers=settings.visitor_tokens_per_day)


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


@asynccontextmanager
async def _verifier(settings: Settings) -> AsyncGenerator[Verifier | None]:
    if settings.oidc_issuer is None or settings.oidc_audience is None:
        yield None
        return
    from pollux.asgi.jwt import JwtVerifier

    verifier = JwtVerifier(
        issuer=settings.oidc_issuer,
        audience=settings.oidc_audience,
        jwks=settings.oidc_jwks,
        keys_seconds=settings.oidc_keys_seconds,
        unknown_key_seconds=settings.oidc_unknown_key_seconds,
    )
    try:
        yield verifier
    finally:
        await verifier.close()
