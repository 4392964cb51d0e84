"""Completion as a person meets it: the script in a real shell at a terminal, and Tab."""

import argparse
import os
import re
import shutil
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import pytest
from tests.cli.machine import Machine
from tests.cli.terminal import ENTER, TAB, Terminal
from tests.waiting import HANG_SECONDS

from pollux._version import __version__
from pollux.cli import COMMANDS
from pollux.cli.completion.scripts import bash, fish, zsh
from pollux.cli.completion.words import Command, commands, read

pytestmark = pytest.mark.slow

OFFER: Final = "\x07"
"""A key that puts every word on the line that Tab would offer, draws [[the line]], and empties it."""

STARTS: Final = {
    "bash": r"""
        set -eu
        IFS=,
        eval "$(<~/script)"
        said() { printf '\n[[%s]]\n' "$READLINE_LINE"; READLINE_LINE=; }
        bind -x '"\C-xs": said'
        bind '"\C-g": "\e*\C-xs"'
    """,
    "zsh": r"""
        setopt ksh_arrays sh_word_split
        autoload -Uz compinit && compinit -u -D
        eval "$(<~/script)"
        zle -C everything complete-word _generic
        zstyle ':completion:everything:*' completer _all_matches _complete
        zstyle ':completion:everything:*' insert true
        said() { print -r -- $'\n'"[[$BUFFER]]"; BUFFER= }
        zle -N said
        bindkey '^Xe' everything '^Xs' said
        bindkey -s '^G' '^Xe^Xs'
    """,
    "fish": r"""
        set -g fish_greeting
        function said
            set -l begun (commandline -c | string replace -r '\S*$' '')
            printf '\n[[%s]]\n' "$begun"(complete -C | cut -f 1 | string join ' ')
            commandline ''
        end
        bind \cg said
    """,
}
"""What each shell reads when it starts: settings of a difficult person, too. Fish finds its script by itself."""

RUN: Final = {"bash": ["bash", "--noprofile", "-i"], "zsh": ["zsh", "-d", "-i"], "fish": ["fish", "-i"]}
WRITE: Final[dict[str, Callable[[Command], str]]] = {"bash": bash, "zsh": zsh, "fish": fish}


@pytest.fixture(params=["bash", "zsh", "fish"])
def shell(request: pytest.FixtureRequest) -> str:
    """Each shell that there is a script for."""
    return installed(request.param)


def installed(shell: str) -> str:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed (apt-get install {shell})")
    return shell


