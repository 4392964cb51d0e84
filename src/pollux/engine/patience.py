"""Waiting for a store in trouble. What happened has happened, whether or not it can be written down yet."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TypeVar

from pollux.core.errors import StoreError

logger = logging.getLogger(__name__)

DELAYS = (0.05, 0.2, 0.5, 1.0, 2.0)

T = TypeVar("T")


async def patiently(work: Callable[[], Awaitable[T]]) -> T:
    """The work's answer, asked for until the store gives one."""
    tries = 0
    while True:
        try:
            return await work()
        except StoreError:
            logger.warning("the store is in trouble; trying again", exc_info=tries == 0)
            await asyncio.sleep(DELAYS[min(tries, len(DELAYS) - 1)])
            tries += 1
