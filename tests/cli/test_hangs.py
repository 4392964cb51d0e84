"""Recipes for a program that hangs, leaves children behind or dies with a traceback. This one does none of it.

Every run ends by its --timeout and a few seconds, with its last line and the right code.
"""

import fcntl
import json
import os
import pty
import resource
import shlex
import signal
import socket
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import pytest
from tests.cli.conformance.suite import told
from tests.cli.fakes import Request, events, head, serving
from tests.cli.programs import PATIENCE, POLLUX, Ended, Place, Warm, abreast, keys

pytestmark = pytest.mark.slow

FEW = 15.0
"""More seconds than a program needs to start and to end, also on a machine that is busy."""
STREAM = ("--output-format", "stream-json")
HUGE = "gemini-3.8-flash--huge-size400000"
SLOW = "gemini-3.8-flash--slow-every100"


@pytest.fixture(autouse=True)
def no_orphans(tmp_path: Path) -> Iterator[None]:
    """Whatever a test did, nobody is left who works in its directory."""
    yield
    until = time.monotonic() + FEW
    while left := _at_work(tmp_path):
        assert time.monotonic() < until, f"left behind: {left}"
        time.sleep(0.02)


def _at_work(path: Path) -> list[str]:
    found: list[str] = []
    for process in Path("/proc").iterdir():
        if process.name.isdecimal():
            try:
                is_ours = str(path).encode() in (process / "environ").read_bytes() or (
                    process / "cwd"
                ).readlink().is_relative_to(path)
                if is_ours:
                    found.append((process / "cmdline").read_bytes().replace(b"\0", b" ").decode())
            except OSError:
                continue
    return found


def run(place: Place, *words: str, shell: str = "exec {}", timeout: float = 2.0, **environ: str) -> Ended:
    """The program by way of a shell that bends its streams, within its time."""
    ended = by_shell(place, *words, "--timeout", str(timeout), shell=shell, **environ)
    assert ended.seconds < timeout + FEW, ended
    assert "Traceback" not in ended.talk, ended
    assert "Fatal" not in ended.talk, ended
    return ended


def by_shell(place: Place, *words: str, shell: str, **environ: str) -> Ended:
    program = shlex.join((*POLLUX, "run", *words))
    began = time.monotonic()
    # Files rather than pipes: who inherits them and lives on must not be waited for here.
    with (place.path / "out").open("w+b") as out, (place.path / "err").open("w+b") as err:
        command = ["bash", "-c", shell.format(program)]
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            cwd=place.cwd,
            env={**place.environ, **environ},
            timeout=PATIENCE,
        )
        seconds = time.monotonic() - began
        return Ended(words, done.returncode, _whole(out), _whole(err), seconds)


def _whole(file: BinaryIO) -> bytes:
    file.seek(0)
    return file.read()


def started(place: Place, *words: str, **options: Any) -> "subprocess.Popen[bytes]":
    streams: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    command = [*POLLUX, "run", *words, *STREAM]
    return subprocess.Popen[bytes](command, cwd=place.cwd, env=place.environ, **{**streams, **options})


def ended(process: "subprocess.Popen[bytes]", before: bytes = b"") -> Ended:
    with process:
        began = time.monotonic()
        out, err = process.communicate(timeout=PATIENCE)
    done = Ended((), process.returncode, before + (out or b""), err or b"", time.monotonic() - began)
    assert "Traceback" not in done.talk, done
    return done


def calls(command: str) -> str:
    return f"call shell {json.dumps({'command': command})}"


# Standard input.


def test_an_open_pipe_that_nobody_writes_to_is_not_read(here: Place):
    reading, writing = os.pipe()
    with os.fdopen(reading), os.fdopen(writing):
        done = ended(started(here, "say hi", "--timeout", "20", stdin=reading))
    assert told(done, "stream-json").text == "hi"


def test_a_prompt_that_never_comes_runs_out_of_time(here: Place):
    reading, writing = os.pipe()
    with os.fdopen(reading), os.fdopen(writing):
        done = ended(started(here, "-", "--timeout", "1", stdin=reading))
    assert (done.code, done.last("stream-json")["code"]) == (1, "timeout")


def test_a_signal_ends_the_wait_for_a_prompt(here: Place):
    reading, writing = os.pipe()
    with os.fdopen(reading), os.fdopen(writing):
        process = started(here, "-", stdin=reading)
        # Python says how it takes signals: ours are heeded from here on.
        _wait_for(lambda: _catches(process.pid, signal.SIGTERM))
        process.terminate()
        done = ended(process)
    assert (done.code, done.last("stream-json")["code"]) == (143, "cancelled")


