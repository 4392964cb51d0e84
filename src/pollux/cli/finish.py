"""Answer a question that a run waits for, and go on with the run as `pollux run` would have.

What was told before the run began to wait is not told again: the text, the calls and the result are those of the rest.
A run that somebody else holds, or that came through another door, is theirs to go on with: its answer is only recorded.
"""

import asyncio
import os
from contextlib import aclosing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from pollux.bootstrap import Registry, open_store, running_engine
from pollux.cli.allow import rules_for
from pollux.cli.answer import CliAgent
from pollux.cli.asking import Terminal, has_terminal
from pollux.cli.masking import Mask
from pollux.cli.outlet import Outlet
from pollux.cli.telling import Telling, Work, talk, tell
from pollux.cli.writers import Format
from pollux.config import Settings, read_settings
from pollux.core.errors import Misfit, NotFound, PolluxError, ValidationError
from pollux.core.ids import run_of
from pollux.core.run import Action, Run
from pollux.sdk import events
from pollux.sdk.approvals import Approve, Reject
from pollux.sdk.events import AgentEvent
from pollux.sdk.setup import USER
from pollux.sdk.translate import Translation

if TYPE_CHECKING:
    from pollux.engine.engine import Engine

DOOR = "cli"
TOOLS = ("files", "shell")


@dataclass(frozen=True, slots=True)
class Given:
    """An answer, and how to tell what comes of it."""

    approval_id: str
    answer: Approve | Reject
    settings: Settings
    format: Format
    timeout: float
    config: str | None = None
    """The configuration file, where one was named."""
    system_prompt: str = ""
    allow: tuple[str, ...] = ()
    policy: Path | None = None
    """Rules are not kept with a run: whoever goes on says them again, or is asked again."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """A run of this door that waits for the answer, and everything it has told so far."""

    run: Run
    told: tuple[AgentEvent, ...]


def finish(given: Given, outlet: Outlet) -> int:
    """Record the answer and tell the rest on standard output; the result is the exit code, as of `pollux run`."""
    mask = Mask(given.settings.secrets())
    try:
        waiting = asyncio.run(_take(given, mask))
    except PolluxError as problem:
        work = _failing(problem)
    else:
        if waiting is None:
            return 0
        work = _going_on(given, waiting)
    return tell(work, format_=given.format, outlet=outlet, mask=mask, timeout=given.timeout)


async def _take(given: Given, mask: Mask) -> Waiting | None:
    """The run, if it is ours to go on with. Of any other the answer is recorded here."""
    answer, store = given.answer, open_store(given.settings)
    # It knows no profile: it records, and drives nothing.
    async with running_engine(given.settings, profiles={}, store=store) as engine:
        run, action = await _asked(engine, given)
        is_held = bool(run.driver) and await store.is_alive(run.driver)
        if run.door == DOOR and not is_held:
            journal = await engine.queries.journal(run.id, USER)
            telling = Translation(lambda _model, _usage: None)
            return Waiting(run, tuple(event for record in journal for event in telling.read(record)))
        await engine.resolve(
            given.approval_id,
            "approved" if isinstance(answer, Approve) else "rejected",
            by=USER,
            user=USER,
            feedback=answer.feedback if isinstance(answer, Reject) else "",
            scope="always" if isinstance(answer, Approve) and answer.always else None,
            args_hash=action.args_hash,
        )
        talk(mask, f"recorded. {_heir(run, is_held=is_held)}")
        return None


async def _asked(engine: "Engine", given: Given) -> tuple[Run, Action]:
    """What the question is about. Raises where it cannot be answered like that."""
    approval_id = given.approval_id
    try:
        run = await engine.queries.run(run_of(approval_id), USER)
    except NotFound:
        run = None
    action = run.action_of_approval(approval_id) if run else None
    if run is None or action is None or action.approval is None:
        raise NotFound(f"there is no approval {approval_id!r}. `pollux approvals list` lists those that wait")
    status = action.approval.status
    if status != "pending":
        code = "already_resolved" if status in ("approved", "rejected") else status
        raise Misfit(f"the question cannot be answered any more: it is {status}", code=code)
    if isinstance(given.answer, Approve) and given.answer.always and not action.subjects:
        raise ValidationError(
            f"{action.tool} names no recipient here that could always be allowed. Approve it without --always",
            code="no_recipient",
        )
    return run, action


def _going_on(given: Given, waiting: Waiting) -> Work:
    run = waiting.run
    past = _to_tell(waiting, given.approval_id)

    async def work(telling: Telling) -> None:
        agent = await _agent(given, run)
        try:
            telling.writer.begin(next((message.text for message in run.messages if message.role == "user"), ""))
            await agent.answer(given.approval_id, given.answer)
            at = -1
            async with aclosing(agent.resume_stream()) as stream:
                async for event in stream:
                    at += 1
                    if at >= len(past) or past[at] == "now":
                        await telling.read(event)
                    elif past[at] == "noted":
                        telling.writer.read(event)
        finally:
            await agent.aclose()

    return work


async def _agent(given: Given, run: Run) -> CliAgent:
    """The agent that `pollux run` makes, in the directory where that was said."""
    settings = read_settings(os.environ, cwd=Path(run.origin), flags={"config": given.config})
    # The store is the one in which the question was found, whatever that directory says.
    settings = replace(settings, store=given.settings.store, home=given.settings.home)
    # Known before anything is recorded: an approved tool must not run for a model that cannot be told of it.
    providers = Registry(settings)
    providers(run.model)
    await providers.close()
    return CliAgent(
        given.system_prompt,
        tools=TOOLS,
        policy=[*rules_for(given.allow), *([given.policy] if given.policy else [])],
        model=run.model,
        cwd=run.origin,
        session_id=run.thread_id,
        on_approval=Terminal().ask if has_terminal() else "defer",
        log_level="error",
        settings=settings,
    )


def _to_tell(waiting: Waiting, approval_id: str) -> list[str]:
    """What to do with each event of the past: tell it `now`, have it `noted` by the writer alone, or leave it out.

    A call that has no result yet is noted: it is told together with its result.
    """
    still_open = {approval.id for approval in waiting.run.approvals} - {approval_id}
    fates: list[str] = []
    calls: dict[str, list[int]] = {}
    for at, event in enumerate(waiting.told):
        match event:
            case events.Content() | events.Thought() | events.ChatCompressed() | events.TurnRestarted():
                fates.append("told")
            case events.ToolCallResponse(id=call_id):
                fates.append("told")
                for before in calls.pop(call_id, ()):
                    fates[before] = "told"
            case events.ApprovalRequired(call_id=call_id):
                fates.append("now" if event.id in still_open else "noted")
                calls.setdefault(call_id, []).append(at)
            case events.ToolCallRequest(id=call_id):
                fates.append("noted")
                calls.setdefault(call_id, []).append(at)
            case _:
                fates.append("noted")
    return fates


def _failing(problem: PolluxError) -> Work:
    async def work(telling: Telling) -> None:
        raise problem

    return work


def _heir(run: Run, *, is_held: bool) -> str:
    """Who goes on with a run that is not ours."""
    if is_held:
        return f"The process that holds {run.id} goes on with it"
    if run.door == "sdk":
        return f"{run.id} is a script's: `await agent.resume()` in session {run.thread_id} goes on with it"
    return f"{run.id} came through {run.door}: whoever serves that goes on with it"
