"""The demo's chat: text as it arrives, tools as they run, and a question wherever the policy wants a person.

The console shows the same question meanwhile, and whoever answers first has answered.
"""

import asyncio
import signal
import sys
from collections.abc import Callable
from contextlib import aclosing, suppress
from typing import Final, cast

from pollux.cli.asking import MOST_IN_SIGHT, MOST_ROWS, argument_rows, choices_of, recap
from pollux.cli.chat.keys import Interrupted
from pollux.cli.demo.keys import LEAVING, PROMPT
from pollux.cli.folding import Wrapping, columns_of, folded
from pollux.cli.lines import Lines
from pollux.cli.shown import shown
from pollux.core.errors import NotFound, PolluxError, ThreadBusy
from pollux.core.events import ActionDecided, ActionStarted, RunCancelled, RunFailed
from pollux.core.ids import RunId, ThreadId, UserId
from pollux.core.machine import pending, step
from pollux.core.messages import JSON
from pollux.core.run import Action, Approval, Run, lasting_scope
from pollux.engine.engine import Engine, Start
from pollux.engine.feed import Delta, Item, TurnRestarted
from pollux.engine.glance import state_of
from pollux.engine.ports import Recorded

USER = UserId("local")
DECIDED: Final = {"allow": "allowed", "require_approval": "waiting for approval", "deny": "denied by policy"}
YES: Final = frozenset({"y", "yes"})
ALWAYS: Final = frozenset({"a", "always"})


