"""The deployment guide and its files: units that systemd takes, SQL that runs, backups that restore. About 15 s."""

import asyncio
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import aiohttp
import psycopg
import pytest
from tests.dispatch.queue_lab import opened
from tests.docs.test_snippets import REPOSITORY, blocks_of
from tests.stores.postgres import Cluster, fresh_database, own_cluster
from tests.stores.postgres_worker import store_at
from tests.waiting import HANG_SECONDS, until

from pollux.asgi.listening import LAST_SECONDS
from pollux.core.errors import StoreRestored
from pollux.engine.adoption import adopt
from pollux.engine.ports import AuditReport
from pollux.engine.system import SystemClock
from pollux.providers.scripted import ScriptedProvider
from pollux.service import GRACE_SECONDS
from pollux.testing.store_lab import Story, tell_all

DEPLOY: Final = REPOSITORY / "examples/deploy"
GUIDE: Final = (REPOSITORY / "docs/guides/deploy.md").read_text()
UNITS: Final = sorted(DEPLOY.glob("*.service"))
STRICT: Final = ("-qX", "-v", "ON_ERROR_STOP=1")
# Debian keeps PostgreSQL's programs out of the way.
BESIDE: Final = [str(path) for path in sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)]
PATH: Final = ":".join([*BESIDE, os.environ["PATH"]])


PACKAGES: Final = {"nginx": "nginx", "systemd-analyze": "systemd", "psql": "postgresql", "pg_dump": "postgresql"}
# Everything that it writes lies in the folder that it is started with.
NGINX: Final = """
daemon off; pid pid; error_log stderr; events {{}}
http {{
    access_log off;
    client_body_temp_path body; proxy_temp_path proxied; fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi;
    scgi_temp_path scgi;
    {site}
}}
"""


def program(name: str) -> str:
    """Where it is. Skips where it is not."""
    found = shutil.which(name, path=PATH)
    if found is None:
        pytest.skip(f"{name} is not installed (apt-get install {PACKAGES[name]})")
    return found


