"""How long this machine has been up. Nobody sets that clock, and it runs while no process of Pollux does."""

import os
import time
from collections.abc import Callable
from contextlib import suppress
from math import isfinite
from pathlib import Path
from typing import Final

from pollux.core.frozen import frozen
from pollux.core.ids import Instant

_BOOT: Final = Path("/proc/sys/kernel/random/boot_id")
_NAMESPACE: Final = Path("/proc/self/ns/time")


@frozen
class Uptime:
    """Seconds since a start of the machine, which has a name of its own."""

    boot: str
    seconds: float


Machine = Callable[[], Uptime | None]


def uptime() -> Uptime | None:
    """As the kernel counts it, also while the machine sleeps. None where it does not say."""
    with suppress(OSError, AttributeError):
        seconds = time.clock_gettime(time.CLOCK_BOOTTIME)
        # A container may have an uptime of its own.
        return Uptime(f"{_BOOT.read_text().strip()}/{os.readlink(_NAMESPACE)}", seconds)
    return None


def note_of(at: Instant, machine: Machine) -> str:
    """A moment as it is written down: itself first, then how long the machine had been up."""
    up = machine()
    return f"{at} {up.boot} {up.seconds}" if up else str(at)


def time_since(note: str, machine: Machine) -> float:
    """Seconds since this was noted; 0 where the machine was started since, or it was another one."""
    _, boot, seconds = (*note.split(" "), "", "")[:3]
    up = machine() if boot else None
    with suppress(ValueError):
        passed = up.seconds - float(seconds) if up and up.boot == boot else 0.0
        return max(0.0, passed) if isfinite(passed) else 0.0
    return 0.0
