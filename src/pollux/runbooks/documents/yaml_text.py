"""Read YAML into nodes, from the parser's events, so that nothing is built before it was counted.

Aliases are few, tags are those of JSON, keys are text and stand once, and there is one document.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from pollux.core.errors import ValidationError
from pollux.runbooks.documents.nodes import (
    DEEPEST,
    MOST_ALIASES,
    MOST_NODES,
    Member,
    Node,
    check_text,
    mapping,
    sequence,
    too_deep,
    too_many,
    twice,
)
from pollux.runbooks.documents.scalars import resolve

if TYPE_CHECKING:
    from yaml.events import CollectionStartEvent, Event, NodeEvent, ScalarEvent

_PREFIX: Final = "tag:yaml.org,2002:"
_TAGS: Final = {
    "scalar": frozenset({"str", "int", "float", "bool", "null"}),
    "mapping": frozenset({"map"}),
    "sequence": frozenset({"seq"}),
}


def parse_yaml(text: str) -> Node:
    """The document's tree. Raises ValidationError with the line of what is wrong."""
    import yaml

    try:
        return _Reader(text).document(_events(text))
    except yaml.MarkedYAMLError as problem:
        mark = problem.problem_mark or problem.context_mark
        place = f" (line {mark.line + 1})" if mark else ""
        raise ValidationError(f"the runbook is not valid YAML: {problem.problem or problem.context}{place}") from None
    except yaml.reader.ReaderError as problem:
        line = text.count("\n", 0, problem.position) + 1
        raise ValidationError(f"expected text, found a control character on line {line}. Remove it") from None
    except yaml.YAMLError:
        raise ValidationError("the runbook is not valid YAML. Correct it, or write it as JSON") from None


def _events(text: str) -> "Iterator[Event]":
    import yaml

    # libyaml is twenty times faster; where PyYAML was built without it, its own parser reads the same events.
    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return iter(yaml.parse(text, Loader=loader))  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]


class _Reader:
    def __init__(self, text: str) -> None:
        from yaml import events

        self._text = text
        self._kinds = events
        self._count = 0
        self._aliases = 0
        self._anchors: dict[str, Node] = {}

    def document(self, events: "Iterator[Event]") -> Node:
        root: Node | None = None
        for event in events:
            if isinstance(event, self._kinds.DocumentStartEvent) and root is not None:
                line = _line(event)
                raise ValidationError(f"expected one document, found a second one on line {line}. Split the file")
            if isinstance(event, self._kinds.NodeEvent):
                root = self._node(event, events, 0)
        if root is None:
            raise ValidationError("expected a runbook, found an empty file. `pollux runbook new` writes one")
        return root

    def _node(self, event: "Event", events: "Iterator[Event]", depth: int) -> Node:
        self._count += 1
        if depth > DEEPEST:
            raise too_deep(_line(event))
        if self._count > MOST_NODES:
            raise too_many(_line(event))
        if isinstance(event, self._kinds.ScalarEvent):
            node = self._scalar(event)
        elif isinstance(event, self._kinds.CollectionStartEvent):
            node = self._collection(event, events, depth)
        elif isinstance(event, self._kinds.AliasEvent):
            return self._alias(event, depth)
        else:
            raise ValidationError(f"expected a value on line {_line(event)}")
        if event.anchor:
            self._anchors[event.anchor] = node
        return node

    def _alias(self, event: "NodeEvent", depth: int) -> Node:
        line = _line(event)
        node = self._anchors.get(event.anchor or "")
        if node is None:
            # Also one that names what it stands in: that would have no end.
            raise ValidationError(f"'*{event.anchor}' on line {line} names nothing that is complete before it")
        self._aliases += 1
        self._count += node.size
        if self._aliases > MOST_ALIASES:
            raise ValidationError(f"expected at most {MOST_ALIASES} aliases, found more on line {line}. Write them out")
        if self._count > MOST_NODES:
            raise too_many(line)
        if depth + node.height > DEEPEST:
            raise too_deep(line)
        return node

    def _scalar(self, event: "ScalarEvent") -> Node:
        line, tag = _line(event), self._tag(event, "scalar")
        text = check_text(event.value, line=line)
        is_plain = not event.style and not tag
        value = resolve(text, line=line) if is_plain or (tag and tag != "str") else text
        end = event.end_mark.index
        if event.style in ("|", ">"):
            # Its mark is at the start of what follows.
            end = event.start_mark.index + len(self._text[event.start_mark.index : end].rstrip("\r\n "))
        return Node("scalar", line, event.start_mark.index, end, value)

    def _collection(self, event: "CollectionStartEvent", events: "Iterator[Event]", depth: int) -> Node:
        line, start, is_flow = _line(event), event.start_mark.index, bool(event.flow_style)
        if isinstance(event, self._kinds.MappingStartEvent):
            self._tag(event, "mapping")
            members, end = self._members(events, depth, start)
            return mapping(members, line=line, start=start, end=end, is_flow=is_flow)
        self._tag(event, "sequence")
        items, end = self._items(events, depth, start)
        return sequence(items, line=line, start=start, end=end, is_flow=is_flow)

    def _members(self, events: "Iterator[Event]", depth: int, end: int) -> tuple[dict[str, Member], int]:
        members: dict[str, Member] = {}
        for event in events:
            if isinstance(event, self._kinds.MappingEndEvent):
                # A mapping of several lines has no mark of its own at its end: it ends with its last value.
                return members, max(end, event.end_mark.index if self._closes(event) else end)
            start, key = event.start_mark.index, self._key(event, events, depth)
            if key in members:
                raise twice(key, line=_line(event))
            node = self._node(next(events), events, depth + 1)
            members[key] = Member(start, node)
            end = max(end, node.end)
        raise ValidationError("the runbook is not valid YAML: it ends within a mapping")

    def _items(self, events: "Iterator[Event]", depth: int, end: int) -> tuple[list[Node], int]:
        items: list[Node] = []
        for event in events:
            if isinstance(event, self._kinds.SequenceEndEvent):
                return items, max(end, event.end_mark.index if self._closes(event) else end)
            node = self._node(event, events, depth + 1)
            items.append(node)
            end = max(end, node.end)
        raise ValidationError("the runbook is not valid YAML: it ends within a list")

    def _closes(self, event: "Event") -> bool:
        return self._text[event.end_mark.index - 1 : event.end_mark.index] in ("}", "]")

    def _key(self, event: "Event", events: "Iterator[Event]", depth: int) -> str:
        node = self._node(event, events, depth + 1)
        if not isinstance(node.value, str):
            raise ValidationError(
                f"expected text as a key, found something else on line {_line(event)}. Put it in quotes"
            )
        return node.value

    def _tag(self, event: "ScalarEvent | CollectionStartEvent", kind: str) -> str:
        """The JSON type that is named, or nothing. Raises ValidationError for a tag that means more than that."""
        tag: str = event.tag or ""
        if not tag:
            return ""
        if tag == "!":
            return "str" if kind == "scalar" else ""
        name = tag.removeprefix(_PREFIX)
        if not tag.startswith(_PREFIX) or name not in _TAGS[kind]:
            raise ValidationError(
                f"expected plain values, found the tag '{tag[:80]}' on line {_line(event)}. Remove it"
            )
        return name


def _line(event: "Event") -> int:
    return event.start_mark.line + 1
