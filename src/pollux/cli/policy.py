"""`pollux policy migrate`: rules that search all arguments as text become rules about one argument.

The difference is printed on standard output, what stays as it is on standard error. A file changes only with --write.
"""

import argparse
import os
import sys
import tempfile
from difflib import unified_diff
from pathlib import Path

from pollux.cli.parser import Parser
from pollux.cli.shown import shown
from pollux.cli.streams import complain
from pollux.config import ConfigError
from pollux.engine.untrusted import read_file
from pollux.tools.policy.migrate import Migrated, migrate

EXAMPLES = """\
examples:
  pollux policy migrate pollux.toml
  pollux policy migrate ~/.config/pollux/config.toml --write

exit codes: 0 no old rule is left, 1 some have to be rewritten by hand, 2 usage
"""
LARGEST = 1 << 20


def main(argv: list[str]) -> int:
    """Run the command; the result is the exit code."""
    arguments = _parser().parse_args(argv)
    path = Path(arguments.file)
    before = _read(path)
    done = migrate(before, name=str(path))
    if done.text != before:
        if arguments.write:
            _write(path, done.text)
        else:
            _print_difference(before, done, path)
    _tell(done, path, is_written=arguments.write)
    return 1 if done.left else 0


def _tell(done: Migrated, path: Path, *, is_written: bool) -> None:
    for each in done.left:
        complain(f"{each}")
    if not done.rewritten:
        complain(f"nothing in {path} {'could' if done.left else 'has to'} be rewritten")
    elif is_written:
        count = len(done.rewritten)
        complain(f"{path} is rewritten: {count} {'change' if count == 1 else 'changes'}. A file that was accepted has"
                 " to be accepted again")  # fmt: skip
    else:
        complain(f"this is what would change; --write changes {path}")


def _print_difference(before: str, done: Migrated, path: Path) -> None:
    old, new = before.splitlines(), done.text.splitlines()
    for line in unified_diff(old, new, str(path), str(path), lineterm="", n=2):
        sys.stdout.write(f"{shown(line, lines=False)}\n")


def _read(path: Path) -> str:
    try:
        content = read_file(path, most=LARGEST)
        if content is None:
            raise ConfigError(f"{path} is not there, or is no file", code="usage")
        if len(content) > LARGEST:
            raise ConfigError(f"{path} is larger than {LARGEST:,} bytes", code="usage")
        return content.decode("utf-8")
    except OSError as problem:
        raise ConfigError(f"{path} cannot be read ({problem.strerror})", code="usage") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{path} is not UTF-8 text. Save it as UTF-8", code="usage") from None


def _write(path: Path, text: str) -> None:
    """In its place at once, with the mode that it had; a link goes on leading to it."""
    path = path.resolve()
    draft = ""
    try:
        descriptor, draft = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        with os.fdopen(descriptor, "wb") as file:
            file.write(text.encode())
        os.chmod(draft, path.stat().st_mode & 0o777)
        os.replace(draft, path)
    except OSError as problem:
        if draft:
            Path(draft).unlink(missing_ok=True)
        raise ConfigError(f"{path} cannot be written ({problem.strerror})", code="usage") from None


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="pollux policy",
        description="Rewrite rules of a former form.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    verb = verbs.add_parser(
        "migrate",
        help="rewrite rules that search all arguments as text",
        description="Print how the rules of a file are written now; with --write, write them so.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    verb.add_argument("file", metavar="FILE", help="a configuration or policy file")
    verb.add_argument("--write", action="store_true", help="change the file")
    return parser
