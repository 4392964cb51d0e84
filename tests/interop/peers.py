"""What the interop tests work with: the emulator as a real process, and the Gemini CLI as a real peer in a home of its
own. Everything is bounded in time; what cannot be had is said by `Missing`, and skips."""

import json
import os
import re
import select
import shutil
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, cast
from urllib.request import Request, urlopen

CLI_PACKAGE: Final = "@google/gemini-cli"
CLI_VERSION: Final = "0.61.0"
INSTALL_SECONDS: Final = 300
RUN_SECONDS: Final = 120
READY_SECONDS: Final = 30

SETTINGS: Final = {
    "security": {"auth": {"selectedType": "gemini-api-key"}},
    "privacy": {"usageStatisticsEnabled": False},
    "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
}


class Missing(Exception):
    """The peer cannot be had here; the text says why."""


@dataclass(frozen=True)
class Served:
    """An emulator in a process of its own."""

    url: str

    @property
    def requests(self) -> list[dict[str, Any]]:
        """Every request it has seen, oldest first."""
        with urlopen(f"{self.url}/_emulator/requests", timeout=10) as answer:
            return cast("list[dict[str, Any]]", json.load(answer))

    @property
    def turns(self) -> list[dict[str, Any]]:
        """The streamed requests: the conversation itself, without the client's own small questions."""
        return [request for request in self.requests if request["path"].endswith(":streamGenerateContent")]

    def clear(self) -> None:
        """Forget what was seen, and how often faults were given."""
        with urlopen(Request(f"{self.url}/_emulator/requests", method="DELETE"), timeout=10):
            pass


@contextmanager
def serving() -> Generator[Served]:
    """`pollux emulator gemini`, ended when the block is."""
    command = [sys.executable, "-m", "pollux.cli", "emulator", "gemini", "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        is_ready, _, _ = select.select([process.stdout], [], [], READY_SECONDS)
        assert is_ready, f"the emulator was not ready within {READY_SECONDS} s"
        yield Served(json.loads(process.stdout.readline())["url"])
    finally:
        process.terminate()
        try:
            process.wait(10)
        finally:
            process.kill()
            process.stdout.close()


@dataclass(frozen=True)
class Ran:
    """How one call of a command line ended."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[dict[str, Any]]:
        """Standard output as JSON lines."""
        return [json.loads(line) for line in self.out.splitlines()]

    def of(self, kind: str) -> list[dict[str, Any]]:
        """The lines of one type."""
        return [line for line in self.lines if line["type"] == kind]

    @property
    def said(self) -> str:
        """What the model said, from the lines."""
        return "".join(line["content"] for line in self.of("message") if line["role"] == "assistant")


@dataclass(frozen=True)
class GeminiCli:
    """The Gemini CLI with a home and a workspace of its own, talking to one emulator and to nobody else."""

    program: Path
    root: Path
    url: str

    @property
    def home(self) -> Path:
        return self.root / "home"

    @property
    def workspace(self) -> Path:
        return self.root / "workspace"

    def settle_in(self) -> None:
        """Make home, settings and workspace."""
        (self.home / ".gemini").mkdir(parents=True)
        (self.home / ".gemini/settings.json").write_text(json.dumps(SETTINGS))
        self.workspace.mkdir()

    def __call__(self, *arguments: str, key: str = "demo") -> Ran:
        """One call, within two minutes. What it leaves running is ended with it."""
        process = subprocess.Popen(
            [str(self.program), *arguments],
            cwd=self.workspace,
            env=self.environment(key),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        try:
            out, err = process.communicate(timeout=RUN_SECONDS)
        finally:
            _end_group(process)
        return Ran(process.returncode, out, err)

    @property
    def sessions(self) -> list[Path]:
        """The files in which it keeps its conversations."""
        return sorted((self.home / ".gemini/tmp").glob("*/chats/session-*.jsonl"))

    def environment(self, key: str) -> dict[str, str]:
        """What it is started with: its own home, and the one address it may ask."""
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "TMPDIR": str(self.root),
            "TERM": "dumb",
            "GEMINI_API_KEY": key,
            "GOOGLE_GEMINI_BASE_URL": self.url,
            "GEMINI_CLI_TRUST_WORKSPACE": "true",
        }


def installed_cli() -> Path:
    """The Gemini CLI's program, installed once into the virtual environment. Raises Missing."""
    place = Path(sys.prefix) / "interop" / f"gemini-cli-{CLI_VERSION}"
    program = place / "node_modules/.bin/gemini"
    if program.exists():
        return program
    npm = shutil.which("npm")
    if npm is None:
        raise Missing("npm is not installed")
    place.parent.mkdir(parents=True, exist_ok=True)
    # Made whole under another name: an installation that was broken off is not taken for one.
    with TemporaryDirectory(dir=place.parent) as draft:
        _install(npm, Path(draft))
        if not program.exists():
            shutil.rmtree(place, ignore_errors=True)
            shutil.copytree(draft, place, symlinks=True)
    return program


def _install(npm: str, place: Path) -> None:
    command = [npm, "install", "--no-fund", "--no-audit", "--ignore-scripts", "--prefix", str(place)]
    try:
        subprocess.run(
            [*command, f"{CLI_PACKAGE}@{CLI_VERSION}"],
            check=True,
            capture_output=True,
            text=True,
            timeout=INSTALL_SECONDS,
        )
    except subprocess.TimeoutExpired as problem:
        raise Missing(f"npm did not finish within {INSTALL_SECONDS} s") from problem
    except subprocess.CalledProcessError as problem:
        code = re.search(r"code (E\w+)", problem.stderr)
        raise Missing(f"npm could not install {CLI_PACKAGE} ({code[1] if code else problem.returncode})") from problem


def _end_group(process: subprocess.Popen[str]) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait(10)
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            stream.close()
