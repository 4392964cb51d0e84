"""JSON Schema from Python types, and values of these types from JSON.

One law: what `convert` accepts, the schema accepts. Objects that name their members take no others.
"""

import json
import re
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any, cast

import msgspec

from pollux.core.canonical import normal
from pollux.core.errors import ValidationError
from pollux.core.messages import JSON
from pollux.engine.schemas import check, validator
from pollux.tools.typed.definitions import Models
from pollux.tools.typed.mirror import Mirrors, Plans, is_model, is_path, place, real
from pollux.tools.typed.records import NO_DEFAULT, Member, Names, Plan

# A schema that is made of others may name its members there.
COMPOSED = frozenset({"$ref", "allOf", "anyOf", "oneOf", "if", "patternProperties", "unevaluatedProperties"})
_AT = re.compile(r" - at `\$\.?([^`]*)`$")


class Shape:
    """A type as models see it, and the way from their JSON to its values."""

    def __init__(self, root: Any, plans: Plans, schema: dict[str, JSON]) -> None:
        self.schema = schema
        self._root = root
        self._plans = plans
        self._validator = validator(schema)

    def convert(self, value: JSON) -> Any:
        """The value as the type's own. Raises ValidationError, which says where and why."""
        try:
            found = self._read(value)
            check(self._validator, value)
            return real(found, self._plans)
        except TypeError as problem:
            # A set of things that cannot be in one.
            raise ValidationError(str(problem)) from None
        except RecursionError:
            raise ValidationError("the value is nested too deeply") from None

    def _read(self, value: JSON) -> Any:
        try:
            return _converted(value, self._root)
        except msgspec.ValidationError as problem:
            said = problem
        try:
            # Some models write every number as a float.
            return _converted(_whole(value), self._root)
        except msgspec.ValidationError:
            if str(said).startswith(("Object contains unknown field", "Invalid enum value", "Invalid value")):
                # These repeat what was given. The schema's words do not.
                check(self._validator, value)
                raise ValidationError("there is a value or a member that is not expected") from None
            raise ValidationError(_told(said)) from None


class SchemaShape:
    """A schema of the author's own. Its values stay JSON."""

    def __init__(self, schema: Mapping[str, JSON]) -> None:
        self.schema: dict[str, JSON] = dict(schema)
        self._validator = validator(self.schema)

    def convert(self, value: JSON) -> JSON:
        """The value, if it fits. Raises ValidationError, which says where and why not."""
        check(self._validator, value)
        return value


def shape_of(hint: Any, *, names: Names | None = None) -> Shape:
    """The shape of any type: `names` are what its quoted annotations may mean beside their module's globals.

    Raises ValidationError for a type that has no JSON form.
    """
    mirrors = Mirrors(names or {})
    return _shape(mirrors.of(hint), mirrors.plans)


def arguments_of(members: tuple[Member, ...], *, names: Names | None = None) -> Shape:
    """The shape of an object with these members; its values are dicts of those that were given."""
    mirrors = Mirrors(names or {})
    return _shape(mirrors.add(Plan("", members, dict)), mirrors.plans)


def as_json(value: object) -> JSON:
    """A value as JSON that its type reads back. Raises ValidationError where there is no such form."""
    try:
        return normal(msgspec.to_builtins(value, str_keys=True, enc_hook=_written))
    except (TypeError, ValueError, RecursionError, msgspec.MsgspecError) as problem:
        raise ValidationError(f"a {type(value).__name__} has no JSON form ({problem})") from None


def given(schema: object) -> dict[str, JSON]:
    """An author's own schema for arguments, as a copy. What it names is all that it takes, unless it says otherwise.

    Raises ValidationError for what is not JSON Schema of an object.
    """
    if not isinstance(schema, Mapping):
        raise ValidationError(f"input_schema must be JSON Schema, a dict, found {type(schema).__name__}")
    try:
        own: dict[str, JSON] = json.loads(json.dumps(dict(cast("Mapping[str, JSON]", schema)), allow_nan=False))
    except (TypeError, ValueError, RecursionError) as problem:
        raise ValidationError(f"input_schema is not JSON: {problem}") from None
    if own.get("type") != "object":
        raise ValidationError('input_schema must describe an object: {"type": "object", "properties": {…}}')
    if "properties" in own and not COMPOSED & own.keys():
        own.setdefault("additionalProperties", False)
    validator(own)
    return own


