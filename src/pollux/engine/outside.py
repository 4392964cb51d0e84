"""Schemas that somebody else wrote: a page now, another program later. One function takes them in: `Outside.of`.

`jsonschema_rs` holds the interpreter's lock while it compiles and while it validates, so a thread does not help: 40
patterns in 2 KB stopped every thread for 1.6 seconds, and an `enum` of numbers held against 10,000 values for nine.
Therefore only a relaxed copy is compiled here. It keeps the keywords whose cost is known and leaves out every other
one: patterns, formats, `not`, `if`, `contains`, `uniqueItems`, `multipleOf`, `unevaluated…`, `dependent…`. The copy
accepts whatever the schema accepts. The tool itself, and the model, get the schema as it was written.

What that costs at worst, on 2 cores, Linux, Python 3.11: 2 ms to compile, 15 ms to validate.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Final, cast

import jsonschema_rs

from pollux.core.canonical import normal, require_bounded, require_few
from pollux.core.errors import ValidationError
from pollux.core.frozen import frozen
from pollux.core.messages import JSON
from pollux.engine import schemas

LARGEST: Final = 8 << 10
"""Bytes of a schema as JSON."""
DEEPEST: Final = 16
MOST_PARTS: Final = 4_000
"""Parts of the copy, with its references written out."""
MOST_VALUES: Final = 10_000
"""Values in the arguments of one call."""
MOST_WORK: Final = 1_000_000
"""Cost of the schema times values in the arguments: some 15 ns each."""
MOST_TOLD: Final = 2_500
"""Parts times values up to which it is said what does not fit: some 4 µs each, as every branch is told."""

_NUMBER: Final = 200
"""What a number costs in parts: it is compared exactly, with fractions of any length."""
_SAFE: Final = 2**53
_PLAIN_REFERENCE: Final = re.compile(r"#/(\$defs|definitions)/([A-Za-z0-9_.-]+)")
_REFERENCES: Final = ("$ref", "$dynamicRef", "$recursiveRef")
_PLAIN: Final = ("type", "required")
_BOUNDS: Final = (
    *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength"),
    *("minItems", "maxItems", "minProperties", "maxProperties"),
)


@frozen
class Outside:
    """A schema from outside, as far as values are held against it here."""

    validator: jsonschema_rs.Validator
    parts: int
    cost: int

    @classmethod
    def of(cls, schema: Mapping[str, JSON]) -> "Outside":
        """Raises ValidationError for a schema that is too large, refers elsewhere, or is none."""
        _require_plain(schema)
        relaxing = _Relaxing(schema)
        relaxed = cast("Mapping[str, JSON]", relaxing.relaxed(schema))
        return cls(schemas.validator(relaxed), relaxing.parts, relaxing.cost)

    def checked(self, args: dict[str, JSON]) -> dict[str, JSON]:
        """The arguments in canonical form. Raises ValidationError as `check` does, and beyond the bounds of a call."""
        require_few(args, most=MOST_VALUES)
        normalised = cast("dict[str, JSON]", normal(args))
        # A schema from outside widens none of them.
        require_bounded(normalised, {})
        self.check(normalised)
        return normalised

    def check(self, args: Mapping[str, JSON]) -> None:
        """Raises ValidationError for arguments that do not fit, or that are too many to look at."""
        values = require_few(args, most=MOST_VALUES)
        if self.cost * values > MOST_WORK:
            raise ValidationError("the arguments are too many for so large an inputSchema; give fewer")
        if self.validator.is_valid(args):
            return
        if self.parts * values > MOST_TOLD:
            raise ValidationError("the arguments do not fit the tool's inputSchema")
        schemas.check(self.validator, cast("JSON", args))


def _require_plain(schema: Mapping[str, JSON]) -> None:
    try:
        size = len(json.dumps(schema, separators=(",", ":"), default=dict))
    except RecursionError:
        raise ValidationError(f"its inputSchema nests deeper than {DEEPEST} levels") from None
    except ValueError:
        raise ValidationError("its inputSchema holds a number that is too long") from None
    if size > LARGEST:
        raise ValidationError(f"its inputSchema is larger than {LARGEST} bytes")
    known: set[str] = set()
    for depth, key, value in _walk(schema, 1):
        if depth > DEEPEST:
            raise ValidationError(f"its inputSchema nests deeper than {DEEPEST} levels")
        if key in _REFERENCES and not (key == "$ref" and isinstance(value, str) and value in known):
            known.add(_required_reference(schema, key, value))
        if key in ("$id", "id") and isinstance(value, str):
            # Inside of it, references would lead elsewhere than they seem to.
            raise ValidationError("its inputSchema must have no $id")


def _required_reference(schema: Mapping[str, JSON], key: str, reference: JSON) -> str:
    """One step to a definition, and no further: a page could double the work with every step, or go round for ever."""
    if not isinstance(reference, str) or not reference.startswith("#"):
        raise ValidationError("its inputSchema refers to another document; put what it needs under $defs")
    target = _target(schema, reference)
    if key != "$ref" or target is None or any(inner in _REFERENCES for _, inner, _ in _walk(target, 1)):
        raise ValidationError(f"{reference[:80]!r} in its inputSchema must name a definition that refers to no other")
    return reference


def _target(schema: Mapping[str, JSON], reference: str) -> JSON:
    place = _PLAIN_REFERENCE.fullmatch(reference)
    known = schema.get(place[1]) if place else None
    return cast("Mapping[str, JSON]", known).get(place[2]) if place and isinstance(known, Mapping) else None


def _walk(value: JSON | Mapping[str, JSON], depth: int) -> Iterator[tuple[int, str, JSON]]:
    """Every member of every object in it, with how deep it lies. Stops where it is too deep."""
    pairs: list[tuple[str, JSON]] = []
    if isinstance(value, Mapping):
        pairs = list(cast("Mapping[str, JSON]", value).items())
    elif isinstance(value, list):
        pairs = [("", item) for item in cast("list[JSON]", value)]
    for key, member in pairs:
        yield depth, key, member
        if depth <= DEEPEST:
            yield from _walk(member, depth + 1)


class _Relaxing:
    """Makes the copy, and counts what it consists of. What is no JSON Schema stays, for the compiler to name."""

    def __init__(self, whole: Mapping[str, JSON]) -> None:
        self._whole = whole
        self.parts = 0
        self._choices = 0
        self._numbers = 0

    @property
    def cost(self) -> int:
        return self.parts + self._choices + _NUMBER * self._numbers

    def relaxed(self, schema: object) -> JSON:
        self._count(1)
        if not isinstance(schema, Mapping):
            return cast("JSON", schema)
        members = cast("Mapping[str, JSON]", schema)
        kept: dict[str, JSON] = {name: members[name] for name in _PLAIN if name in members}
        self._count(sum(len(cast("list[JSON]", value)) if isinstance(value, list) else 1 for value in kept.values()))
        kept |= {name: members[name] for name in _BOUNDS if name in members and self._is_small(members[name])}
        # One of many is the same as any of them.
        kept |= {"enum": members["enum"]} if "enum" in members and self._is_cheap(members["enum"]) else {}
        kept |= {"const": members["const"]} if "const" in members and self._is_cheap(members["const"]) else {}
        self._objects(members, kept)
        self._arrays(members, kept)
        self._combined(members, kept)
        return kept

    def _objects(self, members: Mapping[str, JSON], kept: dict[str, JSON]) -> None:
        if "properties" in members:
            given = members["properties"]
            if isinstance(given, Mapping):
                inner = cast("Mapping[str, JSON]", given)
                given = {name: self.relaxed(each) for name, each in inner.items()}
            kept["properties"] = given
        # Without the patterns nobody could tell which are additional.
        if "additionalProperties" in members and "patternProperties" not in members:
            kept["additionalProperties"] = self.relaxed(members["additionalProperties"])

    def _arrays(self, members: Mapping[str, JSON], kept: dict[str, JSON]) -> None:
        for name in ("items", "prefixItems"):
            given = members.get(name)
            if isinstance(given, list):
                each = self._all(cast("list[JSON]", given))
                kept |= {"prefixItems": each} if each else {}
            elif given is not None:
                kept[name] = self.relaxed(given)

    def _combined(self, members: Mapping[str, JSON], kept: dict[str, JSON]) -> None:
        every: list[JSON] = []
        given = members.get("allOf")
        if isinstance(given, list):
            every = self._all(cast("list[JSON]", given))
        elif given is not None:
            kept["allOf"] = given
        # Relaxed, several of `oneOf` may fit at once.
        for name in ("anyOf", "oneOf"):
            if name in members:
                some = members[name]
                every.append({"anyOf": self._all(cast("list[JSON]", some)) if isinstance(some, list) else some})
        if isinstance(reference := members.get("$ref"), str):
            every.append(self.relaxed(_target(self._whole, reference)))
        if every:
            kept["allOf"] = every

    def _all(self, given: list[JSON]) -> list[JSON]:
        return [self.relaxed(each) for each in given]

    def _is_small(self, bound: JSON) -> bool:
        """Whether a bound is a number that can be compared in passing. Of older drafts, some are none."""
        self._count(1)
        if isinstance(bound, bool):
            return False
        if isinstance(bound, int | float):
            return self._is_safe(bound)
        return True

    def _is_cheap(self, value: JSON) -> bool:
        """Whether values can be compared with it in bounded time."""
        self._choices += 1
        match value:
            case bool() | None | str():
                return True
            case int() | float():
                return self._is_safe(value)
            case Mapping():
                return all(self._is_cheap(each) for each in cast("Mapping[str, JSON]", value).values())
            case _:
                return all(self._is_cheap(each) for each in cast("list[JSON]", value))

    def _is_safe(self, number: float) -> bool:
        self._numbers += abs(number) <= _SAFE
        return abs(number) <= _SAFE

    def _count(self, parts: int) -> None:
        self.parts += parts
        if self.parts > MOST_PARTS:
            raise ValidationError(f"its inputSchema has more than {MOST_PARTS} parts, with its references written out")
