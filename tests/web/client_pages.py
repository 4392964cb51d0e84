"""The bundled client under Node, as a page would have it, for tests against a real server."""

import asyncio
import json
import shutil
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, Self

import pytest
from aiohttp import web
from playwright.async_api import Route
from tests.page.site import CLICK
from tests.waiting import HANG_SECONDS, until
from tests.web.bundles import bundle

NODE = shutil.which("node")
DRIVER = Path(__file__).parent / "client_driver.mjs"

needs_node = pytest.mark.skipif(NODE is None, reason="node is not installed (apt-get install nodejs)")

State = dict[str, Any]

PAGE = f"""<!doctype html><title>Shop</title><script type="module">
  import client from "./client.js";
  const page = {{
    state: () => null,
    tools: () => [{json.dumps(CLICK)}],
    execute: async (call) => {{
      sessionStorage.executed = Number(sessionStorage.executed ?? 0) + 1;
      localStorage.calls = JSON.stringify([...JSON.parse(localStorage.calls ?? "[]"), call.id]);
      while (localStorage.hold) await new Promise((resolve) => setTimeout(resolve, 10));
      return {{ result: "done" }};
    }},
  }};
  const asked = new URLSearchParams(location.search);
  window.waits = [];
  const quick = asked.has("quick") ? {{ wait: async (milliseconds) => void waits.push(milliseconds) }} : {{}};
  const base = asked.get("base") ?? "";
  window.talk = client.createConversation({{ base, shelf: sessionStorage, page, ...quick }});
</script>"""


@dataclass
class ClientPage:
    """One load of a page. Loaded again from the same folder, it finds what the one before left on its shelf."""

    folder: Path
    base: str
    options: dict[str, Any]
    state: State = field(default_factory=dict[str, Any])
    told: dict[str, Any] = field(default_factory=dict[str, Any])
    """What the page said of itself when it had last done something."""
    shown: list[State] = field(default_factory=list[State])

    async def open(self) -> Self:
        options = {
            "bundle": str(bundle("client", form="cjs")), "base": self.base, "shelf": str(self.folder / "shelf.json"),
            "ledger": str(self.folder / "ledger.jsonl"), "tools": [CLICK], **self.options,
        }  # fmt: skip
        assert NODE is not None
        pipe = asyncio.subprocess.PIPE
        self._process = await asyncio.create_subprocess_exec(
            NODE, DRIVER, json.dumps(options), stdin=pipe, stdout=pipe, limit=1 << 24
        )
        self._ids, self._waiting = count(1), dict[int, asyncio.Future[dict[str, Any]]]()
        self._changed = asyncio.Event()
        self._reading = asyncio.create_task(self._read())
        return self

    async def do(self, verb: str, *args: Any) -> State:
        """Do this, and tell how things stand when it is over. Raises EOFError where the process dies of it."""
        async with asyncio.timeout(HANG_SECONDS):
            self.told = await self.start(verb, *args)
        assert "problem" not in self.told, self.told["problem"]
        return self.told["state"]

    def start(self, verb: str, *args: Any) -> "asyncio.Future[dict[str, Any]]":
        """Begin this. The result comes when it is over."""
        number = next(self._ids)
        done = self._waiting[number] = asyncio.get_running_loop().create_future()
        assert self._process.stdin is not None
        with suppress(ConnectionError):
            self._process.stdin.write(json.dumps({"id": number, "verb": verb, "args": args}).encode() + b"\n")
        return done

    async def until(self, is_so: Callable[[State], object]) -> State:
        """The state as soon as this is so."""
        async with asyncio.timeout(HANG_SECONDS):
            while not (self.state and is_so(self.state)):
                self._changed.clear()
                await self._changed.wait()
        return self.state

    async def until_kept(self, is_so: Callable[[dict[str, Any]], object]) -> None:
        """Until what lies on the shelf is so."""
        shelf = self.folder / "shelf.json"
        await until(lambda: shelf.exists() and is_so(json.loads(shelf.read_text())))

    async def close(self) -> None:
        with suppress(ProcessLookupError):
            self._process.kill()
        await self._process.wait()
        await self._reading

    @property
    def executed(self) -> list[dict[str, Any]]:
        """What pages of this folder were made to do, in all their loads."""
        ledger = self.folder / "ledger.jsonl"
        return [json.loads(line) for line in ledger.read_text().splitlines()] if ledger.exists() else []

    async def _read(self) -> None:
        assert self._process.stdout is not None
        async for line in self._process.stdout:
            told = json.loads(line)
            self.state = told.get("state", self.state)
            if "id" in told:
                self._waiting.pop(told["id"]).set_result(told)
            else:
                self.shown.append(self.state)
            self._changed.set()
        for done in self._waiting.values():
            if not done.done():
                done.set_exception(EOFError("the page is gone"))
                done.exception()


@asynccontextmanager
async def client_page(folder: Path, base: str, **options: Any) -> AsyncGenerator[ClientPage]:
    """A page, closed at the end, whatever it is doing."""
    folder.mkdir(exist_ok=True)
    page = await ClientPage(folder, base, options).open()
    try:
        yield page
    finally:
        await page.close()


def said(state: State, *roles: str) -> list[str]:
    """What was said, by these or by all."""
    return [message["content"] for message in state["messages"] if not roles or message["role"] in roles]


async def served(route: Route) -> None:
    """A page with the client and nothing else, at whatever address."""
    kind, text = _file(route.request.url)
    await route.fulfill(body=text, content_type=kind)


@asynccontextmanager
async def hosted() -> AsyncGenerator[str]:
    """The same page on a site of its own: its origin. By a real server, since a route would answer for its browser."""

    async with answering(None) as url:
        yield url


@asynccontextmanager
async def answering(api: Callable[[web.Request], Awaitable[web.StreamResponse]] | None) -> AsyncGenerator[str]:
    """The same, with a server of the test's own beneath /api/."""

    async def answer(request: web.Request) -> web.StreamResponse:
        if api is not None and request.path.startswith("/api/"):
            return await api(request)
        kind, text = _file(request.path)
        return web.Response(text=text, content_type=kind)

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


def _file(address: str) -> tuple[str, str]:
    if not address.endswith(".js"):
        return "text/html", PAGE
    script = f"const module = {{ exports: {{}} }};\n{bundle('client', form='cjs').read_text()}"
    return "text/javascript", f"{script}\nexport default module.exports;"
