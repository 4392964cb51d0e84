"""Run a document, or go on with one, and tell it: live, with a last line that says how it ended."""

import asyncio
import signal
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, suppress
from functools import partial
from pathlib import Path
from typing import Final

from pollux.cli.allow import rules_for
from pollux.cli.asking import Terminal, has_terminal
from pollux.cli.kept import here
from pollux.cli.masking import Mask
from pollux.cli.outlet import Closed, Outlet, Unwritable
from pollux.cli.profile import require_known_tools
from pollux.cli.runbook.place import directory_of, running
from pollux.cli.runbook.questions import question_of
from pollux.cli.runbook.writer import RunbookWriter, writer_for
from pollux.cli.shown import shown
from pollux.cli.telling import tell_of_bare_commands
from pollux.config import Settings
from pollux.core.errors import Misfit, NotFound, PolluxError
from pollux.core.frozen import frozen
from pollux.core.ids import Instant, RunId
from pollux.core.machine import pending
from pollux.core.run import Action, Run, lasting_scope, run_of
from pollux.engine.engine import Engine
from pollux.runbooks.following import follow
from pollux.runbooks.outputs import missing_outputs
from pollux.runbooks.runtime import Runbooks, Started, opening_for
from pollux.runbooks.shelf import Volume, volume
from pollux.runbooks.told import Told
from pollux.sdk.approvals import Approve, Reject, scope_of
from pollux.sdk.setup import USER
from pollux.signals import on_signals

WAITING, NEEDS_A_PERSON = 3, 4
LOOK_SECONDS: Final = 0.1
END_SECONDS: Final = 9.0
"""How long what is under way may take to stop."""
LAST_SECONDS: Final = 2.0
QUESTIONS: Final = ("blockApprovalRequired", "agentToolApprovalRequired")


@frozen(kw_only=True)
class Going:
    """What the command line asked for."""

    settings: Settings
    format: str
    allow: tuple[str, ...]
    timeout: float | None
    file: Path | None
    directory: Path | None
    """None: where the run began."""
    variables: dict[str, str]
    trust: bool
    run_id: str
    retry: str
    skip: str
    model: str
    profile: str = ""


def go(going: Going) -> int:
    """The exit code."""
    mask = Mask(going.settings.secrets())
    tell_of_bare_commands(mask)
    try:
        outlet = Outlet()
        writer = writer_for(going.format, outlet, mask)
        code = asyncio.run(_Trip(going, writer, mask).run())
        outlet.flush(LAST_SECONDS)
    except Closed:
        return 141
    except Unwritable as problem:
        print(f"pollux: standard output cannot be written ({problem})", file=sys.stderr)
        return 1
    return code


