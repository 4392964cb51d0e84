"""No secret leaves: canaries in every place where a credential lies, everything that can go wrong, at debug level.

What is looked through: answers, both output streams, spans, the audit, the journal's bytes, what children are given.
"""

import asyncio
import json
import re
import shutil
import time
from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from http.cookies import SimpleCookie
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import aiohttp
import pytest
from aiohttp import web
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from tests.asgi.issuer import AUDIENCE, serving
from tests.http.site import Got, Person, Process, form, process, site
from tests.waiting import until

from pollux.asgi.cookies import SESSION_COOKIE
from pollux.core.errors import ToolError
from pollux.core.messages import JSON
from pollux.core.redact import Secret, forms_of
from pollux.core.tools import ToolContext, ToolSpec
from pollux.emulator.faults import KINDS
from pollux.emulator.server import run_emulator
from pollux.providers.gemini import GeminiProvider
from pollux.telemetry import traced_provider, traced_tool
from pollux.tools.define import Args, FunctionTool

pytestmark = pytest.mark.slow

CANARIES = {
    "GEMINI_API_KEY": "AIzaCanary/9f+e2=Zq_77%Kx",
    "OPENAI_API_KEY": "sk-canary/Op+en=Ai_42%Kx",
    "POLLUX_SEAL_KEY": "seal-canary/0123456789+abcdef=",
    "POLLUX_GOOGLE_CLIENT_SECRET": "GOCSPX-canary/Tool+Secret=9",
    # Of a tool's own, which Pollux knows only by the name of its variable.
    "CRM_API_TOKEN": "crm-canary/77+Zq=Kx_secret",
}
ADA, BOB = "ada-canary/Token+0123=456", "bob-canary/Token+6543=210"
SLOW = ("silent", "idle", "slow")
MODULE = """
import os
from pathlib import Path
from pollux.core.errors import ToolError
from pollux.core.tools import ToolSpec
from pollux.tools.define import FunctionTool
from pollux.tools.shell.agent_shell import Runner
from pollux.tools.shell.toolset import shell_tool

NAMES = ("GEMINI_API_KEY", "POLLUX_SEAL_KEY", "POLLUX_GOOGLE_CLIENT_SECRET", "POLLUX_TOKENS", "CRM_API_TOKEN")
said = " ".join(os.environ[name] for name in NAMES)
EMPTY = {"type": "object", "properties": {}}

def fall(context, args):
    try:
        raise KeyError(f"no answer for Authorization: Bearer {said}")
    except KeyError as problem:
        raise RuntimeError(f"the request with key {said} failed") from problem

def tell(context, args):
    raise ToolError(f"401 for {said}")

def give(context, args):
    return {"request": {"headers": [said, {said: 1}]}, "said": said}

def made(name, run):
    return FunctionTool(ToolSpec(name, "It " + name + "s.", EMPTY, side_effect=name == "fall"), run)

falls, tells, gives = made("fall", fall), made("tell", tell), made("give", give)
sh = shell_tool(Runner(Path.cwd()))
"""


def configured(path: Path, echo: str) -> Path:
    (path / "lib").mkdir()
    (path / "lib" / "canary_tools.py").write_text(MODULE)
    tools = {"fall": "falls", "tell": "tells", "give": "gives", "shell": "sh"}
    text = [f'[tools.{name}]\nuse = "canary_tools:{place}"\n' for name, place in tools.items()]
    text += [f'[[rules]]\ndecision = "allow"\ntool = "{name}"\n' for name in tools]
    models = {"default": "gemini-3.8-flash"}
    models |= {f"fault-{kind}": f"gemini-3.8-flash--{kind}" for kind in KINDS if kind not in SLOW}
    models |= {f"echo-{way}": f"openai:{echo}/v1/{way}" for way in ECHOES}
    for name, model in models.items():
        # What is tried again and again may run out of time. What has an answer must not, on however slow a machine.
        seconds = 600 if name in ANSWERED else 4
        text.append(f'[profiles.{name}]\nmodel = "{model}"\nlimits = {{ seconds = {seconds}, model_calls = 3 }}\n')
    file = path / "agents.toml"
    file.write_text("\n".join(text))
    return file


ECHOES = ("e400", "e401", "e429", "e500", "plain", "midway")
ANSWERED = ("default", "echo-e400")


