"""Is the audit whole? Answered to anybody who may ask, so it costs what is new and no more.

What was checked once is not checked again at each question: a question walks the entries that came since, for a
bounded time, and one walks at a time. The checked part is walked once more every hour, a piece with each question. The
whole walk, with every signed head, belongs to the command line.
"""

import asyncio
import time
from collections.abc import Callable

from pollux.engine.ports import GENESIS, AuditReport, Store

PIECE = 2_000
"""So many entries are read at once."""
SLICE_SECONDS = 0.5
"""For so long one question walks. What is left is for the next one."""
WAIT_SECONDS = 2.0
"""For so long a question waits for one that is walking. Then it hears how far that is."""
AGAIN_SECONDS = 3600.0
"""So old a complete walk may be before the next one begins."""
NAMED_SECONDS = 60.0
"""For so long a list of problems is kept: to name them takes a whole walk."""
START: tuple[int, str] = (0, GENESIS)


class Verification:
    """What this process knows of the audit. `report` is valid as far as it says; problems are named once found."""

    def __init__(self, store: Store, now: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        self._now = now
        self._turn = asyncio.Lock()
        self._front: tuple[int, str] = START
        """The last entry that was checked, and its hash."""
        self._behind: tuple[int, str] | None = None
        """How far the walk over what was checked before has come; None while none is due."""
        self._complete_at: float | None = None
        """When a walk from the beginning last reached the end."""
        self._flaw: tuple[float, AuditReport] | None = None

    async def report(self) -> AuditReport:
        """The audit as far as it was walked. Raises StoreError."""
        try:
            async with asyncio.timeout(WAIT_SECONDS):
                await self._turn.acquire()
        except TimeoutError:
            return self._known()
        try:
            if self._flaw and self._now() < self._flaw[0]:
                return self._flaw[1]
            return await self._walk()
        finally:
            self._turn.release()

    def _known(self) -> AuditReport:
        return self._flaw[1] if self._flaw else AuditReport(True, *self._front)

    async def _walk(self) -> AuditReport:
        self._flaw = None
        deadline = self._now() + SLICE_SECONDS
        if self._behind is None and self._complete_at is not None and self._now() >= self._complete_at + AGAIN_SECONDS:
            self._behind = START
        while not (step := await self._store.verify_part(*self._front, PIECE)).is_last and step.is_sound:
            self._front = step.seq, step.hash
            if self._now() >= deadline:
                return self._known()
        if not step.is_sound:
            return await self._named()
        self._front = step.seq, step.hash
        if self._complete_at is None:
            self._rest()
        while self._behind is not None and self._now() < deadline:
            step = await self._store.verify_part(*self._behind, PIECE)
            if not step.is_sound:
                return await self._named()
            self._behind = step.seq, step.hash
            if step.is_last:
                self._rest()
        return self._known()

    def _rest(self) -> None:
        self._behind, self._complete_at = None, self._now()

    async def _named(self) -> AuditReport:
        """Everything that is wrong, by the walk that names it. From the beginning again, once that has passed."""
        report = await self._store.verify_audit()
        self._front, self._behind, self._complete_at = START, None, None
        self._flaw = None if report.valid else (self._now() + NAMED_SECONDS, report)
        return report
