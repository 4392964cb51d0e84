"""A server with Google configured, a model that wants what it is told to want, and a Google that lies."""

import base64
import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import aiohttp
from aiohttp import web
from tests.http.google_site import CLIENT, connect
from tests.http.site import TOKENS, Got, Person, Site, known, settings_in

from pollux.asgi.credentials import authority_of
from pollux.asgi.listening import listening
from pollux.bootstrap import Fixed, google_of, make_engine, open_store
from pollux.config import Settings
from pollux.core.messages import Message, Text, ToolCall, ToolResult, Usage
from pollux.core.profile import Limits, Profile
from pollux.emulator.workspace import Workspace, run_workspace
from pollux.engine.model import Done, ModelEvent, ModelInfo, ModelRequest
from pollux.serve import application

PAGE = {"Accept": "text/html"}
DATA = {"Accept": "application/json"}
BOTH = ("gmail_send", "calendar_event_create")
MAIL: dict[str, Any] = {"to": ["bob@example.com"], "subject": "Report", "body": "It is ready."}


class Wanting:
    """Asks for what `wants` says, once for each prompt; what comes back ends the run."""

    name = "wanting"

    def __init__(self) -> None:
        self.wants: tuple[str, Any] = ("gmail_send", MAIL)
        self.asked = 0

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        self.asked += 1
        last = tuple(request.turns)[-1]
        offered = {tool.name for tool in request.tools}
        tool, args = self.wants
        if any(isinstance(part, ToolResult) for part in last.parts) or tool not in offered:
            yield Done("end", Message("assistant", (Text("Done."),)), Usage())
        else:
            wanted = ToolCall(f"call_{self.asked}", tool, args)
            yield wanted
            yield Done("tool_calls", Message("assistant", (wanted,)), Usage())

    async def count_tokens(self, request: ModelRequest) -> int:
        return 0

    async def models(self) -> tuple[ModelInfo, ...]:
        return ()

    async def close(self) -> None:
        """Nothing is open."""


@dataclass
class Den:
    """The server, the workspace behind it, and the model in it."""

    site: Site
    workspace: Workspace
    model: Wanting
    settings: Settings

    @property
    def ada(self) -> Person:
        return self.site.ada

    @property
    def bob(self) -> Person:
        return self.site.bob

    async def asked(self, person: Person, tool: str = "gmail_send", args: object = MAIL) -> dict[str, Any]:
        """A run in which the model wants this."""
        self.model.wants = (tool, args)
        return await person.run("please")

    async def connected(self, person: Person) -> dict[str, Any]:
        return (await person.get("/api/google/status")).body


@asynccontextmanager
async def den(
    path: Path,
    workspace: Workspace,
    *,
    tools: tuple[str, ...] = BOTH,
    environ: Mapping[str, str] | None = None,
    model: Wanting | None = None,
    **changes: Any,
) -> AsyncGenerator[Den]:
    """A server on the store in this folder. Started twice there, it is the same installation."""
    bases = ("POLLUX_GMAIL_BASE_URL", "POLLUX_CALENDAR_BASE_URL", "POLLUX_GOOGLE_OAUTH_BASE_URL")
    given = {**CLIENT, **dict.fromkeys(bases, workspace.url), **(environ or {})}
    settings = settings_in(path, given, requests_per_minute=1_000_000, burst=1_000_000, **changes)
    store, model = open_store(settings), model or Wanting()
    async with (
        google_of(settings, store) as google,
        aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as http,
    ):
        assert google is not None
        profiles = {"default": Profile(tools=tools, limits=Limits(model_calls=4))}
        engine = make_engine(store, Fixed(model), tools=google.tools, profiles=profiles)
        app = application(
            settings, engine, authority_of(settings, known(TOKENS), store, clock=engine.clock), google=google
        )
        async with engine, listening(app, settings) as server:
            await engine.recover()
            yield Den(Site(server.url, engine, http, server, store), workspace, model, settings)
            await engine.close()
            await http.close()


@asynccontextmanager
async def world(path: Path, **changes: Any) -> AsyncGenerator[Den]:
    """A den with a workspace of its own, to which ada has connected an account."""
    async with run_workspace() as workspace, den(path, workspace, **changes) as here:
        await connect(here.ada, workspace)
        yield here


@dataclass
class Liar:
    """An OAuth server that answers what it is told to. `heard` are the paths that were asked."""

    url: str
    answer: Any = None
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict[str, str])
    heard: list[str] = field(default_factory=list[str])

    def says(self, answer: Any, *, status: int = 200, **headers: str) -> None:
        self.answer, self.status, self.headers = answer, status, headers

    def grants(self, **changes: Any) -> None:
        """Tokens, with changes; an `email` goes into an id token."""
        claims = {"email": changes.pop("email", "ada@example.com")}
        coded = base64.urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip("=")
        scope = "openid email https://www.googleapis.com/auth/calendar.events"
        tokens = {"access_token": "ya29.lie", "refresh_token": "1//lie", "expires_in": 3599, "scope": scope}
        self.says({**tokens, "id_token": f"e30.{coded}.x", **changes})


@asynccontextmanager
async def lying() -> AsyncGenerator[Liar]:
    liar = Liar("")

    async def answer(request: web.Request) -> web.Response:
        liar.heard.append(request.path)
        body = liar.answer if isinstance(liar.answer, bytes) else json.dumps(liar.answer).encode()
        return web.Response(status=liar.status, body=body, content_type="application/json", headers=liar.headers)

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        liar.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        yield liar
    finally:
        await runner.cleanup()


@dataclass
class Tab:
    """A browser's tab in which connecting has begun: where Google sends it back to, and its cookie."""

    target: str
    cookie: str
    consent: str

    async def comes_back(self, person: Person, cookies: str | None = None) -> Got:
        return await person.get(self.target, headers={**PAGE, "Cookie": self.cookie if cookies is None else cookies})


async def begun(here: Den, person: Person, *, account: str = "ada@example.com", allows: bool = True) -> Tab:
    """Somebody has begun to connect, and agreed at Google."""
    got = await person.get("/api/google/connect", headers=PAGE)
    assert got.status == 302, got
    consent, cookie = got.headers["Location"], got.headers["Set-Cookie"].partition(";")[0]
    back = urlsplit(here.workspace.allow(consent, account=account)) if allows else urlsplit("")
    return Tab(f"{back.path}?{back.query}", cookie, consent)
