"""The HTTP port without a network: answers from a list, and remembers what was asked."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field

from pollux.core.errors import ModelError
from pollux.providers.http import MAX_BODY, Response


@dataclass
class FakeResponse:
    """A body in pieces. An error among them is raised in its place."""

    status: int = 200
    pieces: list[bytes | ModelError] = field(default_factory=list[bytes | ModelError])
    headers: Mapping[str, str] = field(default_factory=dict[str, str])

    async def read_some(self) -> bytes:
        piece = self.pieces.pop(0) if self.pieces else b""
        if isinstance(piece, ModelError):
            raise piece
        return piece

    async def read_all(self, limit: int = MAX_BODY) -> bytes:
        body = b""
        while piece := await self.read_some():
            body += piece
        return body


@dataclass
class FakeHttp:
    """Gives its answers in order."""

    answers: list[FakeResponse]
    asked: list[str] = field(default_factory=list[str])

    def post(
        self, url: str, headers: Mapping[str, str], body: bytes, *, idle: float, total: float
    ) -> AbstractAsyncContextManager[Response]:
        return self._send(url)

    def get(
        self, url: str, headers: Mapping[str, str], *, idle: float, total: float
    ) -> AbstractAsyncContextManager[Response]:
        return self._send(url)

    async def close(self) -> None:
        pass

    @asynccontextmanager
    async def _send(self, url: str) -> AsyncGenerator[Response]:
        self.asked.append(url)
        yield self.answers.pop(0)
