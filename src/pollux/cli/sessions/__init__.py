"""`pollux sessions`: look at what was said, go on with it, take it elsewhere, fork it, or erase it."""

import argparse
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pollux.cli.kept import Teller, changing, command, complete, count, here, json_text, settings_of, some, verb
from pollux.cli.rest import add_options, rest_of, take_output
from pollux.config import ConfigError
from pollux.core.errors import Misfit, NotFound, SessionNotFound, ValidationError

if TYPE_CHECKING:
    from pollux.cli.sessions.as_json import SessionCopy
    from pollux.config import Settings
    from pollux.engine.engine import Engine
    from pollux.sdk.session_info import SessionInfo
    from pollux.sdk.sessions import Sessions

LARGEST_FILE = 64 << 20
FORMATS = ("json", "markdown", "gemini")
EXAMPLES = """\
examples:
  pollux sessions list --all
  pollux sessions show latest
  pollux sessions resume latest
  pollux sessions export thr_1b2c3d --format markdown -o talk.md
  pollux sessions import session-2026-04-29T21-39-0b1c2d3e.jsonl
  pollux sessions delete thr_1b2c3d --yes

exit codes: 0; 1 error; 2 usage; of `resume` those of `pollux run`
"""


def main(argv: list[str]) -> int:
    """Run the command; the result is the exit code."""
    arguments = _parser().parse_args(argv)
    settings = settings_of(arguments, makes=arguments.verb == "import")
    if arguments.verb == "resume":
        return _resume(arguments, settings)
    teller = Teller(settings)
    verbs = {
        "list": _list,
        "show": _show,
        "export": _export,
        "import": _import,
        "fork": _fork,
        "cancel": _cancel,
        "delete": _delete,
    }
    verbs[arguments.verb](arguments, settings, teller)
    return 0


# Looking.


def _list(arguments: argparse.Namespace, settings: "Settings", teller: Teller) -> None:
    async def listed() -> "list[SessionInfo]":
        async with changing(settings) as engine:
            return await _sessions(engine, settings).listed(every=arguments.all, limit=arguments.limit)

    nothing = "there are no sessions" if arguments.all else "there are no sessions of this directory. Try --all"
    teller.items(complete(listed()), as_json=arguments.json, document=_item, lines=_lines, nothing=nothing)


def _show(arguments: argparse.Namespace, settings: "Settings", teller: Teller) -> None:
    copy = complete(_copied(settings, arguments.id))
    if arguments.json:
        teller.document(_document(copy, teller))
        return
    from pollux.cli.sessions.as_text import readable

    teller.lines(list(readable(copy, teller)))


def _export(arguments: argparse.Namespace, settings: "Settings", teller: Teller) -> None:
    if arguments.force and arguments.output is None:
        raise ConfigError("--force is about a file: give one with -o FILE", code="usage")
    text = _written(complete(_copied(settings, arguments.id)), arguments.format, teller)
    if arguments.output is None:
        # In a file text stays as it is; a terminal is not to obey it.
        teller.raw(teller.block(text) if arguments.format == "markdown" and sys.stdout.isatty() else text)
    else:
        _put(arguments.output, text.encode("utf-8", "backslashreplace"), force=arguments.force)


def _item(info: "SessionInfo") -> dict[str, Any]:
    return {
        "sessionId": info.session_id or None,
        "filePath": info.file_path,
        "startTime": info.start_time,
        "lastUpdated": info.last_updated,
        "messageCount": info.message_count,
        "summary": info.summary,
        "problem": info.problem,
    }


def _lines(info: "SessionInfo", teller: Teller) -> list[str]:
    known = teller.line(info.session_id) if info.session_id else f"(no id) {teller.line(info.file_path)}"
    updated = teller.line(info.last_updated.replace("T", " ").partition(".")[0])
    summary = teller.line(" ".join((info.summary or "").split()), most=80)
    lines = ["  ".join(word for word in (known, updated, f"{info.message_count} messages", summary) if word)]
    return [*lines, f"    broken: {teller.line(info.problem, most=400)}"] if info.problem else lines


def _written(copy: "SessionCopy", format_: str, teller: Teller) -> str:
    from pollux.cli.sessions.as_json import masked

    if format_ == "json":
        return json_text(_document(copy, teller), indent=2) + "\n"
    copy = masked(copy, teller.mask)
    if format_ == "gemini":
        from pollux.cli.sessions.as_gemini import gemini_lines

        return "".join(json_text(line) + "\n" for line in gemini_lines(copy))
    from pollux.cli.sessions.as_text import markdown

    return markdown(copy)


