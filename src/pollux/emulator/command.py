"""`pollux emulator gemini|workspace|all`: run until told to stop. One line on stdout for each when it is ready."""

import argparse
import asyncio
import json
import sys
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pollux.emulator.files import read_text, require_writable
from pollux.emulator.jsons import is_object
from pollux.signals import on_signals

DEFAULT_PORT = 8643
WORKSPACE_PORT = 8644
EXAMPLES = """\
examples:
  pollux emulator gemini
  pollux emulator gemini --port 0 --seed 7
  pollux emulator workspace --ledger sent.jsonl
  pollux emulator all
  GEMINI_API_KEY=demo GOOGLE_GEMINI_BASE_URL=http://127.0.0.1:8643 pollux run "Say hello"
"""


@dataclass(frozen=True)
class Options:
    """What the command line asked for. With `all`, Gemini has the port and the workspace the one after it."""

    service: str = "gemini"
    port: int | None = None
    host: str = "127.0.0.1"
    public: bool = False
    seed: int = 0
    scenario: Path | None = None
    replay: Path | None = None
    ledger: Path | None = None
    token_seconds: int = 3599

    def port_of(self, service: str) -> int:
        """Where a service listens; 0 is a free port for each."""
        first = WORKSPACE_PORT if self.service == "workspace" else DEFAULT_PORT
        asked = first if self.port is None else self.port
        return asked + 1 if asked and self.service == "all" and service == "workspace" else asked


def main(argv: list[str]) -> int:
    """Run the command; the result is the exit code."""
    arguments = _parser().parse_args(argv)
    return serve(Options(**vars(arguments)))


def serve(options: Options) -> int:
    """Serve until SIGINT or SIGTERM."""
    from pollux.emulator.guard import is_loopback

    if not (options.public or is_loopback(options.host)):
        _talk(f"--host {options.host} lets other machines read what was sent here. Add --public if they may")
        return 2
    try:
        scenario: Any = json.loads(read_text(options.scenario)) if options.scenario else None
        if options.ledger:
            require_writable(options.ledger)
        asyncio.run(_serve(options, scenario))
    except (OSError, OverflowError, ValueError) as error:
        _talk(str(error))
        return 2
    return 0


async def _serve(options: Options, scenario: Any) -> None:
    stop = asyncio.Event()
    on_signals(lambda _: stop.set())
    async with AsyncExitStack() as running:
        if options.service != "workspace":
            _ready("gemini", await _gemini(running, options, _rules(options, scenario, "gemini")))
        if options.service != "gemini":
            _ready("workspace", await _workspace(running, options, _rules(options, scenario, "workspace")))
        await stop.wait()


async def _gemini(running: AsyncExitStack, options: Options, scenario: object) -> str:
    from pollux.emulator.server import run_emulator

    if options.ledger is not None:
        options.ledger.touch()
    emulator = await running.enter_async_context(
        run_emulator(
            port=options.port_of("gemini"),
            host=options.host,
            seed=options.seed,
            scenario=scenario,
            replay=options.replay,
        )
    )
    return emulator.url


async def _workspace(running: AsyncExitStack, options: Options, scenario: object) -> str:
    from pollux.emulator.workspace import run_workspace

    workspace = await running.enter_async_context(
        run_workspace(
            port=options.port_of("workspace"),
            host=options.host,
            seed=options.seed,
            scenario=scenario,
            ledger=options.ledger,
            token_seconds=options.token_seconds,
        )
    )
    return workspace.url


def _rules(options: Options, scenario: Any, service: str) -> object:
    """A service's rules. Two services have two kinds of rules, so with `all` the file names whose they are."""
    if options.service != "all" or scenario is None:
        return scenario
    if not is_object(scenario):
        raise ValueError('with `all`, a scenario is {"gemini": [rules], "workspace": [rules]}')
    return scenario.get(service)


def _ready(service: str, url: str) -> None:
    ready = {"ready": True, "url": url, "service": service}
    sys.stdout.write(json.dumps(ready, separators=(",", ":")) + "\n")
    sys.stdout.flush()


def _talk(text: str) -> None:
    sys.stderr.write(f"pollux emulator: {text}\n")


def _port(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text[:6]) <= 65535):
        raise argparse.ArgumentTypeError(f"expected a port from 0 to 65535, found {text!r}")
    return int(text)


def _seconds(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 0 < int(text[:9]) < 10**8):
        raise argparse.ArgumentTypeError(f"expected a number of seconds, found {text!r}")
    return int(text)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="pollux emulator",
        description="A Gemini here (demo model, rule-based), a Gmail and a Calendar here (nothing leaves), or both.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("service", nargs="?", default="gemini", choices=["gemini", "workspace", "all"])
    ports = f"0 picks a free one (default: {DEFAULT_PORT}, workspace {WORKSPACE_PORT}; all: this one and the next)"
    parser.add_argument("--port", type=_port, help=ports)
    parser.add_argument("--host", default="127.0.0.1", help="default: %(default)s; others need --public")
    parser.add_argument("--public", action="store_true", help="let other machines in, to all that was sent here")
    parser.add_argument("--seed", type=int, default=0, help="other seeds, other ids and signatures")
    parser.add_argument("--scenario", type=Path, metavar="FILE", help="list of {match, fault, times}; see the guide")
    parser.add_argument("--replay", type=Path, metavar="FILE|DIR", help="gemini: serve recordings instead of planning")
    parser.add_argument("--ledger", type=Path, metavar="FILE", help="side effects as JSON lines (none for gemini)")
    parser.add_argument(
        "--token-seconds",
        type=_seconds,
        default=3599,
        metavar="N",
        help="workspace: how long access tokens last (default: %(default)s)",
    )
    return parser
