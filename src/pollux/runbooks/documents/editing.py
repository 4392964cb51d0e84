"""Write a runbook: what was read unchanged, what was changed with every other line as it was.

A change is made in the text, next to its neighbours. It is then read back; where it does not read as it should, as in a
document of an unusual style, the whole document is written anew.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Final

from pollux.core.errors import ValidationError
from pollux.core.messages import JSON
from pollux.runbooks.documents.model import Block, Form, Runbook, as_list, as_object
from pollux.runbooks.documents.nodes import Member, Node, plain
from pollux.runbooks.documents.reading import read, tree_of
from pollux.runbooks.documents.style import to_yaml

_MARK: Final = "\ufeff"
_REST: Final = re.compile(r"[ \t]+#[^\r\n]*|[ \t]+(?=[\r\n]|\Z)")


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
    if runbook.form == "atrb" and runbook.source.startswith(_MARK):
        # The places in the tree do not count it.
        bare = with_block(read(runbook.source.removeprefix(_MARK), form="atrb"), block)
        return read(_MARK + bare.source, form="atrb")
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
    for make in (
        lambda: _spliced(runbook, node, changes, is_behind=True),
        # A text that keeps the blank lines at its end would take what comes behind it for less of them.
        lambda: _spliced(runbook, node, changes, is_behind=False),
        lambda: _written(whole, runbook.form),
    ):
        text = make()
        if _reads_as(text, runbook.form, whole):
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

Edit = tuple[int, int, str]
"""What stands between two offsets is replaced by these words."""


def _spliced(runbook: Runbook, block: Node, changes: Mapping[str, JSON], *, is_behind: bool) -> str:
    """The source with these members of the block replaced."""
    edits = _edits(runbook, block, changes, is_behind=is_behind)
    text, newline = runbook.source, "\r\n" if "\r\n" in runbook.source else "\n"
    for start, end, words in sorted(edits, reverse=True):
        text = text[:start] + words.replace("\n", newline) + text[end:]
    return text


def _edits(runbook: Runbook, owner: Node, told: Mapping[str, JSON], *, is_behind: bool) -> list[Edit]:
    """Those of its members that differ, and the new ones at its end: behind its last one, or before that."""
    members = owner.members or {}
    edits: list[Edit] = []
    for key, member in members.items():
        if key in told and plain(member.node) != told[key]:
            edits += _edits_of(runbook, owner, member, key, told[key], is_behind=is_behind)
    added = [(key, value) for key, value in told.items() if key not in members]
    if added and members:
        last = list(members.values())[-1]
        edits.append(_addition(runbook, owner, last, added, is_behind=is_behind))
    return edits


def _edits_of(runbook: Runbook, owner: Node, member: Member, key: str, value: JSON, *, is_behind: bool) -> list[Edit]:
    node, told = member.node, as_object(value)
    if runbook.form == "json":
        return [(node.start, node.end, _padded(_json(value, 2), _margin(runbook, node)))]
    if owner.is_flow:
        # What is written as JSON is stays so.
        return [(node.start, node.end, _json(value))]
    if told and node.members and not node.is_flow and told.keys() >= node.members.keys():
        return _edits(runbook, node, told, is_behind=is_behind)
    words, rest = _pair(runbook, key, value, member.start), _rest(runbook.source, node.end)
    if "\n" in words:
        # Behind several lines a remark would be a part of them. It stands behind the first.
        first, others = words.split("\n", 1)
        words = f"{first}{rest.rstrip()}\n{others}"
        return [(member.start, node.end + len(rest), words)]
    return [(member.start, node.end, words)]


def _addition(
    runbook: Runbook, owner: Node, last: Member, added: Sequence[tuple[str, JSON]], *, is_behind: bool
) -> Edit:
    if runbook.form == "json" or owner.is_flow:
        place = last.node.end if is_behind else last.start
        words = ", ".join(f"{json.dumps(key, ensure_ascii=False)}: {_json(value)}" for key, value in added)
        return place, place, f", {words}" if is_behind else f"{words}, "
    margin = " " * _column(runbook.source, last.start)
    pairs = [_pair(runbook, key, value, last.start) for key, value in added]
    if not is_behind:
        return last.start, last.start, "".join(f"{pair}\n{margin}" for pair in pairs)
    place = last.node.end + len(_rest(runbook.source, last.node.end))
    return place, place, "".join(f"\n{margin}{pair}" for pair in pairs)


def _rest(text: str, end: int) -> str:
    """What stands behind a value on its last line, where that is blank or a remark."""
    found = _REST.match(text, end)
    return found[0] if found else ""


def _json(value: JSON, indent: int | None = None) -> str:
    return json.dumps(value, indent=indent, ensure_ascii=False)


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
