"""What the tests of agents work with: a client that notes everything, and a way to talk with a scripted agent."""

import asyncio
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from tests.waiting import HANG_SECONDS, until

from pollux.acp import (
    AgentCommand,
    AgentFailed,
    Answer,
    Capabilities,
    Decision,
    PermissionRequest,
    Terminal,
    TerminalExit,
    TerminalOutput,
    Update,
    converse,
)

AGENTS: Final = Path(__file__).parent / "agents"
ALL: Final = Capabilities(read_files=True, write_files=True, terminal=True)


class Notes:
    """A client that decides as it was told to, and keeps what it was told. None decides never."""

    def __init__(self, decision: Decision | None = "allow_once", files: Mapping[str, str] | None = None) -> None:
        self.decision: Decision | None = decision
        self.files = dict(files or {})
        self.updates: list[Update] = []
        self.requests: list[PermissionRequest] = []
        self.terminals: list[FakeTerminal] = []
        self.reads: list[tuple[str, int | None, int | None]] = []
        self.cancelled = 0
        self.asked = asyncio.Event()
        self.told = asyncio.Event()

    async def permission(self, request: PermissionRequest) -> Decision:
        self.requests.append(request)
        self.asked.set()
        if self.decision is not None:
            return self.decision
        try:
            return await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise

    async def read_text_file(self, path: str, line: int | None, limit: int | None) -> str:
        self.reads.append((path, line, limit))
        if path not in self.files:
            raise FileNotFoundError(path)
        return self.files[path]

    async def write_text_file(self, path: str, content: str) -> None:
        self.files[path] = content

    async def terminal(
        self,
        command: str,
        args: tuple[str, ...],
        env: Mapping[str, str],
        cwd: str | None,
        output_byte_limit: int | None,
    ) -> Terminal:
        terminal = FakeTerminal((command, args, dict(env), cwd, output_byte_limit))
        self.terminals.append(terminal)
        return terminal

    async def update(self, update: Update) -> None:
        self.updates.append(update)
        self.told.set()


class FakeTerminal:
    def __init__(self, made: tuple[Any, ...]) -> None:
        self.made = made
        self.done: list[str] = []

    async def output(self) -> TerminalOutput:
        return TerminalOutput("out", is_truncated=True, exit=TerminalExit(code=3))

    async def wait(self) -> TerminalExit:
        return TerminalExit(signal="SIGTERM")

    async def kill(self) -> None:
        self.done.append("kill")

    async def release(self) -> None:
        self.done.append("release")


def scripted(*words: str, env: Mapping[str, str] | None = None, cwd: str = "/") -> AgentCommand:
    # -S and -E: it starts in a third of the time, and nothing of ours reaches it.
    return AgentCommand((sys.executable, "-I", "-S", str(AGENTS / "scripted.py"), *words), dict(env or {}), cwd)


async def talk(
    *words: str, client: Notes | None = None, env: Mapping[str, str] | None = None, **options: Any
) -> Answer:
    """With a scripted agent. Whatever happens, it happens within a minute."""
    settings: dict[str, Any] = {"prompt": "hi", "capabilities": ALL, "timeout": HANG_SECONDS}
    async with asyncio.timeout(60):
        return await converse(scripted(*words, env=env), client=client or Notes(), **(settings | options))


async def failure(*words: str, **options: Any) -> AgentFailed:
    """How talking with a scripted agent fails."""
    try:
        answer = await talk(*words, **options)
    except AgentFailed as failed:
        return failed
    raise AssertionError(f"there was an answer: {answer}")


def heard(log: Path) -> list[dict[str, Any]]:
    """What the agent was told, from the file that it noted it in."""
    return [json.loads(line) for line in log.read_bytes().splitlines()]


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


async def all_closed(before: int) -> None:
    """Wait until no more is open than there was."""
    await until(lambda: descriptors() <= before)
