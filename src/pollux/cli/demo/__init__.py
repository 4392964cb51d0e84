"""`pollux demo`: everything at once on this machine, without a key. With `--tour` it plays the story by itself."""

import argparse
import asyncio
import signal
import tempfile
from collections.abc import Callable
from pathlib import Path

from pollux.cli.kept import here
from pollux.cli.parser import Parser
from pollux.config import ConfigError
from pollux.signals import ENDING, on_signals

EXAMPLES = """\
examples:
  pollux demo
  pollux demo --tour                 ask, approve, kill -9 twice, sent once: by itself, in seconds
  GEMINI_API_KEY=… pollux demo       with the real model

exit codes: 0; 1 a step of the tour did not hold; 129, 130 and 143 ended by a signal
"""
DEMO = "Pollux demo: starting a model, a mailbox, a shop and the console on this machine …"
TOUR = "Pollux tour: a real server, killed twice. Demo model, rule-based; nothing leaves this machine."


def main(argv: list[str]) -> int:
    """Run the demo until the person leaves, or the tour to its end. The result is the exit code."""
    arguments = _parser().parse_args(argv)
    # Before anything is said or begun: without it no settings can be read.
    here()
    try:
        tempfile.gettempdir()
    except FileNotFoundError:
        raise ConfigError("there is no folder for temporary files. Set TMPDIR to one that can be written") from None
    # At once: what follows takes a second or two.
    print(TOUR if arguments.tour else DEMO, flush=True)
    return asyncio.run(_run(arguments))


async def _run(arguments: argparse.Namespace) -> int:
    heard: list[signal.Signals] = []
    leave = _leave_on_signals(heard)
    # Only now: whoever ends us from here on takes the folder along.
    with tempfile.TemporaryDirectory(prefix="pollux-demo-") as place:
        try:
            return await _opened(Path(place), arguments, leave)
        except asyncio.CancelledError:
            if not heard:
                raise
            return 128 + heard[0]
        finally:
            # Somebody who presses Ctrl-C once more would keep the folder from being removed.
            for number in ENDING:
                signal.signal(number, signal.SIG_IGN)


def _leave_on_signals(heard: list[signal.Signals]) -> Callable[[signal.Signals], None]:
    """Ctrl-C, SIGTERM and a closed terminal end it: everything that was started is ended."""
    task = asyncio.current_task()
    assert task is not None

    def leave(number: signal.Signals) -> None:
        heard.append(number)
        if len(heard) == 1:
            # Not again: that would cut short what ends everything.
            task.cancel()

    on_signals(leave)
    return leave


async def _opened(place: Path, arguments: argparse.Namespace, leave: Callable[[signal.Signals], None]) -> int:
    if arguments.tour:
        from pollux.cli.demo.tour import play

        return await play(place)
    from pollux.cli.demo.opened import run

    return await run(place, leave, port=arguments.port)


def _port(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text[:6]) <= 65535):
        raise argparse.ArgumentTypeError(f"expected a port from 0 to 65535, found {text!r}")
    return int(text)


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="pollux demo",
        description=(
            "A console, a shop with an agent on its pages, a mailbox and a chat in this terminal, with a demo model and"
            " without a key. Nothing leaves this machine, and nothing is kept. Ctrl-C ends it."
        ),
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    kind = parser.add_mutually_exclusive_group()
    # It is over before anybody could look at a port of it.
    kind.add_argument("--tour", action="store_true", help="play the story unattended, check every step and end")
    kind.add_argument("--port", type=_port, metavar="PORT", help="of the console and the shop; 0: free ones for all")
    return parser
