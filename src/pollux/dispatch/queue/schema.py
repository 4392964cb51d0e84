"""Procrastinate's tables, made and updated by us, in the schema of the store.

All steps are one transaction together with their names: a process killed in the middle leaves the database as it was,
and under the store's own advisory lock one process migrates while the others wait.

Steps that are done and not known here are a newer version's: they leave room for workers of the one before, as long as
those that take something away wait. Procrastinate calls them `post`, and says to take them when the old code is gone.
"""

from collections.abc import Mapping, Sequence
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Any, cast

import psycopg
from psycopg import AsyncConnection

from pollux.core.errors import StoreError
from pollux.dispatch.queue.link import configure
from pollux.dispatch.queue.statements import GONE_SECONDS

_MIGRATING = 0x706F6C6C7578
"""The advisory lock of whoever migrates: "pollux" in ASCII, as in the store."""

# Its triggers write a history that nobody reads, and give notice inside the transaction, where every commit would wait
# for the disk of the one before. We give notice after it.
_QUIET = b"ALTER TABLE procrastinate_jobs DISABLE TRIGGER USER"
_OURS: Mapping[str, Sequence[bytes]] = {
    "pollux_1": (
        # What a fetch asks of every job that is ready: whether its lock is free.
        b"CREATE INDEX IF NOT EXISTS procrastinate_jobs_of_lock ON procrastinate_jobs (lock, priority, id)"
        b" WHERE status IN ('todo', 'doing')",
        # Rows come and go by the second. Counted seldom, their number is wrong when it matters.
        b"ALTER TABLE procrastinate_jobs SET (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02,"
        b" autovacuum_analyze_scale_factor = 0.02, autovacuum_vacuum_threshold = 200,"
        b" autovacuum_analyze_threshold = 200)",
        b"ALTER TABLE procrastinate_workers SET (fillfactor = 50)",
    ),
    # Servers take jobs only while nobody is there who does nothing else.
    "pollux_2": (
        b"ALTER TABLE procrastinate_workers ADD COLUMN IF NOT EXISTS stands_in boolean NOT NULL DEFAULT false",
    ),
}
"""Steps of our own, after Procrastinate's. They only add: workers of the version before go on beside them."""
_WORKERS = f"""
    SELECT FROM procrastinate_workers WHERE last_heartbeat > clock_timestamp() - interval '{GONE_SECONDS} seconds'
""".encode()


async def install(parameters: dict[str, Any], files: Traversable | None = None) -> None:
    """Make the queue's tables, or bring them to the version that is installed here. Raises StoreError."""
    try:
        async with await AsyncConnection.connect(**parameters) as db:
            await configure(db)
            async with db.transaction():
                # Released with the transaction. Whoever waited here finds the work done.
                await db.execute("SELECT pg_advisory_xact_lock(%s)", (_MIGRATING,))
                await _bring_up(db, files or resources.files("procrastinate.sql"))
    except psycopg.Error as problem:
        raise StoreError(
            "expected to make the queue's tables, but the database refused. See whether it runs and whether the role"
            f" may make tables in the schema pollux ({type(problem).__name__})"
        ) from problem


async def _bring_up(db: AsyncConnection[Any], files: Traversable) -> None:
    steps = sorted(file.name for file in (files / "migrations").iterdir() if file.name.endswith(".sql"))
    # Not `to_regclass`, which answers from a cache: whoever waited for another's migration would not see it.
    found = await db.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'pollux'")
    if ("procrastinate_steps",) not in await found.fetchall():
        await _make_schema(db)
        await db.execute("CREATE TABLE procrastinate_steps (name text PRIMARY KEY)")
        await _run(db, (files / "schema.sql").read_text("utf-8"))
        taken = [*steps, *_OURS]
    else:
        taken = await _missing(db, steps)
        for step in taken:
            if step not in _OURS:
                await _run(db, (files / "migrations" / step).read_text("utf-8"))
    for step in taken:
        for statement in _OURS.get(step, ()):
            await db.execute(statement)
    if taken:
        # Each time: a step may have made a trigger anew.
        await db.execute(_QUIET)
        await db.execute("INSERT INTO procrastinate_steps SELECT unnest(%s::text[])", (taken,))


async def _missing(db: AsyncConnection[Any], steps: list[str]) -> list[str]:
    """The steps to take now. The last ones that only take something away wait while anybody may still use it."""
    done = {name for (name,) in await (await db.execute("SELECT name FROM procrastinate_steps")).fetchall()}
    missing = [step for step in steps if step not in done]
    has_workers = await (await db.execute(_WORKERS)).fetchone() is not None
    while has_workers and missing and "_post_" in missing[-1]:
        missing.pop()
    return [*missing, *(step for step in _OURS if step not in done)]


async def _make_schema(db: AsyncConnection[Any]) -> None:
    # Where it is there already, nobody needs the right to make one.
    found = await (await db.execute("SELECT FROM pg_namespace WHERE nspname = 'pollux'")).fetchone()
    if found is None:
        await db.execute("CREATE SCHEMA pollux")


async def _run(db: AsyncConnection[Any], script: str) -> None:
    await db.execute(cast("Any", script))
