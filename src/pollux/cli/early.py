"""Signals that come before there is an event loop to heed them.

Imports take a fifth of a second. A command that is stopped in it has told nothing yet: where a last line is promised,
it is the same in every format.
"""

import os
import signal
from collections.abc import Callable
from types import FrameType


def heed(descriptor: int = 1) -> None:
    """Answer signals until somebody else does, with a last line on the descriptor that is standard output now."""

    def stop(number: int, frame: FrameType | None) -> None:
        name = signal.Signals(number).name
        _write(descriptor, f'{{"type":"error","error":"stopped by {name}","code":"cancelled"}}\n')
        _write(2, f"pollux: cancelled: stopped by {name}\n")
        _exit(number)

    _answer(stop, signal.SIGINT, signal.SIGTERM)


def leave() -> None:
    """Let signals end the program at once and without a word, until somebody else answers them: nothing has begun."""

    def stop(number: int, frame: FrameType | None) -> None:
        _exit(number)

    _answer(stop, signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def _answer(stop: Callable[[int, FrameType | None], None], *numbers: signal.Signals) -> None:
    for number in numbers:
        # As pollux.signals has it, which imports too much for here.
        if number is signal.SIGTERM or signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, stop)


def _exit(number: int) -> None:
    # Not by an exception: it would come out in the middle of somebody's import, or of making an event loop.
    os._exit(128 + number)


def _write(descriptor: int, text: str) -> None:
    try:
        os.write(descriptor, text.encode())
    except OSError:
        # Nobody is there to read it. The code says the same.
        pass
