"""Read a plugin's `plugin.yaml`: which actions it has, which of them are described, and where.

The law: what a manifest names is inside of its folder, links followed. Its Python module is what Python finds by
itself; the folder is never searched for code.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from pollux.core.errors import ValidationError
from pollux.core.frozen import frozen
from pollux.tools.actions.documents import (
    Document,
    Fields,
    FileError,
    Items,
    Node,
    Scalar,
    brief,
    kind_of,
    read_document,
)
from pollux.tools.actions.metadata import ActionFile, read_action
from pollux.tools.actions.places import ACTION, CONTRACT, MANIFEST, find_file, objection_to

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,63}")
_TARGET: Final = re.compile(r"\w+(\.\w+)*(:\w+(\.\w+)*)?")


@frozen
class PluginAction:
    """An action as a manifest lists it."""

    name: str
    action: str | None = None
    """The name of the file that describes it, if one does."""
    line: int = 1


@frozen
class PluginContract:
    """A contract as a manifest lists it."""

    name: str
    contract: str
    line: int = 1


@frozen
class Plugin:
    """What a manifest says, as far as actions are concerned."""

    name: str
    folder: Path
    actions: tuple[PluginAction, ...]
    contracts: tuple[PluginContract, ...] = ()
    python: str | None = None
    """Where its handlers are: `package.module`, or `package.module:attribute`."""

    @property
    def manifest(self) -> Path:
        """The file itself."""
        return self.folder / MANIFEST


def read_plugin(folder: str | Path) -> Plugin:
    """The plugin of a folder. Raises FileError with the file, the line and what was expected."""
    folder = Path(folder)
    document = read_document(folder / MANIFEST)
    root = document.root
    name = _text(document, root, "name")
    if not name or not name.isprintable():
        raise document.error(root.line, "expected `name: …`, found none")
    python = _text(document, root, "python")
    if python is not None and not _TARGET.fullmatch(python):
        message = f"expected package.module, or package.module:attribute, found {brief(python)!r}"
        raise document.error(root.lines["python"], message)
    return Plugin(name, folder, tuple(_actions(document)), tuple(_contracts(document)), python)


def resolve_action_metadata_path(
    plugin_dir: str | Path, entry: "str | Mapping[str, object] | PluginAction"
) -> Path | None:
    """Where the file is that describes an action of a manifest; None for an action that no file describes.

    An entry may be as in the manifest: a name, `{name}` or `{name, action}`. Raises FileError for a file that is
    missing, or outside of the plugin's folder.
    """
    folder = Path(plugin_dir)
    line = 1
    match entry:
        case str():
            return None
        case PluginAction(action=named):
            line = entry.line
        case _:
            named = entry.get("action")
    if named is None:
        return None
    if not isinstance(named, str):
        raise ValidationError(f"expected the name of a {ACTION} file as `action`, found {type(named).__name__}")
    manifest = folder / MANIFEST
    if objection := objection_to(named, ACTION):
        raise FileError(f"{objection}, found {brief(named)!r}", path=manifest, line=line)
    found = find_file(folder, named)
    if found is None:
        message = f"expected {brief(named)!r} inside of the plugin's folder, found no such file there"
        raise FileError(message, path=manifest, line=line)
    return found


def described_actions(plugin: Plugin) -> Iterator[tuple[PluginAction, ActionFile]]:
    """The plugin's actions that a file describes, in the order of the manifest. Raises FileError."""
    for entry in plugin.actions:
        path = resolve_action_metadata_path(plugin.folder, entry)
        if path is not None:
            yield entry, read_action(path)


def _actions(document: Document) -> Iterator[PluginAction]:
    names: dict[str, int] = {}
    for node in _list(document, "actions"):
        entry = _action(document, node)
        if entry.name in names:
            first = names[entry.name]
            raise document.error(entry.line, f"expected {entry.name!r} once, found it again (first in line {first})")
        names[entry.name] = entry.line
        yield entry


def _action(document: Document, node: Node) -> PluginAction:
    match node:
        case Scalar(value=str() as name):
            file = None
        case Fields():
            name, file = _text(document, node, "name"), _text(document, node, "action")
        case _:
            raise document.error(node.line, f"expected a name, {{name}} or {{name, action}}, found {kind_of(node)}")
    if name is None or not _NAME.fullmatch(name):
        found = "none" if name is None else repr(brief(name))
        raise document.error(node.line, f"expected the name of an action, such as addToCart, found {found}")
    return PluginAction(name, file, node.line)


def _contracts(document: Document) -> Iterator[PluginContract]:
    for node in _list(document, "contracts"):
        if not isinstance(node, Fields):
            raise document.error(node.line, f"expected {{name, contract}}, found {kind_of(node)}")
        name, file = _text(document, node, "name"), _text(document, node, "contract")
        if name is None or file is None:
            raise document.error(node.line, f"expected {{name, contract}}, found no {'contract' if name else 'name'}")
        if objection := objection_to(file, CONTRACT):
            raise document.error(node.lines["contract"], f"{objection}, found {brief(file)!r}")
        yield PluginContract(name, file, node.line)


def _list(document: Document, key: str) -> tuple[Node, ...]:
    node = document.root.members.get(key)
    if node is None or (isinstance(node, Scalar) and node.value is None):
        return ()
    if not isinstance(node, Items):
        raise document.error(node.line, f"expected a list as `{key}`, found {kind_of(node)}")
    return node.items


def _text(document: Document, node: Fields, key: str) -> str | None:
    found = node.members.get(key)
    if found is None:
        return None
    if not isinstance(found, Scalar) or not isinstance(found.value, str) or not found.value.strip():
        raise document.error(found.line, f"expected text as `{key}`, found {kind_of(found)}")
    return found.value
