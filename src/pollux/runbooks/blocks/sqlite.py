"""`sqlite`: statements for a database file. Those that only read find it opened so that nothing can be written.

Statements that write are one transaction, unless they speak of transactions themselves: all of them or none. No
statement reaches another file (ATTACH, VACUUM INTO): whoever was asked was asked about this one.
"""

import asyncio
import os
import time
from contextlib import closing
from typing import TYPE_CHECKING, Final
from urllib.parse import quote, unquote

from pollux.core.errors import OutcomeUnknown, ToolError, ValidationError
from pollux.core.messages import JSON
from pollux.core.tools import ToolContext
from pollux.runbooks.blocks.block_type import TEXT, Args
from pollux.runbooks.blocks.sql import PARTLY, Results, SqlBlocks, sql_spec
from pollux.runbooks.blocks.sql_text import TRANSACTION, Statement, statements
from pollux.runbooks.scene import Scene
from pollux.tools.threads import in_thread

if TYPE_CHECKING:
    from sqlite3 import Connection

MEMORY: Final = ":memory:"
LOCK_SECONDS: Final = 10.0
"""How long we wait for somebody else's writing."""
STOP_SECONDS: Final = 1.5
LOOK_EVERY: Final = 10_000
"""After how many steps of SQLite's machine we look whether to stop."""
ALONE: Final = TRANSACTION | frozenset({"VACUUM", "PRAGMA"})
"""What begins with one of these cannot stand inside a transaction of ours."""

READ: Final = sql_spec("runbook_sqlite_read", "Ask an SQLite database.", writes=False, directory=TEXT)
WRITE: Final = sql_spec("runbook_sqlite", "Run statements in an SQLite database.", writes=True, directory=TEXT)


class Sqlite(SqlBlocks):
    """The type of `sqlite` blocks."""

    def __init__(self) -> None:
        super().__init__(
            "sqlite", "sqlite", specs=(READ, WRITE), runs=(_read, _write), prepare=_prepare, database=_database
        )

    def _args(self, scene: Scene, uri: str, query: str) -> Args:
        return {"uri": uri, "query": query, "directory": scene.directory}


def _prepare(args: Args, writes: bool) -> Args:
    """The address as the path of one file."""
    return {**args, "uri": _path(str(args["uri"]), str(args["directory"]), writes=writes)}


def _path(uri: str, directory: str, *, writes: bool) -> str:
    name = uri.removeprefix("sqlite:").removeprefix("//")
    if name in (MEMORY, ""):
        return MEMORY
    if name.startswith("file:") or "\0" in name:
        raise ValidationError("uri must be a path, sqlite://PATH or sqlite::memory:")
    if name != uri:
        name, _, options = name.partition("?")
        if options not in ("", "mode=ro", "mode=rw", "mode=rwc"):
            raise ValidationError(f"uri must have no option but mode=ro, rw or rwc, found {options!r}")
        if options == "mode=ro" and writes:
            raise ValidationError("uri says mode=ro, but the statements write. Leave it out, or only read")
        name = unquote(name)
    return os.path.normpath(os.path.join(directory, name))


def _database(args: Args) -> str:
    return f"sqlite:{args['uri']}"


async def _read(context: ToolContext, args: Args) -> dict[str, JSON]:
    return await _run(_Job(args, writes=False))


async def _write(context: ToolContext, args: Args) -> dict[str, JSON]:
    return await _run(_Job(args, writes=True))


async def _run(job: "_Job") -> dict[str, JSON]:
    work = asyncio.ensure_future(in_thread(job.run))
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        job.stop()
        # What it had begun is rolled back before anybody hears that it was stopped.
        await asyncio.wait({work}, timeout=STOP_SECONDS)
        if work.done():
            work.exception()
        raise


