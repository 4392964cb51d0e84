"""Which models an agent block may choose from: what the service of the settings' model offers, asked now and then."""

import asyncio
from dataclasses import dataclass
from typing import Final

from pollux.bootstrap import Opened
from pollux.config.models import model_named
from pollux.core.errors import PolluxError
from pollux.core.ids import Instant
from pollux.engine.logs import log_of

logger = log_of(__name__)

SECONDS: Final = 10.0
FRESH_SECONDS: Final = 300.0
"""For so long a list counts; one that could not be had is asked for again at once."""


@dataclass
class Models:
    """The names that a block takes, of one service. Empty where it tells none."""

    opened: Opened | None
    model: str
    _names: tuple[str, ...] = ()
    _until: Instant | None = None

    async def names(self, now: Instant) -> tuple[str, ...]:
        """As they were told lately, or as they are told now."""
        if self.opened is None or (self._until is not None and now < self._until):
            return self._names
        try:
            async with asyncio.timeout(SECONDS):
                offered = await self.opened(self.model).models()
        except (PolluxError, TimeoutError) as problem:
            logger.warning("no list of models for the configuration of agents (%s)", type(problem).__name__)
            return self._names
        named = (model_named(info.name, self.model) for info in offered)
        self._names = tuple(sorted({name for name in named if name}))
        self._until = Instant(now + FRESH_SECONDS)
        return self._names
