"""The sessions of Gemini CLI as a list, and one of them as messages. Files are read from end to end: use a thread."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path

from pollux.core.errors import PolluxError
from pollux.core.frozen import frozen
from pollux.core.messages import JSON, Message
from pollux.sdk.gemini_cli.files import gemini_session_files
from pollux.sdk.gemini_cli.history import message_records_to_history
from pollux.sdk.gemini_cli.messages import history_to_messages
from pollux.sdk.gemini_cli.sessions import LoadedSession, load_session
from pollux.sdk.session_info import SessionInfo, time_of

TITLE_LENGTH = 80


@frozen
class Copied:
    """A session as it can be gone on with elsewhere."""

    title: str
    messages: tuple[Message, ...]


def listed(cwd: Path, *, every: bool) -> list[SessionInfo]:
    """This project's, or everybody's. One that cannot be read is there too, with the reason."""
    return [_line(path) for path in gemini_session_files(cwd, every=every)]


def copied(cwd: Path, session_id: str) -> Copied | None:
    """The session of this id, if there is one."""
    for path in gemini_session_files(cwd, every=True):
        try:
            loaded = load_session(path)
        except PolluxError:
            continue
        if loaded.session_id == session_id:
            history = message_records_to_history(loaded.records)
            return Copied(_title(loaded, history), history_to_messages(history))
    return None


def _line(path: Path) -> SessionInfo:
    try:
        loaded = load_session(path)
    except PolluxError as problem:
        return _broken(path, str(problem))
    touched = _touched(path)
    return SessionInfo(
        session_id=loaded.session_id,
        file_path=str(loaded.path),
        start_time=_time(loaded.start_time, touched),
        last_updated=_time(loaded.last_updated, touched),
        message_count=len(loaded.records),
        summary=_title(loaded, message_records_to_history(loaded.records)) or None,
        problem="; ".join(loaded.problems) or None,
    )


def _broken(path: Path, problem: str) -> SessionInfo:
    touched = _touched(path)
    return SessionInfo("", str(path), touched, touched, 0, problem=problem)


def _touched(path: Path) -> str:
    try:
        return time_of(path.stat().st_mtime)
    except OSError:
        return ""


def _time(said: str, touched: str) -> str:
    """What the file says, where that is a time; else when it was written."""
    try:
        return time_of(datetime.fromisoformat(said).timestamp())
    except (ValueError, OverflowError, OSError):
        return touched


def _title(loaded: LoadedSession, history: Sequence[Mapping[str, JSON]]) -> str:
    """Its own summary, or what was asked first."""
    if loaded.summary:
        return loaded.summary
    for content in history:
        if content["role"] == "user":
            said = " ".join(" ".join(str(part.get("text", "")) for part in content["parts"]).split())
            if said:
                return said[:TITLE_LENGTH]
    return ""
