"""argparse's parser, but what it refuses is said like everything else: without keys, and with what may be meant."""

import argparse
import sys
from contextlib import suppress
from typing import Any, Final, NoReturn

from pollux.cli.streams import harmless

UNKNOWN: Final = "unrecognized arguments: "


class Parser(argparse.ArgumentParser):
    """One command's, and by itself also that of each of its verbs."""

    stray = ""
    """What to say about a word too many."""

    def error(self, message: str) -> NoReturn:
        """Say it, and leave with the code of a wrong command."""
        self.print_usage(sys.stderr)
        if message.startswith(UNKNOWN):
            message = self._explained(message.removeprefix(UNKNOWN))
        with suppress(OSError, ValueError):
            sys.stderr.write(f"{self.prog}: error: {harmless(message)}\n")
        sys.exit(2)

    def _explained(self, words: str) -> str:
        from difflib import get_close_matches

        option = words.split(maxsplit=1)[0].partition("=")[0] if words.strip() else ""
        if not option.startswith("-"):
            return f"{UNKNOWN}{words}" + (f". {self.stray}" if self.stray else "")
        near = get_close_matches(option.replace("_", "-"), _options(self), n=1)
        if near == ["--api-key"]:
            # What follows is a key.
            words = option
        return f"{UNKNOWN}{words}" + (f". Did you mean {near[0]}?" if near else "")


def _options(parser: argparse.ArgumentParser) -> list[str]:
    """Every option, also those of the verbs: an option of theirs that nobody knows is refused by the command."""
    # argparse has no public way to ask. These names of its own have stayed the same since it was made.
    asked: Any = parser
    verbs = [
        verb for action in asked._actions if hasattr(action, "_choices_actions") for verb in action.choices.values()
    ]
    return [*asked._option_string_actions, *(option for verb in verbs for option in _options(verb))]
