"""Chats for tests: the real program, a directory and a home of its own, and an emulator for a model."""

import asyncio
import os
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tests.cli.terminal import Terminal
from tests.waiting import HANG_SECONDS

from pollux.emulator import Emulator

POLLUX: Final = [sys.executable, "-W", "error", "-m", "pollux.cli", "chat"]
PASSED_ON: Final = ("PATH", "COVERAGE_PROCESS_START")


@dataclass(frozen=True)
class Done:
    """A chat that was held through pipes."""

    code: int
    out: str
    talk: str


class Place:
    """Where chats are held."""

    def __init__(self, path: Path, emulator: Emulator) -> None:
        self.emulator = emulator
        self.home = path / "home"
        self.work = path / "work"
        self.work.mkdir()
        self.home.mkdir()
        self.env: dict[str, str] = {
            **{name: os.environ[name] for name in PASSED_ON if name in os.environ},
            "HOME": str(self.home),
            "POLLUX_HOME": str(self.home / "pollux"),
            "GEMINI_API_KEY": "demo-key-of-the-tests",
            "GOOGLE_GEMINI_BASE_URL": emulator.url,
            "LANG": "C.UTF-8",
            "TERM": "xterm-256color",
        }

    @asynccontextmanager
    async def terminal(
        self, *options: str, columns: int = 80, env: Mapping[str, str] | None = None, into: str = "/dev/tty"
    ) -> AsyncGenerator[Terminal]:
        """A chat at a terminal; its answers may go elsewhere."""
        command = ["sh", "-c", 'into=$0; exec "$@" > "$into"', into, *POLLUX, *options]
        terminal = Terminal(command, cwd=self.work, env={**self.env, **(env or {})}, columns=columns)
        try:
            yield terminal
        finally:
            terminal.close()

    async def piped(self, words: str, *options: str, env: Mapping[str, str] | None = None) -> Done:
        """A chat through pipes, to its end."""
        process = await asyncio.create_subprocess_exec(
            *POLLUX,
            *options,
            cwd=self.work,
            env={**self.env, **(env or {})},
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        try:
            async with asyncio.timeout(2 * HANG_SECONDS):
                out, talk = await process.communicate(words.encode())
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        assert process.returncode is not None
        return Done(process.returncode, out.decode(), talk.decode())

    @property
    def prompts(self) -> list[str]:
        """The last words of the user in each request that the model was sent."""
        bodies: list[Any] = [request.body for request in self.emulator.requests if request.method == "POST"]
        return [body["contents"][-1]["parts"][-1].get("text", "") for body in bodies]
