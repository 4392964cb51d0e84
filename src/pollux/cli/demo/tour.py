"""The tour: a mail that is asked about, approved and sent exactly once, though its server is killed twice meanwhile.

Everything is real but the model and the mailbox: `pollux serve` in a process of its own, HTTP, a journal on the disk,
`kill -9`. Every line that is printed was checked; where one does not hold, the tour ends there, with exit code 1.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, cast

from pollux.cli.demo.caller import Caller, Unexpected, calling
from pollux.cli.demo.place import has_google
from pollux.cli.demo.post import Gmail, Outbox, Post, until
from pollux.cli.demo.process import Server, environment, last_words, start
from pollux.cli.shown import shown
from pollux.core.errors import PolluxError
from pollux.emulator import run_emulator
from pollux.emulator.workspace import Workspace, run_workspace

PROMPT: Final = "send an email to bob@example.com saying the report is ready"
BOB: Final = ["bob@example.com"]
LONGEST: Final = 60.0
COLUMNS: Final = 100


@dataclass
class Teller:
    """Prints what happens, when it happened."""

    say: Callable[[str], None] = lambda text: print(text, flush=True)
    began: float = field(default_factory=time.monotonic)
    step: str = "start"

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.began

    def __call__(self, step: str, *lines: str) -> None:
        self.step = step
        first, *rest = [shown(line, lines=False) for line in lines]
        self._line(f"{self.seconds:5.1f} s  {step:<9} {first}")
        for line in rest:
            self._line(f"{'':19}{line}")

    def _line(self, text: str) -> None:
        self.say(text if len(text) <= COLUMNS else f"{text[: COLUMNS - 1]}…")


@dataclass
class World:
    """What outlives the servers: the model, the mailbox, and the folder in which the journal lies."""

    place: Path
    environ: dict[str, str]
    post: Post
    workspace: Workspace | None

    @asynccontextmanager
    async def life(self) -> AsyncGenerator[tuple[Server, Caller]]:
        """A server, and somebody who talks to it. However the block ends, the process does not outlive it."""
        server = await start(self.place, self.environ)
        try:
            async with calling(server.url, self.place / "home") as caller:
                yield server, caller
        finally:
            await server.kill()


@asynccontextmanager
async def world_in(place: Path) -> AsyncGenerator[World]:
    """A model and a mailbox, and a folder for the rest."""
    async with AsyncExitStack() as stack:
        model = await stack.enter_async_context(run_emulator())
        workspace = await stack.enter_async_context(run_workspace()) if has_google() else None
        environ = environment(place, model=model.url, workspace=workspace.url if workspace else None)
        post: Post = Gmail(workspace) if workspace else Outbox(place / "home" / "outbox.jsonl")
        yield World(place, environ, post, workspace)


Worlds = Callable[[Path], AbstractAsyncContextManager[World]]


async def play(place: Path, tell: Teller | None = None, worlds: Worlds = world_in) -> int:
    """Play it once. The result is the exit code: 0 only where every step was seen to hold."""
    tell = tell or Teller()
    tell.say("")
    try:
        async with asyncio.timeout(LONGEST), worlds(place) as world:
            await story(world, tell)
    except TimeoutError:
        return _failed(tell, place, f"it took longer than {LONGEST:.0f} s")
    except PolluxError as problem:
        return _failed(tell, place, str(problem))
    tell.say("")
    tell.say(f"Every step was checked, in {tell.seconds:.1f} s. Now try it yourself: pollux demo")
    return 0


async def story(world: World, tell: Teller) -> None:
    """The three lives of a server, and the one mail. Raises Unexpected where it goes otherwise."""
    async with world.life() as (server, caller):
        if world.workspace is not None:
            await caller.connect(world.workspace)
        tell("start", f"pollux serve, process {server.pid}")
        run, approval = await _asked(world, caller, tell)
        await _killed(server, tell, "the server is gone, with the question open")

    async with world.life() as (server, caller):
        tell("restart", f"pollux serve, process {server.pid}")
        await _still_asked(world, caller, approval, tell)
        with world.post.held():
            await caller.answer(approval, "approve_once", query="?wait=0")
            tell("approve", "yes, once, to exactly these arguments")
            await world.post.stuck(caller, run["runId"])
            await _killed(server, tell, f"at the worst moment: {world.post.moment}")

    async with world.life() as (server, caller):
        tell("restart", f"pollux serve, process {server.pid}; nobody asks for anything, it goes on by itself")
        await _completed(world, caller, run["runId"], tell)
        await _said_twice(caller, approval, tell)
        await _audited(caller, approval, tell)
        code = await server.stop()
        check(code == 0, "the server to end with 0 after SIGTERM", code)
    # With nothing left that could send another one.
    check(world.post.sent() == [BOB], f"one mail to {BOB[0]}", world.post.sent())
    tell("sent", f"exactly once: 1 mail in {world.post.name}, to {BOB[0]}")


async def _asked(world: World, caller: Caller, tell: Teller) -> tuple[dict[str, Any], dict[str, Any]]:
    run = await caller.ask(PROMPT)
    tell("ask", f'"{PROMPT}"')
    check(run["state"] == "awaiting_confirmation", "the run to wait for a person", run["state"])
    check(len(run["approvals"]) == 1, "one question", len(run["approvals"]))
    [approval] = run["approvals"]
    check(approval["tool"] == world.post.tool, f"a question about {world.post.tool}", approval["tool"])
    check(approval["subjects"] == BOB, "Bob to be the recipient", approval["subjects"])
    check(world.post.sent() == [], "nothing to be sent before somebody says yes", world.post.sent())
    arguments = [f"  {name}: {_short(value)}" for name, value in approval["args"].items()]
    tell("approval", f"{approval['tool']} waits: {approval['reason']}", *arguments, "sent so far: 0")
    return run, approval


async def _killed(server: Server, tell: Teller, what: str) -> None:
    code = await server.kill()
    check(code == -9, "the server to be killed by signal 9", code)
    tell("kill -9", what)


async def _still_asked(world: World, caller: Caller, approval: dict[str, Any], tell: Teller) -> None:
    items = (await caller.get("/api/agent/approvals/pending"))["items"]
    check(len(items) == 1, "one question to wait", len(items))
    for name in ("id", "args", "argsHash", "expiresAt"):
        check(items[0][name] == approval[name], f"the same {name} as before", items[0][name])
    check(world.post.sent() == [], "nothing to be sent meanwhile", world.post.sent())
    tell("approval", f"still there, the same arguments, SHA-256 {_digest(approval['argsHash'])}; sent so far: 0")


async def _completed(world: World, caller: Caller, run_id: str, tell: Teller) -> None:
    async def has_ended() -> bool:
        return (await caller.get(f"/api/agent/runs/{run_id}"))["state"] not in ("planning", "executing", "queued")

    await until(has_ended, "the run to end")
    run = await caller.get(f"/api/agent/runs/{run_id}")
    check(run["state"] == "completed", "the run to be completed", f"{run['state']}: {run['summary']}")
    check([action["state"] for action in run["actions"]] == ["completed"], "one completed action", run["actions"])
    events = tuple(name for name in await caller.journal(run_id) if name.startswith("Action"))
    check(events == world.post.events, f"the journal to tell {world.post.events} of the mail", events)
    tell("recover", f"{world.post.mended}; the run is completed")


async def _said_twice(caller: Caller, approval: dict[str, Any], tell: Teller) -> None:
    refused = await caller.answer(approval, "approve_once", expect=409)
    code = refused["error"]["code"]
    check(code == "already_resolved", "a second yes to be refused as already_resolved", code)
    tell("approve", "a second yes is refused: already_resolved")


async def _audited(caller: Caller, approval: dict[str, Any], tell: Teller) -> None:
    verified = await caller.get("/api/agent/audit/verify")
    check(verified["valid"], "the audit to be whole", "; ".join(verified["problems"]))
    entries = (await caller.get("/api/agent/audit?limit=100"))["items"]
    done = [each for each in entries if each["approvalId"] == approval["id"] and each["executionStatus"] == "completed"]
    check(len(done) == 1, "one entry that says it was done", len(done))
    tell("audit", f"verified: {verified['entries']} entries, chain whole, head {_digest(verified['head'])}")


def check(holds: bool, expected: str, found: object) -> None:
    """Raises Unexpected where it does not hold."""
    if not holds:
        raise Unexpected(f"expected {expected}, found {found}")


def _failed(tell: Teller, place: Path, why: str) -> int:
    tell.say("")
    tell.say(f"FAILED after `{tell.step}`: {shown(why, lines=False)}")
    tell.say(f"the server's last words: {shown(last_words(place / 'serve.log'), lines=False)}")
    return 1


def _short(value: object) -> str:
    text = ", ".join(map(str, cast("list[object]", value))) if isinstance(value, list) else str(value)
    return text if len(text) <= 60 else f"{text[:59]}…"


def _digest(value: str) -> str:
    return f"{value.rpartition(':')[2][:8]}…"
