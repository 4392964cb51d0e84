"""Conversations: listed, read, renamed, erased."""

from msgspec import UNSET

from pollux.asgi.bodies import moment
from pollux.asgi.endpoint import Call
from pollux.core.errors import ValidationError
from pollux.core.ids import ThreadId
from pollux.core.messages import Message, ToolResult
from pollux.core.thread import Thread
from pollux.http.attachments import attachment_views
from pollux.http.runtime import Runtime
from pollux.http.shapes import (
    CallView,
    Done,
    MessagePage,
    MessageView,
    ResultView,
    ThreadAnswer,
    ThreadPage,
    ThreadView,
)

FEW = 10


async def listed(runtime: Runtime, call: Call) -> ThreadPage:
    """Threads, last changed first."""
    limit: int = call.query.limit
    found = await runtime.engine.queries.threads(call.user, limit=limit + 1, before=call.query.before)
    items = [_view(thread) for thread in found[:limit]]
    return ThreadPage(items=items, next=items[-1].id if len(found) > limit else None)


async def shown(runtime: Runtime, call: Call) -> ThreadAnswer:
    """One thread."""
    return ThreadAnswer(thread=_view(await runtime.engine.queries.thread(ThreadId(call.path["id"]), call.user)))


async def renamed(runtime: Runtime, call: Call) -> ThreadAnswer:
    """Another title."""
    title: str = call.body.title
    if not title.isprintable():
        raise ValidationError("title must be one line of text")
    return ThreadAnswer(thread=_view(await runtime.engine.threads.rename(ThreadId(call.path["id"]), call.user, title)))


async def erased(runtime: Runtime, call: Call) -> Done:
    """Drop what was said and done, for good. The audit stays."""
    await runtime.engine.threads.erase(ThreadId(call.path["id"]), call.user, by=call.user)
    return Done()


async def messages(runtime: Runtime, call: Call) -> MessagePage:
    """The last messages, or those before a number, in the order they were said."""
    limit: int = call.query.limit
    thread = await runtime.engine.queries.thread(ThreadId(call.path["id"]), call.user)
    end = max(1, min(thread.head + 1, _number(call.query.before, thread.head + 1)))
    first = max(1, end - limit)
    items: list[MessageView] = []
    while (number := first + len(items)) < end:
        # A few at a time: each may have megabytes of files with it, of which only the names are shown.
        few = min(FEW, end - number)
        found = await runtime.engine.queries.messages(thread.id, call.user, after=number - 1, limit=few)
        items += [message_view(number, message) for number, message in enumerate(found, start=number)]
        if len(found) < few:
            break
    return MessagePage(items=items, next=str(first) if items and first > 1 else None)


def message_view(number: int, message: Message) -> MessageView:
    """A message: its text, what it calls and what it answers."""
    return MessageView(
        number=number,
        kind=message.role,
        role="assistant" if message.role == "notice" else message.role,
        text=message.text,
        calls=[CallView(id=call.id, tool=call.name, args=call.args) for call in message.calls],
        results=[
            ResultView(id=part.call_id, tool=part.name, result=part.result, is_error=part.is_error)
            for part in message.parts
            if isinstance(part, ToolResult)
        ],
        attachments=attachment_views(number, message),
        cut=message.cut or UNSET,
    )


def _view(thread: Thread) -> ThreadView:
    return ThreadView(
        id=thread.id,
        title=thread.title,
        created_at=moment(thread.created_at),
        updated_at=moment(thread.updated_at),
        messages=thread.head,
        open_run=thread.open_run,
    )


def _number(before: str | None, otherwise: int) -> int:
    if before is None:
        return otherwise
    if not (before.isascii() and before.isdigit() and len(before) < 16):
        raise ValidationError("before must be the number of a message")
    return int(before)
