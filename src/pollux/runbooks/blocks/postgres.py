"""`postgres`: statements for a PostgreSQL database. Those that only read are sent in a transaction that cannot write.

Statements that write are sent together, and PostgreSQL makes one transaction of them unless they speak of transactions
themselves.
"""

import time
from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import parse_qsl, urlencode, urlsplit

from pollux.core.errors import OutcomeUnknown, ToolError, ValidationError
from pollux.core.messages import JSON
from pollux.core.tools import ToolContext
from pollux.runbooks.blocks.block_type import Args
from pollux.runbooks.blocks.sql import PARTLY, Results, SqlBlocks, sql_spec
from pollux.runbooks.blocks.sql_text import TRANSACTION, statements

if TYPE_CHECKING:
    from psycopg import AsyncConnection

CONNECT_SECONDS: Final = 10
ALONE: Final = TRANSACTION | frozenset({"VACUUM", "CALL", "DO"})
"""What begins with one of these may have changed something for good although a later statement fails."""
LOST: Final = ("08", "57P")
"""How the codes begin by which a server, or the way to it, is gone."""
AS_TEXT: Final = tuple("date time timetz timestamp timestamptz interval numeric uuid inet cidr".split())
"""Read as the server writes them: exact, and whatever year or precision they are of."""

READ: Final = sql_spec("runbook_postgres_read", "Ask a PostgreSQL database.", writes=False)
WRITE: Final = sql_spec("runbook_postgres", "Run statements in a PostgreSQL database.", writes=True)


class Postgres(SqlBlocks):
    """The type of `postgres` blocks."""

    def __init__(self) -> None:
        super().__init__(
            "postgres", "postgres", specs=(READ, WRITE), runs=(_read, _write), prepare=_prepare, database=_database
        )


def _prepare(args: Args, writes: bool) -> Args:
    uri = str(args["uri"])
    if not uri.startswith(("postgres://", "postgresql://")):
        raise ValidationError("uri must begin with postgres:// or postgresql://")
    try:
        urlsplit(uri)
    except ValueError as problem:
        raise ValidationError(f"uri cannot be read: {problem}") from None
    return args


def _database(args: Args) -> str:
    """The address without its password."""
    parts = urlsplit(str(args["uri"]))
    who, at, where = parts.netloc.rpartition("@")
    options = [(name, value) for name, value in parse_qsl(parts.query) if "password" not in name]
    query = f"?{urlencode(options, safe='/')}" if options else ""
    return f"postgresql://{who.partition(':')[0]}{at}{where}{parts.path}{query}"


async def _read(context: ToolContext, args: Args) -> dict[str, JSON]:
    results = Results()
    async with _connected(args, writes=False) as connection, connection.cursor() as cursor:
        for statement in statements(str(args["query"]), "postgres"):
            begun = time.monotonic()
            results.begin()
            columns: list[str] = []
            # Row by row, and one statement alone: the server takes no second one here.
            async with aclosing(
                cast("AsyncGenerator[tuple[Any, ...]]", cursor.stream(statement.text.encode()))
            ) as rows:
                async for row in rows:
                    columns = columns or _columns(cursor)
                    if not results.add(columns, row):
                        break
            results.end(columns, time.monotonic() - begun)
            if results.is_full:
                # The rest was cancelled, and with it the transaction.
                break
    return results.result


async def _write(context: ToolContext, args: Args) -> dict[str, JSON]:
    results = Results()
    async with _connected(args, writes=True) as connection, connection.cursor() as cursor:
        begun = time.monotonic()
        await cursor.execute(str(args["query"]).encode())
        took = time.monotonic() - begun
        while True:
            if cursor.description is None:
                results.changed(cursor.rowcount, took)
            else:
                columns = _columns(cursor)
                results.begin()
                async for row in cursor:
                    if not results.add(columns, row):
                        break
                results.end(columns, took)
            # The server says how long all of them took together.
            took = 0.0
            if not cursor.nextset():
                return results.result


def _columns(cursor: Any) -> list[str]:
    return [column.name for column in cursor.description or ()]


@asynccontextmanager
async def _connected(args: Args, *, writes: bool) -> "AsyncGenerator[AsyncConnection]":
    """A connection of this call's own. What goes wrong with it is told in our terms.

    Raises:
        ToolError: nothing has changed.
        OutcomeUnknown: something may have.
    """
    try:
        from psycopg import Error
    except ImportError:
        raise ToolError(
            "PostgreSQL needs the extra `pollux[postgres]`. Install it: pip install 'pollux[postgres]'"
        ) from None
    where = _database(args)
    try:
        connection = await _connect(args, writes=writes)
    except Error as problem:
        raise ToolError(f"{where} cannot be reached: {str(problem).strip()}") from problem
    try:
        yield connection
    except Error as problem:
        said = f"{where}: {_said(problem, args)}"
        if writes and _may_have_acted(problem, args):
            raise OutcomeUnknown(f"{said}. {PARTLY}") from problem
        raise ToolError(said) from problem
    finally:
        await connection.close()


async def _connect(args: Args, *, writes: bool) -> "AsyncConnection":
    from psycopg import AsyncConnection
    from psycopg.conninfo import conninfo_to_dict, make_conninfo
    from psycopg.types.string import TextLoader

    uri, timeout = str(args["uri"]), args["timeout"]
    # An empty password keeps libpq from sending ours, of the environment, to a server that a document names.
    ours = {} if conninfo_to_dict(uri).get("password") else {"password": ""}
    info = make_conninfo(uri, connect_timeout=CONNECT_SECONDS, application_name="pollux-runbook", **ours)
    connection = await AsyncConnection.connect(info, autocommit=True)
    try:
        for name in AS_TEXT:
            connection.adapters.register_loader(name, TextLoader)
        if isinstance(timeout, int | float):
            milliseconds = str(max(1, round(timeout * 1000)))
            await connection.execute("SELECT set_config('statement_timeout', %s, false)", [milliseconds])
        if not writes:
            await connection.execute("BEGIN READ ONLY")
    except BaseException:
        await connection.close()
        raise
    return connection


def _said(problem: Any, args: Args) -> str:
    timeout = args["timeout"]
    if problem.sqlstate == "57014" and isinstance(timeout, int | float):
        return f"stopped: it took longer than {timeout:g} s"
    if problem.sqlstate == "25006":
        return "the statements write, and this block only reads. Say `readOnly: false` in it"
    return str(problem.diag.message_primary or problem).strip()


def _may_have_acted(problem: Any, args: Args) -> bool:
    state = problem.sqlstate
    if state is None or state.startswith(LOST):
        return True
    return any(statement.words[0] in ALONE for statement in statements(str(args["query"]), "postgres"))
