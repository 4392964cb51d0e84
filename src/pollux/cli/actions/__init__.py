"""`pollux actions`: what may or may not have happened; and the actions that plugins describe."""

import argparse
from typing import Any

from pollux.cli.kept import command, settings_of, some, verb

EXAMPLES = """\
examples:
  pollux actions list
  pollux actions settle act_1b2c3d_1.0 --done
  pollux actions settle act_1b2c3d_1.0 --not-done --json
  POLLUX_TOKEN=… pollux actions settle act_1b2c3d_1.0 --done --server https://agents.example.com
  pollux actions check plugins/shop
  pollux actions types plugins/shop --python
  pollux actions index plugins

exit codes: 0; 1 error, also when there is nothing to settle or something is wrong with a plugin; 2 usage
"""


def main(argv: list[str]) -> int:
    """Run the command; the result is the exit code."""
    arguments = _parser().parse_args(argv)
    if arguments.verb in ("list", "settle"):
        from pollux.cli.actions import outcomes

        settings = settings_of(arguments)
        return (outcomes.list_unknown if arguments.verb == "list" else outcomes.settle)(arguments, settings)
    from pollux.cli.actions import described

    return {"check": described.check, "types": described.types, "index": described.index}[arguments.verb](arguments)


def _parser() -> argparse.ArgumentParser:
    parser, verbs = command(
        "actions",
        "What may or may not have happened: find out, then say so. And the actions that plugins describe.",
        EXAMPLES,
    )
    list_ = verb(verbs, "list", "List the actions whose outcome is unknown, newest first.", lists=True)
    list_("--limit", type=some, default=25, metavar="N", help="at most so many (default: 25)")
    settle = verb(verbs, "settle", "Say whether an action happened. It is recorded, and nothing runs.", lists=True)
    settle("id", metavar="ID")
    settle("--server", metavar="URL", help="tell a running `pollux serve` instead of the store")
    outcome = verbs.choices["settle"].add_mutually_exclusive_group(required=True)
    outcome.add_argument("--done", dest="outcome", action="store_const", const="done", help="it happened")
    outcome.add_argument("--not-done", dest="outcome", action="store_const", const="not_done", help="it did not happen")
    _described(verbs)
    return parser


def _described(verbs: Any) -> None:
    check = _verb(verbs, "check", "Hold the handlers of plugins against the .jay-action files that describe them.")
    check("--use", metavar="MODULE", action="append", default=[], help="where more handlers are: package.module[:name]")
    types = _verb(verbs, "types", "Write the types of .jay-action files beside them, as Jay does.")
    types("--python", action="store_true", help="as Python: a module of TypedDicts")
    types("--stdout", action="store_true", help="print them, and write nothing")
    index = _verb(verbs, "index", "Write the index that coding agents read: plugins, contracts, described actions.")
    where = "where to (default: agent-kit/plugins-index.yaml)"
    index("--output", metavar="FILE", default="agent-kit/plugins-index.yaml", help=where)
    index("--stdout", action="store_true", help="print it, and write nothing")


def _verb(verbs: Any, name: str, description: str) -> Any:
    """A verb about files. These need no store and no configuration."""
    said = description[0].lower() + description[1:].rstrip(".")
    parser = verbs.add_parser(name, help=said, description=description, allow_abbrev=False)
    parser.add_argument("folders", metavar="DIR", nargs="*", default=["."], help="where to look (default: here)")
    return parser.add_argument
