"""From nodes to blocks: what every block must have, and what is passed over with a warning."""

import json
import re
from collections.abc import Iterator
from typing import Final

from pollux.core.errors import ValidationError
from pollux.core.messages import JSON
from pollux.runbooks.documents import kinds
from pollux.runbooks.documents.agent import UNNAMED_AGENT, agent_of, agent_warnings
from pollux.runbooks.documents.model import Block, Notice, as_object, kind_of, place_of
from pollux.runbooks.documents.nodes import Node, plain

MOST_BLOCKS: Final = 2_000

_UUID: Final = re.compile(
    r"(?:urn:uuid:)?[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9a-f]{32}"
    r"|\{[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\}",
    re.IGNORECASE,
)


def blocks_of(content: Node) -> tuple[tuple[Block, ...], tuple[Notice, ...]]:
    """Every block in the order of the document, and what there is to say about them. Raises ValidationError."""
    blocks: list[Block] = []
    warnings: list[Notice] = []
    waiting = [(node, 0) for node in reversed(content.items or [])]
    while waiting:
        node, depth = waiting.pop()
        if len(blocks) == MOST_BLOCKS:
            raise ValidationError(
                f"expected at most {MOST_BLOCKS} blocks, found more on line {node.line}. Split the runbook"
            )
        block = _block(node, index=len(blocks), depth=depth)
        blocks.append(block)
        warnings += _warnings(block)
        children = node.get("children")
        if children is not None and children.items is None and children.value is not None:
            warnings.append(Notice(f"children: expected a list, so they are passed over {place_of(block)}", block.id))
        waiting += [(child, depth + 1) for child in reversed((children.items if children else None) or [])]
    warnings += _check_ids(blocks)
    return tuple(blocks), tuple(warnings)


def _block(node: Node, *, index: int, depth: int) -> Block:
    place = f"(block {index + 1}, line {node.line})"
    if node.members is None:
        raise ValidationError(f"Invalid block: expected an object with id, type and props {place}")
    id_ = _text(node.get("id"))
    type_ = _text(node.get("type"))
    if id_ is None:
        named = f"{type_[:80]} block {index + 1}" if type_ else f"block {index + 1}"
        raise ValidationError(f"Missing block id ({named}, line {node.line}). Give it `id`, a UUID")
    if type_ is None:
        raise ValidationError(
            f"Missing block type (block {id_[:80]}, line {node.line}). Give it `type`, such as script"
        )
    runs = type_ in kinds.RUNS
    props = node.get("props")
    if runs and (props is None or props.members is None):
        found = "found none" if props is None else f"found {_kind(props)}"
        raise ValidationError(
            f"Missing props ({type_} block {id_[:80]}, line {node.line}): expected an object, {found}"
        )
    values = (as_object(plain(props)) if props is not None else None) or {}
    name = values.get("name")
    block = Block(
        id_,
        type_,
        name if isinstance(name, str) else (UNNAMED_AGENT if type_ == "agent" else ""),
        values,
        _content(node.get("content")),
        node.line,
        index,
        depth,
    )
    if runs and not is_uuid(id_):
        raise ValidationError(f"Invalid block id: expected a UUID, found '{id_[:80]}' {place_of(block)}")
    if type_ == "agent":
        agent_of(block)
    return block


def is_uuid(text: str) -> bool:
    """Whether it is a UUID, in one of the forms that Atuin reads."""
    return _UUID.fullmatch(text) is not None


def _text(node: Node | None) -> str | None:
    return node.value if node is not None and isinstance(node.value, str) else None


def _kind(node: Node) -> str:
    return {"mapping": "an object", "sequence": "a list"}.get(node.kind, "something else")


def _content(node: Node | None) -> str:
    """The text of a block without its styles. A link counts with the words that are shown for it."""
    if node is None:
        return ""
    if node.items is None:
        return "" if node.value is None or node.members is not None or isinstance(node.value, bool) else str(node.value)
    parts: list[str] = []
    for item in node.items:
        match _text(item.get("type")):
            case "text":
                parts.append(_text(item.get("text")) or "")
            case "link":
                parts.append(_content(item.get("content")))
            case _:
                continue
    return "".join(parts)


# Warnings


def _warnings(block: Block) -> list[Notice]:
    found: list[str] = []
    if block.type in kinds.ELSEWHERE:
        found.append(f"Pollux does not run {block.type} blocks: it is passed over")
    elif block.type not in kinds.RUNS | kinds.READS:
        found.append(f"'{block.type[:80]}' is no type of block that Pollux knows: it is passed over")
    if block.type == "agent":
        found += agent_warnings(block)
    if "dependency" in block.props and not _is_dependency(block.props["dependency"]):
        found.append("dependency: expected an object written as text, such as '{}'; it is passed over")
    hazards = [*_no_texts(block), *_no_seconds(block)]
    if _is_elsewhere(block):
        found, hazards = [], [f"Pollux does not run {block.type} blocks, and what follows is meant for another machine"]
    place = place_of(block)
    return [
        Notice(f"{text} {place}", block.id, block.line, is_hazard)
        for texts, is_hazard in ((hazards, True), (found, False))
        for text in texts
    ]


def _no_texts(block: Block) -> Iterator[str]:
    """A number or a truth where the block needs text: it would stop there, after the blocks before it have acted."""
    for name in kinds.TEXTS.get(block.type, ()):
        value = block.props.get(name)
        if value is not None and not isinstance(value, str):
            yield f"{name} must be text, found {kind_of(value)}. Put it in quotes"


def _no_seconds(block: Block) -> Iterator[str]:
    """A time-out that is none, for the same reason. An agent's is a whole number."""
    value = block.props.get("timeoutSeconds")
    if block.type not in kinds.TIMED or value is None:
        return
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not (is_number and 0 < value <= kinds.LONGEST_SECONDS) or (block.type == "agent" and not isinstance(value, int)):
        whole = "a whole number" if block.type == "agent" else "a number"
        most = f"{kinds.LONGEST_SECONDS:,}"
        yield f"timeoutSeconds must be {whole} of seconds above 0 and up to {most}, found {str(value)[:80]!r}"


def _is_elsewhere(block: Block) -> bool:
    if block.type not in kinds.MOVES:
        return False
    host = block.props.get("host")
    return not (block.type == "host-select" and (host is None or (isinstance(host, str) and host in kinds.HERE)))


def _is_dependency(value: JSON) -> bool:
    if not isinstance(value, str):
        return isinstance(value, dict)
    try:
        return isinstance(json.loads(value or "{}"), dict)
    except (ValueError, RecursionError):
        return False


def _check_ids(blocks: list[Block]) -> list[Notice]:
    """Results are kept by a block's id, so two blocks that run must not share one."""
    known: dict[str, Block] = {}
    warnings: list[Notice] = []
    for block in blocks:
        first = known.setdefault(block.id.lower(), block)
        if first is block:
            continue
        text = f"Duplicate block id: line {first.line} has it too {place_of(block)}"
        if first.type in kinds.RUNS or block.type in kinds.RUNS:
            raise ValidationError(f"{text}. Give one of them another UUID")
        warnings.append(Notice(text, block.id, block.line))
    return warnings
