"""Files of older versions: they are brought up to date at opening, whole or not at all."""

import signal
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.stores.worker import store_at
from tests.waiting import HANG_SECONDS

from pollux.core.errors import StoreError
from pollux.engine.glance import DayUsage, Spending, glance_of
from pollux.engine.ports import Store
from pollux.stores.rows import GLANCE
from pollux.stores.schema import MIGRATIONS, Additive, migrate, version_of
from pollux.testing.store_lab import ADA, NOON, Story, tell_all


async def test_runs_of_a_file_that_did_not_count_tokens_have_spent_none_until_they_go_on(tmp_path: Path):
    store = store_at(tmp_path)
    await store.open()
    ended, waiting = await Story("1").start(store), await Story("2").start(store)
    await ended.answer(store)
    await waiting.ask(store)
    await store.close()
    _make_old(tmp_path / "pollux.db")
    await store.open()
    assert [row.tokens for row in await store.runs(ADA)] == [0, 0]
    assert await store.spent(ADA, NOON) == Spending()
    assert await store.run(ended.run_id) == ended.run
    await waiting.resolve(store, waiting.run.open[0])
    assert (await store.spent(ADA, NOON)).used == waiting.run.usage.total == 15
    await store.close()


async def test_a_run_that_an_older_process_moved_on_is_not_told_by_an_old_glance(tmp_path: Path):
    store, ended, waiting = store_at(tmp_path), Story("1"), Story("2", at=NOON + 1)
    await store.open()
    await (await ended.start(store)).answer(store)
    action = await (await waiting.start(store)).ask(store)
    db = sqlite3.connect(tmp_path / "pollux.db", isolation_level=None)
    # What the version before writes: all that it knows of, and nothing else.
    db.execute("UPDATE runs SET status = 'failed', tokens = 40, version = version + 1 WHERE run_id = 'run_1'")
    db.close()
    await is_told_as_left_behind(store)
    await waiting.resolve(store, action)
    assert [row.glance for row in await store.runs(ADA)] == [glance_of(waiting.run), None]
    await store.close()


async def is_told_as_left_behind(store: Store) -> None:
    """Of the first run only that it failed, and how many tokens there were in all."""
    second, first = await store.runs(ADA)
    assert (first.glance, first.tokens, first.status) == (None, 40, "failed")
    assert second.glance is not None
    assert [row.run_id for row in await store.runs(ADA, states=["failed"], unsure=True)] == ["run_1"]
    assert list(await store.usage(ADA, 0)) == [
        DayUsage(0, "", 1, 0, 0, 0, 0, 40, None),
        DayUsage(0, "scripted", 1, 10, 5, 0, 0, 15, None),
    ]


async def test_runs_of_a_file_without_numbers_stay_in_order_and_new_ones_come_first(tmp_path: Path):
    store = store_at(tmp_path)
    await store.open()
    for number, later in enumerate((3600, 0, 1800, 0)):
        await Story(str(number), at=NOON + later).start(store)
    await store.close()
    db = sqlite3.connect(tmp_path / "pollux.db", isolation_level=None)
    unnumber(db)
    db.execute("PRAGMA user_version = 7")
    db.close()

    await store.open()
    old = ["run_0", "run_2", "run_3", "run_1"]
    assert await paged(store) == old
    await Story("4", at=NOON - 60).start(store)
    assert await paged(store) == ["run_4", *old]
    # A page that was begun before the upgrade goes on.
    assert [row.run_id for row in await store.runs(ADA, before="run_2")] == old[2:]
    db = sqlite3.connect(tmp_path / "pollux.db", isolation_level=None)
    # What the version before writes: all that it knows of, and nothing else.
    columns = ", ".join(column for column in _columns(db) if column not in ("run_id", "listed"))
    db.execute(f"INSERT INTO runs (run_id, {columns}) SELECT 'run_5', {columns} FROM runs WHERE run_id = 'run_1'")
    db.close()
    assert await paged(store) == ["run_5", "run_4", *old]
    await store.close()


async def paged(store: Store) -> list[str]:
    seen: list[str] = []
    while page := await store.runs(ADA, limit=2, before=seen[-1] if seen else None):
        seen += [row.run_id for row in page]
    return seen


def test_every_version_of_a_file_becomes_the_current_one(tmp_path: Path):
    whole = _tables(tmp_path / "new.db", len(MIGRATIONS))
    for version in range(1, len(MIGRATIONS)):
        assert _tables(tmp_path / f"{version}.db", version) == whole


async def test_a_file_that_a_newer_pollux_only_added_to_is_opened_and_used(tmp_path: Path):
    _migrated(tmp_path, Additive(("ALTER TABLE runs ADD COLUMN colour TEXT",)), Additive(("CREATE TABLE paints (n)",)))
    store, story = store_at(tmp_path), Story("1")
    await store.open()
    await tell_all(store, story)
    assert await store.run(story.run_id) == story.run
    await store.close()
    _migrated(tmp_path)


