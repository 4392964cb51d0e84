"""A thread and the facts of its own stream: what happens to the conversation outside any run, and around them all."""

from collections.abc import Iterable
from typing import assert_never, get_args

from pollux.core.errors import Misfit
from pollux.core.frozen import frozen
from pollux.core.hosted import WEB
from pollux.core.ids import Instant, RunId, ThreadId, UserId
from pollux.core.messages import Blob, CallFacts, FileRef, Message, ToolCall, ToolResult
from pollux.core.policy import Facts
from pollux.core.run import Compressed, Run, evolve

LONGEST_TITLE = 80
"""Of a title that nobody gave."""
NO_FACTS = CallFacts()


@frozen(slots=False)
class Thread:
    """A conversation: ordered messages, one owner. Messages are numbered from 1; `head` is the last number."""

    id: ThreadId
    user: UserId
    created_at: Instant
    updated_at: Instant
    title: str = ""
    version: int = 1
    head: int = 0
    open_run: RunId | None = None
    compressed: Compressed | None = None
    context_tokens: int = 0
    forked_from: ThreadId | None = None
    erased: bool = False
    project: str = ""
    """Where it was begun: the working directory of a script or a terminal, nothing for those who come by network."""
    sources: tuple[str, ...] = ()
    """Whose words are in it: which tools have spoken, and `web`. They may be anybody's words."""


@frozen(kw_only=True)
class ThreadOpened:
    """A conversation began, or was forked from another."""

    thread_id: ThreadId
    user: UserId
    title: str = ""
    forked_from: ThreadId | None = None
    project: str = ""
    at: Instant


@frozen(kw_only=True)
class MessagesImported:
    """Messages came from elsewhere: a fork, a file, a client-held history."""

    messages: tuple[Message, ...]
    at: Instant


@frozen(kw_only=True)
class ThreadRenamed:
    """The thread got another title."""

    title: str
    at: Instant


@frozen(kw_only=True)
class ThreadCompressed:
    """A summary stands for the older messages from now on. They can still be read."""

    run_id: RunId
    compressed: Compressed
    at: Instant


@frozen(kw_only=True)
class ThreadErased:
    """The content is gone for good; the audit stays."""

    by: str
    at: Instant


ThreadEvent = ThreadOpened | MessagesImported | ThreadRenamed | ThreadCompressed | ThreadErased

THREAD_EVENT_TYPES: dict[str, type[ThreadEvent]] = {cls.__name__: cls for cls in get_args(ThreadEvent)}
"""Every thread event by its stored name."""


def title_of(prompt: str) -> str:
    """What a new thread is called until somebody gives it a name: the beginning of what was asked first."""
    line = " ".join(prompt.split())
    return line if len(line) <= LONGEST_TITLE else line[: LONGEST_TITLE - 1] + "…"


def sources_of(messages: Iterable[Message]) -> set[str]:
    """Whose words these are, beside the user's and the model's: tools that answered, files that came along, the web."""
    found: set[str] = set()
    for message in messages:
        if message.sources:
            # Messages may come from a file or a page: they can claim no other name.
            found.update(source for source in WEB if source in message.sources)
        for part in message.parts:
            if isinstance(part, ToolResult):
                # Whoever wrote the messages wrote the name: it must not read as something else.
                is_name = part.name.isprintable() and len(part.name) <= LONGEST_TITLE
                found.add(f"tool:{part.name}" if is_name else "tool:?")
            elif isinstance(part, Blob | FileRef):
                found.add("attachment")
    return found


def provenance_of(run: Run) -> frozenset[str]:
    """Where the words came from that the model had read: the user, and every tool that answered."""
    tools = {action.tool for action in run.done if action.started}
    shown = ("page",) if run.page else ()
    return frozenset({"user", *shown, *run.sources, *sources_of(run.messages[:1]), *(f"tool:{tool}" for tool in tools)})


def facts_of(
    run: Run, call: ToolCall, *, asker: str = "", unaccepted: Iterable[str] = (), definition: str = ""
) -> Facts:
    """What is known of a call in this run. `asker` is the action at work that asks for it."""
    asking = run.action(asker) if asker else None
    known, words = call.facts or NO_FACTS, provenance_of(run)
    return Facts(
        user=run.user,
        interface=run.door,
        profile=run.profile,
        interactive=run.interactive,
        thread_id=run.thread_id,
        # What a tool asks for is made of that tool's words, too.
        provenance=words | {f"tool:{asking.tool}"} if asking else words,
        asker=asking.tool if asking else "",
        capabilities=frozenset(known.capabilities),
        document=run.document,
        rendered_from=frozenset((*known.rendered_from, *unaccepted)),
        placed_by=frozenset(known.placed_by),
        definition=run.consented(definition, asker) if definition else "",
    )


def step_thread(thread: Thread | None, event: ThreadEvent) -> Thread:
    """What the thread becomes. Raises Misfit, and changes nothing, where the event does not fit."""
    if isinstance(event, ThreadOpened):
        if thread is not None:
            raise Misfit(f"thread {thread.id!r} exists already. Open a new thread with another id")
        return Thread(
            event.thread_id,
            event.user,
            event.at,
            event.at,
            title=event.title,
            forked_from=event.forked_from,
            project=event.project,
        )
    if thread is None or thread.erased:
        raise Misfit("the thread does not exist, or it was deleted")
    return evolve(_apply(thread, event), version=thread.version + 1, updated_at=event.at)


def _apply(thread: Thread, event: MessagesImported | ThreadRenamed | ThreadCompressed | ThreadErased) -> Thread:
    match event:
        case MessagesImported():
            _require_idle(thread, "messages cannot be imported")
            sources = {*thread.sources, *sources_of(event.messages)}
            return evolve(thread, head=thread.head + len(event.messages), sources=tuple(sorted(sources)))
        case ThreadRenamed():
            return evolve(thread, title=event.title)
        case ThreadCompressed():
            return evolve(thread, compressed=event.compressed, context_tokens=event.compressed.tokens)
        case ThreadErased():
            _require_idle(thread, "the thread cannot be deleted")
            return evolve(thread, erased=True, title="", compressed=None)
        case _:
            assert_never(event)


def _require_idle(thread: Thread, refused: str) -> None:
    if thread.open_run:
        raise Misfit(
            f"{refused} while run {thread.open_run!r} is open. Cancel the run, or wait until it ends",
            code="thread_busy",
        )
