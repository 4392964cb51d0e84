"""`pollux serve` in a process of its own, which can be killed as a crash or a lost machine would."""

import asyncio
import ctypes
import json
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from pollux.cli.demo.caller import Unexpected

START_SECONDS: Final = 30.0
STOP_SECONDS: Final = 30.0
PRIVATE: Final = ("POLLUX_", "GEMINI_", "GOOGLE_", "ANTHROPIC_", "OPENAI_", "OLLAMA_")
"""Keys and settings of whoever starts the tour: it needs none, and touches nothing of theirs."""

_PR_SET_PDEATHSIG: Final = 1
# Found before anything forks: a child that is not yet itself should load nothing.
_LIBC: Final = ctypes.CDLL(None)


class Server:
    """One life of the server."""

    def __init__(self, process: Process, url: str, log: Path) -> None:
        self._process = process
        self.url = url
        self.log = log

    @property
    def pid(self) -> int:
        return self._process.pid

    async def kill(self) -> int:
        """As `kill -9` does; gives the exit code, -9 if that is what ended it."""
        if self._process.returncode is None:
            self._process.kill()
        return await self._process.wait()

    async def stop(self) -> int:
        """As an operator does. Raises Unexpected where it does not end."""
        self._process.terminate()
        try:
            return await asyncio.wait_for(self._process.wait(), STOP_SECONDS)
        except TimeoutError:
            raise Unexpected(f"the server did not end within {STOP_SECONDS:.0f} s of SIGTERM") from None


async def start(place: Path, environ: Mapping[str, str]) -> Server:
    """A server that answers. Raises Unexpected."""
    log = place / "serve.log"
    with log.open("ab") as talk:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "pollux.cli", "serve", "--port", "0",
            stdin=DEVNULL, stdout=PIPE, stderr=talk, cwd=place, env=environ, preexec_fn=_end_with_us,
        )  # fmt: skip
    assert process.stdout is not None
    try:
        line = await asyncio.wait_for(process.stdout.readline(), START_SECONDS)
        return Server(process, json.loads(line)["url"], log)
    except BaseException as problem:
        if process.returncode is None:
            process.kill()
        await process.wait()
        if isinstance(problem, TimeoutError | ValueError):
            raise Unexpected(f"the server did not start: {last_words(log)}") from None
        raise


def _end_with_us() -> None:
    """In the child: die with whoever plays the tour, also of a kill -9. Only Linux has a word for that."""
    if sys.platform == "linux":
        _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def environment(place: Path, *, model: str, workspace: str | None) -> dict[str, str]:
    """What an operator would set: where the state lies, which model, which mailbox."""
    config = place / "tour.toml"
    config.write_text(f'[profiles.default]\ntools = ["{"gmail_send" if workspace else "demo_mail"}"]\n')
    kept = {name: value for name, value in os.environ.items() if not name.startswith(PRIVATE)}
    # All of it is on this machine: no proxy has any business with it.
    kept = {name: value for name, value in kept.items() if not name.lower().endswith("_proxy")}
    own = {
        "POLLUX_HOME": str(place / "home"),
        "POLLUX_CONFIG": str(config),
        "GEMINI_API_KEY": "demo",
        "GOOGLE_GEMINI_BASE_URL": model,
    }
    if workspace is None:
        return kept | own
    google = {f"POLLUX_{name}_BASE_URL": workspace for name in ("GMAIL", "CALENDAR", "GOOGLE_OAUTH")}
    return kept | own | google | {"POLLUX_GOOGLE_CLIENT_ID": "demo", "POLLUX_GOOGLE_CLIENT_SECRET": "demo"}


def last_words(log: Path) -> str:
    """The end of the server's log, in one line: what it complained of last, where it did."""
    lines = log.read_text(errors="replace").splitlines() if log.exists() else []
    complaints = [line for line in lines if " INFO " not in line and line.strip()]
    return [*lines, *complaints][-1][:300] if lines else "nothing"
