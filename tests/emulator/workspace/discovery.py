"""Google's own description of its APIs, as google-api-python-client carries it, and a check of values against it."""

import json
from functools import cache
from importlib.resources import files
from typing import Any

KINDS: dict[str, tuple[type, ...]] = {"string": (str,), "boolean": (bool,), "integer": (int,), "number": (int, float)}


@cache
def document(name: str) -> dict[str, Any]:
    """`gmail.v1` or `calendar.v3`."""
    found = files("googleapiclient").joinpath(f"discovery_cache/documents/{name}.json")
    return json.loads(found.read_text("utf-8"))


def methods() -> dict[str, dict[str, Any]]:
    """Every method of both APIs by its id, with the path it has on the wire."""
    found: dict[str, dict[str, Any]] = {}
    for name in ("gmail.v1", "calendar.v3"):
        whole = document(name)
        for method in _methods(whole):
            found[method["id"]] = {**method, "path": whole["servicePath"] + method["path"], "document": name}
    return found


def problems(value: Any, schema: dict[str, Any], schemas: dict[str, Any], where: str = "") -> list[str]:
    """What in a value is not as the schema has it: unknown fields, other types, other words."""
    if "$ref" in schema:
        return problems(value, schemas[schema["$ref"]], schemas, where)
    kind = schema.get("type")
    if kind == "object":
        return _of_object(value, schema, schemas, where)
    if kind == "array":
        if not isinstance(value, list):
            return [f"{where} is no list"]
        found = [problems(item, schema["items"], schemas, f"{where}[]") for item in value]  # pyright: ignore[reportUnknownVariableType]
        return [one for some in found for one in some]
    wanted = KINDS.get(str(kind), (object,))
    if not isinstance(value, wanted) or (isinstance(value, bool) and bool not in wanted):
        return [f"{where} is {value!r}, not a {kind}"]
    if schema.get("format") in ("uint64", "int64") and not str(value).isdigit():
        return [f"{where} is {value!r}, no number"]
    return [] if "enum" not in schema or value in schema["enum"] else [f"{where} is {value!r}, not {schema['enum']}"]


def _of_object(value: Any, schema: dict[str, Any], schemas: dict[str, Any], where: str) -> list[str]:
    if not isinstance(value, dict):
        return [f"{where} is no object"]
    known: dict[str, Any] = schema.get("properties", {})
    found: list[str] = []
    for name, item in value.items():  # pyright: ignore[reportUnknownVariableType]
        inner = known.get(str(name)) or schema.get("additionalProperties")  # pyright: ignore[reportUnknownArgumentType]
        found += problems(item, inner, schemas, f"{where}.{name}") if inner else [f"{where}.{name} is not there"]
    return found


def _methods(resource: dict[str, Any]) -> list[dict[str, Any]]:
    below = [_methods(one) for one in resource.get("resources", {}).values()]
    return [*resource.get("methods", {}).values(), *(method for some in below for method in some)]
