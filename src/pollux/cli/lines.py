"""Lines from standard input without blocking the loop, and without a thread that keeps the program from ending."""

import asyncio
import os
import stat
import sys
from typing import Protocol


class Lines(Protocol):
    """Where a person's words come from."""

    async def next(self, prompt: str) -> str | None:
        """The next line without its end, or None when there are no more."""
        ...


class StandardInput:
    """Works for terminals, pipes, files and /dev/null alike."""

    def __init__(self) -> None:
        self._reader: asyncio.StreamReader | None = None
        self._transport: asyncio.ReadTransport | None = None
        self._can_wait = _can_wait(sys.stdin.fileno())
        self._is_terminal = sys.stdin.isatty()

    async def next(self, prompt: str) -> str | None:
        sys.stdout.write(prompt)
        sys.stdout.flush()
        line = await self._read()
        if not self._is_terminal:
            sys.stdout.write(line.decode("utf-8", "replace"))
        return line.decode("utf-8", "replace").rstrip("\r\n") if line else None

    async def _read(self) -> bytes:
        if self._reader is None and self._can_wait:
            await self._connect()
        if self._reader is None:
            return sys.stdin.buffer.readline()
        try:
            return await self._reader.readline()
        except asyncio.CancelledError:
            # Whoever is stopped while waiting for a line reads no more of them.
            if self._transport is not None:
                self._transport.close()
            raise

    async def _connect(self) -> None:
        reader = asyncio.StreamReader()
        # A descriptor of our own: the transport closes it at the end, and standard input stays as it was.
        own = os.fdopen(os.dup(sys.stdin.fileno()), "rb", buffering=0)
        loop = asyncio.get_running_loop()
        self._transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), own)
        self._reader = reader


def _can_wait(descriptor: int) -> bool:
    """A plain file or /dev/null cannot be waited for, and need not be: reading it never blocks."""
    mode = os.fstat(descriptor).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or os.isatty(descriptor)
