"""An application at an address: the socket, uvicorn behind it, and its end when the last answer is written."""

import asyncio
import ipaddress
import socket
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager

import uvicorn
from starlette.types import ASGIApp

from pollux.asgi.protocol import Bounded
from pollux.config import ConfigError, Settings
from pollux.core.frozen import frozen

LAST_SECONDS = 10.0
"""How long answers that are being written may take when everything else has ended."""
IDLE_SECONDS = 75
"""How long a connection is kept that nobody asks anything on. Proxies and clients keep theirs for up to a minute, and
whoever sends a request on one that we are just closing is told of a reset and cannot know whether it was heard."""


@frozen
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
        timeout_keep_alive=IDLE_SECONDS,
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
