"""A better text for an unknown model: the nearest that the service has."""

import asyncio
from collections.abc import Awaitable, Callable
from difflib import get_close_matches

from pollux.core.errors import ModelError
from pollux.engine.model import ModelInfo

LISTING_SECONDS = 10.0
"""How long a list of models may take. It helps; nobody waits long for it."""


async def with_nearest(
    error: ModelError, model: str, models: Callable[[], Awaitable[tuple[ModelInfo, ...]]]
) -> ModelError:
    """The error, naming the nearest models. A listing that fails must not hide why it was asked for."""
    try:
        async with asyncio.timeout(LISTING_SECONDS):
            known = [info.name for info in await models()]
    except (ModelError, TimeoutError):
        return error
    near = get_close_matches(model, known, n=3, cutoff=0.4) or known[:5]
    return ModelError(f"{error} Did you mean {' or '.join(near)}?", kind=error.kind) if near else error
