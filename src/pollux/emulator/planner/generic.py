"""Values from a schema alone: the smallest that satisfies it, and the bounds every other value is held to."""

import re
from typing import Any

from pollux.emulator.jsons import is_list, is_number, is_object, objects, strings

_DEPTH = 12
_FORMATS = {
    "date": "2026-01-02",
    "date-time": "2026-01-02T09:00:00Z",
    "time": "09:00:00Z",
    "duration": "PT1H",
    "email": "someone@example.com",
    "idn-email": "someone@example.com",
    "hostname": "example.com",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
    "uri": "https://example.com/",
    "url": "https://example.com/",
    "iri": "https://example.com/",
    "uri-reference": "https://example.com/",
    "uuid": "00000000-0000-4000-8000-000000000000",
    "json-pointer": "/a",
    "regex": ".*",
}


def value(schema: Any, root: dict[str, Any] | None = None, *, depth: int = 0) -> Any:
    """A value that satisfies the schema."""
    if not is_object(schema):
        return "demo"
    root = schema if root is None else root
    schema = resolve(schema, root)
    if "const" in schema:
        return schema["const"]
    if is_list(schema.get("enum")) and schema["enum"]:
        return schema["enum"][0]
    if "default" in schema:
        return schema["default"]
    match kind(schema):
        case "object":
            return _object(schema, root, depth=depth)
        case "array":
            return trim([], schema, root, depth=depth)
        case "integer":
            return bound(1, schema)
        case "number":
            return bound(1.5, schema)
        case "boolean":
            return True
        case "null":
            return None
        case _:
            return fit_text(_FORMATS.get(str(schema.get("format")), "demo"), schema)


def resolve(schema: dict[str, Any], root: dict[str, Any]) -> dict[str, Any]:
    """Follow references and pick a branch, until the schema speaks for itself."""
    for _ in range(20):
        if isinstance(schema.get("$ref"), str):
            target = _target(schema["$ref"], root)
            schema = target | {key: item for key, item in schema.items() if key != "$ref"}
        elif branches := objects(schema.get("anyOf")) or objects(schema.get("oneOf")):
            rest = {key: item for key, item in schema.items() if key not in ("anyOf", "oneOf")}
            schema = rest | _simplest(branches, root)
        elif every := objects(schema.get("allOf")):
            schema = _merged({key: item for key, item in schema.items() if key != "allOf"}, every, root)
        else:
            break
    return schema


def kind(schema: dict[str, Any]) -> str:
    """The type to make: the first that is not null when there are several, guessed when there is none."""
    given = schema.get("type")
    if is_list(given):
        kinds = [one for one in strings(given) if one != "null"]
        given = kinds[0] if kinds else "null"
    if isinstance(given, str):
        return given
    if "properties" in schema or "required" in schema:
        return "object"
    if "items" in schema or "prefixItems" in schema:
        return "array"
    if "minimum" in schema or "maximum" in schema:
        return "number"
    return "string"


def is_numeric(schema: dict[str, Any], root: dict[str, Any]) -> bool:
    """Does this schema want a number?"""
    return kind(resolve(schema, root)) in ("integer", "number")


def may_be_empty(schema: dict[str, Any]) -> bool:
    """May this array be empty?"""
    return not is_number(schema.get("minItems")) or schema["minItems"] < 1


def trim(items: list[Any], schema: dict[str, Any], root: dict[str, Any], *, depth: int = 0) -> list[Any]:
    """The array, as long as its schema wants it and no longer."""
    least = int(schema["minItems"]) if is_number(schema.get("minItems")) else 0
    prefix = objects(schema.get("prefixItems"))
    below: dict[str, Any] = schema["items"] if is_object(schema.get("items")) else {"type": "string"}
    if depth == 0 and not items and least == 0 and not prefix and "items" in schema:
        least = 1
    found = [value(one, root, depth=depth + 1) for one in prefix] if prefix and not items else list(items)
    while len(found) < min(least, 50) and depth < _DEPTH:
        found.append(_another(below, found, root, depth=depth, unique=schema.get("uniqueItems") is True))
    most = schema.get("maxItems")
    return found[: int(most)] if is_number(most) else found


