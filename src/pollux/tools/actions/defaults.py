"""Fill in what a schema says of members that were not given, however deep they are."""

from collections.abc import Mapping
from copy import deepcopy
from typing import Any, Final, cast

from pollux.core.messages import JSON
from pollux.tools.define import Args

DEEPEST: Final = 100


def with_defaults(schema: Mapping[str, JSON], args: Args) -> Args:
    """The same arguments with defaults where something is missing. What was given stays as it is."""
    return cast("Args", _filled(schema, args, schema, 0))


def _filled(schema: Mapping[str, Any], value: JSON, root: Mapping[str, Any], depth: int) -> JSON:
    schema = _meant(schema, root)
    if depth > DEEPEST:
        return value
    if isinstance(value, dict):
        return _object(schema, cast("dict[str, JSON]", value), root, depth)
    part = schema.get("items")
    if isinstance(value, list) and isinstance(part, Mapping):
        items = cast("list[JSON]", value)
        return [_filled(cast("Mapping[str, Any]", part), item, root, depth + 1) for item in items]
    return cast("JSON", value)


def _object(schema: Mapping[str, Any], value: dict[str, JSON], root: Mapping[str, Any], depth: int) -> dict[str, JSON]:
    properties = schema.get("properties")
    if not isinstance(properties, Mapping):
        return value
    filled = dict(value)
    for name, part in cast("Mapping[str, Any]", properties).items():
        if not isinstance(part, Mapping):
            continue
        member = _meant(cast("Mapping[str, Any]", part), root)
        if name not in filled and "default" in member:
            filled[name] = deepcopy(member["default"])
        if name in filled:
            filled[name] = _filled(member, filled[name], root, depth + 1)
    return filled


def _meant(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a reference within the same schema leads to. What is written beside it comes first."""
    steps = 0
    while isinstance(reference := schema.get("$ref"), str) and reference.startswith("#/") and steps < DEEPEST:
        beside = {key: value for key, value in schema.items() if key != "$ref"}
        schema = {**_at(root, reference[2:]), **beside}
        steps += 1
    return schema


def _at(root: Mapping[str, Any], pointer: str) -> Mapping[str, Any]:
    found = root
    for step in pointer.split("/"):
        part = found.get(step.replace("~1", "/").replace("~0", "~"))
        if not isinstance(part, Mapping):
            return {}
        found = cast("Mapping[str, Any]", part)
    return found
