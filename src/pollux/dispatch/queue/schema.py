"""Procrastinate's tables, made and updated by us, in the schema of the store.

Each step is one transaction together with its name: a process killed in the middle leaves the database as it was, and
under the store's own advisory lock one process migrates while the others wait.
"""

from importlib import resources
from typing import Any, cast

import psycopg
from psycopg import AsyncConnection

from pollux.core.errors import StoreError
from pollux.dispatch.queue.link import configure

_MIGRATING = 0x706F6C6C7578
"""The advisory lock of whoever migrates: "pollux" in ASCII, as in the store."""

_OURS = (
    # Its triggers write a history that nobody reads, and give notice inside the transaction, where every commit would
    # wait for the disk of the one before. We give notice after it.
    b"ALTER TABLE procrastinate_jobs DISABLE TRIGGER USER",
    # What a fetch asks of every job that is ready: whether its lock is free.
    b"CREATE INDEX procrastinate_jobs_of_lock ON procrastinate_jobs (lock, priority, id)"
    b" WHERE status IN ('todo', 'doing')",
    # Rows come and go by the second. Counted seldom, their number is wrong when it matters.
    b"ALTER TABLE procrastinate_jobs SET (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02,"
    b" autovacuum_analyze_scale_factor = 0.02, autovacuum_vacuum_threshold = 200, autovacuum_analyze_threshold = 200)",
    b"ALTER TABLE procrastinate_workers SET (fillfactor = 50)",
)


async def install(parameters: dict[str, Any]) -> None:
    """Make the queue's tables, or bring them to the version that is installed here. Raises StoreError."""
    try:
        async with await AsyncConnection.connect(**parameters) as db:
            await configure(db)
            async with db.transaction():
                # Released with the transaction. Whoever waited here finds the work done.
                await db.execute("SELECT pg_advisory_xact_lock(%s)", (_MIGRATING,))
                await _bring_up(db)
    except psycopg.Error as problem:
        raise StoreError(
            "expected to make the queue's tables, but the database refused. See whether it runs and whether the role"
            f" may make tables in the schema pollux ({type(problem).__name__})"
        ) from problem


async def _bring_up(db: AsyncConnection[Any]) -> None:
    files = resources.files("procrastinate.sql")
    steps = sorted(file.name for file in (files / "migrations").iterdir() if file.name.endswith(".sql"))
    # Not `to_regclass`, which answers from a cache: whoever waited for another's migration would not see it.
    found = await db.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'pollux'")
    if ("procrastinate_steps",) not in await found.fetchall():
        await _make_schema(db)
        await db.execute("CREATE TABLE procrastinate_steps (name text PRIMARY KEY)")
        await _run(db, (files / "schema.sql").read_text("utf-8"))
        for statement in _OURS:
            await db.execute(statement)
        done = set[str]()
        missing: list[str] = []
    else:
        done = {name for (name,) in await (await db.execute("SELECT name FROM procrastinate_steps")).fetchall()}
        missing = [step for step in steps if step not in done]
    for step in missing:
        await _run(db, (files / "migrations" / step).read_text("utf-8"))
    if missing:
        # A step may have made a trigger anew.
        await db.execute(_OURS[0])
    if new := [step for step in steps if step not in done]:
        await db.execute("INSERT INTO procrastinate_steps SELECT unnest(%s::text[])", (new,))


async def _make_schema(db: AsyncConnection[Any]) -> None:
    # Where it is there already, nobody needs the right to make one.
    found = await (await db.execute("SELECT FROM pg_namespace WHERE nspname = 'pollux'")).fetchone()
    if found is None:
        await db.execute("CREATE SCHEMA pollux")


async def _run(db: AsyncConnection[Any], script: str) -> None:
    await db.execute(cast("Any", script))
