"""`pollux` as tests start it: as a process of its own, or forked from one that is warm."""

import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import jsonschema_rs
from tests.waiting import HANG_SECONDS

from pollux.wire.lines import schema_of

T = TypeVar("T")

POLLUX = (sys.executable, "-W", "error", "-m", "pollux.cli")
FORMATS = ("text", "json", "stream-json", "gemini-stream-json")
PATIENCE = 2 * HANG_SECONDS
DEADLINES = (2, 8, 40)
"""Of a run that is to run out of time, but not before something was seen: on a busy machine one of them is enough."""
ABREAST = 32
"""How many programs run at a time. Most of them wait most of the time."""
ABREAST_SECONDS = 8 * HANG_SECONDS
"""How long one of many may take: it shares the machine with the others."""

_LEFT_OUT = ("GEMINI_", "GOOGLE_", "OPENAI_", "ANTHROPIC_", "OLLAMA_", "POLLUX_", "XDG_", "PYTHON", "COV_", "LC_")
_VALIDATORS = {name: jsonschema_rs.validator_for(schema_of(name)) for name in FORMATS}


@dataclass(frozen=True)
class Ended:
    """What became of a run of the program."""

    words: tuple[str, ...]
    code: int
    stdout: bytes
    stderr: bytes

    @property
    def talk(self) -> str:
        return self.stderr.decode("utf-8", "replace")

    @property
    def text(self) -> str:
        return self.stdout.decode()

    def lines(self, format_: str) -> list[dict[str, Any]]:
        """Every line of standard output, each of them one that the published schema allows."""
        assert not self.stdout or self.stdout.endswith(b"\n"), self
        lines = [json.loads(line) for line in self.stdout.split(b"\n")[:-1]]
        for line in lines:
            assert _VALIDATORS[format_].is_valid(line), (line, self.words)
        return lines

    def last(self, format_: str) -> dict[str, Any]:
        """The last line; the program wrote at least one."""
        lines = self.lines(format_)
        assert lines, self
        return lines[-1]


class Place:
    """One person's machine: a home, a directory, a store, and the variables that lead there."""

    def __init__(self, path: Path, **environ: str) -> None:
        self.path = path
        self.home = path / "home"
        self.cwd = path / "work"
        for directory in (self.home, self.cwd):
            directory.mkdir(parents=True, exist_ok=True)
        kept = {name: value for name, value in os.environ.items() if not name.startswith(_LEFT_OUT)}
        self.environ = {**kept, "HOME": str(self.home), "POLLUX_HOME": str(self.home / "pollux"), **environ}

    def run(self, *words: str, stdin: bytes | None = None, **environ: str) -> Ended:
        """`pollux run` as a process of its own."""
        done = subprocess.run(
            [*POLLUX, "run", *words],
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True,
            cwd=self.cwd,
            env={**self.environ, **environ},
            timeout=PATIENCE,
        )
        return Ended(words, done.returncode, done.stdout, done.stderr)


class Warm:
    """Runs of the program that cost little: each is forked from one process that has everything imported."""

    def __init__(self, address: str) -> None:
        self._address = address

    def run(self, place: Place, *words: str, stdin: bytes = b"", **environ: str) -> Ended:
        """`pollux run`, as `Place.run` has it."""
        asked = {"words": ["run", *words], "environ": {**place.environ, **environ}, "cwd": str(place.cwd)}
        ours: list[int] = []
        theirs: list[int] = []
        for number in range(4):
            readable, writable = os.pipe()
            ours.append(writable if number == 0 else readable)
            theirs.append(readable if number == 0 else writable)
        try:
            with socket.socket(socket.AF_UNIX) as connection:
                connection.connect(self._address)
                # Each byte of content is sent once, the descriptors with the first.
                content = json.dumps(asked).encode()
                sent = socket.send_fds(connection, [content], theirs)
                connection.sendall(content[sent:])
        finally:
            for descriptor in theirs:
                os.close(descriptor)
        stdout, stderr, code = _talked_to(ours, stdin)
        return Ended(words, int(code), stdout, stderr)


@contextmanager
def warm_program() -> Generator[Warm]:
    """A program that is warm while the block lasts."""
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as listener:
        address = f"{folder}/warm"
        listener.bind(address)
        listener.listen(128)
        script = Path(__file__).with_name("warm.py")
        with subprocess.Popen([sys.executable, "-W", "error", str(script)], stdin=listener.fileno()) as process:
            try:
                yield Warm(address)
            finally:
                process.terminate()


def abreast(runs: Sequence[Callable[[], T]]) -> list[T]:
    """What all of these return, many at a time."""
    with ThreadPoolExecutor(ABREAST) as threads:
        started = [threads.submit(run) for run in runs]
        return [each.result() for each in started]


def keys(base_url: str, key: str = "demo-key-0001") -> Mapping[str, str]:
    """Variables by which every provider is the emulator at this address."""
    return {
        "GOOGLE_GEMINI_BASE_URL": base_url,
        "OPENAI_BASE_URL": f"{base_url}/v1",
        "ANTHROPIC_BASE_URL": base_url,
        "GEMINI_API_KEY": key,
        "OPENAI_API_KEY": key,
        "ANTHROPIC_API_KEY": key,
    }


def _talked_to(ours: list[int], stdin: bytes) -> tuple[bytes, bytes, bytes]:
    """What comes out of three pipes until each is closed, after this went into a fourth."""

    def feed() -> bytes:
        with os.fdopen(ours[0], "wb") as pipe:
            try:
                pipe.write(stdin)
            except BrokenPipeError:
                pass
        return b""

    def read(descriptor: int) -> bytes:
        with os.fdopen(descriptor, "rb") as pipe:
            return pipe.read()

    with ThreadPoolExecutor(4) as threads:
        feeding = threads.submit(feed)
        readings = [threads.submit(read, descriptor) for descriptor in ours[1:]]
        feeding.result(ABREAST_SECONDS)
        stdout, stderr, code = (reading.result(ABREAST_SECONDS) for reading in readings)
        return stdout, stderr, code