@asynccontextmanager
async def echoing() -> AsyncGenerator[str]:
    """A service that answers with what it was sent, key and all, as errors of every kind."""

    async def answer(request: web.Request) -> web.StreamResponse:
        sent = json.dumps(dict(request.headers))
        asked: Any = await request.json() if request.can_read_body else {}
        way = str(asked.get("model", "e400"))
        error = {
            "error": {"message": f"bad request: {sent}", "type": sent, "code": sent, "status": sent, "param": sent}
        }
        if way == "plain":
            return web.Response(status=502, text=f"<html>{sent}</html>", content_type="text/html")
        if way == "midway":
            body = f"data: {json.dumps(error)}\n\ndata: {sent}\n\n"
            return web.Response(text=body, content_type="text/event-stream", headers={"x-request-id": "r"})
        return web.json_response(error, status=int(way.removeprefix("e")))

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


@dataclass
class Search:
    """Everything that came out, by where, and the canaries that must not be in it."""

    secrets: dict[str, str]
    outputs: dict[str, bytes] = field(default_factory=dict[str, bytes])

    def add(self, where: str, content: bytes | str) -> None:
        self.outputs[where] = content.encode() if isinstance(content, str) else content

    def answer(self, where: str, got: Got) -> Got:
        body = got.body if isinstance(got.body, bytes) else json.dumps(got.body, ensure_ascii=False).encode()
        self.add(where, body + json.dumps(dict(got.headers)).encode())
        return got

    def hits(self) -> list[tuple[str, str]]:
        # As it was, URL-encoded, in base64, and as JSON escapes it.
        forms = {
            name: {form.encode() for form in forms_of(Secret(value))} | {value.replace("/", "\\/").encode()}
            for name, value in self.secrets.items()
        }
        assert all(len(value) > 16 for value in self.secrets.values())
        return [
            (where, name)
            for where, content in self.outputs.items()
            for name, each in forms.items()
            if any(form in content for form in each)
        ]


def descendants(pid: int) -> Iterable[int]:
    with suppress(OSError):  # It may have ended.
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text().split():
                yield int(child)
                yield from descendants(int(child))


def given_to_children(here: Process) -> dict[int, tuple[bytes, bytes]]:
    """The command lines and the environments of all below this process, once the command is among them."""
    found: dict[int, tuple[bytes, bytes]] = {}
    for pid in descendants(here.popen.pid):
        place = Path(f"/proc/{pid}")
        with suppress(OSError):
            found[pid] = ((place / "cmdline").read_bytes(), (place / "environ").read_bytes())
    words = [cmdline.split(b"\0") for cmdline, _ in found.values()]
    return found if any(each[0].endswith(b"sleep") and each[1] == b"10000" for each in words if len(each) > 1) else {}


async def child_environments(here: Process, person: Person, search: Search) -> int:
    """What the children of a command that is under way were given."""
    command = json.dumps({"command": "sleep 10000"})
    begun = asyncio.create_task(person.run(f"call shell {command}"))
    found = await until(lambda: given_to_children(here))
    for pid, (cmdline, environ) in found.items():
        search.add(f"child {pid}", cmdline + b"\0" + environ)
    (row, *_) = (await person.get("/api/agent/runs?limit=1")).body["items"]
    await person.post(f"/api/agent/runs/{row['runId']}/cancel")
    await begun
    return len(found)


async def sign_in(here: Process, http: aiohttp.ClientSession, token: str) -> tuple[str, str]:
    """The cookie and the proof that a browser gets. That answer holds them, and is the only one that may."""
    got = await Person(http, here.url).post("/api/session/sign-in", {"token": token})
    return SimpleCookie(got.headers["set-cookie"])[SESSION_COOKIE].value, got.body["csrf"]


