"""Write the types of an action as TypeScript, byte for byte as Jay does: `send-message.jay-action.d.ts`."""

import re
from collections.abc import Iterator
from typing import Final, assert_never

from pollux.core.messages import JSON
from pollux.tools.actions.metadata import ActionFile
from pollux.tools.actions.names import type_name
from pollux.tools.actions.shapes import (
    AnyOf,
    Atom,
    Choice,
    ListOf,
    Member,
    RecordOf,
    Shape,
    Struct,
    View,
    atoms_in,
    views_in,
)

INDENT: Final = "    "
FREE: Final = "Record<string, unknown>"
_NAME: Final = re.compile(r"[A-Za-z_$][\w$]*", re.ASCII)
_ATOMS: Final = {"integer": "number", "file": "JayFile"}
_FILE_IMPORT: Final = "import { JayFile } from '@jay-framework/fullstack-component';"
_LINE_BREAKS: Final = {"\n": "\\n", "\r": "\\r", "\u2028": "\\u2028", "\u2029": "\\u2029"}


def typescript_of(action: ActionFile) -> str:
    """The declarations of an action's input and output."""
    name = type_name(action.metadata.name)
    sections = ["\n".join(imports)] if (imports := list(_imports(action))) else []
    sections.append(_interface(f"{name}Input", action.takes))
    if action.gives is not None:
        sections.append(_output(f"{name}Output", action))
    return "\n\n".join(sections) + "\n"


def _imports(action: ActionFile) -> Iterator[str]:
    if "file" in (*atoms_in(action.takes), *atoms_in(action.gives)):
        yield _FILE_IMPORT
    lines = (f"import {{ {view.name} }} from {_quoted(view.source)};" for view in _views(action))
    yield from dict.fromkeys(lines)


def _views(action: ActionFile) -> Iterator[View]:
    yield from views_in(action.takes)
    yield from views_in(action.gives)


def _interface(name: str, shape: Shape) -> str:
    members = shape.members if isinstance(shape, Struct) else ()
    if not members:
        return f"export interface {name} {{}}"
    return f"export interface {name} {_block(members, '')}"


def _output(name: str, action: ActionFile) -> str:
    shape = action.gives
    assert shape is not None
    # In the first form an object that lists its members is an interface, even if it lists none.
    lists_members = action.form == "schema" and "properties" in (action.metadata.output_schema or {})
    if isinstance(shape, Struct) and (shape.members or lists_members):
        return _interface(name, shape)
    return f"export type {name} = {_type(shape, '')};"


def _type(shape: Shape, indent: str) -> str:
    match shape:
        case Atom(name=name):
            return _ATOMS.get(name, name)
        case Choice(values=values):
            return " | ".join(_literal(value) for value in values)
        case ListOf(item=item):
            return f"Array<{_type(item, indent)}>" if item is not None else "unknown[]"
        case RecordOf(item=item):
            return f"Record<string, {_type(item, indent)}>"
        case Struct(members=()):
            return FREE
        case Struct(members=members):
            return _block(members, indent)
        case View(name=name, is_nullable=is_nullable):
            return f"{name} | null" if is_nullable else name
        case AnyOf(members=parts):
            return " | ".join(dict.fromkeys(_type(part, indent) for part in parts))
        case _:
            assert_never(shape)


def _block(members: tuple[Member, ...], indent: str) -> str:
    inner = indent + INDENT
    lines = [
        f"{inner}{_key(member.name)}{'?' if member.is_optional else ''}: {_type(member.shape, inner)};\n"
        for member in members
    ]
    return f"{{\n{''.join(lines)}{indent}}}"


def _key(name: str) -> str:
    return name if _NAME.fullmatch(name) else _quoted(name)


def _literal(value: JSON) -> str:
    if isinstance(value, str):
        return _quoted(value)
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return repr(value) if isinstance(value, int | float) else "unknown"


def _quoted(text: str) -> str:
    text = text.replace("\\", "\\\\").replace("'", "\\'")
    for character, escape in _LINE_BREAKS.items():
        text = text.replace(character, escape)
    return f"'{text}'"
