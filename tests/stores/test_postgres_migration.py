"""Databases of older versions: they are brought up to date at opening, whole or not at all."""

import asyncio
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest
from tests.stores import postgres_worker
from tests.stores.postgres import fresh_database
from tests.stores.postgres_worker import store_at
from tests.stores.test_sqlite_migration import is_told_as_left_behind, paged

from pollux.core.errors import StoreError
from pollux.engine.glance import glance_of
from pollux.stores.postgres.address import Address
from pollux.stores.postgres.connections import Db, connect
from pollux.stores.postgres.schema import MIGRATIONS, migrate, version_of
from pollux.stores.postgres.scopes import ENGINE
from pollux.stores.postgres.store import PostgresStore
from pollux.stores.schema import Additive
from pollux.testing.store_lab import ADA, NOON, Story, tell_all

pytestmark = pytest.mark.slow


@pytest.fixture
def url() -> Iterator[str]:
    with fresh_database() as url:
        yield url


@pytest.fixture
def db(url: str) -> Iterator[Db]:
    db = connect(Address(url))
    yield db
    db.close()


def test_a_migration_that_is_killed_leaves_the_database_as_it_was(url: str, db: Db):
    words = [sys.executable, postgres_worker.__file__, "migrate", url]
    assert subprocess.run(words, check=False).returncode == -signal.SIGKILL
    assert version_of(db) == 0
    assert db.execute("SELECT FROM pg_tables WHERE schemaname = 'pollux'").fetchall() == []
    migrate(db, Address(url))
    assert version_of(db) == len(MIGRATIONS)


def test_an_upgrade_that_fails_leaves_the_version_before_it(url: str, db: Db):
    migrate(db, Address(url))
    broken = [*MIGRATIONS, ("ALTER TABLE pollux.runs ADD COLUMN colour text", "SELECT 1 / 0")]
    with pytest.raises(Exception, match="division by zero"):
        migrate(db, Address(url), broken)
    assert (version_of(db), _columns(db, "colour")) == (len(MIGRATIONS), 0)
    migrate(db, Address(url), [*MIGRATIONS, broken[-1][:1]])
    assert (version_of(db), _columns(db, "colour")) == (len(MIGRATIONS) + 1, 1)


async def test_many_who_open_an_empty_database_at_once_all_find_it_ready(url: str):
    stores = [store_at(url) for _ in range(8)]
    await asyncio.gather(*(store.open() for store in stores))
    await asyncio.gather(*(Story(str(number)).start(store) for number, store in enumerate(stores)))
    await asyncio.gather(*(store.close() for store in stores))


def test_a_schema_that_an_administrator_made_is_used(url: str, db: Db):
    db.execute("CREATE SCHEMA pollux")
    migrate(db, Address(url))
    assert version_of(db) == len(MIGRATIONS)


async def test_a_database_of_a_newer_pollux_is_left_alone(url: str, db: Db):
    migrate(db, Address(url))
    db.execute("UPDATE pollux.meta SET value = '99' WHERE name = 'version'")
    db.execute("DELETE FROM pollux.meta WHERE name = 'readable_from'")
    with pytest.raises(StoreError, match=f"version {len(MIGRATIONS)} or older, found 99. Update Pollux"):
        await store_at(url).open()


async def test_a_database_that_a_newer_pollux_only_added_to_is_opened_and_used(url: str, db: Db):
    added = Additive(("ALTER TABLE pollux.runs ADD COLUMN colour text", "CREATE TABLE pollux.paints (name text)"))
    migrate(
        db, Address(url), [*MIGRATIONS, added, Additive(("ALTER TABLE pollux.threads ADD COLUMN mood int DEFAULT 1",))]
    )
    assert version_of(db) == len(MIGRATIONS) + 2
    store = store_at(url)
    # Twice: a process of this version that was there before goes on, and one that starts now begins.
    for name in ("1", "2"):
        await store.open()
        story = Story(name)
        await tell_all(store, story)
        assert await store.run(story.run_id) == story.run
        await store.close()
    assert (version_of(db), _columns(db, "colour")) == (len(MIGRATIONS) + 2, 1)


async def test_a_database_that_a_newer_pollux_took_something_from_is_refused_before_anything_is_written(
    url: str, db: Db
):
    added, taken = Additive(("ALTER TABLE pollux.runs ADD COLUMN colour text",)), ("DROP TABLE pollux.grants",)
    migrate(db, Address(url), [*MIGRATIONS, added, taken])
    with pytest.raises(StoreError, match=f"version {len(MIGRATIONS)} or older, found {len(MIGRATIONS) + 2}. Update"):
        await store_at(url).open()
    migrate(db, Address(url), [*MIGRATIONS, added, taken, Additive(("CREATE TABLE pollux.paints ()",))])
    with pytest.raises(StoreError, match="Update Pollux"):
        await store_at(url).open()
    assert db.execute("SELECT FROM pollux.meta WHERE name = 'key'").fetchall() == []


async def test_a_run_that_an_older_process_moved_on_is_not_told_by_an_old_glance(url: str, db: Db):
    store, ended, waiting = store_at(url), Story("1"), Story("2", at=NOON + 1)
    await store.open()
    await (await ended.start(store)).answer(store)
    action = await (await waiting.start(store)).ask(store)
    with db.transaction():
        db.execute(ENGINE)
        # What the version before writes: all that it knows of, and nothing else.
        db.execute(
            "UPDATE pollux.runs SET status = 'failed', tokens = 40, version = version + 1 WHERE run_id = 'run_1'"
        )
    await is_told_as_left_behind(store)
    await waiting.resolve(store, action)
    assert [row.glance for row in await store.runs(ADA)] == [glance_of(waiting.run), None]
    await store.close()


async def test_runs_of_a_database_without_numbers_stay_in_order_and_new_ones_come_first(url: str, db: Db):
    migrate(db, Address(url), MIGRATIONS[:4])
    with db.transaction():
        db.execute(ENGINE)
        for number, later in enumerate((3600, 0, 1800, 0)):
            _begin(db, number, later)
    store = store_at(url)
    await store.open()
    old = ["run_0", "run_2", "run_3", "run_1"]
    assert await paged(store) == old
    await Story("4", at=NOON - 60).start(store)
    assert await paged(store) == ["run_4", *old]
    assert [row.run_id for row in await store.runs(ADA, before="run_2")] == old[2:]
    with db.transaction():
        db.execute(ENGINE)
        _begin(db, 5, 0)
    assert await paged(store) == ["run_5", "run_4", *old]
    await store.close()


def _begin(db: Db, number: int, later: float) -> None:
    """A run as a process writes it that does not know of numbers."""
    db.execute(
        """
        INSERT INTO pollux.runs (run_id, thread_id, "user", profile, status, created_at, updated_at, owed, epoch,
            driver, tokens, version)
        VALUES ('run_' || %s::int, 'thr', 'ada', 'default', 'completed', %s, 0, false, 1, '', 0, 1)
        """,
        (number, NOON + later),
    )


async def test_another_key_is_refused_at_opening(url: str):
    store = store_at(url)
    await store.open()
    await store.close()
    with pytest.raises(StoreError, match=r"Put its audit\.key back"):
        await PostgresStore(url, key=b"x" * 32).open()
    await store.open()
    await store.close()


def _columns(db: Db, name: str) -> int:
    found = db.execute("SELECT FROM information_schema.columns WHERE column_name = %s", (name,))
    return len(found.fetchall())
