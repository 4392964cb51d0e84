"""Threads for tools that are not async.

A thread cannot be stopped. Those of the event loop's own pool are few, and the process waits for them at its end: some
tools that never return would keep everybody else's work waiting, and the process from ending. These are as many as are
at work, are used again, and are left behind when the process goes.
"""

import asyncio
import os
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from queue import SimpleQueue
from typing import Any, TypeVar

MAX_IDLE = 32

T = TypeVar("T")


async def in_thread(function: Callable[..., T], *args: Any, stay: bool = False) -> T:
    """The function's answer.

    Who is cancelled meanwhile leaves it behind, and nobody hears how it ended. With `stay` the first cancellation is
    passed over: the thread cannot be stopped, so whoever asked may give it up and still learn its late result.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()
    context = copy_context()

    def work() -> None:
        try:
            answer = context.run(function, *args)
        except BaseException as problem:  # noqa: BLE001  The top of a thread: it is handed on, whatever it is.
            tell(_raise_in, done, _ordinary(problem))
        else:
            tell(_answer, done, answer)

    def tell(how: Callable[..., None], *what: Any) -> None:
        with suppress(RuntimeError):  # The loop was closed meanwhile.
            loop.call_soon_threadsafe(how, *what)

    try:
        worker = _idle.pop()
    except IndexError:
        worker = _Worker()
    worker.jobs.put(work)
    if stay:
        with suppress(asyncio.CancelledError):
            return await asyncio.shield(done)
    return await done


class _Worker:
    """A thread that takes one job after the other, as long as few others are idle."""

    def __init__(self) -> None:
        self.jobs: SimpleQueue[Callable[[], None]] = SimpleQueue()
        threading.Thread(target=self._work, name="pollux-tool", daemon=True).start()

    def _work(self) -> None:
        while True:
            self.jobs.get()()
            if len(_idle) >= MAX_IDLE:
                return
            _idle.append(self)


def _answer(done: asyncio.Future[T], answer: T) -> None:
    if not done.done():
        done.set_result(answer)


def _raise_in(done: asyncio.Future[Any], problem: Exception) -> None:
    if not done.done():
        done.set_exception(problem)


def _ordinary(problem: BaseException) -> Exception:
    """The problem as one that a future can carry: with StopIteration whoever waits would wait for ever."""
    if isinstance(problem, Exception) and not isinstance(problem, StopIteration):
        return problem
    return RuntimeError(f"the function raised {type(problem).__name__}")


_idle: deque[_Worker] = deque()
# A forked child has the list without the threads.
os.register_at_fork(after_in_child=_idle.clear)
