"""`pollux serve` on PostgreSQL: what one server began, another goes on with, and a mail is sent once."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

import aiohttp
import pytest
from tests.http.site import PATIENCE, TOKENS, Person, process
from tests.stores.postgres import fresh_database
from tests.waiting import until

from pollux.emulator import run_emulator

pytestmark = pytest.mark.slow

PROMPT = "email Bob the report"


@pytest.fixture
def database() -> Generator[str]:
    with fresh_database() as url:
        yield url


async def test_a_server_killed_while_it_waits_leaves_its_run_to_the_next(tmp_path: Path, database: str):
    async with run_emulator() as model, aiohttp.ClientSession() as http:
        environ = {"GEMINI_API_KEY": "k", "GOOGLE_GEMINI_BASE_URL": model.url, "POLLUX_STORE": database}
        async with process(tmp_path, **environ) as first:
            asked = await Person(http, first.url, TOKENS["ada"]).run(PROMPT)
            first.kill()
        assert asked["status"] == "awaiting_confirmation"
        async with process(tmp_path, **environ) as second:
            ada = Person(http, second.url, TOKENS["ada"])
            got = await ada.resolve(asked["approvals"][0]["id"])
            assert got.body["run"]["status"] == "completed", got
            assert len((tmp_path / "home" / "outbox.jsonl").read_text().splitlines()) == 1
            audit = (await ada.get("/api/agent/audit/verify")).body
            assert (audit["valid"], audit["problems"]) == (True, [])


@pytest.mark.story
async def test_two_servers_on_one_database_show_and_answer_the_same_question_once(tmp_path: Path, database: str):
    async with run_emulator() as model, aiohttp.ClientSession() as http:
        environ = {"GEMINI_API_KEY": "k", "GOOGLE_GEMINI_BASE_URL": model.url, "POLLUX_STORE": database}
        async with process(tmp_path, **environ) as one, process(tmp_path, **environ) as two:
            here, there = (Person(http, server.url, TOKENS["ada"]) for server in (one, two))
            asked = await here.run(PROMPT)
            (waiting,) = (await there.get("/api/agent/approvals/pending")).body["items"]
            assert waiting["id"] == asked["approvals"][0]["id"]
            answers = await asyncio.gather(*(person.resolve(waiting["id"]) for person in (here, there) * 4))
            assert sorted(answer.status for answer in answers) == [200, *[409] * 7]
            lines = await there.lines("GET", f"/api/agent/runs/{asked['runId']}/events")
            assert "RunCompleted" in json.dumps(lines[-1])
            assert len((tmp_path / "home" / "outbox.jsonl").read_text().splitlines()) == 1


async def test_health_counts_the_workers_that_live(tmp_path: Path, database: str):
    environ = {"GEMINI_API_KEY": "k", "GOOGLE_GEMINI_BASE_URL": "http://127.0.0.1:9", "POLLUX_STORE": database}
    async with aiohttp.ClientSession() as http, process(tmp_path, **environ) as server:
        ada = Person(http, server.url, TOKENS["ada"])
        told = (await ada.get("/api/health")).body
        # The server itself only stands in.
        assert (told["store"], told["workers"]) == ({"kind": "postgres", "writable": True}, 0)
        assert "pollux@" not in str(told) and database not in str(told)
        worker = subprocess.Popen(
            [sys.executable, "-W", "error", "-m", "pollux.cli", "worker"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=tmp_path,
            env={"HOME": str(tmp_path), "POLLUX_HOME": str(tmp_path / "home"), **environ},
        )  # fmt: skip
        try:

            async def has_one_worker() -> bool:
                return (await ada.get("/api/health")).body["workers"] == 1

            await until(has_one_worker)
        finally:
            worker.terminate()
            worker.wait(PATIENCE)
