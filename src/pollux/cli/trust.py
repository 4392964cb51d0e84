"""`pollux trust`: accept a folder's pollux.toml as it stands, after showing what it would add."""

import argparse
import os
import sys
from pathlib import Path
from textwrap import indent
from typing import Any

from pollux.cli.parser import Parser
from pollux.cli.shown import shown
from pollux.cli.streams import complain
from pollux.config import ConfigError, Project, accept_project, load_project, read_settings

WAITING = 3
EXAMPLES = """\
examples:
  pollux trust .
  pollux trust ~/shop --yes

exit codes: 0 accepted, 1 not accepted, 2 usage, 3 nobody to ask (use --yes)
"""


def main(argv: list[str]) -> int:
    """Run the command; the result is the exit code."""
    arguments = _parser().parse_args(argv)
    folder = Path(arguments.folder)
    if not folder.is_dir():
        raise ConfigError(f"expected a folder that exists, found {arguments.folder!r}", code="usage")
    settings = read_settings(os.environ, cwd=folder.absolute(), flags=vars(arguments))
    project, file = load_project(settings), settings.project_file
    if project.path is None or project.digest is None or file is None:
        raise ConfigError(f"there is no pollux.toml in {folder.absolute()} or above it", code="usage")
    if project.is_accepted:
        print(f"{project.path} is accepted already")
        return 0
    # A part is known by a name that the file gives it. What it allows stands in the text.
    print(f"{project.path}:\n" + indent(shown(file.content.decode("utf-8", "replace")), "  | ", lambda line: True))
    parts = parts_left_out(project)
    print(f"{project.path} adds these parts:" if parts else f"{project.path} adds nothing that needs to be accepted")
    print("".join(f"  {shown(part, lines=False)}\n" for part in parts), end="", flush=True)
    if not arguments.yes and (code := _asked()):
        return code
    accept_project(project.path, settings.home, digest=project.digest)
    print(f"Accepted as it stands. After a change, run `pollux trust {arguments.folder}` again.")
    return 0


def parts_left_out(project: Project) -> list[str]:
    """The parts of the folder's file that count once a person accepts it."""
    return [] if project.is_accepted else [each.part for each in project.left_out if each.is_pending]


def _asked() -> int:
    """0 where the person agrees."""
    from pollux.cli.asking import has_terminal

    if not has_terminal():
        complain("there is nobody to ask. Read the file, then run this with --yes")
        return WAITING
    sys.stderr.write("Accept this file? [y]es / [N]o > ")
    sys.stderr.flush()
    return 0 if sys.stdin.readline().strip().lower() in ("y", "yes") else 1


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="pollux trust",
        description="Accept the pollux.toml of a folder as it stands: its tools, profiles and rules count from then on,"
        " until the file changes.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add: Any = parser.add_argument
    add("folder", nargs="?", default=".", metavar="FOLDER", help="default: the current directory")
    add("--yes", action="store_true", help="accept without a question")
    add("--store", metavar="PATH")
    add("--config", metavar="FILE")
    return parser