def _document(copy: "SessionCopy", teller: Teller) -> dict[str, Any]:
    from pollux.cli.sessions.as_json import document_of, masked

    return document_of(masked(copy, teller.mask))


def _put(path: Path, data: bytes, *, force: bool) -> None:
    """Whole or not at all, for its owner alone, and over nothing that is there unless that was said."""
    if not path.name or path.is_dir():
        raise ConfigError(f"-o must name a file, found {str(path)!r}", code="usage")
    if path.exists() and not path.is_file():
        # A pipe or a device would be replaced by a file, whoever else uses it.
        raise ConfigError(f"-o must name a file, and {path} is something else", code="usage")
    draft = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
            if force:
                draft.replace(path)
            else:
                os.link(draft, path)
        finally:
            with suppress(FileNotFoundError):
                draft.unlink()
    except FileExistsError:
        raise ValidationError(f"{path} is there already. Give another name, or --force to write over it") from None
    except OSError as problem:
        raise ValidationError(f"{path} cannot be written ({problem.strerror}). Give another name") from None


# Going on, taking in, forking, erasing.


def _resume(arguments: argparse.Namespace, settings: "Settings") -> int:
    outlet = take_output()
    from pollux.cli.sessions.resume import resume

    return resume(arguments.id, rest=rest_of(arguments, settings), outlet=outlet)


def _import(arguments: argparse.Namespace, settings: "Settings", teller: Teller) -> None:
    copy, problems = _read(arguments.file)
    for problem in problems:
        teller.talk(f"passed over: {problem}")

    async def opened() -> str:
        from pollux.sdk.setup import USER

        async with changing(settings) as engine:
            thread = await engine.threads.open(USER, copy.messages, title=copy.title, project=str(here()))
            return thread.id

    teller.lines([complete(opened())])


def _fork(arguments: argparse.Namespace, settings: "Settings", teller: Teller) -> None:
    async def forked() -> str:
        async with changing(settings) as engine:
            sessions = _sessions(engine, settings)
            session_id = await _named(sessions, arguments.id)
            try:
                return await sessions.fork(session_id, upto=arguments.upto)
            except SessionNotFound:
                raise _unknown(session_id) from None

    teller.lines([complete(forked())])


def _cancel(arguments: argparse.Namespace, settings: "Settings", teller: Teller) -> None:
    from pollux.cli.sessions.stop import stopped

    session_id, run = complete(stopped(arguments.id, settings))
    if run is None:
        teller.talk(f"session {session_id} has no open run")
    elif run.is_open:
        teller.talk(f"its run will be stopped by the process that holds it, or when that is gone: {run.id}")
    else:
        teller.talk(f"its run is stopped: {run.id}")


def _delete(arguments: argparse.Namespace, settings: "Settings", teller: Teller) -> None:
    if not arguments.yes and not _is_asked(complete(_line_of(settings, arguments.id)), teller):
        teller.talk("nothing was deleted")
        return

    async def deleted() -> None:
        async with changing(settings) as engine:
            try:
                await _sessions(engine, settings).delete(arguments.id)
            except Misfit as misfit:
                # The one thing that keeps a session from being erased.
                raise Misfit(
                    f"session {arguments.id!r} has an open run. Answer what it asks (`pollux approvals list`), go on"
                    f" with it (`pollux sessions resume {arguments.id}`), or stop it (`pollux sessions cancel"
                    f" {arguments.id}`); then delete the session",
                    code=misfit.code,
                ) from None

    complete(deleted())
    teller.talk(f"session {arguments.id} is erased")


