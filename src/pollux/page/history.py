"""A conversation as an array of Gemini messages that a page keeps, and back to the very same messages.

Between writing and reading lies somebody else's JSON: a browser reads 1.0 as 1, puts the key "7" before the key "a" and
cannot hold 2^60. A message that would not come back as it was carries itself once more as text, under `exact`; that is
what counts then, and its parts are there for people.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final, cast

import msgspec

from pollux.core.canonical import canonical, normal
from pollux.core.errors import PolluxError, ValidationError
from pollux.core.messages import JSON, Blob, Message, Native, Part, Role, Text, Thought, ToolCall, ToolResult
from pollux.page import parts as gemini
from pollux.wire.codec import decode_message, to_json
from pollux.wire.floats import finite

MOST_MESSAGES: Final = 400
LARGEST: Final = 512 << 10
"""Bytes of the whole. A request has room for as much, page state and tools beside it."""
DEEPEST: Final = 40
"""How far a message may nest and still fit into a request."""

MEMBERS: Final = frozenset({"role", "parts", "native", "exact"})
_NATIVE: Final = "gemini"
_ROLES: Final[Mapping[Role, str]] = {"user": "user", "assistant": "model", "tool": "function"}
_OURS: Final[Mapping[str, Role]] = {name: role for role, name in _ROLES.items()}
_SAFE: Final = 2**53 - 1
_EXPONENTIAL: Final = 1e21
_SHORTER: Final = (32_000, 8_000, 2_000, 500, 100)
_UNTOLD: Final = "nobody was told what came of this"

Wire = dict[str, JSON]


class _Content(msgspec.Struct):
    parts: list[dict[str, Any]]


def write(messages: Sequence[Message]) -> list[Wire]:
    """The messages in Gemini's form. Notices are for people and left out.

    Raises ValidationError where there is more than a page can bring back; `recent` says what would fit.
    """
    history = [_written(message) for message in messages if message.role != "notice"]
    in_bytes(history)
    return history


def read(history: Sequence[JSON]) -> tuple[Message, ...]:
    """The messages of an array that `write` gave. Raises ValidationError naming the first that does not fit."""
    in_bytes(history)
    return understood(history)


def understood(history: Sequence[JSON]) -> tuple[Message, ...]:
    """The same, of an array whose size is known to be right."""
    return tuple(_numbered(number, message) for number, message in enumerate(history))


def recent(messages: Sequence[Message], *, most: int = MOST_MESSAGES, largest: int = LARGEST) -> tuple[Message, ...]:
    """The newest messages that fit, from a user's words on: a result is never kept without its call.

    Of an exchange that is too large by itself, long texts and results are cut.
    """
    messages = [message for message in messages if message.role != "notice"]
    sizes = [len(canonical(_written(message))) + 1 for message in messages]
    begin, size = len(messages), 2
    for position in range(len(messages) - 1, -1, -1):
        size += sizes[position]
        if size > largest or len(messages) - position > most:
            break
        if messages[position].role == "user":
            begin = position
    if begin < len(messages) or not messages:
        return tuple(messages[begin:])
    return _squeezed(messages, most, largest)


def completed(messages: Sequence[Message]) -> tuple[Message, ...]:
    """The messages with an answer to every call: no provider takes a call that has none."""
    found: list[Message] = []
    for number, message in enumerate(messages):
        after = messages[number + 1] if number + 1 < len(messages) else None
        if message.role == "tool" and number and messages[number - 1].calls:
            continue
        found.append(message)
        if message.calls:
            given = after.parts if after and after.role == "tool" else ()
            known = {part.call_id for part in given if isinstance(part, ToolResult)}
            lacking = [ToolResult(call.id, call.name, _UNTOLD, True) for call in message.calls if call.id not in known]
            found.append(Message("tool", (*given, *lacking)))
    return tuple(found)


def _squeezed(messages: Sequence[Message], most: int, largest: int) -> tuple[Message, ...]:
    """The last exchange with its longest texts cut, until it fits."""
    begin = max((number for number, message in enumerate(messages) if message.role == "user"), default=0)
    last = messages[begin:]
    for longest in _SHORTER:
        cut = [_shortened(message, longest) for message in last]
        if len(cut) <= most and sum(len(canonical(_written(message))) + 1 for message in cut) < largest:
            return tuple(cut)
    # So many calls that not even their names fit: the user's words alone are what can be gone on from.
    return (_shortened(last[0], _SHORTER[-1]),)


def _shortened(message: Message, longest: int) -> Message:
    parts = tuple(_cut(part, longest) for part in message.parts if not isinstance(part, Thought | Blob))
    return message if parts == message.parts else Message(message.role, parts, sources=message.sources, cut=message.cut)


def _cut(part: Part, longest: int) -> Part:
    match part:
        case Text(text=text):
            return Text(_cut_text(text, longest))
        case ToolResult(result=result):
            text = result if isinstance(result, str) else json.dumps(result)
            return part if len(text) <= longest else replace(part, result=_cut_text(text, longest))
        case ToolCall(args=args) if len(json.dumps(args)) > longest:
            return replace(part, args={"…": "too long to keep"})
        case _:
            return part


def _cut_text(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[:longest]}… ({len(text) - longest} more characters cut)"


def in_bytes(history: Sequence[JSON]) -> bytes:
    """The canonical form. Raises ValidationError for more than a history may have, or for what JSON cannot hold."""
    if len(history) > MOST_MESSAGES:
        raise ValidationError(f"expected at most {MOST_MESSAGES} messages in the history, found {len(history)}")
    whole = canonical(list(history))
    if len(whole) > LARGEST:
        raise ValidationError(
            f"expected a history of at most {LARGEST} bytes, found {len(whole)}. Begin a new conversation"
        )
    return whole


def _written(message: Message) -> Wire:
    role = _ROLES[message.role]
    plain = {"role": role, "parts": [gemini.written(part) for part in message.parts]}
    if (native := _native(message)) is not None:
        plain = native
    if _survives(plain, 0) and _is_read_as(plain, message):
        return plain
    try:
        text = to_json(message).decode()
    except ValidationError:
        # Half a character that a model said: it cannot be kept, and the rest can.
        return {"role": role, "parts": _legible(plain["parts"], 0)}
    exact = re.sub(r"[^\x00-\x7f]+", lambda found: json.dumps(found[0])[1:-1], text)
    return {"role": role, "parts": _legible(plain["parts"], 0), "exact": exact}


_content = msgspec.json.Decoder(_Content, float_hook=finite)


def _native(message: Message) -> Wire | None:
    """The service's own turn, with the ids that it lacks and the page needs."""
    if message.native is None or message.native.provider != _NATIVE:
        return None
    try:
        given = _content.decode(message.native.body).parts
    except ValueError:
        return None
    calls = iter(message.calls)
    parts = [gemini.with_id(part, next(calls, None)) if "functionCall" in part else part for part in given]
    return {"role": "model", "parts": parts, "native": _NATIVE}


