"""Write YAML as Atuin does: the same emitter, the same choice of quotes, no folding, no aliases."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, cast

from pollux.core.messages import JSON
from pollux.runbooks.documents.model import as_list, as_object
from pollux.runbooks.documents.scalars import is_ambiguous

if TYPE_CHECKING:
    from yaml.events import Event


def to_yaml(value: JSON) -> str:
    """The value as a document, with a newline at its end."""
    import yaml

    # libyaml's emitter, translated, is what Atuin's own files come from.
    dumper: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    emit: Any = yaml.emit  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    text = cast(str, emit(_document(value), Dumper=dumper, width=1 << 30, allow_unicode=True))
    # A bare word is followed by a mark of the document's end, which files do not have.
    return text.removesuffix("...\n")


def _document(value: JSON) -> "Iterator[Event]":
    from yaml import events

    yield events.StreamStartEvent()
    yield events.DocumentStartEvent(explicit=False)
    yield from _node(value)
    yield events.DocumentEndEvent(explicit=False)
    yield events.StreamEndEvent()


def _node(value: JSON) -> "Iterator[Event]":
    from yaml import events

    match value:
        case dict():
            yield events.MappingStartEvent(None, None, True, flow_style=False)
            for key, item in (as_object(value) or {}).items():
                yield from _node(key)
                yield from _node(item)
            yield events.MappingEndEvent()
        case list():
            yield events.SequenceStartEvent(None, None, True, flow_style=False)
            for item in as_list(value) or []:
                yield from _node(item)
            yield events.SequenceEndEvent()
        case str():
            yield events.ScalarEvent(None, None, (True, True), value, style=_style(value))
        case _:
            yield events.ScalarEvent(None, None, (True, True), _word(value))


def _style(text: str) -> str | None:
    if "\n" in text:
        return "|"
    return "'" if is_ambiguous(text) else None


def _word(value: float | bool | None) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case _:
            return repr(value)
