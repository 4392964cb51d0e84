"""The server that tests share: it is found wherever it must be, and ends with those who use it, however they end."""

import os
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from tests.stores.postgres import REPOSITORY, fresh_database
from tests.waiting import block_until

pytestmark = pytest.mark.slow

USER = """
import time
import tests.conftest
from tests.stores.postgres import Cluster, _place, fresh_database
def hold(said):
    print(said, flush=True)
    time.sleep(1000)
{}
print(_place(), flush=True)
with fresh_database() as url:
    hold(url)
"""


@contextmanager
def user(before: str = "", /, **environ: str) -> Generator["subprocess.Popen[str]"]:
    """A test run of its own, which uses a database until it is killed."""
    # As a test run that is not one of several.
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    words = [sys.executable, "-c", USER.format(before)]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, cwd=REPOSITORY, env={**inherited, **environ})
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def line_of(process: "subprocess.Popen[str]") -> str:
    assert process.stdout
    return process.stdout.readline().strip()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_the_server_ends_with_those_who_use_it(number: signal.Signals):
    with fresh_database(), user() as process:
        line_of(process)
        url = line_of(process)
        folder = Path(url.partition("?host=")[2])
        server = int((folder / "data/postmaster.pid").read_text().split()[0])
        # Again and again: Python drops an interrupt that arrives while it collects garbage.
        block_until(lambda: process.poll() is not None or process.send_signal(number))
        block_until(lambda: not folder.exists())
        block_until(lambda: not Path(f"/proc/{server}").exists())


def test_a_server_whose_maker_was_killed_ends_too():
    with fresh_database(), user("Cluster.run = lambda cluster, statement: hold(cluster.folder)") as process:
        line_of(process)
        folder = Path(line_of(process))
        assert not (folder / "made").exists()
        server = int((folder / "data/postmaster.pid").read_text().split()[0])
        process.kill()
        process.wait()
        block_until(lambda: not folder.exists())
        block_until(lambda: not Path(f"/proc/{server}").exists())


def test_nothing_of_the_machine_leads_elsewhere(tmp_path: Path):
    with fresh_database():
        far = tmp_path / "a folder with späces" / ("long" * 30)
        far.mkdir(parents=True)
        elsewhere = {"PGHOST": "/nowhere", "PGPORT": "9", "PGDATA": "/nowhere", "PGUSER": "nobody", "PGOPTIONS": "-x"}
        elsewhere |= {"TMPDIR": str(far), "LC_ALL": "tr_TR.UTF-8", "TZ": "Asia/Kathmandu", "HOME": "/nonexistent"}
        with user(**elsewhere) as process:
            assert str(far) not in line_of(process)
            url = line_of(process)
            with psycopg.connect(url) as db:
                assert db.execute("SHOW port").fetchone() == ("5432",)
