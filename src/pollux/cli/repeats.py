"""What goes wrong with a store again and again while it is away: told once, and then every half minute."""

import logging
import time
from collections.abc import Callable
from copy import copy
from typing import Any, Final

from pollux.core.errors import StoreError

AGAIN_SECONDS: Final = 30.0
_OF_STORES: Final = ("pollux.stores.", "psycopg", "procrastinate")


class Repeats:
    """The records that are worth a line: a trouble's first one, and later ones that say how many and since when."""

    def __init__(self, now: Callable[[], float] = time.time) -> None:
        self._now = now
        self._troubles: dict[tuple[str, int, Any], _Trouble] = {}

    def worth_telling(self, record: logging.LogRecord) -> logging.LogRecord | None:
        """The record as it is to be told; None for one that says no more than a line before."""
        if not _is_of_a_store(record):
            return record
        # Others' words may hold addresses in memory: of each of their modules, one line is enough.
        now, key = self._now(), (record.name, record.levelno, record.msg if record.name.startswith("pollux") else "")
        trouble = self._troubles.get(key)
        if trouble is None or now - trouble.last > AGAIN_SECONDS:
            # Quiet for so long: whatever it was is over, and this is another one.
            self._troubles[key] = _Trouble(now)
            return record
        return trouble.again(record, now)


class _Trouble:
    def __init__(self, now: float) -> None:
        self._since = self.last = self._told = now
        self._times = 1

    def again(self, record: logging.LogRecord, now: float) -> logging.LogRecord | None:
        self.last = now
        self._times += 1
        if now - self._told < AGAIN_SECONDS:
            return None
        self._told = now
        since = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(self._since))
        record = copy(record)
        record.msg, record.args = f"{record.getMessage()} ({self._times} times since {since})", None
        return record


def _is_of_a_store(record: logging.LogRecord) -> bool:
    if record.name.startswith(_OF_STORES):
        return record.levelno >= logging.WARNING
    said = record.args if isinstance(record.args, tuple) else ()
    problem = record.exc_info[1] if record.exc_info else None
    return isinstance(problem, StoreError) or any(isinstance(each, StoreError) for each in said)
