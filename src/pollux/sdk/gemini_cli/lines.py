"""The JSON of a session file: a value, a value on each line, or as much of a broken document as is whole.

Read as the program that wrote it would: numbers are doubles, and half a character pair, which JavaScript may leave
behind where it cuts text, becomes the sign for an unknown character. Whatever is wrong is a ValueError that says so.
"""

import json
import math
import re
from collections.abc import Iterator
from typing import Final, NoReturn, cast

from pollux.core.messages import JSON

# A request takes a hundred levels, and what is said lies some levels deeper there than here.
DEEPEST: Final = 80
_HALF: Final = re.compile("[\ud800-\udfff]")
_HALF_ESCAPED: Final = re.compile(r"\\u[dD][89a-fA-F]")
_SPACE: Final = re.compile(r"[ \t\r\n]*")
_EXACT: Final = 2**53


def parse(content: bytes) -> JSON:
    """One JSON value. Raises ValueError with a reason that can be shown."""
    try:
        text = content.decode("utf-8-sig")
        return _mended(_decoder.decode(text), text)
    except UnicodeDecodeError:
        raise ValueError("is not UTF-8") from None
    except json.JSONDecodeError as problem:
        raise ValueError(f"is not whole JSON: {problem.msg.lower()} in column {problem.colno}") from None
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None


def lines_of(content: bytes) -> Iterator[tuple[int, bytes]]:
    """Each line that is not blank, with its number."""
    start, number = 0, 1
    while start <= len(content):
        end = content.find(b"\n", start)
        end = len(content) if end < 0 else end
        if line := content[start:end].strip():
            yield number, line
        start, number = end + 1, number + 1


def beginning(content: bytes) -> tuple[dict[str, JSON], int]:
    """The fields at the beginning of a broken object that are whole, and the line at which it breaks.

    Of the list `messages`, those that are whole.
    """
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        text = content[: problem.start].decode("utf-8-sig", errors="ignore")
    cursor = _Cursor(text)
    fields: dict[str, JSON] = {}
    try:
        _fill(fields, cursor)
    except (ValueError, IndexError, RecursionError):
        pass
    return fields, text.count("\n", 0, cursor.at) + 1


def _fill(fields: dict[str, JSON], cursor: "_Cursor") -> None:
    cursor.expect("{")
    more = True
    while more:
        name = str(cursor.value())
        cursor.expect(":")
        if name == "messages" and cursor.peek() == "[":
            fields[name] = members = list[JSON]()
            _fill_list(members, cursor)
        else:
            fields[name] = cursor.value()
        more = cursor.sign() == ","


def _fill_list(members: list[JSON], cursor: "_Cursor") -> None:
    cursor.expect("[")
    more = True
    while more:
        members.append(cursor.value())
        more = cursor.sign() == ","


class _Cursor:
    """A place in a text. Raises ValueError or IndexError where the text is not what it should be, and stays there."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def peek(self) -> str:
        """The next sign that is not blank."""
        if space := _SPACE.match(self.text, self.at):
            self.at = space.end()
        return self.text[self.at]

    def sign(self) -> str:
        sign = self.peek()
        self.at += 1
        return sign

    def expect(self, sign: str) -> None:
        if self.peek() != sign:
            raise ValueError(f"expected {sign!r}")
        self.at += 1

    def value(self) -> JSON:
        self.peek()
        value, end = _decoder.raw_decode(self.text, self.at)
        value = _walked(value, 0)
        self.at = end
        return value


def _mended(value: JSON, text: str) -> JSON:
    # Most lines can have neither fault, and need not be walked through.
    if _HALF_ESCAPED.search(text) or text.count("[") + text.count("{") > DEEPEST:
        return _walked(value, 0)
    return value


def _walked(value: JSON, depth: int) -> JSON:
    if depth > DEEPEST:
        raise ValueError(_TOO_DEEP)
    match value:
        case str():
            return _HALF.sub("\ufffd", value)
        case list():
            return [_walked(member, depth + 1) for member in cast("list[JSON]", value)]
        case dict():
            members = cast("dict[str, JSON]", value)
            return {_HALF.sub("\ufffd", name): _walked(member, depth + 1) for name, member in members.items()}
        case _:
            return value


def _no_number(word: str) -> NoReturn:
    raise ValueError(f"is not JSON: it holds the number {word}")


def _number(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError("holds a number that is too large")
    return number


def _integer(digits: str) -> int | float:
    number = _number(digits)
    return int(number) if abs(number) <= _EXACT else number


_TOO_DEEP: Final = f"is nested more than {DEEPEST} levels deep"
_decoder = json.JSONDecoder(parse_constant=_no_number, parse_float=_number, parse_int=_integer)
