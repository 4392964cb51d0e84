"""A signal while the program still imports: the last line and the code are there, in every format."""

import signal
import socket
import subprocess
from pathlib import Path

import pytest
from tests.cli.programs import FORMATS, PATIENCE, POLLUX, Place, keys

# A `sitecustomize` is imported before the program: the signal comes just where the program imports this module.
STRIKES = """
import os, sys

class Strike:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            sys.meta_path.remove(self)
            os.kill(os.getpid(), {number})

sys.meta_path.insert(0, Strike())
"""

STRIKES_AT_THE_LOOP = """
import asyncio.base_events, os, signal

def strike(self, made=asyncio.base_events.BaseEventLoop.__init__):
    os.kill(os.getpid(), signal.SIGINT)
    made(self)

asyncio.base_events.BaseEventLoop.__init__ = strike
"""


def struck(tmp_path: Path, module: str, number: int) -> Place:
    folder = tmp_path / "strikes"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(STRIKES.format(module=module, number=int(number)))
    return Place(tmp_path, **keys("http://127.0.0.1:9"), PYTHONPATH=str(folder))


@pytest.mark.parametrize("module", ["pollux.cli.run", "pollux.config", "asyncio", "pollux.sdk.agent"])
def test_a_signal_at_any_import_has_its_last_line(tmp_path: Path, module: str):
    ended = struck(tmp_path, module, signal.SIGTERM).run("hi")
    assert (ended.code, ended.last("json")["code"]) == (143, "cancelled")


@pytest.mark.parametrize("format_", FORMATS)
def test_a_signal_during_the_imports_has_its_last_line(tmp_path: Path, format_: str):
    ended = struck(tmp_path, "pollux.cli.answer", signal.SIGTERM).run("hi", "--output-format", format_)
    error = {"type": "error", "error": "stopped by SIGTERM", "code": "cancelled"}
    assert (ended.code, ended.lines("json")) == (143, [error])


@pytest.mark.parametrize("module", ["pollux.config", "pollux.cli.answer", "asyncio", "pollux.sdk.agent"])
def test_an_interrupt_during_the_imports_leaves_no_traceback(tmp_path: Path, module: str):
    ended = struck(tmp_path, module, signal.SIGINT).run("hi")
    assert ended.code == 130
    assert "Traceback" not in ended.talk


def test_a_signal_that_the_caller_ignores_is_ignored(tmp_path: Path):
    place = struck(tmp_path, "pollux.cli.answer", signal.SIGINT)
    # A model that never answers: it is still asked when the time is over.
    with socket.create_server(("127.0.0.1", 0)) as silent:
        place.environ |= keys(f"http://127.0.0.1:{silent.getsockname()[1]}")
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            ended = place.run("hi", "--timeout", "1", "--output-format", "json")
        finally:
            signal.signal(signal.SIGINT, before)
    assert (ended.code, ended.last("json")["code"]) == (1, "timeout")


@pytest.mark.parametrize("command", ["demo", "serve", "emulator"])
def test_an_interrupt_while_the_event_loop_is_made_leaves_no_traceback(tmp_path: Path, command: str):
    (tmp_path / "sitecustomize.py").write_text(STRIKES_AT_THE_LOOP)
    environ = Place(tmp_path, PYTHONPATH=str(tmp_path)).environ
    program = [*POLLUX, command, "--port", "0"]
    done = subprocess.run(program, capture_output=True, cwd=tmp_path, env=environ, timeout=PATIENCE)
    assert (done.returncode, done.stderr) == (130, b"")