class _Job:
    """Statements at work in a thread of their own. `stop` is for those outside of it."""

    def __init__(self, args: Args, *, writes: bool) -> None:
        self._path = str(args["uri"])
        self._statements = statements(str(args["query"]), "sqlite")
        self._writes = writes
        timeout = args["timeout"]
        self._timeout = timeout if isinstance(timeout, int | float) else None
        self._deadline = float("inf") if self._timeout is None else time.monotonic() + self._timeout
        self._is_stopped = False
        self._done = 0

    def stop(self) -> None:
        self._is_stopped = True

    def run(self) -> dict[str, JSON]:
        """What the statements came to.

        Raises:
            ToolError: nothing has changed.
            OutcomeUnknown: something has.
        """
        import sqlite3

        is_one = self._writes and not any(statement.words[0] in ALONE for statement in self._statements)
        results = Results()
        try:
            with closing(self._open()) as connection:
                if is_one:
                    self._begin(connection)
                # From here on there is little to wait for but readers who are about to go.
                connection.execute(f"PRAGMA busy_timeout = {LOCK_SECONDS * 1000:.0f}")
                for statement in self._statements:
                    self._execute(connection, statement, results)
                if is_one:
                    connection.execute("COMMIT")
        except (sqlite3.Error, sqlite3.Warning, ValueError) as problem:
            # A connection that is closed in the middle of a transaction takes it back.
            said = f"{_file(self._path)}: {self._said(problem)}"
            if self._writes and not is_one and self._done:
                raise OutcomeUnknown(f"{said}. {PARTLY}") from problem
            raise ToolError(said) from problem
        return results.result

    def _open(self) -> "Connection":
        import sqlite3

        if self._path == MEMORY:
            connection = sqlite3.connect(MEMORY, isolation_level=None)
        else:
            if not self._writes and not os.path.exists(self._path):
                raise ToolError(f"there is no database {self._path}. Make it first, or correct the block's uri")
            mode = "rwc" if self._writes else "ro"
            address = f"file:{quote(self._path)}?mode={mode}"
            connection = sqlite3.connect(address, uri=True, isolation_level=None, timeout=0.1)
        connection.text_factory = _text
        connection.set_authorizer(_authorize)
        connection.set_progress_handler(self._must_stop, LOOK_EVERY)
        if not self._writes:
            connection.execute("PRAGMA query_only = ON")
        return connection

    def _begin(self, connection: "Connection") -> None:
        """Wait for those who write, no longer than anybody waits for us."""
        import sqlite3

        give_up = min(self._deadline, time.monotonic() + LOCK_SECONDS)
        while True:
            try:
                connection.execute("BEGIN IMMEDIATE")
                return
            except sqlite3.OperationalError as problem:
                is_busy = problem.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
                if not is_busy or self._is_stopped or time.monotonic() >= give_up:
                    raise

    def _execute(self, connection: "Connection", statement: Statement, results: Results) -> None:
        begun = time.monotonic()
        before = connection.total_changes
        cursor = connection.execute(statement.text)
        if cursor.description is None:
            changed = connection.total_changes - before
            results.changed(changed, time.monotonic() - begun, lastInsertRowid=cursor.lastrowid or 0)
        else:
            columns = [column[0] for column in cursor.description]
            results.begin()
            for row in cursor:
                # Also without room the rest is looked at: a statement that writes and returns is not done before.
                if not results.add(columns, row) and not self._writes:
                    break
            results.end(columns, time.monotonic() - begun)
        cursor.close()
        self._done += 1

    def _must_stop(self) -> bool:
        return self._is_stopped or time.monotonic() >= self._deadline

    def _said(self, problem: Exception) -> str:
        if time.monotonic() >= self._deadline:
            return f"stopped: it took longer than {self._timeout:g} s"
        if "readonly" in str(problem):
            return "the statements write, and this block only reads. Say `readOnly: false` in it"
        return str(problem)


def _authorize(action: int, first: str | None, second: str | None, database: str | None, trigger: str | None) -> int:
    import sqlite3

    # VACUUM attaches a file without a name, for itself.
    if action == sqlite3.SQLITE_ATTACH and first not in ("", MEMORY):
        return sqlite3.SQLITE_DENY
    return sqlite3.SQLITE_OK


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _file(path: str) -> str:
    return "the database in memory" if path == MEMORY else path
