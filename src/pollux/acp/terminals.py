"""A command as an agent's terminal: it runs by itself, and its last output can be looked at while it does."""

import asyncio
import signal
from collections.abc import Callable, Coroutine
from typing import Any, Final

from pollux.acp.client import TerminalExit, TerminalOutput
from pollux.tools.shell.output import OnOutput
from pollux.tools.shell.process import BY_SIGNAL, ShellResult

Run = Callable[[OnOutput], Coroutine[Any, Any, ShellResult]]
"""Runs the command as a process tree and passes on what it puts out: `run_process` or `run_boxed`, the rest given."""

MOST_KEPT: Final = 2**20


class CommandTerminal:
    """A Terminal. Killed and released, nothing of its command is left: cancelling `run` sees to that."""

    def __init__(self, run: Run, *, output_byte_limit: int | None = None) -> None:
        self._limit = MOST_KEPT if output_byte_limit is None else min(output_byte_limit, MOST_KEPT)
        self._kept = bytearray()
        self._size = 0
        self._task = asyncio.create_task(self._ran(run))

    async def output(self) -> TerminalOutput:
        """The last of what it put out."""
        tail = bytes(self._kept[max(0, len(self._kept) - self._limit) :])
        # What was cut may have been cut inside a character.
        text = tail.decode("utf-8", "replace") if self._size <= self._limit else _whole(tail)
        return TerminalOutput(text, self._size > self._limit, self._exit() if self._task.done() else None)

    async def wait(self) -> TerminalExit:
        await asyncio.wait({self._task})
        return self._exit()

    async def kill(self) -> None:
        """Returns when nothing of it is left; what it put out can still be looked at."""
        self._task.cancel()
        await asyncio.wait({self._task})

    async def release(self) -> None:
        await self.kill()

    async def _ran(self, run: Run) -> ShellResult:
        result = await run(self._take)
        if not self._size:
            # Why it did not run was put out by nobody.
            self._take("stderr", result.stderr.encode())
        return result

    def _take(self, name: str, data: bytes) -> None:
        self._size += len(data)
        self._kept += data
        if len(self._kept) > 2 * self._limit:
            del self._kept[: len(self._kept) - self._limit]

    def _exit(self) -> TerminalExit:
        """Raises what `run` raised."""
        if self._task.cancelled():
            return TerminalExit(signal="SIGKILL")
        code = self._task.result().exit_code
        number = code - BY_SIGNAL
        if number in {each.value for each in signal.Signals}:
            return TerminalExit(signal=signal.Signals(number).name)
        return TerminalExit(code=code)


def _whole(data: bytes) -> str:
    start = 0
    while start < min(3, len(data)) and 0x80 <= data[start] < 0xC0:
        start += 1
    return data[start:].decode("utf-8", "replace")
