"""Values made for a schema satisfy it, whatever the schema and whatever the prompt."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pollux.emulator.planner import clues, generic, values
from pollux.emulator.schemas import satisfies

TREE: dict[str, Any] = {
    "$ref": "#/$defs/Node",
    "$defs": {
        "Node": {
            "type": "object",
            "properties": {
                "value": {"type": "string"},
                "children": {"type": "array", "items": {"$ref": "#/$defs/Node"}, "default": []},
            },
            "required": ["value"],
        }
    },
}
SCHEMAS: list[dict[str, Any]] = [
    TREE,
    {"type": "integer", "minimum": 10, "maximum": 20, "multipleOf": 3},
    {"type": "number", "exclusiveMinimum": 1, "exclusiveMaximum": 3},
    {"type": "string", "minLength": 30},
    {"type": "string", "maxLength": 2},
    {"type": "string", "pattern": "^[A-Z]{3}-\\d{4}$"},
    {"enum": ["x", "y"]},
    {"const": {"a": 1}},
    {"anyOf": [{"type": "null"}, {"type": "integer"}]},
    {"oneOf": [{"type": "integer"}, {"type": "string"}]},
    {"allOf": [{"required": ["a"], "properties": {"a": {"type": "integer"}}}, {"required": ["b"]}], "type": "object"},
    {"type": ["string", "null"]},
    {"type": "array", "items": {"type": "integer"}, "minItems": 3, "uniqueItems": True},
    {"type": "array", "items": {"enum": ["a", "b", "c"]}, "minItems": 2, "uniqueItems": True},
    {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}], "minItems": 2},
    {"type": "object", "additionalProperties": {"type": "integer"}, "minProperties": 2},
    {"type": "object", "required": ["free"]},
    {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"], "additionalProperties": False},
    {},
]
PROMPTS = ["", "make 5 and 900 of them", 'call it "a rather long quoted title" please', "in Paris for bob@example.com"]


@pytest.mark.parametrize("schema", SCHEMAS, ids=str)
def test_a_value_from_the_schema_alone_satisfies_it(schema: dict[str, Any]):
    assert satisfies(generic.value(schema), schema)


@pytest.mark.parametrize("prompt", PROMPTS)
@pytest.mark.parametrize("schema", SCHEMAS, ids=str)
def test_a_value_from_a_prompt_satisfies_the_schema(schema: dict[str, Any], prompt: str):
    assert satisfies(values.fill(schema, clues.read(prompt)), schema)


SIMPLE: list[dict[str, Any]] = [{"type": kind} for kind in ("string", "integer", "number", "boolean", "null")]
Schemas = st.SearchStrategy[dict[str, Any]]


def array_of(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


def object_of(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": sorted(properties)}


def any_of(branches: list[dict[str, Any]]) -> dict[str, Any]:
    return {"anyOf": branches}


def nested(below: Schemas) -> Schemas:
    names = st.sampled_from(["path", "to", "count", "body", "flag"])
    return st.one_of(
        below.map(array_of),
        st.dictionaries(names, below, max_size=3).map(object_of),
        st.lists(below, min_size=1, max_size=2).map(any_of),
    )


NESTED = st.recursive(st.sampled_from([*SIMPLE, {"enum": ["p", "q"]}, {"const": 3}]), nested, max_leaves=6)


@settings(max_examples=80, deadline=None)
@given(schema=NESTED, prompt=st.text(max_size=60))
def test_any_schema_and_any_prompt_make_a_value_that_fits(schema: dict[str, Any], prompt: str):
    assert satisfies(values.fill(schema, clues.read(prompt)), schema)
