"""Perform one effect and report what happened. Failures become events; they never escape."""

import asyncio
import math
import re
from base64 import b64encode
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import nullcontext
from copy import deepcopy
from dataclasses import fields, is_dataclass, replace
from datetime import date, datetime, time
from enum import Enum
from pathlib import PurePath
from typing import Any, cast

from pollux.core.errors import (
    AuthError,
    MissingCredential,
    ModelError,
    OutcomeUnknown,
    PolicyError,
    PolluxError,
    StoreError,
    ToolExecutionError,
    TooNew,
    ValidationError,
    public_text,
)
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
from pollux.core.hosted import WEB, hosted_sources
from pollux.core.ids import Instant
from pollux.core.messages import JSON, Message
from pollux.core.profile import Profile
from pollux.core.run import Action, Compressed, Run, evolve
from pollux.core.tools import Reach, Reconciled, Tool, ToolContext, ToolSpec
from pollux.engine.feed import Feed
from pollux.engine.ledger import patiently, pause
from pollux.engine.logs import log_of
from pollux.engine.looking import NOT_NOW
from pollux.engine.model import Done, ModelRequest, Provider, TextDelta, ThoughtDelta, Turns
from pollux.engine.ports import Store
from pollux.engine.retry import retry_at

logger = log_of(__name__)

RECONCILE_SECONDS = 30.0
MOST_AGAIN = 20
"""How often a tool begins again, or a request is made, that finds the store in trouble each time, while we do not."""
MIN_OUTPUT = 16
UNLIMITED = nullcontext()
PLAIN = frozenset({str, int, float, bool, type(None)})
MAX_DEPTH = 50
MAX_TEXT = 10_000_000
"""How many characters a result may hold altogether."""
MAX_MEMBERS = 1_000_000
_ADDRESS = re.compile(r"\bat 0x[0-9a-fA-F]+")
_OUTCOMES = ("done", "not_done", "unknown")

Instruct = Callable[[Run, Profile], Awaitable[str]]
"""Makes the instructions. Asked before every model call, since what they depend on may have changed."""


class InstructionsFailed(Exception):
    """The author's own code could not say what the model is to be told. The text is safe to show."""


Now = Callable[[], Instant]
FAIR = 256
"""After how many pieces of an answer others have their turn."""


async def call_model(
    run: Run, ask: Callable[[], Awaitable[tuple[Provider, ModelRequest]]], feed: Feed, now: Now
) -> Event:
    """Ask for one answer and pass its text on as it arrives."""
    turn, attempt = run.turn, run.attempt
    try:
        provider, request = await ask()
        declared = hosted_sources(request.extra) if request.extra else ()
    except InstructionsFailed as problem:
        return _failed(run, "instructions", str(problem), now())
    except TooNew:
        # Nothing is wrong with the run: a newer process can make this request.
        raise
    except PolluxError as problem:
        kind = "auth" if isinstance(problem, MissingCredential) else "bad_request"
        return _failed(run, kind, public_text(problem), now())
    except (Exception, asyncio.CancelledError) as problem:
        unless_stopped(problem)
        logger.exception("a request could not be made")
        return _failed(run, "internal", f"the request could not be made ({type(problem).__name__})", now())
    done: Done | None = None
    heard = 0
    try:
        # Read to the very end: a generator left half way would have to be closed by a task of its own.
        async for event in provider.stream(request):
            heard += 1
            if heard % FAIR == 0:
                # An answer that is all there at once must not keep everybody else waiting.
                await asyncio.sleep(0)
            if type(event) is TextDelta:
                feed.show(turn, attempt, "text", event.text)
            elif type(event) is ThoughtDelta:
                feed.show(turn, attempt, "thought", event.text)
            elif type(event) is Done:
                done = event
    except ModelError as error:
        moment = now()
        again = retry_at(error, attempt=attempt, since=run.asked_since or moment, now=moment, limits=run.limits)
        kind = "interrupted" if error.started else error.kind
        return _failed(run, kind, str(error), moment, again)
    except (Exception, asyncio.CancelledError) as problem:
        unless_stopped(problem)
        logger.exception("a provider failed in a way it should not")
        return _failed(run, "internal", f"the provider failed ({type(problem).__name__})", now())
    if done is None:
        return _failed(run, "protocol", "the provider ended its answer without saying so", now())
    return _replied(run, done, declared, now())


async def instructions(making: Awaitable[str]) -> str:
    """The instructions. Raises InstructionsFailed, whatever went wrong inside; StoreError, since that may pass."""
    try:
        return await making
    except StoreError:
        raise
    except Exception as problem:
        logger.exception("instructions failed")
        said = str(problem) if isinstance(problem, PolluxError) else type(problem).__name__
        raise InstructionsFailed(f"the instructions could not be made ({said})") from problem


