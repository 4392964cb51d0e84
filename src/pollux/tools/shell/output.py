"""What a program puts out, within bounds: its first and its last words are kept, the middle is counted."""

import asyncio
import os
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import BinaryIO

FLOOD_BYTES = 64 * 1024 * 1024
"""Nobody reads this much. A program that puts out more, perhaps for ever, is stopped."""

OnOutput = Callable[[str, bytes], None]
"""Takes `stdout` or `stderr` and what has just arrived there, up to the limit."""


class Output(asyncio.Protocol):
    """One of a program's outputs. `pipe` is the end for the program, `closed` is done when nobody holds it any more."""

    def __init__(self, name: str, limit: int, *, pipe: BinaryIO, on_output: OnOutput | None, stop: Callable[[], None]):
        self.pipe = pipe
        self.closed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.size = 0
        self.problem: Exception | None = None
        self._name = name
        self._limit = limit
        self._head = bytearray()
        self._tail = bytearray()
        self._on_output = on_output
        self._stop = stop

    @property
    def is_truncated(self) -> bool:
        return self.size > self._limit

    @property
    def is_flood(self) -> bool:
        return self.size > FLOOD_BYTES

    @property
    def text(self) -> str:
        """All of it, or its two ends with a line between them that says how much is missing."""
        if not self.is_truncated:
            return (self._head + self._tail).decode("utf-8", "replace")
        head = _without_broken_end(self._head)
        tail = _without_broken_start(self._tail[len(self._tail) - self._room_for_tail :])
        missing = self.size - len(head) - len(tail)
        return f"{head.decode('utf-8', 'replace')}\n[{missing} bytes left out]\n{tail.decode('utf-8', 'replace')}"

    def data_received(self, data: bytes) -> None:
        if self._on_output is not None and self.size < self._limit:
            self._pass_on(self._on_output, data[: self._limit - self.size])
        self.size += len(data)
        room = self._limit // 2 - len(self._head)
        self._head += data[:room]
        self._tail += data[room:]
        if len(self._tail) > 2 * self._room_for_tail:
            del self._tail[: len(self._tail) - self._room_for_tail]
        if self.is_flood:
            self._stop()

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.closed.done():
            self.closed.set_result(None)

    @property
    def _room_for_tail(self) -> int:
        return self._limit - self._limit // 2

    def _pass_on(self, on_output: OnOutput, data: bytes) -> None:
        try:
            on_output(self._name, data)
        except Exception as problem:  # noqa: BLE001  The top of a callback: whoever started the program gets it.
            self.problem, self._on_output = problem, None
            self._stop()


@asynccontextmanager
async def listen(
    name: str, limit: int, *, on_output: OnOutput | None, stop: Callable[[], None]
) -> AsyncGenerator[Output]:
    """An output that is being read. `stop` is called when its program should not go on."""
    readable, writable = os.pipe()
    with os.fdopen(writable, "wb", buffering=0) as pipe:
        output = Output(name, limit, pipe=pipe, on_output=on_output, stop=stop)
        reading = os.fdopen(readable, "rb", buffering=0)  # The transport closes it.
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(lambda: output, reading)
        try:
            yield output
        finally:
            transport.close()


def _without_broken_end(data: bytearray) -> bytearray:
    """Without the beginning of a character whose rest was left out."""
    for length in range(1, min(3, len(data)) + 1):
        byte = data[-length]
        if byte >= 0xC0:
            wanted = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return data[:-length] if length < wanted else data
        if byte < 0x80:
            break
    return data


def _without_broken_start(data: bytearray) -> bytearray:
    start = 0
    while start < min(3, len(data)) and 0x80 <= data[start] < 0xC0:
        start += 1
    return data[start:]
