"""The application of `pollux serve`, with a model that may talk without ever waiting. Prints `LISTENING port`.

never-N: N deltas from a provider that awaits nothing between them. Anything else goes to the model server.
"""

import asyncio
import os
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

from pollux.asgi.credentials import authority_of, credentials_of
from pollux.asgi.listening import listening
from pollux.bootstrap import Registry, open_store, running_engine
from pollux.config import read_settings
from pollux.core.messages import Message, Text
from pollux.core.profile import Limits, Profile
from pollux.engine.model import Done, ModelEvent, ModelInfo, ModelRequest, Provider, TextDelta
from pollux.serve import application

WORD = "word "
MODEL = "gemini-2.5-flash"


class Restless:
    """A provider that gives the loop no chance while it talks."""

    def __init__(self, other: Provider) -> None:
        self._other = other
        self.name = other.name

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        prompt = request.turns[-1].text
        if not prompt.startswith("never-"):
            async for event in self._other.stream(request):
                yield event
            return
        count = int(prompt.removeprefix("never-"))
        for _ in range(count):
            yield TextDelta(WORD)
        yield Done("end", Message("assistant", (Text(WORD * count),)))

    async def count_tokens(self, request: ModelRequest) -> int:
        return await self._other.count_tokens(request)

    async def models(self) -> tuple[ModelInfo, ...]:
        return await self._other.models()

    async def close(self) -> None:
        await self._other.close()


class Providers(Registry):
    """The configured ones, made restless."""

    def __call__(self, model: str) -> Provider:
        return Restless(super().__call__(model))


async def main() -> None:
    settings = replace(read_settings(os.environ, cwd=Path.cwd()), port=0)
    store = open_store(settings)
    authority = authority_of(settings, credentials_of(settings), store)
    profiles = {"default": Profile(model=MODEL, limits=Limits(model_calls=3))}
    async with (
        running_engine(settings, profiles=profiles, store=store, providers=Providers(settings)) as engine,
        listening(application(settings, engine, authority), settings) as server,
    ):
        print("LISTENING", server.url.rpartition(":")[2], flush=True)
        await server.serving


if __name__ == "__main__":
    asyncio.run(main())
