"""A real PostgreSQL of our own for tests: no port, a socket in a short folder, one cluster for all test processes.

Nothing of the machine's own PostgreSQL is used but its programs. A process that uses a cluster holds a shared lock on a
file in its folder, which the kernel drops however the process ends. A guard process is there before the server is: it
waits for the last lock, then stops the server and removes the folder.

    with fresh_database() as url:      an empty database in the cluster that all tests share
    with own_cluster() as cluster:     one that a test may stop and start
"""

import fcntl
import os
import pwd
import re
import shutil
import signal
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
from tests.waiting import HANG_SECONDS, POLL_SECONDS

ROLE = "pollux"
OWNER = "postgres"
"""Runs the server where the tests run as root: PostgreSQL refuses to be root."""
REPOSITORY = Path(__file__).parents[2]
LONGEST_PLACE = 60
"""The path of a socket has at most 107 bytes, and the name of a cluster and of its socket follow."""
SETTINGS = {
    "listen_addresses": "",
    "port": "5432",
    "max_connections": "400",
    "shared_buffers": "16MB",
    "max_wal_size": "128MB",
    "deadlock_timeout": "200ms",
    "logging_collector": "off",
}


class Cluster:
    """A server with its data, in one folder that belongs to the user who runs it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._emptied: list[str] = []

    def lay_out(self) -> None:
        """The folder, and the file that its users lock."""
        self.folder.mkdir(mode=0o700, parents=True)
        (self.folder / "users").touch()
        if os.getuid() == 0:
            shutil.chown(self.folder, OWNER, OWNER)

    def make(self) -> None:
        """Make the data and start. The role `pollux` may make databases, and is no superuser: walls hold for it."""
        self._run("initdb", "-D", self._data, "-U", "postgres", "-E", "UTF8", "--locale=C", "-A", "trust", "--no-sync")
        settings = "".join(f"{name} = '{value}'\n" for name, value in SETTINGS.items())
        with (self.folder / "data/postgresql.conf").open("a") as file:
            file.write(f"unix_socket_directories = '{self.folder}'\n{settings}")
        self.start()
        self.run(f"CREATE ROLE {ROLE} LOGIN CREATEDB")
        (self.folder / "made").touch()

    @property
    def is_made(self) -> bool:
        """Whether it was made to the end. Its maker may have died meanwhile."""
        return (self.folder / "made").exists()

    def start(self) -> None:
        # Longer than a hang may take anywhere else: after a crash the server reads its log first.
        self._run("pg_ctl", "start", "-w", "-t", "300", "-D", self._data, "-l", f"{self.folder}/log")

    def stop(self, mode: str = "immediate") -> None:
        self._run("pg_ctl", "stop", "-w", "-t", "300", "-D", self._data, "-m", mode)

    def put(self, data: Path) -> None:
        """Take a copy of these data for ours, while the server is stopped."""
        own = self.folder / "data"
        shutil.rmtree(own, ignore_errors=True)
        shutil.copytree(data, own, symlinks=True)
        with (own / "postgresql.conf").open("a") as file:
            file.write(f"unix_socket_directories = '{self.folder}'\n")
        if os.getuid() == 0:
            for path in (own, *own.rglob("*")):
                shutil.chown(path, OWNER, OWNER)

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
            is_left = _is_left_by_all(db)
            db.execute("DROP SCHEMA IF EXISTS pollux CASCADE")
            db.execute("DROP SCHEMA public CASCADE")
            db.execute(f"CREATE SCHEMA public AUTHORIZATION {ROLE}")
            # A process that outlived its test may come back at any moment: then the database stays its own.
            if is_left and _is_left_by_all(db):
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
        owner = OWNER if os.getuid() == 0 else None
        environ = {name: value for name, value in os.environ.items() if not name.startswith(("PG", "LC_", "LANG"))}
        # Not into a pipe: the server inherits it, and nobody would ever see its end. Not into the folder for temporary
        # files: it may be gone when the guard stops the server.
        with tempfile.TemporaryFile(dir=self.folder) as said:
            ended = subprocess.run(
                [f"{_programs()}/{program}", *arguments],
                cwd="/",
                env={**environ, "LC_ALL": "C", "TZ": "UTC"},
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                user=owner,
                group=owner,
                extra_groups=None if owner is None else [],
                check=False,
            )
            said.seek(0)
            assert ended.returncode == 0, said.read().decode(errors="replace")


def _is_left_by_all(db: "psycopg.Connection[tuple[object, ...]]") -> bool:
    """Cut whoever is still connected to this database. Whether nobody is there any more."""
    others = (
        "FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        " AND backend_type = 'client backend'"
    )
    end = time.monotonic() + HANG_SECONDS
    while db.execute(f"SELECT pg_terminate_backend(pid) {others}").fetchall():  # pyright: ignore[reportArgumentType]
        if time.monotonic() > end:
            return False
        time.sleep(POLL_SECONDS)
    return True


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
    users = _begin(cluster)
    try:
        cluster.make()
        yield cluster
    finally:
        os.close(users)


@contextmanager
def copied(cluster: Cluster) -> Generator[Cluster]:
    """A second server on a copy of the data of this one, which is stopped for a moment."""
    copy = Cluster(_place() / token_hex(6))
    users = _begin(copy)
    try:
        cluster.stop("fast")
        copy.put(cluster.folder / "data")
        cluster.start()
        copy.start()
        yield copy
    finally:
        os.close(users)


@contextmanager
def short_folder() -> Generator[Path]:
    """A new folder for a socket: a short path of plain letters, which the server's user may enter."""
    folder = _place() / token_hex(6)
    folder.mkdir(mode=0o755)
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