def unfit(run: Run, at: Instant) -> ModelFailed:
    """What to record of an answer that the machine refused: asking again would bring the same."""
    return _failed(run, "protocol", "the model's answer does not fit the conversation", at)


async def run_tool(run: Run, action: Action, tool: Tool, reach: Reach, now: Now, latest: Callable[[], Run]) -> Event:
    """Execute an action whose start is in the journal. `latest` is the run as it is when something went wrong.

    Where the tool could not go on without the store, and doing it again is harmless or known to be due, it begins
    again once that can be written: by then nobody else may have taken it over. Raises Misfit where somebody has.
    """
    for tries in range(MOST_AGAIN):
        try:
            return await _attempt(run, action, tool, reach, now, latest, again=tries)
        except StoreError as problem:
            await pause(tries, problem)
            action = _noted_since(action, latest())
            await reach.note(action.note)
    return await _attempt(run, action, tool, reach, now, latest, again=MOST_AGAIN)


async def _attempt(
    run: Run, action: Action, tool: Tool, reach: Reach, now: Now, latest: Callable[[], Run], *, again: int
) -> Event:
    """What came of it. Raises StoreError where it is to be done again."""
    assert action.started is not None
    epoch, attempt = action.started.epoch, action.started.attempt
    # A copy: what was decided on and journalled must not change under a tool's hands.
    args = {name: value if type(value) in PLAIN else deepcopy(value) for name, value in action.args.items()}
    limit = asyncio.timeout(tool.spec.timeout) if tool.spec.timeout is not None else None
    try:
        async with limit or UNLIMITED:
            result = await tool.run(context_for(run, action, reach, again=again), args)
    except TimeoutError as problem:
        if limit is None or not limit.expired():
            return await _after_trouble(run, _noted_since(action, latest()), tool, problem, now)
        return await _after_stop(run, _noted_since(action, latest()), tool, "timeout", "the tool took too long", now)
    except AuthError as problem:
        return _action_failed(action, problem.code, str(problem), now(), connect_url=problem.connect_url or "")
    except (ToolExecutionError, ValidationError, PolicyError) as problem:
        return _action_failed(action, problem.code, str(problem), now())
    except OutcomeUnknown as problem:
        action = _noted_since(action, latest())
        return await _after_stop(run, action, tool, ToolExecutionError.code, str(problem), now)
    except StoreError as problem:
        action = _noted_since(action, latest())
        if action.repeat == "once" or again == MOST_AGAIN:
            return await _after_trouble(run, action, tool, problem, now)
        if action.repeat == "checkable":
            said = "the store could not be reached"
            return await _after_stop(run, action, tool, ToolExecutionError.code, said, now, again=problem)
        raise
    except (Exception, asyncio.CancelledError, SystemExit) as problem:  # noqa: BLE001  It is logged and told below.
        # Also a tool that calls exit(): it ends its own call, not the process of everybody else.
        unless_stopped(problem)
        return await _after_trouble(run, _noted_since(action, latest()), tool, problem, now)
    if action.where == "child":
        return ActionHandedOver(epoch=epoch, action_id=action.id, attempt=attempt, at=now())
    try:
        kept = json_of(result)
    except NoForm as problem:
        if not action.side_effect:
            return _action_failed(action, "tool_call_failure", str(problem), now())
        # It has happened: after an error the model would do it again.
        kept = f"(done; {problem})"
    return ActionCompleted(epoch=epoch, action_id=action.id, attempt=attempt, result=kept, at=now())


async def stopped(run: Run, action: Action, tool: Tool | None, now: Now) -> Event:
    """What to record of an action that was stopped while it ran."""
    return await _after_stop(run, action, tool, "cancelled", "the run was cancelled while this ran", now)


async def reconcile(run: Run, action: Action, tool: Tool | None, now: Now) -> Event:
    """Look at the world: did the interrupted attempt happen?"""
    found = await _look(run, action, tool)
    return ActionReconciled(
        epoch=run.epoch,
        action_id=action.id,
        outcome=found.outcome,
        result=plain(found.result),
        detail=found.detail,
        at=now(),
    )


def _noted_since(action: Action, latest: Run) -> Action:
    """The action with what its tool noted meanwhile: a look that did not know of it would be wrong."""
    known = latest.action(action.id)
    return evolve(action, note=known.note) if known is not None else action


def context_for(run: Run, action: Action, reach: Reach = NOT_NOW, *, again: int = 0) -> ToolContext:
    """What a tool may know about who is asking. `again` counts the times that it had to begin anew."""
    return ToolContext(
        user=run.user,
        origin=run.origin,
        run_id=run.id,
        action_id=action.id,
        thread_id=run.thread_id,
        deadline=run.deadline,
        attempt=again + (action.started.attempt if action.started else 1),
        noted=deepcopy(action.note),
        reach=reach,
    )


