"""An answer of a type: the shape that the model is asked for, and its words read as that."""

import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from pollux.core.errors import ValidationError

_FENCE = re.compile(r"```(?:json)?\s*\n(.*)\n\s*```", re.DOTALL)

if TYPE_CHECKING:
    from pollux.tools.typed.schema import SchemaShape, Shape


def shape_of(output_type: Any) -> "Shape | SchemaShape":
    """The shape of a type, or of a schema of the author's own. Raises ValidationError for what is neither."""
    from pollux.tools.typed import schema

    if isinstance(output_type, Mapping):
        return schema.SchemaShape(cast("Mapping[str, Any]", output_type))
    return schema.shape_of(output_type)


def typed(text: str, shape: "Shape | SchemaShape") -> Any:
    """The answer as the type that was asked for. An answer that waits for people has none yet.

    Raises ValidationError where it is of another.
    """
    if not text:
        return None
    try:
        return shape.convert(json.loads(_unfenced(text), object_pairs_hook=_named_once))
    except ValidationError as problem:
        said = str(problem)
    except ValueError:
        said = "it is not JSON"
    except RecursionError:
        said = "it is nested too deeply"
    raise ValidationError(f"the model's answer is not of the output_type: {said}", code="output_invalid")


def _unfenced(text: str) -> str:
    """The JSON alone: models that were not made to keep a schema like to put it into a Markdown fence."""
    found = _FENCE.fullmatch(text.strip())
    return found[1] if found else text


def _named_once(members: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(members)
    if len(found) < len(members):
        raise ValidationError("it names a member twice")
    return found
