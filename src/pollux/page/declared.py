"""The page's own tools, as its request declares them, made fit for a model. The page executes them; nothing here does.

A page may say anything. What cannot be offered is left out, and said; one bad tool does not spoil the others. The
model's name for a tool is ours: it fits every provider and no tool of the server, and a map leads back to the page's.
"""

import hashlib
import json
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final, cast

from pollux.core.errors import ValidationError
from pollux.core.frozen import frozen
from pollux.core.messages import JSON
from pollux.core.private import names_secret
from pollux.core.tools import ToolSpec
from pollux.page import chat
from pollux.page.state import READ

MOST: Final = 64
"""Tools offered. A model that sees more chooses worse, and every call pays for all of them."""
MOST_DECLARED: Final = 1_000
LONGEST_NAME: Final = 64
LONGEST_DESCRIPTION: Final = 1_000
LARGEST: Final = 64 << 10
"""Bytes of all names, descriptions and schemas together."""

CUT: Final = "it is offered, but its description was cut after {} characters; {} more are left out"
GENERIC: Final = ("click", "fill", "select", "press", "scroll", "read", "trigger-interaction", "fill-input")
"""Act on any control by its reference. First, because with these alone the page can be driven."""
IN_CONTEXT: Final = frozenset({"get-page-state", "list-interactions"})
"""What these would tell is in the instructions, anew for every turn."""

_SEMANTIC: Final = re.compile(r"(?:click|fill|toggle)-.")
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")


@frozen
class LeftOut:
    """A tool of the page that the model does not hear of, and why."""

    name: str
    why: str
    is_needless: bool = False
    """Whether the page loses nothing by it: what it does is done otherwise, or nobody's to do."""


class Needless(ValidationError):
    """A tool that is in order, and not needed."""


@frozen
class Declared:
    """The tools to offer, the page's name for each, and what was left out."""

    tools: tuple[ToolSpec, ...]
    names: Mapping[str, str]
    left_out: tuple[LeftOut, ...] = ()
    private: tuple[str, ...] = ()
    """The tools to offer that fill in a secret, by what the page calls them or says of them."""


def declared(definitions: JSON, *, taken: Collection[str] = ()) -> Declared:
    """The page's tools, most useful first. `taken` are the names of the server's, which no page can have.

    Raises ValidationError where this is no list of tools at all.
    """
    from pollux.engine.outside import Outside  # It takes longer to load than most pages' tools to read.

    given = _listed(definitions)
    refused = {_folded(name) for name in (*taken, READ.name)}
    tools: list[ToolSpec] = []
    names: dict[str, str] = {}
    left_out: list[LeftOut] = []
    private: list[str] = []
    seen: set[str] = set()
    size = 0
    for definition in sorted(given, key=_rank):
        name = str(definition.get("name") or "")
        try:
            spec = _spec(definition, seen)
            if len(tools) == MOST:
                raise ValidationError(f"only {MOST} tools are offered")
            if size + _size(spec) > LARGEST:
                raise ValidationError(f"all tools together may take {LARGEST} bytes")
            Outside.of(spec.input_schema)
        except ValidationError as problem:
            left_out.append(LeftOut(name[:LONGEST_NAME], str(problem), isinstance(problem, Needless)))
            continue
        size += _size(spec)
        fitting = _fitting(spec.name, refused, names)
        names[fitting] = spec.name
        if names_secret(spec.name) or names_secret(spec.description):
            private.append(fitting)
        if (more := len(str(definition.get("description") or "").strip()) - LONGEST_DESCRIPTION) > 0:
            left_out.append(LeftOut(name[:LONGEST_NAME], CUT.format(LONGEST_DESCRIPTION, more)))
        tools.append(spec if fitting == spec.name else _renamed(spec, fitting))
    return Declared(tuple(tools), names, tuple(left_out), tuple(private))


def tools_hash(definitions: JSON) -> str:
    """What a seal is bound to: the same for the same tools, in whatever order they come. Raises ValidationError."""
    try:
        # Only ever compared with itself, so plain JSON will do: schemas may hold numbers that have no canonical form.
        each = sorted(json.dumps(definition, sort_keys=True) for definition in _listed(definitions))
    except (ValueError, RecursionError):
        raise ValidationError("expected tool definitions that are plain JSON, found some that nest too deep") from None
    return hashlib.sha256(json.dumps(each).encode()).hexdigest()


