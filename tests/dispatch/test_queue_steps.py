"""The queue's own tables while workers of two versions are at them."""

import shutil
from collections.abc import Iterator
from importlib import resources
from pathlib import Path

import psycopg
import pytest
from tests.stores.postgres import fresh_database

from pollux.dispatch.queue.link import parameters_of
from pollux.dispatch.queue.schema import install

pytestmark = pytest.mark.slow

MADE_UP = {
    "99.00.00_01_pre_paint.sql": "CREATE TABLE pollux.paints (name text)",
    "99.00.00_50_post_paint.sql": "DROP TABLE pollux.procrastinate_periodic_defers",
}


@pytest.fixture
def url() -> Iterator[str]:
    with fresh_database() as url:
        yield url


@pytest.fixture
def newer(tmp_path: Path) -> Path:
    """What a newer Procrastinate brings along."""
    with resources.as_file(resources.files("procrastinate.sql")) as files:
        shutil.copytree(files, tmp_path / "sql")
    for name, script in MADE_UP.items():
        (tmp_path / "sql/migrations" / name).write_text(script)
    return tmp_path / "sql"


async def test_while_a_worker_lives_only_what_leaves_it_room_is_done(url: str, newer: Path):
    await install(parameters_of(url))
    with psycopg.connect(url, autocommit=True) as db:
        (worker,) = db.execute("INSERT INTO pollux.procrastinate_workers DEFAULT VALUES RETURNING id").fetchone() or (
            0,
        )
        await install(parameters_of(url), newer)
        assert _tables(db) >= {"paints", "procrastinate_periodic_defers"}
        # The old one may start again beside it.
        await install(parameters_of(url))
        db.execute("DELETE FROM pollux.procrastinate_workers WHERE id = %s", (worker,))
        await install(parameters_of(url), newer)
        assert "procrastinate_periodic_defers" not in _tables(db)
        done = db.execute("SELECT name FROM pollux.procrastinate_steps WHERE name LIKE '99%' ORDER BY name").fetchall()
        assert [name for (name,) in done] == list(MADE_UP)


async def test_what_we_added_since_is_added_to_a_queue_that_is_there(url: str):
    await install(parameters_of(url))
    with psycopg.connect(url, autocommit=True) as db:
        db.execute("ALTER TABLE pollux.procrastinate_workers DROP COLUMN stands_in")
        db.execute("DELETE FROM pollux.procrastinate_steps WHERE name LIKE 'pollux%'")
        await install(parameters_of(url))
        db.execute("SELECT stands_in FROM pollux.procrastinate_workers")


def _tables(db: "psycopg.Connection[tuple[str]]") -> set[str]:
    return {name for (name,) in db.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'pollux'")}
