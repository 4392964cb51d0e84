"""A server for pages in a process of its own, whose model does as it is told: `python -m tests.attack.page_process`.

A message that names a bomb has the model call the page's tool with what goes with it.
"""

import asyncio
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from tests.attack.schema_bombs import BOMBS
from tests.attack.standing import stand
from tests.page.site import page_site

from pollux.engine.model import ModelEvent, ModelInfo, ModelRequest
from pollux.providers.scripted import ScriptedProvider, call, reply
from pollux.stores.sqlite import SqliteStore

UNBOUNDED: dict[str, Any] = {"requests_per_minute": 1e9, "burst": 10**9, "visitor_tokens_per_day": 10**12}


class Obedient:
    """Calls the page's tool as the bomb of that name has it."""

    name = "obedient"

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        last = request.turns[-1]
        is_asked = last.role == "user" and last.text in BOMBS and any(tool.name == "act" for tool in request.tools)
        step = call("act", BOMBS[last.text][1]) if is_asked else reply("Done.")
        async for event in ScriptedProvider(step).stream(request):
            yield event

    async def count_tokens(self, request: ModelRequest) -> int:
        return 1

    async def models(self) -> tuple[ModelInfo, ...]:
        return ()

    async def close(self) -> None:
        pass


async def _main(home: Path) -> None:
    store = SqliteStore(home / "pollux.db", key=b"k" * 32)
    async with page_site(home, Obedient(), store=store, **UNBOUNDED) as site:
        await stand(site.url)


if __name__ == "__main__":
    asyncio.run(_main(Path(sys.argv[1])))
