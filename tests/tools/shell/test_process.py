"""Programs as process trees: what they put out, how they end, and that nothing of them stays."""

import asyncio
import os
import stat
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from tests.tools.shell.living import living, new_mark, sleepers
from tests.waiting import HANG_SECONDS, until

from pollux.core.errors import ValidationError
from pollux.tools.shell import warden
from pollux.tools.shell.process import ShellResult, run_process

PATH = os.environ["PATH"]

on_linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux lets a process adopt orphans")


async def run(*argv: str, **options: Any) -> ShellResult:
    settings: dict[str, Any] = {
        "cwd": Path("/"),
        "env": {"PATH": PATH},
        "timeout": HANG_SECONDS,
        "output_limit": 10_000,
    }
    return await run_process(argv, **(settings | options))


async def sh(text: str, **options: Any) -> ShellResult:
    return await run("sh", "-c", text, **options)


async def timed_out(text: str, *, says: str, **options: Any) -> tuple[ShellResult, float]:
    """What came of a command whose time was over, and its time: on a slow machine more, until it has said this."""
    for seconds in (0.5, 5.0, 25.0):
        async with asyncio.timeout(seconds + HANG_SECONDS):
            result = await sh(text, timeout=seconds, **options)
        if says in result.stdout:
            return result, seconds
    raise AssertionError(f"it never said {says}: {result}")


# How it ends.


async def test_a_program_s_output_and_exit_code_are_its_own():
    assert await sh("echo out; echo err >&2; exit 7") == ShellResult(7, "out\n", "err\n")


async def test_words_reach_the_program_as_they_are():
    words = ["a b", "$HOME", "*", "", "'", "--", "é", "\udcff"]
    result = await run(sys.executable, "-c", "import sys; print(ascii(sys.argv[1:]))", *words)
    assert result.stdout.strip() == ascii(words)


async def test_a_program_killed_by_a_signal_ends_with_128_and_its_number():
    assert (await sh("kill -9 $$")).exit_code == 137
    assert (await sh("kill -TERM $$")).exit_code == 143


async def test_an_unknown_program_is_127_and_says_what_to_do():
    result = await run("no-such-program")
    assert (result.exit_code, result.stdout) == (127, "")
    assert result.stderr == "no-such-program: not found. Name a program on the PATH, or give the path of one\n"


async def test_what_is_no_program_is_126(tmp_path: Path):
    (tmp_path / "text").write_text("hello")
    assert await run("./text", cwd=tmp_path) == ShellResult(126, "", "./text: cannot be run (Permission denied)\n")
    (tmp_path / "text").chmod(stat.S_IRWXU)
    assert await run("./text", cwd=tmp_path) == ShellResult(126, "", "./text: cannot be run (Exec format error)\n")
    assert (await run(str(tmp_path))).exit_code == 126


async def test_a_missing_working_directory_is_126_and_named(tmp_path: Path):
    result = await run("true", cwd=tmp_path / "gone")
    assert result.exit_code == 126
    assert result.stderr == f"the working directory {tmp_path}/gone cannot be entered (No such file or directory)\n"


@pytest.mark.parametrize("words", [["x" * 3_000_000], ["x" * 1000] * 10_000], ids=["one", "many"])
async def test_arguments_that_are_too_long_are_126(words: list[str]):
    assert await run("true", *words) == ShellResult(126, "", "true: cannot be run (Argument list too long)\n")


async def test_a_long_argument_and_a_large_environment_arrive():
    word = "x" * 100_000
    env = {"PATH": PATH} | {f"V{number}": word for number in range(10)}
    result = await sh("echo ${#1} ${#V0} ${#V9}", env=env)
    assert result.stdout.split()[1:] == ["100000", "100000"]
    assert (await run("echo", word, output_limit=200_000)).stdout == f"{word}\n"


@pytest.mark.parametrize(
    "options",
    [
        {"env": {"A=B": "c"}},
        {"env": {"": "c"}},
        {"env": {"A": "\0"}},
        {"cwd": Path("/\0")},
        {"timeout": 0},
        {"timeout": -1},
        {"timeout": float("nan")},
        {"output_limit": -1},
    ],
    ids=str,
)
async def test_what_no_system_could_start_is_refused(options: dict[str, Any]):
    with pytest.raises(ValidationError):
        await run("true", **options)


@pytest.mark.parametrize("argv", [[], "ls -l", ["a\0b"], ["a", "\ud800"]], ids=ascii)
async def test_words_that_are_none_are_refused(argv: Any):
    with pytest.raises(ValidationError):
        await run_process(argv, cwd=Path("/"), env={}, timeout=1, output_limit=1)


# What it finds.


async def test_the_environment_is_what_was_given_and_nothing_else():
    assert (await run("env", env={"A": "1", "B": "two\nlines"})).stdout == "A=1\nB=two\nlines\n"
    assert (await run("/usr/bin/env", env={})).stdout == ""