# The files.


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_systemd_finds_nothing_wrong_with_a_unit(unit: Path, tmp_path: Path):
    # It wants the program to be there.
    (tmp_path / unit.name).write_text(unit.read_text().replace("/opt/pollux/bin/pollux", "/bin/true"))
    words = [program("systemd-analyze"), "verify", str(tmp_path / unit.name)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=2 * HANG_SECONDS, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_a_unit_waits_longer_for_the_end_than_pollux_takes(unit: Path):
    [seconds] = re.findall(r"^TimeoutStopSec=(\d+)$", unit.read_text(), re.MULTILINE)
    assert int(seconds) > GRACE_SECONDS + LAST_SECONDS


def test_what_the_guide_shows_of_a_file_is_in_the_file():
    shown = re.findall(r"\n\[([\w@.-]+)\]\(\.\./\.\./examples/deploy/[^\n]*:\n\n```\w+\n(.*?)```", GUIDE, re.DOTALL)
    assert {name for name, _ in shown} >= {"pollux-serve@.service", "pgbouncer.ini", "nginx.conf"}
    for name, text in shown:
        for line in filter(None, map(str.strip, text.splitlines())):
            assert line in (DEPLOY / name).read_text(), f"{name}: {line}"


def test_every_file_is_named_in_the_guide():
    assert [path.name for path in DEPLOY.iterdir() if f"examples/deploy/{path.name}" not in GUIDE] == []


def test_the_log_lines_in_the_guide_are_ones_that_pollux_writes():
    source = "\n".join(path.read_text() for path in (REPOSITORY / "src/pollux").rglob("*.py"))
    section = GUIDE.partition("### Lines in the log")[2].partition("\n#")[0]
    lines = re.findall(r"^\| `([^`]+)` \|", section, re.MULTILINE)
    assert len(lines) > 5
    assert [line for line in lines if line.replace("N ", "%d ", 1) not in source and line not in source] == []


# SQL.


@pytest.fixture
def url() -> Iterator[str]:
    with fresh_database() as url:
        yield url


async def test_what_is_to_be_watched_can_be_asked(url: str):
    server, _ = await opened(url, SystemClock(), ScriptedProvider())
    watched = (DEPLOY / "watch.sql").read_text()
    try:
        with psycopg.connect(url, autocommit=True) as db:
            shown = "".join(block.body for block in blocks_of(GUIDE) if block.language == "sql")
            for statement in _statements(watched + shown):
                db.execute(statement.encode())
    finally:
        await server.close()


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """A server with the role and the database that the guide makes."""
    psql = program("psql")
    with own_cluster() as cluster:
        cluster.run("DROP ROLE pollux")
        _done(psql, cluster.url("postgres", "postgres"), *STRICT, "-v", "password=it's", "-f", DEPLOY / "database.sql")
        yield cluster


@pytest.mark.slow
async def test_a_role_that_watches_reads_figures_and_no_content(cluster: Cluster):
    server, _ = await opened(cluster.url("pollux"), SystemClock(), ScriptedProvider())
    await server.close()
    cluster.run("CREATE ROLE pollux_watch LOGIN IN ROLE pg_monitor")
    cluster.run("GRANT CONNECT ON DATABASE pollux TO pollux_watch")
    psql, url = program("psql"), cluster.url("pollux", "pollux_watch")
    _done(psql, cluster.url("pollux"), *STRICT, "-f", DEPLOY / "watcher.sql")
    assert "oldest_seconds" in _done(psql, url, *STRICT, "-f", DEPLOY / "watch.sql")
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        cluster.run("SELECT FROM pollux.content", "pollux", "pollux_watch")


# Backups.


@pytest.mark.slow
async def test_a_backup_put_back_is_whole_and_shows_by_the_heads_that_time_went_back(cluster: Cluster, tmp_path: Path):
    url, heads = cluster.url("pollux"), tmp_path / "audit-heads.0123456789abcdef.jsonl"
    await _act(url, heads, "1")
    places = {"BACKUPS": str(tmp_path / "backups"), "POLLUX_HOME": str(tmp_path), "PGHOST": str(cluster.folder)}
    made = Path(_done("sh", DEPLOY / "backup.sh", environ={**places, "PGUSER": "postgres"}).strip())
    assert (made / heads.name).read_text() == heads.read_text()
    await _act(url, heads, "2")
    cluster.stop()
    cluster.put(made / "base")
    cluster.start()
    report = await _verified(url, heads)
    assert not report.valid and report.problems[0].startswith("roll back"), report
    with pytest.raises(StoreRestored):
        await _act(url, heads, "3")
    # As the guide says: somebody adopts it.
    store = store_at(url, heads)
    await store.open()
    await adopt(store, by="ada", at=SystemClock().now())
    await store.close()
    await _act(url, heads, "3")
    report = await _verified(url, heads)
    assert (report.valid, report.entries) == (True, 9), report


async def test_a_dump_taken_and_put_back_by_the_ordinary_role_is_whole(url: str, tmp_path: Path):
    program("pg_dump")
    heads = tmp_path / "heads"
    await _act(url, heads, "1")
    [taken, put_back] = [
        block.body
        for block in blocks_of(GUIDE)
        if block.language == "sh" and re.search("pg_dump|pg_restore", block.body)
    ]
    with fresh_database() as empty:
        _done("sh", "-euc", taken, cwd=tmp_path, environ={"POLLUX_STORE": url})
        _done("sh", "-euc", put_back, cwd=tmp_path, environ={"POLLUX_STORE": empty})
        report = await _verified(empty, heads)
    assert (report.valid, report.entries) == (True, 4)


async def _act(url: str, heads: Path, name: str) -> None:
    store = store_at(url, heads)
    await store.open()
    try:
        await tell_all(store, Story(name))
    finally:
        await store.close()


async def _verified(url: str, heads: Path) -> AuditReport:
    store = store_at(url, heads)
    await store.open()
    try:
        return await store.verify_audit()
    finally:
        await store.close()


# The proxy.


async def test_a_line_passes_the_proxy_before_the_next_is_written(tmp_path: Path):
    nginx = program("nginx")
    was_read = asyncio.Event()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/x-ndjson\r\nconnection: close\r\n\r\n{}\n")
        await asyncio.wait_for(was_read.wait(), HANG_SECONDS)
        writer.write(b"[]\n")
        writer.close()

    behind = await asyncio.start_server(answer, "127.0.0.1", 0)
    at = behind.sockets[0].getsockname()[1]
    shipped = (DEPLOY / "nginx.conf").read_text()
    site = re.sub(r"server 10\.0\.0\.11:8642.*", f"server 127.0.0.1:{at};", re.sub(r"ssl_certificate.*\n", "", shipped))
    site = re.sub(r"server 10\.0\.0\.12:8642.*\n", "", site)
    # A socket, since another program could take a port first. The system wants its name short.
    with tempfile.TemporaryDirectory() as folder:
        socket = f"{folder}/nginx"
        (tmp_path / "nginx.conf").write_text(NGINX.format(site=site.replace("443 ssl http2", f'"unix:{socket}"')))
        process = await asyncio.create_subprocess_exec(
            nginx, "-p", str(tmp_path), "-c", str(tmp_path / "nginx.conf"), stderr=asyncio.subprocess.PIPE
        )
        try:
            async with (
                asyncio.timeout(2 * HANG_SECONDS),
                aiohttp.ClientSession(connector=aiohttp.UnixConnector(socket)) as http,
            ):
                answered = await _answer(http, "http://agents.example.com/", process)
                assert await answered.content.readline() == b"{}\n"
                was_read.set()
                assert await answered.content.readline() == b"[]\n"
                answered.close()
        finally:
            process.terminate()
            await process.communicate()
            behind.close()


async def _answer(http: aiohttp.ClientSession, url: str, process: asyncio.subprocess.Process) -> aiohttp.ClientResponse:
    """What the proxy answers once it listens."""

    async def answered() -> aiohttp.ClientResponse | None:
        try:
            return await http.get(url)
        except aiohttp.ClientConnectorError:
            assert process.returncode is None, await process.communicate()
            return None

    found = await until(answered)
    assert found is not None
    return found


def _statements(text: str) -> list[str]:
    """SQL without its comments, one by one."""
    plain = re.sub(r"--.*", "", text)
    return [each.strip() for each in plain.split(";") if each.strip()]


def _done(*words: str | Path, cwd: Path = Path("/"), environ: dict[str, str] | None = None) -> str:
    env = {**os.environ, "PATH": PATH, **(environ or {})}
    done = subprocess.run(
        words, capture_output=True, text=True, timeout=2 * HANG_SECONDS, env=env, cwd=cwd, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
