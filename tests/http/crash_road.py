"""The road from the servers into the world: every request of theirs is carried there, and its answer back.

A server can be killed at any of them: before the world has heard of it; when the world has done what was asked and the
server has not heard of that; or in between, so that the world hears of it when the next server is already asking.
"""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from signal import SIGKILL
from typing import Literal

import aiohttp
from aiohttp import web
from tests.crash.lab import Child

# Of one connection, and there are two of them.
_OWN = frozenset({"host", "connection", "content-length", "transfer-encoding", "date", "server"})

When = Literal["before", "after", "late"]


@dataclass(frozen=True)
class Travel:
    """A kill as the n-th request of a server is under way, or its answer."""

    when: When
    number: int


@dataclass(frozen=True)
class Letter:
    """A request on its way."""

    method: str
    url: str
    headers: Mapping[str, str]
    content: bytes


@dataclass
class Road:
    """Carries, counts, and kills whoever it was told to."""

    http: aiohttp.ClientSession
    _child: Child | None = None
    _kill: Travel | None = None
    _late: list[Letter] = field(default_factory=list[Letter])
    _seen: int = 0

    def watch(self, child: Child, kill: Travel | None = None) -> None:
        """From now on this server's requests count."""
        self._seen, self._child, self._kill = 0, child, kill

    @asynccontextmanager
    async def to(self, upstream: str) -> AsyncGenerator[str]:
        """Where a server reaches this address by the road."""

        async def carry(request: web.Request) -> web.StreamResponse:
            headers = {name: value for name, value in request.headers.items() if name.lower() not in _OWN}
            letter = Letter(request.method, upstream + request.path_qs, headers, await request.read())
            try:
                return await self._carry(letter)
            except aiohttp.ClientError:
                # What breaks at the far end breaks here too.
                if request.transport is not None:
                    request.transport.abort()
                return web.Response()

        application = web.Application()
        application.router.add_route("*", "/{path:.*}", carry)
        runner = web.AppRunner(application, access_log=None, shutdown_timeout=1.0)
        await runner.setup()
        try:
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            yield f"http://127.0.0.1:{runner.addresses[0][1]}"
        finally:
            await runner.cleanup()

    async def _carry(self, letter: Letter) -> web.Response:
        self._seen += 1
        number = self._seen
        if await self._is_killed(Travel("before", number)):
            return web.Response()
        if await self._is_killed(Travel("late", number)):
            self._late.append(letter)
            return web.Response()
        answer = await self._answered(letter)
        while self._late:
            await self._answered(self._late.pop())
        await self._is_killed(Travel("after", number))
        return answer

    async def _answered(self, letter: Letter) -> web.Response:
        async with self.http.request(
            letter.method, letter.url, data=letter.content, headers=letter.headers, allow_redirects=False
        ) as answer:
            body = await answer.read()
        headers = {name: value for name, value in answer.headers.items() if name.lower() not in _OWN}
        return web.Response(status=answer.status, headers=headers, body=body)

    async def _is_killed(self, here: Travel) -> bool:
        """Whether the server dies here. It is dead before anything else happens."""
        if here != self._kill or self._child is None:
            return False
        self._child.send(SIGKILL)
        await self._child.wait()
        return True


@asynccontextmanager
async def open_road() -> AsyncGenerator[Road]:
    """A road that nobody is on yet."""
    async with aiohttp.ClientSession(auto_decompress=False) as http:
        yield Road(http)
