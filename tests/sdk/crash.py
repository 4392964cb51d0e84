"""Scripts that are killed, and what they have done to the world by then.

`run_and_kill` kills one right after a mail has gone out, before anybody could write down that it had. A `Script` is
killed wherever it is told to be: around a commit or an effect, or inside the n-th sync of a file. Run once more, it
does what its author would have it do: it finds its session, answers what still waits, and goes on.
"""

import asyncio
import ctypes
import multiprocessing
import os
import signal
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.crash.lab import STRACE
from tests.crash.outside import CLASSES, FAULTS, Fault, Outside
from tests.crash.worker import NO_ARGUMENTS, PR_SET_PTRACER, PR_SET_PTRACER_ANY, Job, faulty_store
from tests.waiting import HANG_SECONDS, block_until

from pollux import Agent, Reconciled, ToolContext, tool
from pollux.core.errors import NotFound, SessionNotFound
from pollux.core.messages import JSON, Message
from pollux.core.tools import Repeat
from pollux.engine.model import ModelRequest
from pollux.engine.ports import Store
from pollux.sdk.result import Result, RunFailed
from pollux.testing import Answer, call, calls, reply, scripted

PATIENCE = 2 * HANG_SECONDS
SYNCS = "fsync,fdatasync"
HARMLESS = "getppid"


def mail_tool(outbox: Path):
    """A tool whose provider takes our key: the same mail is sent once, however often it is asked for."""

    @tool(side_effect=True, repeat="keyed")
    def mail(to: str, context: ToolContext) -> str:
        """Send a mail."""
        sent = outbox.read_text().splitlines() if outbox.exists() else []
        if context.key not in sent:
            with outbox.open("a") as file:
                file.write(context.key + "\n")
        if "deadly" in sys.argv:
            os.kill(os.getpid(), signal.SIGKILL)
        return "sent"

    return mail


