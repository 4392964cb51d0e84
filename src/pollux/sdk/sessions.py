"""Sessions: the engine's threads as an author sees them, and Gemini CLI's own files beside them.

A session of Gemini CLI is listed where it lies and never written to; going on with one goes on with a copy.
"""

from pathlib import Path
from typing import TYPE_CHECKING

from pollux.core.errors import Conflict, NotFound, SessionNotFound
from pollux.core.ids import ThreadId, UserId
from pollux.core.thread import Thread
from pollux.engine.engine import Engine
from pollux.sdk.session_info import SessionInfo, time_of
from pollux.tools.threads import in_thread

if TYPE_CHECKING:
    from pollux.sdk.gemini_cli.shelf import Copied

PAGE = 100


class Sessions:
    """The sessions of one user, seen from one directory."""

    def __init__(self, engine: Engine, *, user: UserId, cwd: Path, store_path: str) -> None:
        self._engine = engine
        self._user = user
        self._cwd = cwd
        self._store_path = store_path

    async def listed(self, *, every: bool = False, limit: int | None = None) -> list[SessionInfo]:
        """Last updated first: this project's, or everybody's."""
        from pollux.sdk.gemini_cli import shelf

        threads = await self._threads(every)
        copied = {info.session_id for info in threads}
        # What was copied into a thread goes on there.
        files = await in_thread(lambda: shelf.listed(self._cwd, every=every))
        found = [*threads, *(info for info in files if info.session_id not in copied)]
        found.sort(key=lambda info: info.last_updated, reverse=True)
        return found[:limit]

    async def find(self, session_id: str) -> ThreadId:
        """The thread of this session; one of Gemini CLI's is copied into a thread first.

        Raises:
            SessionNotFound: there is none of this id.
        """
        try:
            return (await self._engine.queries.thread(ThreadId(session_id), self._user)).id
        except NotFound:
            pass
        from pollux.sdk.gemini_cli import shelf

        found = await in_thread(shelf.copied, self._cwd, session_id)
        if found is not None:
            return await self._copy(session_id, found)
        raise SessionNotFound(
            f"there is no session {session_id!r}. `await agent.list_sessions(all=True)` lists those that there are"
        )

    async def fork(self, session_id: str, *, upto: int | None = None) -> ThreadId:
        """A session of its own that begins like this one, up to that message."""
        thread_id = await self.find(session_id)
        return (await self._engine.threads.fork(thread_id, self._user, upto=upto)).id

    async def delete(self, session_id: str) -> None:
        """Erase a session for good. Files of Gemini CLI are not ours to delete."""
        try:
            await self._engine.threads.erase(ThreadId(session_id), self._user, by=self._user)
        except NotFound:
            raise SessionNotFound(
                f"there is no session {session_id!r} of Pollux that could be deleted. Files of Gemini CLI are its own"
            ) from None

    async def _copy(self, session_id: str, found: "Copied") -> ThreadId:
        thread_id = ThreadId(session_id)
        try:
            await self._engine.threads.open(
                self._user, found.messages, title=found.title, thread_id=thread_id, project=str(self._cwd)
            )
        except Conflict:
            # Another agent was faster, or its copy was deleted here: that stays so.
            try:
                await self._engine.queries.thread(thread_id, self._user)
            except NotFound:
                raise SessionNotFound(f"session {session_id!r} was deleted here. Begin another") from None
        return thread_id

    async def _threads(self, every: bool) -> list[SessionInfo]:
        found: list[SessionInfo] = []
        before: str | None = None
        while page := await self._engine.queries.threads(self._user, limit=PAGE, before=before):
            found += [self._line(thread) for thread in page if every or thread.project == str(self._cwd)]
            before = page[-1].id
        return found

    def _line(self, thread: Thread) -> SessionInfo:
        return SessionInfo(
            session_id=thread.id,
            file_path=self._store_path,
            start_time=time_of(thread.created_at),
            last_updated=time_of(thread.updated_at),
            message_count=thread.head,
            summary=thread.title or None,
        )
