"""Who is alive: processes found by a mark in their arguments or environment, wherever they went in the process tree."""

from pathlib import Path
from uuid import uuid4

SLEEPING = b"sleep\x001000\x00"


def new_mark() -> str:
    return f"mark-{uuid4().hex}"


def living(mark: str) -> dict[int, bytes]:
    """Every process that carries the mark, with its arguments. The dead whom nobody buried have neither."""
    found: dict[int, bytes] = {}
    for place in Path("/proc").iterdir():
        if not place.name.isdecimal():
            continue
        try:
            argv, environ = (place / "cmdline").read_bytes(), (place / "environ").read_bytes()
        except OSError:
            continue
        if mark.encode() in argv + environ:
            found[int(place.name)] = argv
    return found


def sleepers(mark: str) -> int:
    return sum(argv == SLEEPING for argv in living(mark).values())
