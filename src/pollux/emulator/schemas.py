"""JSON Schemas as the emulator needs them: is one sound, does a value satisfy it, what the OpenAPI form means."""

from typing import Any

import jsonschema_rs

from pollux.emulator.jsons import is_list, is_object


def problem(schema: object) -> str | None:
    """Why this is no sound JSON Schema, or None."""
    if not is_object(schema):
        return "the schema must be an object"
    try:
        jsonschema_rs.validator_for(schema, retriever=_refuse_remote)
    except ValueError as error:
        return str(error).splitlines()[0]
    except jsonschema_rs.ReferencingError as error:
        return str(error).splitlines()[0]
    return None


def satisfies(value: object, schema: dict[str, Any]) -> bool:
    """Does the value satisfy the schema?"""
    return jsonschema_rs.validator_for(schema, retriever=_refuse_remote).is_valid(value)


def from_openapi(schema: object) -> Any:
    """The OpenAPI form (upper-case types, `nullable`) as JSON Schema."""
    if not is_object(schema):
        return schema
    plain: dict[str, Any] = {}
    for key, value in schema.items():
        match key:
            case "type" if isinstance(value, str) and value != "TYPE_UNSPECIFIED":
                plain[key] = value.lower()
            case "properties" if is_object(value):
                plain[key] = {name: from_openapi(below) for name, below in value.items()}
            case "items":
                plain[key] = from_openapi(value)
            case "anyOf" if is_list(value):
                plain[key] = [from_openapi(below) for below in value]
            case "nullable" | "propertyOrdering" | "example" | "type":
                pass
            case _:
                plain[key] = value
    if schema.get("nullable") is True:
        return {"anyOf": [plain, {"type": "null"}]}
    return plain


def with_plain_types(schema: Any) -> Any:
    """A JSON Schema whose types may be in upper case, as Google's own clients write them and the service takes them."""
    if is_list(schema):
        return [with_plain_types(below) for below in schema]
    if not is_object(schema):
        return schema
    return {
        key: value.lower()
        if key == "type" and isinstance(value, str) and value in _UPPER
        else (value if key in _VALUES else with_plain_types(value))
        for key, value in schema.items()
    }


_UPPER = frozenset({"STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL"})
# What stands there are values, not schemas.
_VALUES = frozenset({"const", "enum", "default", "examples", "example"})


def _refuse_remote(uri: str) -> Any:
    raise ValueError(f"references to other documents are not followed: {uri}")
