"""Full disks, failing disks, foreign files: nothing acknowledged is lost, and the store goes on when it is over."""

import asyncio
import fcntl
import os
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from tests.stores.processes import finished, kept, started
from tests.stores.worker import store_at
from tests.waiting import HANG_SECONDS

from pollux.core.errors import StoreError, ValidationError
from pollux.core.ids import RunId
from pollux.engine.ports import NOTHING, AuditFact, Change
from pollux.stores.filelock import FileLock
from pollux.stores.sqlite import SqliteStore
from pollux.testing.store_lab import Story


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "small"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "none", str(place)], check=False, capture_output=True
    )
    if mounted.returncode:
        pytest.skip("a small file system cannot be mounted here: only root can, outside of a container")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


async def test_a_full_disk_is_said_and_survived(small_disk: Path):
    store = store_at(small_disk)
    await store.open()
    acknowledged: list[Story] = []

    async def fill() -> None:
        for number in range(1000):
            acknowledged.append(await Story(str(number)).start(store, "words " * 2000))

    with pytest.raises(StoreError, match="the disk is full"):
        await fill()
    assert acknowledged
    for story in acknowledged:
        assert await store.run(story.run_id) == story.run
    subprocess.run(["mount", "-o", "remount,size=20m", str(small_disk)], check=True)
    story = await Story("after").start(store)
    assert await store.run(story.run_id) == story.run
    await store.close()


async def test_whoever_asks_whether_a_full_disk_takes_writes_is_told_that_it_does_not(small_disk: Path):
    store = store_at(small_disk)
    await store.open()
    await Story("before").start(store)
    await store.commit(NOTHING)
    filler = small_disk / "filler"
    with filler.open("wb", buffering=0) as file, suppress(OSError):
        while file.write(bytes(4096)):
            pass
    with pytest.raises(StoreError, match="the disk is full"):
        await store.commit(NOTHING)
    filler.unlink()
    await store.commit(NOTHING)
    await store.close()


async def test_a_store_that_was_taken_away_acknowledges_nothing_until_it_is_back(tmp_path: Path):
    store = store_at(tmp_path)
    await store.open()
    before = await Story("before").start(store)
    path, elsewhere = tmp_path / "pollux.db", tmp_path / "elsewhere.db"
    path.rename(elsewhere)
    with pytest.raises(StoreError, match="moved, removed or replaced"):
        await store.commit(NOTHING)
    path.touch()
    with pytest.raises(StoreError, match="moved, removed or replaced"):
        await Story("lost").start(store)
    elsewhere.rename(path)
    after = await Story("after").start(store)
    assert {row.run_id for row in await store.runs(before.run.user)} == {before.run_id, after.run_id}
    await store.close()


async def test_text_that_cannot_be_written_fails_alone_and_harms_nobody_beside_it(tmp_path: Path):
    store = store_at(tmp_path)
    await store.open()
    refused = Change(audit=(AuditFact(at=1.0, kind="revoked", user="ada", by="\ud800"),))
    story = Story("1")
    outcomes = await asyncio.gather(store.commit(refused), story.start(store), return_exceptions=True)
    assert isinstance(outcomes[0], ValidationError)
    assert await store.run(story.run_id) == story.run
    await store.close()


@pytest.mark.slow
@pytest.mark.parametrize(
    "fault",
    [
        "fdatasync,fsync:error=EIO:when=20..26",
        "fdatasync,fsync:error=EIO:when=21+7",
        "pwrite64:error=EIO:when=200..260",
        "pwrite64:error=ENOSPC:when=300..390",
        "pread64:error=EIO:when=30..34",
    ],
)
async def test_what_was_acknowledged_survives_a_failing_disk(tmp_path: Path, fault: str):
    if shutil.which("strace") is None:
        pytest.skip("strace is not installed (apt-get install strace)")
    # The file exists: a fault while it is being made is another story.
    store = store_at(tmp_path)
    await store.open()
    await store.close()
    quiet = ("strace", "-f", "-qq", "-o", str(tmp_path / "trace"), "-e", f"inject={fault}")
    lines = await finished(await started("commit", tmp_path, "x", 40, before=quiet))
    assert lines[-1] == "done"
    assert any("INJECTED" in line for line in (tmp_path / "trace").read_text().splitlines())
    store = store_at(tmp_path)
    await store.open()
    runs = [RunId(run) for run in kept(lines)]
    assert len(runs) == 40
    assert len(await store.versions(runs)) == 40
    for run_id in runs:
        assert await store.run(run_id)
    assert (await store.verify_audit()).valid
    await store.close()


async def test_another_file_is_not_taken_for_a_store(tmp_path: Path):
    (tmp_path / "pollux.db").write_text("this is not a database, but long enough to look at: " + "x" * 5000)
    with pytest.raises(StoreError, match="the file is something else"):
        await store_at(tmp_path).open()


