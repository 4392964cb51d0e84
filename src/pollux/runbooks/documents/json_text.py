"""Read JSON into nodes. The standard library's reader keeps no places and takes the last of two equal keys."""

import json
import math
import re
from collections.abc import Callable
from json import decoder
from typing import Final, cast

from pollux.core.errors import ValidationError
from pollux.runbooks.documents.nodes import (
    DEEPEST,
    MOST_NODES,
    Lines,
    Member,
    Node,
    check_text,
    mapping,
    sequence,
    too_deep,
    too_many,
    twice,
    whole_number,
)

_BLANK: Final = re.compile(r"[ \t\n\r]*")
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")
# The one part of the standard library's reader that can be used alone; it is written in C.
_string_at = cast("Callable[[str, int, bool], tuple[str, int]]", vars(decoder)["scanstring"])
_WORDS: Final = {"true": True, "false": False, "null": None}


def parse_json(text: str) -> Node:
    """The document's tree. Raises ValidationError with the line of what is wrong."""
    return _Reader(text).document()


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._lines = Lines(text)
        self._at = 0
        self._count = 0

    def document(self) -> Node:
        self._at = 1 if self._text.startswith("\ufeff") else 0
        node = self._value(0)
        if self._next():
            raise self._wrong("the end of the document")
        return node

    def _value(self, depth: int) -> Node:
        char, start = self._next(), self._at
        line = self._lines.of(start)
        self._count += 1
        if depth > DEEPEST:
            raise too_deep(line)
        if self._count > MOST_NODES:
            raise too_many(line)
        match char:
            case "{":
                members = self._members(depth)
                return mapping(members, line=line, start=start, end=self._at, is_flow=True)
            case "[":
                items = self._items(depth)
                return sequence(items, line=line, start=start, end=self._at, is_flow=True)
            case '"':
                return Node("scalar", line, start, value=self._string(), end=self._at)
            case _:
                return Node("scalar", line, start, value=self._scalar(line), end=self._at)

    def _members(self, depth: int) -> dict[str, Member]:
        self._at += 1
        members: dict[str, Member] = {}
        if self._skip("}"):
            return members
        while True:
            if self._next() != '"':
                raise self._wrong("a key in double quotes")
            start = self._at
            key = self._string()
            if key in members:
                raise twice(key, line=self._lines.of(start))
            if not self._skip(":"):
                raise self._wrong("':'")
            members[key] = Member(start, self._value(depth + 1))
            if self._skip("}"):
                return members
            if not self._skip(","):
                raise self._wrong("',' or '}'")

    def _items(self, depth: int) -> list[Node]:
        self._at += 1
        items: list[Node] = []
        if self._skip("]"):
            return items
        while True:
            items.append(self._value(depth + 1))
            if self._skip("]"):
                return items
            if not self._skip(","):
                raise self._wrong("',' or ']'")

    def _string(self) -> str:
        try:
            text, end = _string_at(self._text, self._at + 1, True)
        except json.JSONDecodeError as problem:
            line = self._lines.of(problem.pos)
            raise ValidationError(f"the runbook is not valid JSON: {problem.msg.lower()} (line {line})") from None
        text = check_text(text, line=self._lines.of(self._at))
        self._at = end
        return text

    def _scalar(self, line: int) -> float | bool | None:
        for word, value in _WORDS.items():
            if self._text.startswith(word, self._at):
                self._at += len(word)
                return value
        found = _NUMBER.match(self._text, self._at)
        if found is None:
            raise self._wrong("a value")
        self._at = found.end()
        if found[1] is None and found[2] is None:
            return whole_number(found[0], 10, line=line)
        number = float(found[0])
        if not math.isfinite(number):
            raise ValidationError(f"expected a finite number on line {line}, found one that is too large")
        return number

    def _next(self) -> str:
        """The next character that is not blank; empty at the end."""
        blank = _BLANK.match(self._text, self._at)
        self._at = blank.end() if blank else self._at
        return self._text[self._at : self._at + 1]

    def _skip(self, char: str) -> bool:
        if self._next() != char:
            return False
        self._at += 1
        return True

    def _wrong(self, expected: str) -> ValidationError:
        char = self._next()
        found = f"'{char}'" if char.isprintable() and char else "the end" if not char else "an unprintable character"
        return ValidationError(
            f"the runbook is not valid JSON: expected {expected}, found {found} (line {self._lines.of(self._at)})"
        )
