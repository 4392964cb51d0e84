"""Values held against JSON Schema, in words that say what is wrong with them."""

from collections.abc import Mapping
from typing import Any, Final

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


def check(validator: jsonschema_rs.Validator, value: JSON) -> None:
    """Raises ValidationError for a value that the schema refuses."""
    try:
        # The first mistake alone: to list them all takes seconds where each of many values is one.
        validator.validate(value)
    except jsonschema_rs.ValidationError as found:
        problem = _nearest(found)
    except (ValueError, TypeError) as trouble:
        raise ValidationError(f"expected JSON: {trouble}") from None
    else:
        return
    where = ".".join(str(step) for step in problem.instance_path)
    said = f"{where[:MOST_SAID]}: {problem.message}" if where else problem.message
    raise ValidationError(said if len(said) <= MOST_SAID else f"{said[:MOST_SAID]}…")


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
