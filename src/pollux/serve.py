"""One process that serves: the doors mounted behind one guard, an engine behind them, and an orderly end.

A signal drains: no new work is taken, what is under way gets a while, streams end with a last line, the rest is left to
whoever recovers it.
"""

import asyncio
import gc
import ipaddress
import logging
import os
import secrets
import socket
import time
from collections.abc import AsyncGenerator, Callable, Generator, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

import uvicorn
from starlette.routing import Router
from starlette.types import ASGIApp

from pollux.asgi.auth import Authority, Verifier
from pollux.asgi.cookies import Cookies
from pollux.asgi.door import LOOPBACK, Door, Rate
from pollux.asgi.endpoint import nothing_there, routes_of
from pollux.asgi.protocol import Bounded
from pollux.bootstrap import made_once, make_home, read_key, running_engine
from pollux.config import ConfigError, Settings, load_project
from pollux.config.profiles import profiles_of, tools_named
from pollux.core.errors import PolluxError
from pollux.core.ids import UserId
from pollux.core.profile import DEFAULT_MODEL, Limits, Profile
from pollux.core.redact import Secret
from pollux.core.tools import Tool
from pollux.engine.engine import Engine
from pollux.http.openapi import DOCUMENT
from pollux.http.runtime import Runtime
from pollux.http.table import ENDPOINTS
from pollux.tools.demo_mail import demo_mail
from pollux.tools.masked import MaskedTool, secrets_named
from pollux.tools.registered import registered_tools

logger = logging.getLogger(__name__)

USER = UserId("local")
"""Whoever owns the machine: the same who runs scripts and the command line on it."""
MODEL_CALLS = 3
SHORTEST_KEY = 16
RECOVER_SECONDS = 5.0
GRACE_SECONDS = 10.0
LAST_SECONDS = 10.0
"""How long answers that are being written may take when everything else has ended."""
COLLECT = (5_000, 20, 20)
"""How seldom garbage is looked for: hundreds of streams make much that is no garbage, and everybody waits meanwhile."""
PUBLIC = frozenset(endpoint.path for endpoint in (*ENDPOINTS, DOCUMENT) if endpoint.public)


@dataclass(frozen=True, slots=True)
class Credentials:
    """Who may call. `token` is this machine's own, and `is_new` says that nobody has been shown it yet."""

    tokens: tuple[tuple[UserId, Secret], ...]
    token: Secret | None = None
    is_new: bool = False


def credentials_of(settings: Settings) -> Credentials:
    """The named tokens, and on loopback this machine's own. Raises ConfigError for a public address without any."""
    named = tuple((UserId(user), token) for user, token in settings.tokens)
    if not is_loopback(settings.host):
        if not named and settings.oidc_issuer is None:
            raise ConfigError(
                f"{settings.host} can be reached by others. Set POLLUX_TOKENS or POLLUX_OIDC_ISSUER and"
                " POLLUX_OIDC_AUDIENCE, or bind 127.0.0.1"
            )
        return Credentials(named)
    make_home(settings.home)
    raw, is_new = made_once(token_file(settings), _new_token)
    token = raw.decode("ascii", "replace").strip()
    if len(token) < 16 or not token.isprintable():
        raise ConfigError(f"{token_file(settings)} holds no token. Remove it, and a new one is made")
    return Credentials((*named, (USER, Secret(token))), Secret(token), is_new)


def secrets_of(
    settings: Settings, credentials: Credentials, environ: Mapping[str, str] = os.environ
) -> tuple[Secret, ...]:
    """Everything that must not be told, as far as we can know it."""
    named = (token for _, token in credentials.tokens)
    return tuple({*settings.secrets(), *named, *secrets_named(environ)})


def token_file(settings: Settings) -> Path:
    """Where this machine's own token lies."""
    return settings.home / "token"


