"""Notices of commits: who made them, which run they are about, and how many events it has now."""

import asyncio

from pollux.core.ids import RunId
from pollux.core.run import Run
from pollux.engine.ports import ANYTHING, News

CHANNEL = "pollux_changes"
LONGEST = 7_900
"""A notice has under 8,000 bytes."""
KEPT = 1_000
"""News of so many runs is kept for whoever asks next. If there is more, they are told to look at everything."""


def notice(sender: str, run: Run) -> str:
    """What a commit tells those who listen."""
    told = f"{sender} {run.version} {run.id}"
    return told if len(told.encode()) < LONGEST else sender


class Gathered:
    """What was heard and not asked for yet. What we said ourselves is no news."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._versions: dict[RunId, int] = {}
        self._is_whole = True
        self._is_there = asyncio.Event()

    def hear(self, told: str) -> None:
        sender, _, rest = told.partition(" ")
        if sender == self._name:
            return
        version, _, name = rest.partition(" ")
        run_id = RunId(name)
        if not name or not version.isdecimal() or len(version) > 15 or len(self._versions) >= KEPT:
            # An older process names no version.
            self.miss()
        elif self._is_whole:
            self._versions[run_id] = max(int(version), self._versions.get(run_id, 0))
            self._is_there.set()

    def miss(self) -> None:
        """Something may have happened that was not heard."""
        self._versions, self._is_whole = {}, False
        self._is_there.set()

    async def take(self) -> News:
        """All of it, waiting for the first."""
        await self._is_there.wait()
        self._is_there.clear()
        news = News(self._versions) if self._is_whole else ANYTHING
        self._versions, self._is_whole = {}, True
        return news
