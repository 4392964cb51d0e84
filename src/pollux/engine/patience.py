"""What to do about a store in trouble: ask again, less and less often, for as long as it takes."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TypeVar

from pollux.core.errors import StoreError

logger = logging.getLogger(__name__)

DELAYS = (0.05, 0.2, 0.5, 1.0, 2.0)
"""Seconds between tries."""

T = TypeVar("T")


async def patiently(work: Callable[[], Awaitable[T]]) -> T:
    """The work's answer, asked for until the store gives one."""
    tries = 0
    while True:
        try:
            return await work()
        except StoreError:
            await pause(tries)
            tries += 1


async def pause(tries: int) -> None:
    """Give a store in trouble some time."""
    logger.warning("the store is in trouble; trying again", exc_info=tries == 0)
    await asyncio.sleep(DELAYS[min(tries, len(DELAYS) - 1)])