def _shape(root: Any, plans: Plans) -> Shape:
    models = Models()
    try:
        schema = msgspec.json.schema(root, schema_hook=models.schema_of)
    except (TypeError, ValueError, ValidationError) as problem:
        raise _blamed(plans, problem) from None
    for mirror, plan in plans.items():
        written = schema.get("$defs", {}).get(mirror.__name__, {})
        for member, field in zip(plan.members, mirror.__struct_fields__, strict=True):
            default = _default(member, mirror.__annotations__[field], plans)
            if default is not NO_DEFAULT and "properties" in written:
                written["properties"][member.name]["default"] = default
    return Shape(root, plans, models.finish(schema))


def _blamed(plans: Plans, problem: Exception) -> ValidationError:
    """The same problem with the member that has it. msgspec only says that there is one."""
    for mirror, plan in reversed(plans.items()):
        for member, field in zip(plan.members, mirror.__struct_fields__, strict=True):
            try:
                msgspec.json.schema(mirror.__annotations__[field], schema_hook=Models().schema_of)
            except (TypeError, ValueError, ValidationError) as found:
                return ValidationError(f"{place(plan, member)}: {_first_words(found)}")
    return ValidationError(_first_words(problem))


def _first_words(problem: Exception) -> str:
    if isinstance(problem, ValidationError):
        return str(problem)
    words = str(problem).splitlines()[0].partition(" - type `")[0].rstrip(".")
    return f"{words}. Use another type, or give a JSON Schema in its place"


def _default(member: Member, hint: Any, plans: Plans) -> JSON:
    """What to tell of a default: nothing, unless it has a JSON form that is read back as the same value."""
    if member.default is NO_DEFAULT:
        return NO_DEFAULT
    try:
        written = as_json(member.default)
        same = real(_converted(written, hint), plans) == member.default
    except (ValidationError, msgspec.ValidationError, TypeError, ValueError):
        return NO_DEFAULT
    return written if same is True else NO_DEFAULT


def _converted(value: JSON, hint: Any) -> Any:
    return msgspec.convert(value, hint, str_keys=True, dec_hook=_made)


def _made(cls: Any, value: Any) -> Any:
    if is_model(cls):
        # By way of text: what a strict model takes from JSON, a date say, it would not take from Python.
        try:
            return cls.model_validate_json(json.dumps(value))
        except ValueError as problem:
            raise ValueError(_model_words(problem)) from None
    if is_path(cls) and isinstance(value, str):
        return cls(value)
    raise ValueError(f"Expected `{cls.__name__}`, got `{type(value).__name__}`")


def _model_words(problem: Any) -> str:
    """pydantic's complaints in one line, without the advertisement."""
    found: list[dict[str, Any]] = problem.errors() if hasattr(problem, "errors") else []
    told = [f"{'.'.join(str(step) for step in one['loc'])}: {one['msg']}".removeprefix(": ") for one in found]
    return "; ".join(told) or str(problem)


def _written(value: Any) -> JSON:
    if isinstance(value, PurePath):
        return str(value)
    if is_model(cast("object", type(value))):
        return value.model_dump(mode="json")
    raise TypeError(f"objects of type {type(value).__name__} cannot be written")


def _whole(value: JSON) -> JSON:
    match value:
        case float() if value.is_integer():
            return int(value)
        case list():
            return [_whole(item) for item in cast("list[JSON]", value)]
        case dict():
            return {key: _whole(item) for key, item in cast("dict[str, JSON]", value).items()}
        case _:
            return value


def _told(problem: msgspec.ValidationError) -> str:
    """msgspec's words with the place in front: `people[0].age: expected int, got str`."""
    text = str(problem)
    found = _AT.search(text)
    words = _AT.sub("", text).replace("`", "")
    return f"{found[1]}: {words[:1].lower()}{words[1:]}" if found and found[1] else words
