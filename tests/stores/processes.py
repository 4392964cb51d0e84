"""Start worker.py in processes of their own, and read what they say."""

import asyncio
import sys
from asyncio.subprocess import PIPE, Process
from pathlib import Path

WORKER = Path(__file__).with_name("worker.py")


async def started(*arguments: object, before: tuple[str, ...] = ()) -> Process:
    """A worker, optionally under another program such as strace."""
    words = [*before, sys.executable, str(WORKER), *map(str, arguments)]
    return await asyncio.create_subprocess_exec(*words, stdout=PIPE, stderr=PIPE)


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
