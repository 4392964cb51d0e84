"""Many processes on one SQLite store, and processes that die."""

import asyncio
import os
import select
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from tests.stores.processes import finished, kept, line_of, started
from tests.stores.worker import store_at
from tests.waiting import HANG_SECONDS

from pollux.core.ids import RunId
from pollux.stores.schema import MIGRATIONS, migrate, version_of

pytestmark = pytest.mark.slow

REPOSITORY = Path(__file__).parents[2]


async def test_eight_processes_lose_nothing_and_meet_no_error(tmp_path: Path):
    workers = [await started("commit", tmp_path, f"w{number}x", 50) for number in range(8)]
    told = await asyncio.gather(*(finished(worker) for worker in workers))
    runs = [run for lines in told for run in kept(lines)]
    assert len(runs) == 400
    assert not [line for lines in told for line in lines if line.startswith("refused")]
    store = store_at(tmp_path)
    await store.open()
    assert len(await store.versions([RunId(run) for run in runs])) == 400
    report = await store.verify_audit()
    assert (report.valid, report.entries) == (True, 8 * 5 * 4)
    await store.close()


@pytest.mark.parametrize("lines", [1, 5, 23, 60])
async def test_what_a_killed_process_had_been_told_is_there(tmp_path: Path, lines: int):
    worker = await started("commit", tmp_path, "x", 100000)
    said = [await line_of(worker) for _ in range(lines)]
    worker.kill()
    await worker.wait()
    store = store_at(tmp_path)
    await store.open()
    for run_id in kept(said):
        run = await store.run(RunId(run_id))
        assert run
        assert run.version == 3
    assert (await store.verify_audit()).valid
    await store.close()


async def test_a_process_killed_with_the_lock_does_not_stop_the_others(tmp_path: Path):
    for _ in range(5):
        worker = await started("commit", tmp_path, "x", 100000)
        await line_of(worker)
        worker.send_signal(signal.SIGKILL)
        await worker.wait()
        told = await finished(await started("commit", tmp_path, f"p{worker.pid}y", 3))
        assert told[-1] == "done"


def test_a_migration_that_is_killed_leaves_the_file_as_it_was(tmp_path: Path):
    script = f"""
import os, signal, sqlite3
from pathlib import Path
from pollux.stores.schema import FIRST, migrate
db = sqlite3.connect({str(tmp_path / "pollux.db")!r}, isolation_level=None)
db.execute("PRAGMA journal_mode = WAL")
db.create_function("die", 0, lambda: os.kill(os.getpid(), signal.SIGKILL))
migrate(db, Path("x"), [(*FIRST, "SELECT die()")])
"""
    ended = subprocess.run([sys.executable, "-c", script], check=False, timeout=2 * HANG_SECONDS)
    assert ended.returncode == -signal.SIGKILL
    db = sqlite3.connect(tmp_path / "pollux.db", isolation_level=None)
    assert version_of(db) == 0
    assert db.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,)
    migrate(db, tmp_path)
    assert version_of(db) == len(MIGRATIONS)
    db.close()


async def test_a_killed_driver_is_dead_and_its_file_goes(tmp_path: Path):
    worker = await started("hold", tmp_path)
    name = (await line_of(worker)).split()[1]
    store = store_at(tmp_path)
    await store.open()
    assert await store.is_alive(name)
    # A process that is stopped is not dead: it may wake up and go on.
    worker.send_signal(signal.SIGSTOP)
    assert await store.is_alive(name)
    worker.kill()
    await worker.wait()
    assert not await store.is_alive(name)
    assert not (tmp_path / "pollux.db.drivers" / name).exists()
    await store.close()


def test_a_forked_child_does_not_keep_its_parent_s_driver_alive(tmp_path: Path):
    script = f"""
import asyncio, os, sys, time
from pathlib import Path
sys.path.insert(0, {str(REPOSITORY)!r})
from tests.stores.worker import store_at
async def main():
    store = store_at(Path({str(tmp_path)!r}))
    await store.open()
    print(store.enlist(), flush=True)
    if os.fork() == 0:
        try:
            store.enlist()
        except Exception as refusal:
            print(refusal, flush=True)
        print("child", os.getpid(), flush=True)
        time.sleep(1000)
    time.sleep(1000)
asyncio.run(main())
"""
    words = [sys.executable, "-c", script]
    parent = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, start_new_session=True)
    assert parent.stdout
    try:
        name = parent.stdout.readline().strip()
        refusal = parent.stdout.readline()
        assert parent.stdout.readline().startswith("child ")
        parent.kill()
        parent.wait()
        # The child is still there: it holds the other end.
        assert not select.select([parent.stdout], [], [], 0)[0]
        assert "in this process" in refusal
        assert not asyncio.run(_is_alive(tmp_path, name))
    finally:
        os.killpg(parent.pid, signal.SIGKILL)
        parent.wait()
        parent.stdout.close()


async def _is_alive(place: Path, name: str) -> bool:
    store = store_at(place)
    await store.open()
    try:
        return await store.is_alive(name)
    finally:
        await store.close()
