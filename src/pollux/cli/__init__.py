"""The command line. Nothing is imported before it is known to be needed: `pollux version` must be instant."""

import os
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
    """Run one command; the result is the exit code. What goes wrong is said in one line on standard error."""
    try:
        code = _run(sys.argv[1:] if argv is None else argv)
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read our output has seen enough. Python would complain once more when it flushes at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except KeyboardInterrupt:
        return 130
    except Exception as problem:
        from pollux.core.errors import PolluxError

        if not isinstance(problem, PolluxError):
            raise
        print(f"pollux: {problem}", file=sys.stderr)
        return 2 if problem.code in ("usage", "config") else 1
    return code


def _run(arguments: list[str]) -> int:
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
