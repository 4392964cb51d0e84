"""What is taken of a schema that somebody else wrote, and what is said of arguments that do not fit it."""

from typing import Any

import pytest

from pollux.core.errors import ValidationError
from pollux.engine.outside import MOST_VALUES, Outside

TEXT = {"type": "string"}


def of(value: Any, **more: Any) -> Outside:
    return Outside.of({"type": "object", "properties": {"v": value}, **more})


KEPT: list[tuple[Any, Any, Any]] = [
    (TEXT, "x", 1),
    ({"type": ["string", "null"]}, None, 1),
    ({"enum": ["a", 2, {"b": [1]}]}, {"b": [1]}, "b"),
    ({"const": 1.5}, 1.5, 2),
    ({"minimum": 2, "exclusiveMaximum": 4.5}, 4, 5),
    ({"minLength": 2, "maxLength": 3}, "ab", "abcd"),
    ({"minItems": 1, "items": TEXT}, ["a"], [1]),
    ({"items": [TEXT]}, ["a", 1], [1]),
    ({"prefixItems": [TEXT]}, ["a", 1], [1]),
    ({"required": ["a"], "minProperties": 2}, {"a": 1, "b": 1}, {"b": 1}),
    ({"properties": {"a": TEXT}, "additionalProperties": False}, {"a": "x"}, {"b": 1}),
    ({"allOf": [TEXT, {"minLength": 2}]}, "ab", "a"),
    ({"anyOf": [TEXT, {"type": "null"}]}, None, 1),
    ({"oneOf": [TEXT, {"type": "null"}]}, None, 1),
    ({"$ref": "#/$defs/n"}, "x", 1),
]
LEFT_OUT: list[tuple[Any, Any]] = [
    ({"pattern": "^b"}, "a"),
    ({"not": TEXT}, "a"),
    ({"oneOf": [TEXT, {"maxLength": 3}]}, "a"),
    ({"minLength": 1e308}, "a"),
    ({"maximum": -(10**30)}, 1),
    ({"enum": [10**30]}, 1),
    ({"minimum": 3, "exclusiveMinimum": True}, 3),
    ({"items": []}, [1]),
    ({"patternProperties": {"^a": {}}, "additionalProperties": False}, {"a": 1}),
]


@pytest.mark.parametrize(("schema", "fits", "does_not"), KEPT, ids=str)
def test_what_costs_little_is_checked(schema: Any, fits: Any, does_not: Any):
    known = of(schema, **{"$defs": {"n": TEXT}})
    assert known.checked({"v": fits}) == {"v": fits}
    with pytest.raises(ValidationError, match=r"^v"):
        known.checked({"v": does_not})


@pytest.mark.parametrize(("schema", "value"), LEFT_OUT, ids=str)
def test_what_may_cost_much_is_left_to_the_tool(schema: Any, value: Any):
    assert of(schema).checked({"v": value}) == {"v": value}


def nested(levels: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for _ in range(levels):
        found = {"not": found}
    return found


REFUSED: list[tuple[Any, str]] = [
    ({"type": "strange"}, "not JSON Schema"),
    ({"properties": []}, "not JSON Schema"),
    ({"allOf": {}}, "not JSON Schema"),
    ({"anyOf": "x"}, "not JSON Schema"),
    ({"minLength": "x"}, "not JSON Schema"),
    ({"items": "x"}, "not JSON Schema"),
    ({"$id": "x"}, "must have no"),
    ({"$ref": "x"}, "refers to another document"),
    ({"$ref": "#/$defs/none"}, "must name a definition"),
    ({"enum": ["x" * 9_000]}, "is larger than 8192 bytes"),
    ({"minimum": 10**5_000}, "a number that is too long"),
    (nested(20), "deeper than 16 levels"),
    (nested(5_000), "deeper than 16 levels"),
    ({"anyOf": [{"$ref": "#/$defs/many"}] * 10}, "more than 4000 parts"),
]


@pytest.mark.parametrize(("schema", "said"), REFUSED, ids=[f"{said} {n}" for n, (_, said) in enumerate(REFUSED)])
def test_what_is_no_schema_or_too_much_of_one_is_refused_in_words(schema: Any, said: str):
    with pytest.raises(ValidationError, match=said) as refused:
        of(schema, **{"$defs": {"many": {"anyOf": [{}] * 600}}})
    assert len(str(refused.value)) < 1_000


def test_arguments_beyond_all_measure_are_refused_before_anything_looks_at_them():
    with pytest.raises(ValidationError, match="more than 10,000 values"):
        of({}).checked({"v": [0] * MOST_VALUES})
    with pytest.raises(ValidationError, match="too many for so large"):
        of({"items": {"anyOf": [{"title": str(n)} for n in range(200)]}}).checked({"v": [0] * 9_000})
    with pytest.raises(ValidationError, match="at most 65,536 characters"):
        of({"maxLength": 1_000_000}).checked({"v": "x" * 100_000})


def test_of_many_branches_only_that_none_fits_is_said():
    with pytest.raises(ValidationError, match=r"do not fit the tool's inputSchema"):
        of({"items": {"anyOf": [TEXT] * 200}}).checked({"v": [0] * 100})