@cache
def _shared() -> Cluster:
    _skip_without_programs()
    # The same for all processes of one pytest -n, and for nobody else.
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID", token_hex(16))
    cluster = Cluster(_place() / f"shared-{run[:16]}")
    with _locked(_begin_lock(cluster)):
        if cluster.is_made:
            _join(cluster)
            return cluster
        if cluster.folder.exists():
            # A process died while it made it.
            _end(cluster)
        _begin(cluster)
        cluster.make()
    return cluster


def _begin(cluster: Cluster) -> int:
    """A folder with a first user and a guard. The server comes last: whenever we die, it is stopped."""
    cluster.lay_out()
    users = _join(cluster)
    _set_guard(cluster)
    return users


def _join(cluster: Cluster) -> int:
    """Count as one who uses the cluster, until the descriptor is closed or the process ends."""
    users = os.open(cluster.folder / "users", os.O_RDONLY | os.O_CLOEXEC)
    fcntl.flock(users, fcntl.LOCK_SH)
    return users


def _set_guard(cluster: Cluster) -> None:
    guard = subprocess.Popen(
        [sys.executable, "-m", "tests.stores.postgres", "guard", str(cluster.folder)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        cwd=REPOSITORY,
    )
    # It outlives us on purpose.
    guard.returncode = 0


def _guard(cluster: Cluster) -> None:
    """Wait until nobody uses the cluster, then end it."""
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        # Meant for the tests, by whoever stops them: the server must not outlive them.
        signal.signal(number, signal.SIG_IGN)
    while True:
        try:
            users = os.open(cluster.folder / "users", os.O_RDONLY)
        except FileNotFoundError:
            # Somebody else has ended it.
            return
        fcntl.flock(users, fcntl.LOCK_EX)
        os.close(users)
        with _locked(_begin_lock(cluster)):
            try:
                users = os.open(cluster.folder / "users", os.O_RDONLY)
                fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except FileNotFoundError:
                return
            except BlockingIOError:
                # Somebody joined between the two.
                os.close(users)
                time.sleep(0.05)
                continue
            _end(cluster)
            _begin_lock(cluster).unlink(missing_ok=True)
            return


def _end(cluster: Cluster) -> None:
    """Stop the server if there is one, and remove the folder."""
    try:
        cluster.stop()
    except AssertionError:
        # A test may have left it stopped. Where one is just being started, it ends when it misses its folder.
        pass
    for _ in range(100):
        shutil.rmtree(cluster.folder, ignore_errors=True)
        if not cluster.folder.exists():
            return
        time.sleep(0.05)


@contextmanager
def _locked(path: Path) -> Generator[None]:
    while True:
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            # A guard removes the file: a lock on one that is gone keeps nobody out.
            if not path.exists() or not os.path.samestat(os.fstat(file), path.stat()):
                continue
            yield
            return
        finally:
            os.close(file)


def _begin_lock(cluster: Cluster) -> Path:
    return cluster.folder.with_suffix(".lock")


@cache
def _place() -> Path:
    """Where clusters are. Not pytest's own folder: it may be long, and the server's user could not enter it."""
    for folder in (Path(tempfile.gettempdir()), Path("/tmp"), Path("/var/tmp"), Path("/dev/shm")):
        place = folder / f"pollux-pg-{os.getuid()}"
        if _is_plain(place) and _can_be_entered(folder) and _is_made_for_us(place):
            return place
    raise AssertionError(
        "expected one of $TMPDIR, /tmp, /var/tmp and /dev/shm to take a folder for PostgreSQL's socket"
    )


def _is_plain(place: Path) -> bool:
    """Whether an address, a configuration and a socket can name it as it is."""
    return re.fullmatch(r"[A-Za-z0-9_./-]+", str(place)) is not None and len(str(place)) <= LONGEST_PLACE


def _can_be_entered(folder: Path) -> bool:
    """Whether the server's user may go through all of it."""
    folders = [folder.resolve(), *folder.resolve().parents]
    return all(each.is_dir() for each in folders) and (
        os.getuid() != 0 or all(each.stat().st_mode & 0o001 for each in folders)
    )


def _is_made_for_us(place: Path) -> bool:
    try:
        place.mkdir(mode=0o755, exist_ok=True)
        return place.stat().st_uid == os.getuid() and os.access(place, os.W_OK)
    except OSError:
        return False


def _skip_without_programs() -> None:
    if not _programs():
        pytest.skip("PostgreSQL is not installed (apt-get install postgresql)")
    if os.getuid() == 0 and OWNER not in {user.pw_name for user in pwd.getpwall()}:
        pytest.skip(f"root cannot run PostgreSQL, and there is no user {OWNER} (apt-get install postgresql)")


@cache
def _programs() -> str:
    """Where the server's programs are: Debian keeps them beside one another by version, out of the way."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: _numbers(path.parts[-3]))
    named = shutil.which("initdb")
    for program in (*reversed(found), *([Path(named).resolve()] if named else [])):
        if (program.parent / "pg_ctl").exists():
            return str(program.parent)
    return ""


def _numbers(version: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", version)]


if __name__ == "__main__":
    _guard(Cluster(Path(sys.argv[2])))