async def test_a_store_of_a_newer_pollux_is_left_alone(tmp_path: Path):
    with sqlite3.connect(tmp_path / "pollux.db") as db:
        db.execute("PRAGMA user_version = 99")
    with pytest.raises(StoreError, match="Update Pollux"):
        await store_at(tmp_path).open()


async def test_another_key_is_refused_before_it_spoils_the_audit(tmp_path: Path):
    store = store_at(tmp_path)
    await store.open()
    await store.close()
    with pytest.raises(StoreError, match="found another"):
        await SqliteStore(tmp_path / "pollux.db", key=b"another").open()


async def test_a_long_reading_stops_neither_writing_nor_for_ever_an_erasure(tmp_path: Path):
    store = store_at(tmp_path)
    await store.open()
    story = await Story("1").start(store, "words")
    reader = sqlite3.connect(tmp_path / "pollux.db", isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM runs").fetchone()
    async with asyncio.timeout(HANG_SECONDS):
        erasing = asyncio.create_task(store.erase(story.thread.id))
        for number in range(2, 12):
            await Story(str(number)).start(store, "words " * 100_000)
        assert not erasing.done()
        reader.execute("ROLLBACK")
        await erasing
    reader.close()
    await store.close()


async def test_a_directory_that_cannot_be_made_is_said(tmp_path: Path):
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="expected to"):
        await store_at(tmp_path / "file").open()


async def test_a_store_that_failed_to_open_opens_once_the_trouble_is_over(tmp_path: Path):
    place = tmp_path / "place"
    place.mkdir()
    (place / "pollux.db").write_text("x" * 5000)
    store = store_at(place)
    with pytest.raises(StoreError):
        await store.open()
    (place / "pollux.db").unlink()
    await store.open()
    await Story("1").start(store)
    await store.close()


async def test_waiting_for_another_process_has_an_end(tmp_path: Path):
    lock = FileLock(tmp_path / "lock", wait=0.05)
    other = os.open(tmp_path / "lock", os.O_RDWR | os.O_CREAT)
    fcntl.flock(other, fcntl.LOCK_EX)
    with pytest.raises(StoreError, match=r"free within 0\.05 s"), lock:
        pass
    os.close(other)
    with lock:
        pass
    lock.close()


async def test_what_is_not_json_is_refused_before_it_is_written(tmp_path: Path):
    store = store_at(tmp_path)
    await store.open()
    with pytest.raises(ValidationError):
        await Story("1").start(store, "half a pair: \ud800")
    assert await store.run(RunId("run_1")) is None
    await Story("1").start(store)
    await store.close()


async def test_a_cancelled_caller_does_not_disturb_the_others(tmp_path: Path):
    store = store_at(tmp_path)
    await store.open()
    stories = [Story(str(number)) for number in range(20)]
    tasks = [asyncio.create_task(story.start(store)) for story in stories]
    await asyncio.sleep(0)
    for task in tasks[::2]:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    for story in stories[1::2]:
        assert await store.run(story.run_id) == story.run
    await store.close()


async def test_those_who_wait_share_a_transaction(tmp_path: Path):
    store = SqliteStore(tmp_path / "pollux.db", key=b"k" * 32)
    await store.open()
    syncs = await _log_growth(store, tmp_path, [Story("alone")])
    together = [Story(str(number)) for number in range(50)]
    grown = await _log_growth(store, tmp_path, together)
    # Apart they would write the same pages fifty times over.
    assert grown < 50 * syncs / 4
    await store.close()


async def _log_growth(store: SqliteStore, place: Path, stories: list[Story]) -> int:
    log = place / "pollux.db-wal"
    before = log.stat().st_size
    await asyncio.gather(*(story.start(store) for story in stories))
    return log.stat().st_size - before


async def test_the_log_is_brought_into_the_database_as_it_grows(tmp_path: Path):
    store = SqliteStore(tmp_path / "pollux.db", key=b"k" * 32)
    await store.open()
    sizes: list[int] = []
    for number in range(40):
        await Story(str(number)).start(store, "words " * 50_000)
        sizes.append((tmp_path / "pollux.db-wal").stat().st_size)
    assert max(sizes) < 8 * 1024 * 1024
    # It has been brought in, and begins anew over the blocks it has.
    assert len(set(sizes[-10:])) == 1
    await store.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["pollux.db", "pollux.db.lock"]


async def test_the_files_are_for_their_owner_alone(tmp_path: Path):
    store = store_at(tmp_path / "home")
    await store.open()
    await Story("1").start(store)
    store.enlist()
    for path in (tmp_path / "home").rglob("*"):
        assert path.stat().st_mode & 0o077 == 0, path
    await store.close()
