"""What a person may do to a conversation as a whole: import, fork, rename, erase. Facts of the thread's own stream."""

from collections.abc import Callable, Sequence

from pollux.core.errors import Conflict, NotFound
from pollux.core.ids import ThreadId, UserId
from pollux.core.messages import Message
from pollux.core.thread import (
    MessagesImported,
    Thread,
    ThreadErased,
    ThreadEvent,
    ThreadOpened,
    ThreadRenamed,
    step_thread,
)
from pollux.engine.ports import AuditFact, Change, Clock, Ids, Store

ATTEMPTS = 5


class Threads:
    """Changes to threads. Every one carries the owner."""

    def __init__(self, store: Store, clock: Clock, ids: Ids) -> None:
        self._store = store
        self._clock = clock
        self._ids = ids

    async def open(
        self,
        user: UserId,
        messages: Sequence[Message] = (),
        *,
        title: str = "",
        thread_id: ThreadId | None = None,
        forked_from: ThreadId | None = None,
        project: str = "",
    ) -> Thread:
        """A new thread, with messages that came from elsewhere."""
        now = self._clock.now()
        opened = ThreadOpened(
            thread_id=thread_id or self._ids.thread_id(),
            user=user,
            title=title,
            forked_from=forked_from,
            project=project,
            at=now,
        )
        events: list[ThreadEvent] = [opened]
        if messages:
            events.append(MessagesImported(messages=tuple(messages), at=now))
        thread: Thread | None = None
        for event in events:
            thread = step_thread(thread, event)
        assert thread is not None
        await self._store.commit(
            Change(thread=thread, thread_events=tuple(events), first_message=1, messages=tuple(messages))
        )
        return thread

    async def fork(self, thread_id: ThreadId, user: UserId, *, upto: int | None = None) -> Thread:
        """A thread of its own that begins like this one, up to that message; a call is not split from its answer."""
        thread = await self._owned(thread_id, user)
        messages = list(await self._store.messages(thread_id))[:upto]
        while messages and messages[-1].calls:
            # A call without its answer is one that no provider would take.
            messages.pop()
        return await self.open(user, messages, title=thread.title, forked_from=thread_id, project=thread.project)

    async def rename(self, thread_id: ThreadId, user: UserId, title: str) -> Thread:
        """Another title."""
        return await self._change(thread_id, user, lambda now: ThreadRenamed(title=title, at=now))

    async def erase(self, thread_id: ThreadId, user: UserId, *, by: str) -> None:
        """Drop what was said and done, for good. The audit keeps that it was done."""
        before = await self._store.thread(thread_id, user)
        if before is not None and before.erased:
            # Somebody was told to try once more: what is left of it goes now.
            await self._store.erase(thread_id)
        await self._change(thread_id, user, lambda now: ThreadErased(by=by, at=now), audit="erased")
        await self._store.erase(thread_id)

    async def _change(
        self, thread_id: ThreadId, user: UserId, make: Callable[[float], ThreadEvent], *, audit: str = ""
    ) -> Thread:
        for _ in range(ATTEMPTS):
            before = await self._owned(thread_id, user)
            event = make(self._clock.now())
            after = step_thread(before, event)
            facts = (AuditFact(at=event.at, kind=audit, user=user, thread_id=thread_id, by=user),) if audit else ()
            try:
                await self._store.commit(Change(thread=after, thread_events=(event,), audit=facts))
            except Conflict:
                continue
            return after
        raise Conflict(f"thread {thread_id!r} is being changed by other requests. Try again")

    async def _owned(self, thread_id: ThreadId, user: UserId) -> Thread:
        thread = await self._store.thread(thread_id, user)
        if thread is None or thread.erased:
            raise NotFound(f"there is no thread {thread_id!r}")
        return thread
