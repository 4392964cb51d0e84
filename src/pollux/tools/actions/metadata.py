"""Read a `.jay-action` file: what an action is for, what it takes and what it gives, as JSON Schema.

Two forms are in use. In the first, `inputSchema` and `outputSchema` are JSON Schema; in the other they are written in
the compact notation. Which one a file is in is decided once, for both.
"""

import re
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Final, Literal

from pollux.core.frozen import frozen
from pollux.core.messages import JSON
from pollux.tools.actions.contracts import read_view
from pollux.tools.actions.documents import Document, Fields, Node, Scalar, brief, kind_of, read_document
from pollux.tools.actions.json_form import is_schema_form, read_schema
from pollux.tools.actions.notation import WORDS, Notation
from pollux.tools.actions.shapes import Shape, Struct, View, schema_of, shape_of

LONGEST_DESCRIPTION: Final = 4_000
KEYS: Final = ("name", "description", "import", "inputSchema", "outputSchema")
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,63}")
_ALIAS: Final = re.compile(r"[A-Za-z_]\w{0,63}")

Form = Literal["schema", "compact"]


@frozen
class ActionMetadata:
    """What a model may know of an action. Both schemas are JSON Schema, members in the order of the file."""

    name: str
    description: str
    input_schema: Mapping[str, JSON]
    output_schema: Mapping[str, JSON] | None = None


@frozen
class ActionFile:
    """A `.jay-action` file: what it says, and the shapes that types are written from."""

    path: Path
    metadata: ActionMetadata
    form: Form
    takes: Shape
    gives: Shape | None
    lines: Mapping[str, int]
    """Where what the input is made of stands."""


def load_action_metadata(path: str | Path) -> ActionMetadata:
    """What a `.jay-action` file says of its action. Raises FileError with the file, the line and what was expected."""
    return read_action(path).metadata


def read_action(path: str | Path) -> ActionFile:
    """A `.jay-action` file. Raises FileError with the file, the line and what was expected."""
    document = read_document(Path(path))
    root = document.root
    _check_keys(document)
    name = _text(document, "name")
    if not _NAME.fullmatch(name):
        raise document.error(
            root.lines["name"],
            f"expected a name of up to 64 letters, digits, '_', '.' or '-', beginning with a letter, found"
            f" {brief(name)!r}",
        )
    description = _text(document, "description").strip()
    if len(description) > LONGEST_DESCRIPTION:
        raise document.error(
            root.lines["description"], f"expected at most {LONGEST_DESCRIPTION} characters, found {len(description)}"
        )
    takes, gives = _given(root, "inputSchema"), _given(root, "outputSchema")
    if takes is not None and not isinstance(takes, Fields):
        raise document.error(takes.line, f"expected a mapping as inputSchema, found {kind_of(takes)}")
    if is_schema_form(takes, gives):
        return _in_schemas(document, name, description, takes, gives)
    return _in_notation(document, name, description, takes, gives)


def _in_notation(
    document: Document, name: str, description: str, takes: Fields | None, gives: Node | None
) -> ActionFile:
    notation = Notation(document, _views(document))
    taken = notation.struct(takes) if takes is not None else Struct(())
    given = notation.shape(gives) if gives is not None else None
    schema = {**schema_of(taken)}
    schema.setdefault("properties", {})
    metadata = ActionMetadata(name, description, schema, schema_of(given) if given is not None else None)
    lines = {key.removesuffix("?"): line for key, line in takes.lines.items()} if takes is not None else {}
    return ActionFile(document.path, metadata, "compact", taken, given, {"": document.root.line, **lines})


def _in_schemas(
    document: Document, name: str, description: str, takes: Fields | None, gives: Node | None
) -> ActionFile:
    schema: dict[str, JSON] = {"type": "object", "properties": {}}
    lines: dict[str, int] = {}
    if takes is not None and takes.members:
        schema = read_schema(document, takes, "inputSchema")
        properties = takes.members.get("properties")
        lines = dict(properties.lines) if isinstance(properties, Fields) else {}
    output = read_schema(document, gives, "outputSchema") if gives is not None else None
    metadata = ActionMetadata(name, description, schema, output)
    given = shape_of(output) if output is not None else None
    return ActionFile(document.path, metadata, "schema", shape_of(schema), given, {"": document.root.line, **lines})


def _views(document: Document) -> dict[str, View]:
    """What the file imports."""
    node = _given(document.root, "import")
    if node is None:
        return {}
    if not isinstance(node, Fields):
        raise document.error(node.line, f"expected `alias: file.jay-contract` under import, found {kind_of(node)}")
    views: dict[str, View] = {}
    for alias, value in node.members.items():
        line = node.lines[alias]
        if alias in WORDS or not _ALIAS.fullmatch(alias):
            raise document.error(line, f"expected a name that is no type as the alias, found {brief(alias)!r}")
        if not isinstance(value, Scalar) or not isinstance(value.value, str):
            raise document.error(value.line, f"expected the name of a .jay-contract file, found {kind_of(value)}")
        views[alias] = read_view(document, value.value, value.line)
    return views


def _check_keys(document: Document) -> None:
    """A slip in a key would leave its schema out. Keys that are like none of ours may be of a later Jay."""
    for key, line in document.root.lines.items():
        near = get_close_matches(key, KEYS, n=1, cutoff=0.8)
        if key not in KEYS and near:
            raise document.error(line, f"expected {', '.join(KEYS)}, found {brief(key)!r}. Did you mean {near[0]}?")


def _text(document: Document, key: str) -> str:
    node = document.root.members.get(key)
    if node is None:
        raise document.error(document.root.line, f"expected `{key}: …`, found none")
    if not isinstance(node, Scalar) or not isinstance(node.value, str) or not node.value.strip():
        raise document.error(node.line, f"expected text as `{key}`, found {kind_of(node)}. Put it in quotes")
    return node.value


def _given(root: Fields, key: str) -> Node | None:
    node = root.members.get(key)
    return None if isinstance(node, Scalar) and node.value is None else node
