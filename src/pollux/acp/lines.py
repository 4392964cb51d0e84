"""Lines out of bytes. A line that is too long is refused when it is too long, not when it ends."""


class LineTooLong(Exception):
    """More bytes than a line may have, and no end of it yet."""


class Lines:
    """What has arrived of a line that is not complete."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._held = bytearray()

    def feed(self, data: bytes) -> list[bytes]:
        """The lines that are complete now, without their ends. Raises LineTooLong."""
        # What was held has no line end in it: no byte is looked at twice.
        start, end = 0, data.find(b"\n")
        found: list[bytes] = []
        while end >= 0:
            found.append(self._taken(data[start:end]))
            start, end = end + 1, data.find(b"\n", end + 1)
        self._held += data[start:]
        if len(self._held) > self._limit:
            raise LineTooLong
        return found

    def rest(self) -> bytes:
        """What had arrived of a last line when the bytes ended."""
        return bytes(self._held)

    def _taken(self, end: bytes) -> bytes:
        line = bytes(self._held) + end if self._held else end
        self._held.clear()
        if len(line) > self._limit:
            raise LineTooLong
        return line
