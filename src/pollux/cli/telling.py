"""A run told on standard output: it ends by its deadline, with exactly one last line, whatever happens."""

import asyncio
import logging
import os
import signal
import sys
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Any

from pollux.cli.masking import Mask
from pollux.cli.outlet import Closed, Outlet, Unwritable
from pollux.cli.shown import shown
from pollux.cli.writers import Format, Writer, writer_for
from pollux.core.errors import PolluxError
from pollux.sdk import events
from pollux.signals import on_signals

USAGE, WAITING, NEEDS_A_PERSON, CLOSED_PIPE = 2, 3, 4, 141
CODES = {"session_not_found": "not_found"}
# What the library says to authors of scripts, for those at a command line.
WORDS = {
    "session_not_found": "there is no such session. `pollux sessions list --all` lists those that there are",
    "thread_busy": "the session has a run that has not ended: it is at work, waits for an approval, or was interrupted."
    " `pollux approvals list` lists what waits, `pollux sessions resume ID` goes on with it,"
    " `pollux sessions cancel ID` stops it",
}
LAST_SECONDS = 2.0
"""How long a reader who has stopped reading is waited for when all is over."""
LET_GO_SECONDS = 6.0
"""How long what is under way may take to stop. Tools are ended in less; a store that somebody else holds is not."""

Work = Callable[["Telling"], Awaitable[None]]


def tell(work: Work, *, format_: Format, outlet: Outlet, mask: Mask, timeout: float) -> int:
    """Do the work, which hands every event to `read`, and say how it ended. The result is the exit code."""
    tell_of_bare_commands(mask)
    telling = Telling(writer_for(format_, outlet, mask), outlet, mask, timeout)
    try:
        code = asyncio.run(telling.run(work))
        outlet.flush(LAST_SECONDS)
    except Closed:
        return CLOSED_PIPE
    except Unwritable as problem:
        talk(mask, f"standard output cannot be written ({problem})")
        return 1
    return code


class Telling:
    """One run on its way to its last line."""

    def __init__(self, writer: Writer, outlet: Outlet, mask: Mask, timeout: float) -> None:
        self.writer = writer
        self.mask = mask
        self._outlet = outlet
        self._timeout = timeout
        self._code: int | None = None
        """The exit code, once the last line is written. Nothing is written after that."""

    async def run(self, work: Work) -> int:
        """The exit code."""
        asyncio.get_running_loop().set_default_executor(_LooseThreads())
        stopped = self._heed_signals()
        task = asyncio.ensure_future(self._told(work))
        try:
            await asyncio.wait({task, stopped}, timeout=self._timeout, return_when=asyncio.FIRST_COMPLETED)
            # The last line comes first: it must not wait for what is slow to stop.
            if task.done():
                self._conclude(task)
            elif stopped.done():
                number = stopped.result()
                self.fail("cancelled", f"stopped by {number.name}", 128 + number)
            else:
                self.fail("timeout", f"there was no answer within {self._timeout:g} seconds")
        finally:
            await self._let_go(task)
        assert self._code is not None
        return self._code

    async def read(self, event: events.AgentEvent) -> None:
        """Tell what happened, and wait until it has been taken."""
        if self._code is not None:
            return
        self.writer.read(event)
        match event:
            case events.Failure(code=code, message=message):
                self.fail(code, message, NEEDS_A_PERSON if code == "outcome_unknown" else 1)
            case events.Finished(reason="completed"):
                self._code = 0
                if event.note:
                    talk(self.mask, event.note)
            case events.Finished(reason="awaiting_confirmation"):
                self._code = WAITING
            case events.Finished(reason="cancelled"):
                self.fail("cancelled", "the run was cancelled")
            case events.ApprovalRequired():
                talk(self.mask, f"{event.tool} needs approval: pollux approvals approve {event.id}")
            case _:
                pass
        await self._outlet.drained()

    def fail(self, code: str, message: str, exit_code: int = 1) -> None:
        """The last line about a run that has no result, unless it has had its last line."""
        if self._code is None:
            self._code = exit_code
            self.writer.fail(code, self.mask.text(message))
            talk(self.mask, f"{code}: {message}")

    async def _told(self, work: Work) -> None:
        await work(self)
        await self._outlet.drained()

    def _conclude(self, task: asyncio.Task[None]) -> None:
        """The last line about work that has ended, if it did not write one itself."""
        try:
            task.result()
        except PolluxError as problem:
            self._fail_by(problem)
        except (Closed, Unwritable):
            raise
        except (Exception, asyncio.CancelledError) as problem:  # noqa: BLE001  The top: a last line is owed.
            self.fail("internal", f"this should not have happened ({type(problem).__name__})")
            self._trace(problem)
        if self._code is None:
            self.fail("internal", "the run was not told to its end")

    def _fail_by(self, problem: PolluxError) -> None:
        if problem.code in ("usage", "config") and self._code is None:
            self._code = USAGE
            talk(self.mask, str(problem))
        else:
            self.fail(CODES.get(problem.code, problem.code), WORDS.get(problem.code, str(problem)))

    def _trace(self, problem: BaseException) -> None:
        import traceback

        talk(self.mask, "".join(traceback.format_exception(problem)))

    def _heed_signals(self) -> asyncio.Future[signal.Signals]:
        """What is done when somebody wants us to stop."""
        stopped: asyncio.Future[signal.Signals] = asyncio.get_running_loop().create_future()

        def stop(number: signal.Signals) -> None:
            if stopped.done():
                # Asked twice: whoever is there has lost patience.
                os._exit(128 + number)
            stopped.set_result(number)

        on_signals(stop)
        return stopped

    async def _let_go(self, task: asyncio.Task[None]) -> None:
        """See the work end. Where it does not, leave as a crash would: the journal knows what was begun."""
        task.cancel()
        _, late = await asyncio.wait({task}, timeout=LET_GO_SECONDS)
        if late:
            with suppress(Closed, Unwritable):
                self._outlet.flush(LAST_SECONDS)
            os._exit(CLOSED_PIPE if self._code is None else self._code)
        if not task.cancelled():
            task.exception()


class _LooseThreads(ThreadPoolExecutor):
    """Threads that nobody waits for: a name server that does not answer must not keep the program from ending."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()

        def work() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                future.set_result(fn(*args, **kwargs))
            except BaseException as problem:  # noqa: BLE001  The top of a thread: it is handed on, whatever it is.
                future.set_exception(problem)

        threading.Thread(target=work, name="pollux-loose", daemon=True).start()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        super().shutdown(wait=False, cancel_futures=True)


class _Notices(logging.Handler):
    """Says what a person has to know, whatever the level of the log."""

    def __init__(self, mask: Mask) -> None:
        super().__init__(logging.WARNING)
        self._mask = mask

    def emit(self, record: logging.LogRecord) -> None:
        talk(self._mask, record.getMessage())


def tell_of_bare_commands(mask: Mask) -> None:
    """From now on, a command that runs without a sandbox where one would have been used is said once, and so is a
    secret that others on this machine can read.
    """
    for name in ("pollux.tools.shell.sandbox", "pollux.config.exposed"):
        logger = logging.getLogger(name)
        if not any(isinstance(handler, _Notices) for handler in logger.handlers):
            logger.addHandler(_Notices(mask))


def talk(mask: Mask, text: str) -> None:
    """A line to people, on standard error."""
    with suppress(OSError, ValueError):
        sys.stderr.write(f"pollux: {shown(mask.text(text))}\n")
        sys.stderr.flush()
