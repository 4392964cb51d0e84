"""Values held against JSON Schema, in words that say what is wrong with them."""

import itertools
from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

import jsonschema_rs

from pollux.core.errors import ValidationError
from pollux.core.messages import JSON

MASK: Final = "this value"
"""What stands for a value in what is said of it: it may be large, or secret, and goes to logs and models."""
MOST_SAID: Final = 500


def validator(schema: Mapping[str, JSON]) -> jsonschema_rs.Validator:
    """A compiled schema. Raises ValidationError for what is not JSON Schema."""
    try:
        return jsonschema_rs.validator_for(dict(schema), retriever=_not_fetched, mask=MASK)
    except (jsonschema_rs.ValidationError, ValueError) as problem:
        raise ValidationError(f"the schema is not JSON Schema: {problem}") from None


def check(validator: jsonschema_rs.Validator, value: JSON, schema: Mapping[str, JSON] | None = None) -> None:
    """Raises ValidationError for a value that the schema refuses. Given the schema, the message names its members."""
    try:
        # The first mistake alone: to list them all takes seconds where each of many values is one.
        validator.validate(value)
    except jsonschema_rs.ValidationError as found:
        problem = _nearest(found)
    except (ValueError, TypeError) as trouble:
        raise ValidationError(f"expected JSON: {type(trouble).__name__}") from None
    else:
        return
    where = ".".join(_place(problem))
    message = _UNSAID.get(problem.kind.name) or problem.message
    if schema and list(problem.evaluation_path) == ["additionalProperties"]:
        message = f"{message}. Known: {', '.join(sorted(cast('Mapping[str, JSON]', schema.get('properties', {}))))}"
    said = f"{where[:MOST_SAID]}: {message}" if where else message
    raise ValidationError(said if len(said) <= MOST_SAID else f"{said[:MOST_SAID]}…")


_UNSAID: Final = {
    "additionalProperties": "there is a member that is not expected",
    "unevaluatedProperties": "there is a member that is not expected",
    "falseSchema": "there is a value where none is expected",
    "propertyNames": "the name of a member is not as expected",
}
"""What is said where the library would say a name that was sent."""


def _place(problem: Any) -> Iterator[str]:
    """The way to the mistake, with the names that the schema knows. Others were made up by who sent the value."""
    path: list[str | int] = list(problem.evaluation_path)
    known = {name for step, name in itertools.pairwise(path) if step == "properties"}
    yield from (str(step) if isinstance(step, int) or step in known else "*" for step in problem.instance_path)


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
