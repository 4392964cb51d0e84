"""A runbook and its blocks, as facts. What they were read from is kept, so that they are written back unchanged."""

import hashlib
from collections.abc import Mapping
from dataclasses import field
from typing import Literal, cast

from pollux.core.frozen import frozen
from pollux.core.messages import JSON

Form = Literal["atrb", "json"]


@frozen
class Block:
    """One step. `content` is its text without styles; `depth` says how many blocks it stands in."""

    id: str
    type: str
    name: str = ""
    props: Mapping[str, JSON] = field(default_factory=dict[str, JSON])
    content: str = ""
    line: int = 0
    index: int = 0
    depth: int = 0


@frozen
class Notice:
    """Something in a document that does not stop it from being read. The text names block and line."""

    text: str
    block: str = ""
    line: int = 0
    is_hazard: bool = False
    """Nothing is run: this block never could, or the ones after it would act where they are not meant to."""

    def __str__(self) -> str:
        return self.text


@frozen
class Runbook:
    """A document of steps. `blocks` are all of them in the order of the document, nested ones after the one around."""

    id: str
    name: str
    version: int = 1
    blocks: tuple[Block, ...] = ()
    warnings: tuple[Notice, ...] = ()
    source: str = field(default="", repr=False)
    form: Form = "atrb"

    @property
    def digest(self) -> str:
        """What the document is pinned by: its content, wherever it lies."""
        return hashlib.sha256(self.source.encode()).hexdigest()

    @property
    def hazard(self) -> Notice | None:
        """Why nothing of it is run, if there is a reason."""
        return next((notice for notice in self.warnings if notice.is_hazard), None)

    def block(self, id: str) -> Block | None:
        """The block of this id."""
        return next((block for block in self.blocks if block.id == id), None)


def as_object(value: JSON) -> dict[str, JSON] | None:
    """The value, if it has members."""
    return cast("dict[str, JSON]", value) if isinstance(value, dict) else None


def as_list(value: JSON) -> list[JSON] | None:
    """The value, if it is a list."""
    return cast("list[JSON]", value) if isinstance(value, list) else None


def place_of(block: Block) -> str:
    """Where a person finds the block, as the end of a sentence."""
    name = f"'{block.name[:80]}', " if block.name else ""
    return f"({block.type} block {name}id {block.id[:80]}, line {block.line})"


def kind_of(value: object) -> str:
    """What a property is, in a reader's words."""
    match value:
        case bool():
            return "true or false"
        case int() | float():
            return "a number"
        case list():
            return "a list"
        case _:
            return "an object"