async def test_a_variable_that_would_break_python_does_not_break_the_warden():
    env = {"PATH": PATH, "PYTHONHOME": "/nowhere", "PYTHONPATH": "/nowhere", "LD_LIBRARY_PATH": "/nowhere"}
    assert (await sh("echo fine", env=env)).stdout == "fine\n"


async def test_without_a_path_programs_are_looked_for_where_systems_keep_them():
    assert (await run("echo", "hi", env={})).stdout == "hi\n"


async def test_a_program_is_looked_for_on_its_own_path_rather_than_ours(tmp_path: Path):
    (tmp_path / "mine").write_text("#!/bin/sh\necho mine\n")
    (tmp_path / "mine").chmod(stat.S_IRWXU)
    assert (await run("mine", env={"PATH": str(tmp_path)})).stdout == "mine\n"
    assert (await run("ls", env={"PATH": str(tmp_path)})).exit_code == 127


async def test_input_is_empty_unless_it_is_given():
    assert (await run("cat")).stdout == ""
    assert (await run("cat", stdin=b"given")).stdout == "given"
    big = b"x" * 1_000_000
    assert (await run("wc", "-c", stdin=big)).stdout.strip() == "1000000"
    assert (await run("true", stdin=big)).exit_code == 0


async def test_no_descriptor_of_ours_reaches_the_program():
    listed = (await sh("ls /proc/$$/fd" if sys.platform == "linux" else "ls /dev/fd")).stdout.split()
    assert set(listed) <= {"0", "1", "2"}


@on_linux
async def test_a_program_cannot_come_to_own_more_rights_than_we_have():
    assert (await run("grep", "NoNewPrivs", "/proc/self/status")).stdout.split() == ["NoNewPrivs:", "1"]


async def test_a_broken_pipe_ends_a_program_as_it_does_in_a_shell():
    assert (await sh("yes | head -1")) == ShellResult(0, "y\n", "")


# What it puts out.


async def test_a_program_that_never_stops_talking_is_stopped():
    result = await run("yes", timeout=None)
    assert result.reason == "stopped: it put out more than 64 MiB"
    assert result.exit_code == 143 and result.truncated and not result.timed_out
    assert len(result.stdout) < 10_100


async def test_output_beyond_the_limit_keeps_its_two_ends_and_the_program_goes_on():
    result = await sh("seq 100000; exit 3", output_limit=100)
    assert (result.exit_code, result.truncated, result.reason) == (3, True, "")
    assert result.stdout.startswith("1\n2\n3\n") and result.stdout.endswith("\n99999\n100000\n")
    assert f"[{588895 - 100} bytes left out]" in result.stdout


async def test_bytes_that_are_no_text_are_replaced():
    assert (await sh(r"printf 'a\377\000b\303'")).stdout == "a\ufffd\0b\ufffd"


async def test_output_is_passed_on_as_it_arrives_up_to_the_limit():
    seen: list[tuple[str, bytes]] = []

    def see(name: str, data: bytes) -> None:
        seen.append((name, data))

    await sh("echo one; echo two >&2; seq 10000", on_output=see)
    assert b"".join(data for name, data in seen if name == "stderr") == b"two\n"
    assert len(b"".join(data for name, data in seen if name == "stdout")) == 10_000


async def test_who_fails_on_output_gets_the_error_and_the_program_is_stopped():
    mark = new_mark()

    def fail(name: str, data: bytes) -> None:
        raise RuntimeError("full")

    with pytest.raises(RuntimeError, match="full"):
        await sh(f": {mark}; echo x; sleep 1000 & wait", on_output=fail)
    assert living(mark) == {}


async def test_a_program_that_closed_its_output_is_still_waited_for():
    result = await sh("exec >&- 2>&-; sleep 0.2; exit 5")
    assert result == ShellResult(5, "", "")


# Who stays.


async def test_a_time_out_is_124_and_keeps_what_was_said():
    result, seconds = await timed_out("echo before; sleep 1000", says="before")
    reason = f"stopped: it took longer than {seconds:g} s"
    assert result == ShellResult(124, "before\n", "", timed_out=True, reason=reason)


async def test_who_is_stopped_may_tidy_up_first():
    result, _ = await timed_out("trap 'echo tidy; exit 0' TERM; echo up; sleep 1000 & wait", says="tidy")
    assert (result.exit_code, result.stdout) == (124, "up\ntidy\n")


@on_linux
async def test_those_left_behind_are_heard_for_a_moment_and_then_ended():
    mark = new_mark()
    # It speaks when the shell is gone, and not before.
    text = f": {mark}; (while kill -0 $$; do :; done 2>/dev/null; echo late) & setsid sleep 1000 & echo now"
    result = await sh(text, env={"PATH": PATH, "MARK": mark})
    assert result == ShellResult(0, "now\nlate\n", "")
    assert living(mark) == {}


