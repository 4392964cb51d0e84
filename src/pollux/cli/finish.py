"""Go on with a run of the command line that another command began, and tell it as `pollux run` would have.

`finish` answers the question that a run waits for. What was told before the run began to wait is not told again: the
text, the calls and the result are those of the rest. A run that somebody else holds, or that came through another door,
is theirs to go on with: its answer is only recorded.
"""

import asyncio
import os
from collections import deque
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pollux.bootstrap import Registry, open_store, running_engine
from pollux.cli.allow import rules_for
from pollux.cli.answer import CliAgent
from pollux.cli.asking import Terminal, has_terminal
from pollux.cli.masking import Mask
from pollux.cli.outlet import Outlet
from pollux.cli.profile import outfit_of
from pollux.cli.rest import Rest
from pollux.cli.telling import Telling, Work, talk, tell
from pollux.config import read_settings
from pollux.core.errors import Misfit, NotFound, PolluxError, ValidationError
from pollux.core.frozen import frozen
from pollux.core.run import Action, Run, run_of
from pollux.engine.ports import Store
from pollux.sdk import events
from pollux.sdk.approvals import Approve, Reject, scope_of
from pollux.sdk.events import AgentEvent
from pollux.sdk.setup import USER
from pollux.sdk.translate import Translation

if TYPE_CHECKING:
    from pollux.engine.engine import Engine

DOOR = "cli"

Fate = Literal["now", "noted", "told"]
"""What becomes of an event: it is told now, noted by the writer alone, or left out, since it was told before."""


@frozen
class Waiting:
    """A run of this door that waits for the answer, and everything it has told so far."""

    run: Run
    told: tuple[AgentEvent, ...]


def finish(approval_id: str, answer: Approve | Reject, *, rest: Rest, outlet: Outlet) -> int:
    """Record the answer and tell the rest on standard output; the result is the exit code, as of `pollux run`."""
    mask = Mask(rest.settings.secrets())
    try:
        waiting = asyncio.run(_take(approval_id, answer, rest, mask))
    except PolluxError as problem:
        work = _failing(problem)
    else:
        if waiting is None:
            return 0
        work = _finishing(waiting, approval_id, answer, rest)
    return tell(work, format_=rest.format, outlet=outlet, mask=mask, timeout=rest.timeout)


async def go_on(
    run: Run,
    rest: Rest,
    telling: Telling,
    fate_of: Callable[[AgentEvent], Fate],
    *,
    answer: tuple[str, Approve | Reject] | None = None,
) -> None:
    """Drive the run to its end and tell it, from its beginning on, each event as `fate_of` has it.

    The answer to one of its questions is recorded first.
    """
    agent = await _agent(rest, run)
    try:
        telling.writer.begin(next((message.text for message in run.messages if message.role == "user"), ""))
        if answer is not None:
            await agent.answer(*answer)
        async with aclosing(agent.resume_stream()) as stream:
            async for event in stream:
                match fate_of(event):
                    case "now":
                        await telling.read(event)
                    case "noted":
                        telling.writer.read(event)
                    case "told":
                        pass
    finally:
        await agent.aclose()


async def is_held(run: Run, store: Store) -> bool:
    """Whether a process that lives goes on with the run."""
    return bool(run.driver) and await store.is_alive(run.driver)


def heir(run: Run, *, held: bool) -> str:
    """Who goes on with a run that is not ours."""
    if held:
        return f"The process that holds {run.id} goes on with it"
    if run.door == "sdk":
        return f"{run.id} is a script's: `await agent.resume()` in session {run.thread_id} goes on with it"
    if run.door == "runbook":
        root = run.parent.root if run.parent else run.id
        return f"{root} is a runbook's: `pollux runbook resume {root}` goes on with it"
    return f"{run.id} came through {run.door}: whoever serves that goes on with it"


async def _take(approval_id: str, answer: Approve | Reject, rest: Rest, mask: Mask) -> Waiting | None:
    """The run, if it is ours to go on with. Of any other the answer is recorded here."""
    store = open_store(rest.settings)
    # It knows no profile: it records, and drives nothing.
    async with running_engine(rest.settings, profiles={}, store=store) as engine:
        run, action = await _asked(engine, approval_id, answer)
        held = await is_held(run, store)
        if run.door == DOOR and not held:
            journal = await engine.queries.journal(run.id, USER)
            telling = Translation(lambda _model, _usage: None, with_starts=True)
            return Waiting(run, tuple(event for record in journal for event in telling.read(record)))
        await engine.resolve(
            approval_id,
            "approved" if isinstance(answer, Approve) else "rejected",
            by=USER,
            user=USER,
            feedback=answer.feedback if isinstance(answer, Reject) else "",
            scope=scope_of(answer),
            args_hash=action.args_hash,
        )
        talk(mask, f"recorded. {heir(run, held=held)}")
        return None


async def _asked(engine: "Engine", approval_id: str, answer: Approve | Reject) -> tuple[Run, Action]:
    """What the question is about. Raises where it cannot be answered like that."""
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
    if scope_of(answer) == "always" and not action.approval.scopes:
        raise ValidationError(
            f"{action.tool} names no recipient here that could always be allowed. Approve it without --always",
            code="no_recipient",
        )
    return run, action


def _finishing(waiting: Waiting, approval_id: str, answer: Approve | Reject, rest: Rest) -> Work:
    # What it has told before comes first, in the same order.
    past = deque(_to_tell(waiting, approval_id))

    def fate_of(_: AgentEvent) -> Fate:
        return past.popleft() if past else "now"

    async def work(telling: Telling) -> None:
        await go_on(waiting.run, rest, telling, fate_of, answer=(approval_id, answer))

    return work


async def _agent(rest: Rest, run: Run) -> CliAgent:
    """The agent that `pollux run` makes, in the directory where that was said."""
    settings = read_settings(os.environ, cwd=Path(run.origin), flags={"config": rest.config})
    # The store is the one in which the run was found, whatever that directory says.
    required = "required" in (settings.sandbox, rest.settings.sandbox)
    box = "required" if required else rest.settings.sandbox
    settings = replace(settings, store=rest.settings.store, home=rest.settings.home, sandbox=box)
    # Known before anything is recorded: an approved tool must not run for a model that cannot be told of it.
    providers = Registry(settings)
    providers(run.model)
    await providers.close()
    return CliAgent(
        rest.system_prompt,
        tools=outfit_of(settings, None).tools,
        policy=[*rules_for(rest.allow), *([rest.policy] if rest.policy else [])],
        model=run.model,
        cwd=run.origin,
        session_id=run.thread_id,
        on_approval=Terminal().ask if has_terminal() else "defer",
        log_level="error",
        settings=settings,
    )


def _to_tell(waiting: Waiting, approval_id: str) -> list[Fate]:
    """The fate of each event of the past.

    A call that has no result yet is noted: it is told together with its result.
    """
    still_open = {approval.id for approval in waiting.run.approvals} - {approval_id}
    fates: list[Fate] = []
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
            case events.ToolCallRequest(id=call_id) | events.ToolCallStarted(id=call_id):
                fates.append("noted")
                calls.setdefault(call_id, []).append(at)
            case _:
                fates.append("noted")
    return fates


def _failing(problem: PolluxError) -> Work:
    async def work(telling: Telling) -> None:
        raise problem

    return work
