"""A program at a real pseudo-terminal, driven as a person would: look, then type."""

import asyncio
import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from tests.waiting import HANG_SECONDS, until

READY: Final = "\x1b[?2004h"
"""What the line editor writes when it begins to listen."""

ENTER, ALT_ENTER, CTRL_C, CTRL_D, UP, TAB = "\r", "\x1b\r", "\x03", "\x04", "\x1b[A", "\t"


class Terminal:
    """Everything that was drawn, and a keyboard. `seen` moves on: what was waited for is not found again."""

    def __init__(self, command: Sequence[str], *, cwd: Path, env: Mapping[str, str], columns: int = 80) -> None:
        self._own, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        self._process = subprocess.Popen(
            command,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            cwd=cwd,
            env=dict(env),
            start_new_session=True,
            # Ctrl-C is a signal only to those whose own terminal it is.
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        self._theirs = theirs
        self._raw = b""
        self._seen = 0
        self._news = asyncio.Event()
        asyncio.get_running_loop().add_reader(self._own, self._read)

    @property
    def raw(self) -> str:
        """Every character drawn so far, control codes and all."""
        return self._raw.decode("utf-8", "replace")

    @property
    def text(self) -> str:
        """The same without the codes that move the cursor."""
        return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\r", "", self.raw)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def echoes(self) -> bool:
        """Whether the terminal is as a shell wants to find it."""
        return bool(termios.tcgetattr(self._own)[3] & termios.ECHO)

    async def ready(self) -> None:
        """Until it listens."""
        await self.until(READY)

    async def until(self, words: str) -> str:
        """What is drawn up to these words."""
        ends = asyncio.get_running_loop().time() + HANG_SECONDS
        while (at := self.raw.find(words, self._seen)) < 0:
            has_ended = self._process.poll() is not None
            self._news.clear()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._news.wait(), 0.5)
            waits = not has_ended and asyncio.get_running_loop().time() < ends
            assert waits or self._news.is_set(), f"waited for {words!r}, and saw:\n{self.raw[self._seen :]}"
        passed = self.raw[self._seen : at]
        self._seen = at + len(words)
        return passed

    def type(self, *keys: str) -> None:
        for key in keys:
            os.write(self._own, key.encode())

    async def say(self, words: str) -> None:
        """Wait for the prompt, and answer it."""
        await self.ready()
        self.type(words, ENTER)

    async def ended(self) -> int:
        """Its exit code."""
        await until(lambda: self._process.poll() is not None)
        return self._process.returncode

    def close(self) -> None:
        asyncio.get_running_loop().remove_reader(self._own)
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        os.close(self._own)
        os.close(self._theirs)

    def _read(self) -> None:
        self._raw += os.read(self._own, 65_536)
        self._news.set()
