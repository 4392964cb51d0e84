"""Fill a JSON Schema from a prompt: required properties always, optional ones only when the prompt mentions them.

Law: deterministic, and what comes out satisfies the schema wherever the prompt's own words allow it.
"""

from dataclasses import dataclass, field
from typing import Any

from pollux.emulator.jsons import is_list, is_number, is_object, strings
from pollux.emulator.planner import generic, meaning
from pollux.emulator.planner.clues import Clues, split_words, stem
from pollux.emulator.schemas import satisfies

_DEPTH = 8


def fill(schema: dict[str, Any], clues: Clues) -> Any:
    """A value for the schema, from the prompt; from the schema alone where the prompt's words do not fit it."""
    value = _Filler(root=schema, clues=clues).value(schema, name="", depth=0)
    return value if satisfies(value, schema) else generic.value(schema)


@dataclass
class _Filler:
    """One walk: what was taken from the prompt is not taken twice."""

    root: dict[str, Any]
    clues: Clues
    taken: dict[str, int] = field(default_factory=dict[str, int])

    def value(self, schema: dict[str, Any], *, name: str, depth: int) -> Any:
        schema = generic.resolve(schema, self.root)
        if "const" in schema:
            return schema["const"]
        if is_list(schema.get("enum")) and schema["enum"]:
            return self._choice(schema)
        match generic.kind(schema):
            case "object":
                return self._object(schema, depth=depth)
            case "array":
                return self._array(schema, name=name, depth=depth)
            case "integer" | "number" as kind:
                return self._number(schema, whole=kind == "integer")
            case "boolean":
                return self._flag(schema, name=name)
            case "string":
                return self._string(schema, name=name)
            case _:
                return generic.value(schema, self.root)

    def _object(self, schema: dict[str, Any], *, depth: int) -> dict[str, Any]:
        properties: dict[str, Any] = schema["properties"] if is_object(schema.get("properties")) else {}
        required = strings(schema.get("required"))
        found: dict[str, Any] = {}
        for name, below in properties.items():
            if not is_object(below):
                continue
            # What one member has been given, another of the same meaning is not given as well.
            taken = [*required, *found]
            if name in required or (depth < _DEPTH and self._mentions(name, below, properties, taken)):
                found[name] = self.value(below, name=name, depth=depth + 1)
        for name in required:
            found.setdefault(name, "")
        return found

    def _mentions(self, name: str, schema: dict[str, Any], siblings: dict[str, Any], taken: list[str]) -> bool:
        schema = generic.resolve(schema, self.root)
        if self._named_choices(schema):
            return True
        if meaning.speaks_of(name, self.clues):
            return True
        rivals = [meaning.of(one, siblings[one]) for one in taken if is_object(siblings.get(one))]
        if meaning.offers(name, schema, self.clues) and meaning.of(name, schema) not in rivals:
            return True
        numeric = [one for one, below in siblings.items() if is_object(below) and generic.is_numeric(below, self.root)]
        return numeric == [name] and name not in taken and bool(self.clues.numbers)

    def _choice(self, schema: dict[str, Any]) -> Any:
        mentioned = self._named_choices(schema)
        if mentioned:
            return max(mentioned, key=lambda choice: len(str(choice)))
        near = [choice for choice in schema["enum"] if self._shares_a_word(str(choice))]
        return near[0] if near else schema.get("default", schema["enum"][0])

    def _named_choices(self, schema: dict[str, Any]) -> list[Any]:
        choices: list[Any] = schema["enum"] if is_list(schema.get("enum")) else []
        text = self.clues.text.lower()
        return [choice for choice in choices if choice and str(choice).lower() in text]

    def _shares_a_word(self, choice: str) -> bool:
        return any(stem(word) in self.clues.words for word in split_words(choice) if len(word) > 2)

    def _array(self, schema: dict[str, Any], *, name: str, depth: int) -> list[Any]:
        items: dict[str, Any] = schema["items"] if is_object(schema.get("items")) else {"type": "string"}
        items = generic.resolve(items, self.root)
        found: list[Any] = []
        match generic.kind(items):
            case "string" if "enum" not in items and "const" not in items:
                found = [one for one in meaning.every(name, items, self.clues) if generic.fits_text(one, items)]
            case "integer" | "number" as kind:
                found = [self._number(items, whole=kind == "integer") for _ in self.clues.numbers]
            case _ if depth < _DEPTH and not generic.may_be_empty(schema):
                found = [self.value(items, name=name, depth=depth + 1)]
            case _:
                pass
        return generic.trim(found, schema, self.root)

    def _number(self, schema: dict[str, Any], *, whole: bool) -> int | float:
        at = self.taken.get("number", 0)
        if at < len(self.clues.numbers):
            number = self.clues.numbers[at]
            self.taken["number"] = at + 1
            return generic.bound(int(number) if whole else number, schema)
        self.taken["number"] = at + 1
        default = schema.get("default")
        return default if is_number(default) else generic.bound(at + 1, schema)

    def _flag(self, schema: dict[str, Any], *, name: str) -> bool:
        if meaning.speaks_of(name, self.clues):
            return not meaning.denies(name, self.clues)
        return schema.get("default") is True

    def _string(self, schema: dict[str, Any], *, name: str) -> str:
        kind = meaning.of(name, schema)
        at = self.taken.get(kind, 0)
        self.taken[kind] = at + 1
        text = meaning.one(kind, self.clues, at=at)
        if text is None and isinstance(schema.get("default"), str):
            text = schema["default"]
        return generic.fit_text(text if text is not None else meaning.fallback(kind, name, self.clues), schema)


def wants_several(schema: dict[str, Any], clues: Clues) -> str | None:
    """The one required string for which the prompt names several values: one call each."""
    properties: dict[str, Any] = schema["properties"] if is_object(schema.get("properties")) else {}
    wanted = strings(schema.get("required")) or list(properties)
    for name in wanted:
        below = generic.resolve(properties[name], schema) if is_object(properties.get(name)) else {}
        kind = meaning.of(name, below)
        if generic.kind(below) == "string" and "enum" not in below and kind in meaning.FANS_OUT:
            same = [
                one for one in wanted if is_object(properties.get(one)) and meaning.of(one, properties[one]) == kind
            ]
            if len(same) == 1 and len(meaning.every(name, below, clues)) > 1:
                return name
    return None


def each(schema: dict[str, Any], name: str, clues: Clues) -> list[str]:
    """The several values for that property."""
    below = generic.resolve(schema["properties"][name], schema)
    return [generic.fit_text(one, below) for one in meaning.every(name, below, clues)]