def test_a_closed_stdin_matters_only_to_those_who_read_it(here: Place):
    assert run(here, "say hi", shell="{} <&-", timeout=20).text == "hi"
    done = run(here, "-", shell="{} <&-", timeout=20)
    assert (done.code, done.stdout) == (2, b"")
    assert "standard input is closed" in done.talk


def test_instructions_from_a_pipe_that_nobody_writes_to_run_out_of_time(here: Place):
    os.mkfifo(here.cwd / "pipe")
    done = run(here, "say hi", "--system-prompt-file", "pipe", *STREAM, timeout=1)
    assert (done.code, done.last("stream-json")["code"]) == (1, "timeout")


def test_settings_that_are_pipes_are_passed_over(here: Place):
    for name in (".env", "pollux.toml"):
        os.mkfifo(here.cwd / name)
    assert run(here, "say hi", timeout=20).text == "hi"


# People.


def test_a_question_with_nobody_there_waits_for_later(here: Place):
    done = run(here, calls("touch made"), *STREAM, shell="setsid {}", timeout=20)
    assert (done.code, done.last("stream-json")["status"]) == (3, "awaiting_confirmation")


def test_a_question_that_nobody_answers_runs_out_of_time(here: Place):
    keyboard, terminal = pty.openpty()
    with os.fdopen(keyboard, "rb"), os.fdopen(terminal):
        process = started(here, calls("touch made"), "--timeout", "2", stdin=terminal, stderr=terminal)
        done = ended(process)
    assert (done.code, done.last("stream-json")["code"]) == (1, "timeout")
    assert not (here.cwd / "made").exists()


# The model.


def test_a_server_that_never_answers_runs_out_of_time(here: Place):
    done = run(here, "hi", "--model", "gemini-3.8-flash--silent", *STREAM, timeout=1)
    assert (done.code, done.last("stream-json")["code"]) == (1, "timeout")


def test_a_server_that_never_even_accepts_runs_out_of_time(tmp_path: Path):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        place = Place(tmp_path, **keys(f"http://127.0.0.1:{listener.getsockname()[1]}"))
        done = run(place, "hi", *STREAM, timeout=1)
    assert (done.code, done.last("stream-json")["code"]) == (1, "timeout")


def test_a_server_too_busy_to_be_reached_runs_out_of_time(tmp_path: Path):
    with socket.create_server(("127.0.0.1", 0), backlog=0) as listener, socket.socket() as other:
        # Whoever comes after these two is left without an answer to its first packet.
        other.connect(listener.getsockname())
        with socket.socket() as another:
            another.setblocking(False)
            another.connect_ex(listener.getsockname())
            place = Place(tmp_path, **keys(f"http://127.0.0.1:{listener.getsockname()[1]}"))
            done = run(place, "hi", *STREAM, timeout=1)
    assert (done.code, done.last("stream-json")["code"]) == (1, "timeout")


def test_a_server_that_sends_a_byte_now_and_then_runs_out_of_time(tmp_path: Path):
    answer = events(b'{"candidates": [{"content": {"parts": [{"text": "never all of this"}]}}]}')

    def trickle(request: Request, connection: socket.socket) -> None:
        for byte in answer:
            connection.sendall(bytes([byte]))
            time.sleep(0.3)

    with serving(trickle) as url:
        done = run(Place(tmp_path, **keys(url)), "hi", *STREAM, timeout=1.5)
    assert (done.code, done.last("stream-json")["code"]) == (1, "timeout")


def test_an_answer_without_an_end_runs_out_of_time(tmp_path: Path):
    def talk(request: Request, connection: socket.socket) -> None:
        connection.sendall(head("text/event-stream"))
        while True:
            connection.sendall(b'data: {"candidates": [{"content": {"parts": [{"text": "and on "}]}}]}\r\n\r\n')
            time.sleep(0.001)

    with serving(talk) as url:
        done = run(Place(tmp_path, **keys(url)), "hi", *STREAM, timeout=2)
    *said, last = done.lines("stream-json")
    assert said and (done.code, last["code"]) == (1, "timeout")


def test_a_closed_port_is_tried_and_given_up(tmp_path: Path):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    done = run(Place(tmp_path, **keys(f"http://127.0.0.1:{port}")), "hi", *STREAM, timeout=20)
    assert (done.code, done.last("stream-json")["code"]) == (1, "model_error")


