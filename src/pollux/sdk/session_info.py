"""One line of a list of sessions, wherever they are kept."""

from datetime import UTC, datetime

from pollux.core.frozen import frozen

LAST = 253_402_300_799.0
"""The end of the year 9999: no calendar here goes on."""


@frozen
class SessionInfo:
    """A session that can be gone on with. `file_path` is where it is kept: the store, or Gemini CLI's own file."""

    session_id: str
    file_path: str
    start_time: str
    last_updated: str
    message_count: int
    summary: str | None = None
    problem: str | None = None
    """What is wrong with it, where it cannot be read whole."""


def time_of(moment: float) -> str:
    """The moment as ISO 8601 in UTC."""
    moment = min(max(moment, 0.0), LAST)
    return datetime.fromtimestamp(moment, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
