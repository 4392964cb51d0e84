"""A document as a tree that remembers where each part stands, and the limits that hold before anything is built."""

import re
from bisect import bisect_right
from typing import Final, Literal

from pollux.core.errors import ValidationError
from pollux.core.frozen import frozen
from pollux.core.messages import JSON

MOST_BYTES: Final = 1 << 20
DEEPEST: Final = 50
MOST_NODES: Final = 100_000
MOST_ALIASES: Final = 20

_SURROGATE: Final = re.compile("[\ud800-\udfff]")


@frozen
class Node:
    """One value. `start` and `end` are offsets into the text; `members` or `items` are filled by `kind`."""

    kind: Literal["scalar", "mapping", "sequence"]
    line: int
    start: int
    end: int
    value: str | int | float | bool | None = None
    members: "dict[str, Member] | None" = None
    items: "list[Node] | None" = None
    is_flow: bool = False
    """Written on one line, as JSON is; the other way is one line for each part."""
    size: int = 1
    height: int = 0

    def get(self, key: str) -> "Node | None":
        """The member of this name, if this is a mapping that has it."""
        member = (self.members or {}).get(key)
        return None if member is None else member.node


@frozen
class Member:
    """A key of a mapping, where it begins, and what stands behind it."""

    start: int
    node: Node


def plain(node: Node) -> JSON:
    """The value without its places."""
    if node.members is not None:
        return {key: plain(member.node) for key, member in node.members.items()}
    if node.items is not None:
        return [plain(item) for item in node.items]
    return node.value


def mapping(members: dict[str, Member], *, line: int, start: int, end: int, is_flow: bool) -> Node:
    """A mapping, with how large and how high it is."""
    nodes = [member.node for member in members.values()]
    return Node("mapping", line, start, end, None, members, None, is_flow, *_extent(nodes))


def sequence(items: list[Node], *, line: int, start: int, end: int, is_flow: bool) -> Node:
    """A list, with how large and how high it is."""
    return Node("sequence", line, start, end, None, None, items, is_flow, *_extent(items))


def _extent(nodes: list[Node]) -> tuple[int, int]:
    return 1 + sum(node.size for node in nodes), 1 + max((node.height for node in nodes), default=0)


class Lines:
    """Which line an offset is on. The first is 1."""

    def __init__(self, text: str) -> None:
        self._starts = [0, *(found.end() for found in re.finditer("\n", text))]

    def of(self, offset: int) -> int:
        """The line of this offset."""
        return bisect_right(self._starts, offset)


def whole_number(digits: str, base: int, *, line: int) -> int:
    """The integer, if it fits into 64 bits as it must for everybody who reads the file."""
    # Digits beyond these are refused before they are counted: the conversion takes time by their square.
    value = int(digits, base) if len(digits) <= 80 else 2**64
    if not -(2**63) <= value < 2**64:
        raise ValidationError(
            f"expected numbers of at most 64 bits, found a larger one on line {line}. Put it in quotes"
        )
    return value


def check_text(text: str, *, line: int) -> str:
    """Text that has a form in JSON, in a file and in a shell. Raises ValidationError."""
    if "\0" in text:
        raise ValidationError(f"expected text, found a NUL character on line {line}. Remove it")
    if not text.isascii() and _SURROGATE.search(text):
        raise ValidationError(f"expected Unicode text, found half a character (a lone surrogate) on line {line}")
    return text


def too_deep(line: int) -> ValidationError:
    """The refusal of a document that nests too deep."""
    return ValidationError(f"expected at most {DEEPEST} levels, found more on line {line}. Nest the document less")


def too_many(line: int) -> ValidationError:
    """The refusal of a document of too many parts."""
    return ValidationError(f"expected at most {MOST_NODES} values, found more on line {line}. Split the runbook")


def twice(key: str, *, line: int) -> ValidationError:
    """The refusal of a key that stands twice in one place."""
    return ValidationError(
        f"'{key[:80]}' stands twice in one place, the second time on line {line}. Remove one of them"
    )
