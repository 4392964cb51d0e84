"""Read a small YAML file and keep the line of everything in it, so that whoever wrote it can be told where.

Strict about what YAML can hide (anchors that multiply, depth, tags, keys given twice). Plain words mean what they mean
in YAML 1.2 and in JSON: `no` is text, `true` is not.
"""

import os
import re
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, cast

from pollux.core.errors import ValidationError
from pollux.core.frozen import frozen
from pollux.core.messages import JSON

LARGEST: Final = 128 << 10
DEEPEST: Final = 32
MOST_NODES: Final = 20_000
"""What there is when every alias is written out."""
_CONTROL: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufffe\uffff]")
_BREAK: Final = re.compile("\r\n|[\r\n\x85\u2028\u2029]")
_INTEGER: Final = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_NUMBER: Final = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_WORDS: Final[Mapping[str, JSON]] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_TEXT: Final = "tag:yaml.org,2002:str"
_HINTS: Final = {"cannot start any token": "indent with spaces, and put text with special characters in quotes"}


class FileError(ValidationError):
    """A file that cannot be used. The text begins with the file and the line."""

    def __init__(self, message: str, *, path: Path, line: int) -> None:
        super().__init__(f"{path}:{line}: {message}")
        self.path = path
        self.line = line
        self.reason = message


@frozen
class Scalar:
    """A single value."""

    value: JSON
    line: int


@frozen
class Items:
    """A list."""

    items: "tuple[Node, ...]"
    line: int


@frozen
class Fields:
    """A mapping, in the order of the file. `lines` are those of the keys."""

    members: "Mapping[str, Node]"
    lines: Mapping[str, int]
    line: int


Node = Scalar | Items | Fields


@frozen
class Document:
    """A file and what it holds. Problems with it are told by way of it."""

    path: Path
    root: Fields

    def error(self, line: int, message: str) -> FileError:
        """What is wrong with a line."""
        return FileError(message, path=self.path, line=line)


def read_document(path: Path) -> Document:
    """The file, whose root must be a mapping. Raises FileError."""
    text = _text_of(path)
    root = _Builder(path, text).root()
    if not isinstance(root, Fields):
        raise FileError(f"expected fields such as `name: …`, found {kind_of(root)}", path=path, line=root.line)
    return Document(path, root)


def plain(node: Node) -> JSON:
    """The value without its lines."""
    match node:
        case Scalar(value=value):
            return value
        case Items(items=items):
            return [plain(item) for item in items]
        case Fields(members=members):
            return {key: plain(member) for key, member in members.items()}


def kind_of(node: Node) -> str:
    """What a node is, for people."""
    match node:
        case Items():
            return "a list"
        case Fields():
            return "a mapping"
        case Scalar(value=None):
            return "nothing"
        case Scalar(value=bool() | int() | float()):
            return f"the {'truth value' if isinstance(node.value, bool) else 'number'} {node.value}".lower()
        case Scalar(value=value):
            return f"{brief(value)!r}"


def brief(text: object, most: int = 60) -> str:
    """Text from a file, short enough to be quoted in a message."""
    shown = str(text)
    return shown if len(shown) <= most else shown[: most - 1] + "…"


def _text_of(path: Path) -> str:
    content = _bytes_of(path)
    if len(content) > LARGEST:
        raise FileError(f"expected at most {LARGEST >> 10} KB, found more", path=path, line=1)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        line = content.count(b"\n", 0, problem.start) + 1
        raise FileError("expected text in UTF-8, found other bytes. Save it as UTF-8", path=path, line=line) from None
    if odd := _CONTROL.search(text):
        line = _line_at(text, odd.start())
        raise FileError(f"expected text, found the control character U+{ord(odd[0]):04X}", path=path, line=line)
    return text


def _bytes_of(path: Path) -> bytes:
    try:
        # Not to wait for somebody to write into a pipe.
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise FileError("expected a file, found something else", path=path, line=1)
            return file.read(LARGEST + 1)
    except (OSError, ValueError) as problem:
        if isinstance(problem, FileError):
            raise
        said = problem.strerror if isinstance(problem, OSError) else "no such name is possible"
        raise FileError(f"expected a file, but it cannot be read ({said})", path=path, line=1) from None


def _line_at(text: str, position: int) -> int:
    return sum(1 for _ in _BREAK.finditer(text, 0, position)) + 1


