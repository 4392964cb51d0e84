"""A server for tests: the real application behind the real uvicorn, on loopback, and people who talk to it.

`site` runs in the test's own loop, so that a test can hold its tools and its clock; `process` is `pollux serve` as an
operator starts it, for stories in which it dies.
"""

import asyncio
import io
import json
import os
import random
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlencode

import aiohttp
from tests.http.conform import check_answer, check_line

from pollux.asgi.auth import Authority
from pollux.asgi.credentials import Credentials, authority_of
from pollux.asgi.listening import Listening, listening
from pollux.bootstrap import Fixed, make_engine, seal_keys
from pollux.config import Settings, read_settings
from pollux.core.ids import UserId
from pollux.core.policy import Rule
from pollux.core.profile import Limits, Profile
from pollux.core.redact import Secret
from pollux.core.tools import Tool
from pollux.engine.engine import Engine
from pollux.engine.model import Provider
from pollux.engine.ports import Clock, Store
from pollux.page.jay import JayActions
from pollux.page.runtime import PageRuntime
from pollux.page.table import PageDoor
from pollux.serve import application, budget_of
from pollux.stores.memory import MemoryStore
from pollux.tools.actions import ActionRegistry

TOKENS = {"ada": "token-of-ada-0123456789", "bob": "token-of-bob-0123456789"}
PATIENCE = 60.0
LARGE = 1 << 20


@dataclass(frozen=True)
class Got:
    """An answer, read whole."""

    status: int
    body: Any
    headers: Mapping[str, str]

    @property
    def code(self) -> str:
        """The code of an error."""
        return self.body["error"]["code"]


