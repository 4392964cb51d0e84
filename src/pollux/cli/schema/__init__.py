"""`pollux schema`: what others may rely on, as JSON Schema.

Six documents hold everything: the lines of `pollux run` in each of its formats, the events of the SDK, and those of the
journal as a store keeps them. An event can also be had alone, by its name.
"""

import argparse
import sys
from pathlib import Path
from typing import Any, Final

EXAMPLES = """\
examples:
  pollux schema                       what there is
  pollux schema stream-json           the lines of pollux run --output-format stream-json
  pollux schema tool_call_request     one event of the SDK
  pollux schema RunStarted            one event of the journal
  pollux schema --write schema        every document, into a folder
"""
LINES: Final = ("stream-json", "json", "gemini-stream-json", "text")
EVENTS: Final = ("sdk-events", "journal-events")

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
    from pollux.wire.lines import schema_of

    made = [schema_of(name) for name in LINES] + [sdk_events(), journal_events()]
    return dict(zip((*LINES, *EVENTS), made, strict=True))


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
    listed = [(name, str(document["title"])) for name, document in made.items()]
    for group in EVENTS:
        for name, definition in names_in(made[group]).items():
            listed.append((name, _sentence(made[group]["$defs"][definition]["description"])))
    if as_json:
        sys.stdout.write(written({"schemas": [{"name": name, "title": title} for name, title in listed]}))
        return 0
    width = max(len(name) for name, _ in listed)
    sys.stdout.write("".join(f"{name:<{width}}  {title}\n" for name, title in listed))
    return 0


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
    sys.stderr.write(f"pollux: {len(made)} documents are in {folder}\n")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="pollux schema",
        description="Print JSON Schemas: the lines of pollux run, the events of the SDK, the events of the journal.",
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