class _Builder:
    """Makes nodes of YAML's events, one after the other, and stops at the first that goes too far."""

    def __init__(self, path: Path, text: str) -> None:
        self._path = path
        self._text = text
        self._events = self._read()
        self._anchors: dict[str, tuple[Node, int, int]] = {}
        """What each anchor stands for, of how many nodes it is made and how deep it goes."""
        self._count = 0

    def root(self) -> Node:
        import yaml

        found: Node | None = None
        for event in self._events:
            if isinstance(event, yaml.DocumentStartEvent):
                if found is not None:
                    raise self._error(_line(event), "expected one document, found a second one after `---`")
                found = self._node(next(self._events), 1)[0]
        if found is None:
            raise self._error(1, "expected fields such as `name: …`, found an empty file")
        return found

    def _read(self) -> "Iterator[Any]":
        import yaml  # Only here: most programs read no such file, and the import is slow.

        loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        try:
            yield from cast("Iterator[Any]", yaml.parse(self._text, Loader=loader))  # pyright: ignore[reportUnknownMemberType]
        except yaml.YAMLError as problem:
            mark = getattr(problem, "problem_mark", None) or getattr(problem, "context_mark", None)
            reason = str(getattr(problem, "problem", None) or getattr(problem, "reason", None) or "it cannot be read")
            hint = next((hint for words, hint in _HINTS.items() if words in reason), "correct it, or put it in quotes")
            line = mark.line + 1 if mark is not None else 1
            # A mark may stand after the last line.
            line = min(line, _line_at(self._text.rstrip(), len(self._text)))
            raise self._error(line, f"expected YAML, but {brief(reason, 200)}; {hint}") from None

    def _node(self, event: Any, depth: int) -> tuple[Node, int, int]:
        """The node that begins here, of how many nodes it is made and how deep it goes."""
        import yaml

        line = _line(event)
        if depth > DEEPEST:
            raise self._error(line, f"expected at most {DEEPEST} levels, found more")
        if isinstance(event, yaml.AliasEvent):
            return self._alias(event, depth)
        self._add(1, line)
        if event.tag is not None and event.tag not in ("!", _TEXT):
            raise self._error(line, f"expected plain values, found the tag {brief(event.tag)!r}")
        match event:
            case yaml.ScalarEvent():
                made: tuple[Node, int, int] = self._scalar(event), 1, 1
            case yaml.SequenceStartEvent():
                made = self._list(line, depth)
            case _:
                made = self._mapping(line, depth)
        if event.anchor is not None:
            self._anchors[event.anchor] = made
        return made

    def _alias(self, event: Any, depth: int) -> tuple[Node, int, int]:
        line = _line(event)
        if event.anchor not in self._anchors:
            raise self._error(line, f"expected `&{brief(event.anchor)}` before `*{brief(event.anchor)}`, found none")
        node, size, height = self._anchors[event.anchor]
        self._add(size, line)
        if depth + height - 1 > DEEPEST:
            raise self._error(line, f"expected at most {DEEPEST} levels, found more")
        return node, size, height

    def _scalar(self, event: Any) -> Scalar:
        line, text = _line(event), str(event.value)
        if event.tag is not None or not event.implicit[0]:
            return Scalar(text, line)
        if text in _WORDS:
            return Scalar(_WORDS[text], line)
        try:
            if _INTEGER.fullmatch(text):
                base = {"0o": 8, "0x": 16}.get(text[:2], 10)
                return Scalar(int(text, base), line)
            if _NUMBER.fullmatch(text):
                return Scalar(_finite(text), line)
        except ValueError:
            raise self._error(line, f"expected a number of bearable size, found {brief(text)!r}") from None
        return Scalar(text, line)

    def _list(self, line: int, depth: int) -> tuple[Node, int, int]:
        import yaml

        items: list[Node] = []
        size = height = 1
        while not isinstance(event := next(self._events), yaml.SequenceEndEvent):
            item, count, below = self._node(event, depth + 1)
            items.append(item)
            size, height = size + count, max(height, below + 1)
        return Items(tuple(items), line), size, height

    def _mapping(self, line: int, depth: int) -> tuple[Node, int, int]:
        import yaml

        members: dict[str, Node] = {}
        lines: dict[str, int] = {}
        size = height = 1
        while not isinstance(event := next(self._events), yaml.MappingEndEvent):
            key = self._key(event)
            at = _line(event)
            if key in members:
                raise self._error(at, f"expected {brief(key)!r} once, found it again (first in line {lines[key]})")
            self._add(1, at)
            value, count, below = self._node(next(self._events), depth + 1)
            members[key], lines[key] = value, at
            size, height = size + count + 1, max(height, below + 1)
        return Fields(members, lines, line), size, height

    def _key(self, event: Any) -> str:
        import yaml

        if not isinstance(event, yaml.ScalarEvent) or not event.value:
            raise self._error(_line(event), "expected a name before the colon, found something else")
        if event.value == "<<":
            raise self._error(_line(event), "expected a name before the colon, found `<<`. Write the members out")
        return str(event.value)

    def _add(self, nodes: int, line: int) -> None:
        self._count += nodes
        if self._count > MOST_NODES:
            raise self._error(line, f"expected at most {MOST_NODES} values, aliases written out; found more")

    def _error(self, line: int, message: str) -> FileError:
        return FileError(message, path=self._path, line=line)


def _line(event: Any) -> int:
    return event.start_mark.line + 1


def _finite(text: str) -> float:
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise ValueError(text)
    return number
