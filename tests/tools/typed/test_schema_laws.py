"""Laws of the schema, at random: over types that are put together by chance, and values of them."""

import dataclasses
import enum
import uuid
from collections.abc import Callable
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal, NotRequired, TypedDict, cast

import annotated_types as at
import jsonschema_rs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from pollux.core.errors import ValidationError
from pollux.core.messages import JSON
from pollux.tools.typed.schema import as_json, shape_of

THOROUGH = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
SAFE = 2**53 - 1


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class City(BaseModel):
    name: str
    twins: list["City"] = []


Typed = tuple[Any, st.SearchStrategy[Any]]
"""A type, and values of it."""

texts = st.text(st.characters(codec="utf-8", categories=["L", "N", "P", "Zs"]), max_size=5).map(
    lambda text: text.encode().decode()
)
# As the engine has them: every text in its composed form.
nfc = texts.filter(lambda text: as_json(text) == text)
whole = st.integers(-SAFE, SAFE)

leaves: list[Typed] = [
    (str, nfc),
    (int, whole),
    (bool, st.booleans()),
    (float, st.floats(-1e15, 1e15)),
    (bytes, st.binary(max_size=8)),
    (date, st.dates()),
    (datetime, st.datetimes()),
    (timedelta, st.timedeltas(timedelta(-999), timedelta(999))),
    (uuid.UUID, st.uuids()),
    (Decimal, st.decimals(allow_nan=False, allow_infinity=False, places=3)),
    (Path, st.sampled_from([Path("a"), Path("a/b")])),
    (Colour, st.sampled_from(Colour)),
    (Literal["a", 1], st.sampled_from(["a", 1])),
    (Annotated[int, at.Interval(ge=0, lt=9)], st.integers(0, 8)),
    (Annotated[str, at.MaxLen(5), "short"], nfc),
    (City, st.builds(City, name=nfc, twins=st.lists(st.builds(City, name=nfc), max_size=1))),
    (int | str | None, st.none() | whole | nfc),
]


def lists(inner: Typed) -> Typed:
    return list[inner[0]], st.lists(inner[1], max_size=3)


def optional(inner: Typed) -> Typed:
    return inner[0] | None, st.none() | inner[1]


def mappings(inner: Typed) -> Typed:
    return dict[str, inner[0]], st.dictionaries(nfc, inner[1], max_size=3)


def numbered(inner: Typed) -> Typed:
    return dict[int, inner[0]], st.dictionaries(whole, inner[1], max_size=3)


def rows(inner: Typed) -> Typed:
    return tuple[inner[0], int], st.tuples(inner[1], whole)


def records(inner: Typed) -> Typed:
    fields: Any = [("one", inner[0]), ("many", list[inner[0]], dataclasses.field(default_factory=list[Any]))]
    made: Any = dataclasses.make_dataclass("Made", fields)
    return made, st.builds(made, one=inner[1], many=st.lists(inner[1], max_size=2))


def dicts(inner: Typed) -> Typed:
    make: Any = TypedDict
    made = make("Made", {"from": inner[0], "to-be": NotRequired[inner[0]]})
    return made, st.fixed_dictionaries({"from": inner[1]}, optional={"to-be": inner[1]})


LAYERS: list[Callable[[Typed], Typed]] = [lists, optional, mappings, numbered, rows, records, dicts]


@st.composite
def typed_values(draw: st.DrawFn) -> tuple[Any, Any]:
    """A type of some depth, and a value of it."""
    typed = draw(st.sampled_from(leaves))
    for layer in draw(st.lists(st.sampled_from(LAYERS), max_size=3)):
        typed = layer(typed)
    return typed[0], draw(typed[1])


likely = st.sampled_from(["a", "red", "2026-01-02", "YWI=", "1"])
keys = st.sampled_from(["one", "many", "from", "to-be", "name", "1"]) | nfc
json_values = st.recursive(
    st.none() | st.booleans() | whole | st.floats(-1e9, 1e9) | nfc | likely,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
    max_leaves=8,
)


@THOROUGH
@given(typed_values())
def test_every_value_is_written_as_its_schema_says_and_read_back_the_same(typed: tuple[Any, Any]):
    hint, value = typed
    shape = shape_of(hint)
    written = as_json(value)
    assert jsonschema_rs.is_valid(shape.schema, written)
    assert shape.convert(written) == value
    assert as_json(shape.convert(written)) == written


@THOROUGH
@given(typed_values(), json_values)
def test_whatever_is_read_the_schema_takes_too(typed: tuple[Any, Any], value: JSON):
    shape = shape_of(typed[0])
    try:
        shape.convert(value)
    except ValidationError:
        return
    assert jsonschema_rs.is_valid(shape.schema, value)


@THOROUGH
@given(typed_values(), st.data())
def test_a_value_with_one_member_too_many_is_refused(typed: tuple[Any, Any], data: st.DataObject):
    hint, value = records((typed[0], st.just(typed[1])))
    written = as_json(data.draw(value))
    cast("dict[str, JSON]", written)["more"] = None
    with pytest.raises(ValidationError, match="member that is not expected"):
        shape_of(hint).convert(written)