async def test_a_file_that_a_newer_pollux_took_something_from_is_refused(tmp_path: Path):
    _migrated(tmp_path, Additive(("ALTER TABLE runs ADD COLUMN colour TEXT",)), ("DROP TABLE grants",))
    with pytest.raises(StoreError, match=f"version {len(MIGRATIONS)} or older, found {len(MIGRATIONS) + 2}. Update"):
        await store_at(tmp_path).open()


@pytest.mark.slow
def test_an_upgrade_that_is_killed_leaves_the_older_file_as_it_was(tmp_path: Path):
    path, before = tmp_path / "pollux.db", 2
    script = f"""
import os, signal, sqlite3
from pathlib import Path
from pollux.stores.schema import MIGRATIONS, migrate
db = sqlite3.connect({str(path)!r}, isolation_level=None)
db.execute("PRAGMA journal_mode = WAL")
migrate(db, Path("x"), MIGRATIONS[:{before}])
db.create_function("die", 0, lambda: os.kill(os.getpid(), signal.SIGKILL))
migrate(db, Path("x"), [*MIGRATIONS[:{before}], (*MIGRATIONS[{before}], "SELECT die()"), *MIGRATIONS[{before} + 1:]])
"""
    ended = subprocess.run([sys.executable, "-c", script], check=False, timeout=2 * HANG_SECONDS)
    assert ended.returncode == -signal.SIGKILL
    db = sqlite3.connect(path, isolation_level=None)
    assert version_of(db) == before
    assert "tokens" not in _columns(db)
    migrate(db, path)
    assert (version_of(db), "tokens" in _columns(db)) == (len(MIGRATIONS), True)
    db.close()


def _migrated(folder: Path, *more: Sequence[str]) -> None:
    """A file as a newer Pollux leaves it."""
    db = sqlite3.connect(folder / "pollux.db", isolation_level=None)
    migrate(db, folder / "pollux.db", [*MIGRATIONS, *more])
    db.close()


def _make_old(path: Path) -> None:
    """As the second version left it."""
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("DROP TABLE secrets")
    db.execute("DROP TABLE sessions")
    unnumber(db)
    db.execute("ALTER TABLE threads DROP COLUMN sources")
    for column in {"tokens", *GLANCE, "told"} - {"budget"}:
        db.execute(f"ALTER TABLE runs DROP COLUMN {column}")
    for column in ("document", "definition", "by"):
        db.execute(f"ALTER TABLE grants DROP COLUMN {column}")
    db.execute("PRAGMA user_version = 2")
    db.close()


def unnumber(db: sqlite3.Connection) -> None:
    """As it was before rows were numbered for lists, told what they may spend and when they ended, and were summed."""
    for trigger in ("usage_begins", "usage_grows", "usage_moves"):
        db.execute(f"DROP TRIGGER {trigger}")
    db.execute("DROP TABLE usage")
    for trigger in ("runs_begin_ended", "runs_end"):
        db.execute(f"DROP TRIGGER {trigger}")
    for index in ("runs_by_end", "runs_of_user_by_end"):
        db.execute(f"DROP INDEX {index}")
    db.execute("ALTER TABLE runs DROP COLUMN ended_at")
    db.execute("ALTER TABLE runs DROP COLUMN budget")
    for name in ("threads_are_numbered", "threads_move_up", "runs_are_numbered", "approvals_are_numbered"):
        db.execute(f"DROP TRIGGER {name}")
    for name in ("threads_of_user", "approvals_of_user", "runs_of_thread", "runs_in_order"):
        db.execute(f"DROP INDEX {name}")
    for table in ("threads", "runs", "approvals"):
        db.execute(f"ALTER TABLE {table} DROP COLUMN listed")
    db.execute("CREATE INDEX threads_of_user ON threads (user, updated_at, thread_id) WHERE erased = 0")
    db.execute("CREATE INDEX approvals_of_user ON approvals (user, requested_at, approval_id)")
    db.execute("CREATE INDEX runs_of_thread ON runs (thread_id, created_at, run_id)")


def _tables(path: Path, first: int) -> list[tuple[str, str]]:
    """What a file holds that was made by one version and brought up to date by this one."""
    db = sqlite3.connect(path, isolation_level=None)
    migrate(db, path, MIGRATIONS[:first])
    migrate(db, path)
    found = db.execute("SELECT name, sql FROM sqlite_master ORDER BY name").fetchall()
    db.close()
    return found


def _columns(db: sqlite3.Connection) -> list[str]:
    return [row[1] for row in db.execute("PRAGMA table_info(runs)")]
