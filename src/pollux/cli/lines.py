"""Lines from standard input without blocking the loop, and without a thread that keeps the program from ending."""

import asyncio
import os
import sys
from typing import Protocol

from pollux.cli.reading import too_much


class Lines(Protocol):
    """Where a person's words come from."""

    async def next(self, prompt: str) -> str | None:
        """The next line without its end, or None when there are no more."""
        ...

    def forget(self) -> None:
        """Drop what a person has typed so far: what was typed before a question was there is no answer to it."""
        ...


class LineReader:
    """Lines from a terminal, a pipe, a file or /dev/null alike."""

    def __init__(self, descriptor: int = 0) -> None:
        self._descriptor = descriptor
        self._unread = bytearray()
        self._has_ended = False

    async def next(self) -> str | None:
        """The next line without its end, or None when there are no more. Raises ConfigError for one without an end."""
        at = self._unread.find(b"\n")
        while at < 0 and not self._has_ended:
            known = len(self._unread)
            self._unread += await self._more()
            too_much(len(self._unread), "a line")
            at = self._unread.find(b"\n", known)
        if at < 0 and not self._unread:
            return None
        end = at if at >= 0 else len(self._unread)
        line = self._unread[:end].decode("utf-8", "replace").removesuffix("\r")
        del self._unread[: end + 1]
        return line

    def forget(self) -> None:
        """Drop what was read and not yet given."""
        self._unread.clear()

    async def _more(self) -> bytes:
        try:
            await _readable(self._descriptor)
            data = os.read(self._descriptor, 65_536)
        except BlockingIOError:
            return b""
        except OSError:
            # It was never open, or is gone: there are no more words.
            data = b""
        self._has_ended = not data
        return data


class StandardInput:
    """Asks on standard output, and reads the answer from standard input."""

    def __init__(self) -> None:
        self._lines = LineReader()
        self._is_terminal = os.isatty(0)

    async def next(self, prompt: str) -> str | None:
        sys.stdout.write(prompt)
        sys.stdout.flush()
        line = await self._lines.next()
        if line is not None and not self._is_terminal:
            sys.stdout.write(f"{line}\n")
        return line

    def forget(self) -> None:
        if not self._is_terminal:
            # Nobody types: all of it was written beforehand, the answers too.
            return
        from pollux.cli.asking import forget_typed

        self._lines.forget()
        forget_typed()


async def _readable(descriptor: int) -> None:
    """Until there is something to read. A plain file or /dev/null cannot be waited for, and need not be."""
    loop = asyncio.get_running_loop()
    ready: asyncio.Future[None] = loop.create_future()
    try:
        loop.add_reader(descriptor, lambda: ready.done() or ready.set_result(None))
    except PermissionError:
        # Others have their turn all the same: a signal ends also what reads a file without an end.
        await asyncio.sleep(0)
        return
    try:
        await ready
    finally:
        loop.remove_reader(descriptor)
