"""`pollux worker`, as an operator starts it. What it does for runs is told in tests/hosts."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.stores.postgres import fresh_database
from tests.waiting import HANG_SECONDS

PATIENCE = 2 * HANG_SECONDS


def worker(home: Path, *words: str) -> "subprocess.Popen[str]":
    bare = {"PATH": os.environ["PATH"], "HOME": str(home), "POLLUX_HOME": str(home)}
    command = [sys.executable, "-W", "error", "-m", "pollux.cli", "worker", *words]
    return subprocess.Popen(command, env=bare, cwd=home, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ((), "a worker takes runs from the queue of a PostgreSQL store"),
        (("--store", "runs.db"), "a worker takes runs from the queue of a PostgreSQL store"),
        (("--store", "postgresql://db/x", "--concurrency", "0"), "Give at least 1"),
        (("--store", "postgresql://db/x", "--concurrency", "-3"), "must be a whole number from 0 to 1000"),
        (
            (
                "--store",
                "postgresql://u:geheim@[db/x",
            ),
            "POLLUX_STORE",
        ),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(tmp_path: Path, words: tuple[str, ...], complaint: str):
    with worker(tmp_path, *words) as process:
        out, talk = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out) == (2, "")
    assert complaint in talk
    assert len(talk.splitlines()) == 1
    assert "geheim" not in talk


@pytest.mark.slow
async def test_it_says_that_it_is_ready_and_leaves_in_order_when_told(tmp_path: Path):
    with fresh_database() as url, worker(tmp_path, "--store", url, "--concurrency", "3") as process:
        assert process.stdout
        line = await asyncio.wait_for(asyncio.to_thread(process.stdout.readline), PATIENCE)
        assert json.loads(line) == {"ready": True, "concurrency": 3}
        process.send_signal(signal.SIGTERM)
        out, talk = await asyncio.to_thread(process.communicate, None, PATIENCE)
    assert (process.returncode, out) == (0, "")
    assert talk == "pollux: taking up to 3 runs at once\n"
