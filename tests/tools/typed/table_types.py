"""The types of the schema tests: each with its schema, values it takes and values it refuses."""

import enum
import re
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import (
    Annotated,
    Any,
    Generic,
    Literal,
    NamedTuple,
    NewType,
    NotRequired,
    Optional,
    Required,
    TypedDict,
    TypeVar,
)

import annotated_types as at
import msgspec
import pydantic
from pydantic import BaseModel, Field
from typing_extensions import TypeAliasType

from pollux.core.messages import JSON

T = TypeVar("T")
UserName = NewType("UserName", str)


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


@dataclass
class Point:
    """A place on the map.

    Attributes:
        x: to the east
    """

    x: int
    y: Annotated[int, "to the north"] = 0


@dataclass
class Tree:
    name: str
    below: "list[Tree]" = field(default_factory=list["Tree"])


class Film(TypedDict):
    title: str
    year: NotRequired[int]


class Options(TypedDict, total=False):
    limit: Required[int]
    sort: str


class Pair(NamedTuple):
    left: int
    right: str = "r"


@dataclass
class Box(Generic[T]):
    it: T


class IntBox(Box[int]):
    pass


class City(BaseModel):
    name: str = Field(description="as on the map", min_length=1)


class Person(BaseModel):
    title: str
    home: City | None = None
    friends: "list[Person]" = []


Number = TypeVar("Number", bound=int)
Word = TypeVar("Word", int, str)
Ids = TypeAliasType("Ids", list[int])
Endless = TypeAliasType("Endless", "list[Endless]")  # pyright: ignore[reportGeneralTypeIssues]


class Crate(msgspec.Struct, Generic[T]):
    it: T


class Plain(msgspec.Struct):
    n: int


@pydantic.dataclasses.dataclass
class Checked:
    n: int = Field(ge=1)


class Row(NamedTuple):
    """A type, what models are told of it, and what may be written for it."""

    hint: Any
    schema: dict[str, JSON]
    good: list[tuple[JSON, Any]]
    bad: list[JSON]


TEXT: dict[str, JSON] = {"type": "string"}
WHOLE: dict[str, JSON] = {"type": "integer"}
NULL: dict[str, JSON] = {"type": "null"}


def text(form: str) -> dict[str, JSON]:
    return {"type": "string", "format": form}


def array(items: JSON, **more: JSON) -> dict[str, JSON]:
    return {"type": "array", "items": items, **more}


def closed(properties: dict[str, JSON], *required: str, **more: JSON) -> dict[str, JSON]:
    needed: dict[str, JSON] = {"required": list(required)} if required else {}
    return {"type": "object", "properties": properties, "additionalProperties": False, **needed, **more}


def ref(name: str) -> dict[str, JSON]:
    return {"$ref": f"#/$defs/{name}"}


POINT = closed(
    {
        "x": {"description": "to the east", "type": "integer"},
        "y": {"description": "to the north", "type": "integer", "default": 0},
    },
    "x",
    description="A place on the map.",
)
TREE = closed({"name": TEXT, "below": array(ref("Tree"), default=[])}, "name")
CITY = closed({"name": {**TEXT, "minLength": 1, "description": "as on the map"}}, "name")
PERSON = closed(
    {
        "title": TEXT,
        "home": {"anyOf": [ref("City"), NULL], "default": None},
        "friends": array(ref("Person"), default=[]),
    },
    "title",
)
NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)

