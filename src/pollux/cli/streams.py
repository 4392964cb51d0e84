"""The three standard streams, of which any may be closed when a program begins."""

import os
import sys


def fill_gaps() -> None:
    """Put /dev/null where a standard stream is closed: the next file to be opened would take its number.

    Remarks are lost there. An answer is not: what is printed fails, as on a disk that is full.
    """
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            # The lowest number that is free, and so this one.
            opened = os.open(os.devnull, os.O_RDONLY if number == 1 else os.O_RDWR)
            os.set_inheritable(opened, True)
    for number, name in ((1, "stdout"), (2, "stderr")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, "w", encoding="utf-8", closefd=False))  # noqa: SIM115  For good.


def write_anything() -> None:
    """Let no character end a command: one that the terminal's encoding lacks is written out, as on standard error."""
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    # UTF-8 lacks none. A stream whose descriptor was exchanged underneath cannot always be changed, so it is not tried.
    if reconfigure is not None and sys.stdout.encoding.lower().replace("_", "-") not in ("utf-8", "utf8"):
        reconfigure(errors="backslashreplace")


def complain(text: str) -> None:
    """A line to people, on standard error. Where nobody can hear it, the exit code has to do."""
    try:
        print(f"pollux: {harmless(text)}", file=sys.stderr, flush=True)
    except (OSError, ValueError):  # Without contextlib, which would be imported at every start.
        pass


def harmless(text: str) -> str:
    """Text for a terminal, in which nothing gives orders and no key of the environment can be read."""
    from pollux.cli.keyless import KEYS
    from pollux.cli.masking import Mask
    from pollux.cli.shown import shown
    from pollux.core.redact import Secret

    # Before there are settings, these are the keys that can be known; one may stand where another word was meant.
    names = [name for names in KEYS.values() for name in names]
    mask = Mask(Secret(key) for name in names if (key := os.environ.get(name, "").strip()))
    return shown(mask.text(text))
