"""Processes of the emulator: none outlives its test."""

from asyncio.subprocess import Process
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager


@asynccontextmanager
async def ended(process: Process) -> AsyncGenerator[None]:
    """However the test ends, the process does."""
    try:
        yield
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
