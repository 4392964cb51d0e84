"""The events of the SDK and of the journal as JSON Schema, made from the very classes that the code uses."""

from collections.abc import Iterator
from dataclasses import field, fields, make_dataclass
from typing import Any, Final, cast, get_args, get_origin, get_type_hints

import msgspec

from pollux.core.events import EVENT_TYPES
from pollux.core.thread import THREAD_EVENT_TYPES
from pollux.sdk.events import AgentEvent
from pollux.wire.codec import CONTENT, VERSION

Schema = dict[str, Any]

DRAFT: Final = "https://json-schema.org/draft/2020-12/schema"

REFERENCE: Final[Schema] = {
    "description": "The digest of content that is kept beside the facts.",
    "type": "object",
    "properties": {"$": {"type": "string", "pattern": "^[0-9a-f]{32}$"}},
    "required": ["$"],
    "additionalProperties": False,
}


def sdk_events() -> Schema:
    """What a stream of an agent yields, each event told from the others by its `type`."""
    events = get_args(AgentEvent)
    _, definitions = msgspec.json.schema_components(events)
    for definition in definitions.values():
        require_type(definition)
    return {
        "$schema": DRAFT,
        "title": "An event of Agent.send_stream",
        "anyOf": [ref(event.__name__) for event in events],
        "$defs": dict(sorted(definitions.items())),
    }


def journal_events() -> Schema:
    """What a store keeps of runs and threads: kind, version of the stored form, facts."""
    events = {**EVENT_TYPES, **THREAD_EVENT_TYPES}
    _, definitions = msgspec.json.schema_components([_facts(event) for event in events.values()])
    for name, event in events.items():
        for member in CONTENT.get(name, ()):
            definitions[name]["properties"][member] = _content(event, member)
    return {
        "$schema": DRAFT,
        "title": "An event as the journal keeps it",
        "description": "What was said lies beside the facts and can be erased: where it stood there is its digest.",
        "anyOf": [_row(name) for name in events],
        "$defs": {**dict(sorted(definitions.items())), "Reference": REFERENCE},
    }


def names_in(document: Schema) -> dict[str, str]:
    """The events that a document holds by the name they go by, each with that of its definition."""
    found: dict[str, str] = {}
    for choice in document["anyOf"]:
        [definition] = _named_in(choice)
        type_: Schema = document["$defs"][definition]["properties"].get("type", {})
        found[type_.get("const", definition)] = definition
    return found


def alone(document: Schema, definition: str) -> Schema:
    """One definition as a document of its own, with those that it needs."""
    every: dict[str, Schema] = document["$defs"]
    needed: set[str] = set()
    waiting = list(_named_in(every[definition]))
    while waiting:
        if (name := waiting.pop()) not in needed:
            needed.add(name)
            waiting += _named_in(every[name])
    made = {"$schema": DRAFT, **every[definition]}
    return {**made, "$defs": {name: every[name] for name in sorted(needed)}} if needed else made


def require_type(definition: Schema) -> None:
    """Say that the member which tells a class from the others is always there."""
    # It has a default, so that nobody must write it in Python; in JSON it is always there.
    type_: Schema = definition["properties"].get("type", {})
    if len(type_.get("enum", ())) == 1:
        definition["properties"]["type"] = {"const": type_["enum"][0]}
        definition["required"] = [*definition.get("required", ()), "type"]


def ref(name: str) -> Schema:
    """The definition of this name."""
    return {"$ref": f"#/$defs/{name}"}


def _facts(event: type[Any]) -> type[Any]:
    """The event with its content as anything at all: what stands there is described by hand."""
    hints = get_type_hints(event)
    content = CONTENT.get(event.__name__, ())
    members: list[Any] = [
        (
            known.name,
            Any if known.name in content else hints[known.name],
            field(default=known.default, default_factory=cast(Any, known.default_factory)),
        )
        for known in fields(event)
    ]
    made = make_dataclass(event.__name__, members, kw_only=True)
    made.__doc__ = event.__doc__
    return made


def _content(event: type[Any], member: str) -> Schema:
    """A digest, or nothing where nothing was said."""
    if get_origin(get_type_hints(event)[member]) is tuple:
        return {"type": "array", "items": ref("Reference")}
    return {"anyOf": [ref("Reference"), {"type": "null"}, {"const": ""}]}


def _row(name: str) -> Schema:
    return {
        "type": "object",
        "properties": {"kind": {"const": name}, "v": {"const": VERSION}, "facts": ref(name)},
        "required": ["kind", "v", "facts"],
    }


def _named_in(value: object) -> Iterator[str]:
    """The definitions that a schema refers to."""
    if isinstance(value, dict):
        for name, member in cast(Schema, value).items():
            if name == "$ref":
                yield str(member).rpartition("/")[2]
            else:
                yield from _named_in(member)
    elif isinstance(value, list):
        for item in cast("list[object]", value):
            yield from _named_in(item)
