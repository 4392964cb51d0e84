"""Schemas that a page brings: none of them stops the server, and none makes it refuse what the schema accepts."""

import random
import sys
import time
from typing import Any

import jsonschema_rs
import pytest
from tests.attack.schema_bombs import BOMBS, tool

from pollux.core.errors import ValidationError
from pollux.core.frozen import frozen
from pollux.core.page import Page
from pollux.core.tools import ToolSpec
from pollux.engine.gate import Toolbox
from pollux.engine.outside import Outside
from pollux.page.declared import declared

AT_ONCE = 0.1
"""Seconds of processor time in which nothing else of the server runs. Without bounds each bomb takes up to ten."""


def test_there_are_more_than_fifty_bombs():
    assert len(BOMBS) > 50


@pytest.mark.parametrize("name", BOMBS)
def test_no_schema_keeps_the_server_from_answering(name: str):
    schema, args = BOMBS[name]
    assert min(_seconds(schema, args) for _ in range(3)) < AT_ONCE


def _seconds(schema: Any, args: dict[str, Any]) -> float:
    """What one tool costs from its declaration to a call of it."""
    tracer = sys.gettrace()
    # Whoever measures coverage traces every line, and it is not the server that takes that time.
    sys.settrace(None)
    try:
        began = time.thread_time()
        for spec in declared([tool(schema)]).tools:
            toolbox = Toolbox().with_page(Page(tools=(spec,)))
            try:
                toolbox.prepare(spec.name, args)
            except ValidationError:
                pass
        return time.thread_time() - began
    finally:
        sys.settrace(tracer)


def test_tools_that_nobody_calls_are_not_compiled():
    spec = ToolSpec("act", "", {"type": "strange"}, where="page")
    toolbox = Toolbox().with_page(Page(tools=(spec,)))
    with pytest.raises(ValidationError, match="not JSON Schema"):
        toolbox.prepare("act", {})


def test_a_page_s_schema_does_not_widen_the_bounds_of_a_call():
    schema = {"type": "object", "properties": {"v": {"type": "string", "maxLength": 10_000_000}}}
    (spec,) = declared([tool(schema)]).tools
    with pytest.raises(ValidationError, match="at most 65,536 characters"):
        Toolbox().with_page(Page(tools=(spec,))).prepare("act", {"v": "x" * 100_000})


def test_what_a_schema_accepts_is_accepted_and_what_is_kept_of_it_is_checked():
    some = random.Random(26)
    seen = _Seen(0, 0)
    for _ in range(4_000):
        schema = {**_schema(some, 3), "$defs": {"n": some.choice([{"type": "object"}, {"minLength": 1}, True])}}
        try:
            ours, theirs = Outside.of(schema).validator, jsonschema_rs.Draft202012Validator(schema)
        except (ValidationError, jsonschema_rs.ValidationError, ValueError):
            continue
        for _ in range(4):
            value = _value(some, 2)
            is_theirs, is_ours = theirs.is_valid(value), ours.is_valid(value)
            assert is_ours or not is_theirs, (schema, value)
            seen = _Seen(seen.accepted + is_theirs, seen.refused + (not is_ours))
    assert min(seen.accepted, seen.refused) > 1_000


@frozen
class _Seen:
    accepted: int
    refused: int


VALUES: tuple[Any, ...] = (
    None,
    True,
    1,
    2,
    1.5,
    -3,
    "",
    "a",
    "bb",
    [],
    [1],
    ["a", 1],
    {},
    {"a": 1},
    {"b": "a"},
    {"a": [1], "b": 2},
)
FIXED: dict[str, Any] = {
    "required": ["a"], "minLength": 1, "maxLength": 1, "minimum": 1.5, "exclusiveMaximum": 2, "minItems": 1,
    "maxProperties": 1, "pattern": "a", "uniqueItems": True, "multipleOf": 2, "$ref": "#/$defs/n",
}  # fmt: skip
MANY = ("allOf", "anyOf", "oneOf", "prefixItems")
NAMED = ("properties", "patternProperties")
ONE = ("additionalProperties", "items", "not", "if", "then", "contains", "propertyNames", "unevaluatedProperties")
TYPES = ("string", "number", "object", "array", ["string", "null"])


def _schema(some: random.Random, depth: int) -> dict[str, Any]:
    def inner() -> Any:
        return _schema(some, depth - 1) if depth and some.random() < 0.9 else some.choice([True, False])

    found: dict[str, Any] = {}
    for name in some.sample(["type", "enum", "const", *FIXED, *MANY, *NAMED, *ONE], some.randrange(1, 5)):
        if name in MANY:
            found[name] = [inner(), inner()]
        elif name in NAMED:
            found[name] = {each: inner() for each in "ab"}
        elif name in ONE:
            found[name] = inner()
        else:
            choice = {"type": some.choice(TYPES), "enum": [_value(some, 2) for _ in range(3)], "const": _value(some, 2)}
            found[name] = FIXED.get(name, choice.get(name))
    return found


def _value(some: random.Random, depth: int) -> Any:
    if not depth or some.random() < 0.6:
        return some.choice(VALUES)
    if some.random() < 0.5:
        return [_value(some, depth - 1) for _ in range(some.randrange(3))]
    return {each: _value(some, depth - 1) for each in some.sample("abc", some.randrange(3))}
