"""The command line. Nothing is imported before it is known to be needed: `pollux version` must be instant."""

import errno
import gc
import os
import sys

from pollux.cli.streams import complain, fill_gaps, write_anything

COMMANDS = {
    "run": ("pollux.cli.run", "ask once and print the answer, for people and for programs"),
    "chat": ("pollux.cli.chat", "talk in this terminal"),
    "serve": ("pollux.cli.serve", "serve the HTTP runtime: runs, streams, approvals, audit"),
    "worker": ("pollux.cli.worker", "drive runs from a PostgreSQL store's queue, on as many machines as you like"),
    "approvals": ("pollux.cli.approvals", "list, show, approve or reject what waits for a person"),
    "actions": (
        "pollux.cli.actions",
        "settle what may or may not have happened; check, type and index described actions",
    ),
    "sessions": ("pollux.cli.sessions", "list, show, resume, import, export, fork or delete conversations"),
    "grants": ("pollux.cli.grants", "list or revoke what was always allowed"),
    "audit": ("pollux.cli.audit", "list, verify or export what was done"),
    "store": ("pollux.cli.store", "show whether the store was restored from a backup, and go on with it"),
    "runbook": ("pollux.cli.runbook", "check, run or resume runbooks, with agent blocks"),
    "policy": ("pollux.cli.policy", "rewrite rules that search all arguments as text"),
    "models": ("pollux.cli.models", "list the models of a provider"),
    "keys": ("pollux.cli.keys", "make a new key to seal with, and seal everything anew"),
    "trust": ("pollux.cli.trust", "accept the pollux.toml of a folder: its tools, profiles and rules then count"),
    "setup": ("pollux.cli.setup", "write a configuration to fill in"),
    "doctor": ("pollux.cli.doctor", "find out what is missing here, or what is wrong with a captured stream"),
    "schema": ("pollux.cli.schema", "print the JSON Schemas of lines and events"),
    "completion": ("pollux.cli.completion", "print a completion script for bash, zsh or fish"),
    "emulator": ("pollux.emulator", "serve a Gemini, or Gmail and Calendar, on this machine: pollux emulator all"),
    "demo": (
        "pollux.cli.demo",
        "try it: console, shop and mailbox with a demo model; no key, nothing leaves this machine",
    ),
}
EXAMPLES = """
examples:
  pollux run "What does this project do?"
  git diff | pollux run - --system-prompt "Review this diff." --output-format json
  pollux approvals list

`pollux <command> --help` says more.
"""


def main(argv: list[str] | None = None) -> int:
    """Run one command; the result is the exit code. What goes wrong is said in one line on standard error."""
    try:
        fill_gaps()
        write_anything()
        code = _run(sys.argv[1:] if argv is None else argv)
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read our output has seen enough. Python would complain once more when it flushes at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except KeyboardInterrupt:
        return 130
    except OSError as problem:
        return _failed(problem)
    except Exception as problem:
        from pollux.core.errors import PolluxError

        if not isinstance(problem, PolluxError):
            raise
        complain(str(problem))
        return 2 if problem.code in ("usage", "config") else 1
    return code


def _failed(problem: OSError) -> int:
    """Say what the system refused. Raises what it refused us for no reason that a person could have given."""
    if problem.filename is not None:
        complain(f"{problem.filename} cannot be used ({problem.strerror})")
        return 1
    if problem.errno == errno.ENOENT:
        # Nothing else is missing without having a name.
        complain("the current directory is gone. Change to one that exists")
        return 2
    if problem.errno not in (errno.ENOSPC, errno.EIO, errno.EBADF):
        raise problem
    # It would be tried once more when Python flushes at the end.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    complain(f"the output cannot be written ({problem.strerror})")
    return 1


def _run(arguments: list[str]) -> int:
    command, rest = (arguments[0], arguments[1:]) if arguments else ("", [])
    if command in ("version", "--version", "-V"):
        from pollux._version import __version__

        print(f"pollux {__version__}")
        return 0
    if command in ("help", "--help", "-h"):
        if rest and command == "help":
            return _run([rest[0], "--help"])
        print(usage(), end="")
        return 0
    if command == "run":
        from pollux.cli.keyless import refused

        if refused(rest):
            return 1
    if command == "run" or (command == "runbook" and rest[:1] in (["run"], ["resume"])):
        from pollux.cli.early import heed

        heed()
    if command in ("serve", "worker", "emulator", "demo"):
        from pollux.cli.early import leave

        leave()
    if command not in COMMANDS:
        complain(_unknown(command))
        return 2
    from importlib import import_module

    if command not in ("serve", "worker", "doctor", "policy"):
        # Servers have a log, and these two say it in their own way.
        from pollux.engine.deprecated import tell

        tell(complain)
    module = COMMANDS[command][0]
    if command != "run":
        return import_module(module).main(rest)
    # Imports make a hundred thousand objects that all stay. Looking through them for garbage, again and again, is a
    # tenth of a cold start; the command itself turns it on again with the first thing it hears.
    gc.disable()
    try:
        return import_module(module).main(rest)
    finally:
        gc.enable()


def usage() -> str:
    """What there is, a line each."""
    rows = [f"  {name:<11} {meaning}" for name, (_, meaning) in COMMANDS.items()]
    head = ["usage: pollux <command> [options]", "", "commands:", *rows, f"  {'version':<11} print the version"]
    return "\n".join(head) + "\n" + EXAMPLES


def _unknown(command: str) -> str:
    """What may have been meant; everything there is, where nobody can tell."""
    from difflib import get_close_matches

    said = f"there is no command {command!r}" if command else "a command is needed"
    if near := get_close_matches(command.lower(), COMMANDS, n=1):
        return f"{said}. Did you mean {near[0]}? `pollux --help` lists what there is"
    if command.startswith("-") or " " in command:
        return f'{said}. To ask something: pollux run "…". `pollux --help` lists what there is'
    return f"{said}\n\n{usage().rstrip()}"