async def test_no_credential_is_in_anything_that_comes_out(tmp_path: Path):
    # A connection for each request: one that was idle for long may be closed while it is taken up again.
    once = aiohttp.TCPConnector(force_close=True)
    async with (
        echoing() as echo,
        run_emulator() as emulator,
        serving() as issuer,
        aiohttp.ClientSession(connector=once) as http,
    ):
        issuer.clock.at = time.time()
        environ = CANARIES | {
            "POLLUX_TOKENS": f"ada:{ADA},bob:{BOB}",
            "GOOGLE_GEMINI_BASE_URL": emulator.url,
            "POLLUX_GOOGLE_CLIENT_ID": "canary-client",
            "POLLUX_OIDC_ISSUER": issuer.url,
            "POLLUX_OIDC_AUDIENCE": AUDIENCE,
            "PYTHONPATH": str(tmp_path / "lib"),
        }
        words = ("--log-level", "debug", "--config", str(configured(tmp_path, echo)))
        async with process(tmp_path, *words, **environ) as here:
            assert "tokenFile" not in here.ready and not (tmp_path / "home" / "token").exists()
            jwt = issuer.token()
            cookie, csrf = await sign_in(here, http, ADA)
            ada, bob = Person(http, here.url, ADA), Person(http, here.url, BOB)
            named = {"ADA": ADA, "BOB": BOB, "jwt": jwt, "cookie": cookie, "csrf": csrf}
            search = Search(CANARIES | named)

            # Everything that can go wrong with a model or a tool, told in both ways.
            profiles = [f"fault-{kind}" for kind in KINDS if kind not in SLOW] + [f"echo-{way}" for way in ECHOES]

            async def begin(number: int, profile: str, prompt: str) -> None:
                person = (ada, bob)[number % 2]
                path = "/api/agent/run" + ("/stream" if number % 3 else "")
                search.answer(f"{profile}: {prompt}", await person.post(path, {"prompt": prompt, "profile": profile}))

            await asyncio.gather(*(begin(n, profile, "count to 3") for n, profile in enumerate(profiles)))
            calls = [f"call {tool} {{}}" for tool in ("fall", "tell", "give")]
            shells = ["env", "env | base64 -w0", "cat /proc/self/environ"]
            # What is not fenced in sees every process of the same user.
            shells += ["cat /proc/*/environ"] if shutil.which("bwrap") else []
            calls += [f"call shell {json.dumps({'command': command})}" for command in shells]
            await asyncio.gather(*(begin(n, "default", prompt) for n, prompt in enumerate([*calls, *reversed(calls)])))

            # Credentials that are wrong, in places where they do not belong, and right ones.
            stranger = Person(http, here.url)
            by_cookie = {"Cookie": f"{SESSION_COOKIE}={cookie}"}
            for name, headers in {
                "jwt": {"Authorization": f"Bearer {jwt}"},
                "cookie": by_cookie,
                "wrong scheme": {"Authorization": f"Basic {ADA}"},
                "cut jwt": {"Authorization": f"Bearer {jwt[:-3]}"},
                "cookie as token": {"Authorization": f"Bearer {cookie}"},
                "token as cookie": {"Cookie": f"{SESSION_COOKIE}={ADA}"},
                "token as host": {"Host": ADA.partition("/")[0]},
                "both": {**by_cookie, "Authorization": f"Bearer {ADA}x"},
            }.items():
                search.answer(f"runs, {name}", await stranger.get("/api/agent/runs", headers))
                posted = await stranger.post("/api/agent/run", {"prompt": "say hello"}, headers)
                search.answer(f"run, {name}", posted)
            for path in (f"/login?token={ADA}x", f"/login?token={jwt[:-3]}", f"/nowhere?token={ADA}"):
                search.answer(path[:8], await stranger.get(path))
            wrong = await stranger.post("/api/session/sign-in", {"token": ADA + "x", "extra": 1})
            search.answer("sign in", wrong)
            # The page that asks holds the token that came with the link, in its form and nowhere else.
            asked = (await stranger.get(f"/login?{urlencode({'token': BOB})}")).body.decode()
            assert asked.count(BOB) == 1
            search.add("link asks", asked.replace(BOB, ""))
            origin = {"Origin": here.url}
            linked = await stranger.send("POST", "/login", raw=form(token=BOB), headers=origin)
            search.secrets["cookie by link"] = SimpleCookie(linked.headers["set-cookie"])[SESSION_COOKIE].value
            search.secrets["csrf by link"] = linked.body["csrf"]
            search.add("link", json.dumps([linked.headers["location"], linked.headers["x-correlation-id"]]))
            refused = await stranger.send("POST", "/login", raw=form(token=BOB + "x"), headers=origin)
            search.answer("link refused", refused)

            for person in (ada, bob):
                for path in ("runs?limit=100", "threads?limit=100", "audit?limit=100", "audit/verify", "grants",
                             "approvals/pending"):  # fmt: skip
                    search.answer(f"{person is ada} {path}", await person.get(f"/api/agent/{path}"))
                for row in (await person.get("/api/agent/runs?limit=100")).body["items"]:
                    if row["state"] in ("completed", "failed", "cancelled"):
                        for path in (f"runs/{row['runId']}/events", f"threads/{row['threadId']}/messages"):
                            search.answer(path, await person.get(f"/api/agent/{path}"))
            children = await child_environments(here, ada, search)
            assert await here.stop() == 0
            assert here.popen.stdout is not None
            search.add("stdout", here.popen.stdout.read() + json.dumps(here.ready).encode())

        search.add("stderr", here.talk)
        places = [path for path in (tmp_path / "home").rglob("*") if path.is_file()]
        assert "pollux.db" in [path.name for path in places]
        for path in places:
            search.add(path.name, path.read_bytes())

        hits = search.hits()
        print(f"{len(search.secrets)} canaries, {len(search.outputs)} outputs, {children} children, {len(hits)} hits")
        assert hits == []
        # It was looked for where it had been: what failed was told, and what was masked can be seen to be.
        for where in ("echo-e400: count to 3", "default: call tell {}", "stderr"):
            assert b"[redacted]" in search.outputs[where], where
        assert "a tool failed" in here.talk and "DEBUG" in here.talk
        assert len(search.outputs) > 100