def bound(number: int | float, schema: dict[str, Any]) -> int | float:
    """The number, held to minimum, maximum and step."""
    low, high, step = schema.get("minimum"), schema.get("maximum"), schema.get("multipleOf")
    above, under = schema.get("exclusiveMinimum"), schema.get("exclusiveMaximum")
    if is_number(low) and number < low:
        number = low
    if is_number(above) and number <= above:
        number = above + 1
    if is_number(high) and number > high:
        number = high
    if is_number(under) and number >= under:
        number = under - 1
    if is_number(step) and step > 0 and number % step:
        up = (number // step + 1) * step
        number = up if not is_number(high) or up <= high else (number // step) * step
    return number


def fit_text(text: str, schema: dict[str, Any]) -> str:
    """The text, as long as its schema allows, or one of the right form."""
    shape = schema.get("format")
    if shape in _FORMATS and not fits_format(text, str(shape)):
        text = _FORMATS[str(shape)]
    if isinstance(schema.get("pattern"), str) and not _matches(schema["pattern"], text):
        text = _from_pattern(schema["pattern"]) or text
    least, most = schema.get("minLength"), schema.get("maxLength")
    if is_number(least) and len(text) < least:
        text = text + "x" * min(int(least) - len(text), 10_000)
    return text[: int(most)] if is_number(most) and len(text) > most else text


def fits_text(text: str, schema: dict[str, Any]) -> bool:
    """Would the text do as it stands?"""
    return fit_text(text, schema) == text


def fits_format(text: str, shape: str) -> bool:
    """A loose look at a few formats."""
    patterns = {
        "date": r"\d{4}-\d{2}-\d{2}",
        "date-time": r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})",
        "email": r"[^@\s]+@[^@\s]+\.[^@\s]+",
        "uri": r"[a-z][a-z0-9+.-]*:\S+",
        "url": r"[a-z][a-z0-9+.-]*:\S+",
    }
    return shape in patterns and re.fullmatch(patterns[shape], text) is not None


def _object(schema: dict[str, Any], root: dict[str, Any], *, depth: int) -> dict[str, Any]:
    properties: dict[str, Any] = schema["properties"] if is_object(schema.get("properties")) else {}
    required = strings(schema.get("required"))
    found = {
        name: value(below, root, depth=depth + 1)
        for name, below in properties.items()
        if name in required or depth == 0
    }
    extra = schema.get("additionalProperties")
    for name in required:
        found.setdefault(name, value(extra if is_object(extra) else {"type": "string"}, root, depth=depth + 1))
    least = schema.get("minProperties")
    while is_number(least) and len(found) < min(least, 20):
        found[f"key{len(found) + 1}"] = value(extra if is_object(extra) else {}, root, depth=depth + 1)
    return found


def _another(below: dict[str, Any], found: list[Any], root: dict[str, Any], *, depth: int, unique: bool) -> Any:
    schema = resolve(below, root)
    choices: list[Any] = schema["enum"] if is_list(schema.get("enum")) else []
    if unique and choices:
        return next((choice for choice in choices if choice not in found), choices[0])
    made = value(below, root, depth=depth + 1)
    if unique and made in found:
        if isinstance(made, str):
            return f"{made} {len(found) + 1}"
        if is_number(made):
            return made + len(found)
    return made


def _target(reference: str, root: dict[str, Any]) -> dict[str, Any]:
    place: Any = root
    for step in reference.removeprefix("#").strip("/").split("/") if reference != "#" else []:
        step = step.replace("~1", "/").replace("~0", "~")
        place = place.get(step) if is_object(place) else None
    return place if is_object(place) else {}


def _simplest(branches: list[dict[str, Any]], root: dict[str, Any]) -> dict[str, Any]:
    for branch in branches:
        if branch.get("type") != "null" and "$ref" not in branch:
            return branch
    return next((branch for branch in branches if branch.get("type") != "null"), branches[0])


def _merged(base: dict[str, Any], every: list[dict[str, Any]], root: dict[str, Any]) -> dict[str, Any]:
    whole = dict(base)
    for part in every:
        part = resolve(part, root)
        properties: dict[str, Any] = {**(whole.get("properties") or {}), **(part.get("properties") or {})}
        required = [*strings(whole.get("required")), *strings(part.get("required"))]
        whole |= part
        if properties:
            whole["properties"] = properties
        if required:
            whole["required"] = required
    return whole


def _matches(pattern: str, text: str) -> bool:
    try:
        return re.search(pattern, text) is not None
    except re.error:
        return True


def _from_pattern(pattern: str) -> str | None:
    """The simplest patterns only: literals, classes and counts."""
    for guess in ("a", "A", "1", "abc", "ABC", "123", "abc123", "2026-01-02", "a@example.com", "#000000", "AB12"):
        for times in (1, 2, 3, 4):
            if _matches(pattern, guess * times):
                return guess * times
    pieces = re.findall(r"(\\d|\\w|\[[^\]]+\]|[^\\\[\](){}^$|?*+.])(?:\{(\d+)(?:,\d*)?\}|([+*?]))?", pattern)
    made = "".join(_piece(one) * (int(count) if count else 1) for one, count, _ in pieces)
    return made if _matches(pattern, made) else None


def _piece(one: str) -> str:
    if one == r"\d":
        return "1"
    if one == r"\w":
        return "a"
    return one[1] if one.startswith("[") and one[1] != "^" else ("x" if one.startswith("[") else one)
