"""Run a program as a process tree. Nothing of it outlives the call, however the call ends.

The program is started by a warden (`warden.py`), a small process of its own that ends the whole tree: when we ask, when
the program has ended, and when we are gone. Output is bounded, there is no shell in between, and what goes wrong with
the program is a result rather than an exception.

Who means to can find the warden and its guard and kill both; only a sandbox (`sandbox.py`) withstands that.
"""

import asyncio
import errno
import math
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import BinaryIO

from pollux.core.errors import ValidationError
from pollux.core.frozen import frozen
from pollux.tools.shell import warden
from pollux.tools.shell.output import FLOOD_BYTES, OnOutput, Output, listen

TIMED_OUT = 124
CANNOT_RUN = 126
NOT_FOUND = 127
BY_SIGNAL = 128

PIPE_SECONDS = 0.5
"""How long we listen once the tree is gone: somebody outside of it may have been handed a pipe's other end."""
GIVE_UP_SECONDS = warden.STOP_SECONDS + warden.KILL_SECONDS + 1.0
"""Longer than any warden takes that is at work."""


@frozen
class ShellResult:
    """What became of a command.

    Exit codes are a shell's: 124 timed out, 126 cannot or may not run, 127 not found, 128 + n ended by signal n.
    `reason` says why it was blocked, or stopped by us.
    """

    exit_code: int
    stdout: str
    stderr: str
    timed_out: bool = False
    blocked: bool = False
    reason: str = ""
    truncated: bool = False


async def run_process(
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    timeout: float | None,
    output_limit: int,
    stdin: bytes | None = None,
    on_output: OnOutput | None = None,
    is_wrapper: bool = False,
    pass_fds: Sequence[int] = (),
    halt: "asyncio.Future[str] | None" = None,
) -> ShellResult:
    """Run a program by its argv, and see its whole tree end.

    `env` is all of its environment. It finds its input empty unless `stdin` is given. Each of its two outputs keeps
    `output_limit` bytes, half of them from its end. A cancelled call returns once the tree is gone. `is_wrapper` says
    that the program is there for another one: it is not asked to end, those below it are. Once `halt` is done the tree
    is killed without patience.

    Raises ValidationError for what no system could start, and whatever `on_output` raises.
    """
    _check(argv, cwd=cwd, env=env, timeout=timeout, output_limit=output_limit)
    enough: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def stop() -> None:
        if not enough.done():
            enough.set_result(None)

    async with (
        listen("stdout", output_limit, on_output=on_output, stop=stop) as stdout,
        listen("stderr", output_limit, on_output=on_output, stop=stop) as stderr,
    ):
        words = ["wrapper" if is_wrapper else "plain", *argv]
        try:
            child = await _start(
                words, cwd=cwd, env=env, stdin=stdin, stdout=stdout.pipe, stderr=stderr.pipe, pass_fds=pass_fds
            )
        except OSError as problem:
            return _not_started(argv[0], problem, cwd)
        try:
            ends = {child.gone, enough, *([halt] if halt else [])}
            done, _ = await asyncio.wait(ends, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
        finally:
            await child.end(at_once=halt is not None and halt.done())
        await asyncio.wait({stdout.closed, stderr.closed}, timeout=PIPE_SECONDS)
    for output in (stdout, stderr):
        if output.problem is not None:
            raise output.problem
    return _result(argv[0], child, stdout, stderr, timeout=None if done else timeout)


async def start_process(
    argv: Sequence[str], *, cwd: Path, env: Mapping[str, str], stdin: BinaryIO, stdout: BinaryIO, stderr: BinaryIO
) -> "Child":
    """Start a program that is talked with over pipes. Whoever starts it calls `end()`, whatever happens in between.

    The three files are the program's ends; they are closed here. A program that is none is told in the `report`.

    Raises ValidationError for what no system could start, and OSError where the directory cannot be entered.
    """
    _check(argv, cwd=cwd, env=env, timeout=None, output_limit=0)
    return await _start(["plain", *argv], cwd=cwd, env=env, stdin=stdin, stdout=stdout, stderr=stderr, pass_fds=())


class Child(asyncio.Protocol):
    """Our end of a warden's control socket. When it is `gone`, so is the tree."""

    def __init__(self) -> None:
        self.gone: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.process: asyncio.subprocess.Process | None = None
        self._control: asyncio.WriteTransport | None = None
        self._heard = b""

    @property
    def report(self) -> dict[str, int]:
        """What the warden has told, by its first words."""
        lines = (line.split() for line in self._heard.decode().splitlines())
        return {word: int(number[0]) if number else 1 for word, *number in lines}

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.WriteTransport)
        self._control = transport

    def data_received(self, data: bytes) -> None:
        self._heard += data

    def connection_lost(self, exc: Exception | None) -> None:
        # Also when it was reset: the warden had ended before it read our last word.
        if not self.gone.done():
            self.gone.set_result(None)

    def start(self, env: Mapping[str, str]) -> None:
        entries = [os.fsencode(f"{name}={value}") for name, value in env.items()]
        self._write(b"\0".join(entries) + b"\0\0")

    def tell(self, word: str) -> None:
        self._write(f"{word}\n".encode())

    def hang_up(self) -> None:
        if self._control is not None:
            self._control.close()

    async def end(self, *, at_once: bool = False) -> None:
        """Returns when the tree is gone and not before: who is cancelled meanwhile gets to know afterwards."""
        assert self.process is not None
        loop = asyncio.get_running_loop()
        deadline = loop.time() + GIVE_UP_SECONDS
        interrupted: asyncio.CancelledError | None = None
        self.tell("kill" if at_once else "stop")
        while not self.gone.done() and loop.time() < deadline:
            try:
                await asyncio.wait({self.gone}, timeout=deadline - loop.time())
            except asyncio.CancelledError as again:
                # Asked a second time: no more patience.
                interrupted = again
                self.tell("kill")
        self.hang_up()
        if not self.gone.done():
            with suppress(ProcessLookupError):
                self.process.kill()
        await self.process.wait()
        if interrupted is not None:
            raise interrupted

    def _write(self, data: bytes) -> None:
        if self._control is not None and not self._control.is_closing():
            self._control.write(data)