SAID = "the-merger-is-on-friday"
REPEATING = """
from pollux.core.tools import ToolSpec
from pollux.tools.define import FunctionTool

BODY = {"type": "object", "properties": {"body": {"type": "string"}}}

def repeat(context, args):
    raise RuntimeError(f"no answer for {args}")

repeats = FunctionTool(ToolSpec("repeat", "It repeats.", BODY, side_effect=True), repeat)
"""


async def test_at_the_default_level_the_log_holds_no_argument(tmp_path: Path):
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "repeating_tools.py").write_text(REPEATING)
    file = tmp_path / "agents.toml"
    file.write_text('[tools.repeat]\nuse = "repeating_tools:repeats"\n[[rules]]\ndecision = "allow"\ntool = "repeat"\n')
    async with run_emulator() as emulator, aiohttp.ClientSession() as http:
        environ = {
            "GEMINI_API_KEY": CANARIES["GEMINI_API_KEY"],
            "GOOGLE_GEMINI_BASE_URL": emulator.url,
            "POLLUX_TOKENS": f"ada:{ADA}",
            "PYTHONPATH": str(tmp_path / "lib"),
        }
        async with process(tmp_path, "--config", str(file), **environ) as here:
            told = await Person(http, here.url, ADA).run(f"call repeat {json.dumps({'body': SAID})}")
            assert [action["tool"] for action in told["actions"]] == ["repeat"]
            assert await here.stop() == 0
    assert "a tool failed: RuntimeError at repeating_tools:" in here.talk
    assert SAID not in here.talk


# Spans, which only an application that has them switched on gets to see.


async def test_no_credential_is_in_a_span(tmp_path: Path):
    key = CANARIES["GEMINI_API_KEY"]
    kept = InMemorySpanExporter()
    tracing = TracerProvider(shutdown_on_exit=False)
    tracing.add_span_processor(SimpleSpanProcessor(kept))
    tracer = tracing.get_tracer("test")

    def fail(context: ToolContext, args: Args) -> JSON:
        raise (ToolError if args.get("own") else RuntimeError)(f"the key is {key}")

    schema: dict[str, JSON] = {"type": "object", "properties": {"own": {"type": "boolean"}}}
    tool = FunctionTool(ToolSpec("fall", "It falls.", schema), fail)
    async with echoing() as echo, run_emulator() as emulator:
        for url, prompts in ((emulator.url, ("call fall {}", 'call fall {"own": true}')), (echo, ("hello",))):
            gemini = GeminiProvider(Secret(key), url)
            provider = traced_provider(gemini, tracer, base_url=url)
            (tmp_path / "x").mkdir(exist_ok=True)
            async with site(tmp_path / "x", provider, tools=[traced_tool(tool, tracer)]) as here:
                for prompt in prompts:
                    told = await here.ada.run(prompt)
                    assert url != echo or "[redacted]" in told["summary"]
            await gemini.close()
    spans = kept.get_finished_spans()
    assert {re.sub(r" .*", "", span.name) for span in spans} == {"chat", "execute_tool"}
    search = Search({"key": key}, {span.name + str(n): span.to_json().encode() for n, span in enumerate(spans)})
    assert search.hits() == []
    assert len(spans) >= 6


def test_the_search_finds_a_canary_in_every_form():
    forms: Mapping[str, Any] = {name: forms_of(Secret(value)) for name, value in CANARIES.items()}
    for name, each in forms.items():
        for written in each:
            search = Search(CANARIES, {"here": f"before {written} after".encode()})
            assert search.hits() == [("here", name)]
