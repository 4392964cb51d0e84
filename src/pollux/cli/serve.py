"""`pollux serve`: the HTTP runtime until told to stop. One line on stdout when ready; talk goes to stderr."""

import argparse
import asyncio
import json
import logging
import os
import resource
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from pollux.asgi.credentials import Credentials, credentials_of, secrets_of, token_file
from pollux.cli.masking import Mask
from pollux.cli.outlet import Closed, Outlet, Unwritable
from pollux.cli.parser import Parser
from pollux.cli.shown import shown
from pollux.cli.streams import fill_gaps
from pollux.config import Settings, read_settings
from pollux.core.redact import Secret
from pollux.serve import serve

MOST_FILES = 65_536
"""As many files and connections as we ask for, where the system lets us have them."""
LEVELS = {"error": logging.ERROR, "warn": logging.WARNING, "info": logging.INFO, "debug": logging.DEBUG}
EXAMPLES = """\
examples:
  pollux serve
  pollux serve --port 0 --config agents.toml
  POLLUX_TOKENS=alice:$ALICE,bob:$BOB pollux serve --host 0.0.0.0

exit codes: 0 drained after SIGTERM or SIGINT, 2 what was asked for cannot be done
"""


def main(argv: list[str]) -> int:
    """Run the command; the result is the exit code."""
    fill_gaps()
    arguments = _parser().parse_args(argv)
    settings = read_settings(os.environ, cwd=Path.cwd(), flags=vars(arguments))
    # From here on nothing but the line below is told on standard output, whatever a tool's module prints.
    outlet = Outlet()
    credentials = credentials_of(settings)
    _log(LEVELS[arguments.log_level], secrets_of(settings, credentials))
    _make_room()

    def on_ready(url: str) -> None:
        line = {"ready": True, "url": url, **({"tokenFile": str(token_file(settings))} if credentials.token else {})}
        with suppress(Closed, Unwritable):
            # That nobody reads it is no reason not to serve.
            outlet.write(json.dumps(line, separators=(",", ":")).encode() + b"\n")
        _greet(url, settings, credentials.token, shows=credentials.is_new or sys.stderr.isatty())

    return asyncio.run(_serve(settings, credentials, on_ready))


async def _serve(settings: Settings, credentials: Credentials, on_ready: Callable[[str], None]) -> int:
    stop = asyncio.Event()

    def end(number: int) -> None:
        if stop.is_set() and number == signal.SIGINT:
            # Ctrl-C twice: whoever is there has lost patience. What was begun is recovered by the next start.
            os._exit(128 + number)
        stop.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, end, number)
    await serve(settings, credentials, on_ready=on_ready, stop=stop)
    return 0


def _make_room() -> None:
    """Every connection is a file, and shells allow few: without one to spare, even the store cannot be opened."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, MOST_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _greet(url: str, settings: Settings, token: Secret | None, *, shows: bool) -> None:
    """Where to go. The link holds the token: it is shown to a person, or once."""
    if token is not None and shows:
        sys.stderr.write(f"pollux: open {url}/login?token={token.reveal()}\n")
    elif token is not None:
        sys.stderr.write(f"pollux: serving at {url}; the token is in {token_file(settings)}\n")
    else:
        sys.stderr.write(f"pollux: serving at {url}\n")
    sys.stderr.flush()


class _Masked(logging.Formatter):
    """One line for each record, without secrets and without control characters."""

    def __init__(self, secrets: tuple[Secret, ...]) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")
        # Made once: every request is a record, and looking for a secret in all its forms takes time.
        self._mask = Mask(secrets)

    def format(self, record: logging.LogRecord) -> str:
        return "\n".join(shown(line) for line in self._mask.text(super().format(record)).split("\n"))


def _log(level: int, secrets: tuple[Secret, ...]) -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Masked(secrets))
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(level)


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
    parser.add_argument("--model", metavar="NAME", help="for profiles that name none")
    parser.add_argument("--store", metavar="PATH", help="another store than the configured one")
    parser.add_argument("--config", metavar="FILE", help="another configuration file")
    parser.add_argument("--log-level", choices=tuple(LEVELS), default="info", help="default: info")
    return parser
