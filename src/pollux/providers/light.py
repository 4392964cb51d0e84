"""The HTTP port with nothing between asyncio and the socket but a parser in C: cheap to import and cheap to call.

HTTP/1.1 without compression, proxies or redirects; AiohttpHttp has the first two. Both bounds are kept with one timer.
"""

import asyncio
from base64 import b64encode
from collections.abc import Iterator, Mapping
from contextlib import AbstractAsyncContextManager
from re import compile as pattern
from typing import TYPE_CHECKING, NamedTuple, Self
from urllib.parse import SplitResult, quote, unquote, urlsplit
from weakref import WeakKeyDictionary

from pollux._version import __version__
from pollux.core.errors import ModelError
from pollux.providers.http import MAX_BODY, Response, host_of, read_within, timed_out
from pollux.providers.light_pool import Connection, Origin, Pool

if TYPE_CHECKING:
    from ssl import SSLContext

STALE_SECONDS = 1.0
"""How soon a connection that was used before must break off for its request to be sent again."""

_KNOWN_HEADS = 64
_TOKEN = pattern(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_FORBIDDEN = pattern(r"[^\t\x20-\x7e\x80-\xff]")
_OURS = frozenset({"content-length", "transfer-encoding", "connection"})


class _Head(NamedTuple):
    origin: Origin
    given: Mapping[str, str]
    line_and_headers: bytes


class LightHttp:
    """HTTP on plain asyncio, with one pool of connections for each running event loop."""

    def __init__(self) -> None:
        self._pools: WeakKeyDictionary[asyncio.AbstractEventLoop, Pool] = WeakKeyDictionary()
        self._heads: dict[tuple[str, str], _Head] = {}
        self._tls: SSLContext | None = None

    def post(
        self, url: str, headers: Mapping[str, str], body: bytes, *, idle: float, total: float
    ) -> AbstractAsyncContextManager[Response]:
        """Send `body` and wait for the head of the answer."""
        head = self._head("POST", url, headers)
        request = b"%bContent-Length: %d\r\n\r\n%b" % (head.line_and_headers, len(body), body)
        return _Exchange(self, head.origin, request, idle, total)

    def get(
        self, url: str, headers: Mapping[str, str], *, idle: float, total: float
    ) -> AbstractAsyncContextManager[Response]:
        """Ask, and wait for the head of the answer."""
        head = self._head("GET", url, headers)
        return _Exchange(self, head.origin, head.line_and_headers + b"\r\n", idle, total)

    async def close(self) -> None:
        """Close every connection: of this loop, and of those running in other threads."""
        here = asyncio.get_running_loop()
        pools = list(self._pools.items())
        self._pools.clear()
        for loop, pool in pools:
            if loop is here:
                await pool.close()
            elif loop.is_running():
                await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(pool.close(), loop))
            elif not loop.is_closed():
                pool.abort()

    def pool(self, loop: asyncio.AbstractEventLoop) -> Pool:
        """The connections of this loop."""
        pool = self._pools.get(loop)
        if pool is None:
            for ended in [other for other in self._pools if other.is_closed()]:
                del self._pools[ended]
            pool = self._pools[loop] = Pool(loop)
        return pool

    def tls(self) -> "SSLContext":
        """What verifies a server by its name, made at the first need: it reads every trusted certificate."""
        if self._tls is None:
            import ssl

            self._tls = ssl.create_default_context()
        return self._tls

    def _head(self, method: str, url: str, headers: Mapping[str, str]) -> _Head:
        known = self._heads.get((method, url))
        if known is not None and known.given == headers:
            return known
        try:
            parts = urlsplit(url)
            made = _Head(_origin(parts), dict(headers), _encoded(method, parts, headers))
        except ValueError as error:
            raise ModelError(f"a request to {host_of(url)} cannot be sent: {error}", kind="bad_request") from None
        if len(self._heads) >= _KNOWN_HEADS:
            self._heads.clear()
        self._heads[method, url] = made
        return made


