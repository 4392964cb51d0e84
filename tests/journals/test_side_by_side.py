"""Workers of two versions on one database: each drives what it can read, and nothing is lost or repeated."""

import asyncio
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any

import psycopg
import pytest
from tests.dispatch.queue_lab import opened
from tests.dispatch.queue_worker import mail, script
from tests.journals.newer import NEWER
from tests.stores.postgres import fresh_database
from tests.waiting import HANG_SECONDS, until

from pollux.core.errors import TooNew
from pollux.core.ids import RunId, UserId
from pollux.engine.engine import Engine, Start
from pollux.engine.system import SystemClock

pytestmark = pytest.mark.slow

ADA = UserId("ada")


@pytest.fixture
def url() -> Iterator[str]:
    with fresh_database() as url:
        with psycopg.connect(url, autocommit=True) as db:
            db.execute("CREATE TABLE public.acts (key text PRIMARY KEY)")
        yield url


@pytest.fixture
async def door(url: str) -> AsyncGenerator[Engine]:
    """A server of this version: it takes prompts, and drives nothing."""
    async with at_work(url) as door:
        yield door


@pytest.fixture
async def newer(url: str) -> AsyncGenerator["Newer"]:
    newer = Newer(url)
    yield newer
    await newer.kill()


@asynccontextmanager
async def at_work(url: str, *, concurrency: int = 0) -> AsyncGenerator[Engine]:
    engine, _ = await opened(url, SystemClock(), script(), [mail(url)], concurrency=concurrency)
    try:
        yield engine
    finally:
        await engine.close()


class Newer:
    """Workers of a newer version, one after the other."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._process: Process | None = None

    async def start(self, *more: str) -> None:
        words = [sys.executable, "-m", "tests.journals.newer", self._url, *more]
        self._process = await asyncio.create_subprocess_exec(*words, stdin=PIPE, stdout=PIPE)
        assert await self.line() == "ready"

    async def tell(self, line: str) -> None:
        assert self._process and self._process.stdin
        self._process.stdin.write(f"{line}\n".encode())
        await self._process.stdin.drain()

    async def line(self) -> str:
        assert self._process and self._process.stdout
        return (await asyncio.wait_for(self._process.stdout.readline(), HANG_SECONDS)).decode().strip()

    async def stop(self) -> None:
        await self.tell("stop")
        assert self._process and await asyncio.wait_for(self._process.wait(), HANG_SECONDS) == 0

    async def kill(self) -> None:
        if self._process and self._process.returncode is None:
            self._process.kill()
            await self._process.communicate()


async def test_a_run_that_a_newer_worker_has_claimed_waits_for_one_while_older_ones_drive_the_rest(
    url: str, door: Engine, newer: Newer
):
    await newer.start("hold")
    ahead = (await door.start(Start("go on", user=ADA))).id
    await newer.tell(f"approve {ahead}")
    assert await newer.line() == f"began {ahead}"
    await newer.stop()
    left = _journal(url, ahead)
    # This version starts on a database that a newer one has added to, and meets a run that it cannot read.
    async with at_work(url, concurrency=5):
        await _comes_true(lambda: _jobs(url, f"queue_name = 'default@{NEWER}' AND status = 'todo'") == [ahead])
        other = (await door.start(Start("go on", user=ADA))).id
        run = await door.wait_settled(other, seconds=HANG_SECONDS)
        await door.resolve(run.approvals[0].id, "approved", by=ADA)
        assert (await door.wait_settled(other, seconds=HANG_SECONDS)).text == "Sent."
        with pytest.raises(TooNew):
            await door.queries.run(ahead)
        assert _journal(url, ahead) == left
        await newer.start()
        await _comes_true(lambda: not _jobs(url, "true"))
    assert {row.run_id: row.status for row in await door.queries.runs(ADA)} == {ahead: "completed", other: "completed"}
    assert _journal(url, ahead)[: len(left)] == left
    assert len(_asked(url, "SELECT key FROM public.acts")) == 2


def _journal(url: str, run_id: RunId) -> list[tuple[Any, ...]]:
    return _asked(url, "SELECT seq, kind, v, facts FROM pollux.events WHERE stream = %s ORDER BY seq", f"r:{run_id}")


def _jobs(url: str, condition: str) -> list[RunId]:
    found = _asked(url, f"SELECT queueing_lock FROM pollux.procrastinate_jobs WHERE {condition}")
    return [run_id for (run_id,) in found]


def _asked(url: str, question: str, *values: Any) -> list[tuple[Any, ...]]:
    with psycopg.connect(url, autocommit=True) as db:
        db.execute("SELECT set_config('pollux.scope', 'engine', false)")
        return db.execute(question.encode(), values).fetchall()


async def _comes_true(is_so: Callable[[], bool]) -> None:
    await until(lambda: asyncio.to_thread(is_so))
