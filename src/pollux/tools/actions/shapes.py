"""What an action takes and gives, as a small tree of types, from which JSON Schema and source are written."""

from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal, assert_never, cast

from pollux.core.frozen import frozen
from pollux.core.messages import JSON

AtomName = Literal["string", "number", "integer", "boolean", "null", "file", "unknown"]

FILE: Final[Mapping[str, JSON]] = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "type": {"type": "string"},
        "data": {"type": "string", "contentEncoding": "base64"},
    },
    "required": ["name", "data"],
}
"""A file as JSON: its content comes along. A path would let a caller name any file of the server."""


@frozen
class Atom:
    """A type without parts. `unknown` is any value."""

    name: AtomName


@frozen
class Choice:
    """One of some values."""

    values: tuple[JSON, ...]


@frozen
class ListOf:
    """A list. Without an item, of anything."""

    item: "Shape | None"


@frozen
class RecordOf:
    """An object whose members are all alike, whatever they are called."""

    item: "Shape"


@frozen
class Member:
    """A member of an object."""

    name: str
    shape: "Shape"
    is_optional: bool = False


@frozen
class Struct:
    """An object with these members. One that names none is free."""

    members: tuple[Member, ...]


@frozen
class View:
    """What a contract says a component shows, under the name that Jay gives it."""

    name: str
    source: str
    """Where the contract is, seen from the action's file."""
    shape: "Shape"
    is_nullable: bool = False


@frozen
class AnyOf:
    """One of some types."""

    members: "tuple[Shape, ...]"


Shape = Atom | Choice | ListOf | RecordOf | Struct | View | AnyOf


def schema_of(shape: Shape) -> dict[str, JSON]:
    """The shape as JSON Schema."""
    match shape:
        case Atom(name="file"):
            return dict(FILE)
        case Atom(name="unknown"):
            return {}
        case Atom(name=name):
            return {"type": name}
        case Choice(values=values):
            are_text = all(isinstance(value, str) for value in values)
            return {**({"type": "string"} if are_text else {}), "enum": list(values)}
        case ListOf(item=item):
            return {"type": "array", **({"items": schema_of(item)} if item is not None else {})}
        case RecordOf(item=item):
            return {"type": "object", "additionalProperties": schema_of(item)}
        case Struct(members=()):
            return {"type": "object"}
        case Struct(members=members):
            required = [member.name for member in members if not member.is_optional]
            properties = {member.name: schema_of(member.shape) for member in members}
            return {"type": "object", "properties": properties, **({"required": required} if required else {})}
        case View(shape=inner, is_nullable=is_nullable):
            schema = schema_of(inner)
            return {"anyOf": [schema, {"type": "null"}]} if is_nullable else schema
        case AnyOf(members=members):
            return {"anyOf": [schema_of(member) for member in members]}
        case _:
            assert_never(shape)


def shape_of(schema: JSON) -> Shape:
    """The shape of a JSON Schema, as far as types can say it."""
    if not isinstance(schema, Mapping):
        return Atom("unknown")
    known = cast("Mapping[str, Any]", schema)
    if known.get("enum"):
        return Choice(tuple(known["enum"]))
    match known.get("type"):
        case "string" | "number" | "integer" | "boolean" | "null" as name:
            return Atom(name)
        case "array":
            return ListOf(shape_of(known["items"]) if isinstance(known.get("items"), Mapping) else None)
        case "object":
            return _struct(known)
        case names:
            if isinstance(names, list) and names:
                return AnyOf(tuple(shape_of({**known, "type": name}) for name in cast("list[str]", names)))
            parts = known.get("anyOf") or known.get("oneOf")
            if isinstance(parts, list) and parts:
                return AnyOf(tuple(shape_of(part) for part in cast("list[JSON]", parts)))
            return Atom("unknown")


def views_in(shape: Shape | None) -> Iterator[View]:
    """The contracts that a shape speaks of, in its order."""
    match shape:
        case View():
            yield shape
        case ListOf(item=item) | RecordOf(item=item):
            yield from views_in(item)
        case Struct(members=members):
            for member in members:
                yield from views_in(member.shape)
        case AnyOf(members=parts):
            for part in parts:
                yield from views_in(part)
        case _:
            pass


def atoms_in(shape: Shape | None) -> Iterator[AtomName]:
    """The types without parts that a shape is made of. What a contract says stays inside of it."""
    match shape:
        case Atom(name=name):
            yield name
        case ListOf(item=item) | RecordOf(item=item):
            yield from atoms_in(item)
        case Struct(members=members):
            for member in members:
                yield from atoms_in(member.shape)
        case AnyOf(members=parts):
            for part in parts:
                yield from atoms_in(part)
        case _:
            pass


def _struct(schema: Mapping[str, Any]) -> Shape:
    properties: Mapping[str, JSON] = schema.get("properties") or {}
    required = set[str](schema.get("required") or ())
    others = schema.get("additionalProperties")
    if not properties and isinstance(others, Mapping) and others:
        return RecordOf(shape_of(cast("JSON", others)))
    members = ((name, shape_of(member), name not in required) for name, member in properties.items())
    return Struct(tuple(Member(*member) for member in members))