def test_a_name_server_that_never_answers_runs_out_of_time(tmp_path: Path):
    (tmp_path / "sitecustomize.py").write_text(
        "import socket, time\nsocket.getaddrinfo = lambda *words, **more: time.sleep(60)\n"
    )
    place = Place(tmp_path, **keys("https://models.invalid"), PYTHONPATH=str(tmp_path))
    done = run(place, "hi", *STREAM, timeout=1)
    assert (done.code, done.last("stream-json")["code"]) == (1, "timeout")


# Standard output and standard error.


def test_a_reader_who_never_reads_is_not_waited_for_beyond_the_deadline(here: Place):
    with started(here, "hi", "--model", HUGE, "--timeout", "2") as process:
        assert process.stderr is not None
        code = process.wait(2 + FEW)
        talk = process.stderr.read().decode()
    assert (code, talk) == (1, "pollux: timeout: there was no answer within 2 seconds\n")


def test_a_signal_reaches_a_program_whose_reader_never_reads(here: Place):
    with started(here, "hi", "--model", HUGE) as process:
        assert process.stdout is not None
        _wait_for(partial(_is_full, process.stdout.fileno()))
        process.terminate()
        assert process.wait(FEW) == 143


def test_a_reader_who_is_late_gets_everything(here: Place):
    with started(here, "hi", "--model", HUGE, "--timeout", "30") as process:
        assert process.stdout is not None
        _wait_for(partial(_is_full, process.stdout.fileno()))
        done = ended(process)
    assert done.code == 0 and len(told(done, "stream-json").text) >= 400_000


def test_a_reader_who_has_seen_enough_ends_it_silently(here: Place):
    shell = "{} 2>talk | head -n 1; echo ${{PIPESTATUS[0]}} >code"
    done = run(here, "count to 300", "--model", SLOW, *STREAM, shell=shell, timeout=20)
    assert (here.cwd / "code").read_text() == "141\n" and len(done.lines("stream-json")) == 1
    assert (here.cwd / "talk").read_text() == ""


@pytest.mark.parametrize("shell", ["{} >/dev/full", "{} >&-"], ids=["full", "closed"])
def test_a_stdout_that_takes_nothing_is_said_on_stderr(here: Place, shell: str):
    for words in (("count to 30",), ("count to 30", *STREAM), ("hi", "--api-key", " ", "--timeout", "9")):
        environ = {"GEMINI_API_KEY": ""} if " " in words else {}
        done = run(here, *words, shell=shell, timeout=20, **environ)
        assert (done.code, done.stdout, done.talk.count("\n")) == (1, b"", 1)
        assert "standard output cannot be written" in done.talk


def test_a_closed_stderr_takes_nothing_away_from_stdout(here: Place):
    assert run(here, "say hi", shell="{} 2>&-", timeout=20).stdout == b"hi"
    done = run(here, "hi", "--model", "gemini-3.8-flash--400", "--debug", *STREAM, shell="{} 2>&-", timeout=20)
    assert (done.code, done.last("stream-json")["code"]) == (1, "model_error")
    assert run(here, "hi", "--model", "nonsense", shell="{} 2>&-").stdout == b""
    assert run(here, "say hi", shell="{} <&- >&- 2>&-", timeout=20).code == 1


@pytest.mark.parametrize(
    "environ",
    [
        {"LC_ALL": "C"},
        {"PYTHONIOENCODING": "ascii"},
        {"LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONIOENCODING": "cp037"},
    ],
    ids=["c", "ascii", "ebcdic"],
)
def test_the_bytes_do_not_depend_on_the_locale(here: Place, environ: dict[str, str]):
    (here.cwd / "prompt").write_bytes("repeat Käse 日本 🎉".encode())
    done = run(here, "-", shell="{} <prompt", timeout=20, **environ)
    assert (done.code, done.stdout) == (0, "Käse 日本 🎉".encode())
    refused = run(here, "hi", "--model", "größe", timeout=20, **environ)
    assert refused.code == 2 and refused.stderr


# Tools.


def test_a_signal_ends_a_command_and_all_below_it(here: Place):
    process = started(here, calls("touch begun && sh -c 'sleep 300 & sleep 301'"), "--allow", "shell")
    _wait_for((here.cwd / "begun").exists)
    process.terminate()
    done = ended(process)
    assert (done.code, done.last("stream-json")["code"]) == (143, "cancelled")
    assert done.seconds < FEW


