"""What `Annotated` says beside a type, in msgspec's words.

Plain text is a description. Limits come from msgspec, annotated_types or pydantic; the latter two are known by their
looks, not imported. A limit that cannot be kept is refused: it must never be dropped in silence.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from types import UnionType
from typing import Annotated, Any, Union, cast, get_args, get_origin

import msgspec

from pollux.core.errors import ValidationError
from pollux.core.frozen import frozen
from pollux.core.messages import JSON

LIMITS = ("gt", "ge", "lt", "le", "multiple_of", "min_length", "max_length", "pattern")
# JSON values are never coerced and hold no infinities, so the first two hold anyway; a unit is only told.
HARMLESS = frozenset({"strict", "allow_inf_nan", "unit"})
STRANGERS = ("annotated_types", "pydantic", "pydantic_core")
# What a pydantic Field may say that has its place elsewhere.
MISPLACED = ("default_factory", "alias", "validation_alias", "discriminator")


@frozen
class Notes:
    """Everything that was said beside one type."""

    limits: Mapping[str, Any]
    description: str = ""
    extra: Mapping[str, JSON] | None = None

    def on(self, hint: Any) -> Any:
        """The type with these notes, as msgspec reads them."""
        if self.limits:
            hint = _limited(hint, _meta(self.limits))
        if self.description or self.extra:
            told = msgspec.Meta(description=self.description or None, extra_json_schema=dict(self.extra or {}) or None)
            hint = Annotated[hint, told]
        return hint


def described(hint: Any, description: str) -> Any:
    """The type with a description, unless it brings its own."""
    if not description or (get_origin(hint) is Annotated and notes(get_args(hint)[1:]).description):
        return hint
    return Annotated[hint, description]


def or_none(hint: Any) -> Any:
    """The type, or nothing."""
    if get_origin(hint) is Annotated:
        inner, *metadata = get_args(hint)
        return Annotated[(or_none(inner), *metadata)]  # pyright: ignore[reportInvalidTypeForm]
    known = union_members(hint) or (hint,)
    return hint if any(member in (Any, object, None, type(None)) for member in known) else union_of((hint, None))


def notes(metadata: Iterable[object]) -> Notes:
    """What the metadata of an Annotated says. Raises ValidationError for a limit that cannot be kept."""
    limits: dict[str, Any] = {}
    extra: dict[str, JSON] = {}
    description = ""
    for note in metadata:
        if isinstance(note, str):
            description = note.strip()
            continue
        if isinstance(note, msgspec.Meta):
            limits |= _named(note, (*LIMITS, "tz"))
            extra |= _named(note, ("examples",)) | dict(note.extra_json_schema or {})
        elif is_field(note):
            inner = notes(cast("Any", note).metadata)
            limits |= inner.limits
            extra |= _field_extra(note)
        else:
            limits |= _stranger_limits(note)
        description = _description(note) or description
    return Notes(limits, description, extra)


def is_field(note: object) -> bool:
    """Whether it looks like pydantic's Field."""
    return _package(note) == "pydantic" and hasattr(note, "json_schema_extra") and hasattr(note, "metadata")


def _meta(limits: Mapping[str, Any]) -> msgspec.Meta:
    try:
        return msgspec.Meta(**limits)
    except (TypeError, ValueError, re.error) as problem:
        said = ", ".join(f"{name}={value!r}" for name, value in limits.items())
        raise ValidationError(f"{said} cannot be kept here: {problem}") from None


def _limited(hint: Any, limits: msgspec.Meta) -> Any:
    # "At least 1, or nothing": the limit is on the number. msgspec wants it there.
    members = union_members(hint)
    if not members:
        return Annotated[hint, limits]
    return union_of(member if member in (None, type(None)) else _limited(member, limits) for member in members)


def union_members(hint: Any) -> tuple[Any, ...]:
    """The members of a union; nothing for any other type."""
    return get_args(hint) if get_origin(hint) in (Union, UnionType) else ()


def union_of(members: Iterable[Any]) -> Any:
    """The union of these types."""
    return Union[tuple(members)]  # noqa: UP007  Its members are known only now.


def _description(note: object) -> str:
    # `documentation` is what PEP 727's Doc and annotated_types.doc hold.
    for name in ("description", "documentation"):
        text = None if isinstance(note, type) else getattr(note, name, None)
        if isinstance(text, str):
            return text.strip()
    return ""


def _stranger_limits(note: object) -> dict[str, Any]:
    if isinstance(note, type) or note is None:
        return {}
    limits = {name: value for name, value in _named(note, LIMITS).items() if not callable(value)}
    if _package(note) in STRANGERS:
        unknown = _members(note).keys() - limits.keys() - HARMLESS - {"documentation"}
        if unknown:
            raise ValidationError(
                f"{type(note).__name__}({', '.join(sorted(unknown))}) cannot be kept here; put the value into a"
                " pydantic model, or check it in the function"
            )
    return limits


def _field_extra(note: Any) -> dict[str, JSON]:
    misplaced = list(_named(note, MISPLACED))
    if type(note.default).__name__ != "PydanticUndefinedType":
        misplaced.append("default")
    if misplaced:
        raise ValidationError(
            f"Field({misplaced[0]}=…) in Annotated has no meaning here; write the default into the signature"
            " and name the parameter as the model shall see it"
        )
    more: Any = note.json_schema_extra
    return _named(note, ("examples",)) | (more if isinstance(more, dict) else {})


def _named(note: object, names: Iterable[str]) -> dict[str, Any]:
    return {name: value for name in names if (value := getattr(note, name, None)) is not None}


def _members(note: object) -> dict[str, object]:
    if is_dataclass(note) and not isinstance(note, type):
        found = {field.name: getattr(note, field.name) for field in fields(note)}
    else:
        found = dict(getattr(note, "__dict__", {}))
    return {name: value for name, value in found.items() if value is not None}


def _package(note: object) -> str:
    return type(note).__module__.partition(".")[0]
