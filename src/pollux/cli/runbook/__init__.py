"""`pollux runbook`: check, run and resume documents of steps, ours or an agent's, under one gate."""

import argparse
import os
from pathlib import Path
from typing import Any

from pollux.cli.arguments import seconds
from pollux.cli.kept import command, here
from pollux.cli.streams import fill_gaps
from pollux.config import ConfigError, Settings, read_settings

EXAMPLES = """\
examples:
  pollux runbook new deploy.atrb
  pollux runbook check deploy.atrb
  pollux runbook run deploy.atrb --trust --var region=eu
  pollux runbook run review.atrb --output-format stream-json
  pollux runbook resume run_1b2c3d --retry 019abe12-2fae-7803-a241-ce877f6d3df1

exit codes: 0 done, 1 error, 2 usage, 3 waiting for approval, 4 needs a person (a block that may have acted was \
interrupted), 130/143 stopped by a signal
"""


def main(argv: list[str]) -> int:
    """Run the command; the result is the exit code."""
    fill_gaps()
    arguments = _parser().parse_args(argv)
    flags = {"store": arguments.store, "config": arguments.config, "model": getattr(arguments, "model", None)}
    flags["sandbox"] = getattr(arguments, "sandbox", None)
    settings = read_settings(os.environ, cwd=_directory(arguments), flags=flags)
    match arguments.verb:
        case "check":
            from pollux.cli.runbook.check import check

            return check(arguments.files, settings, as_json=arguments.json)
        case "list":
            from pollux.cli.runbook.shelves import list_runs

            return list_runs(arguments, settings)
        case "show":
            from pollux.cli.runbook.shelves import show

            return show(arguments, settings)
        case "new":
            from pollux.cli.runbook.new import new

            return new(arguments.file, settings, name=arguments.name)
        case _:
            return _run(arguments, settings)


def _run(arguments: argparse.Namespace, settings: Settings) -> int:
    from pollux.cli.profile import model_of
    from pollux.cli.runbook.going import Going, go

    # Before anything begins: whether there is such a profile.
    model_of(settings, arguments.profile)
    going = Going(
        settings=settings,
        format=arguments.output_format,
        allow=tuple(arguments.allow),
        timeout=arguments.timeout,
        file=arguments.file if arguments.verb == "run" else None,
        # A run that is gone on with stays where it began.
        directory=_directory(arguments) if arguments.verb == "run" else None,
        variables=_variables(arguments.var),
        trust=arguments.verb == "run" and arguments.trust,
        run_id=arguments.run if arguments.verb == "resume" else "",
        retry=getattr(arguments, "retry", None) or "",
        skip=getattr(arguments, "skip", None) or "",
        model=arguments.model or "",
        profile=arguments.profile or "",
    )
    return go(going)


def _directory(arguments: argparse.Namespace) -> Path:
    """Where it runs: where it is told to, else where the document lies."""
    if (named := getattr(arguments, "cwd", None)) is not None:
        directory = Path(named).absolute()
        if not os.path.isdir(directory):
            raise ConfigError(f"--cwd must be a directory that exists, found {named!r}", code="usage")
        return directory.resolve()
    file: Path | None = arguments.file if arguments.verb == "run" else None
    if file is not None and os.path.isdir(file.absolute().parent):
        return file.absolute().parent.resolve()
    return here()


def _variables(given: list[str]) -> dict[str, str]:
    variables: dict[str, str] = {}
    for each in given:
        name, equals, value = each.partition("=")
        if not equals or not name.strip():
            raise ConfigError(f"--var expects NAME=VALUE, found {each!r}", code="usage")
        variables[name.strip()] = value
    return variables


def _parser() -> argparse.ArgumentParser:
    parser, verbs = command("runbook", "Check, run and resume runbooks: JSON or Atuin's .atrb.", EXAMPLES)

    def verb(name: str, description: str) -> Any:
        added = verbs.add_parser(name, help=description[0].lower() + description[1:], description=description)
        added.add_argument("--store", metavar="PATH", help="another store than the configured one")
        added.add_argument("--config", metavar="FILE", help="another configuration file")
        return added.add_argument

    add = verb("check", "Read documents and say what is wrong with them")
    add("files", nargs="+", type=Path, metavar="FILE")
    add("--json", action="store_true", help="one JSON document instead of lines for people")

    add = verb("run", "Run a document")
    add("file", type=Path, metavar="FILE")
    add("--trust", action="store_true", help="accept the document as it stands, now and as long as it stays the same")
    add("--cwd", metavar="DIR", help="where it runs; default: where the document lies")
    _add_going(add)

    add = verb("resume", "Go on with a runbook that waited, was stopped or failed")
    add("run", metavar="RUN")
    how = add.__self__.add_mutually_exclusive_group()
    how.add_argument("--retry", metavar="BLOCK", help="run the block that stopped it again")
    how.add_argument("--skip", metavar="BLOCK", help="go on after the block that stopped it")
    _add_going(add)

    add = verb("list", "List the runbooks in this folder, and the runs of runbooks")
    add("--limit", type=int, default=20, metavar="N")
    add("--json", action="store_true", help="one JSON document instead of lines for people")

    add = verb("show", "Show a document, or how far a run has come")
    add("what", metavar="FILE|RUN")
    add("--json", action="store_true", help="one JSON document instead of lines for people")

    add = verb("new", "Write a document to begin with")
    add("file", type=Path, metavar="FILE")
    add("--name", metavar="TEXT")
    return parser


def _add_going(add: Any) -> None:
    add("--var", action="append", default=[], metavar="NAME=VALUE", help="a variable; also what a dropdown selects")
    add("--allow", action="append", default=[], metavar="RULE", help="tool, tool:subject, or shell:command prefix")
    add("--output-format", choices=("text", "stream-json"), default="text", help="default: text")
    add("--timeout", type=seconds, default=None, metavar="SECONDS", help="for the whole run; default: none")
    add("--model", metavar="NAME", help="for agent blocks that name none")
    add("--profile", metavar="NAME", help="a profile of your configuration, for agent blocks that name none")
    add(
        "--sandbox",
        choices=("auto", "required", "off"),
        help="for agent blocks; required denies scripts, which have none",
    )
