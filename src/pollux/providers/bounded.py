"""So many answers at a time, and no more: what a provider allows, or a machine can serve."""

import asyncio
from collections.abc import AsyncGenerator

from pollux.engine.model import ModelEvent, ModelInfo, ModelRequest, Provider


class Bounded:
    """A provider that is asked for `most` answers at once. Who comes later waits for a place, in order."""

    def __init__(self, provider: Provider, most: int) -> None:
        self._provider = provider
        self._places = asyncio.Semaphore(most)

    @property
    def name(self) -> str:
        return self._provider.name

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent]:
        async with self._places:
            events = self._provider.stream(request)
            try:
                async for event in events:
                    yield event
            finally:
                # The place is free when nothing more is read from the provider, not when somebody collects garbage.
                if isinstance(events, AsyncGenerator):
                    await events.aclose()

    async def count_tokens(self, request: ModelRequest) -> int:
        return await self._provider.count_tokens(request)

    async def models(self) -> tuple[ModelInfo, ...]:
        return await self._provider.models()

    async def close(self) -> None:
        await self._provider.close()
