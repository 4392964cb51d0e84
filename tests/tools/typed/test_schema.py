"""Types as models see them: the schema, the values it takes, and the values it refuses."""

import collections
import dataclasses
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal

import annotated_types as at
import jsonschema_rs
import pydantic
import pytest
from pydantic import BaseModel, Field
from tests.tools.typed.table_types import NULL, ROWS, TEXT, WHOLE, City, Colour, Endless, Person, Point, Row, Tree

from pollux.core.errors import ValidationError
from pollux.core.messages import JSON
from pollux.tools.typed.schema import as_json, shape_of


@dataclass
class Early:
    n: dataclasses.InitVar[int]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: re.sub(r" at 0x\w+", "", str(row.hint)))
def test_a_type_has_a_schema_that_takes_its_values_and_no_others(row: Row):
    shape = shape_of(row.hint)
    assert shape.schema == row.schema
    for value, expected in row.good:
        jsonschema_rs.validate(shape.schema, value)
        found = shape.convert(value)
        assert found == expected and type(found) is type(expected)
        assert shape.convert(as_json(found)) == expected
    for value in row.bad:
        with pytest.raises(ValidationError):
            shape.convert(value)


@pytest.mark.parametrize(
    ("hint", "words"),
    [
        (Callable[[], int], "no JSON form"),
        (complex, "complex has no JSON form"),
        (collections.deque[int], "no JSON form"),
        (type[int], "no JSON form"),
        (list[complex], "complex has no JSON form"),
        (Point | Tree, "Point and Tree cannot be told apart"),
        (str | bytes, "more than one str-like type"),
        (Path | int, "other than `None`"),
        (Annotated[str, at.Ge(1)], "Can only set `ge` on a numeric type"),
        (Annotated[str, at.Predicate(str.islower)], r"Predicate\(func\) cannot be kept"),
        (Annotated[str, pydantic.AfterValidator(len)], r"AfterValidator\(func\) cannot be kept"),
        (Annotated[str, pydantic.StringConstraints(to_lower=True)], r"\(to_lower\) cannot be kept"),
        (Annotated[int, Field(default=3)], "write the default into the signature"),
        (Annotated[int, Field(alias="n")], "alias"),
        (Annotated[str, Field(pattern="(")], "pattern='\\(' cannot be kept"),
        (Annotated[str, Field(pattern="(a)?(?(1)b|c)")], "not JSON Schema"),
        (Annotated[date, at.Ge(date(2026, 1, 1))], "ge=.* cannot be kept"),
        (Early, "class Early: InitVar has no place in a schema"),
        ("Nowhere", "Nowhere in an annotation cannot be found"),
    ],
)
def test_a_type_without_a_json_form_is_refused_with_what_to_do(hint: Any, words: str):
    with pytest.raises(ValidationError, match=words):
        shape_of(hint)


REFUSALS: list[tuple[Any, JSON, str]] = [
    (list[Point], [{"x": 1}, {"x": "a"}], r"\[1\].x: expected int, got str"),
    (Point, {"x": 1, "z": 1}, "member that is not expected"),
    (Tree, {"name": "a", "below": [{"name": "b", "below": 1}]}, r"below\[0\].below: expected array, got int"),
    (
        Person,
        {"friends": [{"home": {}}]},
        "title: Field required; friends.0.title: Field required; friends.0.home.name",
    ),
    (list[Person], [{"title": 1}], r"\[0\]: title: Input should be a valid string"),
    (Person, {"title": "a", "home": {"name": "a", "x": 1}}, "home: .*member that is not expected"),
    (int, {1: 2}, "Expected int, got object"),
    (Any, {1: 2}, "expected JSON"),
]


@pytest.mark.parametrize(("hint", "value", "words"), REFUSALS)
def test_a_refusal_says_where_and_why(hint: Any, value: JSON, words: str):
    with pytest.raises(ValidationError, match=words) as caught:
        shape_of(hint).convert(value)
    assert "\n" not in str(caught.value)


def test_what_a_class_refuses_by_itself_is_a_refusal_with_its_place():
    @dataclass
    class Span:
        start: int
        end: int

        def __post_init__(self) -> None:
            if self.end < self.start:
                raise ValueError("it ends before it begins")

    with pytest.raises(ValidationError, match=r"^\[1\]: it ends before it begins$"):
        shape_of(list[Span]).convert([{"start": 1, "end": 2}, {"start": 2, "end": 1}])


def test_a_class_is_made_by_calling_it_so_that_its_own_defaults_count():
    made: list[int] = []

    def next_number() -> int:
        made.append(len(made))
        return made[-1]

    @dataclass(frozen=True, slots=True)
    class Ticket:
        owner: str
        number: int = field(default_factory=next_number)
        seen: bool = field(default=False, init=False)

    shape = shape_of(Ticket)
    assert made == []
    assert shape.schema["properties"] == {"owner": TEXT, "number": WHOLE}
    assert [shape.convert({"owner": "ada"}).number for _ in range(2)] == [0, 1]
    with pytest.raises(ValidationError, match="member that is not expected"):
        shape.convert({"owner": "ada", "seen": True})


