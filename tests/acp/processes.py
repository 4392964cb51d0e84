"""A process of ours with agents of its own, as tests see it."""

import json
import subprocess
import sys
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

from tests.waiting import HANG_SECONDS, until

REPOSITORY: Final = Path(__file__).parents[2]


class Us:
    """Says what it does, line by line."""

    def __init__(self, process: subprocess.Popen[bytes], said: Path) -> None:
        self.process = process
        self._said = said
        self._heard = 0

    @property
    def has_news(self) -> bool:
        return self._said.read_bytes().count(b"\n") > self._heard

    async def hear(self, *, seconds: float = HANG_SECONDS) -> list[Any]:
        """What it says next."""
        await until(lambda: self.has_news, seconds=seconds)
        self._heard += 1
        return json.loads(self._said.read_bytes().splitlines()[self._heard - 1])


@asynccontextmanager
async def running(
    said: Path, agents: Mapping[str, Sequence[str]], *, timeout: float | None, one_by_one: bool = False
) -> AsyncGenerator[Us]:
    """It has begun to talk with these agents, by mark."""
    command = [sys.executable, "-m", "tests.acp.runner"]
    with (
        said.open("wb") as stdout,
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=stdout, cwd=REPOSITORY) as process,
    ):
        assert process.stdin is not None
        try:
            job = {"agents": agents, "timeout": timeout, "one_by_one": one_by_one}
            process.stdin.write(json.dumps(job).encode() + b"\n")
            process.stdin.flush()
            us = Us(process, said)
            assert await us.hear() == ["began"]
            yield us
        finally:
            process.kill()
