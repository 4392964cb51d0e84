"""A stream that is never silent for long: proxies and phones drop connections on which nothing is heard."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Final, TypeVar

T = TypeVar("T")

BEAT_SECONDS: Final = 15.0


async def with_beats(items: AsyncIterator[T]) -> AsyncGenerator[T | None]:
    """The items, and None where nothing has happened for a while."""
    waiting: asyncio.Future[T] | None = None
    try:
        while True:
            waiting = waiting or asyncio.ensure_future(_next(items))
            done, _ = await asyncio.wait({waiting}, timeout=BEAT_SECONDS)
            if not done:
                yield None
                continue
            try:
                item = waiting.result()
            except StopAsyncIteration:
                return
            waiting = None
            yield item
    finally:
        if waiting is not None:
            waiting.cancel()
            await asyncio.wait({waiting})


async def _next(items: AsyncIterator[T]) -> T:
    return await anext(items)
