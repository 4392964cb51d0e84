"""Recipes for a program that hangs, leaves children behind or dies with a traceback. This one does none of it.

Every run ends by its --timeout, with its last line and the right code. Whatever could hold a run up lasts for minutes:
a program that waits for it is stopped by the test and fails it, and a slow machine is not.
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
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from itertools import chain, repeat
from pathlib import Path
from typing import Any, BinaryIO

import pytest
from tests.cli.conformance.suite import told
from tests.cli.fakes import Request, events, head, nobody, serving
from tests.cli.programs import DEADLINES, PATIENCE, POLLUX, Ended, Place, Warm, abreast, keys
from tests.waiting import HANG_SECONDS, block_until, stopwatch

pytestmark = pytest.mark.slow

FEW = 15.0
"""More seconds than a program needs to start and to end."""
STREAM = ("--output-format", "stream-json")
HUGE = "gemini-3.8-flash--huge-size400000"
SLOW = "gemini-3.8-flash--slow-every100"
"""Takes five minutes to count to 3000."""


@pytest.fixture(autouse=True)
def no_orphans(tmp_path: Path) -> Iterator[None]:
    """Whatever a test did, nobody is left who works in its directory."""
    yield
    with suppress(AssertionError):
        block_until(lambda: not _at_work(tmp_path))
    assert _at_work(tmp_path) == []


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


def run(place: Place, *words: str, shell: str = "exec {}", timeout: float = HANG_SECONDS, **environ: str) -> Ended:
    """The program by way of a shell that bends its streams. It has time enough, unless the test gives it little."""
    with stopwatch() as watch:
        ended = by_shell(
            place, *words, "--timeout", str(timeout), shell=shell, seconds=timeout + HANG_SECONDS, **environ
        )
    assert watch.seconds < timeout + FEW, ended
    assert "Traceback" not in ended.talk, ended
    assert "Fatal" not in ended.talk, ended
    return ended


def out_of_time(place: Place, *words: str, timeout: float = 1.0) -> Ended:
    """A run that was ended by its own deadline, and says so."""
    done = run(place, *words, *STREAM, timeout=timeout)
    assert (done.code, done.last("stream-json")["code"]) == (1, "timeout")
    assert f"timeout: there was no answer within {timeout:g} seconds\n" in done.talk
    return done


def by_shell(place: Place, *words: str, shell: str, seconds: float, **environ: str) -> Ended:
    program = shlex.join((*POLLUX, "run", *words))
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
            timeout=seconds,
        )
        return Ended(words, done.returncode, _whole(out), _whole(err))


def _whole(file: BinaryIO) -> bytes:
    file.seek(0)
    return file.read()


def started(place: Place, *words: str, **options: Any) -> "subprocess.Popen[bytes]":
    streams: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    command = [*POLLUX, "run", *words, *STREAM]
    return subprocess.Popen[bytes](command, cwd=place.cwd, env=place.environ, **{**streams, **options})


def ended(process: "subprocess.Popen[bytes]", before: bytes = b"") -> Ended:
    with process:
        out, err = process.communicate(timeout=PATIENCE)
    done = Ended((), process.returncode, before + (out or b""), err or b"")
    assert "Traceback" not in done.talk, done
    return done


def calls(command: str) -> str:
    return f"call shell {json.dumps({'command': command})}"


# Standard input.


def test_an_open_pipe_that_nobody_writes_to_is_not_read(here: Place):
    reading, writing = os.pipe()
    with os.fdopen(reading), os.fdopen(writing):
        done = ended(started(here, "say hi", "--timeout", "30", stdin=reading))
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
        block_until(lambda: _catches(process.pid, signal.SIGTERM))
        process.terminate()
        done = ended(process)
    assert (done.code, done.last("stream-json")["code"]) == (143, "cancelled")


def test_a_closed_stdin_matters_only_to_those_who_read_it(here: Place):
    assert run(here, "say hi", shell="{} <&-").text == "hi"
    done = run(here, "-", shell="{} <&-")
    assert (done.code, done.stdout) == (2, b"")
    assert "standard input is closed" in done.talk


def test_instructions_from_a_pipe_that_nobody_writes_to_run_out_of_time(here: Place):
    os.mkfifo(here.cwd / "pipe")
    out_of_time(here, "say hi", "--system-prompt-file", "pipe")


def test_settings_that_are_pipes_are_passed_over(here: Place):
    for name in (".env", "pollux.toml"):
        os.mkfifo(here.cwd / name)
    assert run(here, "say hi").text == "hi"


# People.


def test_a_question_with_nobody_there_waits_for_later(here: Place):
    done = run(here, calls("touch made"), *STREAM, shell="setsid {}")
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
    out_of_time(here, "hi", "--model", "gemini-3.8-flash--silent")


def test_a_server_that_never_even_accepts_runs_out_of_time(tmp_path: Path):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        place = Place(tmp_path, **keys(f"http://127.0.0.1:{listener.getsockname()[1]}"))
        out_of_time(place, "hi")


def test_a_server_too_busy_to_be_reached_runs_out_of_time(tmp_path: Path):
    with socket.create_server(("127.0.0.1", 0), backlog=0) as listener, socket.socket() as other:
        # Whoever comes after these two is left without an answer to its first packet.
        other.connect(listener.getsockname())
        with socket.socket() as another:
            another.setblocking(False)
            another.connect_ex(listener.getsockname())
            place = Place(tmp_path, **keys(f"http://127.0.0.1:{listener.getsockname()[1]}"))
            out_of_time(place, "hi")


def test_a_server_that_sends_a_byte_now_and_then_runs_out_of_time(tmp_path: Path):
    answer = events(b'{"candidates": [{"content": {"parts": [{"text": "never all of this"}]}}]}')

    def trickle(request: Request, connection: socket.socket) -> None:
        # Its last byte never comes.
        for byte in chain(answer[:-1], repeat(ord(" "))):
            connection.sendall(bytes([byte]))
            time.sleep(0.3)

    with serving(trickle) as url:
        out_of_time(Place(tmp_path, **keys(url)), "hi", timeout=1.5)


def test_an_answer_without_an_end_runs_out_of_time(tmp_path: Path):
    def talk(request: Request, connection: socket.socket) -> None:
        connection.sendall(head("text/event-stream"))
        while True:
            connection.sendall(b'data: {"candidates": [{"content": {"parts": [{"text": "and on "}]}}]}\r\n\r\n')
            time.sleep(0.001)

    with serving(talk) as url:
        for seconds in DEADLINES:
            *said, _ = out_of_time(Place(tmp_path, **keys(url)), "hi", timeout=seconds).lines("stream-json")
            # Where the machine is busy, the time may be over before the first word.
            if said:
                break
        else:
            pytest.fail("not a word was told")


def test_a_closed_port_is_tried_and_given_up(tmp_path: Path):
    with nobody() as url:
        done = run(Place(tmp_path, **keys(url)), "hi", *STREAM)
    assert (done.code, done.last("stream-json")["code"]) == (1, "model_error")


def test_a_name_server_that_never_answers_runs_out_of_time(tmp_path: Path):
    (tmp_path / "sitecustomize.py").write_text(
        "import socket, time\nsocket.getaddrinfo = lambda *words, **more: time.sleep(1000)\n"
    )
    place = Place(tmp_path, **keys("https://models.invalid"), PYTHONPATH=str(tmp_path))
    out_of_time(place, "hi")


# Standard output and standard error.


def test_a_reader_who_never_reads_is_not_waited_for_beyond_the_deadline(here: Place):
    with started(here, "hi", "--model", HUGE, "--timeout", "2") as process:
        assert process.stderr is not None
        code = process.wait(PATIENCE)
        talk = process.stderr.read().decode()
    assert (code, talk) == (1, "pollux: timeout: there was no answer within 2 seconds\n")


def test_a_signal_reaches_a_program_whose_reader_never_reads(here: Place):
    with started(here, "hi", "--model", HUGE) as process:
        assert process.stdout is not None
        block_until(partial(_is_full, process.stdout.fileno()))
        process.terminate()
        assert process.wait(PATIENCE) == 143


def test_a_reader_who_is_late_gets_everything(here: Place):
    with started(here, "hi", "--model", HUGE, "--timeout", "30") as process:
        assert process.stdout is not None
        block_until(partial(_is_full, process.stdout.fileno()))
        done = ended(process)
    assert done.code == 0 and len(told(done, "stream-json").text) >= 400_000


def test_a_reader_who_has_seen_enough_ends_it_silently(here: Place):
    shell = "{} 2>talk | head -n 1; echo ${{PIPESTATUS[0]}} >code"
    done = run(here, "count to 3000", "--model", SLOW, *STREAM, shell=shell)
    assert (here.cwd / "code").read_text() == "141\n" and len(done.lines("stream-json")) == 1
    assert (here.cwd / "talk").read_text() == ""


@pytest.mark.parametrize("shell", ["{} >/dev/full", "{} >&-"], ids=["full", "closed"])
def test_a_stdout_that_takes_nothing_is_said_on_stderr(here: Place, shell: str):
    for words in (("count to 30",), ("count to 30", *STREAM), ("hi", "--api-key", " ", "--timeout", "9")):
        environ = {"GEMINI_API_KEY": ""} if " " in words else {}
        done = run(here, *words, shell=shell, timeout=HANG_SECONDS, **environ)
        assert (done.code, done.stdout, done.talk.count("\n")) == (1, b"", 1)
        assert "standard output cannot be written" in done.talk


def test_a_closed_stderr_takes_nothing_away_from_stdout(here: Place):
    assert run(here, "say hi", shell="{} 2>&-").stdout == b"hi"
    done = run(here, "hi", "--model", "gemini-3.8-flash--400", "--debug", *STREAM, shell="{} 2>&-")
    assert (done.code, done.last("stream-json")["code"]) == (1, "model_error")
    assert run(here, "hi", "--model", "nonsense", shell="{} 2>&-").stdout == b""
    assert run(here, "say hi", shell="{} <&- >&- 2>&-").code == 1


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
    if environ.get("PYTHONUTF8") == "0" and not str(here.path).isascii():
        pytest.skip("in this locale a folder for temporary files needs a name in ASCII (set TMPDIR)")
    (here.cwd / "prompt").write_bytes("repeat Käse 日本 🎉".encode())
    done = run(here, "-", shell="{} <prompt", timeout=HANG_SECONDS, **environ)
    assert (done.code, done.stdout) == (0, "Käse 日本 🎉".encode())
    refused = run(here, "hi", "--model", "größe", timeout=HANG_SECONDS, **environ)
    assert refused.code == 2 and refused.stderr


# Tools.


def test_a_signal_ends_a_command_and_all_below_it(here: Place):
    process = started(here, calls("touch begun && sh -c 'sleep 300 & sleep 301'"), "--allow", "shell")
    block_until((here.cwd / "begun").exists)
    process.terminate()
    done = ended(process)
    assert (done.code, done.last("stream-json")["code"]) == (143, "cancelled")


def test_a_terminal_that_goes_away_has_its_last_line(here: Place):
    process = started(here, calls("touch begun && sleep 300"), "--allow", "shell")
    block_until((here.cwd / "begun").exists)
    process.send_signal(signal.SIGHUP)
    done = ended(process)
    assert (done.code, done.last("stream-json")["code"]) == (129, "cancelled")


def test_a_second_signal_is_not_argued_with(here: Place):
    process = started(here, calls("trap '' TERM INT; touch begun; sleep 300"), "--allow", "shell")
    block_until((here.cwd / "begun").exists)
    process.send_signal(signal.SIGINT)
    # Two of a kind that are pending at once count as one. The first has come when its last line is there.
    assert process.stdout is not None
    said = process.stdout.readline()
    while "code" not in (last := json.loads(said.splitlines()[-1])):
        said += process.stdout.readline()
    assert last["code"] == "cancelled"
    process.send_signal(signal.SIGINT)
    assert ended(process, said).code == 130


def test_a_command_that_does_not_want_to_end_is_ended(here: Place):
    command = "trap '' TERM INT HUP; while :; do sleep 1; done"
    out_of_time(here, calls(command), "--allow", "shell", timeout=2)


def test_a_child_that_holds_every_descriptor_is_not_waited_for(here: Place):
    command = "setsid sh -c 'sleep 300' & echo started"
    done = run(here, calls(command), "--allow", "shell", *STREAM)
    assert done.code == 0
    [(_, _, result)] = told(done, "stream-json").calls
    assert result["stdout"] == "started\n"


# The store.


def test_a_store_that_somebody_holds_is_not_waited_for_beyond_the_deadline(here: Place):
    assert run(here, "say hi").code == 0
    store = sqlite3.connect(here.home / "pollux" / "pollux.db", isolation_level=None)
    try:
        store.execute("begin exclusive")
        done = run(here, "say hi", *STREAM, timeout=2)
    finally:
        store.close()
    assert done.code == 1 and done.last("stream-json")["code"] in ("timeout", "store_error")


def test_a_home_that_cannot_be_made_is_a_matter_of_settings(here: Place):
    done = run(here, "say hi", *STREAM, POLLUX_HOME="/proc/pollux")
    assert (done.code, done.stdout) == (2, b"")
    assert "Check POLLUX_HOME" in done.talk


def test_a_disk_that_is_full_is_an_error_of_the_store(here: Place):
    limit = 16 * 1024
    process = started(here, "say hi", preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
    done = ended(process)
    assert (done.code, done.last("stream-json")["code"]) == (1, "store_error")
    done = run(here, "say hi", "--store", "/dev/full", *STREAM)
    assert done.code == 2 and "/dev/full is not a regular file" in done.talk


def test_a_session_that_is_at_work_takes_no_second_prompt(here: Place):
    first = json.loads(run(here, "say hi", "--output-format", "json").stdout)
    process = started(here, "count to 3000", "--session", first["sessionId"], "--model", SLOW)
    assert process.stdout is not None
    begun = process.stdout.readline()
    second = run(here, "say no", "--session", "latest", *STREAM)
    assert (second.code, second.last("stream-json")["code"]) == (1, "thread_busy")
    process.terminate()
    assert ended(process, begun).code == 143
    assert run(here, "say yes", "--session", "latest").text == "yes"


# The deadline itself.


def test_an_answer_that_comes_just_at_the_deadline_has_one_last_line(warm: Warm, here: Place):
    deadlines = [0.30 + 0.02 * step for step in range(24)]
    words = ("count to 3", "--model", "gemini-3.8-flash--slow-every60", *STREAM)
    done = abreast([partial(warm.run, here, *words, "--timeout", f"{seconds:.2f}") for seconds in deadlines])
    assert {told(each, "stream-json").code for each in done} <= {"", "timeout"}


def _catches(pid: int, number: int) -> bool:
    status = Path(f"/proc/{pid}/status").read_text()
    caught = int(status.split("SigCgt:")[1].split()[0], 16)
    return bool(caught >> (number - 1) & 1)


def _is_full(descriptor: int) -> bool:
    """Whether a pipe holds as much as it can, or nearly."""
    waiting = int.from_bytes(fcntl.ioctl(descriptor, termios.FIONREAD, bytes(4)), sys.byteorder)
    # Who has many pipes open gets smaller ones.
    return waiting > 0.9 * fcntl.fcntl(descriptor, fcntl.F_GETPIPE_SZ)
