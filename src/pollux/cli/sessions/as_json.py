"""A session outside the store, as one JSON document that can be read back whole.

What is read comes from a file that anybody may have written: it is checked against the schema first, and trusted after.
"""

import json
import math
from base64 import b64decode, b64encode
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final, NoReturn, assert_never

from pollux.cli.masking import Mask
from pollux.core.errors import ValidationError
from pollux.core.frozen import frozen
from pollux.core.hosted import WEB
from pollux.core.messages import Blob, FileRef, Message, Native, Part, Text, Thought, ToolCall, ToolResult

TYPE: Final = "pollux-session"
VERSION: Final = 1

Schema = dict[str, Any]
_TEXT: Final[Schema] = {"type": "string"}
_FLAG: Final[Schema] = {"type": "boolean"}


@frozen
class SessionCopy:
    """A session as it was when it was copied. Moments are ISO 8601, empty where nobody knows them."""

    session_id: str
    messages: tuple[Message, ...]
    title: str = ""
    project: str = ""
    start_time: str = ""
    last_updated: str = ""


def _object(required: Schema, optional: Schema | None = None) -> Schema:
    # What a newer version adds is passed over.
    return {"type": "object", "properties": {**required, **(optional or {})}, "required": list(required)}


def _part(name: str, required: Schema, optional: Schema | None = None) -> Schema:
    return _object({"type": {"const": name}, **required}, optional)


MESSAGE: Final = _object(
    {
        "role": {"enum": ["user", "assistant", "tool", "notice"]},
        "parts": {
            "type": "array",
            "items": {
                "oneOf": [
                    _part("text", {"text": _TEXT}),
                    _part("thought", {"text": _TEXT}),
                    _part("blob", {"mime": _TEXT, "data": _TEXT}, {"name": _TEXT}),
                    _part("file", {"mime": _TEXT, "uri": _TEXT}),
                    _part("tool_call", {"id": _TEXT, "name": _TEXT, "args": {"type": "object"}}, {"minted": _FLAG}),
                    _part("tool_result", {"callId": _TEXT, "name": _TEXT, "result": {}}, {"isError": _FLAG}),
                ]
            },
        },
    },
    {
        "native": _object({"provider": _TEXT, "body": _TEXT}),
        "pinned": _FLAG,
        "sources": {"type": "array", "items": {"enum": [*WEB]}},
    },
)
SCHEMA: Final[Schema] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "A session as `pollux sessions export` writes it",
    **_object(
        {
            "type": {"const": TYPE},
            "version": {"const": VERSION},
            "sessionId": _TEXT,
            "messages": {"type": "array", "items": MESSAGE},
        },
        {"title": _TEXT, "project": _TEXT, "startTime": _TEXT, "lastUpdated": _TEXT},
    ),
}


def document_of(copy: SessionCopy) -> dict[str, Any]:
    """The session as a JSON value."""
    return {
        "type": TYPE,
        "version": VERSION,
        "sessionId": copy.session_id,
        "title": copy.title,
        "project": copy.project,
        "startTime": copy.start_time,
        "lastUpdated": copy.last_updated,
        "messages": [_written(message) for message in copy.messages],
    }


def is_document(value: Any) -> bool:
    """Whether this is meant to be a session of ours."""
    match value:
        case {"type": word}:
            return word == TYPE
        case _:
            return False


def copy_of(value: Any) -> SessionCopy:
    """The session that a JSON value holds. Raises ValidationError where it holds none."""
    if value.get("version") != VERSION:
        raise ValidationError(
            f"expected a session of version {VERSION}, found version {str(value.get('version'))[:20]!r}; update Pollux"
        )
    _check(value)
    return SessionCopy(
        session_id=value["sessionId"],
        messages=tuple(_read(message, number) for number, message in enumerate(value["messages"], start=1)),
        title=value.get("title", ""),
        project=value.get("project", ""),
        start_time=value.get("startTime", ""),
        last_updated=value.get("lastUpdated", ""),
    )


def parse(content: bytes) -> Any:
    """One JSON value, every number as it was written. Raises ValueError with a reason that can be shown."""
    try:
        return json.loads(content.decode("utf-8-sig"), parse_constant=_refuse, parse_float=_finite)
    except UnicodeDecodeError:
        raise ValueError("is not UTF-8") from None
    except json.JSONDecodeError as problem:
        raise ValueError(f"is not JSON: {problem.msg.lower()} in line {problem.lineno}") from None
    except RecursionError:
        raise ValueError("is nested too deeply") from None


