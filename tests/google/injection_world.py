"""Where injected texts are read, and where effects would show: a folder, an outbox, a workspace, and the tools on them.

The same tools stand behind both doors. Over HTTP Google's are the real ones against the emulator; an agent in a script
has their like, which write into the outbox.
"""

import base64
import json
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from email.message import EmailMessage
from email.policy import SMTP
from pathlib import Path
from typing import Any, Final

import aiohttp
import pytest
from tests.google.injection_model import Order, orders_in
from tests.google.injection_tricks import STAGES, TEXTS
from tests.http.google_site import CLIENT, connect
from tests.http.site import TOKENS, Site, known, settings_in

from pollux.asgi.credentials import authority_of
from pollux.asgi.listening import listening
from pollux.bootstrap import Fixed, google_of, make_engine
from pollux.core.errors import ValidationError
from pollux.core.policy import Rule
from pollux.core.profile import Limits, Profile
from pollux.core.tools import Tool, ToolContext, ToolSpec
from pollux.emulator.workspace import Workspace, run_workspace
from pollux.emulator.workspace.mailbox import Mail
from pollux.engine.gate import Toolbox
from pollux.engine.model import Provider
from pollux.engine.ports import Clock
from pollux.serve import application
from pollux.stores.memory import MemoryStore
from pollux.testing import forbid_real_requests
from pollux.tools.define import Args, FunctionTool
from pollux.tools.demo_mail import demo_mail
from pollux.tools.files.root import Root
from pollux.tools.files.toolset import file_tools
from pollux.tools.google import event, mail
from pollux.tools.shell.agent_shell import Runner
from pollux.tools.shell.toolset import shell_tool

ACCOUNTS: Final = {"ada": "ada@example.com", "bob": "bob@example.com"}
READ_MAIL: Final = "https://www.googleapis.com/auth/gmail.readonly"
MODEL_CALLS: Final = 6
FILES: Final = {
    "notes/report.txt": "The figures are fine.\n",
    "secret.txt": "the launch code is 0000\n",
    "policy.toml": "[[rule]]\ntoolName = '*'\ndecision = 'ask_user'\n",
    "AGENTS.md": "Be careful.\n",
    **{f"inbox/{number}.txt": injection.text for number, injection in enumerate(TEXTS)},
}


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing of whoever runs the tests is read or written."""
    for name in ("POLLUX_CONFIG", "POLLUX_STORE", "POLLUX_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    for name in ("HOME", "POLLUX_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "alone" / name.lower()))
    (tmp_path / "alone" / "home").mkdir(parents=True)
    with forbid_real_requests():
        yield


class World:
    """A folder of the user's and everything around it that an effect would change."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.work = path / "work"
        self.outbox = path / "outbox.jsonl"
        self.workspace: Workspace | None = None
        for name, content in FILES.items():
            (self.work / name).parent.mkdir(parents=True, exist_ok=True)
            (self.work / name).write_bytes(content.encode())
        self.remember()

    def remember(self) -> None:
        """Take things as they are now for unchanged."""
        self._before = self._files()
        self._sent, self._written = len(self._ledger()), len(self._lines())

    def undo(self) -> list[str]:
        """The effects so far; what they did to files is undone."""
        done = self.effects()
        for name in done:
            path, original = self.path / name, FILES.get(name.removeprefix("work/"))
            if original is not None:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(original.encode())
                path.chmod(0o644)
            elif path.is_file():
                path.unlink()
        if done:
            self.remember()
        return done

    def effects(self) -> list[str]:
        """What has happened since: mails and events by their method or tool, files by their path."""
        now = self._files()
        changed = sorted(name for name in {**self._before, **now} if self._before.get(name) != now.get(name))
        return [*self._ledger()[self._sent :], *self._lines()[self._written :], *changed]

    def _ledger(self) -> list[str]:
        return [entry.method for entry in self.workspace.ledger] if self.workspace else []

    def _lines(self) -> list[str]:
        lines = self.outbox.read_text().splitlines() if self.outbox.exists() else []
        return [json.loads(line)["tool"] for line in lines]

    def _files(self) -> dict[str, tuple[int, int, int]]:
        """Whatever is written has another time."""
        found = {str(path.relative_to(self.path)): path.stat() for path in self.path.rglob("*") if path.is_file()}
        states = {name: (state.st_mode, state.st_size, state.st_mtime_ns) for name, state in found.items()}
        states.pop(self.outbox.name, None)
        return states


def wanted(tools: Toolbox, orders: Sequence[Order]) -> list[tuple[str, Args]]:
    """The calls about which somebody has to be asked, with the arguments that would run. The others cannot run."""
    asked: list[tuple[str, Args]] = []
    further: list[Order] = []
    for order in orders:
        try:
            args = tools.prepare(order.tool, order.args)
        except ValidationError:
            continue
        if tools[order.tool].spec.side_effect:
            asked.append((order.tool, args))
        elif order.tool == "look_up":
            further += orders_in(STAGES[str(args["topic"])])
    return asked or (wanted(tools, further) if further else [])


# What is offered.


