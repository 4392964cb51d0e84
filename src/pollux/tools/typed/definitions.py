"""Put one schema together: the definitions of all its classes at the root, closed objects, no titles."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

from pollux.core.messages import JSON
from pollux.tools.typed.mirror import is_model, is_path, no_form

REF: Final = "#/$defs/"
# Their keys are names, not keywords: a property may well be called "title".
NAMED: Final = frozenset({"properties", "$defs", "patternProperties", "dependentSchemas"})
VALUES: Final = frozenset({"default", "const", "enum", "examples", "required"})
# A title repeats the name. The discriminator is not JSON Schema, and `const` says the same.
DROPPED: Final = frozenset({"title", "discriminator"})

Schema = dict[str, JSON]


class Models:
    """The classes that msgspec asks about while it makes a schema: paths, and models that know their own."""

    def __init__(self) -> None:
        self._asked: list[Any] = []

    def schema_of(self, cls: Any) -> Schema:
        """What to write where the class is used. Raises ValidationError for one that has no JSON form."""
        if is_path(cls):
            return {"type": "string", "format": "path"}
        if not is_model(cls):
            raise no_form(cls)
        if cls not in self._asked:
            self._asked.append(cls)
        return {"$ref": f"{REF}{self._mark(cls)}"}

    def finish(self, schema: Schema) -> Schema:
        """The whole schema, with the definitions of these classes among the others."""
        definitions: Schema = schema.pop("$defs", {})
        raw: Schema = dict(definitions)
        tidy: Schema = {}
        places: dict[str, str] = {}
        for cls in self._asked:
            top, own = _definitions(cls)
            names = _free_names(top, own, raw)
            places[self._mark(cls)] = names[top]
            raw |= {names[name]: below for name, below in own.items()}
            tidy |= {names[name]: _tidy(below, names) for name, below in own.items()}
        tidy |= {name: _tidy(below, places) for name, below in definitions.items()}
        return _at_root(_tidy(schema, places), tidy)

    def _mark(self, cls: Any) -> str:
        # Its name among all the others is known only at the end.
        return f"model:{self._asked.index(cls)}"


def _definitions(cls: Any) -> tuple[str, Schema]:
    """A model's name in its own schema, and everything that is defined there."""
    schema: Schema = cls.model_json_schema()
    own: Schema = schema.pop("$defs", {})
    if "$ref" in schema:
        return str(schema["$ref"]).removeprefix(REF), own
    name = re.sub(r"\W", "_", cls.__name__)
    return name, {**own, name: schema}


def _free_names(top: str, own: Schema, taken: Schema) -> dict[str, str]:
    """A name at the root for each definition: its own, unless one of them is taken by something else."""
    names = {name: name for name in own}
    number = 1
    while any(names[name] in taken and taken[names[name]] != below for name, below in own.items()):
        number += 1
        names = {name: f"{name}_{number}" for name in own}
    return names


def _tidy(schema: JSON, names: Mapping[str, str]) -> JSON:
    if isinstance(schema, list):
        return [_tidy(item, names) for item in cast("list[JSON]", schema)]
    if not isinstance(schema, dict):
        return schema
    tidy: Schema = {}
    for key, value in cast("Schema", schema).items():
        if key in NAMED:
            tidy[key] = {name: _tidy(below, names) for name, below in value.items()}
        elif key == "$ref":
            name = str(value).removeprefix(REF)
            tidy[key] = REF + names.get(name, name)
        elif key in VALUES:
            tidy[key] = value
        elif key not in DROPPED:
            tidy[key] = _tidy(value, names)
    if "enum" in tidy and "type" not in tidy:
        tidy |= _type_of(tidy["enum"])
    if not tidy.get("required", True):
        del tidy["required"]
    if "properties" in tidy:
        # Also where the class would pass over members it does not name: a model shall hear of its mistake.
        tidy.setdefault("additionalProperties", False)
    return tidy


def _type_of(values: list[JSON]) -> Schema:
    # Some providers take a choice only where its type is given.
    types = {type(cast("object", value)) for value in values}
    return {"type": "string"} if types == {str} else {"type": "integer"} if types == {int} else {}


def _at_root(root: Schema, definitions: Schema) -> Schema:
    """The schema with its root written out, and those definitions that are still referred to."""
    if "$ref" in root:
        place = str(root["$ref"]).removeprefix(REF)
        root = {**definitions[place], **{key: value for key, value in root.items() if key != "$ref"}}
    needed: dict[str, JSON] = {}
    waiting = list(_references(root))
    while waiting:
        name = waiting.pop()
        if name not in needed:
            needed[name] = definitions[name]
            waiting.extend(_references(definitions[name]))
    return {**root, "$defs": dict(sorted(needed.items()))} if needed else root


def _references(schema: JSON) -> Iterator[str]:
    match schema:
        case dict():
            for key, value in cast("Schema", schema).items():
                if key == "$ref" and isinstance(value, str):
                    yield value.removeprefix(REF)
                elif key not in VALUES:
                    yield from _references(value)
        case list():
            for item in cast("list[JSON]", schema):
                yield from _references(item)
        case _:
            pass
