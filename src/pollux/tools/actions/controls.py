"""What a plugin's contracts say of the controls of its components: words for the tools that a page makes of them."""

import logging
from collections.abc import Iterable, Iterator

from pollux.core.frozen import frozen
from pollux.tools.actions.documents import Fields, FileError, Items, Node, Scalar, read_document
from pollux.tools.actions.places import find_file
from pollux.tools.actions.plugins import Plugin

logger = logging.getLogger(__name__)


@frozen
class Control:
    """A control by its name in the contract, and what it is for."""

    name: str
    description: str


def controls_of(plugins: Iterable[Plugin]) -> tuple[Control, ...]:
    """Every control that is described. A contract that cannot be read is told of and passed over: only words lack."""
    return tuple(control for plugin in plugins for control in _of_plugin(plugin))


def _of_plugin(plugin: Plugin) -> Iterator[Control]:
    for entry in plugin.contracts:
        path = find_file(plugin.folder, entry.contract)
        if path is None:
            logger.warning("%s lists the contract %s, and there is no such file", plugin.manifest, entry.contract)
            continue
        try:
            tags = read_document(path).root.members.get("tags")
        except FileError as problem:
            logger.warning("a contract cannot be read: %s", problem)
            continue
        yield from _of_tags(tags)


def _of_tags(tags: Node | None) -> Iterator[Control]:
    for tag in tags.items if isinstance(tags, Items) else ():
        if not isinstance(tag, Fields):
            continue
        name, description = _words(tag.members.get("tag")), _words(tag.members.get("description"))
        if name and description and "interactive" in _words(tag.members.get("type")).split():
            yield Control(name, description)
        yield from _of_tags(tag.members.get("tags"))


def _words(node: Node | None) -> str:
    """A text, or several as one."""
    match node:
        case Scalar(value=str() as text):
            return text
        case Items():
            return " ".join(map(_words, node.items))
        case _:
            return ""
