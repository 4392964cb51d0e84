"""The one small HTTP port that every provider speaks through, and its implementation on aiohttp.

It bounds every wait (silence and total) and turns each transport failure into a ModelError; status codes are left to
the provider. Redirects are not followed: a key must not travel to a host that nobody named.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Protocol
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

from pollux._version import __version__
from pollux.core.errors import ModelError

if TYPE_CHECKING:
    from aiohttp import ClientResponse, ClientSession

MAX_BODY = 128 * 1024 * 1024
"""No answer read in one piece may be larger; more would be a mistake or an attack."""


class Response(Protocol):
    """An answer whose head has arrived and whose body is on its way."""

    @property
    def status(self) -> int: ...

    @property
    def headers(self) -> Mapping[str, str]:
        """By any case of the name."""
        ...

    async def read_some(self) -> bytes:
        """Whatever has arrived, at least one byte; empty at the end. Raises ModelError."""
        ...

    async def read_all(self, limit: int = MAX_BODY) -> bytes:
        """The rest of the body. Raises ModelError, also when it is larger than `limit`."""
        ...


class Http(Protocol):
    """Sends one request. Leaving the block early closes the connection."""

    def post(
        self, url: str, headers: Mapping[str, str], body: bytes, *, idle: float, total: float
    ) -> AbstractAsyncContextManager[Response]: ...

    def get(
        self, url: str, headers: Mapping[str, str], *, idle: float, total: float
    ) -> AbstractAsyncContextManager[Response]: ...

    async def close(self) -> None: ...


async def read_within(response: Response, limit: int, host: str) -> bytes:
    """The rest of a body. Raises ModelError when it is larger than `limit`."""
    pieces: list[bytes] = []
    size = 0
    while piece := await response.read_some():
        size += len(piece)
        if size > limit:
            raise ModelError(f"{host} sent more than {limit} bytes in one answer", kind="protocol")
        pieces.append(piece)
    return b"".join(pieces)


def timed_out(host: str, why: str) -> ModelError:
    """A wait that came to its bound."""
    return ModelError(f"{host}: {why}", kind="timeout")


def host_of(url: str) -> str:
    """The host to show to people: a user name or key in an address is nobody's business."""
    return urlsplit(url).netloc.rpartition("@")[2] or "the model service"


class AiohttpHttp:
    """HTTP by aiohttp, imported at the first request, with one pool of connections for each running event loop."""

    def __init__(self, *, proxies_from_environment: bool = False) -> None:
        self._proxies = proxies_from_environment
        self._sessions: WeakKeyDictionary[asyncio.AbstractEventLoop, ClientSession] = WeakKeyDictionary()

    def post(
        self, url: str, headers: Mapping[str, str], body: bytes, *, idle: float, total: float
    ) -> AbstractAsyncContextManager[Response]:
        """Send `body` and wait for the head of the answer."""
        return _Sending(self._session, "POST", url, headers, body, idle, total)

    def get(
        self, url: str, headers: Mapping[str, str], *, idle: float, total: float
    ) -> AbstractAsyncContextManager[Response]:
        """Ask, and wait for the head of the answer."""
        return _Sending(self._session, "GET", url, headers, None, idle, total)

    async def close(self) -> None:
        """Close every pool: of this loop, of loops that have ended, and of those running in other threads."""
        here = asyncio.get_running_loop()
        sessions = list(self._sessions.items())
        self._sessions.clear()
        for loop, session in sessions:
            if loop is here or loop.is_closed():
                await session.close()
            else:
                await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(session.close(), loop))

    async def _session(self) -> "ClientSession":
        loop = asyncio.get_running_loop()
        return self._sessions.get(loop) or await self._open(loop)

    async def _open(self, loop: asyncio.AbstractEventLoop) -> "ClientSession":
        from aiohttp import ClientSession, ClientTimeout, DummyCookieJar, TCPConnector

        for ended in [other for other in self._sessions if other.is_closed()]:
            await self._sessions.pop(ended).close()
        # Two first requests at once must share one pool: nothing is awaited between the look and the assignment.
        if loop not in self._sessions:
            self._sessions[loop] = ClientSession(
                connector=TCPConnector(limit=0),
                cookie_jar=DummyCookieJar(),
                headers={"User-Agent": f"pollux/{__version__}"},
                # Both bounds are kept by _AiohttpResponse with one timer; aiohttp would set two for every read.
                timeout=ClientTimeout(total=None, connect=None, sock_connect=None, sock_read=None),
                trust_env=self._proxies,
                auto_decompress=True,
            )
        return self._sessions[loop]