def sample() -> Command:
    """A program with all that a parser may have, and a command that takes any words."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--hidden", help=argparse.SUPPRESS)
    verbs = parser.add_subparsers()
    listing = verbs.add_parser("list", help="it's a list: of $(things) and `more`")
    listing.add_argument("--format", choices=["json", "text"], default="text", help="default: %(default)s")
    listing.add_argument("-o", "--output", type=Path)
    listing.add_argument("--note", metavar="TEXT")
    listing.add_argument("--all", action="store_true")
    verbs.add_parser("shell").add_argument("shell", choices=["bash", "zsh"])
    things = read(parser, ("pollux", "things"), "do things")
    return Command(("pollux",), commands=(things, Command(("pollux", "ask"), "ask anything")))


def person(path: Path, shell: str, script: str) -> Machine:
    """Someone who keeps the script where `pollux completion --help` says, and works beside one file."""
    machine = Machine(path, TERM="xterm", PATH=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    fish_home = machine.home / ".config/fish"
    (fish_home / "completions").mkdir(parents=True)
    # Were it not there, fish would read every manual page of this machine in the background.
    (machine.home / ".local/share/fish/generated_completions").mkdir(parents=True)
    kept = {"fish": fish_home / "completions/pollux.fish"}.get(shell, machine.home / "script")
    kept.write_text(script)
    start = {"fish": fish_home / "config.fish"}.get(shell, machine.home / f".{shell}rc")
    start.write_text(STARTS[shell])
    (machine.cwd / "notes.txt").touch()
    return machine


@asynccontextmanager
async def prompt(machine: Machine, shell: str) -> AsyncGenerator[Terminal]:
    """The shell, when it listens."""
    terminal = Terminal(RUN[shell], cwd=machine.cwd, env=machine.environ)
    try:
        await terminal.ready()
        yield terminal
    finally:
        terminal.close()


async def offered(terminal: Terminal, line: str) -> list[str]:
    """The words that the shell offers for the last one of this line."""
    terminal.type(line, OFFER)
    await terminal.until("[[")
    begun = line[: line.rfind(" ") + 1]
    words = (await terminal.until("]]")).removeprefix(begun).split()
    # Some offer `--format=text` where others offer `text`, each in an order of its own.
    return sorted(word.rpartition("=")[2] for word in words)


OFFERED: Final = {
    "pollux ": ["ask", "things"],
    "pollux t": ["things"],
    "pollux things ": ["list", "shell"],
    "pollux things l": ["list"],
    "pollux things -": ["--help", "-h"],
    "pollux things list --f": ["--format"],
    "pollux things list --": ["--all", "--format", "--help", "--note", "--output"],
    "pollux things list -": ["--all", "--format", "--help", "--note", "--output", "-h", "-o"],
    "pollux things list --format ": ["json", "text"],
    "pollux things list --format=": ["json", "text"],
    "pollux things list --format=t": ["text"],
    "pollux things list --all --format j": ["json"],
    "pollux things list --output ": ["notes.txt"],
    "pollux things list --output=n": ["notes.txt"],
    "pollux things list -o ": ["notes.txt"],
    "pollux things shell ": ["bash", "zsh"],
    "pollux things shell b": ["bash"],
    "pollux ask ": ["notes.txt"],
    "pollux ask things ": ["notes.txt"],
    "pollux things list things shell --a": ["--all"],
    "pollux nonsense ": ["ask", "things"],
}


async def test_a_shell_offers_commands_options_values_and_files(shell: str, tmp_path: Path):
    machine = person(tmp_path, shell, WRITE[shell](sample()))
    async with prompt(machine, shell) as terminal:
        assert {line: await offered(terminal, line) for line in OFFERED} == OFFERED
        # Bash has no way to say that there is nothing to offer, and names files.
        free = ["notes.txt"] if shell == "bash" else []
        assert await offered(terminal, "pollux things list --note ") == free


async def test_the_programs_own_script_offers_its_own_words(shell: str, tmp_path: Path):
    printed = Machine(tmp_path / "printing").run("completion", shell)
    assert (printed.returncode, printed.stderr) == (0, "")
    machine = person(tmp_path, shell, printed.stdout)
    async with prompt(machine, shell) as terminal:
        assert await offered(terminal, "pollux ") == sorted([*COMMANDS, "version"])
        assert await offered(terminal, "pollux ru") == ["run", "runbook"]
        assert await offered(terminal, "pollux --v") == ["--version"]
        assert await offered(terminal, "pollux run --out") == ["--output-format"]
        formats = ["gemini-stream-json", "json", "stream-json", "text"]
        assert await offered(terminal, "pollux run --output-format ") == formats
        verbs = helped(machine, "sessions", r"^    ([a-z]+) ")
        assert "show" in verbs and await offered(terminal, "pollux sessions ") == verbs
        options = helped(machine, "approvals approve", r"^  (?:-h, )?(--[a-z-]+)")
        assert "--policy" in options and await offered(terminal, "pollux approvals approve --") == options


def helped(machine: Machine, command: str, pattern: str) -> list[str]:
    """The words of this form in a command's own help."""
    return sorted(re.findall(pattern, machine.run(*command.split(), "--help").stdout, re.MULTILINE))


async def test_tab_finishes_a_word_and_enter_runs_it(shell: str, tmp_path: Path):
    machine = person(tmp_path, shell, WRITE[shell](commands()))
    async with prompt(machine, shell) as terminal:
        terminal.type("pollux vers", TAB, ENTER)
        await terminal.until(f"pollux {__version__}")


@pytest.mark.parametrize("name", ["zsh", "fish"])
async def test_tab_says_what_a_word_means_word_for_word(name: str, tmp_path: Path):
    machine = person(tmp_path, installed(name), WRITE[name](sample()))
    async with prompt(machine, name) as terminal:
        terminal.type("pollux things ", TAB)
        await terminal.until("it's a list: of $(things) and `more`")


async def test_zsh_also_finds_the_script_in_a_folder_of_functions(tmp_path: Path):
    machine = person(tmp_path, installed("zsh"), "")
    (machine.home / "functions").mkdir()
    (machine.home / "functions/_pollux").write_text(zsh(sample()))
    start = machine.home / ".zshrc"
    start.write_text("fpath=(~/functions $fpath)" + start.read_text())
    async with prompt(machine, "zsh") as terminal:
        assert await offered(terminal, "pollux t") == ["things"]
        assert await offered(terminal, "pollux things list --format ") == ["json", "text"]


@pytest.mark.parametrize("root", [sample, commands])
def test_a_shell_loads_its_script_without_a_word(shell: str, root: Callable[[], Command], tmp_path: Path):
    machine = person(tmp_path, shell, "")
    (machine.cwd / "script").write_text(WRITE[shell](root()))
    before = {"zsh": "autoload -Uz compinit && compinit -u -D;"}.get(shell, "")
    strictly = [] if shell == "fish" else ["-eu"]
    command = [shell, *strictly, "-c", f"{before} source ./script"]
    loaded = subprocess.run(
        command, cwd=machine.cwd, env=machine.environ, capture_output=True, text=True, timeout=HANG_SECONDS
    )
    assert (loaded.returncode, loaded.stdout, loaded.stderr) == (0, "", "")