SIMPLE = [
    Row(str, TEXT, [("a", "a")], [1, None, ["a"]]),
    Row(int, WHOLE, [(1, 1), (2.0, 2)], ["1", 1.5, True, None]),
    Row(float, {"type": "number"}, [(1.5, 1.5), (2, 2.0)], ["1", True]),
    Row(bool, {"type": "boolean"}, [(True, True)], [1, "true"]),
    Row(None, NULL, [(None, None)], [0, ""]),
    Row(Any, {}, [({"a": [1]}, {"a": [1]})], []),
    Row(object, {}, [(1, 1)], []),
    Row(bytes, {**TEXT, "contentEncoding": "base64"}, [("YWI=", b"ab")], ["!", 1]),
    Row(date, text("date"), [("2026-01-02", date(2026, 1, 2))], ["2026-13-01", 1]),
    Row(datetime, text("date-time"), [("2026-01-02T12:00:00Z", NOON)], ["soon", 1]),
    Row(time, TEXT, [("03:04:05", time(3, 4, 5))], ["late"]),
    Row(timedelta, text("duration"), [("PT5S", timedelta(seconds=5))], ["5s", 5]),
    Row(uuid.UUID, text("uuid"), [("0" * 32, uuid.UUID(int=0))], ["x"]),
    Row(Decimal, text("decimal"), [("1.50", Decimal("1.50"))], ["x", 1.5]),
    Row(Path, text("path"), [("a/b", Path("a/b"))], [1]),
    Row(UserName, TEXT, [("ada", "ada")], [1]),
    Row(Colour, {**TEXT, "enum": ["blue", "red"]}, [("red", Colour.RED)], ["green", 1]),
    Row(Level, {**WHOLE, "enum": [1, 2]}, [(2, Level.HIGH)], [3, "LOW"]),
    Row(Literal["a", "b"], {**TEXT, "enum": ["a", "b"]}, [("a", "a")], ["c"]),
    Row(Literal[1, "a"], {"enum": [1, "a"]}, [(1, 1)], [2]),
]

NESTED = [
    Row(list[int], array(WHOLE), [([1, 2.0], [1, 2])], [["a"], {}]),
    Row(list, {"type": "array"}, [([1, "a"], [1, "a"])], [1]),
    Row(Sequence[int], array(WHOLE), [([1], [1])], [1]),
    Row(Iterable[int], array(WHOLE), [([1], [1])], [1]),
    Row(set[int], array(WHOLE, uniqueItems=True), [([1, 2], {1, 2})], [[1, 1]]),
    Row(tuple[int, ...], array(WHOLE), [([1, 2], (1, 2))], [["a"]]),
    Row(
        tuple[int, str],
        array(False, prefixItems=[WHOLE, TEXT], minItems=2, maxItems=2),
        [([1, "a"], (1, "a"))],
        [[1], [1, "a", 2]],
    ),
    Row(dict[str, int], {"type": "object", "additionalProperties": WHOLE}, [({"a": 1}, {"a": 1})], [{"a": "b"}]),
    Row(dict[int, str], {"type": "object", "additionalProperties": TEXT}, [({"1": "a"}, {1: "a"})], [{"x": "a"}]),
    Row(Mapping[str, Any], {"type": "object"}, [({"a": None}, {"a": None})], [[]]),
    Row(int | None, {"anyOf": [WHOLE, NULL]}, [(1, 1), (None, None)], ["a"]),
    Row(Optional[str], {"anyOf": [TEXT, NULL]}, [("a", "a")], [1]),  # noqa: UP045
    Row(Number, WHOLE, [(1, 1)], ["a"]),
    Row(Word, {"anyOf": [WHOLE, TEXT]}, [(1, 1)], [None]),
    Row(Ids, array(WHOLE), [([1], [1])], [["a"]]),
    Row(int | str, {"anyOf": [WHOLE, TEXT]}, [(1, 1), ("1", "1")], [1.5, None]),
]

LIMITED = [
    Row(Annotated[int, at.Ge(1), at.Lt(9)], {**WHOLE, "minimum": 1, "exclusiveMaximum": 9}, [(1, 1)], [0, 9]),
    Row(Annotated[int, at.Interval(gt=0, le=5)], {**WHOLE, "exclusiveMinimum": 0, "maximum": 5}, [(5, 5)], [0, 6]),
    Row(Annotated[int, at.MultipleOf(3)], {**WHOLE, "multipleOf": 3}, [(6, 6)], [5]),
    Row(Annotated[str, at.Len(1, 2)], {**TEXT, "minLength": 1, "maxLength": 2}, [("a", "a")], ["", "abc"]),
    Row(Annotated[list[str], at.MinLen(1)], array(TEXT, minItems=1), [(["a"], ["a"])], [[]]),
    Row(Annotated[str, re.compile("^a")], {**TEXT, "pattern": "^a"}, [("ab", "ab")], ["b"]),
    Row(Annotated[int, msgspec.Meta(ge=1, description="n")], {**WHOLE, "minimum": 1, "description": "n"}, [], [0]),
    Row(Annotated[int, object(), "how many"], {**WHOLE, "description": "how many"}, [(1, 1)], []),
    Row(Annotated[int, int, None], WHOLE, [(1, 1)], []),
    Row(Annotated[int, at.doc("how many")], {**WHOLE, "description": "how many"}, [(1, 1)], []),
    Row(
        Annotated[int | None, Field(ge=1, description="how many", examples=[3])],
        {"anyOf": [{**WHOLE, "minimum": 1}, NULL], "description": "how many", "examples": [3]},
        [(1, 1), (None, None)],
        [0],
    ),
    Row(Annotated[str, Field(pattern="^a", strict=True)], {**TEXT, "pattern": "^a"}, [("a", "a")], ["b"]),
    Row(Annotated[str, Field(json_schema_extra={"x-unit": "m"})], {**TEXT, "x-unit": "m"}, [("a", "a")], [1]),
]

