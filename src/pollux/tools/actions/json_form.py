"""The first form of a `.jay-action` file, JSON Schema: told from the compact one, and looked through line by line."""

from collections.abc import Iterator
from difflib import get_close_matches
from typing import Any, Final, cast

from pollux.core.errors import ValidationError
from pollux.core.messages import JSON
from pollux.engine import schemas
from pollux.tools.actions.documents import Document, Fields, Items, Node, Scalar, brief, kind_of, plain

TYPES: Final = ("string", "number", "integer", "boolean", "null", "array", "object")
KEYWORDS: Final = frozenset(
    "$schema $id $ref $anchor $defs $dynamicRef $dynamicAnchor $comment definitions title description default example "
    "examples deprecated readOnly writeOnly nullable type enum const properties required additionalProperties "
    "patternProperties propertyNames minProperties maxProperties dependencies dependentRequired dependentSchemas "
    "unevaluatedProperties items prefixItems additionalItems unevaluatedItems minItems maxItems uniqueItems contains "
    "minContains maxContains minLength maxLength pattern format contentEncoding contentMediaType contentSchema minimum "
    "maximum exclusiveMinimum exclusiveMaximum multipleOf allOf anyOf oneOf not if then else discriminator".split()
)


def is_schema_form(takes: Fields | None, gives: Node | None) -> bool:
    """Whether a file with these schemas is in the first form."""
    if takes is not None and takes.members:
        kind = takes.members.get("type")
        # No compact type is called object, so this can be nothing else.
        return isinstance(kind, Scalar) and kind.value == "object"
    return gives is not None and _has_parts(gives)


def read_schema(document: Document, node: Node, name: str) -> dict[str, JSON]:
    """The schema. Raises FileError with the line of what is wrong with it."""
    if not isinstance(node, Fields):
        raise document.error(node.line, f"expected JSON Schema, a mapping, as {name}, found {kind_of(node)}")
    for line, message in _objections(node):
        raise document.error(line, message)
    schema = cast("dict[str, JSON]", plain(node))
    try:
        schemas.validator(schema)
    except ValidationError as problem:
        raise document.error(node.line, f"{name}: {_first_line(problem)}") from None
    for line, message in _bad_defaults(node):
        raise document.error(line, message)
    return schema


def _has_parts(node: Node) -> bool:
    """Whether it is JSON Schema with `properties` or `items`, and not an object whose members have such names."""
    if not isinstance(node, Fields) or not node.members.keys() <= KEYWORDS:
        return False
    properties, items = node.members.get("properties"), node.members.get("items")
    if isinstance(properties, Fields):
        return all(isinstance(member, Fields) for member in properties.members.values())
    return isinstance(items, Fields) and bool(items.members) and items.members.keys() <= KEYWORDS


def _objections(node: Fields) -> Iterator[tuple[int, str]]:
    """What is wrong with a schema, and in which line, its parts included."""
    members = node.members
    for key, line in node.lines.items():
        if key not in KEYWORDS and not key.startswith("x-"):
            near = get_close_matches(key, KEYWORDS, n=1)
            hint = f". Did you mean {near[0]}?" if near else ""
            yield line, f"expected a word of JSON Schema such as `type` or `properties`, found {brief(key)!r}{hint}"
    yield from _type_objections(node)
    if (values := members.get("enum")) is not None and not (isinstance(values, Items) and values.items):
        yield values.line, "expected a list of values as enum"
    properties = members.get("properties")
    if properties is not None and not isinstance(properties, Fields):
        yield properties.line, f"expected a mapping as properties, found {kind_of(properties)}"
    yield from _required_objections(node)
    parts = [*properties.members.values()] if isinstance(properties, Fields) else []
    parts += [each for key in ("items", "additionalProperties", "not") if (each := members.get(key)) is not None]
    for key in ("anyOf", "oneOf", "allOf"):
        if isinstance(several := members.get(key), Items):
            parts += several.items
    for part in parts:
        if isinstance(part, Fields):
            yield from _objections(part)
        elif not (isinstance(part, Scalar) and isinstance(part.value, bool)):
            yield part.line, f"expected JSON Schema such as `type: string`, found {kind_of(part)}"


def _type_objections(node: Fields) -> Iterator[tuple[int, str]]:
    kind = node.members.get("type")
    if kind is None:
        return
    kinds = kind.items if isinstance(kind, Items) and kind.items else (kind,)
    for each in kinds:
        if not isinstance(each, Scalar) or each.value not in TYPES:
            yield each.line, f"expected a type ({', '.join(TYPES)}), found {kind_of(each)}"


def _required_objections(node: Fields) -> Iterator[tuple[int, str]]:
    required, properties = node.members.get("required"), node.members.get("properties")
    if required is None:
        return
    if not isinstance(required, Items):
        yield required.line, f"expected a list of names as required, found {kind_of(required)}"
        return
    for each in required.items:
        if not isinstance(each, Scalar) or not isinstance(each.value, str):
            yield each.line, f"expected a name, found {kind_of(each)}"
        elif isinstance(properties, Fields) and each.value not in properties.members:
            yield each.line, f"expected the name of a property, found {brief(each.value)!r}"


def _bad_defaults(node: Fields) -> Iterator[tuple[int, str]]:
    """Defaults that their own schema refuses: nobody but the author could mend that."""
    schema = cast("dict[str, Any]", plain(node))
    if "default" in schema and "$ref" not in schema:
        try:
            schemas.check(schemas.validator(schema), schema["default"])
        except ValidationError as problem:
            yield node.lines["default"], f"expected a default that fits its schema, but {_first_line(problem)}"
    properties = node.members.get("properties")
    parts = [*properties.members.values()] if isinstance(properties, Fields) else []
    for part in [*parts, node.members.get("items")]:
        # What refers to the whole can only be understood within it.
        if isinstance(part, Fields) and "$ref" not in str(plain(part)):
            yield from _bad_defaults(part)


def _first_line(problem: ValidationError) -> str:
    return brief(str(problem).partition("\n")[0], 300)