def _is_asked(described: str, teller: Teller) -> bool:
    from pollux.cli.asking import has_terminal

    if not has_terminal():
        raise ConfigError("delete asks first, and there is no terminal to ask at. Give --yes", code="usage")
    sys.stderr.write(f"{teller.line(described)}\nerase it for good? [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _read(path: Path) -> "tuple[SessionCopy, tuple[str, ...]]":
    """The session in a file, and what could not be read of it."""
    from pollux.cli.sessions.as_json import TYPE, copy_of, is_document, parse

    content = b""
    with suppress(OSError):
        # A pipe could keep us waiting. What is no file, the other reader explains.
        if path.is_file() and path.stat().st_size <= LARGEST_FILE:
            content = path.read_bytes()
    try:
        value = parse(content)
    except ValueError as problem:
        if TYPE.encode() in content[:200]:
            raise ValidationError(f"{path} {problem}. Export the session again") from None
        # Gemini CLI's own form is many documents.
        value = None
    if is_document(value):
        return copy_of(value), ()
    return _read_gemini(path)


def _read_gemini(path: Path) -> "tuple[SessionCopy, tuple[str, ...]]":
    from pollux.cli.sessions.as_json import SessionCopy
    from pollux.core.thread import title_of
    from pollux.sdk.gemini_cli.history import message_records_to_history
    from pollux.sdk.gemini_cli.messages import history_to_messages
    from pollux.sdk.gemini_cli.sessions import load_session

    loaded = load_session(path)
    messages = history_to_messages(message_records_to_history(loaded.records))
    first = next((message for message in messages if message.role == "user" and message.text.strip()), None)
    title = loaded.summary or (title_of(first.text) if first else "")
    return SessionCopy(loaded.session_id, messages, title=title), loaded.problems


# Finding.


async def _copied(settings: "Settings", session_id: str) -> "SessionCopy":
    """The session, read where it lies: looking at one of Gemini CLI's makes no copy."""
    from pollux.cli.sessions.as_json import SessionCopy
    from pollux.core.ids import ThreadId
    from pollux.sdk.gemini_cli import shelf
    from pollux.sdk.session_info import time_of
    from pollux.sdk.setup import USER

    async with changing(settings) as engine:
        session_id = await _named(_sessions(engine, settings), session_id)
        try:
            thread = await engine.queries.thread(ThreadId(session_id), USER)
        except NotFound:
            found = shelf.copied(here(), session_id)
            if found is None:
                raise _unknown(session_id) from None
            return SessionCopy(session_id, found.messages, title=found.title)
        return SessionCopy(
            thread.id,
            tuple(await engine.queries.messages(thread.id, USER)),
            title=thread.title,
            project=thread.project,
            start_time=time_of(thread.created_at),
            last_updated=time_of(thread.updated_at),
        )


async def _line_of(settings: "Settings", session_id: str) -> str:
    from pollux.core.ids import ThreadId
    from pollux.sdk.setup import USER

    async with changing(settings) as engine:
        try:
            thread = await engine.queries.thread(ThreadId(session_id), USER)
        except NotFound:
            raise _unknown(session_id) from None
        return f"{thread.id}, {thread.head} messages: {thread.title or '(untitled)'}"


async def _named(sessions: "Sessions", session_id: str) -> str:
    """The id; for `latest`, that of the session of this directory that was updated last."""
    if session_id != "latest":
        return session_id
    found = next((info for info in await sessions.listed() if info.session_id and info.problem is None), None)
    if found is None:
        raise SessionNotFound(f"there is no session of {here()}. `pollux sessions list --all` lists all that there are")
    return found.session_id


def _sessions(engine: "Engine", settings: "Settings") -> "Sessions":
    from pollux.sdk.sessions import Sessions
    from pollux.sdk.setup import USER

    return Sessions(engine, user=USER, cwd=here(), store_path=str(settings.store))


def _unknown(session_id: str) -> SessionNotFound:
    return SessionNotFound(
        f"there is no session {session_id!r}. `pollux sessions list --all` lists those that there are"
    )


def _parser() -> argparse.ArgumentParser:
    parser, verbs = command("sessions", "What was said, in Pollux and in Gemini CLI.", EXAMPLES)
    add = verb(verbs, "list", "List the sessions of this directory, last updated first.", lists=True)
    add("--all", action="store_true", help="every directory's")
    add("--limit", type=some, metavar="N", help="at most so many")
    add = verb(verbs, "show", "Show a session's messages.", lists=True)
    add("id", metavar="ID|latest")
    add = verb(verbs, "resume", "Go on with a run whose process is gone, and print it as `pollux run` does.")
    add("id", metavar="ID|latest", help="latest: the last one of this directory that was interrupted")
    add_options(add)
    add = verb(verbs, "export", "Write a session to standard output or a file.")
    add("id", metavar="ID|latest")
    add("--format", choices=FORMATS, default="json", help="default: json, the one that `import` reads back whole")
    add("-o", "--output", type=Path, metavar="FILE")
    add("--force", action="store_true", help="write over a file that is there")
    add = verb(verbs, "import", "Take in a copy of an exported session, or of Gemini CLI's; prints its id.")
    add("file", type=Path, metavar="FILE")
    add = verb(verbs, "fork", "Begin a session that starts like this one; prints its id.")
    add("id", metavar="ID|latest")
    add("--upto", type=count, metavar="N", help="only the first N messages")
    add = verb(verbs, "cancel", "Stop the session's open run, one that waits or was interrupted.")
    add("id", metavar="ID")
    add = verb(verbs, "delete", "Erase a session for good. That it was stays in the audit.")
    add("id", metavar="ID")
    add("--yes", action="store_true", help="do not ask; needed where there is no terminal")
    return parser
