"""A real PostgreSQL of our own for tests: no port, a socket in a temporary folder, one cluster for all test processes.

Whoever uses a cluster holds a shared lock on a file of its folder, which the kernel drops however the process ends. A
guard process waits for the last of them, then stops the server and removes the folder.

    with fresh_database() as url:      an empty database in the cluster that all tests share
    with own_cluster() as cluster:     one that a test may stop and start
"""

import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from secrets import token_hex
from typing import LiteralString

import psycopg
import pytest
from psycopg import sql

ROLE = "pollux"
SETTINGS = {
    "listen_addresses": "",
    "max_connections": "150",
    "shared_buffers": "16MB",
    "max_wal_size": "128MB",
    "deadlock_timeout": "200ms",
    "logging_collector": "off",
}


class Cluster:
    """A server with its data, in one folder that belongs to whoever runs it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._emptied: list[str] = []

    def make(self) -> None:
        """Lay out the data and start. The role `pollux` may make databases, and is no superuser: walls hold for it."""
        self.folder.mkdir(mode=0o700, parents=True)
        (self.folder / "users").touch()
        if os.getuid() == 0:
            shutil.chown(self.folder, "postgres", "postgres")
        self._run("initdb", "-D", self._data, "-U", "postgres", "-E", "UTF8", "--locale=C", "-A", "trust", "--no-sync")
        settings = "".join(f"{name} = '{value}'\n" for name, value in SETTINGS.items())
        with (self.folder / "data/postgresql.conf").open("a") as file:
            file.write(f"unix_socket_directories = '{self.folder}'\n{settings}")
        self.start()
        self.run(f"CREATE ROLE {ROLE} LOGIN CREATEDB")

    def start(self) -> None:
        self._run("pg_ctl", "start", "-w", "-D", self._data, "-l", f"{self.folder}/log")

    def stop(self, mode: str = "immediate") -> None:
        self._run("pg_ctl", "stop", "-w", "-D", self._data, "-m", mode)

    def url(self, database: str, role: str = ROLE) -> str:
        return f"postgresql://{role}@/{database}?host={self.folder}"

    def run(self, statement: LiteralString, database: str = "postgres", role: str = "postgres") -> None:
        """One statement, as the server's owner unless told otherwise."""
        with psycopg.connect(self.url(database, role), autocommit=True) as db:
            db.execute(statement)

    @contextmanager
    def database(self) -> Generator[str]:
        """The address of an empty database. It is emptied and used again: dropping one waits for the disk."""
        name = self._emptied.pop() if self._emptied else self._new_database()
        yield self.url(name)
        with psycopg.connect(self.url(name, "postgres"), autocommit=True) as db:
            db.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s AND pid <> pg_backend_pid()",
                (name,),
            )
            db.execute("DROP SCHEMA IF EXISTS pollux CASCADE")
            db.execute("DROP SCHEMA public CASCADE")
            db.execute(f"CREATE SCHEMA public AUTHORIZATION {ROLE}")
        self._emptied.append(name)

    def _new_database(self) -> str:
        name = f"t_{token_hex(6)}"
        with psycopg.connect(self.url("postgres"), autocommit=True) as db:
            db.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        return name

    @property
    def _data(self) -> str:
        return f"{self.folder}/data"

    def _run(self, program: str, *arguments: str) -> None:
        # PostgreSQL refuses to run as root.
        before = ["runuser", "-u", "postgres", "--"] if os.getuid() == 0 else []
        words = [*before, f"{_programs()}/{program}", *arguments]
        # Not into a pipe: the server inherits it, and nobody would ever see its end.
        with tempfile.TemporaryFile() as said:
            ended = subprocess.run(words, cwd="/", stdout=said, stderr=said, check=False)
            said.seek(0)
            assert ended.returncode == 0, said.read().decode()


@contextmanager
def fresh_database() -> Generator[str]:
    """The address of an empty database in the shared cluster. Skips where PostgreSQL is not installed."""
    with _shared().database() as url:
        yield url


@contextmanager
def own_cluster() -> Generator[Cluster]:
    """A cluster that nobody else uses. Skips where PostgreSQL is not installed."""
    _skip_without_programs()
    cluster = Cluster(_place() / token_hex(6))
    cluster.make()
    users = _join(cluster)
    _set_guard(cluster)
    try:
        yield cluster
    finally:
        os.close(users)


@cache
def _shared() -> Cluster:
    _skip_without_programs()
    # The same for all processes of one pytest -n.
    cluster = Cluster(_place() / f"shared-{os.environ.get('PYTEST_XDIST_TESTRUNUID', os.getpid())}")
    with _locked(_begin_lock(cluster)):
        is_new = not cluster.folder.exists()
        if is_new:
            cluster.make()
        _join(cluster)
        if is_new:
            _set_guard(cluster)
    return cluster


def _join(cluster: Cluster) -> int:
    """Count as one who uses the cluster, until the descriptor is closed or the process ends."""
    users = os.open(cluster.folder / "users", os.O_RDONLY | os.O_CLOEXEC)
    fcntl.flock(users, fcntl.LOCK_SH)
    return users


def _set_guard(cluster: Cluster) -> None:
    words = [sys.executable, __file__, "guard", str(cluster.folder)]
    guard = subprocess.Popen(
        words,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        cwd=Path(__file__).parents[2],
    )
    # It outlives us on purpose.
    guard.returncode = 0


def _guard(cluster: Cluster) -> None:
    """Wait until nobody uses the cluster, then end it."""
    while True:
        users = os.open(cluster.folder / "users", os.O_RDONLY)
        fcntl.flock(users, fcntl.LOCK_EX)
        os.close(users)
        with _locked(_begin_lock(cluster)):
            users = os.open(cluster.folder / "users", os.O_RDONLY)
            try:
                fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                # Somebody joined between the two.
                time.sleep(0.05)
                continue
            try:
                cluster.stop()
            except AssertionError:
                # A test may have left it stopped.
                pass
            shutil.rmtree(cluster.folder)
            _begin_lock(cluster).unlink(missing_ok=True)
            return


@contextmanager
def _locked(path: Path) -> Generator[None]:
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
    finally:
        os.close(file)


def _begin_lock(cluster: Cluster) -> Path:
    return cluster.folder.with_suffix(".lock")


def _place() -> Path:
    # Not pytest's own folder: the server's owner could not enter it. And short: a socket's path has 107 bytes.
    place = Path(tempfile.gettempdir()) / f"pollux-pg-{os.getuid()}"
    place.mkdir(mode=0o755, exist_ok=True)
    return place


def _skip_without_programs() -> None:
    if not _programs():
        pytest.skip("PostgreSQL is not installed here")


@cache
def _programs() -> str:
    """Where the server's programs are: Debian keeps them beside one another by version, out of the way."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    named = shutil.which("initdb")
    if found:
        return str(found[-1].parent)
    return str(Path(named).resolve().parent) if named else ""


if __name__ == "__main__":
    _guard(Cluster(Path(sys.argv[2])))