def run_and_kill(cwd: Path, outbox: Path) -> str:
    """Start the process, let it be killed, and return its session's id."""
    found = subprocess.run(
        [sys.executable, "-m", "tests.sdk.crash", str(cwd), str(outbox), "deadly"],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert found.returncode == -signal.SIGKILL, found.stderr
    return found.stdout.strip()


async def main(cwd: str, outbox: str, *how: str) -> None:
    model = scripted(call("mail", {"to": "bob@example.com"}))
    tools = [mail_tool(Path(outbox))]
    async with Agent("Mail.", model=model, cwd=cwd, tools=tools, on_approval=lambda asked: True) as agent:
        sys.stdout.write(agent.session_id + "\n")
        sys.stdout.flush()
        await agent.send("Mail Bob")


@dataclass(frozen=True)
class Script:
    """A script in a directory of its own. Its story `keyed+once;keyed` makes two calls, then one."""

    directory: Path
    story: str
    defers: bool = True
    """Whether its questions are answered afterwards, or by its `on_approval`."""
    fault: Fault = field(default_factory=Fault)
    sync: int = 0
    """The number of the sync in which it is killed."""

    @property
    def outside(self) -> Outside:
        return Outside(self.directory)

    def store(self) -> Store:
        directory = str(self.directory)
        return faulty_store(Job(id=0, mode="script", home=directory, outside=directory), self.fault)

    async def run(self) -> None:
        """Ask, unless that was done before; then go on until there is nothing to go on with."""
        begun = self.outside.notes("session")
        try:
            await self._talk(begun[-1]["id"] if begun else None)
        except SessionNotFound:
            # What was never accepted may be asked once more.
            assert not self.outside.notes("accepted"), "a prompt was accepted, but its session is not there"
            await self._talk(None)

    async def _talk(self, session_id: str | None) -> None:
        outside = self.outside
        options: dict[str, Any] = {"cwd": self.directory / "work", "store": self.store(), "session_id": session_id}
        async with Agent(
            "Act.",
            model=scripted(*[_next_turn] * 100),
            tools=make_tools(outside, self.fault),
            on_approval="defer" if self.defers else lambda asked: True,
            **options,
        ) as agent:
            outside.note("session", id=agent.session_id)
            try:
                result = await (agent.resume() if await agent.history() else agent.send(self.story))
                outside.note("accepted")
                while result.approvals:
                    result = await self._answered(agent, result)
            except RunFailed as failure:
                outside.note("failed", code=failure.code)
            except NotFound as nothing:
                if nothing.code != "nothing_open":
                    raise
                # It had come to its end before.

    async def _answered(self, agent: Agent, result: Result[None]) -> Result[None]:
        for asked in result.approvals:
            assert not self.outside.has("answered", id=asked.id), f"{asked.id} was answered, but is asked again"
            await agent.answer(asked, True)
            self.outside.note("answered", id=asked.id)
        return await agent.resume()


@dataclass(frozen=True)
class Told:
    """What is left of a script that has ended: what was said in its session, and what is wrong with the audit."""

    messages: tuple[Message, ...]
    audit_problems: tuple[str, ...]


async def told_by(script: Script) -> Told:
    """Look into the session of the script."""
    store = script.store()
    session_id = script.outside.notes("session")[-1]["id"]
    async with Agent(model=scripted(), cwd=script.directory / "work", store=store, session_id=session_id) as agent:
        report = await store.verify_audit()
        return Told(tuple(await agent.history()), tuple(str(problem) for problem in report.problems))


def make_tools(outside: Outside, fault: Fault) -> list[Any]:
    """One tool of each class, named after it; and one that breaks its promise, to see that it is noticed."""
    FAULTS[outside.directory] = fault

    def act(context: ToolContext, *, is_keyed: bool = False) -> str:
        outside.note("attempts", key=context.key)
        FAULTS[outside.directory].reach("effect:before")
        if not (is_keyed and outside.has("effects", key=context.key)):
            outside.note("effects", key=context.key)
        FAULTS[outside.directory].reach("effect:after")
        return context.key

    def look(context: ToolContext, args: dict[str, JSON]) -> Reconciled:
        is_done = outside.has("effects", key=context.key)
        return Reconciled("done", context.key) if is_done else Reconciled("not_done")

    def make(name: str, repeat: Repeat) -> Any:
        def run(context: ToolContext) -> str:
            """Act."""
            return act(context, is_keyed=name == "keyed")

        checks: dict[str, Any] = {"reconcile": look} if repeat == "checkable" else {}
        return tool(name=name, side_effect=True, repeat=repeat, **checks)(run)

    return [*(make(repeat, repeat) for repeat in CLASSES), make("careless", "keyed")]


def run_process(script: Script) -> int:
    """The exit code of the script in a process of its own, negative for a signal."""
    (script.directory / "work").mkdir(parents=True, exist_ok=True)
    process = _nursery.Process(target=_work, args=(script,), daemon=True)
    process.start()
    process.join(PATIENCE)
    if process.exitcode is None:
        process.kill()
        process.join()
        raise TimeoutError(f"the script did not end: {log_of(script)}")
    code = process.exitcode
    process.close()
    return code


def log_of(script: Script) -> str:
    """What it said, for those who wonder."""
    path = script.directory / "log"
    return path.read_text(errors="replace")[-4_000:] if path.exists() else ""


async def _next_turn(request: ModelRequest) -> Answer:
    """By what is in the session: another process goes on with the right next reply."""
    prompt = next(message.text for message in request.turns if message.role == "user")
    answered = sum(message.role == "tool" for message in request.turns)
    turns = prompt.split(";")
    if answered == len(turns):
        return reply("All done.")
    return calls(*((name, NO_ARGUMENTS) for name in turns[answered].split("+")))


def _work(script: Script) -> None:
    log = os.open(script.directory / "log", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.dup2(log, 1)
    os.dup2(log, 2)
    for name in ("HOME", "POLLUX_HOME"):
        os.environ[name] = str(script.directory / "home")
    if script.sync:
        _be_traced(script.sync, script.directory)
    asyncio.run(asyncio.wait_for(script.run(), PATIENCE))


def _be_traced(number: int, directory: Path) -> None:
    """From here on the n-th sync is the last thing that this process does."""
    assert STRACE is not None
    ctypes.CDLL(None).prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0)
    inject = f"inject={SYNCS}:signal=SIGKILL:when={number}"
    seen = directory / "traced"
    words = ["-f", "-qq", "-o", str(seen), "-e", f"trace={SYNCS},{HARMLESS}", "-e", inject, "-p", str(os.getpid())]
    tracer = subprocess.Popen([STRACE, *words], stdin=subprocess.DEVNULL)

    def is_armed() -> bool:
        assert tracer.poll() is None, "nobody came to trace this process"
        os.getppid()
        return seen.exists() and HARMLESS in seen.read_text()

    # Attached is not yet armed. From the first call on that it has seen, it sees them all.
    block_until(is_armed)


# It forks a process for each script, so that many can be killed in little time. What a script imports is imported there
# once; so is what began the tests, which every child would load again.
_nursery = multiprocessing.get_context("forkserver")
_nursery.set_forkserver_preload(["pytest", __name__])

if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
