"""Read dataclasses back from plain JSON values. One reader is compiled for each type, from its hints, once.

Missing members take their defaults: an older version did not have them. Unknown members are passed over: what may not
be, a newer version marks (versions.py). Unions of dataclasses are told apart by their `type` member.
"""

from base64 import b64decode
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, NewType, Union, cast, get_args, get_origin, get_type_hints

from pollux.core.errors import TooNew
from pollux.wire.versions import VERSION

Read = Callable[[Any], Any]
"""From a plain value to the typed one. Raises ValueError, TypeError, KeyError or TooNew where it does not fit."""


@cache
def reader(hint: Any) -> Read | None:
    """How to read a value of this type; None where the plain value is already right."""
    if isinstance(hint, NewType):
        return reader(hint.__supertype__)
    if hint is float:
        return float
    if hint is bytes:
        return b64decode
    if is_dataclass(hint):
        return _record(cast("type[Any]", hint))
    origin = get_origin(hint)
    if origin is Union or origin is UnionType:
        return _union(get_args(hint))
    if origin is tuple:
        return _row(reader(get_args(hint)[0]))
    # Text, numbers, literals, objects and Any are what JSON made of them.
    return None


def _record(cls: type[Any]) -> Read:
    hints = get_type_hints(cls)
    plan = tuple((field.name, reader(hints[field.name])) for field in fields(cls) if field.init)

    def read(value: Mapping[str, Any]) -> Any:
        members: dict[str, Any] = {}
        for name, inner in plan:
            if name in value:
                found = value[name]
                members[name] = found if inner is None else inner(found)
        return cls(**members)

    return read


def _row(inner: Read | None) -> Read:
    if inner is None:
        return tuple
    return lambda values: tuple([inner(value) for value in values])


def _union(choices: tuple[Any, ...]) -> Read | None:
    records = [choice for choice in choices if is_dataclass(choice)]
    others = [choice for choice in choices if choice is not NoneType and not is_dataclass(choice)]
    if len(records) > 1:
        return _tagged({_tag(cast("type[Any]", record)): _record(cast("type[Any]", record)) for record in records})
    # What is left in our shapes is one type or None, or literals that need no reading.
    inner = reader((records or others)[0])
    if inner is None:
        return None
    return lambda value: None if value is None else inner(value)


def _tagged(by_tag: dict[str, Read]) -> Read:
    def read(value: Mapping[str, Any]) -> Any:
        tag = value["type"]
        if tag not in by_tag:
            # It does not say how much newer.
            raise TooNew(f"expected {', '.join(by_tag)}, found {tag!r}. Update Pollux", version=VERSION + 1)
        return by_tag[tag](value)

    return read


def _tag(cls: type[Any]) -> str:
    hint = get_type_hints(cls)["type"]
    assert get_origin(hint) is Literal
    return get_args(hint)[0]
