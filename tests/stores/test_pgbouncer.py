"""The store by way of PgBouncer, and what must go past it. About 10 s."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import aiohttp
import psycopg
import pytest
from tests.http.site import TOKENS, Person, process
from tests.stores.pgbouncer import pooled
from tests.stores.postgres import fresh_database
from tests.stores.postgres_worker import KEY
from tests.waiting import HANG_SECONDS

from pollux.core.errors import StoreError
from pollux.emulator import run_emulator
from pollux.stores.postgres import poolers
from pollux.stores.postgres.store import PostgresStore
from pollux.testing.store_lab import ADA, Story, tell_all

pytestmark = pytest.mark.slow


@pytest.fixture
def url() -> Iterator[str]:
    with fresh_database() as url:
        yield url


async def test_everything_but_the_line_goes_through_a_pooler(url: str, tmp_path: Path):
    # Fewer sessions than connections: they are lent from one transaction to the next.
    with pooled(url, sessions=3) as way:
        store, other = (PostgresStore(way, key=KEY, heads=tmp_path / "heads", listen_url=url) for _ in range(2))
        await store.open()
        await other.open()
        stories = [Story(str(number)) for number in range(30)]
        await asyncio.gather(*(tell_all(each, story) for each, story in zip([store, other] * 15, stories, strict=True)))
        for story in stories[:3]:
            assert await store.run(story.run_id) == story.run
        assert len(await other.threads(ADA, limit=50)) == len(stories)
        async with asyncio.timeout(HANG_SECONDS):
            await store.changed_elsewhere()
        assert await store.is_alive(other.enlist())
        report = await store.verify_audit()
        assert (report.valid, report.entries) == (True, 4 * len(stories))
        await store.erase(stories[0].thread.id)
        assert await store.messages(stories[0].thread.id) == []
        await other.close()
        await store.close()


@pytest.mark.parametrize("named", ["not at all", "by mistake"])
async def test_a_pooler_in_the_place_of_a_direct_address_is_refused_before_anything_is_written(url: str, named: str):
    with pooled(url) as way:
        store = PostgresStore(way, key=KEY, listen_url=way if named == "by mistake" else None)
        with pytest.raises(StoreError, match="Give a direct address of the database in POLLUX_PG_LISTEN_URL"):
            await store.open()
    with psycopg.connect(url) as db:
        assert db.execute("SELECT FROM pg_namespace WHERE nspname = 'pollux'").fetchone() is None


async def test_a_pooler_that_lends_whole_sessions_is_as_good_as_a_direct_address(
    url: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(poolers, "HEARD_SECONDS", HANG_SECONDS)
    with pooled(url, mode="session", sessions=10) as way:
        store = PostgresStore(way, key=KEY, connections=2)
        await store.open()
        await tell_all(store, Story("1"))
        assert await store.is_alive(store.enlist())
        await store.close()


async def test_a_server_and_a_worker_behind_a_pooler_do_what_was_approved_once(url: str, tmp_path: Path):
    with pooled(url) as way:
        # A connection for each request: a server closes one that was idle, maybe just when it is used again.
        connector = aiohttp.TCPConnector(force_close=True)
        async with run_emulator() as model, aiohttp.ClientSession(connector=connector) as http:
            environ = {"GEMINI_API_KEY": "k", "GOOGLE_GEMINI_BASE_URL": model.url}
            environ |= {"POLLUX_STORE": way, "POLLUX_PG_LISTEN_URL": url}
            async with process(tmp_path, "--concurrency", "0", **environ) as server:
                with worker(tmp_path, environ) as working:
                    line = await asyncio.wait_for(asyncio.to_thread(_first_line, working), HANG_SECONDS)
                    assert line["ready"] is True
                    ada = Person(http, server.url, TOKENS["ada"])
                    asked = await ada.run("email Bob the report")
                    got = await ada.resolve(asked["approvals"][0]["id"])
                    assert got.body["run"]["status"] == "completed", got
                    assert len((tmp_path / "home" / "outbox.jsonl").read_text().splitlines()) == 1
                    working.terminate()
                    assert await asyncio.to_thread(working.wait, HANG_SECONDS) == 0


@contextmanager
def worker(path: Path, environ: dict[str, str]) -> Generator["subprocess.Popen[bytes]"]:
    words = [sys.executable, "-W", "error", "-m", "pollux.cli", "worker", "--concurrency", "5"]
    env = {"HOME": str(path), "POLLUX_HOME": str(path / "home"), **environ}
    with (path / "worker.err").open("ab") as talk:
        working = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=talk, cwd=path, env=env)
    try:
        yield working
    finally:
        working.kill()
        working.communicate(timeout=HANG_SECONDS)


def _first_line(working: "subprocess.Popen[bytes]") -> dict[str, Any]:
    assert working.stdout is not None
    return json.loads(working.stdout.readline())