class _Exchange:
    """One request and its answer, until its connection is released. One object: it is made for every call."""

    __slots__ = (
        "_connection", "_deadline", "_http", "_idle", "_loop", "_origin", "_pool", "_request", "_started", "_timer",
        "_total", "_waiting_since",
    )  # fmt: skip

    def __init__(self, http: LightHttp, origin: Origin, request: bytes, idle: float, total: float) -> None:
        self._http = http
        self._origin = origin
        self._request = request
        self._idle = idle
        self._total = total
        self._connection: Connection | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._waiting_since: float | None = None

    async def __aenter__(self) -> Self:
        self._loop = loop = asyncio.get_running_loop()
        self._pool = self._http.pool(loop)
        self._started = loop.time()
        self._deadline = self._started + self._total
        try:
            used = self._pool.take(self._origin)
            connection = await self._send(used or await self._connect())
            if connection.failure is not None and used is not None and self._is_stale(connection):
                connection = await self._send(await self._connect())
            if connection.failure is not None:
                raise connection.failure
            _refuse_compressed(connection)
        except BaseException:
            self._release()
            raise
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        self._release()

    @property
    def status(self) -> int:
        return self._answering.status

    @property
    def headers(self) -> Mapping[str, str]:
        return _Headers(self._answering.head)

    async def read_some(self) -> bytes:
        connection = self._answering
        while not connection.pieces and not connection.complete and connection.failure is None:
            await self._wait(connection)
        return connection.take()

    async def read_all(self, limit: int = MAX_BODY) -> bytes:
        return await read_within(self, limit, self._origin.label)

    @property
    def _answering(self) -> Connection:
        assert self._connection is not None, "an answer is read inside its block"
        return self._connection

    async def _connect(self) -> Connection:
        first = min(self._idle, self._total)
        try:
            async with asyncio.timeout_at(self._started + first):
                return await self._pool.connect(self._origin, self._http.tls() if self._origin.is_tls else None)
        except TimeoutError:
            raise timed_out(self._origin.label, f"no answer within {first:g} s") from None
        except (OSError, UnicodeError) as error:
            why = getattr(error, "verify_message", "")
            why = f"its certificate is not trusted: {why}" if why else type(error).__name__
            raise ModelError(f"the connection to {self._origin.label} failed ({why})", kind="connection") from error

    async def _send(self, connection: Connection) -> Connection:
        """Send the request and wait for the head of the answer, or for the end of all hope."""
        self._connection = connection
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_at(self._started + min(self._idle, self._total), self._look)
        connection.transport.write(self._request)
        while not connection.status and connection.failure is None:
            await self._wait(connection)
        return connection

    def _is_stale(self, connection: Connection) -> bool:
        # The server may close a resting connection at the moment we write to it; it has then not read the request, and
        # RFC 9112 (9.3.1) lets a client try again. It shows at once and before any byte. Later, the model may have
        # begun to work, and a second request would be paid for: that is for the caller to decide.
        assert connection.failure is not None
        is_soon = self._loop.time() - self._started < STALE_SECONDS
        return is_soon and not connection.heard and connection.failure.kind == "connection"

    async def _wait(self, connection: Connection) -> None:
        waiter = connection.waiter = self._loop.create_future()
        self._waiting_since = self._loop.time()
        try:
            await waiter
        finally:
            connection.waiter = self._waiting_since = None

    def _look(self) -> None:
        # One timer that looks again, instead of one set and cancelled for every read: reads are the hot path.
        now = self._loop.time()
        due, why = self._bound(now)
        if now >= due:
            self._answering.fail(timed_out(self._origin.label, why))
        else:
            self._timer = self._loop.call_at(due, self._look)

    def _bound(self, now: float) -> tuple[float, str]:
        if not self._answering.status:
            first = min(self._idle, self._total)
            return self._started + first, f"no answer within {first:g} s"
        # Only a reader who waits can say that the server is silent.
        silent = (now if self._waiting_since is None else self._waiting_since) + self._idle
        if silent < self._deadline:
            return silent, f"nothing arrived for {self._idle:g} s"
        return self._deadline, f"the answer was not complete after {self._total:g} s"

    def _release(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._connection is not None:
            self._pool.give_back(self._connection)
            self._connection = None


class _Headers(Mapping[str, str]):
    """The headers of an answer, by any case of the name."""

    def __init__(self, head: dict[bytes, bytes]) -> None:
        self._head = head

    def __getitem__(self, name: str) -> str:
        return self._head[name.lower().encode()].decode("latin-1")

    def __iter__(self) -> Iterator[str]:
        return (name.decode("latin-1") for name in self._head)

    def __len__(self) -> int:
        return len(self._head)


def _refuse_compressed(connection: Connection) -> None:
    # A refusal keeps its status, whatever its body looks like.
    if connection.coding != b"identity" and connection.status < 300:
        raise ModelError(f"{connection.origin.label} compressed its answer, unasked", kind="protocol")


def _origin(parts: SplitResult) -> Origin:
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("its address should begin with http:// or https:// and name a host")
    is_tls = parts.scheme == "https"
    try:
        port = parts.port or (443 if is_tls else 80)
    except ValueError:
        raise ValueError("the port in its address should be a number up to 65535") from None
    return Origin(parts.hostname, port, is_tls, parts.netloc.rpartition("@")[2])


def _encoded(method: str, parts: SplitResult, headers: Mapping[str, str]) -> bytes:
    """The request's first line and its headers, without what depends on the body."""
    user, _, host = parts.netloc.rpartition("@")
    ours = {
        "Host": host if host.isascii() else host.encode("idna").decode(),
        "User-Agent": f"pollux/{__version__}",
        "Accept": "*/*",
        "Accept-Encoding": "identity",
    }
    if user:
        ours["Authorization"] = f"Basic {b64encode(unquote(user).encode()).decode()}"
    given = {name.lower() for name in headers}
    sent = {name: value for name, value in ours.items() if name.lower() not in given} | dict(headers)
    target = quote(f"{parts.path or '/'}{'?' if parts.query else ''}{parts.query}", safe="/%?:@!$&'()*+,;=~-._[]")
    lines = [f"{method} {target} HTTP/1.1", *(_line(name, value) for name, value in sent.items()), ""]
    return "\r\n".join(lines).encode("latin-1")


def _line(name: str, value: str) -> str:
    # What breaks the line would be a header of its own, or a request. The value may be a key and is not shown.
    if not _TOKEN.fullmatch(name):
        raise ValueError("the name of a header holds a character that names cannot have")
    if name.lower() in _OURS:
        raise ValueError(f"the header {name} is set by the client itself")
    if _FORBIDDEN.search(value):
        raise ValueError(f"the header {name} holds a line break or another character that headers cannot carry")
    return f"{name}: {value}"
