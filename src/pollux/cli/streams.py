"""The three standard streams, of which any may be closed when a program begins."""

import os
import sys


def fill_gaps() -> None:
    """Put /dev/null where a standard stream is closed: the next file to be opened would take its number."""
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            # The lowest number that is free, and so this one.
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
    for number, name in ((1, "stdout"), (2, "stderr")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, "w", encoding="utf-8", closefd=False))  # noqa: SIM115  For good.
