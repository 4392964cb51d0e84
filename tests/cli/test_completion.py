"""Completion as a person meets it: the script in a real shell, and Tab."""

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.machine import Machine

from pollux.cli import COMMANDS
from pollux.cli.completion.scripts import bash, fish, zsh
from pollux.cli.completion.words import Command, Option, commands, read

OURS = ("models", "setup", "doctor", "schema", "completion")


def sample() -> Command:
    """A program with all that a parser may have."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--hidden", help=argparse.SUPPRESS)
    verbs = parser.add_subparsers()
    listing = verbs.add_parser("list", help="it's a list: of things")
    listing.add_argument("--format", choices=["json", "text"], default="text", help="default: %(default)s")
    listing.add_argument("-o", "--output", type=Path)
    listing.add_argument("--note", metavar="TEXT")
    listing.add_argument("--all", action="store_true")
    verbs.add_parser("shell").add_argument("shell", choices=["bash", "zsh"])
    below = read(parser, ("pollux", "things"), "do things")
    return Command(("pollux",), commands=(below, Command(("pollux", "version"), "print the version")))


def completed(script: str, line: str, tmp_path: Path) -> list[str]:
    """What bash offers after this line."""
    (tmp_path / "script").write_text(script)
    # As bash splits it: an equals sign is a word of its own.
    words = line.replace("=", " = ").split(" ")
    asked = f"""
        source {tmp_path}/script
        COMP_WORDS=({" ".join(f"'{word}'" for word in words)})
        COMP_CWORD={len(words) - 1}
        _pollux
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    bash_ = ["bash", "--noprofile", "--norc", "-eu", "-c", asked]
    done = subprocess.run(bash_, capture_output=True, text=True, timeout=30)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.split()


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("pollux ", ["things", "version"]),
        ("pollux v", ["version"]),
        ("pollux things ", ["list", "shell"]),
        ("pollux things l", ["list"]),
        ("pollux things list --f", ["--format"]),
        ("pollux things list -", ["-h", "--help", "--format", "-o", "--output", "--note", "--all"]),
        ("pollux things list --format ", ["json", "text"]),
        ("pollux things list --format=t", ["text"]),
        ("pollux things list --format=", ["json", "text"]),
        ("pollux things list --all --format j", ["json"]),
        ("pollux things list --output ", []),
        ("pollux things list --note ", []),
        ("pollux things shell ", ["bash", "zsh"]),
        ("pollux things shell b", ["bash"]),
        ("pollux nonsense ", ["things", "version"]),
    ],
)
def test_bash_completes_commands_options_and_values(line: str, expected: list[str], tmp_path: Path):
    assert completed(bash(sample()), line, tmp_path) == expected


def test_the_programs_own_script_completes_its_own_options(tmp_path: Path):
    script = Machine(tmp_path).run("completion", "bash").stdout
    assert {"demo", "doctor", "version"} <= set(completed(script, "pollux ", tmp_path))
    assert completed(script, "pollux doctor --str", tmp_path) == ["--stream"]
    assert completed(script, "pollux models --provider a", tmp_path) == ["anthropic"]
    assert completed(script, "pollux completion f", tmp_path) == ["fish"]


def test_every_command_is_there_with_the_options_that_its_own_help_names(tmp_path: Path):
    known = {command.path[-1]: command for command in commands().commands}
    assert known.keys() == COMMANDS.keys() | {"version"}
    for name in COMMANDS:
        said = Machine(tmp_path / name).run(name, "--help").stdout
        assert [option.names for option in known[name].options if option.names[-1] not in said] == []
        assert [verb.path[-1] for verb in known[name].commands if verb.path[-1] not in said] == []


def test_a_parser_is_read_as_it_was_written():
    things = sample().commands[0]
    assert [option.names for option in things.options] == [("-h", "--help")]
    listing = things.commands[0]
    assert (listing.path, listing.said) == (("pollux", "things", "list"), "it's a list: of things")
    assert listing.options[1] == Option(("--format",), "default: text", takes_value=True, choices=("json", "text"))
    assert [option.is_file for option in listing.options] == [False, False, True, False, False]


@pytest.mark.parametrize(("shell", "write"), [("bash", bash), ("zsh", zsh), ("fish", fish)])
def test_a_shell_accepts_its_script(shell: str, write: object, tmp_path: Path):
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    assert callable(write)
    for number, root in enumerate((sample(), commands())):
        (tmp_path / f"script{number}").write_text(str(write(root)))
        checked = subprocess.run([shell, "-n", f"script{number}"], cwd=tmp_path, capture_output=True, text=True)
        assert (checked.returncode, checked.stderr) == (0, "")


def test_zsh_and_fish_are_told_every_word():
    for script in (zsh(sample()), fish(sample())):
        for word in ("things", "list", "shell", "version", "json text", "format", "output", "note", "all"):
            assert word in script
        assert "hidden" not in script
    assert "'list:it'\\''s a list: of things'" in zsh(sample())
    assert "-a list -d 'it\\'s a list: of things'" in fish(sample())


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
