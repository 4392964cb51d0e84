"""What the tests of Google's tools share: a server that answers by script, faults on the way there, and a journal."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

from aiohttp import web

from pollux.core.errors import AuthError, ModelError
from pollux.core.frozen import frozen
from pollux.core.ids import ActionId, RunId, ThreadId, UserId
from pollux.core.messages import JSON
from pollux.core.redact import Secret
from pollux.core.tools import Answered, ToolContext
from pollux.providers.http import AiohttpHttp, Response
from pollux.tools.google.scopes import CALENDAR, GMAIL

ADA = UserId("ada")
ACCOUNT = "demo@example.com"
When = Literal["before", "after"]


TWICE: tuple[tuple[When, When], ...] = (
    ("before", "before"),
    ("before", "after"),
    ("after", "before"),
    ("after", "after"),
)


class Crash(BaseException):
    """The process is gone: nobody in it can catch this."""


class Tokens:
    """Access to everybody's account, with one token after another. `connected` is its address."""

    def __init__(self, *tokens: str) -> None:
        self._tokens = list(tokens)
        self.renewals = 0
        self.connected = ACCOUNT

    async def token(self, user: UserId, scopes: frozenset[str], *, account: str | None = None) -> Secret:
        if account not in (None, self.connected):
            raise AuthError(f"it began with {account}, but {self.connected} is connected now")
        return Secret(self._tokens[min(self.renewals, len(self._tokens) - 1)])

    async def renewed(
        self, user: UserId, scopes: frozenset[str], stale: Secret, *, account: str | None = None
    ) -> Secret:
        self.renewals += 1
        return await self.token(user, scopes, account=account)

    def refusal(self, scopes: frozenset[str]) -> Exception:
        return AuthError("connect your account", connect_url="/api/google/connect")


