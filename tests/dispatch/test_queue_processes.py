"""Workers and a database that die or stand still: every wake is heard, and nothing is left in the queue."""

import asyncio
import random
import signal
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from typing import TypeVar

import psycopg
import pytest
from tests.dispatch.queue_lab import TAKEN_UP_SECONDS, opened, rows
from tests.dispatch.queue_worker import Workers, mail, script
from tests.stores.postgres import Cluster, own_cluster
from tests.waiting import HANG_SECONDS, stopwatch, until

from pollux.core.errors import Conflict, Misfit, StoreError, ThreadBusy
from pollux.core.ids import RunId, UserId
from pollux.core.run import Run
from pollux.engine.engine import Engine, Start
from pollux.engine.system import SystemClock

pytestmark = pytest.mark.slow

ADA = UserId("ada")
AT_ONCE = 16
T = TypeVar("T")


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with own_cluster() as cluster:
        yield cluster


@pytest.fixture
def url(cluster: Cluster) -> Iterator[str]:
    with cluster.database() as url:
        with psycopg.connect(url, autocommit=True) as db:
            db.execute("CREATE TABLE public.acts (key text PRIMARY KEY)")
        yield url


@pytest.fixture
async def workers(url: str) -> AsyncGenerator[Workers]:
    workers = Workers(url)
    yield workers
    await workers.kill_all()


@pytest.fixture
async def door(url: str) -> AsyncGenerator[Engine]:
    door, _ = await opened(url, SystemClock(), script(), [mail(url)])
    yield door
    await door.close()


async def test_a_dead_worker_s_run_is_taken_up_by_another_within_ten_seconds(url: str, door: Engine, workers: Workers):
    first = await workers.start(hold=True)
    run = await door.start(Start("go on", user=ADA))
    await _resolve(door, run.id)
    assert await workers.line_of(first) == f"began {run.id}"
    await workers.start()
    await workers.kill(first)
    with stopwatch() as watch:
        await _until(door, run.id, lambda run: run.ending)
    # The second is all that the other waits for on purpose, whatever the machine.
    assert watch.seconds <= 10
    assert TAKEN_UP_SECONDS <= 10
    await _comes_true(lambda: not rows(url))


async def test_a_worker_that_stood_still_does_not_end_another_s_job(url: str, door: Engine, workers: Workers):
    first = await workers.start(hold=True)
    run = await door.start(Start("go on", user=ADA))
    await _resolve(door, run.id)
    assert await workers.line_of(first) == f"began {run.id}"
    workers.send(first, signal.SIGSTOP)
    second = await workers.start(hold=True)
    assert await workers.line_of(second) == f"began {run.id}"
    workers.send(first, signal.SIGCONT)
    [job] = rows(url)
    await door.cancel(run.id, by=ADA)
    await _until(door, run.id, lambda run: run.ending)
    await _comes_true(lambda: not rows(url))
    assert job


@pytest.mark.parametrize("count", [60, pytest.param(500, marks=pytest.mark.soak)])
async def test_no_wake_is_lost_whoever_dies(cluster: Cluster, url: str, door: Engine, workers: Workers, count: int):
    alive = [await workers.start() for _ in range(3)]
    trouble = asyncio.create_task(_trouble(cluster, workers, alive, random.Random(7)))
    left = asyncio.Semaphore(AT_ONCE)

    async def story(number: int) -> Run:
        async with left:
            run_id = RunId(f"run_{number}")
            await _begin(door, run_id)
            await _resolve(door, run_id)
            return await _until(door, run_id, lambda run: run.ending)

    try:
        async with asyncio.timeout(4 * HANG_SECONDS + count):
            runs = await asyncio.gather(*(story(number) for number in range(count)))
    finally:
        trouble.cancel()
        await asyncio.gather(trouble, return_exceptions=True)
    assert {run.ending for run in runs if run.status != "completed"} == set()
    await _comes_true(lambda: not rows(url))
    with psycopg.connect(url) as db:
        assert db.execute("SELECT count(*) FROM public.acts").fetchone() == (count,)


async def _trouble(cluster: Cluster, workers: Workers, alive: list[int], chance: random.Random) -> None:
    """One thing after the other goes wrong."""
    while True:
        await asyncio.sleep(chance.uniform(0.5, 2))
        place = chance.randrange(len(alive))
        match chance.choice(["kill", "kill", "stop", "restart"]):
            case "kill":
                await workers.kill(alive[place])
                alive[place] = await workers.start()
            case "stop":
                workers.send(alive[place], signal.SIGSTOP)
                try:
                    await asyncio.sleep(8)
                finally:
                    workers.send(alive[place], signal.SIGCONT)
            case _:
                # In one piece: a test that is over still needs its server.
                await asyncio.shield(asyncio.to_thread(_restart, cluster))


def _restart(cluster: Cluster) -> None:
    cluster.stop("immediate")
    cluster.start()


async def _begin(door: Engine, run_id: RunId) -> None:
    try:
        await _patiently(lambda: door.start(Start("go on", user=ADA, run_id=run_id)))
    except (Conflict, ThreadBusy):
        # Written, although the answer was lost.
        pass


async def _resolve(door: Engine, run_id: RunId) -> None:
    run = await _until(door, run_id, lambda run: run.approvals)
    try:
        await _patiently(lambda: door.resolve(run.approvals[0].id, "approved", by=ADA))
    except Misfit:
        pass


async def _until(door: Engine, run_id: RunId, is_so: Callable[[Run], object]) -> Run:
    async with asyncio.timeout(2 * HANG_SECONDS):
        while not is_so(run := await _patiently(lambda: door.queries.run(run_id))):
            await asyncio.sleep(0.05)
    return run


async def _patiently(work: Callable[[], Awaitable[T]]) -> T:
    while True:
        try:
            return await work()
        except (StoreError, psycopg.OperationalError):
            await asyncio.sleep(0.1)


async def _comes_true(is_so: Callable[[], bool]) -> None:
    async def probe() -> bool:
        try:
            return await asyncio.to_thread(is_so)
        except psycopg.OperationalError:
            return False

    await until(probe)
