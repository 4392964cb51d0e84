"""What completion knows of our commands, and how `pollux completion` is asked for it."""

import argparse
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.machine import Machine

from pollux.cli import COMMANDS
from pollux.cli.completion.words import Command, Option, commands, read

OURS = ("models", "setup", "doctor", "schema", "completion")


@pytest.mark.slow
def test_every_command_is_there_with_the_options_that_its_own_help_names(tmp_path: Path):
    known = {command.path[-1]: command for command in commands().commands}
    assert known.keys() == COMMANDS.keys() | {"version"}
    for name in COMMANDS:
        said = Machine(tmp_path / name).run(name, "--help").stdout
        assert [option.names for option in known[name].options if option.names[-1] not in said] == []
        assert [verb.path[-1] for verb in known[name].commands if verb.path[-1] not in said] == []


def test_a_parser_is_read_as_it_was_written():
    parser = argparse.ArgumentParser()
    parser.add_argument("--hidden", help=argparse.SUPPRESS)
    verbs = parser.add_subparsers()
    listing = verbs.add_parser("list", help="list things")
    listing.add_argument("--format", choices=["json", "text"], default="text", help="default: %(default)s")
    listing.add_argument("-o", "--output", type=Path)
    listing.add_argument("--all", action="store_true")
    verbs.add_parser("shell").add_argument("shell", choices=["bash", "zsh"])
    helping = Option(("-h", "--help"), "show this help message and exit")
    options = (
        helping,
        Option(("--format",), "default: text", takes_value=True, choices=("json", "text")),
        Option(("-o", "--output"), takes_value=True, is_file=True),
        Option(("--all",)),
    )
    verbs_read = (
        Command(("pollux", "things", "list"), "list things", options),
        Command(("pollux", "things", "shell"), options=(helping,), choices=("bash", "zsh")),
    )
    things = Command(("pollux", "things"), "do things", (helping,), commands=verbs_read)
    assert read(parser, ("pollux", "things"), "do things") == things


def test_an_unknown_shell_is_a_usage_error(tmp_path: Path):
    done = Machine(tmp_path).run("completion", "tcsh")
    assert (done.returncode, done.stdout) == (2, "")
    assert "bash" in done.stderr


@pytest.mark.parametrize("name", OURS)
def test_help_shows_examples_and_opens_no_event_loop(name: str):
    told = f"""
import sys
from pollux.cli.{name} import main
try:
    main(["--help"])
except SystemExit as end:
    print(end.code, [module for module in ("asyncio", "msgspec", "jsonschema_rs", "yaml") if module in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, timeout=60)
    assert done.stdout.splitlines()[-1] == "0 []"
    assert f"  pollux {name}" in done.stdout and "examples:" in done.stdout
