"""The words that may follow one another on our command line, read off the commands' own parsers."""

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from pollux.core.frozen import frozen

HOMES: Final = {"chat": "pollux.cli.chat.asked", "emulator": "pollux.emulator.command"}
"""Where a command's parser lives, if not with its `main`."""


@frozen
class Option:
    """An option, by all its names. One that takes a value may say which there are, or that it is a file."""

    names: tuple[str, ...]
    said: str = ""
    takes_value: bool = False
    choices: tuple[str, ...] = ()
    is_file: bool = False


OWN: Final = (Option(("-h", "--help"), "show what there is"), Option(("-V", "--version"), "print the version"))
"""What the program takes before any command. It has no parser of its own."""


@frozen
class Command:
    """A command with the words that may follow it."""

    path: tuple[str, ...]
    said: str = ""
    options: tuple[Option, ...] = ()
    choices: tuple[str, ...] = ()
    commands: "tuple[Command, ...]" = ()

    def walk(self) -> "Iterator[Command]":
        """This command and all below it."""
        yield self
        for command in self.commands:
            yield from command.walk()


def commands() -> Command:
    """Every command that the program has."""
    from pollux.cli import COMMANDS

    listed = [_command(name, *home_and_meaning) for name, home_and_meaning in COMMANDS.items()]
    version = Command(("pollux", "version"), "print the version")
    return Command(("pollux",), options=OWN, commands=(*listed, version))


def read(parser: argparse.ArgumentParser, path: tuple[str, ...], said: str = "") -> Command:
    """What a parser knows."""
    # argparse has no public way to ask. These names of its own have stayed the same since it was made.
    asked: Any = parser
    actions: list[Any] = [action for action in asked._actions if action.help != argparse.SUPPRESS]
    options = tuple(_option(action) for action in actions if action.option_strings)
    choices: list[str] = []
    below: list[Command] = []
    for action in (action for action in actions if not action.option_strings):
        if hasattr(action, "_choices_actions"):
            helps = {verb.dest: verb.help or "" for verb in action._choices_actions}
            below += [read(verb, (*path, name), helps.get(name, "")) for name, verb in action.choices.items()]
        else:
            choices += [str(choice) for choice in action.choices or ()]
    return Command(path, said, options, tuple(choices), tuple(below))


def _command(name: str, home: str, said: str) -> Command:
    from importlib import import_module

    try:
        module: Any = import_module(HOMES.get(name, home))
    except ModuleNotFoundError:
        return Command(("pollux", name), said)
    # A command without a parser has nothing to complete.
    made = module._parser() if hasattr(module, "_parser") else None
    return read(made, ("pollux", name), said) if made else Command(("pollux", name), said)


def _option(action: Any) -> Option:
    metavar: str = action.metavar if isinstance(action.metavar, str) else ""
    members: dict[str, Any] = action.__dict__
    said = str(action.help or "") % members
    return Option(
        names=tuple(action.option_strings),
        said=said,
        takes_value=action.nargs != 0,
        choices=tuple(str(choice) for choice in action.choices or ()),
        is_file=action.type is Path or metavar.partition("|")[0] in ("FILE", "DIR", "PATH"),
    )
