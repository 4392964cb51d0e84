"""Follow a runbook's run and those of its agents and parts, as one stream of events, until it has ended."""

import asyncio
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import aclosing, suppress

from pollux.core.errors import Draining, NotFound
from pollux.core.events import ActionHandedOver, RunCancelled, RunCompleted, RunFailed
from pollux.core.ids import RunId, UserId
from pollux.engine.engine import Engine
from pollux.engine.ports import Recorded
from pollux.runbooks.blocks import BlockType
from pollux.runbooks.rules import PROFILE
from pollux.runbooks.told import BlockTeller, ChildTeller, Told

BACKLOG = 1_000
"""How many events may wait for a reader that is slow before those who tell them wait too."""
_ENDINGS = (RunCompleted, RunFailed, RunCancelled)


async def follow(
    engine: Engine, types: Mapping[str, BlockType], run_id: RunId, *, user: UserId | None = None
) -> AsyncGenerator[Told]:
    """Everything from the beginning, then what happens. Ends with the run, or with this process."""
    if user is not None:
        await engine.queries.run(run_id, user)
    following = _Following(engine, types)
    watching = asyncio.create_task(following.watch_document(run_id, BlockTeller(types)))
    try:
        while not (watching.done() and following.queue.empty()):
            hearing = asyncio.ensure_future(following.queue.get())
            try:
                await asyncio.wait({hearing, watching}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                # Also where whoever reads has left meanwhile.
                if not hearing.done():
                    hearing.cancel()
            if hearing.done() and not hearing.cancelled():
                yield hearing.result()
        await watching
    finally:
        watching.cancel()
        await following.close()
        with suppress(asyncio.CancelledError, Draining):
            await watching


class _Following:
    """The runs that belong together, each watched by a task of its own."""

    def __init__(self, engine: Engine, types: Mapping[str, BlockType]) -> None:
        self.queue: asyncio.Queue[Told] = asyncio.Queue(BACKLOG)
        self._engine = engine
        self._types = types
        self._tasks: set[asyncio.Task[None]] = set()

    async def watch_document(self, run_id: RunId, teller: BlockTeller, *, is_root: bool = True) -> None:
        async with aclosing(self._engine.watch(run_id)) as items:
            async for item in items:
                if isinstance(item, Recorded) and isinstance(item.event, _ENDINGS) and is_root:
                    await self._wait_for_parts()
                await self._put(teller.read(item))
                if isinstance(item, Recorded) and isinstance(item.event, ActionHandedOver):
                    await self._join(item.event.action_id, teller)

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _join(self, action_id: str, teller: BlockTeller) -> None:
        """Watch a child too: one that has ended is told whole before anything else is."""
        try:
            child = await self._engine.queries.run(self._engine.queries.child_of(action_id))
        except NotFound:
            # Its words were erased; how it ended is in the block's own result.
            return
        action = teller.run.action(action_id) if teller.run else None
        block_id = action.call.id if action else ""
        if child.profile == PROFILE:
            watching = self.watch_document(child.id, BlockTeller(self._types, within=block_id), is_root=False)
        else:
            watching = self._watch_agent(child.id, ChildTeller(block_id, teller.runbook), teller)
        task = asyncio.create_task(watching)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        if child.ending:
            await asyncio.wait({task})

    async def _watch_agent(self, run_id: RunId, child: ChildTeller, teller: BlockTeller) -> None:
        async with aclosing(self._engine.watch(run_id)) as items:
            async for item in items:
                await self._put(teller.heard(child, item))

    async def _wait_for_parts(self) -> None:
        """The end comes last: a child that has ended may still have something to tell."""
        if self._tasks:
            await asyncio.wait(set(self._tasks), timeout=1.0)

    async def _put(self, events: Iterator[Told]) -> None:
        for told in events:
            await self.queue.put(told)
