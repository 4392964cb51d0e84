"""What is told over HTTP, as schemas: the OpenAPI document, and the lines of the four kinds of streams."""

import json
from dataclasses import field, fields, make_dataclass
from types import NoneType
from typing import Any, Final, cast, get_args, get_origin, get_type_hints

import msgspec

from pollux.asgi.openapi import filled
from pollux.cli.schema.events import DRAFT, Schema, ref, require_type
from pollux.core.events import EVENT_TYPES
from pollux.core.messages import Message, Part
from pollux.core.run import Compressed
from pollux.http.lines import JOURNAL_LINES, RUN_LINES
from pollux.page.shapes import PAGE_LINES
from pollux.runbooks.http.lines import RUNBOOK_LINES
from pollux.serve import document

SAID: Final = (Message, Compressed)
"""Classes that hold what was said. msgspec knows no unions of dataclasses, so where these stand is told here."""
EVERY_LINE: Final = tuple(dict.fromkeys((*RUN_LINES, *JOURNAL_LINES, *PAGE_LINES, *RUNBOOK_LINES)))
PRICED: Final = ("ModelReplied", "HistoryCompressed")
"""Events of calls of the model: their lines tell what each cost."""
HANDED_OVER: Final = "ActionHandedOver"
"""Its line tells which run goes on with the action."""
LINE_NAMES: Final = frozenset(line.__name__ for line in EVERY_LINE)


def openapi() -> Schema:
    """The document that /openapi.json answers."""
    return json.loads(document())


def http_lines() -> Schema:
    """Every line: of a run's stream, a journal's, a page's and a runbook's."""
    _, lines = msgspec.json.schema_components(EVERY_LINE)
    events = _events()
    told = {name: _told(name) for name in EVENT_TYPES}
    return {
        "$schema": DRAFT,
        "title": "A line of a stream over HTTP",
        "description": "RunLine: POST /api/agent/run/stream. JournalLine: GET /api/agent/runs/{id}/events. "
        "PageLine: POST /api/page/send-message/stream and /api/page/submit-tool-results/stream. "
        "RunbookLine: GET /api/runbooks/runs/{id}/events.",
        "anyOf": [ref("RunLine"), ref("JournalLine"), ref("PageLine"), ref("RunbookLine")],
        "$defs": {
            "RunLine": {"anyOf": [ref(line.__name__) for line in RUN_LINES]},
            "PageLine": {"anyOf": [ref(line.__name__) for line in PAGE_LINES]},
            "RunbookLine": {"anyOf": [ref(line.__name__) for line in RUNBOOK_LINES]},
            "JournalLine": {"anyOf": [ref(line.__name__) for line in JOURNAL_LINES] + [*told.values()]},
            **{name: _line(lines[name]) if name in LINE_NAMES else filled(lines[name]) for name in sorted(lines)},
            **dict(sorted(events.items())),
        },
    }


def _line(definition: Schema) -> Schema:
    type_ = definition["properties"]["type"]["enum"][0]
    return {**definition, "properties": {**definition["properties"], "type": {"const": type_}}}


def _told(name: str) -> Schema:
    """An event with its number in the journal."""
    members: Schema = {"type": {"const": name}, "seq": {"type": "integer", "minimum": 1}, "data": ref(name)}
    if name in PRICED:
        members["cost"] = {"anyOf": [{"type": "number"}, {"type": "null"}]}
    if name == HANDED_OVER:
        members["childRunId"] = {"type": "string"}
    return {"type": "object", "properties": members, "required": list(members), "additionalProperties": False}


def _events() -> dict[str, Schema]:
    """Every event with what was said in it, as its owner reads it."""
    kinds, parts = (*EVENT_TYPES.values(), *SAID), get_args(Part)
    _, definitions = msgspec.json.schema_components([*map(_without_said, kinds), *parts])
    for kind in kinds:
        for name, hint in get_type_hints(kind).items():
            if _is_said(hint):
                definitions[kind.__name__]["properties"][name] = _said(hint)
    for part in parts:
        require_type(definitions[part.__name__])
    # Of a file the size is told, not its bytes.
    blob = definitions["Blob"]
    blob["properties"]["size"] = {"type": "integer", "minimum": 0}
    del blob["properties"]["data"]
    blob["required"] = [name for name in blob["required"] if name != "data"] + ["size"]
    return {name: filled(definition) for name, definition in definitions.items()}


def _without_said(kind: type[Any]) -> type[Any]:
    """The class with anything at all where something was said."""
    hints = get_type_hints(kind)
    members: list[Any] = [
        (
            known.name,
            Any if _is_said(hints[known.name]) else hints[known.name],
            field(default=known.default, default_factory=cast(Any, known.default_factory)),
        )
        for known in fields(kind)
        # The provider's own form of a message is not told.
        if known.name != "native"
    ]
    made = make_dataclass(kind.__name__, members, kw_only=True)
    made.__doc__ = kind.__doc__
    return made


def _is_said(hint: Any) -> bool:
    return hint in (*SAID, Part) or any(_is_said(inner) for inner in get_args(hint))


def _said(hint: Any) -> Schema:
    if hint in SAID:
        return ref(hint.__name__)
    if get_origin(hint) is tuple:
        return {"type": "array", "items": _said(get_args(hint)[0])}
    if hint == Part:
        return {"anyOf": [ref(part.__name__) for part in get_args(Part)]}
    return {"anyOf": [{"type": "null"} if inner is NoneType else _said(inner) for inner in get_args(hint)]}
