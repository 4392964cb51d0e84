"""Perform one effect and report what happened. Failures become events; they never escape."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Literal

from pollux.core.errors import MissingCredential, ModelError, PolluxError
from pollux.core.events import (
    ActionCompleted,
    ActionFailed,
    ActionHandedOver,
    ActionReconciled,
    Event,
    FailureKind,
    ModelFailed,
    ModelReplied,
)
from pollux.core.ids import Instant
from pollux.core.run import Action, Run
from pollux.core.tools import Tool, ToolContext
from pollux.engine.feed import Feed
from pollux.engine.model import Done, ModelRequest, Provider, TextDelta, ThoughtDelta
from pollux.engine.plain import plain
from pollux.engine.retry import retry_at

logger = logging.getLogger(__name__)

RECONCILE_SECONDS = 30.0


class InstructionsFailed(Exception):
    """The author's own code could not say what the model is to be told. The text is safe to show."""


Now = Callable[[], Instant]


async def call_model(
    run: Run, ask: Callable[[], Awaitable[tuple[Provider, ModelRequest]]], feed: Feed, now: Now
) -> Event:
    """Ask for one answer and pass its text on as it arrives."""
    turn, attempt = run.turn, run.attempt
    try:
        provider, request = await ask()
    except InstructionsFailed as problem:
        return _failed(run, "instructions", str(problem), now())
    except PolluxError as problem:
        kind = "auth" if isinstance(problem, MissingCredential) else "bad_request"
        return _failed(run, kind, str(problem), now())
    except Exception as problem:
        logger.exception("a request could not be made")
        return _failed(run, "internal", f"the request could not be made ({type(problem).__name__})", now())
    done: Done | None = None
    try:
        # Read to the very end: a generator left half way would have to be closed by a task of its own.
        async for event in provider.stream(request):
            if type(event) is TextDelta:
                feed.show(turn, attempt, "text", event.text)
            elif type(event) is ThoughtDelta:
                feed.show(turn, attempt, "thought", event.text)
            elif type(event) is Done:
                done = event
    except ModelError as error:
        moment = now()
        again = retry_at(error, attempt=attempt, since=run.asked_since or moment, now=moment)
        kind = "interrupted" if error.started else error.kind
        return _failed(run, kind, str(error), moment, again)
    except (Exception, asyncio.CancelledError) as problem:
        _unless_stopped(problem)
        logger.exception("a provider failed in a way it should not")
        return _failed(run, "internal", f"the provider failed ({type(problem).__name__})", now())
    if done is None:
        return _failed(run, "protocol", "the provider ended its answer without saying so", now())
    return _replied(run, done, now())


async def instructions(making: Awaitable[str]) -> str:
    """The instructions. Raises InstructionsFailed, whatever went wrong inside."""
    try:
        return await making
    except Exception as problem:
        logger.exception("instructions failed")
        raise InstructionsFailed(f"the instructions could not be made ({type(problem).__name__})") from problem


def unfit(run: Run, at: Instant) -> ModelFailed:
    """What to record of an answer that the machine refused: asking again would bring the same."""
    return _failed(run, "protocol", "the model's answer does not fit the conversation", at)


async def run_tool(run: Run, action: Action, tool: Tool, now: Now) -> Event:
    """Execute an action whose start is in the journal."""
    assert action.started is not None
    epoch, attempt = action.started.epoch, action.started.attempt
    try:
        async with asyncio.timeout(tool.spec.timeout):
            result = await tool.run(context_for(run, action), action.args)
    except TimeoutError:
        return await _after_stop(run, action, tool, "timeout", "the tool took too long", now)
    except PolluxError as problem:
        return _action_failed(action, problem.code, str(problem), now())
    except (Exception, asyncio.CancelledError) as problem:
        _unless_stopped(problem)
        logger.exception("a tool failed")
        return _action_failed(action, "tool_call_failure", f"the tool failed ({type(problem).__name__})", now())
    if action.where == "child":
        return ActionHandedOver(epoch=epoch, action_id=action.id, attempt=attempt, at=now())
    return ActionCompleted(epoch=epoch, action_id=action.id, attempt=attempt, result=plain(result), at=now())


async def stopped(run: Run, action: Action, tool: Tool | None, now: Now) -> Event:
    """What to record of an action that was stopped while it ran."""
    return await _after_stop(run, action, tool, "cancelled", "the run was cancelled while this ran", now)


async def reconcile(run: Run, action: Action, tool: Tool | None, now: Now) -> Event:
    """Look at the world: did the interrupted attempt happen?"""
    found = await _look(run, action, tool)
    return ActionReconciled(epoch=run.epoch, action_id=action.id, outcome=found[0], result=plain(found[1]), at=now())


def context_for(run: Run, action: Action) -> ToolContext:
    """What a tool may know about who is asking."""
    return ToolContext(
        user=run.user,
        origin=run.origin,
        run_id=run.id,
        action_id=action.id,
        thread_id=run.thread_id,
        deadline=run.deadline,
    )


async def _after_stop(run: Run, action: Action, tool: Tool | None, code: str, message: str, now: Now) -> Event:
    if action.repeat == "repeatable":
        return _action_failed(action, code, message, now())
    outcome, result = ("unknown", None) if action.repeat != "checkable" else await _look(run, action, tool)
    if outcome == "done":
        assert action.started is not None
        return ActionCompleted(
            epoch=action.started.epoch,
            action_id=action.id,
            attempt=action.started.attempt,
            result=plain(result),
            at=now(),
        )
    if outcome == "not_done":
        return _action_failed(action, code, message, now())
    # It had begun and nobody can say how far it came: the honest answer is that we do not know.
    return _action_failed(action, "outcome_unknown", f"{message}; it may or may not have happened", now())


async def _look(run: Run, action: Action, tool: Tool | None) -> tuple[Literal["done", "not_done", "unknown"], object]:
    if tool is None:
        return "unknown", None
    try:
        async with asyncio.timeout(RECONCILE_SECONDS):
            found = await tool.reconcile(context_for(run, action), action.args)
    except Exception:
        logger.exception("a look at the outcome failed")
        return "unknown", None
    return found.outcome, found.result


def _unless_stopped(problem: BaseException) -> None:
    """A cancellation that nobody here asked for is a failure like any other: it came out of somebody else's code."""
    task = asyncio.current_task()
    if isinstance(problem, asyncio.CancelledError) and task is not None and task.cancelling():
        raise problem


def _replied(run: Run, done: Done, at: Instant) -> ModelReplied:
    return ModelReplied(
        epoch=run.epoch,
        turn=run.turn,
        attempt=run.attempt,
        message=done.message,
        stop=done.stop,
        usage=done.usage,
        reason=done.reason,
        detail=done.detail,
        at=at,
    )


def _failed(run: Run, kind: FailureKind, message: str, at: Instant, again: Instant | None = None) -> ModelFailed:
    return ModelFailed(
        epoch=run.epoch, turn=run.turn, attempt=run.attempt, kind=kind, message=message, retry_at=again, at=at
    )


def _action_failed(action: Action, code: str, message: str, at: Instant) -> ActionFailed:
    assert action.started is not None
    return ActionFailed(
        epoch=action.started.epoch,
        action_id=action.id,
        attempt=action.started.attempt,
        code=code,
        message=message,
        at=at,
    )
