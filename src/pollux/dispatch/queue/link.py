"""One direct connection to the queue's database, taken up again when it was lost."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import psycopg
from psycopg import AsyncConnection, ProgrammingError
from psycopg.conninfo import conninfo_to_dict

from pollux.core.errors import StoreError, ValidationError
from pollux.core.redact import Secret

Db = AsyncConnection[tuple[Any, ...]]
Statement = tuple[bytes, Sequence[Any]]
"""SQL and its values."""

ANSWER_SECONDS = 10.0

_DEFAULTS: dict[str, Any] = {
    "connect_timeout": 5,
    # A host that vanished says nothing: without these, one would wait for it for hours.
    "keepalives": 1,
    "keepalives_idle": 2,
    "keepalives_interval": 1,
    "keepalives_count": 3,
    "tcp_user_timeout": 6000,
    "client_encoding": "utf8",
}


def parameters_of(url: Secret | str) -> dict[str, Any]:
    """An address as connection parameters. Raises ValidationError, which repeats nothing of it."""
    try:
        given = conninfo_to_dict(url.reveal() if isinstance(url, Secret) else url)
    except ProgrammingError:
        raise ValidationError(
            "expected an address like postgresql://user:password@host:5432/database, found something else"
        ) from None
    return {**_DEFAULTS, **given, "application_name": "pollux-queue"}


async def configure(db: AsyncConnection[Any]) -> None:
    """Every connection to the queue: Procrastinate's own names are looked up in our schema, and the walls let it in."""
    await db.set_autocommit(True)
    await db.execute("SELECT set_config('search_path', 'pollux', false), set_config('pollux.scope', 'engine', false)")


class Link:
    """Statements one after the other, each a transaction of its own."""

    def __init__(self, parameters: dict[str, Any]) -> None:
        self._parameters = parameters
        self._turn = asyncio.Lock()
        self._db: Db | None = None

    async def ask(self, statement: Statement) -> list[tuple[Any, ...]]:
        """The rows of its answer. Raises StoreError."""
        async with self._turn:
            try:
                async with asyncio.timeout(ANSWER_SECONDS):
                    if self._db is None or self._db.closed:
                        self._db = await AsyncConnection.connect(**self._parameters)
                        await configure(self._db)
                    cursor = await self._db.execute(*statement)
                    return await cursor.fetchall() if cursor.description else []
            except (psycopg.Error, TimeoutError) as problem:
                if not isinstance(problem, psycopg.IntegrityError):
                    await self._hang_up()
                # Without the details, which may repeat what was to be written.
                raise StoreError(f"expected the queue's database to serve, found {type(problem).__name__}") from problem

    async def close(self) -> None:
        async with self._turn:
            await self._hang_up()

    async def _hang_up(self) -> None:
        db, self._db = self._db, None
        if db:
            with suppress(psycopg.Error):
                await db.close()