async def _start(
    words: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    stdin: bytes | BinaryIO | None,
    stdout: BinaryIO,
    stderr: BinaryIO,
    pass_fds: Sequence[int],
) -> Child:
    """A warden that has been told to go. Raises OSError if there can be none."""
    ours, theirs = socket.socketpair()
    with ExitStack() as ends:
        # What the warden has a copy of is closed here, so that nothing stays open when it ends.
        for end in (theirs, stdout, stderr):
            ends.enter_context(end)
        source: int = subprocess.DEVNULL
        if stdin is not None and not isinstance(stdin, bytes):
            source = ends.enter_context(stdin).fileno()
        elif stdin is not None:
            # A file rather than a pipe: nobody has to feed it.
            file = ends.enter_context(TemporaryFile())
            file.write(stdin)
            file.seek(0)
            source = file.fileno()
        _, child = await asyncio.get_running_loop().create_connection(Child, sock=ours)
        try:
            child.process = await asyncio.create_subprocess_exec(
                sys.executable, "-I", "-S", warden.__file__, str(theirs.fileno()), *words,
                cwd=cwd, env=_warden_environment(), stdin=source, stdout=stdout, stderr=stderr,
                pass_fds=[theirs.fileno(), *pass_fds], start_new_session=True,
            )  # fmt: skip
        except BaseException:
            # It starts nothing before it knows the environment: a call cancelled just now leaves nothing behind.
            child.hang_up()
            raise
    child.start(env)
    return child


def _warden_environment() -> dict[str, str]:
    """Only what this Python itself may need to start. What is meant for the command could harm the warden."""
    return {name: value for name, value in os.environ.items() if name == "LD_LIBRARY_PATH"}


def _check(argv: Sequence[str], *, cwd: Path, env: Mapping[str, str], timeout: float | None, output_limit: int) -> None:
    if isinstance(argv, str) or not argv:
        raise ValidationError("expected a program and its arguments as a list of words, and at least one word")
    for text in (*argv, os.fspath(cwd), *env, *env.values()):
        try:
            encoded = os.fsencode(text)
        except UnicodeEncodeError as problem:
            raise ValidationError("a word of the command holds half a character. Write it as UTF-8") from problem
        if b"\0" in encoded:
            raise ValidationError("a word of the command holds a NUL, which no program can be given. Leave it out")
    if bad := [name for name in env if not name or "=" in name]:
        raise ValidationError(f"an environment variable's name is neither empty nor holds '=', found {bad[0]!r}")
    if timeout is not None and not 0 < timeout < math.inf:
        raise ValidationError(f"timeout is in seconds and more than 0, found {timeout}. None stands for no limit")
    if output_limit < 0:
        raise ValidationError(f"output_limit is in bytes and at least 0, found {output_limit}")


def _not_started(program: str, problem: OSError, cwd: Path) -> ShellResult:
    if problem.filename is not None and os.fspath(problem.filename) == os.fspath(cwd):
        return ShellResult(CANNOT_RUN, "", f"the working directory {cwd} cannot be entered ({problem.strerror})\n")
    return cannot_run(program, problem.errno or 0)


def cannot_run(program: str, number: int) -> ShellResult:
    """The result of a program that could not be started, in a shell's terms."""
    if number in (errno.ENOENT, errno.ENOTDIR):
        text = f"{program}: not found. Name a program on the PATH, or give the path of one\n"
        return ShellResult(NOT_FOUND, "", text)
    return ShellResult(CANNOT_RUN, "", f"{program}: cannot be run ({os.strerror(number)})\n")


def _result(program: str, child: Child, stdout: Output, stderr: Output, *, timeout: float | None) -> ShellResult:
    report = child.report
    if "cannot" in report:
        return cannot_run(program, report["cannot"])
    reason = ""
    if timeout is not None:
        code, reason = TIMED_OUT, f"stopped: it took longer than {timeout:g} s"
    elif "exit" in report:
        code = report["exit"]
    else:
        code = BY_SIGNAL + report.get("signal", signal.SIGKILL)
    if stdout.is_flood or stderr.is_flood:
        reason = f"stopped: it put out more than {FLOOD_BYTES // 2**20} MiB"
    elif "exit" not in report and "signal" not in report:
        reason = "stopped: the process that watches over it was killed"
    elif "left" in report:
        reason = "some of its processes could not be ended"
    return ShellResult(
        code,
        stdout.text,
        stderr.text,
        timed_out=timeout is not None,
        reason=reason,
        truncated=stdout.is_truncated or stderr.is_truncated,
    )