async def _after_trouble(run: Run, action: Action, tool: Tool, problem: BaseException, now: Now) -> Event:
    logger.error("a tool failed", exc_info=problem)
    said = f"the tool failed ({type(problem).__name__})"
    if action.side_effect:
        # Only an error that the tool raises as its own says that nothing happened.
        return await _after_stop(run, action, tool, "tool_call_failure", said, now)
    return _action_failed(action, "tool_call_failure", said, now())


async def _after_stop(
    run: Run, action: Action, tool: Tool | None, code: str, message: str, now: Now, *, again: StoreError | None = None
) -> Event:
    """What to record. Raises `again` where that is given and nothing has happened."""
    if action.repeat == "repeatable":
        return _action_failed(action, code, message, now())
    found = await _look(run, action, tool) if action.repeat == "checkable" else Reconciled("unknown")
    if found.outcome == "done":
        assert action.started is not None
        return ActionCompleted(
            epoch=action.started.epoch,
            action_id=action.id,
            attempt=action.started.attempt,
            result=plain(found.result),
            at=now(),
        )
    if found.outcome == "not_done":
        if again:
            raise again
        return _action_failed(action, code, message, now())
    # It had begun and nobody can say how far it came: the honest answer is that we do not know.
    said = f"{message}; {found.detail or 'it may or may not have happened'}"
    return _action_failed(action, "outcome_unknown", said, now())


async def _look(run: Run, action: Action, tool: Tool | None) -> Reconciled:
    if tool is None:
        return Reconciled("unknown")
    try:
        # A store in trouble says nothing of the outcome: it is waited for, and the look is taken then.
        found = await patiently(lambda: _glance(run, action, tool))
        return Reconciled(found.outcome if found.outcome in _OUTCOMES else "unknown", found.result, _text(found.detail))
    except (Exception, asyncio.CancelledError) as problem:
        unless_stopped(problem)
        logger.exception("a look at the outcome failed")
        return Reconciled("unknown")


async def _glance(run: Run, action: Action, tool: Tool) -> Reconciled:
    async with asyncio.timeout(RECONCILE_SECONDS):
        return await tool.reconcile(context_for(run, action), deepcopy(action.args))


def unless_stopped(problem: BaseException) -> None:
    """A cancellation that nobody here asked for is a failure like any other: it came out of somebody else's code."""
    task = asyncio.current_task()
    if isinstance(problem, asyncio.CancelledError) and task is not None and task.cancelling():
        raise problem


def _replied(run: Run, done: Done, declared: Iterable[str], at: Instant) -> ModelReplied:
    # Of what a service read for an answer it may say nothing. And what was read once may be repeated ever after.
    known = (source for source in WEB if source in run.sources)
    heard = tuple(sorted({*done.message.sources, *declared, *known}))
    message = replace(done.message, sources=heard) if heard != done.message.sources else done.message
    return ModelReplied(
        epoch=run.epoch,
        turn=run.turn,
        attempt=run.attempt,
        message=message,
        stop=done.stop,
        usage=done.usage,
        reason=done.reason,
        detail=done.detail,
        at=at,
    )


def _failed(run: Run, kind: FailureKind, message: str, at: Instant, again: Instant | None = None) -> ModelFailed:
    return ModelFailed(
        epoch=run.epoch, turn=run.turn, attempt=run.attempt, kind=kind, message=_text(message), retry_at=again, at=at
    )


def _action_failed(action: Action, code: str, message: str, at: Instant, *, connect_url: str = "") -> ActionFailed:
    assert action.started is not None
    return ActionFailed(
        epoch=action.started.epoch,
        action_id=action.id,
        attempt=action.started.attempt,
        code=_text(code),
        message=_text(message),
        connect_url=connect_url,
        at=at,
    )


async def fixed_instructions(run: Run, profile: Profile) -> str:
    """What the run's page tells, the run's own text, or the profile's."""
    return run.page.told if run.page else run.instructions or profile.instructions


def request_for(
    run: Run, profile: Profile, *, system: str, turns: Turns, tools: tuple[ToolSpec, ...], stream: bool
) -> ModelRequest:
    """One call. What it may put out is capped by what is left of the budget."""
    return ModelRequest(
        model=run.model,
        turns=turns,
        system=system,
        tools=tools,
        output_schema=profile.output_schema,
        thinking=profile.thinking,
        max_output_tokens=_cap(run, profile),
        extra=profile.extra,
        stream=stream,
        idle_seconds=run.limits.idle_seconds,
        total_seconds=run.limits.answer_seconds,
        answer_bytes=run.limits.answer_bytes,
    )


