"""What a page can declare to make a server work: schemas that cost more than they say, with arguments to match."""

from collections.abc import Iterator
from functools import reduce
from typing import Any

Schema = dict[str, Any]
Bomb = tuple[Schema, dict[str, Any]]

LONG = "a" * 60_000 + "!"
WIDE = "ü" * 60_000


def _with(value: Schema, given: Any) -> Bomb:
    """The schema of one property, and its value."""
    return {"type": "object", "properties": {"v": value}}, {"v": given}


def _nested(key: str, levels: int, inner: Any, *, twice: bool = False) -> Any:
    def around(within: Any, _: int) -> Any:
        return {key: [within, within]} if twice else {key: [within]} if key.endswith("Of") else {key: within}

    return reduce(around, range(levels), inner)


def _some(*branches: Any) -> Schema:
    return {"items": {"anyOf": [*branches, True]}}


def _defined(target: Any, value: Schema, given: Any, place: str = "$defs") -> Bomb:
    schema, args = _with(value, given)
    return {**schema, place: {"n": target}}, args


PATTERNS = {
    "repetitions of repetitions": "((a{1,60}){1,60}){1,60}",
    "a star of a plus": "(a+)+$",
    "alternatives that overlap": "(a|aa|aaa)+$",
    "twenty stars": "(.*a){20}$",
    "every letter, a thousand times": r"\p{L}{1,1000}",
    "every word, ignoring case": r"(?i)(?u)[\w\p{L}]{1,500}",
    "look ahead": "(?=(a+))a*b",
    "look behind": "(?<=a{1,200})b",
    "a group again": r"(a*)\1\1b",
    "seven thousand alternatives": "|".join(chr(0x4E00 + n) + "x" for n in range(1_200)),
    "a long one": "a?" * 2_000 + "a" * 2_000,
    "not closed": "(" * 4_000,
}


def _patterns() -> Iterator[tuple[str, Bomb]]:
    for name, pattern in PATTERNS.items():
        yield f"pattern: {name}", _with({"type": "string", "pattern": pattern}, LONG)
    letters = {f"p{n}": {"pattern": rf"\p{{L}}{{1,200}}{n}"} for n in range(60)}
    yield "sixty patterns", ({"type": "object", "properties": letters}, {"p0": LONG})
    named: Schema = {rf"^\p{{L}}{{1,200}}{n}": {} for n in range(60)}
    yield "patterns of names", _with({"patternProperties": named}, {f"k{n}": 1 for n in range(3_000)})
    names = {"propertyNames": {"pattern": r"(\w{1,100}){1,50}$"}}
    yield "a pattern for every name", _with(names, {"k" * 50 + str(n): 1 for n in range(3_000)})
    yield "a pattern for ten thousand texts", _with({"items": {"pattern": r"(\w+\s?)+$"}}, ["a" * 90] * 9_000)
    yield (
        "a pattern behind references",
        _defined({"pattern": r"\p{L}{1,300}"}, {"anyOf": [{"$ref": "#/$defs/n"}] * 150}, LONG),
    )
    yield "a pattern that something must match", _with({"contains": {"pattern": r"(a|a?)+b"}}, ["a" * 50] * 5_000)
    yield "a pattern in a condition", _with({"if": {"pattern": "(x+x+)+y"}, "then": False}, "x" * 60_000)
    yield (
        "formats",
        _with(
            {"allOf": [{"format": name} for name in ("regex", "idn-email", "uri", "iri", "hostname", "uuid") * 40]},
            LONG,
        ),
    )


def _nestings() -> Iterator[tuple[str, Bomb]]:
    for key in ("allOf", "anyOf", "oneOf"):
        yield f"{key}, both halves, six deep", _with(_nested(key, 6, {"type": "integer"}, twice=True), "x")
        yield f"{key}, a chain", _with(_nested(key, 6, {"type": "integer"}), "x")
        yield (
            f"{key}, wide",
            _with({"items": {key: [{"type": "string", "title": str(n)} for n in range(200)]}}, [1] * 9_000),
        )
    yield "not, a chain", _with(_nested("not", 12, {"type": "integer"}), "x")
    conditions = reduce(lambda inner, _: {"if": inner, "then": inner, "else": inner}, range(4), {"minimum": 1})
    yield "conditions of conditions", _with({"items": conditions}, [1] * 9_000)
    yield "items of items", _with(_nested("items", 12, {"type": "string"}), reduce(lambda x, _: [x], range(13), 1))
    yield "properties of properties", _with(_nested("additionalProperties", 12, {"type": "string"}), {"a": 1})
    yield "deeper than allowed", _with(reduce(lambda x, _: {"properties": {"a": x}}, range(25), {}), {})
    yield (
        "prefix items",
        _with(_some(*[{"prefixItems": [True] * 20 + [False], "title": str(n)} for n in range(50)]), [[1] * 21] * 400),
    )


