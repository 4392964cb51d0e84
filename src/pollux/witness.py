"""Signed heads of the audit, given away at an interval: to a file elsewhere, and to a web address.

Whoever rewrites the store and the heads beside it cannot rewrite these. Each place gets the newest head until it has
taken it: at least once, never a queue of old ones. Nothing here holds up a commit.
"""

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit

from pollux.core.errors import PolluxError
from pollux.engine.ports import Store

logger = logging.getLogger(__name__)

POST_SECONDS = 10.0
LAST_SECONDS = 3.0
"""For so long a process that stops tries to give its last head away."""
SLOWEST_SECONDS = 600.0
"""How long it waits at most after failures."""

Take = Callable[[str], Awaitable[None]]
"""Gives a head away. Raises OSError or PolluxError where it was not taken."""


class Answer(Protocol):
    """What came back."""

    @property
    def status(self) -> int: ...


class Poster(Protocol):
    """Sends one request."""

    def post(
        self, url: str, headers: Mapping[str, str], body: bytes, *, idle: float, total: float
    ) -> AbstractAsyncContextManager[Answer]: ...


class Witness:
    """Gives a store's newest head to each place, every `seconds`."""

    def __init__(self, store: Store, places: Sequence[Take], *, seconds: float) -> None:
        self._store = store
        self._places = dict.fromkeys(places, "")
        """With the head that each of them took last."""
        self._seconds = seconds

    async def serve(self) -> None:
        """Runs until cancelled, and gives the last head away then."""
        wait = self._seconds
        try:
            while True:
                is_taken = await self.tell()
                wait = self._seconds if is_taken else min(2 * wait, max(SLOWEST_SECONDS, self._seconds))
                await asyncio.sleep(wait)
        finally:
            with suppress(TimeoutError):
                async with asyncio.timeout(LAST_SECONDS):
                    # A server that drains has closed its store by now.
                    await self.tell(is_last=True)

    async def tell(self, *, is_last: bool = False) -> bool:
        """Whether every place has taken the newest head."""
        try:
            head = await self._store.sign_head()
        except PolluxError as problem:
            level = logging.DEBUG if is_last else logging.WARNING
            logger.log(level, "the audit's head could not be signed: %s", problem)
            return False
        owed = [place for place, taken in self._places.items() if head and taken != head]
        return all([await self._give(place, head) for place in owed])

    async def _give(self, place: Take, head: str) -> bool:
        try:
            await place(head)
        except (OSError, PolluxError) as problem:
            logger.warning("a head of the audit was not taken: %s", problem)
            return False
        self._places[place] = head
        return True


def to_file(path: Path) -> Take:
    """Append it to this file, and see it on the disk."""

    # Never waits: where that is a pipe that nobody reads, the head is given again later.
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK

    def append(head: str) -> None:
        file = os.open(path, flags, 0o600)
        try:
            os.write(file, f"{head}\n".encode())
            os.fsync(file)
        finally:
            os.close(file)

    async def give(head: str) -> None:
        await asyncio.to_thread(append, head)

    return give


def to_url(url: str, http: Poster) -> Take:
    """Post it there. Whatever is not a 2xx means that it was not taken."""

    async def give(head: str) -> None:
        headers = {"Content-Type": "application/json"}
        async with http.post(url, headers, head.encode(), idle=POST_SECONDS, total=POST_SECONDS) as answer:
            if not 200 <= answer.status < 300:
                raise PolluxError(f"{urlsplit(url).hostname} answered {answer.status}")

    return give
