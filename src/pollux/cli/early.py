"""Signals that come before there is an event loop to heed them: also then the last line is written.

Imports take a fifth of a second. Whoever is stopped in it has told nothing yet: the line is the same in every format.
"""

import os
import signal
from types import FrameType


def heed(descriptor: int = 1) -> None:
    """Answer signals until somebody else does, with a last line on the descriptor that is standard output now."""

    def stop(number: int, frame: FrameType | None) -> None:
        name = signal.Signals(number).name
        _write(descriptor, f'{{"type":"error","error":"stopped by {name}","code":"cancelled"}}\n')
        _write(2, f"pollux: cancelled: stopped by {name}\n")
        # Not by an exception: it would come out in the middle of somebody's import.
        os._exit(128 + number)

    for number in (signal.SIGINT, signal.SIGTERM):
        # As pollux.signals has it, which imports too much for here.
        if number is signal.SIGTERM or signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, stop)


def _write(descriptor: int, text: str) -> None:
    try:
        os.write(descriptor, text.encode())
    except OSError:
        # Nobody is there to read it. The code says the same.
        pass