class _Trip:
    """One run on its way to its last line."""

    def __init__(self, going: Going, writer: RunbookWriter, mask: Mask) -> None:
        self._going = going
        self._writer = writer
        self._mask = mask
        self._terminal = Terminal() if has_terminal() else None
        self._asking: set[asyncio.Task[None]] = set()
        self._cut_short: tuple[str, str, int] | None = None
        """Why we end before the run does: a code, words, and the exit code."""

    async def run(self) -> int:
        stopped: asyncio.Future[signal.Signals] = asyncio.get_running_loop().create_future()
        on_signals(lambda number: _set(stopped, number))
        try:
            async with running(self._going.settings, await self._directory()) as (engine, runbooks):
                return await self._going_on(engine, runbooks, stopped)
        except PolluxError as problem:
            return self._writer.fail(problem.code, self._mask.text(str(problem)), "", _code_of(problem.code))

    async def _directory(self) -> Path:
        going = self._going
        return going.directory or await directory_of(going.settings, RunId(going.run_id)) or here()

    async def _going_on(self, engine: Engine, runbooks: Runbooks, stopped: "asyncio.Future[signal.Signals]") -> int:
        run = await self._begin(engine, runbooks, stopped)
        if run is None:
            number = stopped.result()
            return self._writer.fail("cancelled", f"stopped by {number.name}", "", 128 + number)
        telling = asyncio.ensure_future(self._tell(engine, runbooks, run))
        try:
            await asyncio.wait({telling, stopped}, timeout=self._going.timeout, return_when=asyncio.FIRST_COMPLETED)
            if telling.done():
                return telling.result()
            if stopped.done():
                number = stopped.result()
                self._cut_short = ("cancelled", f"stopped by {number.name}", 128 + number)
            else:
                self._cut_short = ("timeout", f"the runbook was not done within {self._going.timeout:g} seconds", 1)
            with suppress(Misfit):
                await engine.cancel(run.id, by=USER, reason="user" if stopped.done() else "timeout")
            await asyncio.wait({telling}, timeout=END_SECONDS)
            return telling.result() if telling.done() else self._end_short(run.id)
        finally:
            telling.cancel()
            for task in self._asking:
                task.cancel()
            with suppress(asyncio.CancelledError):
                await telling

    async def _begin(self, engine: Engine, runbooks: Runbooks, stopped: "asyncio.Future[signal.Signals]") -> Run | None:
        """The run. None where the person said stop rather than whether the document is trusted."""
        going = self._going
        more = tuple(rules_for(going.allow))
        require_known_tools(going.allow, more, runbooks.tools)
        if going.file is None:
            return await runbooks.resume(
                RunId(going.run_id),
                user=USER,
                retry=going.retry,
                skip=going.skip,
                variables=going.variables,
                more=more,
                model=going.model,
                profile=going.profile,
            )
        document = volume(going.file.absolute())
        runbook = document.read()
        for warning in (*(each.text for each in runbook.warnings), *missing_outputs(runbook, runbooks.types)):
            self._talk(f"{going.file}: {warning}")
        directory = going.directory or here()
        workspace = going.settings.workspace
        programs = partial(runbooks.programs, document, directory=directory, workspace=workspace)
        if going.trust:
            self._accept(runbooks, document, programs())
        elif self._terminal is not None and self._is_to_be_asked_about(runbooks, document, programs):
            asking = asyncio.ensure_future(self._ask_for_trust(runbooks, document, programs()))
            await asyncio.wait({asking, stopped}, return_when=asyncio.FIRST_COMPLETED)
            if not asking.done():
                asking.cancel()
                with suppress(asyncio.CancelledError):
                    await asking
                return None
            asking.result()
        opening = opening_for(
            document,
            directory=directory,
            workspace=str(workspace),
            variables=going.variables,
            model=going.model,
            profile=going.profile,
        )
        return await runbooks.start(opening, user=USER, more=more)

    def _accept(self, runbooks: Runbooks, document: Volume, programs: Started) -> None:
        """Trust the document with the programs that it starts, and say which those are."""
        runbooks.accept(document, programs, by=USER)
        for word, file in programs.shown:
            self._talk(f"accepted: {word} is {file}")

    @staticmethod
    def _is_to_be_asked_about(runbooks: Runbooks, document: Volume, programs: Callable[[], Started]) -> bool:
        if not runbooks.is_trusted(document):
            return True
        return runbooks.was_accepted_without(document, programs())

    async def _ask_for_trust(self, runbooks: Runbooks, document: Volume, programs: Started) -> None:
        """Once for a document as it stands. Whoever says no is asked block by block."""
        from pollux.cli.runbook.questions import trusts

        if await trusts(document, runbooks, programs):
            runbooks.accept(document, programs, by=USER)

    async def _tell(self, engine: Engine, runbooks: Runbooks, run: Run) -> int:
        events = follow(engine, runbooks.types, run.id, user=USER)
        waiting: dict[str, Told] = {}
        async with aclosing(events):
            while True:
                told = await self._next(events, engine, run.id, bool(waiting) and self._terminal is None)
                if told is None:
                    still = [data for data in waiting.values() if await asked_about(engine, data["approvalId"])]
                    return self._writer.waiting(await engine.queries.run(run.id, USER), still)
                self._writer.read(told)
                data = told["data"]
                # Of a run that is resumed the old questions are told as well.
                if told["type"] in QUESTIONS and (asked := await asked_about(engine, data["approvalId"])):
                    waiting[data["approvalId"]] = data
                    self._asked(engine, data, asked)
                elif told["type"].endswith("ApprovalResponse"):
                    was_open = waiting.pop(data["approvalId"], None) is not None
                    if was_open and not data["by"]:
                        self._talk(f"nobody answered {data['approvalId']} in time: it was denied")
                elif told["type"] == "runbookFinished" and "within" not in data:
                    return self._over(await engine.queries.run(run.id, USER))

    async def _next(self, events: AsyncGenerator[Told], engine: Engine, run_id: RunId, may_end: bool) -> Told | None:
        """The next event. None once only people can move it, and none of them is here."""
        coming = asyncio.ensure_future(anext(events))
        try:
            while True:
                await asyncio.wait({coming}, timeout=LOOK_SECONDS if may_end else None)
                if coming.done():
                    return coming.result()
                if await is_waiting(engine, run_id):
                    return None
        finally:
            if not coming.done():
                coming.cancel()
                with suppress(asyncio.CancelledError):
                    await coming

    def _asked(self, engine: Engine, data: Told, asked: Action) -> None:
        if self._terminal is None:
            self._talk(_how_to_answer(data, asked, engine.clock.now()))
            return
        task = asyncio.create_task(self._ask(engine, self._terminal, data))
        self._asking.add(task)
        task.add_done_callback(self._asking.discard)

    async def _ask(self, engine: Engine, terminal: Terminal, data: Told) -> None:
        question = await question_of(engine, data)
        answer = await terminal.ask(question)
        try:
            if isinstance(answer, Approve):
                asked = scope_of(answer)
                scope = lasting_scope(question.scopes) if asked == "always" else asked
                await engine.resolve(data["approvalId"], "approved", by=USER, scope=scope)
            else:
                feedback = answer.feedback if isinstance(answer, Reject) else ""
                await engine.resolve(data["approvalId"], "rejected", by=USER, feedback=feedback)
        except PolluxError as problem:
            self._talk(str(problem))

    def _over(self, run: Run) -> int:
        ending = run.ending
        assert ending is not None
        if ending.status == "completed":
            return self._writer.result(run)
        if self._cut_short is not None:
            return self._end_short(run.id)
        return self._writer.fail(ending.code, self._mask.text(ending.message), run.id, _code_of(ending.code))

    def _end_short(self, run_id: str) -> int:
        assert self._cut_short is not None
        code, words, exit_code = self._cut_short
        return self._writer.fail(code, words, run_id, exit_code)

    def _talk(self, text: str) -> None:
        sys.stderr.write(f"pollux: {shown(self._mask.text(text), lines=False)}\n")
        sys.stderr.flush()


