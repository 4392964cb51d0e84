"""How tests wait: for something to happen, never for time to pass.

`HANG_SECONDS` only ends a test whose event never comes. A busy machine takes longer and still passes, so nothing may be
decided by it.
"""

import asyncio
import os
import threading
import time
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager, suppress
from inspect import isawaitable
from pathlib import Path
from typing import TypeVar, cast

T = TypeVar("T")

HANG_SECONDS = 30.0
POLL_SECONDS = 0.01


async def until(probe: Callable[[], T | Awaitable[T]], *, seconds: float = HANG_SECONDS) -> T:
    """What the probe returns, once that is true."""
    async with asyncio.timeout(seconds):
        while True:
            found = probe()
            result = cast("T", await found if isawaitable(found) else found)
            if result:
                return result
            await asyncio.sleep(POLL_SECONDS)


def block_until(probe: Callable[[], T], *, seconds: float = HANG_SECONDS) -> T:
    """The same, for a test without an event loop."""
    end = time.monotonic() + seconds
    while not (found := probe()):
        assert time.monotonic() < end, f"nothing came of it in {seconds:g} s"
        time.sleep(POLL_SECONDS)
    return found


def own_time() -> float:
    """Seconds on a clock that stands while other programs keep this thread from running.

    Work and idle waits count, a busy machine does not: what this measures may be held to a bound.
    """
    return time.monotonic() - kept_waiting(os.getpid(), threading.get_native_id())


def kept_waiting(process: int, thread: int) -> float:
    """Seconds for which this one thread could have run and others had the processors. The main thread has the number
    of its process. Others of its threads do not count: while they wait, this one may well run.
    """
    with suppress(OSError):
        return int(Path(f"/proc/{process}/task/{thread}/schedstat").read_text().split()[1]) / 1e9
    return 0.0


class Stopwatch:
    """Counts seconds as an idle machine would: fewer than pass while more programs want a processor than there are.

    For what other processes have promised to do in time: a busy machine passes, and who waits for too long does not.
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self._since = time.monotonic()

    def look(self) -> None:
        now = time.monotonic()
        self.seconds += (now - self._since) / _crowd()
        self._since = now


@contextmanager
def stopwatch() -> Generator[Stopwatch]:
    """One that goes while the block lasts."""
    watch = Stopwatch()
    with meanwhile(watch.look):
        yield watch
    watch.look()


@contextmanager
def meanwhile(act: Callable[[], object], *, pause: float = POLL_SECONDS) -> Generator[None]:
    """Acts again and again in a thread of its own, while the block lasts."""
    over = threading.Event()

    def repeat() -> None:
        while not over.wait(pause):
            act()

    repeating = threading.Thread(target=repeat)
    repeating.start()
    try:
        yield
    finally:
        over.set()
        repeating.join()


def _crowd() -> float:
    """How many want each processor at the moment, or wait for a disk; at least one."""
    with suppress(OSError):
        told = dict(line.split(maxsplit=1) for line in Path("/proc/stat").read_text().splitlines())
        # Whoever reads this runs, too.
        wanting = int(told["procs_running"]) - 1 + int(told["procs_blocked"])
        return max(1.0, wanting / (os.cpu_count() or 1))
    return 1.0
