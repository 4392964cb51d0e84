"""`pollux worker`: drive the runs that a PostgreSQL store's queue hands out, until told to stop."""

import argparse
import asyncio
import json
import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from pollux.cli.lasting import add_common, log_to_stderr, make_room, until_told
from pollux.cli.outlet import Closed, Outlet, Unwritable, outlet_if_any
from pollux.cli.parser import Parser
from pollux.cli.streams import complain, fill_gaps
from pollux.config import ConfigError, Settings, load_project, read_settings
from pollux.core.redact import Secret
from pollux.service import GRACE_SECONDS, running_service
from pollux.tools.masked import secrets_named

if TYPE_CHECKING:
    from pollux.runbooks.runtime import Runbooks

EXAMPLES = """\
examples:
  pollux worker --store postgresql://pollux@db/pollux
  POLLUX_STORE=postgresql://pollux@db/pollux pollux worker --concurrency 100

exit codes: 0 drained after SIGTERM, SIGINT or SIGHUP, 2 what was asked for cannot be done
"""


def main(argv: list[str]) -> int:
    """Run the command; the result is the exit code."""
    fill_gaps()
    arguments = _parser().parse_args(argv)
    settings = read_settings(os.environ, cwd=Path.cwd(), flags=vars(arguments))
    if not isinstance(settings.store, Secret):
        raise ConfigError(
            "a worker takes runs from the queue of a PostgreSQL store: give --store postgresql://… or POLLUX_STORE. "
            "With SQLite, `pollux serve` drives its runs itself"
        )
    if not settings.concurrency:
        raise ConfigError("a worker with --concurrency 0 would do nothing. Give at least 1")
    # From here on nothing but the line below is told on standard output, whatever a tool's module prints.
    outlet = outlet_if_any()
    secrets = tuple({*settings.secrets(), *secrets_named(os.environ)})
    log_to_stderr(arguments.log_level, secrets)
    make_room()
    asyncio.run(_work(settings, secrets, outlet))
    return 0


async def _work(settings: Settings, secrets: tuple[Secret, ...], outlet: Outlet | None) -> None:
    stop = until_told()
    async with running_service(settings, secrets, documents=_documents(settings)) as service:
        line = {"ready": True, "concurrency": settings.concurrency}
        with suppress(Closed, Unwritable):
            # That nobody reads it is no reason not to work.
            if outlet:
                outlet.write(json.dumps(line, separators=(",", ":")).encode() + b"\n")
        complain(f"taking up to {settings.concurrency} runs at once")
        await stop.wait()
        await service.engine.close(GRACE_SECONDS)


def _documents(settings: Settings) -> "Runbooks | None":
    """What runs documents, where a server serves a folder of them: its runs come to workers too."""
    if load_project(settings).rights.runbooks.served is None:
        return None
    from pollux.runbooks.place import served_runbooks

    return served_runbooks(settings)


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="pollux worker",
        description="Drive runs that servers on the same PostgreSQL store accept. Start as many as you like, anywhere.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--concurrency", metavar="N", help="so many runs at once; default: 50")
    add_common(parser, store="URL")
    return parser
