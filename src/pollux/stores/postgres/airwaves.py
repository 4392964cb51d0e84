"""Text on its way as notices. No sockets here: the line takes what is to be sent, and brings what was heard.

Each run has a channel of its own, so that its text reaches only those who asked for it. Its name is a keyed digest:
nobody without the store's key can listen there, or speak. That a run is watched is said to all, on a common channel.
What a notice holds passes through the server's queue and is in no table.
"""

import asyncio
import json
import logging
from collections.abc import Iterator, Sequence
from hashlib import blake2s

import msgspec

from pollux.core.ids import RunId
from pollux.engine.airwaves import Interrupted, Kind, Piece, Signal, Told, Wanted
from pollux.stores.postgres.news import LONGEST

logger = logging.getLogger(__name__)

WATCHED = "pollux_watched"
MOST_OUT = 1_000
"""So many notices may wait to be sent. What comes then is lost, and asked for again by those who miss it."""
MOST_IN = 10_000

Notice = tuple[str, str]
"""A channel, and what is told there."""

_told = msgspec.json.Decoder(tuple[int, int, int, Kind, str])
_wanted = msgspec.json.Decoder(tuple[str, bool, tuple[str, ...]])


class PostgresAirwaves:
    """What is to be sent, and what was heard, in order. `due` is set when there is something for the line to do."""

    def __init__(self, name: str, key: bytes, due: asyncio.Event) -> None:
        self._name = name
        self._key = blake2s(key).digest()
        self._due = due
        self._is_up = True
        self._runs: dict[str, RunId] = {}
        """The runs we listen to, by channel."""
        self._switches: list[str] = []
        self._out: list[Notice] = []
        self._in: list[Signal] = []
        self._is_heard = asyncio.Event()

    # For the engine.

    def tune_in(self, run_id: RunId) -> None:
        channel = self.channel(run_id)
        self._runs[channel] = run_id
        self._switch(f"LISTEN {channel}")

    def tune_out(self, run_id: RunId) -> None:
        channel = self.channel(run_id)
        if self._runs.pop(channel, None):
            self._switch(f"UNLISTEN {channel}")

    def want(self, run_ids: Sequence[RunId], *, anew: bool) -> None:
        for told in announcements(self._name, run_ids, anew=anew):
            self._send(WATCHED, told)

    def tell(self, run_id: RunId, piece: Piece) -> None:
        channel = self.channel(run_id)
        for told in payloads(piece):
            self._send(channel, told)

    async def hear(self) -> Sequence[Signal]:
        await self._is_heard.wait()
        self._is_heard.clear()
        heard, self._in = self._in, []
        return heard

    # For the line.

    def begin(self) -> list[str]:
        """A line stands. The channels to listen to; what changes from now on is a switch."""
        self._is_up = True
        return [WATCHED, *self._runs]

    def lose(self) -> None:
        """There is no line. What was to be said is not: nobody would know what they had missed before."""
        self._is_up = False
        self._switches, self._out = [], []

    def miss(self) -> None:
        """Something may have been said that was not heard."""
        self._put(Interrupted())

    def take_switches(self) -> list[str]:
        """What to listen to, and what no more, as statements."""
        switches, self._switches = self._switches, []
        return switches

    def take_notices(self) -> list[Notice]:
        notices, self._out = self._out, []
        return notices

    def take_in(self, channel: str, told: str) -> None:
        """A notice was heard."""
        try:
            if channel == WATCHED:
                sender, anew, names = _wanted.decode(told)
                if sender != self._name:
                    self._put(Wanted(tuple(RunId(name) for name in names), anew))
            elif run_id := self._runs.get(channel):
                self._put(Told(run_id, Piece(*_told.decode(told))))
        except msgspec.MsgspecError:
            logger.warning("a notice was heard that is none of ours")

    def channel(self, run_id: RunId) -> str:
        """Where its text is told."""
        return f"pollux_run_{blake2s(run_id.encode(errors='replace'), key=self._key, digest_size=16).hexdigest()}"

    def _switch(self, statement: str) -> None:
        if self._is_up:
            self._switches.append(statement)
            self._due.set()

    def _send(self, channel: str, told: str) -> None:
        if self._is_up and len(self._out) < MOST_OUT:
            self._out.append((channel, told))
            self._due.set()

    def _put(self, signal: Signal) -> None:
        if len(self._in) >= MOST_IN:
            self._in, signal = [], Interrupted()
        self._in.append(signal)
        self._is_heard.set()


def payloads(piece: Piece) -> Iterator[str]:
    """The piece as notices, each short enough, never cut inside a character."""
    text, start = _sound(piece.text), 0
    while start < len(text):
        size = LONGEST
        while True:
            told = _json([piece.turn, piece.attempt, piece.place + start, piece.kind, text[start : start + size]])
            length = len(told.encode())
            if length < LONGEST:
                break
            size = max(min(size, len(text) - start) * LONGEST // length - 1, 1)
        yield told
        start += size


def announcements(sender: str, run_ids: Sequence[RunId], *, anew: bool) -> Iterator[str]:
    """That these runs are watched, in as few notices as it takes."""
    names: list[str] = []
    room = LONGEST - 100
    for run_id in run_ids:
        cost = len(_json(run_id).encode(errors="replace")) + 1
        if cost > LONGEST - 100:
            # Nobody can be told of it: its facts are seen, its text when it is whole.
            continue
        if cost > room:
            yield _json([sender, anew, names])
            names, room = [], LONGEST - 100
        names.append(_sound(run_id))
        room -= cost
    if names:
        yield _json([sender, anew, names])


def _sound(text: str) -> str:
    """Without lone surrogates, which cannot be sent. A reply that has them is refused by the journal anyway."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode(errors="replace").decode()
    return text


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
