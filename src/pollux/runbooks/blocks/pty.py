"""Run a program with its outputs on a terminal of its own, so that it writes as it would for a person.

Its input is empty all the same, and the terminal is not its controlling one: a program that asks for a password fails
at once, rather than wait for somebody who is not there.
"""

import asyncio
import fcntl
import os
import struct
import termios
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO, Final

from pollux.core.frozen import frozen
from pollux.tools.shell.output import FLOOD_BYTES, OnOutput, Output
from pollux.tools.shell.process import BY_SIGNAL, PIPE_SECONDS, TIMED_OUT, cannot_run, start_process

MAX_SIDE: Final = 1_000


@frozen
class Shown:
    """What a program has shown on its terminal, and how it ended. Exit codes are a shell's."""

    exit_code: int
    output: str
    byte_count: int
    reason: str = ""


async def run_on_terminal(
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    rows: int,
    columns: int,
    timeout: float | None,
    output_limit: int,
    on_output: OnOutput,
) -> Shown:
    """Run a program by its argv, and see its whole tree end: also when the call is cancelled.

    Raises ValidationError for what no system could start, and whatever `on_output` raises.
    """
    enough: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def stop() -> None:
        if not enough.done():
            enough.set_result(None)

    with ExitStack() as ends:
        reading, slave = _terminal(rows, columns)
        again, nothing = _again(slave), _nothing()
        # Each is closed by whom it is given to. Here it is for the case that nobody took it.
        for end in (reading, slave, again, nothing):
            ends.enter_context(end)
        output = Output("stdout", output_limit, pipe=slave, on_output=on_output, stop=stop)
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(lambda: output, reading)
        ends.callback(transport.close)
        child = await start_process(argv, cwd=cwd, env=env, stdin=nothing, stdout=slave, stderr=again)
        try:
            done, _ = await asyncio.wait({child.gone, enough}, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
        finally:
            await child.end()
        await asyncio.wait({output.closed}, timeout=PIPE_SECONDS)
    if output.problem is not None:
        raise output.problem
    return _shown(argv[0], child.report, output, timeout=None if done else timeout)


def _shown(program: str, report: Mapping[str, int], output: Output, *, timeout: float | None) -> Shown:
    if "cannot" in report:
        failed = cannot_run(program, report["cannot"])
        return Shown(failed.exit_code, failed.stderr, 0, failed.stderr.strip())
    code = report["exit"] if "exit" in report else BY_SIGNAL + report.get("signal", 9)
    reason = ""
    if timeout is not None:
        code, reason = TIMED_OUT, f"stopped: it took longer than {timeout:g} s"
    elif output.is_flood:
        reason = f"stopped: it put out more than {FLOOD_BYTES // 2**20} MiB"
    elif "exit" not in report and "signal" not in report:
        reason = "stopped: the process that watches over it was killed"
    return Shown(code, output.text, output.size, reason)


def _terminal(rows: int, columns: int) -> tuple[BinaryIO, BinaryIO]:
    """Our end of a new terminal, and the program's."""
    ours, theirs = os.openpty()
    sides = (min(max(side, 1), MAX_SIDE) for side in (rows, columns))
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", *sides, 0, 0))
    return os.fdopen(ours, "rb", buffering=0), os.fdopen(theirs, "wb", buffering=0)


def _again(file: BinaryIO) -> BinaryIO:
    return os.fdopen(os.dup(file.fileno()), "wb", buffering=0)


def _nothing() -> BinaryIO:
    return os.fdopen(os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC), "rb")
