"""Something that moves while we wait, and the seconds so far. It leaves no trace, and needs no control codes."""

import asyncio
import time
from typing import Final, TextIO

from pollux.cli.folding import columns_of

FRAMES: Final = "|/-\\"
EVERY: Final = 0.12


class Spinner:
    """One line at the left edge of a terminal."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._task: asyncio.Task[None] | None = None
        self._width = 0

    def start(self, label: str) -> None:
        """Say what is waited for. The seconds count from here."""
        self.stop()
        self._task = asyncio.create_task(self._turn(label))

    def stop(self) -> None:
        """Leave the line as it was."""
        if self._task is not None:
            self._task.cancel()
            self._task = None
        if self._width:
            self._out.write(f"\r{' ' * self._width}\r")
            self._out.flush()
            self._width = 0

    async def _turn(self, label: str) -> None:
        began = time.monotonic()
        number = 0
        while True:
            # What is over at once needs no spinner.
            await asyncio.sleep(EVERY)
            text = f"{FRAMES[number % len(FRAMES)]} {label} {time.monotonic() - began:.0f} s"
            # A line that wraps could not be taken back.
            text = text[: max(1, (columns_of(self._out) or 80) - 1)]
            self._out.write(f"\r{text.ljust(self._width)}")
            self._out.flush()
            self._width = max(self._width, len(text))
            number += 1
