"""Signals that end a command. A signal that the caller ignores stays ignored.

`nohup` ignores SIGHUP, and a shell without job control ignores SIGINT for its background jobs: both mean that the
command is to outlive the terminal. SIGTERM ends a command however it was started.
"""

import asyncio
import signal
from collections.abc import Callable

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def is_heeded(number: signal.Signals) -> bool:
    return number is signal.SIGTERM or signal.getsignal(number) is not signal.SIG_IGN


def on_signals(handle: Callable[[signal.Signals], None], *numbers: signal.Signals) -> None:
    """Have the running event loop call this for each of these signals, or for every one that ends a command."""
    loop = asyncio.get_running_loop()
    for number in numbers or ENDING:
        if is_heeded(number):
            loop.add_signal_handler(number, handle, number)