async def asked_about(engine: Engine, approval_id: str) -> Action | None:
    """What this question is about, if it still waits for its answer."""
    try:
        action = (await engine.queries.run(run_of(approval_id))).action_of_approval(approval_id)
    except NotFound:
        return None
    return action if action is not None and action.approval is not None and action.approval.is_open else None


def _how_to_answer(data: Told, asked: Action, now: Instant) -> str:
    how = f"pollux approvals approve {data['approvalId']}"
    if not asked.asker:
        return f"to approve: {how}"
    # An agent cannot wait longer than its process lives: so we stay, for as long as the question does.
    left = max(0, round(data["expiresAt"] - now))
    first, *more = data["preview"].splitlines() or [data["description"]]
    what = f"{first} … ({len(more)} more: `pollux approvals show {data['approvalId']}`)" if more else first
    is_blocks = asked.approval is not None and data["expiresAt"] < asked.approval.expires_at
    why = " with the block, by its own time-out" if is_blocks else ""
    return f"waiting for approval: {what}; answer with `{how}` elsewhere, denied in {left} s{why}"


async def is_waiting(engine: Engine, run_id: RunId) -> bool:
    """Whether only people can move the run, or the runs that it waits for."""
    try:
        run = await engine.queries.run(run_id)
    except NotFound:
        return False
    if run.ending or pending(run) or any(action.is_in_flight for action in run.open):
        return False
    children = [action for action in run.open if action.where == "child" and action.handed_over and not action.outcome]
    if not children:
        return bool(run.approvals)
    return all([await is_waiting(engine, engine.queries.child_of(action.id)) for action in children])


def _code_of(code: str) -> int:
    if code in ("outcome_unknown", "needs_decision"):
        return NEEDS_A_PERSON
    return 2 if code in ("usage", "config") else 1


def _set(stopped: "asyncio.Future[signal.Signals]", number: signal.Signals) -> None:
    if not stopped.done():
        stopped.set_result(number)
