"""Server-sent events from bytes, as they arrive. Works on bytes, so text split inside a character does not matter."""

from pollux.core.errors import ModelError

MAX_EVENT = 64 * 1024 * 1024


class SseParser:
    """Takes pieces of a stream and gives the `data` of every event that is complete.

    Lines may end in LF, CRLF or CR; several `data` lines are joined by LF; comments and other fields are skipped.
    """

    __slots__ = ("_after_cr", "_limit", "_rest")

    def __init__(self, limit: int = MAX_EVENT) -> None:
        self._limit = limit
        self._rest = bytearray()
        self._after_cr = False

    def feed(self, piece: bytes) -> list[bytes]:
        """The data of the events that `piece` completed, in order. Raises ModelError for one larger than the limit."""
        if not self._rest and not self._after_cr and (quick := _whole_events(piece)) is not None:
            return quick
        if self._after_cr or b"\r" in piece:
            piece = self._with_line_feeds(piece)
        if not self._rest:
            block, boundary, rest = piece.rpartition(b"\n\n")
            self._rest += rest
        else:
            block, boundary = self._joined(piece)
        if len(self._rest) > self._limit:
            raise ModelError(f"the stream holds an event of more than {self._limit} bytes", kind="protocol")
        if not boundary:
            return []
        return [data for event in block.split(b"\n\n") if (data := _data(event)) is not None]

    def finish(self) -> bytes | None:
        """The data of a last event that no empty line followed, if there is one."""
        rest = bytes(self._rest)
        self._rest.clear()
        return _data(rest)

    def _joined(self, piece: bytes) -> tuple[bytes, bytes]:
        # Looked for only around the new piece: a large event must not be searched again with every read.
        start = max(0, len(self._rest) - 1)
        self._rest += piece
        end = self._rest.rfind(b"\n\n", start)
        if end < 0:
            return b"", b""
        block = bytes(self._rest[:end])
        del self._rest[: end + 2]
        return block, b"\n\n"

    def _with_line_feeds(self, piece: bytes) -> bytes:
        # CR ends a line at once; an LF right after it, also in the next piece, belongs to it.
        if self._after_cr and piece.startswith(b"\n"):
            piece = piece[1:]
        self._after_cr = piece.endswith(b"\r")
        return piece.replace(b"\r\n", b"\n").replace(b"\r", b"\n")


def _whole_events(piece: bytes) -> list[bytes] | None:
    """The data, where the piece is nothing but whole one-line events: the hot path, as services write them."""
    end = b"\r\n\r\n" if piece.endswith(b"\r\n\r\n") else b"\n\n"
    *events, rest = piece.split(end)
    # As many line feeds as the ends hold: then no event has a second line, and none ends in another way.
    if rest or piece.count(b"\n") != 2 * len(events) or piece.count(b"\r") != (len(end) - 2) * len(events):
        return None
    if not all(event.startswith(b"data: ") for event in events):
        return None
    return [event[6:] for event in events]


def _data(event: bytes) -> bytes | None:
    if event.startswith(b"data: ") and b"\n" not in event:
        return event[6:]
    lines = [_value(line) for line in event.split(b"\n") if line.startswith(b"data:") or line == b"data"]
    return b"\n".join(lines) if lines else None


def _value(line: bytes) -> bytes:
    return line[5:].removeprefix(b" ")