CLASSES = [
    Row(Point, POINT, [({"x": 1}, Point(1)), ({"x": 1, "y": 2.0}, Point(1, 2))], [{}, {"x": 1, "z": 2}, {"x": "1"}]),
    Row(
        Tree,
        {**TREE, "$defs": {"Tree": TREE}},
        [({"name": "a", "below": [{"name": "b"}]}, Tree("a", [Tree("b")]))],
        [{"name": "a", "below": [{}]}],
    ),
    Row(
        Film,
        closed({"title": TEXT, "year": WHOLE}, "title"),
        [({"title": "Up"}, {"title": "Up"}), ({"title": "Up", "year": 2009}, {"title": "Up", "year": 2009})],
        [{}, {"title": "Up", "stars": 5}],
    ),
    Row(Options, closed({"limit": WHOLE, "sort": TEXT}, "limit"), [({"limit": 1}, {"limit": 1})], [{"sort": "a"}]),
    Row(
        Pair,
        {"type": "array", "prefixItems": [WHOLE, TEXT], "minItems": 1, "maxItems": 2},
        [([1], Pair(1)), ([1, "a"], Pair(1, "a"))],
        [[], ["a"], [1, "a", 2]],
    ),
    Row(Box[str], closed({"it": TEXT}, "it"), [({"it": "a"}, Box("a"))], [{"it": 1}]),
    Row(IntBox, closed({"it": WHOLE}, "it"), [({"it": 1}, IntBox(1))], [{"it": "a"}]),
    Row(
        list[Point | str],
        array({"anyOf": [TEXT, ref("Point")]}, **{"$defs": {"Point": POINT}}),
        [(["a", {"x": 1}], ["a", Point(1)])],
        [[1]],
    ),
    Row(
        dict[str, Point],
        {"type": "object", "additionalProperties": ref("Point"), "$defs": {"Point": POINT}},
        [({"a": {"x": 1}}, {"a": Point(1)})],
        [{"a": {}}],
    ),
    Row(City, CITY, [({"name": "Rome"}, City(name="Rome"))], [{}, {"name": ""}, {"name": 1}, {"name": "Rome", "x": 1}]),
    Row(
        Person,
        {**PERSON, "$defs": {"City": CITY, "Person": PERSON}},
        [({"title": "Dr", "friends": [{"title": "Mr"}]}, Person(title="Dr", friends=[Person(title="Mr")]))],
        [{"title": "Dr", "friends": [{}]}, {"title": "Dr", "home": {"name": "Rome", "x": 1}}],
    ),
    Row(list[City], array(ref("City"), **{"$defs": {"City": CITY}}), [([{"name": "a"}], [City(name="a")])], [[{}]]),
    Row(Crate[int], closed({"it": WHOLE}, "it"), [({"it": 1}, Crate(1))], [{"it": "a"}]),
    Row(Plain, closed({"n": WHOLE}, "n"), [({"n": 1}, Plain(1))], [{}, {"n": 1, "m": 2}]),
    Row(Checked, closed({"n": WHOLE}), [({"n": 1}, Checked(n=1))], [{"n": 0}, {}]),
]

ROWS = [*SIMPLE, *NESTED, *LIMITED, *CLASSES]
