"""Events and messages in their stored form: facts that stay, and content that can be erased.

Facts hold ids, times and numbers. Whatever a person, a model or a tool said is content: it lies beside the facts under
a keyed digest, and where it stood the facts hold only `{"$": digest}`. The digest covers the thread's id, so that two
threads share nothing, and the key, so that a short text cannot be guessed back from its digest once it is erased.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from functools import cache
from hashlib import blake2b
from operator import attrgetter
from typing import Any, cast, get_type_hints

import msgspec

from pollux.core.errors import NotFound, StoreError, TooNew, ValidationError
from pollux.core.events import EVENT_TYPES, Event
from pollux.core.messages import Message
from pollux.core.thread import THREAD_EVENT_TYPES, ThreadEvent
from pollux.wire.floats import finite
from pollux.wire.shapes import reader
from pollux.wire.versions import FIRST, VERSION, Versions

CONTENT: dict[str, tuple[str, ...]] = {
    "RunStarted": ("prompt", "compressed", "instructions", "rules", "page"),
    "PageShown": ("page",),
    "ModelReplied": ("message", "detail"),
    "ModelFailed": ("message",),
    "ActionDecided": ("action",),
    "CallRefused": ("message",),
    "ActionCompleted": ("result",),
    "ActionFailed": ("message",),
    "ActionNoted": ("note",),
    "ToolObserved": ("title",),
    "ActionReconciled": ("result", "detail"),
    "ApprovalResolved": ("feedback",),
    "HistoryCompressed": ("compressed",),
    # It repeats what the provider said.
    "RunFailed": ("message",),
    "ThreadOpened": ("title",),
    "MessagesImported": ("messages",),
    "ThreadRenamed": ("title",),
    "ThreadCompressed": ("compressed",),
}
"""The fields of each event that can be erased. All the others are facts."""


class Erased(NotFound):
    """What was said is gone for good; the facts about it remain."""

    code = "erased"


@dataclass(slots=True)
class Stored:
    """An event ready to be written: its facts as JSON, and the contents they refer to, by digest."""

    kind: str
    version: int
    facts: str
    contents: list[tuple[str, bytes]]


class Codec:
    """Writes events and messages for one store, with that store's key."""

    __slots__ = ("_key",)

    def __init__(self, key: bytes) -> None:
        # A key of its own, so that digests here say nothing about digests elsewhere.
        self._key = blake2b(key, digest_size=32, person=b"pollux.content").digest()

    def digest(self, thread_id: str, body: bytes) -> str:
        """What the facts call this content."""
        return blake2b(thread_id.encode() + b"\0" + body, digest_size=16, key=self._key).hexdigest()

    def encode(self, thread_id: str, event: Event | ThreadEvent) -> Stored:
        """The stored form of an event. Raises ValidationError where it holds something that is not JSON."""
        kind = type(event).__name__
        contents: list[tuple[str, bytes]] = []
        facts: dict[str, Any] = {}
        for name, is_content in _members(type(event)):
            value = getattr(event, name)
            if is_content and value is not None and value != "":
                value = self._put(thread_id, value, contents)
            facts[name] = value
        version = FIRST if _says_nothing_new(event) else _VERSIONS.of(event)
        return Stored(kind, version, to_json(facts).decode(), contents)

    def encode_message(self, thread_id: str, message: Message) -> tuple[str, bytes]:
        """A message's digest and body. A reply has the same ones as in its event: it is kept once."""
        body = to_json(message)
        return self.digest(thread_id, body), body

    def _put(self, thread_id: str, value: Any, contents: list[tuple[str, bytes]]) -> Any:
        if isinstance(value, tuple):
            return [self._put(thread_id, item, contents) for item in cast("tuple[Any, ...]", value)]
        body = to_json(value)
        digest = self.digest(thread_id, body)
        contents.append((digest, body))
        return {"$": digest}


