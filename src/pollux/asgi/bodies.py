"""Text hygiene at the edge: bytes to JSON values of known shape and back. What is not clean stays outside."""

import asyncio
import functools
import json
import math
import re
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, NoReturn, TypeVar, cast, get_args
from urllib.parse import parse_qsl

import msgspec
from starlette.types import Receive

from pollux.asgi.errors import HttpError
from pollux.core.errors import ValidationError
from pollux.core.ids import Instant

T = TypeVar("T")

LARGEST_BODY = 1 << 20
LARGEST_FIELDS = 16 << 10
"""Bytes of a query, or of a browser's form."""
LARGE_BODY = 32 << 10
"""What is larger is looked through in a thread."""
MOST_VALUES = 100_000
"""In one body. A few long texts cost next to nothing; as many small values would keep everybody else waiting."""
LONGEST_NUMBER = 310
"""Digits: as many as the largest number has that is written without an exponent."""
BODY_SECONDS = 60.0
MOST_DISCARDED = 8 << 20
DISCARD_SECONDS = 2.0
DEEPEST = 64
"""How far values may nest: more than any form needs, less than what makes a parser stumble."""

# It matches at every quote, one that is never closed included: else each would be followed to the end.
_TEXT = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)', re.DOTALL)
_AT = re.compile(r" - at `(\$(?:\.[^.\[\]`]+|\[(?:[0-9]{1,7}|\.\.\.)\])*)`\Z")
_NAME = re.compile(r"\.([^.\[\]`]+)")
_LONG_NUMBER = re.compile(rb"[0-9]{%d}" % (LONGEST_NUMBER + 1))


def moment(at: Instant) -> str:
    """A time as it is told: ISO 8601, in UTC."""
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


async def read_body(receive: Receive, declared: str, *, largest: int = LARGEST_BODY, is_coming: bool = True) -> bytes:
    """The whole body. Refused before it is read, or as soon as it turns out too large.

    `is_coming` says that the sender does not wait for a word of ours before it sends.
    """
    if declared.isascii() and declared.isdigit() and int(declared[:20]) > largest:
        if is_coming:
            await _discard(receive, largest + MOST_DISCARDED)
        raise _too_large(largest)
    try:
        async with asyncio.timeout(BODY_SECONDS):
            return await _read_pieces(receive, largest)
    except TimeoutError:
        message = f"the body was not whole within {BODY_SECONDS:g} seconds"
        raise HttpError(408, "timeout", message, headers={"connection": "close"}) from None


async def _read_pieces(receive: Receive, largest: int) -> bytes:
    pieces: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise HttpError(400, "disconnected", "the body ended before it was whole")
        piece: bytes = message.get("body", b"")
        size += len(piece)
        if size > largest:
            if message.get("more_body", False):
                await _discard(receive, MOST_DISCARDED)
            raise _too_large(largest)
        pieces.append(piece)
        if not message.get("more_body", False):
            return b"".join(pieces)


