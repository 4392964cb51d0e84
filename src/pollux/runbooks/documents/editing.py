"""Write a runbook: what was read unchanged, what was changed with every other line as it was.

A change is made in the text, next to its neighbours. It is then read back; where it does not read as it should, as in a
document of an unusual style, the whole document is written anew.
"""

import json
from collections.abc import Mapping, Sequence

from pollux.core.errors import ValidationError
from pollux.core.messages import JSON
from pollux.runbooks.documents.model import Block, Form, Runbook, as_list, as_object
from pollux.runbooks.documents.nodes import Node, plain
from pollux.runbooks.documents.reading import read, tree_of
from pollux.runbooks.documents.style import to_yaml


def write(runbook: Runbook) -> bytes:
    """The file that this runbook was read from, byte for byte."""
    return runbook.source.encode()


def new_runbook(*, id: str, name: str, content: Sequence[Mapping[str, JSON]], form: Form = "atrb") -> Runbook:
    """A runbook that was not there before. Raises ValidationError for blocks that could not be read back."""
    document: JSON = {"id": id, "name": name, "version": 1, "content": [dict(block) for block in content]}
    return read(_written(document, form), form=form)


def new_block(type: str, props: Mapping[str, JSON] | None = None, /, *, id: str, **more: JSON) -> dict[str, JSON]:
    """A block as documents have it. Its properties are given as they are, by name, or both."""
    return {"id": id, "type": type, "props": {**(props or {}), **more}, "children": []}


def with_block(runbook: Runbook, block: Block) -> Runbook:
    """The runbook with the block of this id changed to this type, these properties and this text.

    Raises ValidationError where there is no such block, or where it could not be read back.
    """
    former = runbook.block(block.id)
    if former is None:
        raise ValidationError(f"there is no block {block.id[:80]} in this runbook. Its blocks are listed by their ids")
    root = tree_of(runbook.source, runbook.form)
    node = _find(root if root.items is not None else root.get("content"), block.id)
    assert node is not None and node.members is not None
    changes: dict[str, JSON] = {}
    if block.type != former.type:
        changes["type"] = block.type
    if dict(block.props) != former.props:
        changes["props"] = dict(block.props)
    if block.content != former.content:
        changes["content"] = [{"type": "text", "text": block.content, "styles": {}}] if block.content else []
    if not changes:
        return runbook
    whole = _changed(plain(root), block.id, changes)
    for text in (_spliced(runbook, node, changes), _written(whole, runbook.form)):
        if text is not None and _reads_as(text, runbook.form, whole):
            return read(text, form=runbook.form)
    raise ValidationError(
        f"block {block.id[:80]} holds text that has no form in {runbook.form}. Remove what is unprintable"
    )


def _written(document: JSON, form: Form) -> str:
    return to_yaml(document) if form == "atrb" else json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _reads_as(text: str, form: Form, expected: JSON) -> bool:
    try:
        return plain(tree_of(text, form)) == expected
    except ValidationError:
        return False


def _find(content: Node | None, id: str) -> Node | None:
    for node in (content.items if content else None) or []:
        own = node.get("id")
        found = node if own is not None and own.value == id else _find(node.get("children"), id)
        if found is not None:
            return found
    return None


def _changed(value: JSON, id: str, changes: Mapping[str, JSON]) -> JSON:
    """The document with the block of this id changed."""
    document = as_object(value)
    for block in as_list(value if document is None else document["content"]) or []:
        if block.get("id") == id:
            block.update(changes)
        elif block.get("children"):
            _changed(block["children"], id, changes)
    return value


# In the text


def _spliced(runbook: Runbook, block: Node, changes: Mapping[str, JSON]) -> str | None:
    """The source with these members of the block replaced; None where they have no place in it."""
    edits: list[tuple[int, int, str]] = []
    for key, value in changes.items():
        found = _edits(runbook, block, key, value)
        if found is None:
            return None
        edits += found
    text = runbook.source
    for start, end, words in sorted(edits, reverse=True):
        text = text[:start] + words + text[end:]
    return text


def _edits(runbook: Runbook, owner: Node, key: str, value: JSON) -> list[tuple[int, int, str]] | None:
    member = (owner.members or {}).get(key)
    if member is None:
        return None
    node = member.node
    told = as_object(value)
    if runbook.form == "atrb" and told and node.members and told.keys() >= node.members.keys():
        return _inner_edits(runbook, node, told)
    if runbook.form == "json":
        return [
            (node.start, node.end, _padded(json.dumps(value, indent=2, ensure_ascii=False), _margin(runbook, node)))
        ]
    if owner.is_flow:
        return None
    return [(member.start, node.end, _pair(runbook, key, value, member.start))]


def _inner_edits(runbook: Runbook, node: Node, value: Mapping[str, JSON]) -> list[tuple[int, int, str]] | None:
    """Only those members of a mapping that differ, and the new ones behind its last."""
    assert node.members is not None
    if node.is_flow:
        return None
    edits: list[tuple[int, int, str]] = []
    for key, member in node.members.items():
        if plain(member.node) != value[key]:
            edits.append((member.start, member.node.end, _pair(runbook, key, value[key], member.start)))
    last = list(node.members.values())[-1]
    added = [_pair(runbook, key, value[key], last.start) for key in value if key not in node.members]
    if added:
        margin = " " * _column(runbook.source, last.start)
        words = "".join(f"\n{margin}{pair}" for pair in added)
        edits = [(start, end, text) for start, end, text in edits if start != last.start] + [
            (
                last.start,
                last.node.end,
                _last_text(edits, last.start, runbook.source[last.start : last.node.end]) + words,
            )
        ]
    return edits


def _last_text(edits: list[tuple[int, int, str]], start: int, former: str) -> str:
    return next((text for begun, _, text in edits if begun == start), former)


def _pair(runbook: Runbook, key: str, value: JSON, start: int) -> str:
    return _padded(to_yaml({key: value}).removesuffix("\n"), _column(runbook.source, start))


def _padded(text: str, margin: int) -> str:
    first, *others = text.split("\n")
    return "\n".join([first, *(" " * margin + line if line else line for line in others)])


def _column(text: str, offset: int) -> int:
    return offset - (text.rfind("\n", 0, offset) + 1)


def _margin(runbook: Runbook, node: Node) -> int:
    """How far the line is indented that the value stands on."""
    line = runbook.source[runbook.source.rfind("\n", 0, node.start) + 1 : node.start]
    return len(line) - len(line.lstrip(" "))