class _Sending:
    """One request, from its sending to the release of its connection. A class, because it is entered for every call."""

    __slots__ = ("_body", "_headers", "_idle", "_method", "_response", "_session", "_total", "_url")

    def __init__(
        self,
        session: "Callable[[], Awaitable[ClientSession]]",
        method: str,
        url: str,
        headers: Mapping[str, str],
        body: bytes | None,
        idle: float,
        total: float,
    ) -> None:
        self._session = session
        self._method = method
        self._url = url
        self._headers = headers
        self._body = body
        self._idle = idle
        self._total = total

    async def __aenter__(self) -> "_AiohttpResponse":
        deadline = asyncio.get_running_loop().time() + self._total
        first = min(self._idle, self._total)
        session = await self._session()
        try:
            async with asyncio.timeout(first):
                answer = await session.request(
                    self._method, self._url, headers=self._headers, data=self._body, allow_redirects=False
                )
        except TimeoutError:
            raise timed_out(host_of(self._url), f"no answer within {first:g} s") from None
        except _transport_errors() as error:
            raise _failure(self._url, error) from error
        self._response = _AiohttpResponse(answer, self._url, self._idle, self._total, deadline)
        return self._response

    async def __aexit__(self, *exc_info: object) -> None:
        self._response.release()


class _AiohttpResponse:
    """A body under two bounds: how long one read may wait, and when everything must have arrived."""

    __slots__ = ("_answer", "_content", "_deadline", "_idle", "_loop", "_timer", "_total", "_url", "_waiting_since")

    def __init__(self, answer: "ClientResponse", url: str, idle: float, total: float, deadline: float) -> None:
        self._answer = answer
        self._content = answer.content
        self._url = url
        self._idle = idle
        self._total = total
        self._deadline = deadline
        self._loop = asyncio.get_running_loop()
        self._waiting_since: float | None = None
        self._timer = self._loop.call_at(min(self._loop.time() + idle, deadline), self._look)

    @property
    def status(self) -> int:
        return self._answer.status

    @property
    def headers(self) -> Mapping[str, str]:
        return self._answer.headers

    async def read_some(self) -> bytes:
        self._waiting_since = self._loop.time()
        try:
            return await self._content.readany()
        except _transport_errors() as error:
            raise _failure(self._url, error) from error
        finally:
            self._waiting_since = None

    async def read_all(self, limit: int = MAX_BODY) -> bytes:
        return await read_within(self, limit, host_of(self._url))

    def release(self) -> None:
        """Give the connection back if the body was read to its end, else close it."""
        self._timer.cancel()
        if self._content.at_eof():
            self._answer.release()
        else:
            self._answer.close()

    def _look(self) -> None:
        # One timer that looks again, instead of one set and cancelled for every read: reads are the hot path.
        now = self._loop.time()
        if now >= self._deadline:
            self._give_up(f"the answer was not complete after {self._total:g} s")
            return
        since = now if self._waiting_since is None else self._waiting_since
        if now >= since + self._idle:
            self._give_up(f"nothing arrived for {self._idle:g} s")
            return
        self._timer = self._loop.call_at(min(since + self._idle, self._deadline), self._look)

    def _give_up(self, why: str) -> None:
        self._content.set_exception(timed_out(host_of(self._url), why))
        self._answer.close()


def _transport_errors() -> tuple[type[Exception], ...]:
    from aiohttp import ClientError

    # aiohttp says RuntimeError when it is asked to read from a connection that was lost a moment ago.
    return (ClientError, OSError, RuntimeError)


def _failure(url: str, error: Exception) -> ModelError:
    from aiohttp import ClientConnectionError, ClientPayloadError

    what = type(error).__name__
    if isinstance(error, (ClientConnectionError, ClientPayloadError, OSError, RuntimeError)):
        return ModelError(f"the connection to {host_of(url)} failed ({what})", kind="connection")
    return ModelError(f"{host_of(url)} did not answer in HTTP ({what})", kind="protocol")
