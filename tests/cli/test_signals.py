"""A signal that the caller ignores stays ignored, as under `nohup` and in a shell's background; SIGTERM always ends."""

import json
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import IO
from urllib.request import ProxyHandler, build_opener

import pytest
from tests.cli.programs import POLLUX, Place, keys
from tests.runbooks.lab import document, script
from tests.waiting import HANG_SECONDS, block_until

from pollux.emulator import Emulator

pytestmark = pytest.mark.slow

# What `nohup` does, and a shell for `command &` without job control.
DEAF = (
    "import os, signal, sys\n"
    "for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):\n"
    "    signal.signal(number, signal.SIG_IGN)\n"
    "os.execv(sys.argv[1], sys.argv[1:])\n"
)


@contextmanager
def started(place: Place, *words: str, deaf: bool = True) -> Generator[subprocess.Popen[bytes]]:
    """`pollux` with these words, by a caller who ignores signals."""
    with subprocess.Popen(
        [*([sys.executable, "-c", DEAF] if deaf else []), *POLLUX, *words],
        cwd=place.cwd,
        env=place.environ,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def url_of(process: subprocess.Popen[bytes]) -> str:
    return json.loads(line_of(process))["url"]


def line_of(process: subprocess.Popen[bytes]) -> str:
    return out_of(process).readline().decode()


def out_of(process: subprocess.Popen[bytes]) -> IO[bytes]:
    assert process.stdout is not None
    return process.stdout


def answer_of(url: str) -> int:
    with build_opener(ProxyHandler({})).open(url, timeout=HANG_SECONDS) as answer:
        return answer.status


def strike(process: subprocess.Popen[bytes]) -> None:
    for number in (signal.SIGHUP, signal.SIGINT):
        process.send_signal(number)


@pytest.mark.parametrize(
    ("words", "path"),
    [(("serve", "--port", "0"), "/readyz"), (("emulator", "gemini", "--port", "0"), "/_emulator/requests")],
    ids=["serve", "emulator"],
)
def test_a_server_outlives_the_signals_that_its_caller_ignores(here: Place, words: tuple[str, ...], path: str):
    with started(here, *words) as process:
        url = url_of(process)
        strike(process)
        # One that had heard would be draining: it says so at /readyz, or takes no more connections.
        assert [answer_of(url + path) for _ in range(3)] == [200, 200, 200]
        process.terminate()
        assert process.wait(HANG_SECONDS) == 0


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGINT, signal.SIGTERM])
def test_a_server_whose_caller_ignores_nothing_drains_at_each_of_them(here: Place, number: signal.Signals):
    with started(here, "serve", "--port", "0", deaf=False) as process:
        url_of(process)
        process.send_signal(number)
        assert process.wait(HANG_SECONDS) == 0


def test_a_runbook_outlives_them_and_sigterm_ends_it(here: Place):
    begun = here.cwd / "begun"
    file = here.cwd / "wait.json"
    file.write_text(document(script("wait", "touch begun; while [ ! -e go ]; do sleep 0.05; done; echo finished")))
    with started(here, "runbook", "run", str(file), "--trust") as process:
        block_until(begun.exists)
        strike(process)
        (here.cwd / "go").touch()
        assert b"finished" in out_of(process).read()
        assert process.wait(HANG_SECONDS) == 0
    begun.unlink()
    (here.cwd / "go").unlink()
    with started(here, "runbook", "run", str(file), "--trust") as process:
        block_until(begun.exists)
        process.terminate()
        assert process.wait(HANG_SECONDS) == 143


def test_a_chat_outlives_them(tmp_path: Path, emulator: Emulator):
    with started(Place(tmp_path, **keys(emulator.url)), "chat") as process:
        assert process.stdin is not None
        process.stdin.write(b"one\n")
        process.stdin.flush()
        assert line_of(process)
        strike(process)
        process.stdin.write(b"two\n")
        process.stdin.close()
        assert out_of(process).read()
        assert process.wait(HANG_SECONDS) == 0
