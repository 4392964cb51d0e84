"""Ids and counts, the same for the same seed and the same story."""

import hashlib
from itertools import count


class Made:
    """Makes ids. What one is for is part of it: two lives of the emulator shall not give one id to two things."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._numbers = count(1)
        self._history = count(1000)

    def hex(self, content: bytes) -> str:
        """Sixteen digits, as Gmail's ids have."""
        made = hashlib.sha256(f"{self._seed}/{next(self._numbers)}/".encode() + content).hexdigest()
        return f"1{made[:15]}"

    def count(self) -> int:
        """The next number of a history."""
        return next(self._history)
