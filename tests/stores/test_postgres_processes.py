"""Many processes on one PostgreSQL store, and processes and servers that die."""

import asyncio
import signal
from asyncio.subprocess import Process
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.stores.postgres import Cluster, fresh_database, own_cluster
from tests.stores.postgres_worker import store_at
from tests.stores.processes import finished, kept, line_of
from tests.stores.processes import started_on_postgres as started
from tests.waiting import HANG_SECONDS, until

from pollux.core.errors import StoreError
from pollux.core.ids import RunId
from pollux.engine.ports import Store
from pollux.stores.postgres import listening
from pollux.testing.store_lab import Story, tell_all

pytestmark = pytest.mark.slow


@pytest.fixture
def url() -> Iterator[str]:
    with fresh_database() as url:
        yield url


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with own_cluster() as cluster:
        yield cluster


async def test_four_processes_lose_nothing_and_meet_no_error(url: str):
    # The database is empty: they also meet over its first migration.
    workers = [await started("commit", url, f"w{number}x", 30) for number in range(4)]
    told = await asyncio.gather(*(finished(worker) for worker in workers))
    runs = [run for lines in told for run in kept(lines)]
    assert len(runs) == 120
    assert not [line for lines in told for line in lines if line.startswith("refused")]
    store = store_at(url)
    await store.open()
    assert len(await store.versions([RunId(run) for run in runs])) == 120
    report = await store.verify_audit()
    assert (report.valid, report.entries) == (True, 4 * 3 * 4)
    await store.close()


@pytest.mark.parametrize("lines", [1, 7, 25])
async def test_what_a_killed_process_had_been_told_is_there(url: str, lines: int):
    worker = await started("commit", url, "x", 100000)
    said = [await line_of(worker) for _ in range(lines)]
    await _killed(worker)
    await _are_whole(url, said)


@pytest.mark.parametrize("when", ["locked", "writing"])
async def test_a_process_killed_in_the_middle_of_a_commit_leaves_nothing_of_it_and_nothing_locked(
    url: str, when: str, monkeypatch: pytest.MonkeyPatch
):
    # Nobody cuts a connection that hangs: what the dead process had locked would stay locked.
    monkeypatch.setattr(listening, "_HANG_UP", b"SELECT 1")
    worker = await started("signal", url, "SIGKILL", when)
    assert await line_of(worker) == "locked"
    await worker.wait()
    store = store_at(url)
    await store.open()
    assert (await store.versions([RunId("run_stopped")])) == {"run_stopped": 3}
    async with asyncio.timeout(HANG_SECONDS):
        await tell_all(store, Story("after"))
    assert (await store.verify_audit()).entries == 4
    await store.close()


@pytest.mark.parametrize("when", ["locked", "writing"])
async def test_a_process_stopped_in_the_middle_of_a_commit_does_not_stop_the_others(url: str, when: str):
    store = store_at(url)
    await store.open()
    worker = await started("signal", url, "SIGSTOP", when)
    assert await line_of(worker) == "locked"
    async with asyncio.timeout(HANG_SECONDS):
        await tell_all(store, Story("meanwhile"))
    worker.send_signal(signal.SIGCONT)
    # Nothing of it was written, so it may be done again; where it cannot know, it says so.
    said = await finished(worker)
    assert (await store.versions([RunId("run_stopped")])) == {"run_stopped": 3 if said else 5}
    report = await store.verify_audit()
    assert (report.valid, report.entries) == (True, 4 if said else 5)
    await store.close()


async def test_a_driver_is_dead_when_it_is_killed_and_when_it_is_stopped_for_long(url: str):
    store = store_at(url)
    await store.open()
    # Right after its start, a server gives nobody up.
    killed, stopped = await started("hold", url), await started("hold", url)
    first, second = [(await line_of(worker)).split()[1] for worker in (killed, stopped)]
    assert await store.is_alive(first)
    await _killed(killed)
    await until(lambda: _is_dead(store, first))
    stopped.send_signal(signal.SIGSTOP)
    assert await store.is_alive(second)
    await until(lambda: _is_dead(store, second))
    # It wakes up and is heard again. What others claimed meanwhile stays theirs, by the epoch.
    stopped.send_signal(signal.SIGCONT)
    await until(lambda: store.is_alive(second))
    await _killed(stopped)
    await store.close()


async def test_what_was_acknowledged_survives_a_server_that_dies_and_the_processes_go_on(cluster: Cluster):
    with cluster.database() as url:
        workers = [await started("commit", url, f"w{number}x", 400) for number in range(2)]
        said = [[await line_of(worker) for _ in range(20)] for worker in workers]
        for _ in range(2):
            cluster.stop("immediate")
            cluster.start()
            said = [[*lines, await _next_kept(worker)] for worker, lines in zip(workers, said, strict=True)]
        told = await asyncio.gather(*(finished(worker) for worker in workers))
        assert [lines[-1] for lines in told] == ["done", "done"]
        await _are_whole(url, [line for lines in [*said, *told] for line in lines], count=800)


async def test_a_store_goes_on_by_itself_after_the_server_was_restarted(cluster: Cluster, tmp_path: Path):
    with cluster.database() as url:
        store, other = store_at(url, tmp_path / "heads"), store_at(url)
        await store.open()
        await other.open()
        story = await Story("1").start(store)
        driver = other.enlist()
        cluster.stop("immediate")
        with pytest.raises(StoreError, match="cannot be reached"):
            await store.run(story.run_id)
        cluster.start()
        assert await store.run(story.run_id) == story.run
        await tell_all(store, Story("2"))
        # Nobody knows what was missed: a new line counts as a change. Then it hears again.
        async with asyncio.timeout(HANG_SECONDS):
            await other.changed_elsewhere()
            heard = asyncio.create_task(other.changed_elsewhere())
            while not heard.done():
                await tell_all(store, Story(f"3{id(heard)}{asyncio.get_running_loop().time()}"))
        assert await store.is_alive(driver)
        assert (await store.verify_audit()).valid
        await store.close()
        await other.close()


async def test_a_server_that_is_down_is_said_and_survived(cluster: Cluster):
    with cluster.database() as url:
        store = store_at(url)
        await store.open()
        story = await Story("1").start(store)
        cluster.stop("fast")
        with pytest.raises(StoreError, match="cannot be reached"):
            await story.answer(store)
        with pytest.raises(StoreError, match="cannot be reached"):
            await store_at(url).open()
        cluster.start()
        await story.answer(store)
        await store.close()


async def _killed(worker: Process) -> None:
    worker.kill()
    await worker.communicate()


async def _next_kept(worker: Process) -> str:
    while not (line := await line_of(worker)).startswith("kept"):
        assert line, "the worker has ended"
    return line


async def _is_dead(store: Store, driver: str) -> bool:
    return not await store.is_alive(driver)


async def _are_whole(url: str, said: list[str], count: int | None = None) -> None:
    store = store_at(url)
    await store.open()
    runs = [RunId(run) for run in kept(said)]
    assert count in (None, len(runs))
    assert set((await store.versions(runs)).values()) == {3}
    assert (await store.verify_audit()).valid
    await store.close()
