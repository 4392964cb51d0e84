"""How tests wait: for something to happen, never for time to pass.

`HANG_SECONDS` only ends a test whose event never comes. A busy machine takes longer and still passes, so nothing may be
decided by it.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from inspect import isawaitable
from typing import TypeVar

T = TypeVar("T")

HANG_SECONDS = 30.0
POLL_SECONDS = 0.01


async def until(probe: Callable[[], T | Awaitable[T]], *, seconds: float = HANG_SECONDS) -> T:
    """What the probe returns, once that is true."""
    async with asyncio.timeout(seconds):
        while True:
            found = probe()
            result: T = await found if isawaitable(found) else found
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