@asynccontextmanager
async def running_app(settings: Settings, credentials: Credentials) -> AsyncGenerator[tuple[ASGIApp, Engine]]:
    """The application over an engine that recovers what others left, closed at the end."""
    project = load_project(settings)
    tools: dict[str, Tool] = {"demo_mail": demo_mail(settings.home / "outbox.jsonl")}
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
    known = secrets_of(settings, credentials)
    tools |= {name: MaskedTool(tool, known) for name, tool in registered.items()}
    async with AsyncExitStack() as stack:
        jwt = await stack.enter_async_context(_verifier(settings))
        authority = authority_of(settings, credentials.tokens, jwt=jwt)
        engine = await stack.enter_async_context(
            running_engine(
                settings,
                tools=tools.values(),
                profiles={name: _told_first(profile, settings) for name, profile in profiles.items()},
                rules=project.rights.rules,
            )
        )
        await engine.recover()
        recovering = asyncio.create_task(_recover(engine))
        stack.push_async_callback(_stopped, recovering)
        yield application(settings, engine, authority), engine


def authority_of(
    settings: Settings, tokens: Iterable[tuple[UserId, Secret]], *, jwt: Verifier | None = None
) -> Authority:
    """Who knows these tokens, and the cookies that were given for them."""
    return Authority(tokens, cookies=Cookies(_cookie_key(settings), now=time.time), jwt=jwt)


def application(settings: Settings, engine: Engine, authority: Authority) -> ASGIApp:
    """The doors behind their guard."""
    runtime = Runtime(
        engine,
        authority,
        secure_cookies=(settings.public_url or "").startswith("https:"),
        tokens_per_day=settings.tokens_per_day,
    )
    router = Router(routes_of((*ENDPOINTS, DOCUMENT), runtime), redirect_slashes=False, default=nothing_there)
    return Door(
        router,
        authority=authority,
        rate=Rate(per_minute=settings.requests_per_minute, burst=settings.burst, now=time.monotonic),
        is_public=PUBLIC.__contains__,
        hosts=hosts_of(settings),
        public_url=settings.public_url,
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


@dataclass(frozen=True, slots=True)
class Listening:
    """A server that answers at an address."""

    url: str
    serving: "asyncio.Task[None]"


@asynccontextmanager
async def listening(app: ASGIApp, settings: Settings) -> AsyncGenerator[Listening]:
    """The application at its address, until the block ends and the last answer is written. Raises ConfigError."""
    listener = bound(settings)
    config = uvicorn.Config(
        app,
        http=Bounded,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        backlog=2048,
        timeout_graceful_shutdown=int(LAST_SECONDS),
    )
    server = _Server(config)
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        await server.wait_started(serving)
        yield Listening(url_of(listener), serving)
    finally:
        server.should_exit = True
        await serving
        listener.close()


def bound(settings: Settings) -> socket.socket:
    """The listening socket. Raises ConfigError."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    # The protocol by name: asyncio lets small answers leave at once only where it is told that this is TCP.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((settings.host, settings.port))
    except OSError as problem:
        listener.close()
        where = f"{settings.host}:{settings.port}"
        raise ConfigError(f"{where} cannot be bound ({problem.strerror}). Give another --port or --host") from None
    return listener


def url_of(listener: socket.socket) -> str:
    """Where it can be reached."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach it."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


class _Server(uvicorn.Server):
    """uvicorn, without a word about signals: those are answered by whoever started us."""

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        yield

    async def wait_started(self, serving: "asyncio.Task[None]") -> None:
        while not self.started:
            if serving.done():
                serving.result()
                raise ConfigError("the server ended before it had begun")
            await asyncio.sleep(0.005)


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


def _cookie_key(settings: Settings) -> bytes:
    if settings.seal_key is not None:
        key = settings.seal_key.reveal().encode()
        if len(key) < SHORTEST_KEY:
            # Whoever has one cookie can try keys against it for as long as they like.
            raise ConfigError(
                f"POLLUX_SEAL_KEY must hold at least {SHORTEST_KEY} bytes. `openssl rand -hex 32` makes one"
            )
        return key
    make_home(settings.home)
    return read_key(settings.home / "seal.key")


def _told_first(profile: Profile, settings: Settings) -> Profile:
    """The configured instructions come before the profile's own."""
    told = [text for text in (settings.system_prompt, profile.instructions) if text]
    return replace(profile, instructions="\n\n".join(told))


def _new_token() -> bytes:
    return secrets.token_urlsafe(32).encode()
