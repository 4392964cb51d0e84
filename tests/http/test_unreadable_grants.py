"""Grants that cannot be read: whoever asks hears so in bounded time, balancers too, and the run goes on afterwards."""

import asyncio
import sqlite3
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from tests.engine.builders import TO_BOB, mail
from tests.http.site import Site, site
from tests.stores.postgres import fresh_database
from tests.waiting import HANG_SECONDS

from pollux.core.ids import UserId
from pollux.engine.ports import Change
from pollux.providers.scripted import ScriptedProvider, call, reply
from pollux.stores.postgres.store import PostgresStore
from pollux.stores.sqlite import SqliteStore
from pollux.testing.store_lab import grant

KEY = b"k" * 32
DAMAGE = "UPDATE {grants} SET scope = 'sometimes'"


@pytest.fixture(autouse=True)
def looks_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """What takes a quarter of a minute in earnest."""
    for name in ("http.verbs.LOOK_SECONDS", "asgi.beats.BEAT_SECONDS", "http.runtime.READY_SECONDS"):
        monkeypatch.setattr(f"pollux.{name}", 0.3)
    monkeypatch.setattr("pollux.http.table.READY_SECONDS", 0.3)


@contextmanager
def broken_file(path: Path, how: str) -> Generator[None]:
    """A file whose grants are dropped or damaged, and restored at the end."""
    with sqlite3.connect(path, isolation_level=None) as db:
        db.execute("CREATE TABLE kept AS SELECT * FROM grants")
        db.execute({"dropped": "ALTER TABLE grants RENAME TO gone"}.get(how) or how.format(grants="grants"))
        yield
        if how == "dropped":
            db.execute("ALTER TABLE gone RENAME TO grants")
        db.execute("DELETE FROM grants")
        db.execute("INSERT INTO grants SELECT * FROM kept")


@contextmanager
def broken_table(url: str, how: str) -> Generator[None]:
    """A database whose grants are dropped, locked, forbidden or damaged, and restored at the end."""
    begin, end = {
        "dropped": ("ALTER TABLE pollux.grants RENAME TO gone", "ALTER TABLE pollux.gone RENAME TO grants"),
        "locked": ("BEGIN; LOCK TABLE pollux.grants IN ACCESS EXCLUSIVE MODE", "ROLLBACK"),
        "forbidden": ("REVOKE ALL ON pollux.grants FROM pollux", "GRANT ALL ON pollux.grants TO pollux"),
        "damaged": (DAMAGE.format(grants="pollux.grants"), "UPDATE pollux.grants SET scope = 'always'"),
    }[how]
    with psycopg.connect(url, autocommit=True) as db:
        db.execute("SELECT set_config('pollux.scope', 'engine', false)")
        db.execute(begin.encode())
        yield
        db.execute(end.encode())


async def story(here: Site, is_broken: Callable[[], Any]) -> None:
    """Two prompts, a list and a balancer while they cannot be read; and what became of it afterwards."""
    await here.store.commit(Change(grants=(grant("eve"), grant("mallory", owner=UserId("bob")))))
    assert (await here.nobody.get("/readyz")).status == 200
    async with asyncio.timeout(HANG_SECONDS):
        with is_broken():
            got = await here.ada.post("/api/agent/run", {"prompt": "email Bob"})
            assert (got.status, got.code) == (503, "store_error")
            lines = await here.bob.stream("email Bob")
            assert (lines[-1]["type"], lines[-1]["code"]) == ("error", "store_error")
            listed = await here.ada.get("/api/agent/grants")
            assert (listed.status, listed.code) == (503, "store_error")
            ready = await here.nobody.get("/readyz")
            assert (ready.status, ready.code) == (503, "store_error")
            assert not (await here.ada.get("/api/health")).body["store"]["writable"]
        for person, run_id in ((here.ada, got.body["error"]["runId"]), (here.bob, lines[-1]["runId"])):
            await here.engine.wait_settled(run_id)
            run = (await person.get(f"/api/agent/runs/{run_id}")).body
            assert run["status"] == "awaiting_confirmation"
            answered = await person.resolve(run["approvals"][0]["id"])
            assert answered.body["run"]["status"] == "completed"
    assert (await here.nobody.get("/readyz")).status == 200


def model() -> ScriptedProvider:
    return ScriptedProvider(call("send_mail", TO_BOB), call("send_mail", TO_BOB), reply("Sent."), reply("Sent."))


@pytest.mark.parametrize("how", ["dropped", DAMAGE, "UPDATE {grants} SET granted_at = 'noon'"])
async def test_grants_that_sqlite_cannot_read_are_an_error_in_bounded_time(tmp_path: Path, how: str):
    path = tmp_path / "pollux.db"
    async with site(tmp_path, model(), tools=[mail()], store=SqliteStore(path, key=KEY)) as here:
        await story(here, lambda: broken_file(path, how))


@pytest.mark.slow
@pytest.mark.parametrize("how", ["dropped", "locked", "forbidden", "damaged"])
async def test_grants_that_postgresql_does_not_give_are_an_error_in_bounded_time(tmp_path: Path, how: str):
    with fresh_database() as url:
        async with site(tmp_path, model(), tools=[mail()], store=PostgresStore(url, key=KEY)) as here:
            await story(here, lambda: broken_table(url, how))