def test_defaults_without_a_json_form_are_not_told():
    @dataclass
    class Odd:
        endless: float = float("inf")
        wrong: int = "x"  # pyright: ignore[reportAssignmentType]
        nothing: Annotated[str, "a word"] = None  # pyright: ignore[reportAssignmentType]
        anything: Any = date(2026, 1, 2)
        place: Path = Path("a")
        point: Point = field(default_factory=lambda: Point(1))

    told = shape_of(Odd).schema["properties"]
    assert {name: said.get("default", "untold") for name, said in told.items()} == {
        "endless": "untold",
        "wrong": "untold",
        "nothing": None,
        "anything": "untold",
        "place": "a",
        "point": "untold",
    }
    assert told["nothing"]["anyOf"] == [TEXT, NULL]
    assert shape_of(Odd).convert({"nothing": None}).nothing is None


def test_classes_of_one_name_keep_apart():
    def point(hint: Any) -> Any:
        return dataclasses.make_dataclass("Point", [("at", hint)])

    def city(hint: Any) -> Any:
        return pydantic.create_model("City", at=(hint, ...))

    hints = {"a": Point, "b": point(str), "c": point(int), "d": City, "e": city(str), "f": City | None}
    shape = shape_of(dataclasses.make_dataclass("All", list(hints.items())))
    assert sorted(shape.schema["$defs"]) == ["City", "City_2", "Point", "Point_2", "Point_3"]
    given = {"a": {"x": 1}, "b": {"at": "x"}, "c": {"at": 1}, "d": {"name": "x"}, "e": {"at": "x"}, "f": {"name": "x"}}
    found = shape.convert(given)
    assert (found.a, found.b.at, found.c.at, found.d, found.e.at, found.f) == (
        Point(1), "x", 1, City(name="x"), "x", City(name="x"),
    )  # fmt: skip


def test_quoted_names_are_found_where_the_caller_says():
    @dataclass
    class Leaf:
        twin: "Leaf | None" = None

    @dataclass
    class Branch:
        leaves: "list[Leaf]"

    assert shape_of(Leaf).convert({"twin": {}}) == Leaf(Leaf())
    assert shape_of(Branch, names={"Leaf": Leaf}).convert({"leaves": [{}]}) == Branch([Leaf()])
    with pytest.raises(ValidationError, match="class Branch: Leaf in an annotation cannot be found"):
        shape_of(Branch)


def test_an_alias_that_holds_itself_is_refused():
    with pytest.raises(ValidationError, match="the type Endless holds itself; make it a dataclass"):
        shape_of(Endless, names={"Endless": Endless})


def test_a_limit_deep_inside_is_kept():
    @dataclass
    class Order:
        counts: dict[str, list[Annotated[int, at.Ge(1)]]]

    with pytest.raises(ValidationError, match=r"counts\[.*\]\[1\]: expected int >= 1"):
        shape_of(list[Order]).convert([{"counts": {"a": [1, 0]}}])


def test_a_strict_model_takes_what_json_can_write():
    class Strict(BaseModel):
        model_config = pydantic.ConfigDict(strict=True)
        day: date
        colours: set[Colour]

    found = shape_of(Strict).convert({"day": "2026-01-02", "colours": ["red"]})
    assert found == Strict(day=date(2026, 1, 2), colours={Colour.RED})


def test_a_model_that_takes_anything_more_still_does():
    class Loose(BaseModel):
        model_config = pydantic.ConfigDict(extra="allow")
        n: int

    assert shape_of(Loose).schema["additionalProperties"] is True
    assert shape_of(Loose).convert({"n": 1, "m": 2}).model_extra == {"m": 2}


def test_models_told_apart_by_a_member_stay_so():
    class Cat(BaseModel):
        kind: Literal["cat"]

    class Dog(BaseModel):
        kind: Literal["dog"]

    class Owner(BaseModel):
        pet: Annotated[Cat | Dog, Field(discriminator="kind")]

    shape = shape_of(Owner)
    assert shape.schema["properties"]["pet"] == {"oneOf": [{"$ref": "#/$defs/Cat"}, {"$ref": "#/$defs/Dog"}]}
    assert shape.convert({"pet": {"kind": "dog"}}) == Owner(pet=Dog(kind="dog"))


def test_what_is_nested_without_end_is_refused():
    deep: JSON = {"name": "a"}
    for _ in range(5_000):
        deep = {"name": "a", "below": [deep]}
    with pytest.raises(ValidationError, match="nested too deeply"):
        shape_of(Tree).convert(deep)


def test_a_set_of_what_cannot_be_in_one_is_refused():
    with pytest.raises(ValidationError, match="unhashable"):
        shape_of(set[Tree]).convert([{"name": "a"}])


def test_every_schema_is_plain_json():
    for row in ROWS:
        assert json.loads(json.dumps(shape_of(row.hint).schema)) == shape_of(row.hint).schema


def test_what_cannot_be_written_is_refused():
    for odd in (object(), float("nan"), 2**60, complex(1, 2)):
        with pytest.raises(ValidationError):
            as_json(odd)