def _listed(definitions: JSON) -> list[dict[str, JSON]]:
    if not isinstance(definitions, list):
        raise ValidationError(f"expected a list of tool definitions, found {type(definitions).__name__}")
    given = cast("list[JSON]", definitions)
    if len(given) > MOST_DECLARED:
        raise ValidationError(f"expected at most {MOST_DECLARED} tool definitions, found {len(given)}")
    if not all(isinstance(definition, dict) for definition in given):
        raise ValidationError("expected every tool definition to be an object with name, description and inputSchema")
    return cast("list[dict[str, JSON]]", given)


def _rank(definition: Mapping[str, JSON]) -> int:
    name = str(definition.get("name"))
    if name in GENERIC:
        return 0
    return 2 if _SEMANTIC.match(name) else 1


def _spec(definition: Mapping[str, JSON], seen: set[str]) -> ToolSpec:
    """The tool under the page's own name. Raises ValidationError saying why there is none."""
    name, description = definition.get("name"), definition.get("description") or ""
    if not isinstance(name, str) or not name.strip() or len(name) > 500:
        raise ValidationError("a tool needs a name of at most 500 characters")
    if not isinstance(description, str):
        raise ValidationError("its description is not text")
    if name in seen:
        raise ValidationError("it was declared before")
    seen.add(name)
    if name in IN_CONTEXT:
        raise Needless("what it would tell is in the instructions")
    if chat.is_own_tool(name):
        raise Needless("it works the chat's own controls")
    return ToolSpec(
        name,
        _cut(description.strip()),
        _schema(definition.get("inputSchema")),
        side_effect=True,
        # The visitor asked for it, watches it happen and can stop it.
        default_approval="not_required",
        where="page",
    )


def _cut(description: str) -> str:
    more = len(description) - LONGEST_DESCRIPTION
    return description if more <= 0 else f"{description[:LONGEST_DESCRIPTION]}… ({more} more characters cut)"


def _schema(schema: JSON) -> Mapping[str, JSON]:
    if schema is None:
        return {"type": "object", "properties": {}}
    members = {"type": "object"} | cast("dict[str, JSON]", schema) if isinstance(schema, dict) else {}
    if members.get("type") != "object":
        raise ValidationError('its inputSchema must be JSON Schema of type "object"')
    return _without_chat(members)


def _without_chat(schema: dict[str, JSON]) -> dict[str, JSON]:
    """The schema without the chat's controls among the references to choose from."""
    properties = schema.get("properties")
    if not isinstance(properties, dict):
        return schema
    kept = dict(cast("dict[str, JSON]", properties))
    for name in chat.REFERENCES:
        match kept.get(name):
            case {"enum": [*choices], **rest}:
                left = [choice for choice in choices if not chat.is_own(choice)]
                if choices and not left:
                    raise Needless("it works the chat's own controls")
                kept[name] = {**rest, "enum": left}
            case _:
                pass
    return schema | {"properties": kept}


def _fitting(name: str, refused: Collection[str], known: Mapping[str, str]) -> str:
    """A name for the model: within every provider's alphabet, and nobody else's."""
    fitting = name if _NAME.fullmatch(name) else _digested(name, name)
    if _folded(fitting) in refused or _folded(fitting).startswith("action_"):
        # Its own name would be taken for a tool of the server, by the model or by us.
        fitting = f"page_{fitting}" if len(fitting) <= LONGEST_NAME - 5 else _digested(f"page_{name}", name)
    salt = name
    while fitting in known or _folded(fitting) in refused:
        salt += "+"
        fitting = _digested(f"page_{name}", salt)
    return fitting


def _digested(stem: str, name: str) -> str:
    plain = re.sub(r"[^A-Za-z0-9_-]+", "_", stem).strip("_")[:48]
    return f"t_{plain}_{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:10]}"


def _folded(name: str) -> str:
    return name.casefold().replace("-", "_")


def _renamed(spec: ToolSpec, name: str) -> ToolSpec:
    return ToolSpec(
        name, spec.description, spec.input_schema, side_effect=True, default_approval="not_required", where="page"
    )


def _size(spec: ToolSpec) -> int:
    return len(spec.name) + len(spec.description.encode("utf-8", "replace")) + len(_json(spec.input_schema))


def _json(value: Mapping[str, Any] | Sequence[Any]) -> str:
    return json.dumps(value, separators=(",", ":"))