def _is_read_as(plain: Wire, message: Message) -> bool:
    try:
        return _read(plain) == message
    except ValidationError:
        return False


def _numbered(number: int, message: JSON) -> Message:
    try:
        return _read(message)
    except ValidationError as problem:
        raise ValidationError(f"message {number} of the history: {problem}") from None


def _read(message: JSON) -> Message:
    fields = cast("Wire", message) if isinstance(message, dict) else {}
    role, parts = _OURS.get(str(fields.get("role"))), fields.get("parts")
    if role is None or not isinstance(parts, list):
        raise ValidationError("expected an object with `role` (user, model or function) and a list of `parts`")
    if fields.keys() - MEMBERS:
        raise ValidationError("expected no other members than role and parts")
    if "exact" in fields:
        return _exact(fields["exact"], role)
    if not all(isinstance(part, dict) for part in cast("list[JSON]", parts)):
        raise ValidationError("expected objects as `parts`")
    members = cast("list[Wire]", parts)
    match fields.get("native"):
        case None:
            return Message(role, tuple(map(gemini.read, members)))
        case "gemini" if role == "assistant":
            body = to_json({"role": "model", "parts": [gemini.as_it_came(part) for part in members]}).decode()
            return Message(role, gemini.folded(members), native=Native(_NATIVE, body))
        case _:
            raise ValidationError('expected `native` to be "gemini", on a message of the model')


def _exact(text: JSON, role: Role) -> Message:
    if isinstance(text, str):
        try:
            message = decode_message(text.encode())
        except (PolluxError, ValueError, RecursionError):
            message = None
        if isinstance(message, Message) and message.role == role:
            return message
    raise ValidationError("expected a message of the same role as JSON text under `exact`")


def _survives(value: JSON, depth: int) -> bool:
    """Whether any JSON reader and writer in between leaves it as it is."""
    inner = partial(_survives, depth=depth + 1)
    match value:
        case str():
            return _is_clean(value)
        case bool() | None:
            return True
        case int():
            return -_SAFE <= value <= _SAFE
        case float():
            # Written back as an integer where it is one; also excludes what is no number.
            return abs(value) < _EXPONENTIAL and not value.is_integer()
        case Mapping():
            members = cast("Mapping[str, JSON]", value)
            is_plain = all(_is_clean(name) and not name.isdigit() for name in members)
            return depth < DEEPEST and is_plain and all(map(inner, members.values()))
        case list() | tuple():
            return depth < DEEPEST and all(map(inner, cast("Sequence[JSON]", value)))
        case _:
            return False


def _is_clean(text: str) -> bool:
    try:
        return "\0" not in text and normal(text) == text
    except ValidationError:
        return False


def _legible(value: JSON, depth: int) -> Any:
    """The nearest value that every reader and writer leaves as it is."""
    match value:
        case str():
            return _cleaned(value)
        case bool() | None:
            return value
        case int() | float():
            return value if _survives(value, depth) else str(value)
        case Mapping() if depth < DEEPEST:
            members = cast("Mapping[str, JSON]", value)
            return {_cleaned(name): _legible(member, depth + 1) for name, member in members.items()}
        case list() | tuple() if depth < DEEPEST:
            return [_legible(member, depth + 1) for member in cast("Sequence[JSON]", value)]
        case _:
            return "…"


def _cleaned(text: str) -> str:
    text = text.replace("\0", "\ufffd")
    try:
        return normal(text)
    except ValidationError:
        return text.encode("ascii", "replace").decode()
