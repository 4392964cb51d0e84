"""The command line. Nothing is imported before it is known to be needed: `pollux version` must be instant."""

import sys

USAGE = """\
usage: pollux <command> [options]

commands:
  demo       try it in this terminal: a demo model on this machine, no key, nothing leaves it
  emulator   serve the Gemini emulator: pollux emulator gemini --port 8643
  version    print the version

`pollux <command> --help` says more.
"""


def main(argv: list[str] | None = None) -> int:
    """Run one command; the result is the exit code."""
    arguments = sys.argv[1:] if argv is None else argv
    command, rest = (arguments[0], arguments[1:]) if arguments else ("", [])
    match command:
        case "version" | "--version" | "-V":
            from pollux._version import __version__

            print(f"pollux {__version__}")
            return 0
        case "demo":
            from pollux.cli.demo import main as demo

            return demo(rest)
        case "emulator":
            from pollux.emulator import main as emulator

            return emulator(rest)
        case "help" | "--help" | "-h":
            print(USAGE, end="")
            return 0
        case "":
            print(USAGE, end="", file=sys.stderr)
            return 2
        case _:
            print(f"pollux: there is no command {command!r}\n\n{USAGE}", end="", file=sys.stderr)
            return 2