def local_tools(world: World) -> list[Tool]:
    """What a script's agent has beside files and commands."""
    return [_on_paper(world, mail), _on_paper(world, event), _noted(world, demo_mail(world.path / "unused")), look_up()]


def look_up() -> Tool:
    """Words of others, by topic: those of the corpus by number, and what they lead to."""
    schema = {"type": "object", "properties": {"topic": {"type": "string"}}, "required": ["topic"]}

    def found(context: ToolContext, args: Args) -> dict[str, Any]:
        topic = str(args["topic"])
        return {"found": TEXTS[int(topic)].text if topic.isdecimal() else STAGES[topic]}

    return FunctionTool(ToolSpec("look_up", "Look something up.", schema), found)


def read_mail(workspace: Workspace, http: aiohttp.ClientSession) -> Tool:
    """A mail of the user's, as the mailbox has it."""
    schema = {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}

    async def read(context: ToolContext, args: Args) -> dict[str, Any]:
        token = workspace.tokens([READ_MAIL], account=ACCOUNTS[context.user])["access_token"]
        url = f"{workspace.url}/gmail/v1/users/me/messages/{args['id']}?format=full"
        async with http.get(url, headers={"Authorization": f"Bearer {token}"}) as answer:
            payload = (await answer.json())["payload"]
        body = base64.urlsafe_b64decode(payload["body"]["data"]).decode()
        return {"subject": next(h["value"] for h in payload["headers"] if h["name"] == "Subject"), "body": body}

    return FunctionTool(ToolSpec("read_mail", "Read a mail.", schema), read)


def _on_paper(world: World, module: Any) -> Tool:
    """A keyed tool with the schema, the arguments and the recipients of Google's. It writes down what it would send."""
    spec = ToolSpec(module.NAME, module.DESCRIPTION, module.SCHEMA, side_effect=True, repeat="keyed")
    tool = FunctionTool(
        spec, lambda context, args: "sent", prepare=module.prepare, subjects=module.subjects, preview=module.preview
    )
    return _noted(world, tool)


def _noted(world: World, tool: FunctionTool) -> Tool:
    def write(context: ToolContext, args: Args) -> str:
        with world.outbox.open("a") as file:
            file.write(json.dumps({"tool": tool.spec.name, "key": context.key, "args": args}) + "\n")
        return "sent"

    return FunctionTool(tool.spec, write, prepare=tool.prepare, subjects=tool.subjects, preview=tool.preview)


# Over HTTP.


@dataclass
class Scene:
    """A server whose users have connected their accounts, and the world that it could change."""

    site: Site
    world: World
    workspace: Workspace
    tools: Toolbox


@asynccontextmanager
async def scene(
    path: Path, model: Provider, *, rules: Sequence[Rule] = (), clock: Clock | None = None
) -> AsyncGenerator[Scene]:
    """A real server with Google's tools, the demonstration's, files, commands, and ways to read what others wrote."""
    world = World(path)
    async with run_workspace() as workspace, aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as http:
        bases = ("POLLUX_GMAIL_BASE_URL", "POLLUX_CALENDAR_BASE_URL", "POLLUX_GOOGLE_OAUTH_BASE_URL")
        environ = {**CLIENT, **dict.fromkeys(bases, workspace.url)}
        settings = settings_in(path, environ, requests_per_minute=1_000_000, burst=1_000_000)
        store = MemoryStore()
        async with google_of(settings, store) as google:
            assert google is not None
            tools = Toolbox(
                [
                    *google.tools,
                    _noted(world, demo_mail(path / "unused")),
                    *file_tools(Root(world.work)),
                    shell_tool(Runner(world.work, hidden=[settings.home])),
                    look_up(),
                    read_mail(workspace, http),
                ]
            )
            limits = Limits(model_calls=MODEL_CALLS)
            profiles = {"default": Profile(tools=tuple(tools), limits=limits)}
            engine = make_engine(store, Fixed(model), tools=tools.values(), profiles=profiles, rules=rules, clock=clock)
            app = application(
                settings, engine, authority_of(settings, known(TOKENS), store, clock=engine.clock), google=google
            )
            async with engine, listening(app, settings) as server:
                site = Site(server.url, engine, http, server, store)
                for name, account in ACCOUNTS.items():
                    await connect(site.person(name), workspace, account=account)
                world.workspace = workspace
                world.remember()
                yield Scene(site, world, workspace, tools)
                await engine.close()
                await http.close()


def deliver(workspace: Workspace, text: str) -> str:
    """A stranger's mail in ada's mailbox; its id."""
    message = EmailMessage(policy=SMTP)
    message["From"], message["To"], message["Subject"] = "eve@evil.example.org", ACCOUNTS["ada"], "Hello"
    message.set_content(text, cte="base64")
    box = workspace.accounts.mailbox(ACCOUNTS["ada"])
    id = f"{len(box.mails) + 1:016x}"
    raw = message.as_bytes()
    box.mails[id] = Mail(id, id, ("UNREAD", "INBOX"), raw, raw, 1_000_000.0, box.history + 1)
    return id
