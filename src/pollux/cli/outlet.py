"""Standard output as a contract: what is written here leaves, and nothing else does.

The descriptor is taken away from the process: whatever a library prints, or a child inherits, goes to standard error.
Nobody is waited for in `write`: what a slow reader does not take yet is kept, and `drained` waits for it in a way that
deadlines and signals can end.
"""

import os
import sys
import time
from typing import TYPE_CHECKING

from pollux.cli.streams import fill_gaps

if TYPE_CHECKING:
    import asyncio

# What a pipe that has room at all takes without blocking. The descriptor itself is left as it is: others share it.
_PIECE = 4096


class Closed(Exception):
    """Whoever read our output is gone."""


class Unwritable(Exception):
    """Standard output takes nothing: the disk is full, or the descriptor was never open. The text says which."""


def outlet_if_any() -> "Outlet | None":
    """Standard output, for those who go on without it."""
    try:
        return Outlet()
    except Unwritable:
        return None


class Outlet:
    """The real standard output, for one writer. Raises Unwritable where there is none."""

    def __init__(self) -> None:
        fill_gaps()
        if sys.__stdout__ is None:  # pyright: ignore[reportUnnecessaryComparison]  Closed before we were started.
            raise Unwritable("it is closed")
        sys.stdout.flush()
        self.descriptor = os.dup(1)
        # Not for children.
        os.set_inheritable(self.descriptor, False)
        os.dup2(2, 1)
        self.is_terminal = os.isatty(self.descriptor)
        self._kept = bytearray()

    def write(self, data: bytes) -> None:
        """Write it, or keep what nobody takes yet.

        Raises:
            Closed: nobody reads any more.
            Unwritable: it cannot be written.
        """
        self._kept += data
        while self._kept and self._has_room(0):
            self._send()

    async def drained(self) -> None:
        """Wait until everything has left. Raises as `write` does."""
        while self._kept:
            await self._room()
            self._send()

    def flush(self, seconds: float) -> None:
        """The same without an event loop, and for so long at most: the rest is dropped. Raises as `write` does."""
        until = time.monotonic() + seconds
        while self._kept and self._has_room(until - time.monotonic()):
            self._send()
        self._kept.clear()

    def _send(self) -> None:
        try:
            sent = os.write(self.descriptor, self._kept[:_PIECE])
        except BrokenPipeError:
            self._kept.clear()
            raise Closed from None
        except BlockingIOError:
            # Somebody else made the descriptor so, and took the room that there was.
            return
        except OSError as problem:
            self._kept.clear()
            raise Unwritable(problem.strerror or type(problem).__name__) from None
        del self._kept[:sent]

    def _has_room(self, seconds: float) -> bool:
        """Whether it can be written, or would fail."""
        import select

        poll = select.poll()
        poll.register(self.descriptor, select.POLLOUT)
        return bool(poll.poll(max(0.0, seconds) * 1000))

    async def _room(self) -> None:
        from asyncio import get_running_loop

        loop = get_running_loop()
        ready: asyncio.Future[None] = loop.create_future()
        loop.add_writer(self.descriptor, lambda: ready.done() or ready.set_result(None))
        try:
            await ready
        finally:
            loop.remove_writer(self.descriptor)
