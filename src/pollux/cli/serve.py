"""`pollux serve`: the HTTP runtime until told to stop. One line on stdout when ready; talk goes to stderr."""

import argparse
import asyncio
import json
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from pollux.asgi.credentials import Credentials, credentials_of, secrets_of, token_file
from pollux.cli.lasting import add_common, log_to_stderr, make_room, until_told
from pollux.cli.outlet import Closed, Unwritable, outlet_if_any
from pollux.cli.parser import Parser
from pollux.cli.streams import fill_gaps
from pollux.config import Settings, load_project, missing_key, read_settings
from pollux.core.redact import Secret
from pollux.serve import serve

EXAMPLES = """\
examples:
  pollux serve
  pollux serve --port 0 --config agents.toml
  POLLUX_TOKENS=alice:$ALICE,bob:$BOB pollux serve --host 0.0.0.0
  pollux serve --store postgresql://pollux@db/pollux

exit codes: 0 drained after SIGTERM, SIGINT or SIGHUP, 2 what was asked for cannot be done
"""


def main(argv: list[str]) -> int:
    """Run the command; the result is the exit code."""
    fill_gaps()
    arguments = _parser().parse_args(argv)
    settings = read_settings(os.environ, cwd=Path.cwd(), flags=vars(arguments))
    # From here on nothing but the line below is told on standard output, whatever a tool's module prints.
    outlet = outlet_if_any()
    credentials = credentials_of(settings)
    log_to_stderr(arguments.log_level, secrets_of(settings, credentials))
    make_room()

    def on_ready(url: str) -> None:
        line = {"ready": True, "url": url, **({"tokenFile": str(token_file(settings))} if credentials.token else {})}
        with suppress(Closed, Unwritable):
            # That nobody reads it is no reason not to serve.
            if outlet:
                outlet.write(json.dumps(line, separators=(",", ":")).encode() + b"\n")
        _greet(url, settings, credentials.token)
        _warn(settings)

    return asyncio.run(_serve(settings, credentials, on_ready))


async def _serve(settings: Settings, credentials: Credentials, on_ready: Callable[[str], None]) -> int:
    await serve(settings, credentials, on_ready=on_ready, stop=until_told())
    return 0


def _greet(url: str, settings: Settings, token: Secret | None) -> None:
    """Where to go. The link holds the token: it is shown to a person at a terminal, and goes into no log."""
    # A log whose disk is full is no reason not to serve.
    with suppress(OSError, ValueError):
        if token is not None and sys.stderr.isatty():
            sys.stderr.write(f"pollux: open {url}/login?token={token.reveal()}\n")
        elif token is not None:
            sys.stderr.write(f"pollux: serving at {url}; the token is in {token_file(settings)}\n")
        else:
            sys.stderr.write(f"pollux: serving at {url}\n")
        sys.stderr.flush()


def _warn(settings: Settings) -> None:
    """What does not work yet, and what of the folder's file does not count, each with what to do."""
    from pollux.cli.shown import shown
    from pollux.cli.trust import parts_left_out
    from pollux.core.profile import DEFAULT_MODEL

    lines: list[str] = []
    model = settings.model or DEFAULT_MODEL
    if missing := missing_key(model, settings):
        lines.append(f"no prompt to {model} can be answered yet. {missing}, then start again")
    project = load_project(settings)
    if parts := parts_left_out(project):
        lines.append(f"{project.path} is not accepted. Left out: {', '.join(parts)}")
        lines.append("to accept it: pollux trust .")
    with suppress(OSError, ValueError):
        sys.stderr.write("".join(f"pollux: {shown(line, lines=False)}\n" for line in lines))
        sys.stderr.flush()


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="pollux serve",
        description="Serve the HTTP runtime: runs, streams, approvals, grants and the audit.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--host", metavar="ADDRESS", help="default: 127.0.0.1; others need tokens or OIDC")
    parser.add_argument("--port", metavar="PORT", help="default: 8642; 0 takes any free one")
    parser.add_argument(
        "--concurrency", metavar="N", help="with PostgreSQL: so many runs at once while no worker is alive; default: 50"
    )
    add_common(parser, store="PATH")
    return parser
