"""A place of its own for commands about what is stored: a home, a directory, a store, and the program as a process."""

import io
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.waiting import HANG_SECONDS

from pollux import Agent, tool
from pollux.cli import main
from pollux.config import Settings, read_settings
from pollux.testing import call, reply, scripted

POLLUX = [sys.executable, "-W", "error", "-m", "pollux.cli"]
LEFT_OUT = ("GEMINI_", "GOOGLE_", "OPENAI_", "ANTHROPIC_", "POLLUX_", "XDG_")


@dataclass(frozen=True)
class Done:
    """What a command came to."""

    returncode: int
    stdout: str
    stderr: str


class Place:
    """One person's machine."""

    def __init__(self, path: Path) -> None:
        self.home = path / "home"
        self.cwd = path / "work"
        self.store = self.home / "data" / "pollux.db"
        for directory in (self.home, self.cwd):
            directory.mkdir()
        kept = {name: value for name, value in os.environ.items() if not name.startswith(LEFT_OUT)}
        self.environ = {**kept, "HOME": str(self.home), "POLLUX_HOME": str(self.store.parent)}

    def settings(self) -> Settings:
        return read_settings(self.environ, cwd=self.cwd)

    def pollux(self, *words: str) -> "Done":
        """The program in this process, in a thread of its own: a test may have an event loop running."""
        with ThreadPoolExecutor(1) as thread:
            return thread.submit(_done, list(words)).result(2 * HANG_SECONDS)

    def process(self, *words: str, **environ: str) -> "Done":
        """The program as a process, with nothing on its standard input."""
        done = subprocess.run(
            [*POLLUX, *words],
            capture_output=True,
            text=True,
            timeout=2 * HANG_SECONDS,
            cwd=self.cwd,
            env={**self.environ, **environ},
            stdin=subprocess.DEVNULL,
        )
        return Done(done.returncode, done.stdout, done.stderr)

    def data(self, *words: str) -> Any:
        """The JSON document that the program prints."""
        done = self.pollux(*words)
        assert (done.returncode, done.stderr) == (0, ""), done
        return json.loads(done.stdout)

    def agent(self, *steps: Any, **options: Any) -> Agent:
        """An agent in this directory whose model plays these steps."""
        given: dict[str, Any] = {"model": scripted(*steps), "cwd": self.cwd, "store": self.store, **options}
        return Agent("Be brief.", **given)

    async def said(self, *prompts: str) -> str:
        """A session in which these were asked and echoed; the result is its id."""
        async with self.agent(*(reply(f"re: {prompt}") for prompt in prompts)) as agent:
            for prompt in prompts:
                await agent.send(prompt)
        return agent.session_id

    async def waiting(self, args: dict[str, Any] | None = None, **options: Any) -> str:
        """A question of a script's agent that waits for an answer; the result is its id."""
        steps = (call("send", args or {"to": "bob@example.com"}), reply("Sent."))
        async with self.agent(*steps, tools=[send], on_approval="defer", **options) as agent:
            result = await agent.send("Mail Bob")
        return result.approvals[0].id


@tool(side_effect=True, subjects=lambda args: args["to"], preview=lambda args: f"Mail to {args['to']}")
def send(to: str) -> str:
    """Send a mail."""
    return "sent"


def _done(words: list[str]) -> Done:
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="\n") for _ in range(2))
    with redirect_stdout(out), redirect_stderr(err):
        try:
            code = main(words)
        except SystemExit as end:
            code = end.code
    texts: list[str] = []
    for stream in (out, err):
        stream.flush()
        texts.append(stream.buffer.getvalue().decode())
    assert isinstance(code, int)
    return Done(code, *texts)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    made = Place(tmp_path)
    for name in list(os.environ):
        if name.startswith(LEFT_OUT):
            monkeypatch.delenv(name)
    for name in ("HOME", "POLLUX_HOME"):
        monkeypatch.setenv(name, made.environ[name])
    monkeypatch.chdir(made.cwd)
    return made


__all__ = ["Done", "Place", "place", "send"]
