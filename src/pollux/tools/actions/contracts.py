"""What a `.jay-contract` says of the data that a component shows. Who clicks where is not of interest here."""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

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
from pollux.tools.actions.names import camel_case, type_name
from pollux.tools.actions.notation import Notation
from pollux.tools.actions.places import CONTRACT, find_contract, objection_to
from pollux.tools.actions.shapes import Atom, ListOf, Member, Shape, Struct, View

_KINDS: Final = ("data", "variant", "interactive", "sub-contract")
_SPACES: Final = re.compile(r"[-_\s]+")
_DEEPEST_LINK: Final = 8


@frozen
class Reader:
    """Reads a contract, and those that it links to."""

    document: Document
    seen: tuple[Path, ...]

    def shape(self) -> Struct:
        """What the contract's tags say. Raises FileError."""
        tags = self.document.root.members.get("tags")
        if tags is None:
            raise self.document.error(self.document.root.line, "expected `tags`, a list, found none")
        return Struct(tuple(self._members(tags)))

    def _members(self, tags: Node) -> Iterator[Member]:
        if not isinstance(tags, Items):
            raise self.document.error(tags.line, f"expected a list of tags, found {kind_of(tags)}")
        names: set[str] = set()
        for tag in tags.items:
            if not isinstance(tag, Fields):
                raise self.document.error(tag.line, f"expected a tag such as `tag: title`, found {kind_of(tag)}")
            member = self._member(tag)
            if member is None:
                continue
            if member.name in names:
                raise self.document.error(tag.line, f"expected the tag {brief(member.name)!r} once, found it again")
            names.add(member.name)
            yield member

    def _member(self, tag: Fields) -> Member | None:
        """What a tag shows; nothing if it can only be used."""
        name = self._text(tag, "tag")
        kinds = self._kinds(tag)
        is_optional = not _is_true(tag.members.get("required"))
        called = camel_case(name) if _SPACES.search(name) else name
        if "sub-contract" in kinds:
            inner = self._inner(tag)
            return Member(called, ListOf(inner) if _is_true(tag.members.get("repeated")) else inner, is_optional)
        if "data" not in kinds and "variant" not in kinds:
            return None
        return Member(called, self._data_type(tag), is_optional)

    def _data_type(self, tag: Fields) -> Shape:
        if "dataType" not in tag.members:
            return Atom("string")
        text = self._text(tag, "dataType")
        if text.lower() == "date":
            return Atom("string")
        return Notation(self.document, {}).word(text, tag.members["dataType"].line)

    def _inner(self, tag: Fields) -> Struct:
        if "link" not in tag.members:
            if "tags" not in tag.members:
                raise self.document.error(tag.line, "expected `tags` or `link` in a sub-contract, found neither")
            return Struct(tuple(self._members(tag.members["tags"])))
        name = self._text(tag, "link")
        name = name if name.endswith(CONTRACT) else name + CONTRACT
        path = _found(self.document, name, tag.members["link"].line)
        if path.resolve() in self.seen or len(self.seen) > _DEEPEST_LINK:
            # A list of comments that have comments: how far down it goes, only the data know.
            return Struct(())
        return _reader(path, self.seen).shape()

    def _kinds(self, tag: Fields) -> set[str]:
        # Without a word of its own a tag is data.
        node = tag.members.get("type", Scalar("data", tag.line))
        nodes = node.items if isinstance(node, Items) else (node,)
        kinds = {each.value for each in nodes if isinstance(each, Scalar)}
        if not kinds or len(kinds) < len(nodes) or not kinds <= {*_KINDS}:
            raise self.document.error(node.line, f"expected a type of tag ({', '.join(_KINDS)}), found another")
        return kinds

    def _text(self, tag: Fields, key: str) -> str:
        node = tag.members.get(key)
        if not isinstance(node, Scalar) or not isinstance(node.value, str) or not node.value.isprintable():
            line = node.line if node is not None else tag.line
            found = kind_of(node) if node is not None else "none"
            raise self.document.error(line, f"expected text as `{key}`, found {found}")
        return node.value


def read_view(document: Document, name: str, line: int) -> View:
    """The contract that an action's file imports. Raises FileError for one that is missing or broken."""
    path = _found(document, name, line)
    # By text: the file that is written stands beside the action's.
    source = Path(os.path.relpath(path, document.path.parent)).as_posix()
    source = source if source.startswith("../") else f"./{source}"
    return View(f"{type_name(path.name.removesuffix(CONTRACT))}ViewState", source, _reader(path, ()).shape())


def _reader(path: Path, seen: tuple[Path, ...]) -> Reader:
    return Reader(read_document(path), (*seen, path.resolve()))


def _found(document: Document, name: str, line: int) -> Path:
    if objection := objection_to(name, CONTRACT):
        raise document.error(line, f"{objection}, found {brief(name)!r}")
    path = find_contract(document.path, name)
    if path is None:
        raise _missing(document, name, line)
    return path


def _missing(document: Document, name: str, line: int) -> FileError:
    return document.error(
        line, f"expected the contract {brief(name)!r} beside this file or in the plugin's folder, found none"
    )


def _is_true(node: Node | None) -> bool:
    return isinstance(node, Scalar) and node.value is True
