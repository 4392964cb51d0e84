"""Read the session files of Gemini CLI: JSON lines, and the one JSON object of older releases. Never write there.

A file is a log. A message whose id was there before replaces it, `$set` changes what is known of the session (with
`messages` it is a checkpoint that replaces them all), and `$rewindTo` takes a message back with all that follow. What
cannot be read is passed over and named in `problems`; everything that can be read is there.
"""

import os
import re
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Final, cast

from pollux.core.errors import SessionNotFound, ValidationError
from pollux.core.frozen import frozen
from pollux.core.messages import JSON
from pollux.sdk.gemini_cli.lines import beginning, lines_of, parse

LARGEST_FILE: Final = 64 << 20
MOST_PROBLEMS: Final = 100
MOST_BAD_LINES: Final = 10_000
_SESSION_ID: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")


@frozen
class MessageRecord:
    """One message as it was recorded. `content` is text, or a list of Gemini's parts."""

    id: str
    type: str
    """Who speaks: user, gemini; or info, error, warning, which no model has seen."""
    content: str | list[JSON]
    timestamp: str = ""
    tool_calls: tuple[JSON, ...] = ()
    thoughts: tuple[JSON, ...] = ()
    tokens: Mapping[str, JSON] | None = None
    model: str | None = None


@frozen
class LoadedSession:
    """A session file as it was when it was read. `problems` names what was passed over, line by line, and why."""

    session_id: str
    path: Path
    records: tuple[MessageRecord, ...]
    project_hash: str = ""
    start_time: str = ""
    last_updated: str = ""
    summary: str | None = None
    kind: str | None = None
    problems: tuple[str, ...] = ()


def load_session(path: str | os.PathLike[str]) -> LoadedSession:
    """Read a session file of Gemini CLI. The form is told from what is in it, not from its name.

    Raises SessionNotFound where there is no file, and ValidationError where it is none of these or too large.
    """
    log = _replayed(_read(path))
    if not log.usable:
        reason = f" ({log.problems[0]})" if log.problems else ": it is empty"
        raise ValidationError(
            f"{_shown(path)} holds no record of a Gemini CLI session{reason}. Expected JSON lines that begin with the"
            " session's id, or the one JSON object of older releases"
        )
    return log.session(Path(path))


class _Log:
    """Replays a file record by record."""

    def __init__(self) -> None:
        self.fields: dict[str, JSON] = {}
        self.records: dict[str, MessageRecord] = {}
        self.problems: list[str] = []
        self.usable = 0
        self.ending = ""
        self._unnamed = 0

    def add(self, record: JSON, where: str) -> None:
        match record:
            case {"$rewindTo": str(target)}:
                self._rewind(target, where)
            case {"$set": dict()}:
                self._change(cast("dict[str, dict[str, JSON]]", record)["$set"], where)
            case {"id": str()}:
                self._say(cast("dict[str, JSON]", record), where)
            case {"sessionId": str()} | {"messages": list()}:
                self._change(cast("dict[str, JSON]", record), where)
            case _:
                self.report(where, "is none of a message, the session's fields, $set and $rewindTo")

    def report(self, where: str, reason: str) -> None:
        if len(self.problems) < MOST_PROBLEMS:
            self.problems.append(f"{where} {reason}")
        else:
            self._unnamed += 1

    def session(self, path: Path) -> LoadedSession:
        session_id = _word(self.fields, "sessionId") or ""
        if not _SESSION_ID.fullmatch(session_id):
            # It may end up in a path or a row of ours: one that is not made of plain signs is not passed on.
            self.report("the session's id", "is missing or holds other signs than letters, digits, '_', '.' and '-'")
            session_id = re.sub(r"[^A-Za-z0-9_-]+", "-", path.stem).strip("-")[:128] or "session"
        more = (f"and {self._unnamed} more",) if self._unnamed else ()
        more += (self.ending,) if self.ending else ()
        return LoadedSession(
            session_id=session_id,
            path=path,
            records=tuple(self.records.values()),
            project_hash=_word(self.fields, "projectHash") or "",
            start_time=_word(self.fields, "startTime") or "",
            last_updated=_word(self.fields, "lastUpdated") or "",
            summary=_word(self.fields, "summary"),
            kind=_word(self.fields, "kind"),
            problems=(*self.problems, *more),
        )

    def _rewind(self, target: str, where: str) -> None:
        if target not in self.records:
            # Gemini CLI forgets the whole conversation here. The line that held the message may be one that broke:
            # that is no reason to lose the others.
            self.report(where, "rewinds to a message that is not there; nothing was taken back")
            return
        self.usable += 1
        while target in self.records:
            self.records.popitem()

    def _change(self, changes: dict[str, JSON], where: str) -> None:
        self.usable += 1
        messages = changes.pop("messages", None)
        self.fields |= changes
        if isinstance(messages, list):
            self.records.clear()
            for at, message in enumerate(cast("list[JSON]", messages), start=1):
                self._say(message, f"{where}, message {at},")
        elif messages is not None:
            self.report(where, "has messages that are not a list")

    def _say(self, message: JSON, where: str) -> None:
        match message:
            case {"id": str(name), "type": str(kind)}:
                fields = cast("dict[str, JSON]", message)
                content = _said(fields.get("content"))
                if content is None:
                    self.report(where, "has content that is neither text nor a list of parts")
                    return
                self.usable += 1
                # A key that is there keeps its place: what is told again has not moved.
                self.records[name] = MessageRecord(
                    id=name,
                    type=kind,
                    content=content,
                    timestamp=_word(fields, "timestamp") or "",
                    tool_calls=_members(fields.get("toolCalls")),
                    thoughts=_members(fields.get("thoughts")),
                    tokens=_object(fields.get("tokens")),
                    model=_word(fields, "model"),
                )
            case _:
                self.report(where, "is a message without id or type")