def masked(copy: SessionCopy, mask: Mask) -> SessionCopy:
    """The session without the keys of this machine, wherever somebody or a tool happened to say one."""
    messages = tuple(_masked(message, mask) for message in copy.messages)
    return replace(copy, title=mask.text(copy.title), messages=messages)


# Writing.


def _written(message: Message) -> dict[str, Any]:
    written: dict[str, Any] = {"role": message.role, "parts": [_written_part(part) for part in message.parts]}
    if message.native is not None:
        written["native"] = {"provider": message.native.provider, "body": message.native.body}
    if message.sources:
        written["sources"] = list(message.sources)
    return {**written, "pinned": True} if message.pinned else written


def _written_part(part: Part) -> dict[str, Any]:
    match part:
        case Text(text=text) | Thought(text=text):
            return {"type": part.type, "text": text}
        case Blob(mime=mime, data=data, name=name):
            named = {} if name is None else {"name": name}
            return {"type": part.type, "mime": mime, "data": b64encode(data).decode(), **named}
        case FileRef(mime=mime, uri=uri):
            return {"type": part.type, "mime": mime, "uri": uri}
        case ToolCall(id=id_, name=name, args=args):
            minted = {"minted": True} if part.minted else {}
            return {"type": part.type, "id": id_, "name": name, "args": args, **minted}
        case ToolResult(call_id=call_id, name=name, result=result):
            failed = {"isError": True} if part.is_error else {}
            return {"type": part.type, "callId": call_id, "name": name, "result": result, **failed}
        case _:
            assert_never(part)


def _masked(message: Message, mask: Mask) -> Message:
    native = message.native
    if native is not None and mask.text(native.body) != native.body:
        # A provider would take a turn that was changed for a forgery. The neutral parts say the same.
        native = None
    return replace(message, parts=tuple(_masked_part(part, mask) for part in message.parts), native=native)


def _masked_part(part: Part, mask: Mask) -> Part:
    match part:
        case Text() | Thought():
            return replace(part, text=mask.text(part.text))
        case Blob():
            # In base64 a mask would spoil the file; inside it, it does not.
            inside = part.data.decode("utf-8", "surrogateescape")
            return replace(part, data=mask.text(inside).encode("utf-8", "surrogateescape"))
        case FileRef():
            return replace(part, uri=mask.text(part.uri))
        case ToolCall():
            return replace(part, args=mask.value(part.args))
        case ToolResult():
            return replace(part, result=mask.value(part.result))
        case _:
            assert_never(part)


# Reading.


def _check(value: Any) -> None:
    import jsonschema_rs

    try:
        problem = next(iter(jsonschema_rs.validator_for(SCHEMA).iter_errors(value)), None)
    except (ValueError, OverflowError, RecursionError) as unfit:
        raise ValidationError(f"expected a session as `pollux sessions export` writes it ({unfit})") from None
    if problem is not None:
        place = "/".join(str(step) for step in problem.instance_path)
        raise ValidationError(
            f"expected a session as `pollux sessions export` writes it, but {place or 'the document'} does not fit"
        )


def _read(message: Any, number: int) -> Message:
    native = message.get("native")
    return Message(
        message["role"],
        tuple(_READERS[part["type"]](part, number) for part in message["parts"]),
        native=None if native is None else _native(native, number),
        pinned=message.get("pinned", False),
        sources=tuple(message.get("sources", ())),
    )


def _native(native: Any, number: int) -> Native:
    try:
        is_turn = isinstance(json.loads(native["body"]), dict)
    except (ValueError, RecursionError):
        is_turn = False
    if not is_turn:
        raise ValidationError(f"expected the native body of message {number} to be a JSON object, found something else")
    return Native(native["provider"], native["body"])


def _blob(part: Any, number: int) -> Blob:
    try:
        return Blob(part["mime"], b64decode(part["data"].encode(), validate=True), part.get("name"))
    except ValueError:
        raise ValidationError(f"expected the data of a file in message {number} to be base64") from None


_READERS: Final[dict[str, Callable[[Any, int], Part]]] = {
    "text": lambda part, _: Text(part["text"]),
    "thought": lambda part, _: Thought(part["text"]),
    "blob": _blob,
    "file": lambda part, _: FileRef(part["mime"], part["uri"]),
    "tool_call": lambda part, _: ToolCall(part["id"], part["name"], part["args"], part.get("minted", False)),
    "tool_result": lambda part, _: ToolResult(part["callId"], part["name"], part["result"], part.get("isError", False)),
}


def _refuse(word: str) -> NoReturn:
    raise ValueError(f"holds {word}, which is not JSON")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError("holds a number that is too large")
    return number