class Paused:
    """Waits that take no time, and are remembered."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)


@dataclass
class Answers:
    """A server that gives one answer after another, the last one for ever."""

    url: str = ""
    script: list[Callable[[web.Request], Awaitable[web.StreamResponse]]] = field(
        default_factory=list[Callable[[web.Request], Awaitable[web.StreamResponse]]]
    )
    seen: list[tuple[str, str, Mapping[str, str], bytes]] = field(
        default_factory=list[tuple[str, str, Mapping[str, str], bytes]]
    )

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.seen.append((request.method, request.path_qs, request.headers, await request.read()))
        return await (self.script.pop(0) if len(self.script) > 1 else self.script[0])(request)

    def gives(self, *answers: Callable[[web.Request], Awaitable[web.StreamResponse]]) -> None:
        self.script = list(answers)


def said(status: int, body: JSON = None, **headers: str) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    """An answer in JSON."""

    async def answer(request: web.Request) -> web.StreamResponse:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return web.json_response({} if body is None else body, status=status, headers=named)

    return answer


def refused(
    status: int, message: str, reason: str, **headers: str
) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    """A refusal as Google words it."""
    errors = [{"message": message, "domain": "global", "reason": reason}]
    return said(status, {"error": {"code": status, "message": message, "errors": errors}}, **headers)


def text(body: str, status: int = 200) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    """An answer in whatever."""

    async def answer(request: web.Request) -> web.StreamResponse:
        return web.Response(text=body, status=status, content_type="text/html")

    return answer


def half(status: int) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    """A status whose words break off."""

    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(status=status, headers={"Content-Length": "1000"})
        await response.prepare(request)
        await response.write(b'{"error"')
        return await cut(request)

    return answer


async def cut(request: web.Request) -> web.StreamResponse:
    """No answer: the connection ends."""
    assert request.transport is not None
    request.transport.close()
    return web.Response()


@asynccontextmanager
async def answering() -> AsyncGenerator[Answers]:
    """A server by script on a free port."""
    answers = Answers()
    app = web.Application(client_max_size=50_000_000)
    app.router.add_route("*", "/{path:.*}", answers.handle)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        host, port = runner.addresses[0][:2]
        answers.url = f"http://{host}:{port}"
        yield answers
    finally:
        await runner.cleanup()


class Http:
    """HTTP on which the n-th request fails, before it has its effect or after."""

    def __init__(self) -> None:
        self.inner = AiohttpHttp()
        self.asked: list[str] = []
        """What was asked for: the verb and the path."""
        self.fails: dict[int, tuple[When, BaseException]] = {}
        """By the number of the request, from 1 on."""
        self.fails_at: Callable[[str], tuple[When, BaseException] | None] = lambda asked: None
        """By what is asked for."""
        self.rewrite: Callable[[str], str] = lambda url: url

    async def __aenter__(self) -> "Http":
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.inner.close()

    def get(self, url: str, headers: Mapping[str, str], *, idle: float, total: float) -> Any:
        url = self.rewrite(url)
        return self._sent("GET", url, self.inner.get(url, headers, idle=idle, total=total))

    def post(self, url: str, headers: Mapping[str, str], body: bytes, *, idle: float, total: float) -> Any:
        return self._sent("POST", url, self.inner.post(url, headers, body, idle=idle, total=total))

    @asynccontextmanager
    async def _sent(self, verb: str, url: str, sending: Any) -> AsyncGenerator[Response]:
        asked = f"{verb} /{url.split('/', 3)[3]}"
        self.asked.append(asked)
        when, problem = self.fails.get(len(self.asked)) or self.fails_at(asked) or (None, None)
        if problem is not None and when == "before":
            raise problem
        async with sending as response:
            if problem is not None:
                # Whatever was answered, the effect is there: the answer comes after it.
                await response.read_all()
                raise problem
            yield response


def broken() -> ModelError:
    return ModelError("the connection to 127.0.0.1 failed", kind="connection")


def late() -> ModelError:
    return ModelError("127.0.0.1: no answer within 30 s", kind="timeout")


class Journal:
    """What an action noted, and its attempts: as the engine keeps them."""

    def __init__(self, action: str = "act_1_1.0") -> None:
        self.action = ActionId(action)
        self.noted: JSON = None
        self.attempts = 0
        self.fails: tuple[When, BaseException] | None = None

    async def note(self, value: JSON) -> None:
        when, problem = self.fails or (None, None)
        if problem is not None and when == "before":
            raise problem
        self.noted = value
        if problem is not None:
            raise problem

    def tell(self, text: str, *, stream: str = "stdout") -> None:
        raise AssertionError("a mail shows nothing while it is sent")

    async def ask(self, tool: str, args: dict[str, JSON], capabilities: Collection[str]) -> Answered:
        raise AssertionError("a mail asks for nothing else")

    async def objection(self, tool: str, args: dict[str, JSON]) -> str:
        return ""

    async def observe(self, tool: str, title: str, status: str) -> None:
        raise AssertionError("a mail watches nobody")

    def begun(self) -> ToolContext:
        """The context of a new attempt."""
        self.attempts += 1
        return self.context()

    def context(self) -> ToolContext:
        return ToolContext(
            ADA,
            "",
            RunId("run_1"),
            self.action,
            ThreadId("thr_1"),
            attempt=max(1, self.attempts),
            noted=self.noted,
            reach=self,
        )


@frozen
class Standing:
    """How somebody stands with Google."""

    connected: bool = False
    scopes: frozenset[str] = frozenset()
    problem: str = ""
    email: str | None = None


class Accounts:
    """Ada's account, and nobody else's."""

    def __init__(self, *, ada: Standing) -> None:
        self.ada = ada

    async def status(self, user: UserId) -> Standing:
        return self.ada if user == ADA else Standing()

    def refusal(self, scopes: frozenset[str]) -> AuthError:
        return AuthError("connect your account", connect_url=f"/connect?{len(scopes)}")


CONNECTED = Accounts(ada=Standing(True, GMAIL | CALENDAR, email=ACCOUNT))


def paths(asked: Sequence[str]) -> list[str]:
    """What was asked for, without the parts that differ from time to time."""
    return [each.split("?")[0] for each in asked]
