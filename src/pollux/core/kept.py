"""Answers about texts, kept while they may be asked for again: one decision compares a text with many rules."""

from collections.abc import Callable
from typing import Final, Generic, TypeVar

T = TypeVar("T")

MOST_KEPT: Final = 1 << 20
"""Characters of all texts together: as many as one call may have. Then all of them are forgotten."""
OVERHEAD: Final = 64
"""What keeping a text costs beside its characters."""


class Kept(dict[str, T], Generic[T]):
    """What a function says of texts, asked for as `kept[text]`. A dictionary, since one that is known costs no call.

    From several threads it may work something out twice, and no more.
    """

    def __init__(self, work: Callable[[str], T]) -> None:
        super().__init__()
        self._work = work
        self._size = 0

    def cache_clear(self) -> None:
        """As a function has it that `lru_cache` remembers for."""
        self.clear()
        self._size = 0

    def __missing__(self, text: str) -> T:
        found = self._work(text)
        self._size += len(text) + OVERHEAD
        if self._size > MOST_KEPT:
            self.cache_clear()
            self._size = len(text) + OVERHEAD
        self[text] = found
        return found
