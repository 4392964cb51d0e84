"""Who is measured: their environments, and one process of one of them."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
PLACE = Path(os.environ.get("PEERS_PLACE", ROOT / "build" / "peers"))
PATIENCE = 300.0

# Nothing of the person's own environment, and nothing that would report home.
QUIET = {
    "AGNO_TELEMETRY": "false",
    "LANGCHAIN_TRACING_V2": "false",
    "LANGSMITH_TRACING": "false",
    "OPENAI_AGENTS_DISABLE_TRACING": "1",
    "OTEL_SDK_DISABLED": "true",
}


class NotRun(Exception):
    """This framework, or this measure of it, could not be run here; the text says why."""


@dataclass(frozen=True, slots=True)
class Framework:
    name: str
    key: str
    """Names its adapter, its environment and its requirements."""
    package: str
    variant: str = ""
    """A second way to set it up, told in the story alone."""

    @property
    def id(self) -> str:
        return f"{self.key}-{self.variant}" if self.variant else self.key

    @property
    def python(self) -> Path:
        return Path(sys.executable) if self.key == "pollux" else PLACE / self.key / "bin" / "python"

    def version(self) -> str:
        if not self.python.exists():
            raise NotRun(_why(self.key))
        code = f"import importlib.metadata as m; print(m.version({self.package!r}))"
        asked = subprocess.run([self.python, "-c", code], capture_output=True, text=True, check=False)
        if asked.returncode:
            raise NotRun(f"{self.package} is not installed in its environment")
        return asked.stdout.strip()

    def command(self, job: dict[str, Any]) -> list[str]:
        job = {**job, "variant": self.variant}
        return [str(self.python), "-W", "ignore", str(HERE / f"on_{self.key}.py"), json.dumps(job)]

    def do(self, **job: Any) -> dict[str, Any]:
        """One process, from its spawn to its result. Its home is the folder, where there is one."""
        with TemporaryDirectory() as elsewhere:
            home = environ(job.get("folder") or elsewhere)
            start = time.monotonic()
            ran = subprocess.run(
                self.command(job), env=home, capture_output=True, text=True, timeout=PATIENCE, check=False
            )
        return {"start": start, "code": ran.returncode, **result_of(ran.stdout, ran.stderr, died=job.get("die", False))}


FRAMEWORKS = (
    Framework("Pollux", "pollux", "pollux"),
    Framework("google-adk", "adk", "google-adk"),
    Framework("pydantic-ai", "pydantic_ai", "pydantic-ai-slim"),
    Framework("openai-agents", "openai_agents", "openai-agents"),
    Framework("langchain", "langchain", "langchain"),
    Framework("agno", "agno", "agno"),
)
VARIANTS = (
    Framework("Pollux, tool that can be looked up", "pollux", "pollux", "checkable"),
    Framework("agno with `@approval`", "agno", "agno", "record"),
)


def set_up() -> None:
    """One environment for each. What cannot be installed leaves a note, and the others go on."""
    PLACE.mkdir(parents=True, exist_ok=True)
    for framework in FRAMEWORKS[1:]:
        where, note = PLACE / framework.key, PLACE / f"{framework.key}.failed"
        print(f"setting up {framework.name}", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", where], check=True)
        pins = HERE / "requirements" / f"{framework.key}.txt"
        done = subprocess.run([framework.python, "-m", "pip", "install", "-q", "-r", pins], stderr=subprocess.PIPE)
        note.unlink(missing_ok=True)
        if done.returncode:
            note.write_bytes(done.stderr.strip().splitlines()[-1])


def _why(key: str) -> str:
    note = PLACE / f"{key}.failed"
    return note.read_text() if note.exists() else "it is not installed; `--setup` does that"


def environ(home: str) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "HOME": home, "POLLUX_HOME": f"{home}/pollux", **QUIET}


def result_of(output: str, errors: str, *, died: bool = False) -> dict[str, Any]:
    lines = output.strip().splitlines()
    if died:
        return {}
    try:
        return json.loads(lines[-1])
    except (IndexError, json.JSONDecodeError):
        said = errors.strip().splitlines() or ["it said nothing"]
        raise NotRun(said[-1][:300]) from None


@contextmanager
def model() -> Iterator[str]:
    """The model server's address."""
    server = subprocess.Popen([sys.executable, HERE / "model.py"], stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        yield f"http://127.0.0.1:{server.stdout.readline().split()[1]}"
    finally:
        server.terminate()
        server.wait()
