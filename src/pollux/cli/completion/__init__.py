"""`pollux completion`: what a shell needs to complete our commands, and nothing of ours runs when Tab is pressed."""

import argparse
import sys
from typing import Any, Final

EXAMPLES = """\
examples:
  eval "$(pollux completion bash)"                                       in ~/.bashrc
  eval "$(pollux completion zsh)"                                        in ~/.zshrc, after compinit
  pollux completion fish > ~/.config/fish/completions/pollux.fish
"""
SHELLS: Final = ("bash", "zsh", "fish")


def main(argv: list[str]) -> int:
    """Run the command; the result is the exit code."""
    arguments = _parser().parse_args(argv)
    from pollux.cli.completion.scripts import bash, fish, zsh
    from pollux.cli.completion.words import commands

    written = {"bash": bash, "zsh": zsh, "fish": fish}[arguments.shell]
    sys.stdout.write(written(commands()))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="pollux completion",
        description="Print a script that lets a shell complete commands and options.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add: Any = parser.add_argument
    add("shell", choices=SHELLS)
    add("--store", metavar="PATH", help=argparse.SUPPRESS)
    add("--config", metavar="FILE", help=argparse.SUPPRESS)
    return parser