def decode(kind: str, version: int, facts: str, contents: Mapping[str, bytes]) -> Event | ThreadEvent:
    """The event of a stored row.

    Raises:
        Erased: some of its content is gone.
        TooNew: it was written by a newer version.
        StoreError: it is damaged.
    """
    if version > VERSION or kind not in EVENTS:
        raise TooNew(
            f"expected events up to version {VERSION}, found {kind!r} of version {version}. Update Pollux",
            version=max(version, VERSION + 1),
        )
    try:
        return _decoder(kind)(_read.decode(facts), contents)
    except (ValueError, TypeError, KeyError) as problem:
        raise StoreError(f"expected a stored {kind}, found something else ({type(problem).__name__})") from problem


def decode_message(body: bytes) -> Message:
    """The message of a stored body."""
    return from_json(Message, body)


def references(facts: str) -> Iterable[str]:
    """The digests that an event's facts refer to."""
    # Facts are flat apart from the references: the mark appears nowhere else.
    for piece in facts.split('{"$":"')[1:]:
        yield piece[:32]


def to_json(value: Any) -> bytes:
    """Any of our shapes as JSON. Raises ValidationError for what JSON cannot hold."""
    try:
        return msgspec.json.encode(value)
    except (TypeError, ValueError, OverflowError, RecursionError) as problem:
        raise ValidationError(f"expected a JSON value, found one that cannot be written ({problem})") from problem


def from_json(hint: Any, body: bytes | str) -> Any:
    """A value of one of our shapes. Raises StoreError where the text does not fit, TooNew where it says too much."""
    read = reader(hint)
    try:
        value = _read.decode(body)
        return value if read is None else read(value)
    except (ValueError, TypeError, KeyError) as problem:
        raise StoreError(f"expected a stored {hint}, found something else ({type(problem).__name__})") from problem


EVENTS: dict[str, type[Event] | type[ThreadEvent]] = {**EVENT_TYPES, **THREAD_EVENT_TYPES}
"""Everything that is ever stored, by its name."""

_VERSIONS = Versions()

Decode = Callable[[dict[str, Any], Mapping[str, bytes]], Any]


@cache
def _members(cls: type[Any]) -> tuple[tuple[str, bool], ...]:
    """The fields of an event, each with whether it can be erased."""
    content = CONTENT.get(cls.__name__, ())
    return tuple((field.name, field.name in content) for field in fields(cls))


def _says_nothing_new(event: Event | ThreadEvent) -> bool:
    """Whether any version reads it. Most events are of this kind, and are not looked at more closely."""
    news = _news_of(type(event))
    return news is not None and all(read(event) == default for read, default in news)


@cache
def _news_of(cls: type[Any]) -> tuple[tuple[Callable[[Any], object], object], ...] | None:
    news = _VERSIONS.news_of(cls)
    return None if news is None else tuple((attrgetter(name), default) for name, default in news)


_read = msgspec.json.Decoder(float_hook=finite)


@cache
def _decoder(kind: str) -> Decode:
    cls = EVENTS[kind]
    hints = get_type_hints(cls)
    plan = tuple((name, reader(hints[name]), is_content) for name, is_content in _members(cls))

    def read(facts: dict[str, Any], contents: Mapping[str, bytes]) -> Any:
        members: dict[str, Any] = {}
        for name, inner, is_content in plan:
            if name in facts:
                value = _resolved(facts[name], contents) if is_content else facts[name]
                members[name] = value if inner is None else inner(value)
        return cls(**members)

    return read


def _resolved(value: Any, contents: Mapping[str, bytes]) -> Any:
    """The value with every reference replaced by what it stands for."""
    if isinstance(value, dict):
        body = contents.get(cast("dict[str, str]", value)["$"])
        if body is None:
            raise Erased("expected the content of an event, but it was erased")
        return _read.decode(body)
    if isinstance(value, list):
        return [_resolved(item, contents) for item in cast("list[Any]", value)]
    return value