async def gone(receive: Receive) -> None:
    """Return when the caller has left. For those who expect no more of a body."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def _discard(receive: Receive, left: int) -> None:
    """Take what still comes, up to a point. Whoever is hung up on while sending never sees why."""
    with suppress(TimeoutError):
        async with asyncio.timeout(DISCARD_SECONDS):
            while left > 0:
                message = await receive()
                left -= len(message.get("body", b""))
                if not message.get("more_body", False):
                    return


async def parsed_aside(body: bytes) -> Any:
    """The same as `parsed`: a large body in a thread, as everybody else would wait while it is looked through."""
    return parsed(body) if len(body) < LARGE_BODY else await asyncio.to_thread(parsed, body)


def parsed(body: bytes) -> Any:
    """A JSON value: UTF-8, every name once, every number finite, no NUL and no half characters, not too deep.

    Raises ValidationError.
    """
    if not body.strip():
        raise ValidationError("the body must be JSON, and it is empty")
    _require_parsable(body)
    try:
        text = body.decode("utf-8")
        value = json.loads(text, object_pairs_hook=_once, parse_constant=_no_constant, parse_float=_finite)
    except UnicodeDecodeError as problem:
        raise ValidationError(f"the body must be UTF-8 text; byte {problem.start} is not") from None
    except RecursionError:
        raise ValidationError(f"the body nests deeper than {DEEPEST} levels") from None
    except ValueError as problem:
        raise ValidationError(f"the body must be JSON: {_place(problem)}") from None
    _check(value)
    return value


def _require_parsable(body: bytes) -> None:
    """Raises ValidationError for more values than are looked through, and for numbers of endless length.

    Before anything is parsed: while that goes on, no other thread runs.
    """
    if len(body) < LARGE_BODY:
        return
    if _values(body) > MOST_VALUES and _values(_TEXT.sub(b"", body)) > MOST_VALUES:
        raise ValidationError(f"the body holds more than {MOST_VALUES} values")
    if _LONG_NUMBER.search(body) and _LONG_NUMBER.search(_TEXT.sub(b"", body)):
        raise ValidationError(f"the body must be JSON: a number is too long, expected at most {LONGEST_NUMBER} digits")


def _values(body: bytes) -> int:
    return sum(map(body.count, (b",", b"[", b"{")))


def shaped(value: Any, shape: type[T], *, what: str = "the body", lax: bool = False) -> T:
    """The value as that type. Raises ValidationError naming the place that does not fit, and nothing that was sent."""
    try:
        return msgspec.convert(value, shape, strict=not lax)
    except msgspec.ValidationError as problem:
        said = _fitting(str(problem), shape)
    except (RecursionError, OverflowError) as problem:
        said = type(problem).__name__
    raise ValidationError(f"{what} does not fit: {said}")


def _fitting(said: str, shape: type[Any]) -> str:
    """What msgspec says, without what it found: a name or a value that was sent may be secret, or very long."""
    known = {field.encode_name: field.type for field in msgspec.structs.fields(shape)}
    found = _AT.search(said)
    place = found[1] if found and all(name in _names_of(shape) for name in _NAME.findall(found[1])) else ""
    at = f" - at `{place}`" if place else ""
    if said.startswith("Object contains unknown field"):
        return (
            f"Object contains unknown field{at}" if at else f"Object contains unknown field. Known: {', '.join(known)}"
        )
    if said.startswith(("Invalid enum value", "Invalid value")):
        words = get_args(known.get(place.removeprefix("$.")))
        return f"Invalid value{at}" + (f". Expected one of: {', '.join(map(str, words))}" if words else "")
    return said


@functools.cache
def _names_of(shape: type[Any]) -> frozenset[str]:
    """The names of all members of a shape, and of the shapes within it."""
    names: set[str] = set()
    todo: list[Any] = [msgspec.inspect.type_info(shape)]
    met: set[Any] = set()
    while todo:
        each = todo.pop()
        if isinstance(each, msgspec.inspect.StructType):
            if each.cls in met:
                continue
            met.add(each.cls)
            names.update(field.encode_name for field in each.fields)
            todo += [field.type for field in each.fields]
        parts: list[Any] = [
            getattr(each, name, None) for name in ("types", "item_types", "item_type", "key_type", "value_type")
        ]
        todo += [
            one
            for part in parts
            for one in (cast("tuple[Any, ...]", part) if isinstance(part, tuple) else (part,))
            if one is not None
        ]
    return frozenset(names)


def fields_of(encoded: bytes, shape: type[T], *, what: str) -> T:
    """A query, or a form of a browser, as that type. Raises ValidationError, also for a name given twice."""
    # To decode a megabyte of `%41` takes a fifth of a second, in which no other request runs.
    if len(encoded) > LARGEST_FIELDS:
        raise ValidationError(f"{what} must have at most {LARGEST_FIELDS:,} bytes")
    try:
        pairs = parse_qsl(encoded.decode(), keep_blank_values=True, errors="strict", max_num_fields=50)
    except (UnicodeDecodeError, ValueError):
        raise ValidationError(f"{what} must be UTF-8, percent-encoded, with at most 50 names") from None
    given: dict[str, str] = {}
    for name, value in pairs:
        if name in given:
            raise ValidationError(f"{what} gives one name twice")
        _check_text(value)
        given[name] = value
    return shaped(given, shape, what=what, lax=True)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValidationError("the body names a member twice in one object")
    return found


def _no_constant(name: str) -> NoReturn:
    raise ValidationError(f"the body holds {name}, which is no JSON number")


def _finite(text: str) -> float:
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise ValidationError("the body holds a number that is too large")
    return number


def _check(value: Any) -> None:
    """No NUL, no half characters, and not too deep, anywhere."""
    todo: list[tuple[Any, int]] = [(value, 1)]
    while todo:
        each, depth = todo.pop()
        if isinstance(each, str):
            _check_text(each)
        elif isinstance(each, dict):
            members = cast("dict[str, Any]", each)
            for name in members:
                _check_text(name)
            todo.extend((member, depth + 1) for member in members.values())
        elif isinstance(each, list):
            todo.extend((member, depth + 1) for member in cast("list[Any]", each))
        if depth > DEEPEST:
            raise ValidationError(f"the body nests deeper than {DEEPEST} levels")


def _check_text(text: str) -> None:
    if "\0" in text:
        raise ValidationError("a text holds a NUL character")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValidationError("a text holds half of a character (a lone surrogate)") from None


def _place(problem: ValueError) -> str:
    if isinstance(problem, json.JSONDecodeError):
        return f"{problem.msg} (line {problem.lineno}, column {problem.colno})"
    return "a number is too long"


def _too_large(largest: int) -> HttpError:
    # The rest of the body is not read: the connection cannot be used again.
    return HttpError(413, "too_large", f"the body is larger than {largest} bytes", headers={"connection": "close"})


def encoded(value: Any) -> bytes:
    """JSON for what a model may have said: numbers of any size and text with half characters have a form too."""
    try:
        return msgspec.json.encode(value)
    except (ValueError, OverflowError, TypeError):
        plain = json.dumps(_nulled(msgspec.to_builtins(value)), ensure_ascii=False, separators=(",", ":"))
        return plain.encode("utf-8", "replace")


def _nulled(value: Any) -> Any:
    """The value with null where a number is none, as msgspec has it."""
    match value:
        case float():
            return value if math.isfinite(value) else None
        case dict():
            return {name: _nulled(member) for name, member in cast("dict[str, Any]", value).items()}
        case list():
            return [_nulled(member) for member in cast("list[Any]", value)]
        case _:
            return value
