"""What people wrote that still works and will not for ever: said once, in one line, with what to do."""

import logging
from collections.abc import Callable, Sequence
from typing import Final

logger = logging.getLogger(__name__)

_said: Final[dict[str, None]] = {}
_to: Callable[[str], object] = logger.warning
_LISTED: Final = 5


def say(text: str) -> None:
    """Say it, unless it was said."""
    if text not in _said:
        _said[text] = None
        _to(text)


def say_args(rules: Sequence[str], *, path: str) -> None:
    """Say that rules search the whole JSON of arguments for a pattern."""
    if rules:
        more = f" and {len(rules) - _LISTED:,} more" if len(rules) > _LISTED else ""
        named = f"{', '.join(rules[:_LISTED])}{more}"
        say(
            f"{named} in {path}: `args` searches all arguments at once and is deprecated. Run: pollux policy migrate"
            f" {path}"
        )


def said() -> tuple[str, ...]:
    """Everything that was said so far."""
    return tuple(_said)


def tell(to: Callable[[str], object]) -> None:
    """Say it here from now on, and not in the log."""
    global _to
    _to = to