def test_a_terminal_that_goes_away_has_its_last_line(here: Place):
    process = started(here, calls("touch begun && sleep 300"), "--allow", "shell")
    _wait_for((here.cwd / "begun").exists)
    process.send_signal(signal.SIGHUP)
    done = ended(process)
    assert (done.code, done.last("stream-json")["code"]) == (129, "cancelled")


def test_a_second_signal_is_not_argued_with(here: Place):
    process = started(here, calls("trap '' TERM INT; touch begun; sleep 300"), "--allow", "shell")
    _wait_for((here.cwd / "begun").exists)
    for _ in range(2):
        process.send_signal(signal.SIGINT)
        time.sleep(0.05)  # Two of a kind that are pending at once count as one.
    assert ended(process).code == 130


def test_a_command_that_does_not_want_to_end_is_ended(here: Place):
    command = "trap '' TERM INT HUP; while :; do sleep 1; done"
    done = run(here, calls(command), "--allow", "shell", *STREAM, timeout=2)
    assert (done.code, done.last("stream-json")["code"]) == (1, "timeout")


def test_a_child_that_holds_every_descriptor_is_not_waited_for(here: Place):
    command = "setsid sh -c 'sleep 300' & echo started"
    done = run(here, calls(command), "--allow", "shell", *STREAM, timeout=20)
    assert done.code == 0
    [(_, _, result)] = told(done, "stream-json").calls
    assert result["stdout"] == "started\n"


# The store.


def test_a_store_that_somebody_holds_is_not_waited_for_beyond_the_deadline(here: Place):
    assert run(here, "say hi", timeout=20).code == 0
    store = sqlite3.connect(here.home / "pollux" / "pollux.db", isolation_level=None)
    try:
        store.execute("begin exclusive")
        done = run(here, "say hi", *STREAM, timeout=2)
    finally:
        store.close()
    assert done.code == 1 and done.last("stream-json")["code"] in ("timeout", "store_error")


def test_a_home_that_cannot_be_made_is_a_matter_of_settings(here: Place):
    done = run(here, "say hi", *STREAM, timeout=20, POLLUX_HOME="/proc/pollux")
    assert (done.code, done.stdout) == (2, b"")
    assert "Check POLLUX_HOME" in done.talk


def test_a_disk_that_is_full_is_an_error_of_the_store(here: Place):
    limit = 16 * 1024
    process = started(here, "say hi", preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
    done = ended(process)
    assert (done.code, done.last("stream-json")["code"]) == (1, "store_error")
    done = run(here, "say hi", "--store", "/dev/full", *STREAM, timeout=20)
    assert (done.code, done.last("stream-json")["code"]) == (1, "store_error")


def test_a_session_that_is_at_work_takes_no_second_prompt(here: Place):
    first = json.loads(run(here, "say hi", "--output-format", "json", timeout=20).stdout)
    process = started(here, "count to 100", "--session", first["sessionId"], "--model", SLOW)
    assert process.stdout is not None
    begun = process.stdout.readline()
    second = run(here, "say no", "--session", "latest", *STREAM, timeout=20)
    assert (second.code, second.last("stream-json")["code"]) == (1, "thread_busy")
    process.terminate()
    assert ended(process, begun).code == 143
    assert run(here, "say yes", "--session", "latest", timeout=20).text == "yes"


# The deadline itself.


def test_an_answer_that_comes_just_at_the_deadline_has_one_last_line(warm: Warm, here: Place):
    deadlines = [0.30 + 0.02 * step for step in range(24)]
    words = ("count to 3", "--model", "gemini-3.8-flash--slow-every60", *STREAM)
    done = abreast([partial(warm.run, here, *words, "--timeout", f"{seconds:.2f}") for seconds in deadlines])
    assert {told(each, "stream-json").code for each in done} <= {"", "timeout"}


def _wait_for(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < until, "it did not come to that"
        time.sleep(0.01)


def _catches(pid: int, number: int) -> bool:
    status = Path(f"/proc/{pid}/status").read_text()
    caught = int(status.split("SigCgt:")[1].split()[0], 16)
    return bool(caught >> (number - 1) & 1)


def _is_full(descriptor: int) -> bool:
    """Whether a pipe holds as much as it can, or nearly."""
    fionread = 0x541B
    waiting = int.from_bytes(fcntl.ioctl(descriptor, fionread, bytes(4)), "little")
    return waiting > 60_000
