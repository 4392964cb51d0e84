"""Summarise the older part of a thread: the last part kept whole, no call split from its answer, the result checked."""

import asyncio
from collections.abc import Callable

from pollux.core.events import CompressionStatus, HistoryCompressed
from pollux.core.ids import Instant
from pollux.core.messages import NO_USAGE, Message, Text, ToolCall, ToolResult, Usage, user
from pollux.core.run import Compressed, Run
from pollux.engine.logs import log_of
from pollux.engine.model import Done, ModelRequest, Provider, Turns
from pollux.engine.perform import unless_stopped

logger = log_of(__name__)

KEPT = 0.3
"""The share of the thread, by size, that keeps its words."""

WRITE = (
    "Summarise the conversation so far for a colleague who will continue it without having read it. Keep every name,"
    " number, decision, open question, file and unfinished piece of work. Write it as plain facts."
)
CHECK = (
    "Here is a summary of the conversation above. Compare them. Answer with the corrected and completed summary alone:"
    " add what matters and is missing, drop what is wrong."
)
HEADING = "Summary of the conversation so far:\n"


async def compress(
    run: Run, provider: Callable[[], Provider], turns: Turns, now: Callable[[], Instant]
) -> HistoryCompressed:
    """Make a summary and check it. It is refused when it is empty or no smaller than what it stands for."""
    before = run.context_tokens
    messages = list(turns)
    cut = split(messages)
    if cut == 0:
        return refused(run, "refused_larger", NO_USAGE, now())
    older = messages[:cut]
    try:
        draft, first = await _ask(run, provider(), [*older, user(WRITE)])
        again = [*older, user(f"{CHECK}\n\n{draft}")]
        checked, second = await _ask(run, provider(), again) if draft else ("", NO_USAGE)
    except (Exception, asyncio.CancelledError) as problem:
        unless_stopped(problem)
        # Without a summary the conversation goes on at its full length.
        logger.exception("a summary could not be made")
        return refused(run, "failed", NO_USAGE, now())
    usage = first + second
    if not checked.strip():
        return refused(run, "refused_empty", usage, now())
    pinned = tuple(Text(f"\n\n{text}") for message in older for text in _pinned(run, message))
    summary = Message("user", (Text(HEADING + checked.strip()), *pinned), pinned=bool(pinned))
    if _size([summary]) >= _size(older):
        return refused(run, "refused_larger", usage, now())
    after = max(1, round(before * _size([summary, *messages[cut:]]) / max(1, _size(messages))))
    return HistoryCompressed(
        epoch=run.epoch,
        turn=run.turn,
        status="compressed",
        tokens_before=before,
        tokens_after=after,
        compressed=Compressed(_number_of(run, messages, cut), summary, after),
        usage=usage,
        at=now(),
    )


def split(messages: list[Message]) -> int:
    """How many messages the summary stands for: up to a turn's beginning, about KEPT of the size staying whole."""
    sizes = [_size([message]) for message in messages]
    room = sum(sizes) * KEPT
    kept = 0
    for index in range(len(messages) - 1, 0, -1):
        kept += sizes[index]
        if kept >= room and _may_begin(messages, index):
            return index
    return 0


def _may_begin(messages: list[Message], index: int) -> bool:
    """Whether what is kept may begin here: with a user's words, or with a turn whose calls are answered after it."""
    role = messages[index].role
    return role == "user" or (role == "assistant" and messages[index - 1].role == "tool")


def _pinned(run: Run, message: Message) -> list[str]:
    """What of a message must be kept word for word. An earlier summary carries such words behind its own."""
    if not message.pinned:
        return []
    if run.compressed and message == run.compressed.summary:
        return [part.text.strip() for part in message.parts[1:] if isinstance(part, Text)]
    return [message.text]


def _number_of(run: Run, messages: list[Message], cut: int) -> int:
    """The thread's number of the last message that the summary replaces."""
    total = run.head + len(run.messages)
    return total - (len(messages) - cut)


async def _ask(run: Run, provider: Provider, messages: list[Message]) -> tuple[str, Usage]:
    request = ModelRequest(
        model=run.model,
        turns=Turns(messages),
        tool_mode="none",
        stream=False,
        idle_seconds=run.limits.idle_seconds,
        total_seconds=run.limits.answer_seconds,
        answer_bytes=run.limits.answer_bytes,
    )
    done: Done | None = None
    # Read to the very end: a generator left half way would have to be closed by a task of its own.
    async for event in provider.stream(request):
        if isinstance(event, Done):
            done = event
    return (done.message.text, done.usage) if done else ("", NO_USAGE)


def refused(run: Run, status: CompressionStatus, usage: Usage, at: Instant) -> HistoryCompressed:
    """The conversation keeps its words."""
    tokens = run.context_tokens
    return HistoryCompressed(
        epoch=run.epoch, turn=run.turn, status=status, tokens_before=tokens, tokens_after=tokens, usage=usage, at=at
    )


def _size(messages: list[Message]) -> int:
    """Characters, as a stand-in for tokens: only shares of them are ever used."""
    return sum(_part_size(part) for message in messages for part in message.parts)


def _part_size(part: object) -> int:
    match part:
        case Text(text=text):
            return len(text)
        case ToolCall(args=args):
            return 20 + len(str(args))
        case ToolResult(result=result):
            return 20 + len(str(result))
        case _:
            return 200
