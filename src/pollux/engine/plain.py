"""Results of tools as JSON, whatever they are. The effect has happened: a strange result must not lose that fact."""

import math
from base64 import b64encode
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from datetime import date, datetime, time
from enum import Enum
from pathlib import PurePath
from typing import Any, cast

from pollux.core.messages import JSON

MAX_DEPTH = 50
MAX_TEXT = 10_000_000


def plain(value: object, depth: int = 0) -> JSON:
    """The nearest JSON value. Never raises for odd content; what has no form becomes text."""
    if value is None or isinstance(value, bool | int):
        return value if not isinstance(value, int) or abs(value) < 2**53 or isinstance(value, bool) else str(value)
    if depth > MAX_DEPTH:
        return "(nested too deeply)"
    match value:
        case Enum():
            return plain(value.value, depth + 1)
        case str():
            return _text(value)
        case float():
            return value if math.isfinite(value) else str(value)
        case bytes() | bytearray():
            return _text(b64encode(value).decode())
        case Mapping():
            members = cast("Mapping[object, object]", value)
            return {_text(str(key)): plain(item, depth + 1) for key, item in members.items()}
        case list() | tuple() | set() | frozenset():
            return [plain(item, depth + 1) for item in cast("Iterable[object]", value)]
        case datetime() | date() | time():
            return value.isoformat()
        case PurePath():
            return _text(str(value))
        case _:
            return _structured(value, depth)


def _structured(value: object, depth: int) -> JSON:
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name), depth + 1) for field in fields(value)}
    dump = getattr(cast("Any", value), "model_dump", None)
    if callable(dump):
        return plain(dump(mode="json"), depth + 1)
    return _text(str(value))


def _text(value: str) -> str:
    if len(value) > MAX_TEXT:
        value = value[:MAX_TEXT] + f"\n(cut: {len(value)} characters)"
    return value if value.isascii() else value.encode("utf-8", "replace").decode()
