"""Values held against JSON Schema, in words that say what is wrong with them."""

from collections.abc import Mapping
from typing import Any, Final, cast

import jsonschema_rs

from pollux.core.errors import ValidationError
from pollux.core.messages import JSON

MOST_CHECKED: Final = 50_000_000
MOST_TOLD: Final = 20_000
"""Parts of a schema, references written out, times parts of a value: each is a tenth of a second or two, at worst."""


def validator(schema: Mapping[str, JSON]) -> jsonschema_rs.Validator:
    """A compiled schema. Raises ValidationError for what is not JSON Schema."""
    try:
        return jsonschema_rs.validator_for(dict(schema), retriever=_not_fetched)
    except (jsonschema_rs.ValidationError, ValueError) as problem:
        raise ValidationError(f"the schema is not JSON Schema: {problem}") from None


def check(validator: jsonschema_rs.Validator, value: JSON) -> None:
    """Raises ValidationError for a value that the schema refuses."""
    try:
        problem = next(iter(validator.iter_errors(value)), None)
    except (ValueError, TypeError) as trouble:
        raise ValidationError(f"expected JSON: {trouble}") from None
    if problem is not None:
        problem = _nearest(problem)
        where = ".".join(str(step) for step in problem.instance_path)
        raise ValidationError(f"{where}: {problem.message}" if where else problem.message)


def check_page(validator: jsonschema_rs.Validator, schema: Mapping[str, JSON], value: JSON) -> None:
    """The same for a schema that a page brought, in bounded time. Raises ValidationError.

    To say whether a value fits takes next to nothing, to say why not a thousand times as long: every branch that does
    not fit is told. So where there may be many, only that it does not fit is said.
    """
    work = _parts(schema) * (1 + _references(schema)) * _parts(value)
    if work > MOST_CHECKED:
        raise ValidationError("the arguments are too many for so large an inputSchema; give fewer")
    if validator.is_valid(value):
        return
    if work > MOST_TOLD:
        raise ValidationError("the arguments do not fit the tool's inputSchema")
    check(validator, value)


def _parts(value: object) -> int:
    match value:
        case Mapping():
            return 1 + sum(map(_parts, cast("Mapping[str, object]", value).values()))
        case list():
            return 1 + sum(map(_parts, cast("list[object]", value)))
        case _:
            return 1


def _references(value: object) -> int:
    match value:
        case Mapping():
            members = cast("Mapping[str, object]", value)
            return ("$ref" in members) + sum(map(_references, members.values()))
        case list():
            return sum(map(_references, cast("list[object]", value)))
        case _:
            return 0


def _not_fetched(uri: str) -> JSON:
    # A schema may come from a page or another program: it must not make this process ask addresses of its choice.
    raise ValueError(f"{uri} is not fetched; put what it refers to under $defs")


def _nearest(problem: Any) -> Any:
    """Of a union, what is wrong with the member that was meant: the one that is at least of the right type."""
    for branch in getattr(problem.kind, "context", ()):
        if not branch:
            # It fits, and so does another: one too many.
            continue
        first = branch[0]
        if first.kind.name != "type" or len(first.instance_path) > len(problem.instance_path):
            return _nearest(first)
    return problem
