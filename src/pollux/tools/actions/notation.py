"""The compact notation: `query: string`, `limit?: number`, `sort: enum(asc | desc)`, lists and mappings for the rest.

A word that is no type is an error. Jay would leave the member out, and nobody would notice.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from difflib import get_close_matches
from typing import Final, get_args

from pollux.core.frozen import frozen
from pollux.tools.actions.documents import DEEPEST, Document, Fields, FileError, Items, Node, Scalar, brief, kind_of
from pollux.tools.actions.shapes import Atom, AtomName, Choice, ListOf, Member, RecordOf, Shape, Struct, View

WORDS: Final = ("string", "number", "boolean", "file")
FORMS: Final = "string, number, boolean, file, enum(a | b), record(T), T[], a list or a mapping"
LONGEST_NAME: Final = 100
_CALL: Final = re.compile(r"(enum|record)\s*\((.*)\)", re.DOTALL)
_ATOMS: Final = {name: name for name in get_args(AtomName)}


@frozen
class Notation:
    """How a file's types are read: which words it may use beside the types, and where its problems are told."""

    document: Document
    views: Mapping[str, View]
    """What the file imports, by the name it has there."""

    def shape(self, node: Node, depth: int = 1) -> Shape:
        """The shape that a node describes. Raises FileError."""
        match node:
            case Scalar(value=str() as text):
                return self.word(text, node.line)
            case Items(items=()):
                raise self._error(node.line, "expected an item that says what the list holds, found an empty list")
            case Items(items=items):
                return ListOf(self.shape(items[0], depth + 1))
            case Fields():
                return self.struct(node, depth)
            case _:
                raise self._error(node.line, f"expected a type, found {kind_of(node)}. Types are: {FORMS}")

    def struct(self, node: Fields, depth: int = 1) -> Struct:
        """The object that a mapping describes. Raises FileError."""
        members: dict[str, Member] = {}
        for key, value in node.members.items():
            line = node.lines[key]
            name = key.removesuffix("?")
            if not name or name.endswith("?") or len(name) > LONGEST_NAME or not name.isprintable():
                raise self._error(line, f"expected a name such as `limit` or `limit?`, found {brief(key)!r}")
            if name in members:
                raise self._error(line, f"expected {brief(name)!r} once, found it again")
            members[name] = Member(name, self.shape(value, depth + 1), key != name)
        return Struct(tuple(members.values()))

    def word(self, text: str, line: int, depth: int = 1) -> Shape:
        """The shape that a word or a form in one line describes. Raises FileError."""
        text = text.strip()
        if depth > DEEPEST:
            raise self._error(line, f"expected at most {DEEPEST} levels, found more")
        if text.endswith("[]"):
            return ListOf(self.word(text[:-2], line, depth + 1))
        if text in WORDS:
            return Atom(_ATOMS[text])
        if text in self.views:
            return self.views[text]
        if text.endswith("?") and text[:-1] in self.views:
            return replace(self.views[text[:-1]], is_nullable=True)
        if form := _CALL.fullmatch(text):
            inner = form[2].strip()
            return self._choice(inner, line) if form[1] == "enum" else RecordOf(self.word(inner, line, depth + 1))
        raise self._error(line, f"expected a type, found {brief(text)!r}. {self._advice(text)}")

    def _choice(self, inner: str, line: int) -> Choice:
        values = [value.strip() for value in inner.split("|")]
        if not all(values) or len({*values}) < len(values):
            raise self._error(line, f"expected different values such as enum(a | b), found enum({brief(inner)})")
        return Choice(tuple(values))

    def _advice(self, text: str) -> str:
        if text.removesuffix("?") in WORDS:
            return f"What may be missing has the mark at its name: `name?: {text.removesuffix('?')}`"
        if near := get_close_matches(text.lower(), (*WORDS, *self.views), n=1):
            return f"Did you mean {near[0]}? Types are: {FORMS}"
        return f"Types are: {FORMS}, or a contract that `import` names"

    def _error(self, line: int, message: str) -> FileError:
        return self.document.error(line, message)
