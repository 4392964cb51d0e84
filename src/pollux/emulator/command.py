"""`pollux emulator gemini --port 8643`: run until told to stop. One line on stdout when ready; talk goes to stderr."""

import argparse
import asyncio
import json
import signal
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DEFAULT_PORT = 8643
EXAMPLES = """\
examples:
  pollux emulator gemini
  pollux emulator gemini --port 0 --seed 7
  GEMINI_API_KEY=demo GOOGLE_GEMINI_BASE_URL=http://127.0.0.1:8643 pollux run "Say hello"
"""


@dataclass(frozen=True)
class Options:
    """What the command line asked for."""

    port: int = DEFAULT_PORT
    host: str = "127.0.0.1"
    seed: int = 0
    scenario: Path | None = None
    replay: Path | None = None
    ledger: Path | None = None


def main(argv: list[str]) -> int:
    """Run the command; the result is the exit code."""
    arguments = _parser().parse_args(argv)
    if arguments.service == "workspace":
        _talk("workspace: the workspace emulator is not there yet; `gemini` is")
        return 2
    return serve(
        Options(
            port=arguments.port,
            host=arguments.host,
            seed=arguments.seed,
            scenario=arguments.scenario,
            replay=arguments.replay,
            ledger=arguments.ledger,
        )
    )


def serve(options: Options) -> int:
    """Serve until SIGINT or SIGTERM."""
    try:
        scenario: Any = json.loads(options.scenario.read_text("utf-8")) if options.scenario else None
        asyncio.run(_serve(options, scenario))
    except (OSError, ValueError) as error:
        _talk(str(error))
        return 2
    return 0


async def _serve(options: Options, scenario: object) -> None:
    from pollux.emulator.server import run_emulator

    stop = asyncio.Event()
    for name in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(name, stop.set)
    if options.ledger is not None:
        options.ledger.touch()
    async with run_emulator(
        port=options.port, host=options.host, seed=options.seed, scenario=scenario, replay=options.replay
    ) as emulator:
        ready = {"ready": True, "url": emulator.url, "service": "gemini"}
        sys.stdout.write(json.dumps(ready, separators=(",", ":")) + "\n")
        sys.stdout.flush()
        await stop.wait()


def _talk(text: str) -> None:
    sys.stderr.write(f"pollux emulator: {text}\n")


def _port(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text[:6]) <= 65535):
        raise argparse.ArgumentTypeError(f"expected a port from 0 to 65535, found {text!r}")
    return int(text)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="pollux emulator",
        description="A Gemini here: demo model, rule-based.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("service", nargs="?", default="gemini", choices=["gemini", "workspace", "all"])
    parser.add_argument("--port", type=_port, default=DEFAULT_PORT, help="0 picks a free one (default: %(default)s)")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--seed", type=int, default=0, help="other seeds, other ids and signatures")
    parser.add_argument(
        "--scenario", type=Path, metavar="FILE", help="list of {match: {model, contains}, fault, times}"
    )
    parser.add_argument("--replay", type=Path, metavar="FILE|DIR", help="serve recordings instead of planning")
    parser.add_argument("--ledger", type=Path, metavar="FILE", help="side effects as JSON lines (none for gemini)")
    return parser
