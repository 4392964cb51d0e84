"""What the page's door is made of."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import field
from typing import TypeVar

from pollux.asgi.auth import Authority
from pollux.asgi.budget import Budget
from pollux.asgi.visits import Visits
from pollux.core.frozen import frozen
from pollux.core.tools import ToolSpec
from pollux.engine.engine import Engine

T = TypeVar("T")

DEFAULT_PROFILE = "page"


@frozen
class PageRuntime:
    """One server's engine, and what visitors may do with it."""

    engine: Engine
    authority: Authority
    visits: Visits
    keys: Sequence[bytes]
    """The first seals histories, all of them open."""
    origins: frozenset[str] = frozenset()
    """Pages elsewhere that may talk; those of this server may always."""
    profiles: frozenset[str] = frozenset({DEFAULT_PROFILE})
    """The agents that visitors may talk to."""
    actions: Mapping[str, ToolSpec] = field(default_factory=dict[str, ToolSpec])
    """What the site's server does for the model, by the model's names."""

    reading: Executor = field(default_factory=lambda: ThreadPoolExecutor(1, "pollux-page"), repr=False, compare=False)
    """Where pages' requests and answers are worked through, one at a time: they are large, and others wait for none."""
    budget: Budget | None = None
    secure_cookies: bool = False

    async def aside(self, work: Callable[[], T]) -> T:
        """The result of some work, done where nobody waits for it."""
        return await asyncio.get_running_loop().run_in_executor(self.reading, work)

    def actions_of(self, profile: str) -> list[ToolSpec]:
        """The actions that this agent may call."""
        known = self.engine.profiles.get(profile)
        return [spec for name, spec in self.actions.items() if known is not None and name in known.tools]