async def load_turns(run: Run, store: Store) -> Turns:
    """The thread up to the run's own beginning, older parts by their summary, then the run's messages."""
    base = run.compressed.upto if run.compressed else 0
    history: list[Message] = []
    if run.head > base:
        history = list(await store.messages(run.thread_id, base))[: run.head - base]
    own = run.messages[max(0, base - run.head) :]
    return Turns([*summary_of(run.compressed), *history, *own])


def summary_of(compressed: Compressed | None) -> tuple[Message, ...]:
    """The message that stands for the older part."""
    return (compressed.summary,) if compressed else ()


def _cap(run: Run, profile: Profile) -> int | None:
    if run.limits.tokens is None:
        return profile.max_output_tokens
    left = max(MIN_OUTPUT, run.limits.tokens - run.usage.total)
    return left if profile.max_output_tokens is None else min(left, profile.max_output_tokens)


# Whatever a tool returns, as JSON that can be kept: bounded, without cycles and without surprises.


class NoForm(Exception):
    """A result has no JSON form. The text is safe to show."""


def plain(value: object) -> JSON:
    """The nearest JSON value. Never raises, whatever a tool returns; what has no form becomes text."""
    try:
        return json_of(value)
    except NoForm as problem:
        return f"({problem})"


def json_of(value: object) -> JSON:
    """The nearest JSON value. Raises NoForm for an object of which only its address could be said."""
    try:
        return _Reader().read(value, 0)
    except NoForm:
        raise
    except Exception as problem:
        logger.exception("a result has no form that can be kept")
        return f"(a {type(value).__name__} that cannot be shown: {type(problem).__name__})"


def _text(text: str, room: int = MAX_TEXT) -> str:
    """The text as it can be written, cut where it is longer than there is room for."""
    if len(text) > room:
        text = text[:room] + f"\n(cut: {len(text)} characters)"
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


class _Reader:
    """One result being read, and what of it there is still room for."""

    __slots__ = ("_members", "_room")

    def __init__(self) -> None:
        self._members = 0
        self._room = MAX_TEXT

    def read(self, value: object, depth: int) -> JSON:
        if value is None or isinstance(value, bool | int):
            return value if not isinstance(value, int) or abs(value) < 2**53 or isinstance(value, bool) else str(value)
        if depth > MAX_DEPTH:
            return "(nested too deeply)"
        self._members += 1
        if self._members > MAX_MEMBERS:
            # What holds itself several times over has no end that anybody could wait for.
            raise OverflowError(f"expected at most {MAX_MEMBERS} members")
        match value:
            case Enum():
                return self.read(value.value, depth + 1)
            case str():
                return self._written(value)
            case float():
                return value if math.isfinite(value) else str(value)
            case bytes() | bytearray():
                return self._written(b64encode(value).decode())
            case Mapping():
                return self._object(cast("Mapping[object, object]", value).items(), depth)
            case list() | tuple() | set() | frozenset():
                return [self.read(item, depth + 1) for item in cast("Iterable[object]", value)]
            case datetime() | date() | time():
                return value.isoformat()
            case PurePath():
                return self._written(str(value))
            case _:
                return self._structured(value, depth)

    def _structured(self, value: object, depth: int) -> JSON:
        dump = getattr(cast("Any", value), "model_dump", None)
        if callable(dump):
            return self.read(dump(mode="json"), depth + 1)
        names = _field_names(value)
        if names:
            return self._object([(name, getattr(value, name, None)) for name in names], depth)
        text = str(value)
        # Of its own `__str__` a type knows what it says; a `repr` with an address in memory says nothing.
        if type(value).__str__ is object.__str__ and _ADDRESS.search(text):
            raise NoForm(
                f"the tool returned a {type(value).__name__}, which has no JSON form. Return text, numbers, lists,"
                " dicts or dataclasses"
            )
        return self._written(text)

    def _object(self, members: Iterable[tuple[object, object]], depth: int) -> JSON:
        return {self._written(str(name)): self.read(member, depth + 1) for name, member in members}

    def _written(self, text: str) -> str:
        written = _text(text, self._room)
        self._room = max(0, self._room - len(text))
        return written


def _field_names(value: object) -> tuple[str, ...]:
    """The fields of a dataclass, of msgspec's structs and of attrs' classes."""
    if isinstance(value, type):
        return ()
    if is_dataclass(value):
        return tuple(field.name for field in fields(value))
    kind = cast("Any", type(value))
    return tuple(getattr(kind, "__struct_fields__", ()) or (each.name for each in getattr(kind, "__attrs_attrs__", ())))
