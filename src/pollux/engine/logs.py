"""What the log is told of a failure: its type and its place. What an error says may repeat what a person, a model or
a tool said, so that text is for those who listen at level debug.
"""

import logging
import sys
import traceback
from typing import Any, Final

from pollux.core.errors import StoreError

FRAMES: Final = 4
"""How many places are named, the innermost first."""


class Log(logging.LoggerAdapter[logging.Logger]):
    """A logger that gives the text and the traceback of a problem away at level debug alone."""

    def log(self, level: int, msg: object, *args: object, exc_info: Any = None, **kwargs: Any) -> None:
        problem = exc_info if isinstance(exc_info, BaseException) else sys.exception() if exc_info else None
        if problem is None:
            super().log(level, msg, *args, **kwargs)
            return
        # What a store says is about files and databases: for whoever puts it right, that is all there is to know.
        told = problem if isinstance(problem, StoreError) else place_of(problem)
        super().log(level, f"{msg}: %s", *args, told, **kwargs)
        super().log(logging.DEBUG, f"{msg}, in full", *args, exc_info=problem, **kwargs)


def log_of(name: str) -> Log:
    """The logger of a module in which things fail that others have written."""
    return Log(logging.getLogger(name))


def place_of(problem: BaseException) -> str:
    """The problem's type and where it was raised, without a word that it says."""
    frames = list(traceback.walk_tb(problem.__traceback__))[-FRAMES:]
    places = [f"{frame.f_globals.get('__name__', '?')}:{line}" for frame, line in reversed(frames)]
    cause = problem.__cause__ or (None if problem.__suppress_context__ else problem.__context__)
    because = f", after {type(cause).__name__}" if cause is not None else ""
    # What a store says is about files and databases, which the one who reads the log has to put right.
    said = f" ({problem})" if isinstance(problem, StoreError) else ""
    return f"{type(problem).__name__}{said}{because} at {' < '.join(places) or 'an unknown place'}"
