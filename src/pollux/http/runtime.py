"""What the handlers of this door are made of."""

import time
from dataclasses import field
from typing import TYPE_CHECKING, TypeVar

from pollux.asgi.auth import Authority
from pollux.asgi.budget import Budget
from pollux.asgi.door import Rate
from pollux.core.errors import Draining, StoreError
from pollux.core.frozen import frozen
from pollux.core.run import Run
from pollux.engine.engine import Engine

if TYPE_CHECKING:
    from pollux.tools.google.account import Google

E = TypeVar("E", bound=Exception)

READY_SECONDS = 2.0
"""How long the store may take before this process says that it is not ready."""
LOOK_SECONDS = 15.0
"""After so long without a word from a run, somebody looks whether the store is there."""


@frozen
class Runtime:
    """One server's engine, and what it holds callers to."""

    engine: Engine
    authority: Authority
    secure_cookies: bool = False
    budget: Budget | None = None
    public_url: str | None = None
    """Where browsers know us, if that is not where they reach us."""
    google: "Google | None" = None
    kept: frozenset[str] = frozenset()
    """Profiles that no prompt may name: they are for other doors."""
    keepers: frozenset[str] = frozenset()
    """Who may let runs of those profiles do something."""
    unedited: frozenset[str] = frozenset()
    """Profiles whose calls are approved as they are or not at all: documents say them, and those stay as they are."""
    checks: Rate = field(default_factory=lambda: Rate(per_minute=30, burst=30, now=time.monotonic))
    """How often one user may have the audit checked."""
    missing_key: str = ""
    """Why the default profile's model cannot be asked, for want of a key."""
    since: float = field(default_factory=time.monotonic)
    """When it began to serve."""


class Looks:
    """Whether a run that says nothing waits for the store. To be asked while it says nothing, again and again."""

    def __init__(self, runtime: Runtime, run: Run) -> None:
        self._engine = runtime.engine
        self._user = run.user
        self._has_failed = False

    async def look(self) -> None:
        """Raises StoreError when the store fails for the second time in a row. The run goes on once it is back."""
        try:
            await self._engine.check_store(READY_SECONDS, self._user)
            self._has_failed = False
        except StoreError:
            if self._has_failed:
                raise
            self._has_failed = True


def as_it_is(engine: Engine, problem: E) -> E | Draining:
    """The problem as callers shall hear of it: that a store is closed because we stop is no trouble with the store."""
    if isinstance(problem, StoreError) and engine.is_draining:
        return Draining("this process is stopping; ask another, or try again soon")
    return problem
