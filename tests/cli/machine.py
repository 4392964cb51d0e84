"""A person's machine for tests of the program: a home and a folder of their own, no key, nobody else's settings."""

import json
import os
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.waiting import HANG_SECONDS

POLLUX = [sys.executable, "-W", "error", "-m", "pollux.cli"]
FOREIGN = ("GEMINI_", "GOOGLE_", "OPENAI_", "ANTHROPIC_", "OLLAMA_", "POLLUX_", "XDG_")
PROXIES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")


class Machine:
    """Runs the program as its user does, in this environment."""

    def __init__(self, path: Path, **environ: str) -> None:
        self.home = path / "home"
        self.cwd = path / "work"
        for folder in (self.home, self.cwd):
            folder.mkdir(parents=True)
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(FOREIGN) and name.lower() not in PROXIES
        }
        self.environ = {**kept, "HOME": str(self.home), "POLLUX_HOME": str(self.home / "pollux"), **environ}

    def run(self, *words: str, said: str = "") -> subprocess.CompletedProcess[str]:
        """The real program."""
        return subprocess.run(
            [*POLLUX, *words],
            input=said,
            capture_output=True,
            text=True,
            timeout=2 * HANG_SECONDS,
            cwd=self.cwd,
            env=self.environ,
        )

    def told(self, *words: str, code: int = 0) -> Any:
        """The JSON that the program prints."""
        done = self.run(*words)
        assert (done.returncode, done.stderr) == (code, ""), done
        return json.loads(done.stdout)


@contextmanager
def emulator() -> Generator[str]:
    """Where a model listens, in a process of its own."""
    command = [sys.executable, "-m", "pollux.emulator", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield json.loads(process.stdout.readline())["url"]
        finally:
            # Also after a test that failed: the block around us waits for its end.
            process.terminate()
            process.wait(HANG_SECONDS)
