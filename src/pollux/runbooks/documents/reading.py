"""Read a runbook: the text's limits first, then its tree, then its blocks. What goes wrong is a ValidationError."""

import uuid
from functools import lru_cache
from typing import Final

from pollux.core.errors import ValidationError
from pollux.runbooks.documents.blocks import blocks_of, is_uuid
from pollux.runbooks.documents.json_text import parse_json
from pollux.runbooks.documents.model import Form, Notice, Runbook
from pollux.runbooks.documents.nodes import MOST_BYTES, Node
from pollux.runbooks.documents.yaml_text import parse_yaml

MAX_BYTES: Final = MOST_BYTES

_LISTS: Final = uuid.UUID("6f4f0e0c-5d0a-4a55-9d35-1f6b6ad3a2f1")
"""Under which a bare list of blocks gets its id, from its text."""


def read(source: str | bytes, *, form: Form | None = None) -> Runbook:
    """The runbook that this text is: Atuin's YAML, or JSON where it begins like that.

    Raises:
        ValidationError: with the block and the line of what is wrong.
    """
    text = source if isinstance(source, str) else decoded(source)
    _check_size(text)
    return _read(text, form or form_of(text))


def decoded(content: bytes) -> str:
    """The text of a file, which is UTF-8 and not too large. Raises ValidationError."""
    if len(content) > MAX_BYTES:
        raise _too_large()
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as problem:
        line = content.count(b"\n", 0, problem.start) + 1
        raise ValidationError(f"expected UTF-8, found another byte on line {line}. Save the runbook as UTF-8") from None


def form_of(text: str) -> Form:
    """JSON begins with a brace or a bracket, and Atuin's files do not."""
    return "json" if text.lstrip("\ufeff \t\r\n")[:1] in ("{", "[") else "atrb"


def tree_of(text: str, form: Form) -> Node:
    """The document's tree. Raises ValidationError."""
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise ValidationError(f"expected text, found a NUL character on line {line}. Remove it")
    return parse_json(text) if form == "json" else parse_yaml(text)


# A run reads its document again for every block, and it is the same text each time.
@lru_cache(maxsize=16)
def _read(text: str, form: Form) -> Runbook:
    root = tree_of(text, form)
    if root.items is not None:
        blocks, warnings = blocks_of(root)
        return Runbook(str(uuid.uuid5(_LISTS, text)), "", 1, blocks, warnings, text, form)
    content = root.get("content")
    if root.members is None or content is None or content.items is None:
        found = f"found something else on line {root.line if content is None else content.line}"
        raise ValidationError(f"expected a runbook with id, name, version and a list `content`, {found}")
    notices: list[Notice] = []
    id_, name, version = _id(root), _name(root), _version(root, notices)
    blocks, warnings = blocks_of(content)
    return Runbook(id_, name, version, blocks, (*notices, *warnings), text, form)


def _check_size(text: str) -> None:
    if len(text) > MAX_BYTES:
        raise _too_large()
    try:
        size = len(text) if text.isascii() else len(text.encode())
    except UnicodeEncodeError as problem:
        line = text.count("\n", 0, problem.start) + 1
        raise ValidationError(f"expected Unicode text, found half a character on line {line}") from None
    if size > MAX_BYTES:
        raise _too_large()


def _too_large() -> ValidationError:
    return ValidationError(f"expected a runbook of at most {MAX_BYTES:,} bytes, found a larger one. Split it")


def _id(root: Node) -> str:
    node = root.get("id")
    if node is None or not isinstance(node.value, str) or not is_uuid(node.value):
        found = "found none" if node is None else f"found {str(node.value)[:80]!r}"
        line = root.line if node is None else node.line
        raise ValidationError(f"Invalid runbook id: expected a UUID, {found} (line {line})")
    return node.value


def _name(root: Node) -> str:
    node = root.get("name")
    if node is None or (node.value is None and node.kind == "scalar"):
        return ""
    if not isinstance(node.value, str):
        raise ValidationError(f"Invalid runbook name: expected text (line {node.line}). Put it in quotes")
    return node.value


def _version(root: Node, notices: list[Notice]) -> int:
    node = root.get("version")
    if node is None:
        return 1
    if not isinstance(node.value, int) or isinstance(node.value, bool):
        raise ValidationError(
            f"Invalid runbook version: expected a whole number (line {node.line}). The present one is 1"
        )
    if node.value != 1:
        text = f"version {node.value} is not the one that Pollux knows, which is 1 (line {node.line})"
        notices.append(Notice(text, line=node.line))
    return node.value