class Person:
    """Somebody with a token, or with none."""

    def __init__(self, http: aiohttp.ClientSession, url: str, token: str = "") -> None:
        self._http = http
        self.url = url
        self.headers = {"Authorization": f"Bearer {token}"} if token else {}

    async def send(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        raw: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Got:
        """One request. `body` is sent as JSON, `raw` as it is."""
        data = json.dumps(body).encode() if body is not None else raw
        # A large one as a file: aiohttp warns of anything else.
        sent = io.BytesIO(data) if data and len(data) > LARGE else data
        async with self._http.request(
            method, self.url + path, data=sent, headers={**self.headers, **(headers or {})}, allow_redirects=False
        ) as response:
            content = await response.read()
            is_json = response.content_type == "application/json" and method != "HEAD"
            told = json.loads(content) if is_json else content
            if is_json or response.content_type == "text/html":
                check_answer(method, path, response.status, response.content_type, told)
            return Got(response.status, told, response.headers)

    async def get(self, path: str, headers: Mapping[str, str] | None = None) -> Got:
        return await self.send("GET", path, headers=headers)

    async def post(self, path: str, body: object = None, headers: Mapping[str, str] | None = None) -> Got:
        return await self.send("POST", path, body, headers=headers)

    async def run(self, prompt: str, **more: Any) -> dict[str, Any]:
        """A run, as the sync route tells it."""
        got = await self.post("/api/agent/run", {"prompt": prompt, **more})
        assert got.status == 200, got
        return got.body

    async def resolve(self, approval_id: str, decision: str = "approve_once", *, query: str = "", **more: Any) -> Got:
        body = {"approvalId": approval_id, "decision": decision, **more}
        return await self.post(f"/api/agent/approvals/resolve{query}", body)

    @asynccontextmanager
    async def open(
        self, method: str, path: str, body: object = None, headers: Mapping[str, str] | None = None
    ) -> AsyncGenerator[aiohttp.ClientResponse]:
        """An answer that is read line by line."""
        data = json.dumps(body).encode() if body is not None else None
        async with self._http.request(
            method, self.url + path, data=data, headers={**self.headers, **(headers or {})}
        ) as response:
            yield response

    async def lines(
        self, method: str, path: str, body: object = None, headers: Mapping[str, str] | None = None
    ) -> list[dict[str, Any]]:
        """Every line of a stream."""
        async with self.open(method, path, body, headers) as response:
            assert response.status == 200, await response.read()
            told = [json.loads(line) async for line in response.content]
        for line in told:
            check_line(path, line)
        return told

    async def stream(self, prompt: str, **more: Any) -> list[dict[str, Any]]:
        return await self.lines("POST", "/api/agent/run/stream", {"prompt": prompt, **more})


@dataclass
class Site:
    """A server in this loop, its engine and the people."""

    url: str
    engine: Engine
    http: aiohttp.ClientSession
    server: Listening
    store: Store = field(default_factory=MemoryStore)

    def person(self, name: str = "") -> Person:
        """Somebody by name, or whoever has this token."""
        return Person(self.http, self.url, TOKENS.get(name, name))

    @property
    def ada(self) -> Person:
        return self.person("ada")

    @property
    def bob(self) -> Person:
        return self.person("bob")

    @property
    def nobody(self) -> Person:
        return self.person()


def settings_in(path: Path, environ: Mapping[str, str] | None = None, **changes: Any) -> Settings:
    """Settings that read nothing but this directory."""
    named = ",".join(f"{name}:{token}" for name, token in TOKENS.items())
    given = {"HOME": str(path), "POLLUX_HOME": str(path / "home"), "POLLUX_TOKENS": named, **(environ or {})}
    return replace(read_settings(given, cwd=path), port=0, **changes)


def form(**fields: str) -> bytes:
    """Fields as a browser sends them from a page."""
    return urlencode(fields).encode()


def known(tokens: Mapping[str, str]) -> Credentials:
    """These named tokens, and nothing else."""
    return Credentials(tuple((UserId(name), Secret(token)) for name, token in tokens.items()))


@asynccontextmanager
async def site(
    path: Path,
    provider: Provider,
    *,
    tools: Iterable[Tool] = (),
    profiles: Mapping[str, Profile] | None = None,
    rules: Sequence[Rule] = (),
    store: Store | None = None,
    clock: Clock | None = None,
    **changes: Any,
) -> AsyncGenerator[Site]:
    """A server with this model and these tools, closed at the end."""
    settings = settings_in(path, **changes)
    offered = list(tools)
    names = tuple(tool.spec.name for tool in offered)
    profiles = profiles or {"default": Profile(tools=names, limits=Limits(model_calls=3))}
    store = store or MemoryStore()
    engine = make_engine(store, Fixed(provider), tools=offered, profiles=profiles, rules=rules, clock=clock)
    async with engine, aiohttp.ClientSession() as http:
        authority = authority_of(settings, known(TOKENS), store, clock=engine.clock)
        page = page_door(settings, engine, authority, tools=offered) if "page" in profiles else None
        app = application(settings, engine, authority, page=page)
        async with listening(app, settings) as server:
            yield Site(server.url, engine, http, server, store)
            await engine.close()
            # Hung up first: the server then has nobody left to wait for.
            await http.close()


def page_door(
    settings: Settings,
    engine: Engine,
    authority: Authority,
    *,
    tools: Iterable[Tool] = (),
    origins: Iterable[str] = (),
    registry: ActionRegistry | None = None,
) -> PageDoor:
    """The door for pages, over an engine whose profile "page" may call these."""
    assert authority.visits is not None
    actions = {tool.spec.name: tool.spec for tool in tools}
    runtime = PageRuntime(
        engine,
        authority,
        authority.visits,
        seal_keys(settings),
        frozenset(origins),
        actions=actions,
        budget=budget_of(settings, engine, has_visitors=True),
    )
    return PageDoor(runtime, JayActions(registry or ActionRegistry()))


class Process:
    """`pollux serve` in a process of its own."""

    def __init__(self, path: Path, process: "subprocess.Popen[bytes]", ready: dict[str, Any]) -> None:
        self.path = path
        self.popen = process
        self.ready = ready
        self.url: str = ready["url"]

    @classmethod
    async def start(cls, path: Path, *words: str, **environ: str) -> Self:
        """Start it, and wait for the line that says it is ready."""
        kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        named = ",".join(f"{name}:{token}" for name, token in TOKENS.items())
        env = {**kept, "HOME": str(path), "POLLUX_HOME": str(path / "home"), "POLLUX_TOKENS": named, **environ}
        with (path / "serve.err").open("ab") as talk:
            process = subprocess.Popen(
                [sys.executable, "-W", "error", "-m", "pollux.cli", "serve", "--port", "0", *words],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=talk, cwd=path, env=env,
            )  # fmt: skip
        assert process.stdout is not None
        line = await asyncio.wait_for(asyncio.to_thread(process.stdout.readline), PATIENCE)
        if not line:
            process.wait(PATIENCE)
            process.stdout.close()
            raise AssertionError((process.returncode, (path / "serve.err").read_text()))
        return cls(path, process, json.loads(line))

    @property
    def talk(self) -> str:
        return (self.path / "serve.err").read_text()

    def kill(self) -> None:
        """As a crash does."""
        self.popen.kill()
        self.popen.wait(PATIENCE)

    async def stop(self, number: int = signal.SIGTERM) -> int:
        """As an operator does; the result is the exit code."""
        self.popen.send_signal(number)
        return await asyncio.to_thread(self.popen.wait, PATIENCE)


@asynccontextmanager
async def process(path: Path, *words: str, **environ: str) -> AsyncGenerator[Process]:
    """`pollux serve`, ended with the block if it has not ended before."""
    serving = await Process.start(path, *words, **environ)
    try:
        yield serving
    finally:
        if serving.popen.poll() is None:
            serving.kill()
        if serving.popen.stdout is not None:
            serving.popen.stdout.close()


def free_port() -> int:
    """One below those that the system gives away by itself: else another process may have it before it is used."""
    for port in random.SystemRandom().sample(range(20_000, 30_000), 1_000):
        with socket.socket() as listener, suppress(OSError):
            listener.bind(("127.0.0.1", port))
            return port
    raise AssertionError("no port is free")
