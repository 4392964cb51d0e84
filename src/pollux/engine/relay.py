"""Text on its way from the process that drives a run to those where somebody watches it.

Where a run is watched and not driven, its process says so: at once, every few seconds, whenever another call of the
model begins, and when something is missing. The one that drives it tells the text for as long as somebody has said so
lately, joined for a moment; asked for it anew, from the beginning. Whoever claims the run next has heard it too.

A piece names its place, so that nothing is shown twice, out of order or with a hole. What never arrives is told from
the reply in the journal.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import assert_never

from pollux.core.ids import RunId
from pollux.engine.airwaves import Airwaves, Interrupted, Piece, Signal, Told, Wanted
from pollux.engine.feed import Feed, Said
from pollux.engine.logs import log_of

logger = log_of(__name__)

JOIN_SECONDS = 0.05
"""For so long text is gathered before it is told, of all runs together."""
RENEW_SECONDS = 4.0
HEARD_SECONDS = 10.0
"""For so long a run counts as watched after somebody has said so."""
AGAIN_SECONDS = 0.25
"""So long must pass before text is asked for anew."""
MOST_AUDIENCES = 10_000

Call = tuple[int, int]
"""Turn and attempt: which call of the model some text belongs to."""


@dataclass(slots=True, eq=False)
class _Audience:
    """Those elsewhere who watch a run, and how much of which answer they have been told."""

    until: float
    call: Call = (0, 0)
    place: int = 0


@dataclass(slots=True, eq=False)
class _Seat:
    """A run that is watched here and driven elsewhere, and for which call its text was last asked for."""

    feed: Feed
    call: tuple[int, int, int, bool] | None = None
    asked_at: float = 0.0
    timer: asyncio.TimerHandle | None = None


class Relay:
    """One process's part in it, both ways. `find` knows the runs that are driven or watched here."""

    def __init__(self, airwaves: Airwaves, find: Callable[[RunId], Feed | None]) -> None:
        self._airwaves = airwaves
        self._find = find
        self._loop = asyncio.get_running_loop()
        self._audiences: dict[RunId, _Audience] = {}
        """In the order in which they were last heard of."""
        self._untold: dict[RunId, Feed] = {}
        """Those with text that is to be told when the moment is over."""
        self._moment: asyncio.TimerHandle | None = None
        self._seats: dict[RunId, _Seat] = {}
        self._renewal: asyncio.TimerHandle | None = None

    async def serve(self) -> None:
        """Do what others ask for and show what they tell. Runs until cancelled."""
        while True:
            for signal in await self._airwaves.hear():
                try:
                    self._heed(signal)
                except Exception:
                    # The next one may be about another run.
                    logger.exception("a signal from another process could not be heeded")

    def _heed(self, signal: Signal) -> None:
        match signal:
            case Wanted(run_ids=run_ids, anew=anew):
                for run_id in run_ids:
                    self._welcome(run_id, anew)
            case Told(run_id=run_id, piece=piece):
                self._show(run_id, piece)
            case Interrupted():
                self._begin_anew()
            case _:
                assert_never(signal)

    def close(self) -> None:
        """Nothing more is told or asked for."""
        for timer in (self._moment, self._renewal, *(seat.timer for seat in self._seats.values())):
            _stop(timer)
        self._audiences.clear()
        self._seats.clear()

    # Where the run is driven.

    def is_watched(self, run_id: RunId) -> bool:
        """Whether somebody elsewhere watches it."""
        audience = self._audiences.get(run_id)
        return audience is not None and audience.until > self._loop.time()

    def shown(self, feed: Feed) -> None:
        """Some text arrived here."""
        if self._audiences and self.is_watched(feed.run.id):
            self._tell_soon(feed)

    def _welcome(self, run_id: RunId, anew: bool) -> None:
        now = self._loop.time()
        audience = self._audiences.pop(run_id, None)
        if audience is None or audience.until <= now:
            audience, anew = _Audience(now), True
            self._make_room(now)
        audience.until = now + HEARD_SECONDS
        self._audiences[run_id] = audience
        if anew:
            self._tell_anew(run_id, audience)

    def _make_room(self, now: float) -> None:
        while self._audiences:
            run_id, oldest = next(iter(self._audiences.items()))
            if oldest.until > now and len(self._audiences) < MOST_AUDIENCES:
                return
            del self._audiences[run_id]

    def _tell_anew(self, run_id: RunId, audience: _Audience) -> None:
        audience.place = 0
        feed = self._find(run_id)
        if feed is not None and feed.driving and feed.said is not None:
            self._tell_soon(feed)

    def _tell_soon(self, feed: Feed) -> None:
        self._untold[feed.run.id] = feed
        if self._moment is None:
            self._moment = self._loop.call_later(JOIN_SECONDS, self._tell_all)

    def _tell_all(self) -> None:
        self._moment = None
        untold, self._untold = self._untold, {}
        for run_id, feed in untold.items():
            audience = self._audiences.get(run_id)
            # Without a driver here, the reply is in the journal and is read there.
            if audience is not None and feed.driving and feed.said is not None:
                self._tell(run_id, audience, feed.said)

    def _tell(self, run_id: RunId, audience: _Audience, said: Said) -> None:
        call = (said.turn, said.attempt)
        if audience.call != call:
            audience.call, audience.place = call, 0
        for delta in said.between(audience.place, said.length):
            self._airwaves.tell(run_id, Piece(*call, audience.place, delta.kind, delta.text))
            audience.place += len(delta.text)

    # Where it is watched.

    def moved(self, feed: Feed) -> None:
        """The run has moved on, or somebody here has begun or ceased to watch or to drive it."""
        run, seat = feed.run, self._seats.get(feed.run.id)
        if feed.driving or feed.closed or not feed.watchers or run.ending:
            if seat is not None:
                self._leave(run.id, seat)
            return
        if seat is None:
            seat = self._seats[run.id] = _Seat(feed)
            self._airwaves.tune_in(run.id)
            self._renew_later()
        call = (run.epoch, run.turn, run.attempt, run.asked)
        if seat.call != call:
            seat.call = call
            self._ask(seat)

    def _leave(self, run_id: RunId, seat: _Seat) -> None:
        _stop(seat.timer)
        del self._seats[run_id]
        self._airwaves.tune_out(run_id)

    def _show(self, run_id: RunId, piece: Piece) -> None:
        seat = self._seats.get(run_id)
        if seat is not None and not seat.feed.hear(piece) and seat.timer is None:
            seat.timer = self._loop.call_at(seat.asked_at + AGAIN_SECONDS, self._ask, seat)

    def _ask(self, seat: _Seat) -> None:
        _stop(seat.timer)
        seat.timer, seat.asked_at = None, self._loop.time()
        self._airwaves.want([seat.feed.run.id], anew=True)

    def _renew_later(self) -> None:
        if self._renewal is None:
            self._renewal = self._loop.call_later(RENEW_SECONDS, self._renew)

    def _renew(self) -> None:
        self._renewal = None
        if self._seats:
            self._airwaves.want(list(self._seats), anew=False)
            self._renew_later()

    # After a loss.

    def _begin_anew(self) -> None:
        if self._seats:
            self._airwaves.want(list(self._seats), anew=True)
        for run_id, audience in self._audiences.items():
            self._tell_anew(run_id, audience)


def _stop(timer: asyncio.TimerHandle | None) -> None:
    if timer is not None:
        timer.cancel()
