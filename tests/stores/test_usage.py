"""What was used by day: read from sums that do not grow with the runs, also of stores that older versions filled."""

import asyncio
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.stores.postgres import fresh_database
from tests.stores.postgres_worker import store_at as postgres_at
from tests.stores.worker import store_at

from pollux.core.ids import UserId
from pollux.engine.glance import DayUsage
from pollux.engine.ports import Store
from pollux.stores import reading
from pollux.stores.memory import MemoryStore
from pollux.stores.postgres.address import Address
from pollux.stores.postgres.connections import connect
from pollux.stores.postgres.reading import USAGE
from pollux.stores.postgres.schema import MIGRATIONS as TABLES
from pollux.stores.postgres.schema import USAGE_SLOTS
from pollux.stores.postgres.schema import migrate as migrate_tables
from pollux.stores.postgres.scopes import ENGINE
from pollux.stores.schema import MIGRATIONS, migrate
from pollux.testing.store_lab import ADA, BOB, Story

DAY = 86_400.0
MANY = 60
COLUMNS = "run_id, thread_id, {user}, profile, status, created_at, updated_at, owed, epoch, driver"
SUMS = "tokens, version, model, input, output, thoughts, cached, cost, told"
OLD = [
    # Two that are priced, one that used nothing yet, one without a price, one left behind, and somebody else's.
    ("1", ADA, 2 * DAY, 15, 4, "a", 10, 5, 1, 2, 0.000_1, 4),
    ("2", ADA, 2 * DAY + 1, 30, 4, "a", 20, 10, 0, 0, 0.000_2, 4),
    ("3", ADA, 3 * DAY - 1, 0, 2, "a", 0, 0, 0, 0, None, 2),
    ("4", ADA, 2 * DAY, 15, 4, "b", 10, 5, 0, 0, None, 4),
    ("5", ADA, 3 * DAY, 40, 5, "a", 10, 5, 0, 0, 0.000_1, 4),
    ("6", BOB, 3 * DAY, 15, 4, "a", 10, 5, 0, 0, 0.000_1, 4),
]
FOUND = [
    DayUsage(2, "a", 3, 30, 15, 1, 2, 45, 0.000_3),
    DayUsage(2, "b", 1, 10, 5, 0, 0, 15, None),
    DayUsage(3, "", 1, 0, 0, 0, 0, 40, None),
]


async def use(store: Store) -> None:
    """Many runs of two users, on one day and with one model."""
    for owner in (ADA, BOB):
        stories = [Story(f"{owner}{number}", owner=owner, at=DAY) for number in range(MANY)]
        for story in stories:
            await story.start(store)
        await asyncio.gather(*(story.answer(store) for story in stories))
    assert [used.runs for used in await store.usage(ADA, 0)] == [MANY]


async def test_sqlite_reads_one_row_for_a_day_and_a_model_and_no_run(tmp_path: Path):
    store = store_at(tmp_path)
    await store.open()
    await use(store)
    with sqlite3.connect(tmp_path / "pollux.db") as db:
        plan = [row[-1] for row in db.execute(f"EXPLAIN QUERY PLAN {reading.USAGE}", (ADA, 0))]
        assert plan == ["SEARCH usage USING PRIMARY KEY (user=? AND day>?)"]
        assert db.execute("SELECT user, runs FROM usage").fetchall() == [(ADA, MANY), (BOB, MANY)]
    db.close()
    await store.close()


@pytest.mark.slow
async def test_postgresql_reads_a_few_rows_for_a_day_and_a_model_and_no_run(url: str):
    store = postgres_at(url)
    await store.open()
    await use(store)
    db = connect(Address(url))
    with db.transaction():
        db.execute(ENGINE)
        # Of a table this small, all of it would be read as soon.
        db.execute("SET LOCAL enable_seqscan = off")
        plan = "\n".join(row[0] for row in db.execute(b"EXPLAIN " + USAGE, (ADA, 0)))
        assert "usage_pkey" in plan and " on runs" not in plan
        found = db.execute('SELECT "user", count(*), sum(runs)::int FROM pollux.usage GROUP BY 1 ORDER BY 1').fetchall()
    db.close()
    assert [(user, rows <= USAGE_SLOTS, runs) for user, rows, runs in found] == [(ADA, True, MANY), (BOB, True, MANY)]
    await store.close()


