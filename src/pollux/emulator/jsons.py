"""The few questions asked of parsed JSON, typed, so that `Any` stops here."""

import json
from typing import Any, TypeGuard


def is_object(value: object) -> TypeGuard[dict[str, Any]]:
    """Is this a JSON object?"""
    return isinstance(value, dict)


def is_list(value: object) -> TypeGuard[list[Any]]:
    """Is this a JSON array?"""
    return isinstance(value, list)


def is_number(value: object) -> TypeGuard[int | float]:
    """Is this a JSON number? (True and False are not.)"""
    return isinstance(value, int | float) and not isinstance(value, bool)


def objects(value: object) -> list[dict[str, Any]]:
    """The objects of a list; nothing when it is no list."""
    return [item for item in value if is_object(item)] if is_list(value) else []


def strings(value: object) -> list[str]:
    """The strings of a list; nothing when it is no list."""
    return [item for item in value if isinstance(item, str)] if is_list(value) else []


def compact(value: object) -> str:
    """One line of JSON, for people."""
    return json.dumps(value, ensure_ascii=False)


def canonical(value: object) -> bytes:
    """The same bytes for the same JSON value: keys sorted, 2.0 written as 2."""
    return json.dumps(_plain(value), sort_keys=True, separators=(",", ":")).encode()


def too_deep(value: object, *, limit: int = 100) -> bool:
    """Is this nested deeper than the limit? Asked before anything recurses into it."""
    level: list[object] = [value]
    for _ in range(limit):
        below: list[object] = []
        for item in level:
            if is_object(item):
                below.extend(item.values())
            elif is_list(item):
                below.extend(item)
        if not below:
            return False
        level = below
    return True


def _plain(value: object) -> object:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if is_object(value):
        return {key: _plain(item) for key, item in value.items()}
    if is_list(value):
        return [_plain(item) for item in value]
    return value