class Chat:
    """One thread, one person, one terminal."""

    def __init__(self, engine: Engine, lines: Lines, say: Callable[[str], None] | None = None) -> None:
        self._engine = engine
        self._lines = lines
        self._write = say or _write
        self._wrapping = Wrapping(sys.stdout)
        self._thread: ThreadId | None = None
        self._at_work: asyncio.Future[RunId] | None = None
        """The run that is being answered, once it has begun."""
        self._stopping: asyncio.Task[None] | None = None

    async def talk(self) -> int:
        """Until the person leaves; the result is the exit code."""
        while True:
            try:
                prompt = await self._lines.next(f"\n{PROMPT}")
            except Interrupted as interrupted:
                if interrupted.had_text:
                    continue
                return 128 + signal.SIGINT
            if prompt is None:
                self._say("\n")
                return 0
            if prompt.strip() in (f"/{word}" for word in LEAVING):
                return 0
            if prompt.strip():
                await self._stoppable(prompt)

    def stop(self) -> bool:
        """Stop the answer. Says no where there is none, or where it is being stopped already: then one leaves."""
        if self._at_work is None or self._stopping is not None:
            return False
        self._stopping = asyncio.create_task(self._cancel(self._at_work))
        return True

    async def _cancel(self, at_work: "asyncio.Future[RunId]") -> None:
        # What has ended meanwhile, or could not begin, needs no stopping.
        with suppress(PolluxError):
            await self._engine.cancel(await at_work, by=USER, user=USER)

    async def _stoppable(self, prompt: str) -> None:
        self._at_work = asyncio.get_running_loop().create_future()
        try:
            await self._answer(prompt)
        finally:
            self._at_work.cancel()
            if self._stopping is not None:
                await asyncio.wait({self._stopping})
            self._at_work = self._stopping = None

    def _say(self, text: str) -> None:
        self._write(self._wrapping.finish() + text)

    async def _answer(self, prompt: str) -> None:
        run = await self._begun(prompt)
        if run is None:
            return
        assert self._at_work is not None
        self._at_work.set_result(run.id)
        self._thread = run.thread_id
        # Our own copy, folded from what we were shown: the question asked is about exactly that.
        known: Run | None = None
        while known is None or known.is_open:
            known = await self._follow(run.id, known)
            await self._ask(known)
        self._say("\n")
        if known.refused:
            self._say(f"  [{state_of(known)}]\n")

    async def _begun(self, prompt: str) -> Run | None:
        """The run, or None where there can be none: the console has this conversation too, and may go on with it."""
        try:
            return await self._engine.start(Start(prompt, user=USER, thread_id=self._thread, door="cli", live=True))
        except ThreadBusy:
            self._say("  [this conversation goes on in the console: answer there first, or cancel what runs]\n")
        except NotFound:
            self._thread = None
            self._say("  [this conversation was deleted in the console; say it again, and a new one begins]\n")
        except PolluxError as problem:
            self._say(f"  [{shown(str(problem))}]\n")
        return None

    async def _follow(self, run_id: RunId, run: Run | None) -> Run:
        """Show what happens until the run ends or waits for an answer."""
        async with aclosing(self._engine.watch(run_id, after=run.version if run else 0)) as items:
            async for item in items:
                if isinstance(item, Recorded):
                    run = step(run, item.event)
                self._show(item, run)
                if run is not None and isinstance(item, Recorded) and run.approvals and not pending(run):
                    break
        assert run is not None
        return run

    def _show(self, item: Item, run: Run | None) -> None:
        match item:
            case Delta(kind="text", text=text):
                self._write(self._wrapping.feed(shown(text)))
            case TurnRestarted():
                self._say("\n(the answer begins anew)\n")
            case Recorded(event=ActionStarted(action_id=action_id)):
                action = run.action(action_id) if run else None
                self._say(f"  [running {shown(action.tool, lines=False) if action else action_id}]\n")
            case Recorded(event=ActionDecided(action=action)):
                mode = DECIDED[action.decision.mode] if action.decision else "?"
                self._say(f"  [{shown(action.tool, lines=False)}: {mode}]\n")
            case Recorded(event=RunFailed(message=message)):
                self._say(f"  [failed: {shown(message)}]\n")
            case Recorded(event=RunCancelled()):
                self._say("  [cancelled]\n")
            case _:
                pass

    async def _ask(self, run: Run) -> None:
        for approval in run.approvals:
            action = run.action_of_approval(approval.id)
            if action is None:
                continue
            self._say(folded(_question(action), columns_of(sys.stdout)))
            self._lines.forget()
            try:
                is_open, answer = await self._heard(run, approval)
            except Interrupted:
                self.stop()
                return
            if not is_open:
                self._say("\n  [answered in the console]\n")
                continue
            # Whole words: "actually, no" begins like "always".
            word = (answer or "").strip().lower()
            scope = lasting_scope(approval.scopes) if word in ALWAYS else None
            try:
                await self._engine.resolve(
                    approval.id,
                    "approved" if word in YES | ALWAYS else "rejected",
                    by=USER,
                    scope=scope,
                    args_hash=action.args_hash,
                )
            except PolluxError as problem:
                self._say(f"  [{shown(str(problem))}]\n")

    async def _heard(self, run: Run, approval: Approval) -> tuple[bool, str | None]:
        """Whether the question is still open, and what the person here says to it."""
        here = asyncio.ensure_future(self._lines.next(f"  approve? {choices_of(approval.scopes)} > "))
        elsewhere = asyncio.ensure_future(self._closed(run, approval.id))
        try:
            await asyncio.wait({here, elsewhere}, return_when=asyncio.FIRST_COMPLETED)
            return (True, here.result()) if here.done() else (False, None)
        finally:
            for task in (here, elsewhere):
                task.cancel()
            await asyncio.gather(here, elsewhere, return_exceptions=True)

    async def _closed(self, run: Run, approval_id: str) -> None:
        """Until nobody is asked this any more."""
        async with aclosing(self._engine.watch(run.id, after=run.version)) as items:
            async for item in items:
                if isinstance(item, Recorded):
                    run = step(run, item.event)
                if all(approval.id != approval_id for approval in run.approvals):
                    return


def _question(action: Action) -> str:
    """Read from the stored action: what is shown is what will run."""
    rows = [f"\n  {shown(action.tool, lines=False)} wants to run"]
    for name, value in action.args.items():
        rows += argument_rows(name, _plain(value))
    if action.decision:
        rows.append(f"  because it asks first: {action.decision.reason}")
    if sum(map(len, rows)) > MOST_IN_SIGHT or len(rows) > MOST_ROWS:
        rows += recap(action.tool, action.subjects)
    return "\n".join(rows) + "\n"


def _plain(value: JSON) -> str:
    return ", ".join(map(_plain, cast("list[JSON]", value))) if isinstance(value, list) else str(value)


def _write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()
