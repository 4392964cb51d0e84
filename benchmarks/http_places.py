"""The processes of the load benchmark, and what the kernel knows about them. Linux only: it is read from /proc."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

HERE = Path(__file__).parent
USERS = 50
TOKENS = [f"token-of-user-{n:02}-0123456789" for n in range(USERS)]
OTHER = "token-of-the-other-0123456789"
ESTABLISHED, CLOSE_WAIT = "01", "08"
MIB = 1 << 20


class Place:
    """A server in a process of its own."""

    def __init__(self, name: str, process: "subprocess.Popen[str]", url: str, folder: Path) -> None:
        self.name = name
        self.url = url
        self.folder = folder
        self.process = process

    @property
    def log(self) -> str:
        return (self.folder / "log").read_text(encoding="utf-8", errors="replace")

    @property
    def rss(self) -> float:
        """Resident memory now, in MiB."""
        return self._memory("VmRSS")

    @property
    def peak(self) -> float:
        """Most resident memory since `forget_peak`, in MiB."""
        return self._memory("VmHWM")

    def forget_peak(self) -> None:
        Path(f"/proc/{self.process.pid}/clear_refs").write_text("5")

    @property
    def cpu(self) -> float:
        """Seconds of CPU so far, of all its threads."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    @property
    def connections(self) -> int:
        """How many clients it still holds on to."""
        mine = f":{int(self.url.rpartition(':')[2]):04X}"
        rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
        return sum(row[1].endswith(mine) and row[3] in (ESTABLISHED, CLOSE_WAIT) and row[9] != "0" for row in rows)

    def runs(self) -> dict[str, int]:
        """How many runs its journal holds, by status."""
        with sqlite3.connect(f"file:{self.folder}/home/pollux.db?mode=ro", uri=True) as db:
            return dict(db.execute("SELECT status, count(*) FROM runs GROUP BY status").fetchall())

    def _memory(self, name: str) -> float:
        for line in Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith(name):
                return int(line.split()[1]) / 1024
        raise SystemExit(f"{self.name} is gone:\n{self.log[-2000:]}")


@contextmanager
def running(name: str, command: list[str], environ: dict[str, str] | None = None) -> Iterator[Place]:
    """A server that says where it listens, ended with the block."""
    with tempfile.TemporaryDirectory(prefix="pollux-load-") as made:
        folder = Path(made)
        env = {k: v for k, v in os.environ.items() if k in ("PATH", "LANG", "PYTHONPATH")} | {"HOME": made}
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(
                command, cwd=folder, env=env | (environ or {}), stdout=subprocess.PIPE, stderr=log, text=True
            )
        try:
            yield Place(name, process, _address(process.stdout, folder), folder)
        finally:
            process.send_signal(signal.SIGKILL)
            process.wait()


def _address(said: IO[str] | None, folder: Path) -> str:
    line = said.readline() if said else ""
    if line.startswith("LISTENING"):
        return f"http://127.0.0.1:{line.split()[1]}"
    if line.startswith("{"):
        return json.loads(line).get("url", "")
    raise SystemExit(f"a server did not start:\n{(folder / 'log').read_text()[-2000:]}")


def model() -> Any:
    """The model server."""
    return running("model", [sys.executable, str(HERE / "http_model.py")])


def bare() -> Any:
    """Starlette and uvicorn that write the lines by themselves."""
    return running("bare", [sys.executable, str(HERE / "http_bare.py"), "bare"])


def relay(base: str) -> Any:
    """Starlette and uvicorn that pass the model's words on."""
    return running("relay", [sys.executable, str(HERE / "http_bare.py"), "relay", base])


def emulator() -> Any:
    """The demo model, which calls tools."""
    return running("emulator", [sys.executable, "-m", "pollux.cli", "emulator", "gemini", "--port", "0"])


def pollux(base: str, *, scripted: bool = False, **environ: str) -> Any:
    """`pollux serve` on a journal of its own; or the same with a provider that may never wait."""
    named = [f"u{n:02}:{token}" for n, token in enumerate(TOKENS)] + [f"other:{OTHER}"]
    serve = ["-m", "pollux.cli", "serve", "--port", "0", "--model", "gemini-2.5-flash"]
    words = [str(HERE / "http_scripted.py")] if scripted else serve
    return running("ours", [sys.executable, *words], {"POLLUX_TOKENS": ",".join(named), **_reached(base), **environ})


def worker(base: str, **environ: str) -> Any:
    """`pollux worker`."""
    words = ["-m", "pollux.cli", "worker", "--model", "gemini-2.5-flash", "--log-level", "warn"]
    return running("worker", [sys.executable, *words], {**_reached(base), **environ})


def _reached(base: str) -> dict[str, str]:
    # The home is relative to the folder it is started in.
    return {"POLLUX_HOME": "home", "GEMINI_API_KEY": "load", "GOOGLE_GEMINI_BASE_URL": base}


class Clients:
    """The load generator at work. `wait_read` is over when all have what they wanted; `figures` when all has ended."""

    def __init__(self, place: Place, prompt: str, **job: Any) -> None:
        what = {"url": place.url, "tokens": TOKENS, "prompt": prompt, "streams": 1, "deltas": 0, "spread": 0.0}
        what |= {"manner": "read", "words": 0, "seconds": 0.0, "probe": None, "path": "", **job}
        self._place = place
        command = [sys.executable, str(HERE / "http_clients.py"), json.dumps(what)]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    def wait_read(self) -> dict[str, Any]:
        return self._line()

    def figures(self) -> dict[str, Any]:
        self._line()
        found = self._line()
        self._process.wait()
        return found

    def last(self) -> dict[str, Any]:
        """The figures, where `wait_read` was called before."""
        found = self._line()
        self._process.wait()
        return found

    def stop(self) -> None:
        """All clients are gone at once."""
        self._process.kill()
        self._process.wait()

    def _line(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit(f"the load generator failed; {self._place.name} said:\n{self._place.log[-2000:]}")
        return json.loads(line)


def until(is_so: Any, seconds: float) -> float | None:
    """How long it took until it was so; None where that did not come in time."""
    began = time.monotonic()
    while not is_so():
        if time.monotonic() - began > seconds:
            return None
        time.sleep(0.05)
    return time.monotonic() - began
