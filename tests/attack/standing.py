"""A server in a process of its own, for the tests that flood it."""

import asyncio
import gc
import sys

from pollux.serve import COLLECT


async def stand(url: str) -> None:
    """Say where it is, and stay until the input ends. Garbage is collected as `pollux serve` has it."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*COLLECT)
    print(url, flush=True)
    await asyncio.to_thread(sys.stdin.read)
