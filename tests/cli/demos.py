"""A demo in a process of its own, that waits for words: what it says, where its links lead, and its end."""

import asyncio
import os
import re
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
from tests.waiting import HANG_SECONDS

POLLUX = [sys.executable, "-W", "error", "-m", "pollux.cli"]
PATIENCE = 3 * HANG_SECONDS
"""Longer than the minute that the tour gives itself."""
LINK = re.compile(r"^  (console|shop|outbox)  +(\S+)$", re.MULTILINE)
PROMPT = re.compile(r"^  (\w+ \S.*)$", re.MULTILINE)
MAIL = "send an email to bob@example.com saying the report is ready\n"


def demo(words: str, *options: str, cwd: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    """A demo that is told everything at once."""
    return subprocess.run(
        [*POLLUX, "demo", *(options or ("--port", "0"))],
        input=words, capture_output=True, text=True, timeout=PATIENCE, cwd=cwd, env=environment(cwd, **environ),
    )  # fmt: skip


@dataclass
class Running:
    """A demo, and what it has said so far."""

    process: asyncio.subprocess.Process
    told: str = ""

    async def hears(self, text: str) -> str:
        """Until it has said this; gives all that it has said."""
        assert self.process.stdout is not None
        async with asyncio.timeout(PATIENCE):
            while text not in self.told:
                more = await self.process.stdout.read(65_536)
                assert more, f"{text!r} was never said:\n{self.told}"
                self.told += more.decode()
        return self.told

    async def answers(self, text: str) -> None:
        """Until it has said this and asks for the next line: then its run has ended."""
        await self.hears(text)
        assert self.process.stdout is not None
        async with asyncio.timeout(PATIENCE):
            while "you> " not in self.told.rpartition(text)[2]:
                self.told += (await self.process.stdout.read(65_536)).decode()

    def says(self, words: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(words.encode())

    @property
    def links(self) -> dict[str, str]:
        return dict(LINK.findall(self.told))

    @property
    def url(self) -> str:
        return self.links["console"].partition("/login")[0]

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.links['console'].partition('token=')[2]}"}

    async def call(self, method: str, path: str, body: object = None) -> Any:
        """As whoever has the token in the link to the console."""
        async with (
            aiohttp.ClientSession(headers=self.headers) as http,
            http.request(method, self.url + path, json=body) as answer,
        ):
            assert answer.ok, await answer.text()
            return await answer.json()

    async def ends(self, number: signal.Signals, *, seconds: float = PATIENCE) -> tuple[int, str]:
        """Its exit code after a signal, and what it complained about."""
        assert self.process.stderr is not None
        self.process.send_signal(number)
        async with asyncio.timeout(seconds):
            # Its standard input stays open until it has gone: the end of that would end it as well.
            return await self.process.wait(), (await self.process.stderr.read()).decode()


@asynccontextmanager
async def running(cwd: Path, *options: str, program: Sequence[str] = POLLUX, **environ: str) -> AsyncGenerator[Running]:
    """A demo that waits for words, ended with the block if it has not ended before."""
    process = await asyncio.create_subprocess_exec(
        *program, "demo", *(options or ("--port", "0")),
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=cwd,
        env=environment(cwd, **environ),
        # Whoever runs the tests in the background has it ignored, and children inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip
    try:
        yield Running(process)
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


def environment(cwd: Path, **environ: str) -> dict[str, str]:
    """Without the keys of whoever runs the tests, and with a place for what is to be gone afterwards."""
    private = ("GEMINI_", "GOOGLE_", "POLLUX_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(private)}
    leftovers(cwd).mkdir(exist_ok=True)
    return kept | {"TMPDIR": str(leftovers(cwd))} | environ


def leftovers(cwd: Path) -> Path:
    """Where temporary folders are made."""
    return cwd / "temporary"


def survivors(cwd: Path) -> list[int]:
    """Processes that run in a temporary folder which was made there, even if it is gone."""
    found: list[int] = []
    for link in Path("/proc").glob("[0-9]*/cwd"):
        try:
            if os.readlink(link).startswith(str(leftovers(cwd))):
                found.append(int(link.parent.name))
        except OSError:
            # It has ended meanwhile, or is somebody else's.
            continue
    return found
