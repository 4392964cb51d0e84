"""A real PgBouncer before a database of the tests. It lends a session for one transaction, then to somebody else."""

import os
import shutil
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict
from tests.stores.postgres import ROLE, short_folder
from tests.waiting import HANG_SECONDS, block_until

SHIPPED: Final = Path(__file__).parents[2] / "examples/deploy/pgbouncer.ini"


@contextmanager
def pooled(url: str, *, mode: str = "transaction", sessions: int = 4) -> Generator[str]:
    """The address of the same database by way of a PgBouncer with so many sessions. Skips where there is none."""
    # Debian keeps it where only root looks for programs.
    program = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', os.defpath)}:/usr/local/sbin:/usr/sbin")
    if program is None:
        pytest.skip("PgBouncer is not installed (apt-get install pgbouncer)")
    given = conninfo_to_dict(url)
    # Not pytest's own folder: PgBouncer refuses to run as root, and its user could not enter it.
    with short_folder() as place:
        (place / "users").write_text(f'"{ROLE}" ""\n')
        (place / "ini").write_text(_configuration(place, str(given["host"]), mode, sessions))
        owner = None
        if os.getuid() == 0:
            owner = "postgres"
            shutil.chown(place, owner, owner)
        with (place / "said").open("wb") as said:
            words = [program, str(place / "ini")]
            process = subprocess.Popen(words, stdout=said, stderr=said, cwd="/", user=owner, group=owner)
        try:
            way = f"postgresql://{ROLE}@/{given['dbname']}?host={place}&port=6432"
            _wait(way, process, place / "said")
            yield way
        finally:
            process.terminate()
            process.wait(HANG_SECONDS)


def _configuration(place: Path, host: str, mode: str, sessions: int) -> str:
    """The file that we ship, with what a test has another of: last one wins."""
    ours = {
        "listen_addr": "",
        "listen_port": "6432",
        "unix_socket_dir": str(place),
        "logfile": "",
        "pidfile": "",
        "auth_type": "trust",
        "auth_file": str(place / "users"),
        "pool_mode": mode,
        "default_pool_size": str(sessions),
        "min_pool_size": "0",
        "reserve_pool_size": "0",
    }
    shipped = [
        line
        for line in SHIPPED.read_text().partition("[pgbouncer]")[2].splitlines()
        if line.partition("=")[0].strip() not in ours
    ]
    settings = [f"{name} = {value}" for name, value in ours.items()]
    return "\n".join([f"[databases]\n* = host={host}\n[pgbouncer]", *settings, *shipped, ""])


def _wait(way: str, process: "subprocess.Popen[bytes]", said: Path) -> None:
    def answers() -> bool:
        assert process.poll() is None, said.read_text()
        try:
            psycopg.connect(way).close()
        except psycopg.OperationalError:
            return False
        return True

    block_until(answers)