@on_linux
async def test_a_daemon_that_let_go_of_everything_is_ended_too():
    mark = new_mark()
    text = "setsid sh -c 'sleep 1000 & sleep 1000 &' </dev/null >/dev/null 2>&1 &"
    assert (await sh(text, env={"PATH": PATH, "MARK": mark})).exit_code == 0
    assert living(mark) == {}


async def test_a_group_that_kills_itself_does_not_take_the_warden_along():
    mark = new_mark()
    result = await sh("setsid sleep 1000 & kill -9 0", env={"PATH": PATH, "MARK": mark})
    assert (result.exit_code, result.reason) == (137, "")
    assert living(mark) == {}


GUARD = "$(cut -d' ' -f4 /proc/$PPID/stat)"


@on_linux
@pytest.mark.parametrize("who", ["$PPID", GUARD], ids=["warden", "guard"])
async def test_who_kills_one_of_its_wardens_is_ended_by_the_other(who: str):
    mark = new_mark()
    text = f"setsid sleep 1000 & (setsid sleep 1000 &); kill -9 {who}; sleep 1000"
    result = await sh(text, env={"PATH": PATH, "MARK": mark})
    assert result.exit_code == 137
    assert living(mark) == {}


@on_linux
@pytest.mark.parametrize("who", ["$PPID", GUARD], ids=["warden", "guard"])
async def test_who_halts_one_of_its_wardens_finds_it_awake_again(who: str):
    mark = new_mark()
    text = f"setsid sleep 1000 & kill -STOP {who}; echo halted; sleep 1000"
    result, seconds = await timed_out(text, says="halted", env={"PATH": PATH, "MARK": mark})
    reason = f"stopped: it took longer than {seconds:g} s"
    assert result == ShellResult(124, "halted\n", "", timed_out=True, reason=reason)
    assert living(mark) == {}


@on_linux
async def test_a_program_dies_with_its_parent():
    # PR_GET_PDEATHSIG is 2.
    text = "import ctypes; n = ctypes.c_int(); ctypes.CDLL(None).prctl(2, ctypes.byref(n)); print(n.value)"
    assert (await run(sys.executable, "-c", text)).stdout == "9\n"


@on_linux
async def test_who_kills_every_python_leaves_the_warden_alone():
    # By name, among the command's own ancestors only: others have their pythons too.
    result = await sh("cat /proc/$PPID/comm")
    assert result.stdout == "pollux-warden\n"


@on_linux
async def test_a_cancelled_call_returns_when_everybody_is_gone():
    mark = new_mark()
    call = asyncio.create_task(sh("setsid sleep 1000 & sleep 1000", env={"PATH": PATH, "MARK": mark}))
    await until(lambda: sleepers(mark) == 2)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert living(mark) == {}


@on_linux
async def test_who_is_cancelled_twice_has_no_more_patience():
    async def cancelled_twice() -> bool:
        mark = new_mark()
        env = {"PATH": PATH, "MARK": mark}
        call = asyncio.create_task(sh("trap '' TERM; sleep 1000 & sleep 1000", env=env))
        await until(lambda: sleepers(mark) == 2)
        began = time.monotonic()
        call.cancel()
        await asyncio.sleep(0)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        taken = time.monotonic() - began
        assert living(mark) == {}
        return taken < warden.STOP_SECONDS

    # Who waits for those that ignore TERM is never as quick. A slow machine is, sooner or later.
    await until(cancelled_twice)


@pytest.mark.parametrize("steps", range(8))
async def test_a_call_cancelled_while_it_starts_leaves_nobody(steps: int):
    mark = new_mark()
    call = asyncio.create_task(sh(f": {mark}; sleep 1000"))
    for _ in range(steps):
        await asyncio.sleep(0)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    await until(lambda: not living(mark))


@pytest.mark.slow
@on_linux
async def test_many_calls_at_once_keep_their_own_results_and_leave_no_descriptors():
    await sh("true")
    before = len(os.listdir("/proc/self/fd"))
    results = await asyncio.gather(*(sh(f"echo {number}; exit {number}") for number in range(40)))
    assert [(result.exit_code, result.stdout) for result in results] == [(n, f"{n}\n") for n in range(40)]
    await until(lambda: len(os.listdir("/proc/self/fd")) <= before)


def test_a_program_outlives_neither_a_loop_in_another_thread_nor_the_thread():
    results: list[ShellResult] = []
    thread = threading.Thread(target=lambda: results.append(asyncio.run(sh("echo from a thread"))))
    thread.start()
    thread.join(HANG_SECONDS)
    assert results == [ShellResult(0, "from a thread\n", "")]