def _replayed(content: bytes) -> _Log:
    first = next(lines_of(content), (0, b""))[1]
    if _is_whole(first):
        return _by_line(content)
    log = _Log()
    try:
        log.add(parse(content), "the document")
    except ValueError:
        pass
    else:
        return log
    # Broken, in either form: the reading that finds more of it is the right one.
    return max(_by_line(content), _from_beginning(content), key=lambda log: len(log.records))


def _by_line(content: bytes) -> _Log:
    log, bad = _Log(), 0
    for number, line in lines_of(content):
        try:
            log.add(parse(line), f"line {number}")
        except ValueError as problem:
            log.report(f"line {number}", str(problem))
            bad += 1
        if bad == MOST_BAD_LINES:
            # This is something else, and may have millions of them.
            log.ending = f"line {number} is the {bad}th that cannot be read; what follows was not read"
            break
    return log


def _from_beginning(content: bytes) -> _Log:
    log = _Log()
    fields, line = beginning(content)
    if fields.get("messages"):
        log.add(fields, "the document")
    log.report("the document", f"breaks off or is broken in line {line}; what follows was not read")
    return log


def _is_whole(line: bytes) -> bool:
    try:
        parse(line)
    except ValueError:
        return False
    return True


def _read(path: str | os.PathLike[str]) -> bytes:
    try:
        # Without O_NONBLOCK, opening a pipe would wait for somebody to write to it.
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            return _content_of(descriptor, _shown(path))
        finally:
            os.close(descriptor)
    except (FileNotFoundError, NotADirectoryError):
        raise SessionNotFound(
            f"there is no session file {_shown(path)}. Gemini CLI keeps its own in ~/.gemini/tmp/<project>/chats"
        ) from None
    except (OSError, ValueError) as problem:
        reason = problem.strerror if isinstance(problem, OSError) else "not a path"
        raise ValidationError(f"{_shown(path)} cannot be read ({reason}). Check the path and its permissions") from None


def _content_of(descriptor: int, name: str) -> bytes:
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode):
        raise ValidationError(f"{name} is not a regular file. Give the path of one session file")
    content = b""
    if found.st_size <= LARGEST_FILE:
        with open(descriptor, "rb", closefd=False) as file:
            content = file.read(LARGEST_FILE + 1)
    if max(found.st_size, len(content)) > LARGEST_FILE:
        raise ValidationError(
            f"{name} is {found.st_size / (1 << 20):.0f} MB large, and at most {LARGEST_FILE >> 20} MB are read."
            " Copy its first line and the last lines you need to a smaller file, and load that"
        )
    return content


def _shown(path: str | os.PathLike[str]) -> str:
    return os.fspath(path).encode(errors="replace").decode()


def _said(value: JSON) -> str | list[JSON] | None:
    match value:
        case str() | list():
            return cast("str | list[JSON]", value)
        case dict():
            return [value]
        case None:
            return ""
        case _:
            return None


def _word(fields: Mapping[str, JSON], name: str) -> str | None:
    value = fields.get(name)
    return value if isinstance(value, str) else None


def _members(value: JSON) -> tuple[JSON, ...]:
    return tuple(cast("list[JSON]", value)) if isinstance(value, list) else ()


def _object(value: JSON) -> Mapping[str, JSON] | None:
    return cast("dict[str, JSON]", value) if isinstance(value, dict) else None