async def test_what_is_in_memory_is_summed_as_it_is_written():
    store = MemoryStore()
    await store.open()
    await use(store)
    # No row and no run is looked at any more.
    vars(store)["_rows"].clear()
    vars(store)["_runs"].clear()
    assert [used.total for used in await store.usage(ADA, 0)] == [15 * MANY]


async def test_runs_of_an_older_file_are_summed_up_when_it_is_opened_and_older_processes_go_on(tmp_path: Path):
    path = tmp_path / "pollux.db"
    db = sqlite3.connect(path, isolation_level=None)
    migrate(db, path, MIGRATIONS[:10])
    for name, user, at, *sums in OLD:
        db.execute(
            f"INSERT INTO runs ({COLUMNS.format(user='user')}, {SUMS})"
            f" VALUES (?, 'thr', ?, 'default', 'completed', ?, ?, 0, 1, '', {', '.join('?' * len(sums))})",
            (name, user, at, at, *sums),
        )
    store = store_at(tmp_path)
    await store.open()
    assert list(await store.usage(ADA, 0)) == FOUND
    assert [used.runs for used in await store.usage(BOB, 0)] == [1]
    # What an older process writes: a run goes on, and its glance is left behind; and a new one.
    db.execute("UPDATE runs SET tokens = 45, version = version + 1 WHERE run_id = '1'")
    db.execute(
        f"INSERT INTO runs ({COLUMNS.format(user='user')}, tokens, version)"
        " VALUES ('7', 'thr', 'ada', 'default', 'planning', ?, ?, 0, 1, '', 7, 1)",
        (3 * DAY, 3 * DAY),
    )
    db.close()
    assert list(await store.usage(ADA, 0)) == after_older()
    await store.close()


@pytest.mark.slow
async def test_runs_of_an_older_database_are_summed_up_when_it_is_opened_and_older_processes_go_on(url: str):
    db = connect(Address(url))
    migrate_tables(db, Address(url), TABLES[:7])
    with db.transaction():
        db.execute(ENGINE)
        for name, user, at, *sums in OLD:
            db.execute(
                f"""
                INSERT INTO pollux.runs ({COLUMNS.format(user='"user"')}, {SUMS})
                VALUES (%s, 'thr', %s, 'default', 'completed', %s, %s, false, 1, '', {", ".join(["%s"] * len(sums))})
                """.encode(),
                (name, user, at, at, *sums),
            )
    store = postgres_at(url)
    await store.open()
    assert list(await store.usage(ADA, 0)) == FOUND
    assert [used.runs for used in await store.usage(UserId("bob"), 0)] == [1]
    with db.transaction():
        db.execute(ENGINE)
        db.execute("UPDATE pollux.runs SET tokens = 45, version = version + 1 WHERE run_id = '1'")
        db.execute(
            f"INSERT INTO pollux.runs ({COLUMNS.format(user=chr(34) + 'user' + chr(34))}, tokens, version)"
            " VALUES ('7', 'thr', 'ada', 'default', 'planning', %s, %s, false, 1, '', 7, 1)".encode(),
            (3 * DAY, 3 * DAY),
        )
    db.close()
    assert list(await store.usage(ADA, 0)) == after_older()
    await store.close()


def after_older() -> list[DayUsage]:
    """The same, when one run was moved on and another one begun by a process that knows nothing of glances."""
    return [
        DayUsage(2, "", 1, 0, 0, 0, 0, 45, None),
        DayUsage(2, "a", 2, 20, 10, 0, 0, 30, 0.000_2),
        DayUsage(2, "b", 1, 10, 5, 0, 0, 15, None),
        DayUsage(3, "", 2, 0, 0, 0, 0, 47, None),
    ]


@pytest.fixture
def url() -> Iterator[str]:
    with fresh_database() as url:
        yield url
