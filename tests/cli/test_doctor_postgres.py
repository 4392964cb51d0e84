"""`pollux doctor` with a PostgreSQL store: a real server, a real pooler, and what it says of each. About 10 s."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, LiteralString

import psycopg
import pytest
from tests.cli.fakes import nobody
from tests.cli.machine import Machine
from tests.stores.pgbouncer import pooled
from tests.stores.postgres import ROLE, fresh_database

from pollux.cli.doctor.postgres import connections, queue, server, store
from pollux.dispatch.queue.link import parameters_of
from pollux.dispatch.queue.schema import install
from pollux.stores.postgres.examination import Examination, Queue
from pollux.stores.postgres.schema import MIGRATIONS

SOUND = Examination(
    place="db/pollux",
    server="15.4",
    number=150004,
    encoding="UTF8",
    is_replica=False,
    is_above_walls=False,
    unsafe=(),
    connections=(97, 20, 12),
    version=1,
    newest=1,
    readable_from=1,
    has_this_key=True,
)
IDLE = Queue(workers=2, stand_ins=1, taken=3, waiting=0, oldest_seconds=0.0, left_alone=0)


@pytest.fixture
def url() -> Iterator[str]:
    with fresh_database() as url:
        yield url


@pytest.fixture
def machine(tmp_path: Path, url: str) -> Machine:
    return Machine(tmp_path, GEMINI_API_KEY="canary-key-0001", POLLUX_STORE=url)


def found(machine: Machine, *, code: int = 0) -> dict[str, dict[str, Any]]:
    checks = machine.told("doctor", "--json", "--offline", code=code)["checks"]
    return {check["name"]: check for check in checks}


def run(url: str, statement: LiteralString) -> list[tuple[Any, ...]]:
    with psycopg.connect(url, autocommit=True) as db:
        cursor = db.execute(statement)
        return cursor.fetchall() if cursor.description else []


@pytest.mark.slow
def test_looking_at_an_empty_database_makes_nothing(machine: Machine, url: str):
    checks = found(machine)
    assert checks["store"]["message"].endswith("its tables are made when it is first needed")
    assert {name: checks[name]["status"] for name in ("server", "role", "listen", "connections", "audit key")} == (
        dict.fromkeys(("server", "role", "listen", "connections", "audit key"), "ok")
    )
    assert run(url, "SELECT FROM pg_namespace WHERE nspname = 'pollux'") == []
    assert not (machine.home / "pollux").exists()


@pytest.mark.slow
def test_a_store_in_use_is_well_and_its_queue_is_counted(machine: Machine, url: str):
    machine.run("audit", "verify")
    assert "there is none yet" in found(machine)["queue"]["message"]
    asyncio.run(install(parameters_of(url)))
    run(url, "INSERT INTO pollux.procrastinate_workers DEFAULT VALUES")
    run(url, "INSERT INTO pollux.procrastinate_workers (stands_in) VALUES (true)")
    checks = found(machine)
    assert {check["status"] for name, check in checks.items() if name not in ("sqlite", "sandbox")} == {"ok"}
    assert checks["store"]["message"].endswith(f"answers, with tables of version {len(MIGRATIONS)}")
    assert checks["audit"]["message"] == "0 entries, and the chain is whole"
    assert checks["queue"]["message"] == "1 worker is alive; 0 waiting, 0 under way"


@pytest.mark.slow
def test_another_host_s_key_is_an_error_and_so_is_none(machine: Machine):
    machine.run("audit", "verify")
    key = machine.home / "pollux" / "audit.key"
    key.write_bytes(b"x" * 32)
    other = found(machine, code=1)["audit key"]
    assert "is not the key that the store was made with" in other["message"]
    assert other["advice"].startswith("Copy audit.key from a host that works")
    key.unlink()
    assert "is missing, but the store is there" in found(machine, code=1)["audit key"]["message"]
    assert not key.exists()


@pytest.mark.slow
def test_a_superuser_is_warned_that_no_wall_holds(machine: Machine, url: str):
    machine.environ["POLLUX_STORE"] = url.replace(f"{ROLE}@", "postgres@")
    role = found(machine)["role"]
    assert (role["status"], role["advice"].partition(":")[0]) == (
        "warning",
        "Use an ordinary role that owns the database",
    )


@pytest.mark.slow
def test_a_pooler_needs_a_direct_address_of_the_same_database(machine: Machine, url: str):
    with pooled(url) as way, fresh_database() as another:
        machine.environ["POLLUX_STORE"] = way
        deaf = found(machine, code=1)["listen"]
        assert "a pooler in transaction mode keeps them back" in deaf["message"]
        assert deaf["advice"].startswith("Set POLLUX_PG_LISTEN_URL")
        machine.environ["POLLUX_PG_LISTEN_URL"] = another
        assert "but it is another one" in found(machine, code=1)["listen"]["message"]
        machine.environ["POLLUX_PG_LISTEN_URL"] = url
        assert found(machine)["listen"]["message"] == "notices are heard over POLLUX_PG_LISTEN_URL"


@pytest.mark.slow
def test_a_server_that_is_not_there_is_said_without_the_password(machine: Machine):
    with nobody() as url:
        place = url.removeprefix("http://")
        machine.environ["POLLUX_STORE"] = f"postgresql://pollux:canary-pass@{place}/pollux"
        done = machine.run("doctor", "--offline")
    assert done.returncode == 1 and f"{place}/pollux to answer, but it cannot be reached" in done.stdout
    assert "canary" not in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("changes", "status", "words"),
    [
        ({}, "ok", "PostgreSQL 15.4, in UTF8"),
        ({"number": 130012, "server": "13.12"}, "error", "PostgreSQL 13.12 is too old"),
        ({"encoding": "LATIN1"}, "error", "the database is in LATIN1, but texts need UTF8"),
        ({"is_replica": True}, "error", "is a replica, which cannot be written"),
        ({"unsafe": ("fsync", "full_page_writes")}, "warning", "runs with fsync and full_page_writes off"),
    ],
)
def test_a_server_is_told_by_what_we_need_of_it(changes: dict[str, Any], status: str, words: str):
    check = server(replace(SOUND, **changes))
    assert (check.status, words in check.message, bool(check.advice)) == (status, True, status != "ok")


def test_tables_of_another_version_are_said():
    assert store(replace(SOUND, newest=2)).message.endswith("the next start brings them to 2")
    assert store(replace(SOUND, version=2)).status == "warning"
    assert store(replace(SOUND, version=2, readable_from=2)).status == "error"


def test_connections_that_run_out_are_a_warning():
    assert connections(SOUND).status == "ok"
    assert connections(replace(SOUND, connections=(97, 80, 60))).status == "warning"


@pytest.mark.parametrize(
    ("changes", "status", "words"),
    [
        ({}, "ok", "2 workers are alive; 0 waiting, 3 under way"),
        ({"waiting": 4, "oldest_seconds": 2.0}, "ok", "4 waiting, 3 under way, the oldest for 2 s"),
        ({"workers": 0, "waiting": 4}, "ok", "no worker is alive, and servers take the jobs themselves; 4 waiting"),
        ({"workers": 0, "stand_ins": 0, "waiting": 1}, "warning", "nobody is alive to take jobs; 1 waiting"),
        ({"waiting": 4, "oldest_seconds": 61.0}, "warning", "the oldest for 61 s"),
        ({"left_alone": 3}, "warning", "3 owed and without a job for a minute"),
    ],
)
def test_a_queue_is_told_by_who_takes_jobs_and_what_waits(changes: dict[str, Any], status: str, words: str):
    (check,) = queue(replace(SOUND, queue=replace(IDLE, **changes)))
    assert (check.status, words in check.message) == (status, True), check
