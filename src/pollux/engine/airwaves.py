"""The port through which processes tell one another of text on its way: quick, never kept, and now and then lost.

Facts do not travel here: whoever misses something reads it in the journal.
"""

from collections.abc import Sequence
from typing import Literal, Protocol

from pollux.core.frozen import frozen
from pollux.core.ids import RunId

Kind = Literal["text", "thought"]


@frozen
class Piece:
    """Some of an answer. `place` counts the characters of all kinds before it in this attempt."""

    turn: int
    attempt: int
    place: int
    kind: Kind
    text: str


@frozen
class Wanted:
    """Another process shows these runs to somebody. With `anew`, it needs the open turn's text from its beginning."""

    run_ids: tuple[RunId, ...]
    anew: bool


@frozen
class Told:
    """Another process, which drives the run, tells a piece of its answer."""

    run_id: RunId
    piece: Piece


@frozen
class Interrupted:
    """Something may have been missed, whatever we have said or heard."""


Signal = Wanted | Told | Interrupted


class Airwaves(Protocol):
    """Nothing waits here but `hear`: what is said goes out soon, or not at all."""

    def tune_in(self, run_id: RunId) -> None:
        """Hear what is told of this run from now on."""
        ...

    def tune_out(self, run_id: RunId) -> None: ...

    def want(self, run_ids: Sequence[RunId], *, anew: bool) -> None:
        """Tell all processes that somebody here watches these runs."""
        ...

    def tell(self, run_id: RunId, piece: Piece) -> None:
        """Tell a piece to those who have tuned in."""
        ...

    async def hear(self) -> Sequence[Signal]:
        """What others have said since the last time, in order, waiting for the first."""
        ...
