"""One run, followed: its events, its questions put to the host, and what happens when the consumer leaves.

Leaving stops the run: breaking out, closing and cancelling all end in the same `finally`, which cancels it and waits
until nothing of it is in flight. Only a stream that ends because people have to answer leaves its run open.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Coroutine
from contextlib import suppress
from contextvars import Context, copy_context
from typing import Any

from pollux.core.errors import Misfit, PolluxError
from pollux.core.ids import RunId, UserId
from pollux.core.run import Run
from pollux.engine.engine import Engine
from pollux.engine.feed import Item
from pollux.engine.ports import Recorded
from pollux.sdk.approvals import OnApproval, ask
from pollux.sdk.events import AgentEvent, ApprovalRequired
from pollux.sdk.narration import narrate
from pollux.sdk.translate import Cost, Translation

logger = logging.getLogger(__name__)

STOP_SECONDS = 10.0
"""How long a stopped run may take to end: tools get two seconds, their reports the rest."""

DROP_SECONDS = 2.0
"""How long a host that is no longer asked may take to notice."""


class Stream:
    """The events of one run, and its life while they are being read."""

    def __init__(
        self,
        engine: Engine,
        run_id: RunId,
        *,
        user: UserId,
        cost: Cost,
        on_approval: OnApproval | None = None,
        with_starts: bool = False,
    ) -> None:
        self.run_id = run_id
        self.is_read = True
        """Whether somebody is waiting for the next event right now: from the start on, until one is handed out."""
        self.context: Context | None = None
        """Whose log and span it belongs to what an answer of the host sets going."""
        self.past = 0
        """How many facts were logged before, by the agent that began the run."""
        self.closed = asyncio.Event()
        self.closing = False
        self._engine = engine
        self._user = user
        self._on_approval = on_approval
        self._told = Translation(cost, with_starts=with_starts)
        self._asking: set[asyncio.Task[None]] = set()
        self._next: asyncio.Future[Item] | None = None
        self._leaves_open = False
        self._trouble: BaseException | None = None

    @property
    def run(self) -> Run | None:
        """The run as far as it has been told."""
        return self._told.run

    @property
    def is_left(self) -> bool:
        """Whether its reader does not know an end of the run, and did not leave it to people either."""
        return not self._told.is_over and not self._leaves_open

    async def events(self) -> AsyncGenerator[AgentEvent]:
        """Everything the run tells, until it ends or waits for people."""
        items = self._engine.watch(self.run_id, user=self._user)
        try:
            while (item := await self._take(items)) is not None:
                self._log(item)
                for event in self._told.read(item):
                    self.is_read = False
                    yield event
                    self.is_read = True
                    if isinstance(event, ApprovalRequired):
                        await self._ask(event)
                if self._told.is_over:
                    return
                if self._told.is_waiting and not self._asking and not await self._has_moved():
                    break
            self._raise_hosts_own()
            self._leaves_open = True
            yield self._told.finished()
        finally:
            self.closing = True
            await to_the_end(self._close(items))

    async def stop(self) -> None:
        """Cancel the run and wait until nothing of it is in flight."""
        with suppress(Misfit):
            await self._engine.cancel(self.run_id, by=self._user)
        await self._engine.wait_settled(self.run_id, seconds=STOP_SECONDS)

    def _log(self, item: Item) -> None:
        if self.run is not None and isinstance(item, Recorded) and item.seq > self.past:
            context = copy_context() if self.context is None else self.context.copy()
            context.run(narrate, self.run, item.event)

    async def _take(self, items: AsyncIterator[Item]) -> Item | None:
        """The next item; None when the run waits and nobody here will answer."""
        while True:
            self._raise_hosts_own()
            if not self._asking and self._next is None:
                return await anext(items)
            # While the host is asked, others may answer in its place, or the question may run out.
            if self._next is None:
                self._next = asyncio.ensure_future(_first(items))
            await asyncio.wait({self._next, *self._asking}, return_when=asyncio.FIRST_COMPLETED)
            self._raise_hosts_own()
            if self._next.done():
                item, self._next = self._next.result(), None
                return item
            if self._told.is_waiting and not self._asking and not await self._has_moved():
                return None
            if not self._asking:
                item, self._next = await self._next, None
                return item

    async def _ask(self, asked: ApprovalRequired) -> None:
        """Put a question to the host, unless the consumer has answered it already."""
        if self._on_approval is None:
            return
        run = await self._engine.queries.run(self.run_id)
        if any(approval.id == asked.id for approval in run.approvals):
            asking = ask(self._engine, self._on_approval, asked, user=self._user)
            task = asyncio.create_task(asking, context=self.context)
            self._asking.add(task)
            task.add_done_callback(self._answered)

    def _answered(self, task: asyncio.Task[None]) -> None:
        self._asking.discard(task)
        trouble = None if task.cancelled() else task.exception()
        self._trouble = self._trouble or trouble

    def _raise_hosts_own(self) -> None:
        """What `on_approval` raised ends the stream: a host that fails to answer has not said yes."""
        if self._trouble is not None:
            raise self._trouble

    async def _has_moved(self) -> bool:
        """Whether there is news that this stream has not read yet."""
        assert self._told.run is not None
        return (await self._engine.queries.run(self.run_id)).version > self._told.run.version

    async def _close(self, items: AsyncGenerator[Item]) -> None:
        try:
            await _dropped({*self._asking, *((self._next,) if self._next else ())})
            await items.aclose()
            if self.is_left:
                await self.stop()
        except PolluxError as problem:
            logger.warning("a run could not be stopped: %s", problem)
        finally:
            self.closed.set()


async def _first(items: AsyncIterator[Item]) -> Item:
    return await anext(items)


async def _dropped(tasks: set[asyncio.Future[Any]]) -> None:
    """Cancel them. A host that does not stop is left behind: its answer finds the question closed."""
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks, timeout=DROP_SECONDS)
    for task in tasks:
        if task.done() and not task.cancelled():
            task.exception()


async def to_the_end(work: Coroutine[None, None, None]) -> None:
    """Do it all, also when whoever waits is cancelled once more: a run half stopped would keep its session busy."""
    task = asyncio.ensure_future(work)
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait({task})
        raise