def _references() -> Iterator[tuple[str, Bomb]]:
    never = {"anyOf": [False] * 680}
    yield "references to many", _defined(never, {"items": {"anyOf": [{"$ref": "#/$defs/n"}] * 150}}, [1] * 20)
    yield (
        "references of older drafts",
        _defined(never, {"items": {"anyOf": [{"$ref": "#/definitions/n"}] * 150}}, [1] * 20, "definitions"),
    )
    yield "a reference to itself", _defined({"$ref": "#/$defs/n"}, {"$ref": "#/$defs/n"}, 1)
    yield "a reference to the whole", _with({"$ref": "#"}, {"v": {"v": {"v": 1}}})
    turning = {"a": {"items": {"$ref": "#/$defs/b"}}, "b": {"items": {"$ref": "#/$defs/a"}}}
    yield "references in a circle", ({"type": "object", "$defs": turning, "$ref": "#/$defs/a"}, {"v": 1})
    doubling = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(40)}
    yield "references that double", ({"type": "object", "$defs": doubling, "$ref": "#/$defs/d0"}, {"v": 1})
    yield "dynamic references", _defined({"$dynamicAnchor": "n"}, {"$dynamicRef": "#n"}, 1)
    yield "a reference elsewhere", _with({"$ref": "https://evil.example/bomb.json"}, 1)
    yield "a reference to a file", _with({"$ref": "file:///dev/zero"}, 1)
    yield "another base", ({"type": "object", "$id": "https://evil.example/", "$ref": "x"}, {"v": 1})
    yield "another draft", ({"type": "object", "$schema": "https://evil.example/draft", "$vocabulary": {}}, {"v": 1})
    yield "an old draft", ({"type": "object", "$schema": "http://json-schema.org/draft-04/schema#", "id": "#x"}, {})


def _values() -> Iterator[tuple[str, Bomb]]:
    many = list(range(9_000))
    yield "numbers that are no multiples", _with({"items": {"multipleOf": 1e-300}}, [n + 0.1 for n in many])
    yield "a length of 1e308", _with({"minLength": 1e308, "maxLength": 1e308}, LONG)
    yield "bounds of 400 digits", _with({"items": {"minimum": -(10**400), "maximum": 10**400}}, many)
    yield "fractions as bounds", _with(_some(*[{"minimum": 9_000.5 + n} for n in range(300)]), many)
    yield "fractions to choose from", _with(_some(*[{"enum": [n + 0.5, "x"]} for n in range(250)]), many)
    yield "whole numbers to choose from", _with(_some(*[{"const": n} for n in range(300)]), [n + 0.5 for n in many])
    yield "huge numbers to choose from", _with(_some(*[{"enum": [10**30 + n]} for n in range(130)]), many)
    yield (
        "lists of numbers to be",
        _with(_some(*[{"const": [9_007_199_254_740_000 + n]} for n in range(150)]), [[n] for n in range(4_000)]),
    )
    yield (
        "objects to be",
        _with(_some(*[{"const": {"a": {"b": str(n)}}} for n in range(200)]), [{"a": {"b": "x"}}] * 3_000),
    )
    yield "nine hundred choices", _with({"items": {"enum": [str(n) for n in range(900)]}}, ["x"] * 9_000)
    yield (
        "six hundred objects to choose from",
        _with({"items": {"enum": [{"a": n} for n in range(600)]}}, [{"a": "z"}] * 4_000),
    )
    yield "unlike each other", _with({"uniqueItems": True}, [{"a": [n, {"b": n}]} for n in range(2_400)])
    yield (
        "something in it",
        _with({"contains": {"enum": [str(n) for n in range(800)]}, "minContains": 9_000}, ["x"] * 9_000),
    )
    yield (
        "nothing else in it",
        _with(
            {"anyOf": [{"properties": {f"p{n}": True}} for n in range(200)], "unevaluatedProperties": False},
            {f"p{n}": 1 for n in range(9_000)},
        ),
    )
    yield "no items else", _with({"anyOf": [{"prefixItems": [True] * 9}] * 90, "unevaluatedItems": False}, many)
    yield (
        "five hundred needs",
        _with({"dependentRequired": {f"p{n}": ["q"] for n in range(400)}}, {f"p{n}": 1 for n in range(400)}),
    )
    yield (
        "a thousand that must be there",
        _with({"required": [f"p{n}" for n in range(800)]}, {f"p{n}": 1 for n in range(799)}),
    )
    yield (
        "names of nothing",
        _with(_some(*[{"additionalProperties": False, "title": str(n)} for n in range(150)]), [{"a": 1}] * 4_000),
    )
    yield "the length of wide letters", _with({"allOf": [{"minLength": 50_000 + n} for n in range(250)]}, WIDE)
    yield (
        "a text in texts",
        _with({"contentMediaType": "application/json", "contentSchema": {"enum": ["x"] * 900}}, "[" * 60_000),
    )
    yield "arguments of many values", _with({"items": {"anyOf": [*[False] * 1_000, True]}}, [1] * 200_000)
    yield "every branch is told", _with({"items": {"anyOf": [{"type": "string"}] * 400}}, [1] * 50)


BOMBS: dict[str, Bomb] = dict((*_patterns(), *_nestings(), *_references(), *_values()))


def tool(schema: Any, name: str = "act", description: str = "Act.") -> dict[str, Any]:
    """The schema in a tool as pages declare it."""
    return {"name": name, "description": description, "inputSchema": schema, "category": "page-automation"}
