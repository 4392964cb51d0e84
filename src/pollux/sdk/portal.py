"""A way in for blocking callers: one event loop in a thread of its own, for scripts, notebooks and the REPL.

Not a second implementation: what a blocking caller asks for is the same coroutine, run over there.
"""

import asyncio
import atexit
import os
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import CancelledError as FutureCancelled
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, TypeVar

from pollux.core.errors import ValidationError

T = TypeVar("T")

CLOSE_SECONDS = 5.0


class Portal:
    """An event loop in a daemon thread. `on_exit` is run there when the process ends without closing it."""

    def __init__(self, on_exit: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self._on_exit = on_exit
        self._process = os.getpid()
        self._ended_by: BaseException | None = None
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._serve, name="pollux-agent", daemon=True)
        self._thread.start()
        atexit.register(self.close)

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        return self._loop

    @property
    def has_ended(self) -> bool:
        """Whether nothing can be asked here any more."""
        return self._loop.is_closed()

    def call(self, work: Coroutine[Any, Any, T]) -> T:
        """The coroutine's answer. Interrupted by Ctrl-C, it is cancelled over there first.

        Raises ValidationError when asked from over there: it would wait for itself. So it would in a forked process,
        where the thread is not.
        """
        if self._process != os.getpid():
            work.close()
            raise ValidationError("this agent was in use when the process was forked. Make another agent in the child")
        if threading.current_thread() is self._thread:
            work.close()
            raise ValidationError(
                "a blocking call from inside the agent's own event loop would never end. Await `send`"
            )
        future: Future[T] = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except BaseException:
            if self._ended_by is not None:
                self._thread.join(CLOSE_SECONDS)
                raise self._ended_by from None
            if not future.done():
                future.cancel()
                with suppress(Exception, FutureCancelled):
                    # The run is being stopped: what it had in flight ends first.
                    asyncio.run_coroutine_threadsafe(_idle(self._loop), self._loop).result(CLOSE_SECONDS)
            raise

    def close(self) -> None:
        """End the loop and its thread."""
        atexit.unregister(self.close)
        if self._loop.is_closed() or not self._thread.is_alive():
            return
        with suppress(Exception):
            asyncio.run_coroutine_threadsafe(self._on_exit(), self._loop).result(CLOSE_SECONDS)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(CLOSE_SECONDS)

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
        except (SystemExit, KeyboardInterrupt) as problem:
            # Somebody's own code over there ends the process: whoever waits here has to hear of it.
            self._ended_by = problem
        finally:
            self._wind_up()
            self._loop.close()

    def _wind_up(self) -> None:
        """Nobody may be left waiting for what will never be done."""
        with suppress(Exception, SystemExit, KeyboardInterrupt):
            if self._ended_by is not None:
                self._loop.run_until_complete(asyncio.wait_for(self._on_exit(), CLOSE_SECONDS))
            while tasks := asyncio.all_tasks(self._loop):
                for task in tasks:
                    task.cancel()
                _, stubborn = self._loop.run_until_complete(asyncio.wait(tasks, timeout=CLOSE_SECONDS))
                if stubborn:
                    return


async def _idle(loop: asyncio.AbstractEventLoop) -> None:
    """Wait for what was cancelled to have ended."""
    cancelled = [task for task in asyncio.all_tasks(loop) if task.cancelling() and task is not asyncio.current_task()]
    if cancelled:
        await asyncio.wait(cancelled, timeout=CLOSE_SECONDS)
