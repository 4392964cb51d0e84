"""Where the person's words come from: a line editor at a terminal (`editor`), plain lines from a pipe."""

import asyncio
import os
from typing import Protocol


class Interrupted(Exception):
    """Ctrl-C while somebody was to type. `had_text` tells whether there was anything to clear."""

    def __init__(self, *, had_text: bool = False) -> None:
        super().__init__()
        self.had_text = had_text


class Keys(Protocol):
    """Words, as they are typed."""

    async def prompt(self) -> str | None:
        """The next words, several lines where they belong together; None when there are no more. Raises Interrupted."""
        ...

    async def ask(self, question: str) -> str | None:
        """One line in answer to a question; None where there is nobody to give one. Raises Interrupted."""
        ...

    def interrupt(self) -> None:
        """As if Ctrl-C had been typed."""
        ...


class Piped:
    """Lines from a pipe, a file or /dev/null. A trailing backslash joins a line with the next."""

    def __init__(self, descriptor: int = 0) -> None:
        self._descriptor = descriptor
        self._unread = bytearray()
        self._has_ended = False

    async def prompt(self) -> str | None:
        lines: list[str] = []
        while (line := await self._line()) is not None:
            if not line.endswith("\\"):
                return "\n".join([*lines, line])
            lines.append(line.removesuffix("\\"))
        return "\n".join(lines) if lines else None

    async def ask(self, question: str) -> str | None:
        return None

    def interrupt(self) -> None:
        pass

    async def _line(self) -> str | None:
        at = self._unread.find(b"\n")
        while at < 0 and not self._has_ended:
            known = len(self._unread)
            self._unread += await self._more()
            at = self._unread.find(b"\n", known)
        if at < 0 and not self._unread:
            return None
        end = at if at >= 0 else len(self._unread)
        line = self._unread[:end].decode("utf-8", "replace").removesuffix("\r")
        del self._unread[: end + 1]
        return line

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


async def _readable(descriptor: int) -> None:
    """Until there is something to read. A plain file or /dev/null cannot be waited for, and need not be."""
    loop = asyncio.get_running_loop()
    ready: asyncio.Future[None] = loop.create_future()
    try:
        loop.add_reader(descriptor, lambda: ready.done() or ready.set_result(None))
    except PermissionError:
        return
    try:
        await ready
    finally:
        loop.remove_reader(descriptor)
