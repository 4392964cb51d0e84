"""Start worker.py in processes of their own, and read what they say."""

import asyncio
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from contextlib import suppress
from pathlib import Path

HERE = Path(__file__).parent
_started: list[int] = []


async def started(*arguments: object, before: tuple[str, ...] = ()) -> Process:
    """A worker, optionally under another program such as strace."""
    return await _start(*before, sys.executable, str(HERE / "worker.py"), *map(str, arguments))


async def started_on_postgres(*arguments: object) -> Process:
    """A worker on a PostgreSQL store."""
    return await _start(sys.executable, str(HERE / "postgres_worker.py"), *map(str, arguments))


async def _start(*words: str) -> Process:
    # A group of its own, so that a tracer and what it traces can be killed together.
    process = await asyncio.create_subprocess_exec(*words, stdout=PIPE, stderr=PIPE, start_new_session=True)
    _started.append(process.pid)
    return process


def kill_all() -> None:
    """Whoever is still there. A test that failed may have left some, and they would write on and on."""
    while _started:
        pid = _started.pop()
        with suppress(ChildProcessError):
            # Not one that has been waited for: its number may be another's by now.
            os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            os.killpg(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


async def finished(process: Process) -> list[str]:
    """Its lines, once it has ended well."""
    out, err = await asyncio.wait_for(process.communicate(), 120)
    assert process.returncode == 0, err.decode()
    return out.decode().splitlines()


async def line_of(process: Process) -> str:
    """The next line it says; empty when it has ended."""
    assert process.stdout
    return (await asyncio.wait_for(process.stdout.readline(), 60)).decode().strip()


def kept(lines: list[str]) -> list[str]:
    """The runs whose commit was acknowledged."""
    return [line.split()[1] for line in lines if line.startswith("kept ")]
