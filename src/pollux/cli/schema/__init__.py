"""`pollux schema`: what others may rely on, as JSON Schema.

Eight documents hold everything: the lines of `pollux run` in each of its formats, the events of the SDK, those of the
journal as a store keeps them, and what `pollux serve` answers: as OpenAPI, with the lines of its streams beside it. An
event can also be had alone, by its name.
"""

import argparse
import sys
from pathlib import Path
from typing import Any, Final

from pollux.cli.parser import Parser
from pollux.cli.streams import complain

EXAMPLES = """\
examples:
  pollux schema                       what there is
  pollux schema stream-json           the lines of pollux run --output-format stream-json
  pollux schema tool_call_request     one event of the SDK
  pollux schema RunStarted            one event of the journal
  pollux schema openapi               the routes of pollux serve
  pollux schema --write schema        every document, into a folder
"""
LINES: Final = ("stream-json", "json", "gemini-stream-json", "text")
EVENTS: Final = ("sdk-events", "journal-events")
HTTP: Final = ("openapi", "http-lines")

Schema = dict[str, Any]


def main(argv: list[str]) -> int:
    """Run the command; the result is the exit code."""
    arguments = _parser().parse_args(argv)
    if arguments.write is not None:
        return _write(arguments.write)
    if arguments.name is not None:
        sys.stdout.write(written(schema(arguments.name)))
        return 0
    return _list(as_json=arguments.json)


def documents() -> dict[str, Schema]:
    """Every document by its name."""
    from pollux.cli.schema.events import journal_events, sdk_events
    from pollux.cli.schema.http import http_lines, openapi
    from pollux.wire.lines import schema_of

    made = [schema_of(name) for name in LINES] + [sdk_events(), journal_events(), openapi(), http_lines()]
    return dict(zip((*LINES, *EVENTS, *HTTP), made, strict=True))


def schema(name: str) -> Schema:
    """The document of this name, or one event's schema with all that it needs. Raises ValidationError."""
    from pollux.cli.schema.events import alone, names_in

    made = documents()
    if name in made:
        return made[name]
    for group in EVENTS:
        if definition := names_in(made[group]).get(name):
            return alone(made[group], definition)
    from pollux.core.errors import ValidationError

    raise ValidationError(f"there is no schema {name!r}. `pollux schema` lists what there is", code="usage")


def written(document: Schema) -> str:
    """The text of a document: the same on every machine."""
    import json

    return json.dumps(document, indent=2) + "\n"


def _list(*, as_json: bool) -> int:
    from pollux.cli.schema.events import names_in

    made = documents()
    listed = [(name, _title(document)) for name, document in made.items()]
    for group in EVENTS:
        for name, definition in names_in(made[group]).items():
            listed.append((name, _sentence(made[group]["$defs"][definition]["description"])))
    if as_json:
        sys.stdout.write(written({"schemas": [{"name": name, "title": title} for name, title in listed]}))
        return 0
    width = max(len(name) for name, _ in listed)
    sys.stdout.write("".join(f"{name:<{width}}  {title}\n" for name, title in listed))
    return 0


def _title(document: Schema) -> str:
    return str(document.get("title") or f"OpenAPI {document['openapi']} of pollux serve")


def _sentence(text: str) -> str:
    return text.partition(". ")[0].rstrip(".")


def _write(folder: Path) -> int:
    from pollux.core.errors import PolluxError

    made = documents()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, document in made.items():
            (folder / f"{name}.json").write_text(written(document), "utf-8")
    except OSError as problem:
        raise PolluxError(f"{folder} cannot be written ({problem.strerror}). Name another folder") from problem
    complain(f"{len(made)} documents are in {folder}")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="pollux schema",
        description="Print schemas: lines of pollux run, events of the SDK and the journal, routes of pollux serve.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add: Any = parser.add_argument
    add("name", nargs="?", metavar="NAME", help="a document or an event; without one, they are listed")
    add("--write", type=Path, metavar="DIR", help="write every document into a folder")
    add("--json", action="store_true", help="the list as JSON")
    add("--store", metavar="PATH", help=argparse.SUPPRESS)
    add("--config", metavar="FILE", help=argparse.SUPPRESS)
    return parser
