"""A server with a page's door, in the test's own loop, and a page that talks to it."""

from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import aiohttp
from tests.http.conform import check_answer
from tests.http.site import TOKENS, known, page_door, settings_in

from pollux.asgi.auth import Verifier
from pollux.asgi.credentials import authority_of
from pollux.asgi.listening import listening
from pollux.bootstrap import Fixed, make_engine
from pollux.core.profile import Limits, Profile
from pollux.core.tools import Tool
from pollux.engine.engine import Engine
from pollux.engine.model import Provider
from pollux.engine.ports import Clock, Store
from pollux.serve import application
from pollux.stores.memory import MemoryStore
from pollux.tools.actions import ActionRegistry

CLICK = {
    "name": "click-buy",
    "description": "Click on Buy",
    "inputSchema": {"type": "object", "properties": {"coordinate": {"type": "string"}}},
    "category": "page-automation",
}


@dataclass
class Page:
    """A page with one visitor: it keeps the history, and knows what it shows."""

    url: str
    http: aiohttp.ClientSession
    token: str = ""
    origin: str = ""
    tools: list[dict[str, Any]] = field(default_factory=lambda: [CLICK])
    state: Any = field(default_factory=lambda: {"viewState": {"title": "Mugs"}})
    history: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])

    async def post(self, path: str, body: object, **headers: str) -> tuple[int, Any]:
        given = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        given |= {"Origin": self.origin} if self.origin else {}
        async with self.http.post(self.url + path, json=body, headers={**given, **headers}) as response:
            told = await response.json()
            if not path.startswith("/_jay/"):
                check_answer("POST", path, response.status, response.content_type, told)
            return response.status, told

    async def open(self, **body: Any) -> "Page":
        status, told = await self.post("/api/page/session", body)
        assert status == 200, told
        self.token = told["token"]
        return self

    async def say(self, message: str) -> dict[str, Any]:
        return self._heard(await self.post("/api/page/send-message", self.sending(message)))

    async def answer(self, *results: Mapping[str, Any]) -> dict[str, Any]:
        return self._heard(await self.post("/api/page/submit-tool-results", self.submitting(*results)))

    def sending(self, message: str) -> dict[str, Any]:
        return {"message": message, **self._shown()}

    def submitting(self, *results: Mapping[str, Any]) -> dict[str, Any]:
        return {"results": list(results), **self._shown()}

    def _shown(self) -> dict[str, Any]:
        return {"history": self.history, "toolDefinitions": self.tools, "pageState": self.state}

    def _heard(self, got: tuple[int, Any]) -> dict[str, Any]:
        status, told = got
        assert status == 200, told
        self.history = told["history"]
        return told


@dataclass
class PageSite:
    url: str
    engine: Engine
    http: aiohttp.ClientSession

    async def page(self, **body: Any) -> Page:
        """Somebody new, with a browser of their own."""
        self.http.cookie_jar.clear()
        return await Page(self.url, self.http).open(**body)


@asynccontextmanager
async def page_site(
    path: Path,
    provider: Provider,
    *,
    tools: Iterable[Tool] = (),
    store: Store | None = None,
    clock: Clock | None = None,
    origins: Iterable[str] = (),
    limits: Limits | None = None,
    registry: ActionRegistry | None = None,
    jwt: Verifier | None = None,
    **changes: Any,
) -> AsyncGenerator[PageSite]:
    """A server whose agent for pages has these tools."""
    settings, offered = settings_in(path, **changes), list(tools)
    profile = Profile("page", tools=tuple(tool.spec.name for tool in offered), limits=limits or Limits(model_calls=8))
    store = store or MemoryStore()
    engine = make_engine(
        store,
        Fixed(provider),
        tools=offered,
        profiles={"page": profile, "default": replace(profile, name="default")},
        clock=clock,
    )
    authority = authority_of(settings, known(TOKENS), store, clock=engine.clock, jwt=jwt)
    page = page_door(settings, engine, authority, tools=offered, origins=origins, registry=registry)
    async with engine, aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as http:
        app = application(settings, engine, authority, page=page)
        async with listening(app, settings) as server:
            yield PageSite(server.url, engine, http)
            await engine.close()
            await http.close()
