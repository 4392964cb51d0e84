"""A JSON Schema in the part of the language that answers can be held to.

The service refuses objects that allow any field, and most bounds. A bound it cannot hold is told to the model in words;
whoever asked for the shape checks the answer against the schema as it was.
"""

from collections.abc import Mapping
from typing import Any, Final, cast

from pollux.core.messages import JSON
from pollux.providers.encoding import to_json

_KEPT: Final = frozenset({"$ref", "type", "enum", "const", "required", "description", "title", "default"})
_OF_ONE: Final = frozenset({"items", "not"})
_OF_MANY: Final = {"anyOf": "anyOf", "oneOf": "anyOf", "allOf": "allOf"}
_OF_NAMED: Final = frozenset({"properties", "$defs", "definitions"})
_IGNORED: Final = frozenset({"$schema", "$id", "$comment", "discriminator", "additionalProperties"})
_FORMATS: Final = frozenset(
    {"date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"}
)


def fitted(schema: JSON) -> JSON:
    """The schema as the service takes it."""
    if not isinstance(schema, Mapping):
        return schema
    fields = cast("Mapping[str, Any]", schema)
    fit: dict[str, JSON] = {}
    bounds: dict[str, JSON] = {}
    for key, value in fields.items():
        if key in _KEPT or (key == "format" and value in _FORMATS) or (key == "minItems" and value in (0, 1)):
            fit[key] = value
        elif key in _OF_ONE:
            fit[key] = fitted(value)
        elif key in _OF_MANY:
            fit[_OF_MANY[key]] = [fitted(below) for below in value]
        elif key in _OF_NAMED:
            fit[key] = {name: fitted(below) for name, below in value.items()}
        elif key not in _IGNORED:
            bounds[key] = value
    if _is_object(fields):
        # A mapping of any names to one kind of value has no form here: left as it is, the service says so.
        more = fields.get("additionalProperties")
        fit["additionalProperties"] = more if isinstance(more, Mapping) and more else False
    if bounds:
        fit["description"] = " ".join(filter(None, (fit.get("description"), to_json(bounds).decode())))
    return fit


def _is_object(schema: Mapping[str, Any]) -> bool:
    kind = schema.get("type")
    return kind == "object" or (isinstance(kind, list) and "object" in kind) or "properties" in schema
