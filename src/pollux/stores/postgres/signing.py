"""Sign the audit's end after commits, in the threads that made them. Those who wait share one signature."""

import threading

from pollux.core.ids import Instant
from pollux.stores.audit import Tip
from pollux.stores.heads import Heads


class Signing:
    """Appends heads one after the other, each for the newest entry that is known by then."""

    def __init__(self, heads: Heads) -> None:
        self._heads = heads
        self._newest = (Tip(), 0.0)
        self._signed = 0
        self._turn = threading.Lock()
        self._note = threading.Lock()

    def sign(self, tip: Tip, at: Instant) -> None:
        """Return when a head covers this entry."""
        with self._note:
            if tip.seq > self._newest[0].seq:
                self._newest = (tip, at)
        with self._turn:
            if tip.seq <= self._signed:
                return
            newest, moment = self._newest
            self._heads.append(newest, moment)
            self._signed = newest.seq
