"""The demo's chat: text as it arrives, tools as they run, and a question wherever the policy wants a person."""

import sys
from collections.abc import Callable
from contextlib import aclosing

from pollux.cli.lines import Lines
from pollux.cli.shown import shown
from pollux.core.errors import Misfit
from pollux.core.events import ActionDecided, ActionStarted, RunCancelled, RunFailed
from pollux.core.ids import RunId, ThreadId, UserId
from pollux.core.machine import pending, step
from pollux.core.run import Action, Run
from pollux.engine.engine import Engine, Start
from pollux.engine.feed import Delta, Item, TurnRestarted
from pollux.engine.ports import Recorded

USER = UserId("local")


class Chat:
    """One thread, one person, one terminal."""

    def __init__(self, engine: Engine, lines: Lines, say: Callable[[str], None] | None = None) -> None:
        self._engine = engine
        self._lines = lines
        self._say = say or _write
        self._thread: ThreadId | None = None

    async def talk(self) -> None:
        """Until the person leaves."""
        while (prompt := await self._lines.next("\nyou> ")) is not None:
            if prompt.strip() in ("/quit", "/exit"):
                return
            if prompt.strip():
                await self._answer(prompt)
        self._say("\n")

    async def _answer(self, prompt: str) -> None:
        run = await self._engine.start(Start(prompt, user=USER, thread_id=self._thread, door="cli", live=True))
        self._thread = run.thread_id
        # Our own copy, folded from what we were shown: the question asked is about exactly that.
        known: Run | None = None
        while known is None or known.is_open:
            known = await self._follow(run.id, known)
            await self._ask(known)
        self._say("\n")

    async def _follow(self, run_id: RunId, run: Run | None) -> Run:
        """Show what happens until the run ends or waits for an answer."""
        async with aclosing(self._engine.watch(run_id, after=run.version if run else 0)) as items:
            async for item in items:
                self._show(item)
                if isinstance(item, Recorded):
                    run = step(run, item.event)
                    if run.approvals and not pending(run):
                        break
        assert run is not None
        return run

    def _show(self, item: Item) -> None:
        match item:
            case Delta(kind="text", text=text):
                self._say(shown(text))
            case TurnRestarted():
                self._say("\n(the answer begins anew)\n")
            case Recorded(event=ActionStarted(action_id=action_id)):
                self._say(f"  [running {action_id}]\n")
            case Recorded(event=ActionDecided(action=action)):
                mode = action.decision.mode if action.decision else "?"
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
            self._say(_question(action))
            answer = await self._lines.next("  approve? [y]es / [a]lways for this recipient / [N]o > ")
            word = (answer or "").strip().lower()[:1]
            always = word == "a" and bool(action.subjects)
            try:
                await self._engine.resolve(
                    approval.id,
                    "approved" if word in ("y", "a") else "rejected",
                    by=USER,
                    scope="always" if always else None,
                    args_hash=action.args_hash,
                )
            except Misfit as misfit:
                self._say(f"  [{misfit}]\n")


def _question(action: Action) -> str:
    """Read from the stored action: what is shown is what will run."""
    rows = [f"\n  {shown(action.tool, lines=False)} wants to run"]
    rows += [f"    {shown(name, lines=False)}: {shown(str(value), lines=False)}" for name, value in action.args.items()]
    if action.decision:
        rows.append(f"  because it asks first: {action.decision.reason}")
    return "\n".join(rows) + "\n"


def _write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()
